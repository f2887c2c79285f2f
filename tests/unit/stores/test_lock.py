"""One run at a time: who is refused, who takes over, and what is left behind."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ralph.errors import EXIT_LOCKED, RalphError
from ralph.process.table import birth_of
from ralph.stores import lock
from ralph.stores.lock import Owner

DEAD = Owner(pid=2**22 + 7, run="20260101-000000-dead", target="auth", birth="1")
HOLDER = (
    "import sys; from pathlib import Path; from ralph.errors import RalphError; from ralph.stores import lock\n"
    "try:\n"
    "    with lock.hold(Path(sys.argv[1]), lock.me(sys.argv[2], 'auth')):\n"
    "        print('held', flush=True); sys.stdin.read()\n"
    "except RalphError:\n"
    "    print('refused', flush=True)\n"
)
PIPED = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ralph" / "ralph.lock"


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """Another process that lives until it is told to end."""
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield process
    process.communicate()


def leave(path: Path, owner: Owner) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(owner)))


def named(path: Path) -> str:
    return json.loads(path.read_text())["run"]


def test_the_lock_names_its_owner_and_is_gone_afterwards(path: Path) -> None:
    with lock.hold(path, lock.me("run-1", "auth")) as left_by:
        assert left_by is None
        assert named(path) == "run-1"
        holder = lock.holder(path)
        assert holder is not None
        assert (holder.pid, holder.target) == (os.getpid(), "auth")
    assert not path.exists()
    assert lock.holder(path) is None


def test_a_second_run_is_refused_and_told_who_is_at_work(path: Path) -> None:
    with (
        lock.hold(path, lock.me("run-1", "auth")),
        pytest.raises(RalphError) as refused,
        lock.hold(path, lock.me("run-2", "billing")),
    ):
        pytest.fail("both hold the lock")
    assert f"process {os.getpid()}, run run-1, on auth" in refused.value.what
    assert f"kill {os.getpid()}" in refused.value.remedy
    assert refused.value.code == EXIT_LOCKED


def test_being_refused_does_not_take_the_lock_from_its_owner(path: Path) -> None:
    with lock.hold(path, lock.me("run-1", "auth")):
        for _ in range(2):
            with pytest.raises(RalphError), lock.hold(path, lock.me("run-2", "auth")):
                pass
        assert named(path) == "run-1"


def test_the_lock_is_free_after_an_error(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), lock.hold(path, lock.me("run-1", "auth")):
        raise ZeroDivisionError
    with lock.hold(path, lock.me("run-2", "auth")) as left_by:
        assert left_by is None


def test_a_dead_owners_lock_is_taken_over_and_its_owner_is_told(path: Path) -> None:
    leave(path, DEAD)
    assert lock.holder(path) is None
    with lock.hold(path, lock.me("run-2", "auth")) as left_by:
        assert left_by == DEAD
        assert named(path) == "run-2"
    assert not path.exists()


def test_the_lock_of_a_process_that_was_killed_is_taken_over(path: Path, neighbour: subprocess.Popen[bytes]) -> None:
    owner = Owner(pid=neighbour.pid, run="run-1", birth=birth_of(neighbour.pid))
    leave(path, owner)
    neighbour.kill()
    neighbour.wait()
    with lock.hold(path, lock.me("run-2", "auth")) as left_by:
        assert left_by == owner


def test_a_later_process_with_the_same_number_is_not_the_owner(path: Path, neighbour: subprocess.Popen[bytes]) -> None:
    leave(path, replace(DEAD, pid=neighbour.pid, birth="1"))
    with lock.hold(path, lock.me("run-2", "auth")) as left_by:
        assert left_by is not None


@pytest.mark.parametrize("birth", ["", "its own"])
def test_a_note_that_names_a_living_stranger_stops_nobody(path: Path, birth: str) -> None:
    stranger = Owner(pid=1, run="run-1", target="auth", birth=birth and birth_of(1))
    leave(path, stranger)
    assert lock.holder(path) is None
    with lock.hold(path, lock.me("run-2", "auth")) as left_by:
        assert left_by == stranger
        assert named(path) == "run-2"


def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that has no locks, as some network shares."""

    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("with_birth", [True, False])
