"""Refs that Ralph reads itself are those that git would name, however they are stored."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from ralph.git.refs import last_attempts, read_ref
from ralph.git.repo import Repo, open_repo

IDENT = ("-c", "user.name=A", "-c", "user.email=a@b")


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", *IDENT, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    return asyncio.run(open_repo(tmp_path))


@pytest.mark.parametrize("packed", [False, True])
def test_a_ref_is_read_from_its_file_or_from_the_packed_ones(repo: Repo, packed: bool) -> None:
    git(repo.top, "tag", "-a", "-m", "t", "v1")  # its line is followed by one with what it points at
    git(repo.top, "branch", "ralph/ü")
    if packed:
        git(repo.top, "pack-refs", "--all")
    for ref in ("refs/heads/main", "refs/heads/ralph/ü"):
        assert read_ref(repo.git_dir, ref, 40) == git(repo.top, "rev-parse", ref)
    for missing in ("refs/heads/ralph", "refs/heads/mai", "refs/heads/main/x", "refs/heads/other"):
        assert read_ref(repo.git_dir, missing, 40) == ""


def test_a_newer_file_counts_more_than_the_packed_ref(repo: Repo) -> None:
    git(repo.top, "pack-refs", "--all")
    git(repo.top, "commit", "-q", "--allow-empty", "-m", "second")
    assert read_ref(repo.git_dir, "refs/heads/main", 40) == git(repo.top, "rev-parse", "main")


def test_git_is_asked_about_a_ref_that_is_no_commit_s_name(repo: Repo) -> None:
    main = git(repo.top, "rev-parse", "main")
    git(repo.top, "symbolic-ref", "refs/heads/other", "refs/heads/main")
    (repo.git_dir / "refs/heads/empty").write_text("")
    for ref, commit in (("refs/heads/other", main), ("refs/heads/empty", "")):
        assert read_ref(repo.git_dir, ref, 40) is None
        assert asyncio.run(repo.tip(ref)) == commit


@pytest.mark.parametrize("packed", [False, True])
def test_the_last_attempt_of_each_task_is_known(repo: Repo, packed: bool) -> None:
    for name in ("auth/US-001/2", "auth/US-001/10", "auth/a/b/1", "auth/US-002/x", "author/US-003/1"):
        git(repo.top, "update-ref", f"refs/ralph/attempts/{name}", "main")
    if packed:
        git(repo.top, "pack-refs", "--all")
        git(repo.top, "update-ref", "refs/ralph/attempts/auth/US-001/11", "main")
    assert last_attempts(repo.git_dir, "auth") == {"US-001": 11 if packed else 10, "a/b": 1}
    assert last_attempts(repo.git_dir, "other") == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"user.name": "Person", "user.email": "person@example.com"},
        {"user.name": "Zoë Ångström", "user.email": "zoe+git@example.com", "committer.name": "Z"},
        {"user.name": "Dot.", "user.email": "<a@b>"},
        {"user.name": "  Spaces  ", "user.email": "a@b"},
        {"user.email": "a@b"},
        {},
    ],
    ids=str,
)
@pytest.mark.parametrize("variable", ["", "GIT_COMMITTER_NAME", "EMAIL"])
def test_the_committer_is_the_one_that_git_names(
    repo: Repo, settings: dict[str, str], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(repo.top))
    if variable:
        monkeypatch.setenv(variable, "other@example.com")
    git(repo.top, "config", "user.useConfigOnly", "true")
    for key, value in settings.items():
        git(repo.top, "config", key, value)
    done = subprocess.run(["git", "var", "GIT_COMMITTER_IDENT"], cwd=repo.top, capture_output=True, text=True)
    opened = asyncio.run(open_repo(repo.top))
    assert opened.has_ident == (done.returncode == 0)
    if opened.has_ident:
        assert done.stdout.startswith(f"{opened.ident.name} <{opened.ident.email}> ")
