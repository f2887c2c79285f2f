"""Files of a work tree are removed there, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.git.files import remove


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "away/folder").mkdir(parents=True)
    (tmp_path / "away/folder/file").write_text("theirs\n")
    (tmp_path / "top/a/b").mkdir(parents=True)
    (tmp_path / "top/a/b/c").write_text("ours\n")
    (tmp_path / "top/link").symlink_to(tmp_path / "away")
    return tmp_path / "top"


@pytest.mark.parametrize("path", ["{away}/folder", "../away/folder", "a/../../away/folder", "link/folder", "", "."])
def test_nothing_outside_or_behind_a_link_is_removed(top: Path, path: str) -> None:
    remove(top, path.format(away=top.parent / "away"))
    assert (top.parent / "away/folder/file").exists() and (top / "a/b/c").exists()


def test_a_link_goes_and_what_it_leads_to_stays(top: Path) -> None:
    remove(top, "link")
    assert not (top / "link").is_symlink() and (top.parent / "away/folder/file").exists()


@pytest.mark.parametrize("path", ["a", "a/b", "a/b/", "a/b/c"])
def test_folders_that_are_empty_without_it_go_as_well(top: Path, path: str) -> None:
    remove(top, path)
    assert [entry.name for entry in top.iterdir()] == ["link"]
