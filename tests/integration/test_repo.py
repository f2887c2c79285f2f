"""Git is asked and told in a way that touches nothing it need not, whatever files are called."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.git.repo import Repo, open_repo
from tests.conftest import Project
from tests.integration.conftest import ODD_NAMES, executable

T = TypeVar("T")


@pytest.fixture
def repo(person: Project) -> Repo:
    return do(open_repo(person.path))


def do(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def raw_state(project: Project) -> tuple[str, str, str, str]:
    """All that git knows of a checkout: HEAD, its branch, the index and what differs."""
    return (
        project.git("rev-parse", "HEAD"),
        project.git("symbolic-ref", "--quiet", "HEAD", check=False),
        project.git("ls-files", "--stage"),
        project.git("status", "--porcelain", "--ignored"),
    )


def staged(project: Project) -> list[str]:
    return project.git("diff", "--cached", "--name-only").splitlines()


def hook(project: Project, script: str, name: str = "pre-commit") -> None:
    executable(project.path / ".git" / "hooks" / name, f"#!/bin/sh\n{script}\n")


# opening


def test_a_folder_without_git_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match="is not in a git work tree") as error:
        do(open_repo(tmp_path))

    assert "git init" in error.value.remedy


def test_a_variable_that_points_git_elsewhere_misleads_nobody(
    person: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))

    assert do(open_repo(person.path)).top == person.path.resolve()


def test_what_git_complains_of_is_told(repo: Repo) -> None:
    with pytest.raises(RalphError, match=r"^git rev-parse failed in .*: fatal: Needed a single revision"):
        do(repo.resolve("no-such-branch"))


# looking


def test_a_clean_checkout_has_nothing_to_tell(person: Project, repo: Repo) -> None:
    status = do(repo.status())

    assert status.head == person.git("rev-parse", "HEAD")
    assert status.branch == "main"
    assert (status.changed, status.untracked, status.unmerged) == ((), (), ())


def test_every_kind_of_change_is_seen(person: Project, repo: Repo) -> None:
    for name in ("modified", "staged", "deleted", "removed", "renamed-from", "moved here"):
        person.write(name, f"this is {name}, long enough to be known again\n")
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "files")
    person.write("modified", "m\n")
    person.write("staged", "s\n")
    person.git("add", "staged")
    (person.path / "deleted").unlink()
    person.git("rm", "-q", "removed")
    person.git("mv", "renamed-from", "renamed to")
    person.write("added", "a\n")
    person.git("add", "added")
    person.write("new/one", "1\n")
    person.write("new/two", "2\n")

    status = do(repo.status())

    assert set(status.changed) == {
        "modified", "staged", "deleted", "removed", "renamed-from", "renamed to", "added",
    }  # fmt: skip
    assert status.untracked == ("new/one", "new/two")


def test_odd_names_are_read_as_they_are(person: Project, repo: Repo) -> None:
    for name in ODD_NAMES:
        person.write(name, "x\n")
    assert set(do(repo.status()).untracked) == set(ODD_NAMES)

    person.git("add", "-A")
    assert set(do(repo.status()).changed) == set(ODD_NAMES)


def test_a_half_done_merge_a_detached_head_and_no_commit_at_all_are_seen(person: Project, repo: Repo) -> None:
    _conflict(person)
    merging = do(repo.status())
    person.git("merge", "--abort")
    person.git("checkout", "-q", "--detach")
    detached = do(repo.status())
    person.git("checkout", "-q", "--orphan", "fresh")
    fresh = do(repo.status())

    assert (merging.unmerged, merging.changed) == (("app.txt",), ())
    assert (detached.branch, detached.head) == ("", person.git("rev-parse", "main"))
    assert (fresh.branch, fresh.head) == ("fresh", "")


def _conflict(project: Project) -> None:
    project.git("switch", "-q", "-c", "other")
    project.write("app.txt", "theirs\n")
    project.git("commit", "-q", "-am", "theirs")
    project.git("switch", "-q", "main")
    project.write("app.txt", "ours\n")
    project.git("commit", "-q", "-am", "ours")
    project.git("merge", "other", check=False)


def test_branches_are_listed_with_where_they_are_checked_out(person: Project) -> None:
    person.git("branch", "ralph/auth")
    person.git("worktree", "add", "-q", "../beside", "-b", "beside")

    found = git_read.branches(person.path)

    assert found.keys() == {"main", "ralph/auth", "beside"}
    assert found["main"].worktree == person.path.resolve()
    assert found["ralph/auth"].worktree is None
    assert found["beside"].worktree == (person.folder / "beside").resolve()
    assert found["main"].commit == person.git("rev-parse", "HEAD")


def test_a_file_is_read_from_any_revision_of_a_project_in_a_subfolder(person: Project) -> None:
    person.write("web/.ralph/2026-01-01-auth/prd.json", "old\n")
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "plan")
    person.write("web/.ralph/2026-01-01-auth/prd.json", "new\n")
    web = person.path / "web"

    assert git_read.file_at(web, "HEAD", ".ralph/2026-01-01-auth/prd.json") == b"old\n"
    assert git_read.file_at(web, "HEAD", "missing.txt") is None
    assert git_read.file_at(web, "HEAD~1", ".ralph/2026-01-01-auth/prd.json") is None
    assert git_read.names_at(web, "HEAD", ".ralph") == ["2026-01-01-auth"]
    assert git_read.names_at(web, "HEAD~1", ".ralph") == []
    assert git_read.top(web) == person.path.resolve()


def test_a_folder_without_git_has_nothing_to_look_at(tmp_path: Path) -> None:
    assert git_read.branches(tmp_path) == {}
    assert git_read.attempts(tmp_path, "auth") == []
    assert git_read.top(tmp_path) is None
    assert git_read.file_at(tmp_path, "HEAD", "x") is None


# landing


# commits of Ralph's own


def test_a_project_may_be_a_folder_of_its_repository(person: Project) -> None:
    person.write("packages/one/a.txt", "a\n")
    repo = do(open_repo(person.path / "packages/one"))
    assert (repo.top, repo.prefix, repo.git_dir) == (person.path, "packages/one/", person.path / ".git")


def test_a_commit_is_an_ordinary_one_by_whoever_the_person_is(person: Project, repo: Repo) -> None:
    tree = person.git("rev-parse", "HEAD^{tree}")
    commit = repo.write_commit(tree, (person.git("rev-parse", "HEAD"),), "feat: ü\n\nA body\n\nKey: value\n")
    assert person.git("log", "-1", "--format=%an <%ae> %cn <%ce>", commit) == " ".join(
        ["Person <person@example.com>"] * 2
    )
    assert person.git("log", "-1", "--format=%B", commit) == "feat: ü\n\nA body\n\nKey: value"
    assert person.git("log", "-1", "--format=%(trailers:key=Key,valueonly)", commit) == "value"
    person.git("fsck", "--strict", commit)


def test_where_a_person_has_no_name_commits_are_ralph_s(person: Project) -> None:
    (person.home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    repo = do(open_repo(person.path))
    assert not repo.has_ident
    commit = repo.write_commit(person.git("rev-parse", "HEAD^{tree}"), (), "x")
    assert person.git("log", "-1", "--format=%an <%ae>", commit) == "Ralph <ralph@localhost>"


def test_refs_move_together_or_not_at_all(person: Project, repo: Repo) -> None:
    head = person.git("rev-parse", "HEAD")
    assert do(repo.move(("refs/ralph/a", head, ""), ("refs/ralph/b", head, None)))
    assert not do(repo.move(("refs/ralph/c", head, None), ("refs/ralph/a", head, "")))
    assert do(repo.refs("refs/ralph")) == {"refs/ralph/a": head, "refs/ralph/b": head}
    assert do(repo.move(("refs/ralph/a", "", head), ("refs/ralph/b", "", None)))
    assert do(repo.refs("refs/ralph")) == {}
