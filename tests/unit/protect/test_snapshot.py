"""The rules about saved files: every kind of file against every other, and what is put back."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph import safe_files
from ralph.protect.snapshot import SavedFile, below, copy_aside, is_unchanged, restore, save, saved

MAX = safe_files.MAX_BYTES


def nothing(path: Path) -> None: ...


def file(path: Path) -> None:
    path.write_bytes(b"text")
    path.chmod(0o640)


def other_file(path: Path) -> None:
    path.write_bytes(b"TEXT")
    path.chmod(0o640)


def empty(path: Path) -> None:
    path.touch()


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, MAX + 1)


def link(path: Path) -> None:
    path.symlink_to("../elsewhere")


def link_to_the_same(path: Path) -> None:
    (path.parent.parent / "same").write_bytes(b"text")
    path.symlink_to("../same")


def link_to_a_folder(path: Path) -> None:
    (path.parent.parent / "folder").mkdir(exist_ok=True)
    (path.parent.parent / "folder" / "kept").touch()
    path.symlink_to("../folder")


def pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def socket_file(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


def folder(path: Path) -> None:
    (path / "inner").mkdir(parents=True)
    (path / "inner" / "file").write_bytes(b"text")
    (path / "link").symlink_to("inner/file")
    os.mkfifo(path / "pipe")


KINDS: list[Callable[[Path], None]] = [
    nothing,
    file,
    other_file,
    empty,
    huge,
    link,
    link_to_the_same,
    link_to_a_folder,
    pipe,
    socket_file,
    folder,
]
RESTORED = [kind for kind in KINDS if kind not in (socket_file, folder)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here" / "it"


def shown(path: Path) -> tuple[object, ...]:
    """What a person would see at a path."""
    if not os.path.lexists(path):
        return ()
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return ("link", str(path.readlink()))
    return (stat.S_IFMT(mode), stat.S_IMODE(mode), path.read_bytes() if stat.S_ISREG(mode) else b"")


@pytest.mark.parametrize("now", KINDS)
@pytest.mark.parametrize("before", RESTORED)
def test_whatever_comes_in_place_of_a_file_is_noticed_and_the_file_put_back(
    path: Path, before: Callable[[Path], None], now: Callable[[Path], None]
) -> None:
    before(path)
    was, known = shown(path), save(path)
    assert is_unchanged(path, known)
    safe_files.remove_all(path)
    now(path)

    assert is_unchanged(path, known) == (before is now)
    restore(path, known)

    assert shown(path) == was
    assert is_unchanged(path, known)
    assert [one.name for one in path.parent.iterdir()] in ([], ["it"]), "no temporary file stays"
    if now is link_to_a_folder and before is not now:
        assert (path.parent.parent / "folder" / "kept").exists(), "what a link leads to stays"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=40), permissions=st.integers(0o400, 0o777), other=st.integers(0, 0o777))
def test_only_more_permissions_are_a_change(path: Path, data: bytes, permissions: int, other: int) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    path.chmod(permissions)
    known = save(path)
    path.chmod(other)
    assert is_unchanged(path, known) == (not other & ~permissions)
    restore(path, known)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (data, permissions)


def test_a_huge_file_is_not_read(path: Path) -> None:
    file(path)
    known = save(path)
    huge(path)
    now = save(path, known)
    assert now and (now.size, now.data, now.is_text) == (MAX + 1, b"", False)
    assert not is_unchanged(path, known)


def test_a_huge_file_of_a_persons_is_kept_whole_and_not_read_twice(path: Path) -> None:
    huge(path)
    known = save(path)
    assert known and known.is_text
    assert save(path, known) is known
    path.unlink()
    restore(path, known)
    assert path.stat().st_size == MAX + 1


@pytest.mark.parametrize("kind", [nothing, link, link_to_the_same, link_to_a_folder, pipe, socket_file, folder, huge])
def test_of_what_an_agent_wrote_only_a_plain_file_is_read(path: Path, kind: Callable[[Path], None]) -> None:
    kind(path)
    assert safe_files.read(path) is None
    safe_files.remove_all(path)
    file(path)
    assert safe_files.read(path) == b"text"


def test_without_known_permissions_those_of_the_file_stay(path: Path) -> None:
    file(path)
    known = saved(b"new")
    assert not is_unchanged(path, known)
    restore(path, known)
    assert is_unchanged(path, known)
    assert shown(path) == (stat.S_IFREG, 0o640, b"new")
    assert saved(None) is None


def test_missing_folders_are_made(path: Path) -> None:
    for kind in (file, link, pipe):
        kind(path)
        known = save(path)
        safe_files.remove_all(path.parent)
        assert not is_unchanged(path, known)
        restore(path, known)
        assert is_unchanged(path, known)
        safe_files.remove_all(path)
    safe_files.remove_all(path.parent)
    path.parent.write_text("a file in place of the folder")
    assert save(path) is None and is_unchanged(path, None)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_for_a_person_is_files_only(path: Path, tmp_path: Path, kind: Callable[[Path], None]) -> None:
    kind(path)
    copy_aside(path, tmp_path / "kept" / "it")
    kept = sorted(str(one.relative_to(tmp_path / "kept")) for one in (tmp_path / "kept").rglob("*") if one.is_file())
    assert kept == {folder: ["it/inner/file"]}.get(kind, ["it"] if kind in (file, other_file, empty, huge) else [])


def test_everything_in_a_folder_is_listed_and_no_link_is_followed(path: Path) -> None:
    folder(path)
    found = [os.path.relpath(one, path) for one in below(str(path))]
    assert sorted(found) == ["inner/file", "link", "pipe"]
    assert list(below(str(path / "link"))) == [str(path / "link")]
    assert list(below(str(path / "not there"))) == []
    assert sorted(os.path.relpath(one, path) for one in below(str(path), frozenset({"inner"}))) == ["link", "pipe"]


def test_saved_files_are_compared_by_what_they_are_not_by_when() -> None:
    one, two = SavedFile(data=b"x", size=1, mark=(1,)), SavedFile(data=b"x", size=1, mark=(2,))
    assert one == two
