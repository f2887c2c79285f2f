"""Files that are the old one or the new one: what is left when saving does not work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.stores import atomic


def test_a_file_is_made_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "plan.json"
    atomic.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["plan.json"]


@given(old=st.binary(max_size=50), new=st.binary(max_size=50))
def test_what_was_saved_last_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, old: bytes, new: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "saved-last" / "plan.json"
    atomic.write(path, old)
    atomic.write(path, new)
    assert path.read_bytes() == new
    assert [entry.name for entry in path.parent.iterdir()] == ["plan.json"]


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"old")
    path.chmod(0o600)
    atomic.write(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_whoever_reads_the_old_file_keeps_the_whole_of_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"old " * 1000)
    with path.open("rb") as reader:
        assert reader.read(4) == b"old "
        atomic.write(path, b"new")
        assert reader.read() == b"old " * 999


def test_another_name_for_the_old_file_still_has_the_old_bytes(tmp_path: Path) -> None:
    path, link = tmp_path / "plan.json", tmp_path / "link"
    path.write_bytes(b"old")
    link.hardlink_to(path)
    atomic.write(path, b"new")
    assert (path.read_bytes(), link.read_bytes()) == (b"new", b"old")


def test_saving_often_leaves_nothing_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - the number of names is all that is wanted
    for number in range(20):
        atomic.write(tmp_path / "plan.json", b"%d" % number)
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208


def test_saving_over_a_folder_says_so_and_leaves_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.mkdir()
    (path / "inside").write_text("kept")
    with pytest.raises(RalphError, match=r"plan\.json could not be saved: Is a directory") as error:
        atomic.write(path, b"new")
    assert "The old file is unchanged" in error.value.remedy
    assert (path / "inside").read_text() == "kept"
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]


def test_the_old_file_stays_whole_when_the_disk_takes_only_half_of_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"old")
    program = (
        "import resource, sys; from pathlib import Path; from ralph.errors import RalphError\n"
        "from ralph.stores import atomic\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try:\n"
        "    atomic.write(Path(sys.argv[1]), b'new' * 5000)\n"
        "except RalphError as error:\n"
        "    print(error.what, error.remedy)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert f"{path} could not be saved: File too large." in done.stdout
    assert "Free some disk space" in done.stdout
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]


def test_a_link_at_any_name_that_can_be_guessed_is_not_written_through(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("a person's")
    folder = tmp_path / "plans"
    folder.mkdir()
    for guess in (f"{os.getpid()}", f"{os.getpid()}-0", "0", ""):
        (folder / f".plan.json.{guess}.tmp").symlink_to(mine)
    (folder / "plan.json").symlink_to(mine)
    atomic.write(folder / "plan.json", b"new")
    assert (folder / "plan.json").read_bytes() == b"new"
    assert not (folder / "plan.json").is_symlink()
    assert mine.read_text() == "a person's"
    assert not os.access(folder / "plan.json", os.X_OK)  # it has no mode of the link's


@pytest.mark.parametrize("guesses", [1, 3], ids=["one name", "every name"])
@pytest.mark.parametrize("kind", ["link", "file", "pipe"])
def test_a_name_that_was_guessed_is_neither_written_through_nor_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guesses: int, kind: str
) -> None:
    mine, path = tmp_path / "mine", tmp_path / ".ralph" / "plan.json"
    mine.write_bytes(b"mine")
    path.parent.mkdir()
    numbers = [bytes([number]) * 8 for number in range(4)]
    planted = [path.parent / f".plan.json.{number.hex()}.tmp" for number in numbers[:guesses]]
    plant: dict[str, Callable[[Path], object]] = {
        "link": lambda name: name.symlink_to(mine),
        "file": lambda name: name.write_bytes(b"theirs"),
        "pipe": os.mkfifo,
    }
    for name in planted:
        plant[kind](name)
    drawn = iter(numbers)
    monkeypatch.setattr(os, "urandom", lambda _size: next(drawn))
    if guesses == 1:
        atomic.write(path, b"new")
        assert path.read_bytes() == b"new"
    else:
        with pytest.raises(RalphError, match="every temporary name is taken"):
            atomic.write(path, b"new")
    assert mine.read_bytes() == b"mine"
    assert all(os.path.lexists(name) for name in planted), "what is not ours stays"


def test_what_a_killed_writer_left_is_swept_away(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    program = (
        "import os, signal, sys; from pathlib import Path; from ralph.stores import atomic\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)\n"
        "atomic.write(Path(sys.argv[1]), b'new')\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)])
    (tmp_path / ".other.json.1.tmp").touch()
    assert len(list(tmp_path.iterdir())) == 2
    atomic.remove_temporary(path)
    assert [left.name for left in tmp_path.iterdir()] == [".other.json.1.tmp"]


@pytest.mark.parametrize("link", [".ralph/run", ".ralph/run/auth", ".ralph/worktrees/auth/.ralph"])
def test_a_link_below_our_folder_gives_way_and_what_it_leads_to_stays(tmp_path: Path, link: str) -> None:
    away = tmp_path / "away"
    (away / "auth").mkdir(parents=True)
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(away)
    path = tmp_path / link / ("US-001.json" if link.endswith("auth") else "auth/US-001.json")

    atomic.write(path, b"{}")

    assert path.read_bytes() == b"{}"
    assert list(away.rglob("*")) == [away / "auth"]


def test_our_folder_itself_is_not_written_into_where_it_is_a_link(tmp_path: Path) -> None:
    away, link = tmp_path / "away", ".ralph"
    away.mkdir()
    (tmp_path / link).symlink_to(away)
    with pytest.raises(RalphError) as error:
        atomic.write(tmp_path / ".ralph/run/auth/US-001.attempt.json", b"{}")
    assert error.value.details == (f"{tmp_path / link} is a link. Ralph writes only to real folders of the project.",)
    assert list(away.iterdir()) == []


def test_only_what_a_writer_makes_is_temporary() -> None:
    assert atomic.is_temporary(".plan.md.0a1b2c3d4e5f6071.tmp")
    for name in ("plan.md", "plan.md.0a1b2c3d.tmp", ".plan.md.tmp", "..0a1b2c3d.tmp", ".plan.md.0a1b2c3g.tmp"):
        assert not atomic.is_temporary(name), name
