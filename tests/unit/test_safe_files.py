"""Files in Ralph's own folders: whatever an agent puts there, nothing is written anywhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralph import safe_files
from ralph.errors import RalphError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".ralph").mkdir(parents=True)
    return root


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """A folder outside of the project."""
    folder = tmp_path / "away"
    folder.mkdir()
    (folder / "x.log").write_text("a person's")
    return folder


def untouched(away: Path) -> bool:
    return [path.name for path in away.iterdir()] == ["x.log"] and (away / "x.log").read_text() == "a person's"


def test_a_file_is_made_with_its_folders(root: Path) -> None:
    path = root / ".ralph" / "logs" / "run" / "x.log"
    with safe_files.open_new(path) as file:
        file.write(b"one")
    with safe_files.open_new(path) as file:
        file.write(b"two")
    assert path.read_bytes() == b"two"


@pytest.mark.parametrize("link", [".ralph", ".ralph-sessions"])
def test_a_folder_that_is_a_link_is_refused_by_name(root: Path, away: Path, link: str) -> None:
    spot = root / link
    if link == ".ralph":
        spot.rmdir()
    spot.parent.mkdir(parents=True, exist_ok=True)
    spot.symlink_to(away)
    below = root / ("/".join((link, "x.log")) if "sessions" in link else ".ralph/logs/run/x.log")
    for use in (safe_files.open_new, safe_files.open_append, lambda path: safe_files.make_folder(path.parent)):
        with pytest.raises(RalphError, match=f"{spot} is a link") as error:
            use(below)
        assert "Remove the link" in error.value.remedy
    assert untouched(away)


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_whatever_bears_a_new_files_name_makes_room_for_it(root: Path, away: Path, kind: str) -> None:
    path = root / ".ralph" / "x.log"
    match kind:
        case "link":
            path.symlink_to(away / "x.log")
        case "dangling link":
            path.symlink_to(away / "new.log")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
            (path / "inner").symlink_to(away)
    with safe_files.open_new(path) as file:
        file.write(b"ours")
    assert path.read_bytes() == b"ours"
    assert untouched(away)


def test_a_file_that_is_appended_to_is_never_behind_a_link(root: Path, away: Path) -> None:
    path = root / ".ralph" / "x.log"
    path.symlink_to(away / "x.log")
    descriptor = safe_files.open_append(path)
    os.write(descriptor, b"ours")
    os.close(descriptor)
    assert path.read_bytes() == b"ours"
    assert untouched(away)


def test_a_link_above_the_project_is_the_persons_own(root: Path, tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(root.parent)
    with safe_files.open_new(tmp_path / "home" / "project" / ".ralph" / "logs" / "x.log") as file:
        file.write(b"ours")
    assert (root / ".ralph/logs/x.log").read_bytes() == b"ours"


def test_links_in_a_worktree_are_the_projects_own(root: Path, away: Path) -> None:
    worktree = root / ".ralph" / "worktrees" / "auth"
    worktree.mkdir(parents=True)
    (worktree / "docs").symlink_to(away)
    safe_files.make_folder(worktree / "docs" / "new")
    assert (away / "new").is_dir()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_a_plain_file_is_read(root: Path, away: Path, kind: str) -> None:
    path = root / ".ralph" / "x.log"
    {"link": lambda: path.symlink_to(away / "x.log"), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[kind]()
    with pytest.raises(OSError):
        safe_files.open_old(path)


def test_a_file_in_place_of_a_folder_is_explained(root: Path) -> None:
    (root / ".ralph" / "logs").write_text("a file")
    with pytest.raises(RalphError, match=r"could not create .*\.ralph/logs: Not a directory"):
        safe_files.open_new(root / ".ralph" / "logs" / "x.log")


def test_folders_that_are_deeper_than_any_path_is_long_can_be_removed(tmp_path: Path) -> None:
    program = "import os\nfor _ in range(3000):\n  os.mkdir('dd'); os.chdir('dd')\nopen('file', 'w').close()"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    (tmp_path / "dd" / "link").symlink_to("/")

    safe_files.make_writable(tmp_path / "dd")
    safe_files.remove_all(tmp_path / "dd")

    assert list(tmp_path.iterdir()) == []


def test_no_descriptor_stays_open(root: Path) -> None:
    (root / ".ralph" / "logs").touch()
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - the number of names is all that is wanted
    for _ in range(10):
        with pytest.raises(RalphError):
            safe_files.open_new(root / ".ralph" / "logs" / "x.log")
        safe_files.make_folder(root / ".ralph" / "run" / "deep")
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208
