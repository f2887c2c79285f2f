"""What an agent may write outside of its working copy."""

from __future__ import annotations

from pathlib import Path

from ralph.engine.containment import in_their_places


def test_a_link_in_a_files_place_is_not_let_in(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".ralph").mkdir()
    plan, notes, learned = (root / ".ralph" / name for name in ("prd.json", "notes.md", "learnings.md"))
    plan.write_text("{}")
    notes.symlink_to(root / ".git/hooks/post-commit")

    assert in_their_places((plan, notes, learned), root) == (plan, learned)


def test_a_folder_on_the_way_that_is_a_link_is_not_let_in(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    root = tmp_path / "project"
    root.mkdir()
    (root / "sessions").symlink_to(tmp_path / "elsewhere")

    assert in_their_places((root / "sessions/plan.md",), root) == ()


def test_a_project_behind_a_link_is_still_the_project(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    root = tmp_path / "link"
    root.symlink_to(tmp_path / "real")

    assert in_their_places((root / "prd.json",), root) == (root / "prd.json",)
