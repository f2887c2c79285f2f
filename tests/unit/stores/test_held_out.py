"""The store of held-out files: what it takes, what it refuses, and how files get into a folder and out of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.errors import RalphError
from ralph.stores import held_out
from ralph.stores.held_out import HeldOutFile, HeldOutStore, lay, lift, read_files
from ralph.workspace import Workspace


def store(tmp_path: Path) -> HeldOutStore:
    return HeldOutStore(folder=tmp_path / "store/files", state=tmp_path / "store")


def file(path: str, data: bytes = b"x", *, executable: bool = False) -> HeldOutFile:
    return HeldOutFile(path=path, data=data, executable=executable)


def test_a_home_that_does_not_exist_is_a_name_like_any_other(tmp_path: Path) -> None:
    found = HeldOutStore.of(Workspace(root=tmp_path), "~nobody-here/checks")
    assert found.folder == tmp_path / "~nobody-here/checks"


def test_it_gives_back_what_it_was_given(tmp_path: Path) -> None:
    files = (file("a.py", b"\xff\0"), file("tests/run.sh", executable=True))
    kept = store(tmp_path)
    assert kept.load() == ()
    kept.add(files)
    assert kept.load() == files
    assert kept.state.stat().st_mode & 0o777 == 0o700
    kept.remove("tests/run.sh")
    assert kept.load() == files[:1]
    assert not (kept.folder / "tests").exists()


def test_the_same_file_again_is_fine_and_another_version_is_refused_before_anything_changes(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.add((file("a"),))
    kept.add((file("a"),))
    with pytest.raises(RalphError, match="Another version of a is held out already"):
        kept.add((file("new"), file("a", b"other")))
    assert kept.load() == (file("a"),)


def test_a_folder_is_all_of_its_files_without_a_repository_in_it(tmp_path: Path) -> None:
    for name in ("here/b/two", "here/one", "here/.git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [one.path for one in read_files(tmp_path, tmp_path / "here")] == ["here/b/two", "here/one"]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.symlink_to("/etc/hostname"), "is a link"),
        (lambda path: path.symlink_to("/etc"), "is a link"),
        (lambda path: path.symlink_to("nowhere"), "is a link"),
        (os.mkfifo, "is not a plain file"),
        (lambda path: path.write_bytes(bytes(held_out.MAX_FILE + 1)), "is larger than 20 MB"),
    ],
)
def test_only_plain_files_of_a_sensible_size_are_held_out(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    (tmp_path / "here").mkdir()
    make(tmp_path / "here/odd")
    with pytest.raises(RalphError, match=f"here/odd {why}"):
        read_files(tmp_path, tmp_path / "here")


def test_all_files_together_have_a_limit(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.add((file("a"),))
    with pytest.raises(RalphError, match="100 MB together"):
        kept.add((file("b", bytes(held_out.MAX_ALL)),))
    assert kept.load() == (file("a"),)


@pytest.mark.parametrize(
    ("folder", "why"),
    [("top/checks", "inside the repository"), ("top", "inside the repository"), (".", "contains the repository")],
)
def test_the_folder_must_be_outside_the_repository(tmp_path: Path, folder: str, why: str) -> None:
    (tmp_path / "top").mkdir()
    with pytest.raises(RalphError, match=why):
        HeldOutStore(folder=tmp_path / folder, state=tmp_path).check_outside(tmp_path / "top")


def test_a_link_to_the_repository_is_no_way_around_that(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "beside").symlink_to("top")
    with pytest.raises(RalphError, match="inside the repository"):
        HeldOutStore(folder=tmp_path / "beside", state=tmp_path).check_outside(tmp_path / "top")


def test_what_is_laid_replaces_what_is_there_and_follows_no_link(tmp_path: Path) -> None:
    top, elsewhere = tmp_path / "copy", tmp_path / "elsewhere"
    elsewhere.mkdir()
    top.mkdir()
    (top / "tests").symlink_to(elsewhere)
    (top / "run.sh").symlink_to(elsewhere / "run.sh")
    (top / "folder").write_text("a file in place of a folder")
    files = (file("tests/a.py"), file("run.sh", executable=True), file("folder/b.py"))
    lay(files, top)
    assert list(elsewhere.iterdir()) == []
    assert [(top / one.path).read_bytes() for one in files] == [b"x"] * 3
    assert os.access(top / "run.sh", os.X_OK)
    lift(files, top)
    assert list(top.iterdir()) == []


def test_old_logs_are_removed(tmp_path: Path) -> None:
    kept = store(tmp_path)
    runs = [f"{number:03}" for number in range(held_out.KEPT_LOGS + 2)]
    for run in runs:
        kept.new_logs(run)
    assert sorted(path.name for path in kept.logs.iterdir()) == runs[2:]
