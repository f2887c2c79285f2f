"""One run at a time: who is refused, who takes over, and what is left behind."""

from __future__ import annotations

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


@pytest.mark.parametrize("with_birth", [True, False])
def test_a_lock_that_names_a_living_process_is_respected_without_any_flock(
    path: Path, neighbour: subprocess.Popen[bytes], with_birth: bool
) -> None:
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


def test_a_renewed_lock_still_keeps_another_process_out(path: Path, neighbour: subprocess.Popen[bytes]) -> None:
    lock.renew(path, Owner(pid=neighbour.pid, run="run-1", birth=birth_of(neighbour.pid)))
    with pytest.raises(RalphError, match="run-1"), lock.hold(path, lock.me("run-2", "auth")):
        pytest.fail("both hold the lock")


def test_a_folder_in_place_of_the_lock_is_explained(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(RalphError, match="could not be made: Is a directory"), lock.hold(path, lock.me("r", "auth")):
        pass


def test_of_many_processes_at_once_exactly_one_gets_the_lock(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from ralph.errors import RalphError; from ralph.stores import lock\n"
        "try:\n"
        "    with lock.hold(Path(sys.argv[1]), lock.me(sys.argv[2], 'auth')):\n"
        "        print('held', flush=True); sys.stdin.read()\n"
        "except RalphError:\n"
        "    print('refused', flush=True)\n"
    )
    leave(path, DEAD)
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), f"run-{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    answers = [run.stdout.readline().strip() for run in runs if run.stdout]
    for run in runs:
        run.communicate()
    assert sorted(answers) == ["held", "refused", "refused", "refused"]
    assert not path.exists()
