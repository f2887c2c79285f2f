"""Git is asked and told in a way that touches nothing it need not, whatever files are called."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.errors import RalphError
from ralph.git import look, shield
from ralph.git.repo import Repo, open_repo
from tests.conftest import Project
from tests.integration.conftest import ODD_NAMES, add_submodule, executable

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


def test_a_project_may_be_a_folder_of_its_repository(person: Project) -> None:
    person.write("services/web/main.txt", "x\n")

    inside = do(open_repo(person.path / "services" / "web"))

    assert inside.top == person.path.resolve()
    assert inside.prefix == "services/web/"
    assert inside.git_dir == inside.common_dir == person.path.resolve() / ".git"
    assert do(inside.status()).untracked == ("services/web/main.txt",)


def test_a_worktree_has_a_git_folder_of_its_own(person: Project) -> None:
    person.git("worktree", "add", "-q", "../beside", "-b", "beside")

    inside = do(open_repo(person.folder / "beside"))

    assert inside.git_dir == person.path.resolve() / ".git" / "worktrees" / "beside"
    assert inside.common_dir == person.path.resolve() / ".git"
    assert do(inside.status()).branch == "beside"


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


def test_where_a_person_has_no_name_commits_are_ralph_s(person: Project) -> None:
    (person.home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    repo = do(open_repo(person.path))
    person.write("state.json", "{}\n")

    assert do(repo.commit_own(["state.json"], "state"))

    assert person.git("log", "-1", "--format=%an <%ae> %cn") == "Ralph <ralph@localhost> Ralph"


def test_a_person_s_name_is_used_where_there_is_one(person: Project, repo: Repo) -> None:
    person.write("state.json", "{}\n")
    do(repo.commit_own(["state.json"], "state"))

    assert repo.identity == {}
    assert person.git("log", "-1", "--format=%an <%ae>") == "Person <person@example.com>"


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


def test_a_name_that_is_no_text_is_kept_byte_for_byte(person: Project, repo: Repo) -> None:
    name = os.fsdecode(b"latin-\xe9.txt")
    person.write(name, "x\n")

    assert do(repo.status()).untracked == (name,)
    commit = do(repo.snapshot([name], "kept", "HEAD"))
    assert do(repo.between("HEAD", commit)) == (name,)


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


def test_commits_since_a_base_come_newest_first(person: Project, repo: Repo) -> None:
    base = person.git("rev-parse", "HEAD")
    for subject in ("first", "second: with\ttab", "third\n\nand a body\nof lines"):
        person.git("commit", "-q", "--allow-empty", "-m", subject)

    commits = do(repo.commits_since(base))

    assert commits is not None
    assert [commit.subject for commit in commits] == ["third", "second: with\ttab", "first"]
    assert commits[0].id == person.git("rev-parse", "HEAD")
    assert commits[2].parents == (base,)
    assert do(repo.commits_since(commits[0].id)) == ()


def test_a_rewritten_history_has_no_commits_since_its_base(person: Project, repo: Repo) -> None:
    base = person.git("rev-parse", "HEAD")
    person.git("commit", "-q", "--amend", "-m", "rewritten")

    assert do(repo.commits_since(base)) is None


def test_what_changed_is_found_by_globs_at_any_depth(person: Project, repo: Repo) -> None:
    base = person.git("rev-parse", "HEAD")
    for name in ("tests/a.py", "src/tests/b.py", "src/c.py"):
        person.write(name, "x\n")
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "files")
    person.write("app.txt", "changed\n")
    person.write("untracked.py", "u\n")

    assert do(repo.changed_since(base)) == ("app.txt", "src/c.py", "src/tests/b.py", "tests/a.py")
    assert do(repo.changed_since(base, "**/tests/**")) == ("src/tests/b.py", "tests/a.py")
    assert do(repo.changed_since(base, "tests/*.py", "app.*")) == ("app.txt", "tests/a.py")
    assert do(repo.changed_since(base, "nothing/**")) == ()
    assert do(repo.between(base, "HEAD")) == ("src/c.py", "src/tests/b.py", "tests/a.py")


def test_untracked_files_are_found_by_globs_also_ignored_ones(person: Project, repo: Repo) -> None:
    person.write(".gitignore", "*.env\n")
    for name in ("prod.env", "deep/er/test.env", "notes.txt"):
        person.write(name, "x\n")

    assert set(do(repo.untracked_matching(["**/*.env"]))) == {"prod.env", "deep/er/test.env"}


def test_a_submodule_with_changes_inside_is_not_a_change(person: Project, repo: Repo) -> None:
    add_submodule(person)
    assert do(repo.status()).changed == ()

    person.write("lib/file.txt", "changed inside\n")
    person.write("lib/new.txt", "new inside\n")
    assert do(repo.status()).changed == ()
    assert do(repo.changed_since("HEAD")) == ()

    person.git("-C", "lib", "commit", "-q", "-am", "moved on")
    assert do(repo.status()).changed == ("lib",)
    assert do(repo.changed_since("HEAD")) == ("lib",)


# Ralph's own commits


def test_own_commits_have_just_their_paths(person: Project, repo: Repo) -> None:
    person.write("state.json", "1\n")
    person.write("other.txt", "a person's\n")
    person.write("app.txt", "a person's\n")

    assert do(repo.commit_own(["state.json"], "chore: state"))

    assert person.git("show", "--format=%s", "--name-only", "HEAD").split() == ["chore:", "state", "state.json"]
    assert person.status() == ["M app.txt", "?? other.txt"]


def test_own_commits_leave_what_a_person_staged_alone(person: Project, repo: Repo) -> None:
    person.write("app.txt", "staged by a person\n")
    person.write("new.txt", "staged by a person\n")
    person.git("add", "app.txt", "new.txt")
    person.write("app.txt", "and changed since\n")
    person.write("state.json", "1\n")

    assert do(repo.commit_own(["state.json"], "first"))
    person.write("state.json", "2\n")
    assert do(repo.commit_own(["state.json"], "second"))

    assert person.files_in("HEAD") == ["app.txt", "state.json"]
    assert staged(person) == ["app.txt", "new.txt"]
    assert person.git("show", ":app.txt") == "staged by a person"
    assert person.read("app.txt") == "and changed since\n"


def test_own_commits_do_not_ask_hooks_or_keys(person: Project, repo: Repo) -> None:
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        hook(person, f"touch '{person.folder}/ran-{name}'; exit 1", name)
    person.git("config", "commit.gpgSign", "true")
    person.git("config", "user.signingKey", "nobody")
    person.write("state.json", "1\n")

    assert do(repo.commit_own(["state.json"], "state"))

    assert person.files_in("HEAD") == ["app.txt", "state.json"]
    assert not list(person.folder.glob("ran-*"))


def test_own_commits_with_nothing_to_say_are_none(person: Project, repo: Repo) -> None:
    head = person.git("rev-parse", "HEAD")

    assert not do(repo.commit_own(["app.txt"], "nothing"))

    assert person.git("rev-parse", "HEAD") == head


def test_own_files_that_a_person_ignores_are_not_committed(person: Project, repo: Repo) -> None:
    person.write(".gitignore", ".ralph/\n")
    person.write(".ralph/prd.json", "1\n")

    assert not do(repo.commit_own([".ralph/prd.json"], "state"))

    assert person.files_in("HEAD") == ["app.txt"]
    assert person.status() == ["?? .gitignore"]


def test_own_commits_take_odd_names_literally(person: Project, repo: Repo) -> None:
    for name in (*ODD_NAMES, "not asked for"):
        person.write(name, "x\n")

    assert do(repo.commit_own(ODD_NAMES, "odd"))

    assert do(repo.status()).untracked == ("not asked for",)


def test_an_own_file_that_is_gone_is_committed_as_gone(person: Project, repo: Repo) -> None:
    (person.path / "app.txt").unlink()

    assert do(repo.commit_own(["app.txt"], "gone"))

    assert person.files_in("HEAD") == []


# an agent's work


def test_work_is_committed_with_hooks(person: Project, repo: Repo) -> None:
    hook(person, "echo checked > checked-by-hook; git add checked-by-hook")
    person.write("new.txt", "x\n")

    done = do(repo.commit_work(["new.txt"], "feat: work"))

    assert done.code == 0
    assert person.files_in("HEAD") == ["app.txt", "checked-by-hook", "new.txt"]


def test_a_hook_that_refuses_is_heard_and_the_work_stays(person: Project, repo: Repo) -> None:
    hook(person, "echo 'style: line too long'; echo 'fatal: refused' >&2; exit 3")
    person.write("new.txt", "x\n")
    person.write("app.txt", "changed\n")
    head = person.git("rev-parse", "HEAD")

    done = do(repo.commit_work(["new.txt", "app.txt"], "feat: work"))

    assert done.code != 0
    assert b"style: line too long" in done.out + done.err
    assert b"fatal: refused" in done.err
    assert person.git("rev-parse", "HEAD") == head
    assert person.read("new.txt") == "x\n"
    assert person.read("app.txt") == "changed\n"


def test_all_that_an_agent_did_is_committed(person: Project, repo: Repo) -> None:
    for name in ("modified", "deleted", "removed", "moved"):
        person.write(name, f"this is {name}\n")
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "files")
    person.write("modified", "m\n")
    (person.path / "deleted").unlink()
    person.git("rm", "-q", "removed")
    person.git("mv", "moved", "moved to")
    person.write("added", "a\n")
    person.git("add", "added")
    for name in ODD_NAMES:
        person.write(name, "x\n")
    person.write("left out", "a person's\n")
    status = do(repo.status())

    done = do(repo.commit_work((*status.changed, *ODD_NAMES), "feat: all"))

    assert done.code == 0, done.err
    assert person.status() == ['?? "left out"']
    assert set(do(repo.between("HEAD", "HEAD~1"))) == {
        "modified", "deleted", "removed", "moved", "moved to", "added", *ODD_NAMES,
    }  # fmt: skip


# keeping without touching


def test_a_snapshot_touches_neither_index_nor_head_nor_files(person: Project, repo: Repo) -> None:
    person.write("app.txt", "staged\n")
    person.git("add", "app.txt")
    person.write("app.txt", "changed since\n")
    person.write("new.txt", "new\n")
    person.write(".gitignore", "ignored.txt\n")
    person.write("ignored.txt", "kept all the same\n")
    before, index = raw_state(person), (person.path / ".git" / "index").read_bytes()

    commit = do(repo.snapshot(["app.txt", "new.txt", "ignored.txt"], "what was there", "HEAD"))

    assert raw_state(person) == before
    assert (person.path / ".git" / "index").read_bytes() == index
    assert person.read("app.txt") == "changed since\n"
    assert not list((person.path / ".git").glob("ralph-index*"))
    assert person.files_in(commit) == ["app.txt", "ignored.txt", "new.txt"]
    assert person.git("show", f"{commit}:app.txt") == "changed since"
    assert person.git("log", "-1", "--format=%s %P", commit) == f"what was there {before[0]}"


def test_a_snapshot_has_removals_renames_and_links(person: Project, repo: Repo) -> None:
    person.write("old.txt", "old\n")
    executable(person.path / "run.sh", "#!/bin/sh\n")
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "files")
    (person.path / "app.txt").unlink()
    person.git("mv", "old.txt", "moved.txt")
    (person.path / "link").symlink_to("nowhere")

    commit = do(repo.snapshot(["app.txt", "old.txt", "moved.txt", "link"], "kept", "HEAD"))

    modes = {line.split("\t")[1]: line.split()[0] for line in person.git("ls-tree", "-r", commit).splitlines()}
    assert modes == {"link": "120000", "moved.txt": "100644", "run.sh": "100755"}


def test_a_snapshot_works_in_a_worktree(person: Project) -> None:
    person.git("worktree", "add", "-q", "../beside", "-b", "beside")
    repo = do(open_repo(person.folder / "beside"))
    (person.folder / "beside" / "new.txt").write_text("x\n")

    commit = do(repo.snapshot(["new.txt"], "kept", "HEAD"))

    assert person.files_in(commit) == ["app.txt", "new.txt"]
    assert do(repo.status()).untracked == ("new.txt",)


def test_what_is_kept_under_a_ref_survives_and_is_found_again(person: Project, repo: Repo) -> None:
    person.write("new.txt", "x\n")
    for number in (1, 2, 10):
        commit = do(repo.snapshot(["new.txt"], f"US-001, attempt {number}", "HEAD"))
        do(repo.keep(look.attempt_ref("auth", "US-001", number), commit))
    do(repo.keep(look.attempt_ref("auth2", "US-001", 1), commit))
    person.git("gc", "--quiet", "--prune=now")

    found = look.attempts(person.path, "auth")

    assert [ref.number for ref in found] == [1, 2, 10]
    assert {ref.task for ref in found} == {"US-001"}
    assert found[2].subject == "US-001, attempt 10"
    assert person.git("show", f"{found[2].name}:new.txt") == "x"


def test_what_differs_from_a_commit_is_told(person: Project, repo: Repo) -> None:
    for name in ODD_NAMES:
        person.write(name, "x\n")
    person.write("doomed", "x\n")
    person.git("add", "doomed")
    person.git("commit", "-q", "-m", "doomed")
    (person.path / "doomed").unlink()
    person.write("app.txt", "by the agent\n")
    paths = (*ODD_NAMES, "app.txt", "doomed")
    commit = do(repo.snapshot(paths, "kept", "HEAD"))
    assert do(repo.differing(commit, paths)) == set()

    person.write(ODD_NAMES[0], "by a person\n")
    (person.path / ODD_NAMES[4]).unlink()
    person.write("doomed", "back again\n")

    assert do(repo.differing(commit, paths)) == {ODD_NAMES[0], ODD_NAMES[4], "doomed"}
    assert do(repo.differing(commit, ["app.txt"])) == set()


# laying files out


def test_files_are_laid_as_a_commit_has_them_and_others_go(person: Project, repo: Repo) -> None:
    base = person.git("rev-parse", "HEAD")
    person.write("app.txt", "changed\n")
    for name in ODD_NAMES:
        person.write(name, "x\n")
    person.write("stays.txt", "not asked about\n")
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "work")

    do(repo.lay(base, ["app.txt", *ODD_NAMES], stage=True))

    assert person.read("app.txt") == "app\n"
    assert not [name for name in ODD_NAMES if person.exists(name)]
    assert not person.exists("a folder"), "folders that are empty now are gone as well"
    assert person.read("stays.txt") == "not asked about\n"
    assert do(repo.staged())
    do(repo.commit_index("restore"))
    assert do(repo.between(base, "HEAD")) == ("stays.txt",)


def test_files_can_be_laid_without_staging_them(person: Project, repo: Repo) -> None:
    for name in ODD_NAMES:
        person.write(name, "x\n")
    commit = do(repo.snapshot(ODD_NAMES, "kept", "HEAD"))
    for name in ODD_NAMES:
        (person.path / name).unlink()

    do(repo.lay(commit, [*ODD_NAMES, "app.txt"], stage=False))

    assert set(do(repo.status()).untracked) == set(ODD_NAMES)
    assert not do(repo.staged())


def test_a_file_is_laid_even_if_git_takes_it_for_unchanged(person: Project, repo: Repo) -> None:
    person.git("config", "core.trustctime", "false")
    os.utime(person.path / "app.txt", (1_000_000_000, 1_000_000_000))
    person.git("status")  # the index now knows this time
    person.write("app.txt", "bad\n")  # as long as before
    os.utime(person.path / "app.txt", (1_000_000_000, 1_000_000_000))
    assert person.status() == [], "git does not see it"

    do(repo.lay("HEAD", ["app.txt"], stage=False))

    assert person.read("app.txt") == "app\n"


def test_laying_nothing_does_nothing(person: Project, repo: Repo) -> None:
    person.write("app.txt", "changed\n")

    do(repo.lay("HEAD", [], stage=True))

    assert person.read("app.txt") == "changed\n"


def test_a_file_is_taken_out_of_git_and_stays_on_disk(person: Project, repo: Repo) -> None:
    do(repo.untrack(["app.txt"]))
    do(repo.commit_index("out"))

    assert person.files_in("HEAD") == []
    assert person.read("app.txt") == "app\n"


def test_switching_runs_no_hooks_and_never_overwrites(person: Project, repo: Repo) -> None:
    hook(person, f"touch '{person.folder}/ran'; exit 1", "post-checkout")
    do(repo.switch("ralph/auth", create=True))
    person.write("new.txt", "on the branch\n")
    person.git("add", "new.txt")
    person.git("commit", "-q", "-m", "new")
    do(repo.switch("main", create=False))
    person.write("new.txt", "a person's\n")

    with pytest.raises(RalphError, match="git switch failed"):
        do(repo.switch("ralph/auth", create=False))

    assert person.read("new.txt") == "a person's\n"
    assert not (person.folder / "ran").exists()
    assert do(repo.has_branch("ralph/auth"))
    assert not do(repo.has_branch("ralph"))


# the shield


def test_a_person_s_untracked_files_are_hidden_from_add_all(person: Project, repo: Repo) -> None:
    for name in ODD_NAMES:
        person.write(name, "a person's\n")
    exclude = person.path / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("*.log")

    with shield.raised(repo.common_dir, ODD_NAMES):
        person.write("by the agent.txt", "x\n")
        person.write("deeper/two words.txt", "another file with a hidden one's name\n")
        person.git("add", "-A")
        assert staged(person) == ["by the agent.txt", "deeper/two words.txt"]

    assert exclude.read_text() == "*.log\n"
    assert set(do(repo.status()).untracked) == set(ODD_NAMES)


def test_a_shield_that_a_killed_run_left_is_lowered(person: Project, repo: Repo) -> None:
    exclude = person.path / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text(f"one\n{shield.BEGIN}\n/notes.txt\n{shield.END}\ntwo\n")

    shield.lower(repo.common_dir)
    assert exclude.read_text() == "one\ntwo\n"

    exclude.unlink()
    shield.lower(repo.common_dir)
    assert not exclude.exists()


# looking without a run


def test_branches_are_listed_with_where_they_are_checked_out(person: Project) -> None:
    person.git("branch", "ralph/auth")
    person.git("worktree", "add", "-q", "../beside", "-b", "beside")

    found = look.branches(person.path)

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

    assert look.file_at(web, "HEAD", ".ralph/2026-01-01-auth/prd.json") == b"old\n"
    assert look.file_at(web, "HEAD", "missing.txt") is None
    assert look.file_at(web, "HEAD~1", ".ralph/2026-01-01-auth/prd.json") is None
    assert look.names_at(web, "HEAD", ".ralph") == ["2026-01-01-auth"]
    assert look.names_at(web, "HEAD~1", ".ralph") == []
    assert look.top(web) == person.path.resolve()


def test_a_folder_without_git_has_nothing_to_look_at(tmp_path: Path) -> None:
    assert look.branches(tmp_path) == {}
    assert look.attempts(tmp_path, "auth") == []
    assert look.top(tmp_path) is None
    assert look.file_at(tmp_path, "HEAD", "x") is None


# landing


def test_a_branch_advances_with_the_index_and_with_files_that_git_did_not_know(person: Project, repo: Repo) -> None:
    tip = do(repo.head())
    person.write("staged.txt", "staged\n")
    person.git("add", "staged.txt")
    person.write("state.json", "{}\n")
    person.write("beside.txt", "not to be committed\n")
    message = "feat: it\n\n# not a comment\n\nRalph-Attempt: auth/US-1/1\n"

    commit = do(repo.advance("main", ["state.json"], message, tip))

    assert commit == person.git("rev-parse", "main")
    assert person.git("rev-parse", "main^") == tip
    assert person.git("log", "-1", "--format=%B") == message.rstrip("\n")
    assert person.git("diff-tree", "-r", "--name-only", tip, commit).split() == ["staged.txt", "state.json"]
    assert person.git("status", "--porcelain") == "?? beside.txt"


def test_a_branch_that_is_elsewhere_by_now_is_left_alone(person: Project, repo: Repo) -> None:
    tip = do(repo.head())
    person.git("commit", "-q", "--allow-empty", "-m", "somebody else's")
    moved = person.git("rev-parse", "main")

    assert do(repo.advance("main", [], "feat: it", tip)) == ""

    assert person.git("rev-parse", "main") == moved


def test_a_branch_that_moves_at_the_very_moment_is_as_the_other_one_left_it(
    person: Project, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = do(repo.head())
    git = Repo.git

    async def too_late(self: Repo, *args: str, **more: Any) -> str:
        if "commit" in args:
            person.git("commit", "-q", "--allow-empty", "-m", "somebody else's")
        return await git(self, *args, **more)

    monkeypatch.setattr(Repo, "git", too_late)

    assert do(repo.advance("main", [], "feat: it", tip)) == ""

    assert person.git("log", "--format=%s", f"{tip}..main") == "somebody else's"
