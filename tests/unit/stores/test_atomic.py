"""Files that are the old one or the new one: what is left when saving does not work."""

from __future__ import annotations

import os
import subprocess
import sys
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
    assert "The old file is whole" in error.value.remedy
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
    assert "Free some space" in done.stdout
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]
