"""Locks that a killed git left: removed when nobody can hold them, and never taken from a git that lives."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ralph.git import locks
from tests.conftest import wait_for

pytestmark = pytest.mark.skipif(not locks.HAS_PROC, reason="the system does not tell who has a file open")
BRANCH = "refs/heads/ralph/auth"


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "A person")
    git(root, "config", "user.email", "a@b")
    (root / "a.txt").write_text("one")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def later(root: Path, **more: object) -> list[str]:
    """What is removed an hour from now, so that age alone saves nothing."""
    common = Path(git(root, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    removed = locks.remove_stale(common, now=time.time() + 3600, **more)  # type: ignore[arg-type]
    return sorted(str(path.relative_to(common)) for path in removed)


@contextmanager
def running(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        arguments, cwd=folder, env={**os.environ, **(env or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def committing(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A person's `git commit` that waits for the editor: it holds its lock, and has it not open."""
    (folder / "a.txt").write_text("two")
    lock = Path(git(folder, "rev-parse", "--path-format=absolute", "--git-dir")) / "index.lock"
    with running(folder, "git", "commit", "-a", env={"GIT_EDITOR": "cat > /dev/null; true"}) as process:
        wait_for(lock.exists)
        wait_for(lambda: not any(fd.samefile(lock) for fd in descriptors(process.pid)))
        yield process


def descriptors(pid: int) -> list[Path]:
    return [path for path in Path(f"/proc/{pid}/fd").iterdir() if path.exists()]


def test_a_person_who_writes_a_commit_message_keeps_the_lock_and_a_killed_git_does_not(repo: Path) -> None:
    with committing(repo) as commit:
        assert later(repo) == []
        commit.kill()
        commit.wait()
        assert (repo / ".git/index.lock").exists()
        assert later(repo) == ["index.lock"]
    git(repo, "commit", "-q", "-a", "-m", "works again")


def test_a_commit_in_a_linked_worktree_keeps_every_lock_of_the_repository(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    (repo / ".git/index.lock").touch()
    with committing(tmp_path / "linked") as commit:
        assert later(repo) == []
        commit.kill()
        commit.wait()
        assert later(tmp_path / "linked") == ["index.lock", "worktrees/linked/index.lock"]


def test_a_branch_that_a_killed_git_was_about_to_move_can_be_moved_again(repo: Path) -> None:
    tip = git(repo, "rev-parse", "HEAD")
    with running(repo, "git", "update-ref", "--stdin") as update:
        assert update.stdin
        update.stdin.write(f"start\nupdate {BRANCH} {tip}\nprepare\n".encode())
        update.stdin.flush()
        wait_for((repo / f".git/{BRANCH}.lock").exists)
        assert later(repo) == []
        update.kill()
        update.wait()
        with pytest.raises(subprocess.CalledProcessError):
            git(repo, "update-ref", BRANCH, tip)
        assert later(repo) == [f"{BRANCH}.lock"]
    git(repo, "update-ref", BRANCH, tip)


@pytest.mark.parametrize(
    "name", ["index", "HEAD", "config", "packed-refs", "shallow", "refs/ralph/attempts/auth/US-001/1", BRANCH]
)
def test_each_known_lock_is_removed_and_everything_else_stays(repo: Path, name: str) -> None:
    lock = repo / f".git/{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    others = [
        "refs/heads/main.lock",
        "refs/tags/v1.lock",
        "objects/info/commit-graph.lock",
        "mine.lock",
        "index.locked",
    ]
    for other in others:
        (repo / ".git" / other).touch()
    assert later(repo) == [f"{name}.lock"]
    assert all((repo / ".git" / other).exists() for other in others)


def test_a_link_or_a_folder_with_a_locks_name_goes_and_what_a_link_leads_to_stays(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    (repo / ".git/index.lock").symlink_to(tmp_path / "mine")
    (repo / ".git/config.lock/x").mkdir(parents=True)
    assert sorted(later(repo)) == ["config.lock", "index.lock"]
    assert (tmp_path / "mine").exists()


def test_the_lock_of_a_branch_that_ralph_commits_on_is_removed_when_it_is_named(repo: Path) -> None:
    (repo / ".git/refs/heads/main.lock").touch()
    assert later(repo, branches=("main",)) == ["refs/heads/main.lock"]


def test_a_lock_that_is_new_stays_for_a_while(repo: Path) -> None:
    lock = repo / ".git/index.lock"
    lock.touch()
    assert locks.remove_stale(repo / ".git") == []
    assert asyncio.run(locks.release(repo / ".git")) == [lock]


def test_a_lock_from_the_future_is_removed_as_well(repo: Path) -> None:
    lock = repo / ".git/index.lock"
    lock.touch()
    os.utime(lock, (time.time() + 86400,) * 2)
    assert locks.remove_stale(repo / ".git") == [lock]


def test_a_lock_that_any_program_has_open_stays(repo: Path) -> None:
    lock = repo / ".git/index.lock"
    with lock.open("w"):
        assert later(repo) == []
    assert later(repo) == ["index.lock"]


@pytest.mark.parametrize("how", ["folder", "-C", "GIT_DIR", "--git-dir", "--git-dir=", "inside .git"])
def test_a_git_that_works_here_keeps_the_locks_however_it_was_told_to(repo: Path, tmp_path: Path, how: str) -> None:
    (repo / ".git/index.lock").touch()
    folder = {"folder": repo, "inside .git": repo / ".git"}.get(how, tmp_path)
    options = {
        "-C": ["-C", str(repo)],
        "--git-dir": ["--git-dir", "project/.git"],
        "--git-dir=": [f"--git-dir={repo}/.git"],
    }.get(how, [])
    env = {"GIT_DIR": str(repo / ".git")} if how == "GIT_DIR" else {}
    with running(folder, "git", *options, "hash-object", "--stdin-paths", env=env) as waiting:
        wait_for(lambda: Path(f"/proc/{waiting.pid}/comm").read_text() == "git\n")
        wait_for(lambda: how != "-C" or Path(f"/proc/{waiting.pid}/cwd").resolve() == repo)
        assert later(repo) == []
    assert later(repo) == ["index.lock"]


def test_a_git_elsewhere_a_reader_and_a_dead_one_keep_nothing(repo: Path, tmp_path: Path) -> None:
    other = repo / "vendor"
    other.mkdir()
    git(other, "init", "-q")
    (repo / ".git/index.lock").touch()
    with (
        running(other, "git", "hash-object", "--stdin-paths"),
        running(repo, "git", "-c", "a.b=c", "cat-file", "--batch"),
        running(repo, "git", "hash-object", "--stdin-paths") as zombie,
    ):
        os.kill(zombie.pid, signal.SIGKILL)
        wait_for(lambda: Path(f"/proc/{zombie.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        assert later(repo) == ["index.lock"]


def test_a_run_begins_although_a_killed_git_has_locked_everything(repo: Path) -> None:
    left = [f".git/{name}.lock" for name in ("index", "HEAD", "config", "packed-refs", "refs/heads/main")]
    for name in left:
        (repo / name).touch()
    asyncio.run(locks.release(repo / ".git", branches=("main",)))
    assert not any((repo / name).exists() for name in left)
    (repo / "a.txt").write_text("two")
    git(repo, "commit", "-q", "-a", "-m", "works again")


def test_a_git_that_is_ending_has_no_arguments_and_works_where_it_is() -> None:
    assert locks._folders(psutil.Process(), []) == {Path.cwd()}