def test_where_the_file_system_has_no_locks_a_living_owner_is_respected(
    path: Path, neighbour: subprocess.Popen[bytes], with_birth: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    birth = birth_of(neighbour.pid) if with_birth else ""
    leave(path, Owner(pid=neighbour.pid, run="run-1", target="auth", birth=birth))
    with (
        pytest.raises(RalphError, match=f"process {neighbour.pid}, run run-1"),
        lock.hold(path, lock.me("run-2", "auth")),
    ):
        pytest.fail("both hold the lock")
    assert named(path) == "run-1"
    holder = lock.holder(path)
    assert holder is not None
    assert holder.pid == neighbour.pid


def test_where_the_file_system_has_no_locks_a_dead_owners_is_taken_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    leave(path, DEAD)
    assert lock.holder(path) is None
    with lock.hold(path, lock.me("run-2", "auth")) as left_by:
        assert left_by == DEAD
    assert not path.exists()


def test_a_brief_holder_leaves_a_dead_owners_name_for_the_next_run(path: Path) -> None:
    leave(path, DEAD)
    with lock.hold(path, lock.me("by-hand", "auth"), brief=True):
        assert named(path) == "by-hand"
    assert named(path) == DEAD.run
    with lock.hold(path, lock.me("run-2", "auth")) as left_by:
        assert left_by == DEAD


def test_a_brief_holder_leaves_nothing_where_nothing_was(path: Path) -> None:
    with lock.hold(path, lock.me("by-hand", "auth"), brief=True):
        assert path.exists()
    assert not path.exists()


@pytest.mark.parametrize(
    "text", ["", "garbage", "[]", "null", '"x"', "{}", '{"pid": "x", "run": "r"}', '{"pid": 1', "\0\0\0"]
)
def test_a_lock_file_that_says_nothing_is_nobodys(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    assert lock.holder(path) is None
    with lock.hold(path, lock.me("run-1", "auth")) as left_by:
        assert left_by is None
        assert named(path) == "run-1"


def test_a_lock_file_that_was_removed_under_its_owner_comes_back(path: Path) -> None:
    owner = lock.me("run-1", "auth")
    with lock.hold(path, owner):
        path.unlink()
        lock.renew(path, owner)
        assert named(path) == "run-1"
        lock.renew(path, lock.me("other", "auth"))
        assert named(path) == "run-1"
    assert not path.exists()


@pytest.fixture
def in_git(path: Path) -> Path:
    """The lock of a project that is a git repository."""
    root = path.parent.parent
    git(root, "init", "-q")
    git(root, "config", "user.name", "A person")
    git(root, "config", "user.email", "a@b")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def refused(path: Path) -> str:
    with pytest.raises(RalphError) as error, lock.hold(path, lock.me("run-2", "auth")):
        pytest.fail("both hold the lock")
    return error.value.what


def test_git_clean_does_not_let_a_second_run_in(in_git: Path) -> None:
    owner = lock.me("run-1", "auth")
    with lock.hold(in_git, owner):
        git(in_git.parent.parent, "clean", "-fdx")
        assert not in_git.exists()
        holder = lock.holder(in_git)
        assert holder == owner
        assert "run run-1, on auth" in refused(in_git)
        lock.renew(in_git, owner)
        assert named(in_git) == "run-1"
        assert "run run-1, on auth" in refused(in_git)
    assert not in_git.exists()
    assert lock.holder(in_git) is None


def test_a_run_that_was_killed_after_git_clean_is_known_to_the_next_one(in_git: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(in_git), "run-1"], **PIPED) as run:
        assert run.stdout
        assert run.stdout.readline() == "held\n"
        git(in_git.parent.parent, "clean", "-fdx")
        run.kill()
        run.communicate()
    assert lock.holder(in_git) is None
    with lock.hold(in_git, lock.me("run-2", "auth")) as left_by:
        assert left_by is not None
        assert (left_by.pid, left_by.run) == (run.pid, "run-1")


def test_two_projects_of_one_repository_do_not_wait_for_each_other(in_git: Path) -> None:
    root = in_git.parent.parent
    git(root, "worktree", "add", "-q", str(root / "linked"))
    others = [root / "web" / ".ralph" / "ralph.lock", root / "linked" / ".ralph" / "ralph.lock"]
    with lock.hold(in_git, lock.me("run-1", "auth")):
        for other in others:
            assert lock.holder(other) is None
            with lock.hold(other, lock.me("run-2", "auth")) as left_by:
                assert left_by is None
                git(other.parent.parent, "clean", "-fdx")
                assert "run-2" in refused(other)


def test_the_same_project_by_another_path_has_the_same_lock(
    in_git: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(in_git.parent.parent)
    with lock.hold(in_git, lock.me("run-1", "auth")):
        in_git.unlink()
        assert "run-1" in refused(link / ".ralph" / "ralph.lock")


def test_a_repository_that_is_made_during_a_run_changes_nothing(path: Path) -> None:
    with lock.hold(path, lock.me("run-1", "auth")):
        git(path.parent.parent, "init", "-q")
        assert lock.holder(path) is not None
        assert "run-1" in refused(path)


def test_a_link_in_place_of_the_note_is_not_followed(path: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("a person's")
    path.parent.mkdir()
    path.symlink_to(mine)
    with lock.hold(path, lock.me("run-1", "auth")):
        assert named(path) == "run-1"
        path.unlink()
        path.symlink_to(mine)
        lock.renew(path, lock.me("run-1", "auth"))
        assert not path.is_symlink()
    assert mine.read_text() == "a person's"


def test_whoever_only_asks_who_holds_the_lock_keeps_nobody_out(in_git: Path) -> None:
    program = "import sys; from pathlib import Path; from ralph.stores import lock\nprint('asks', flush=True)\n"
    program += "while True: lock.holder(Path(sys.argv[1]))"
    leave(in_git, DEAD)
    with subprocess.Popen([sys.executable, "-c", program, str(in_git)], stdout=subprocess.PIPE) as asking:
        assert asking.stdout
        assert asking.stdout.readline()
        for number in range(300):
            with lock.hold(in_git, lock.me(f"run-{number}", "auth"), brief=True):
                pass
        asking.kill()


def test_a_folder_in_place_of_the_lock_is_explained(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(RalphError, match=r"could not create .*: Is a directory"), lock.hold(path, lock.me("r", "auth")):
        pass


def test_of_many_processes_at_once_exactly_one_gets_the_lock(path: Path) -> None:
    leave(path, DEAD)
    runs = [
        subprocess.Popen([sys.executable, "-c", HOLDER, str(path), f"run-{number}"], **PIPED) for number in range(4)
    ]
    answers = [run.stdout.readline().strip() for run in runs if run.stdout]
    for run in runs:
        run.communicate()
    assert sorted(answers) == ["held", "refused", "refused", "refused"]
    assert not path.exists()
