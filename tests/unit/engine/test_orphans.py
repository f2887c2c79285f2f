"""What killed runs left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.engine.orphans import remove_temporary
from ralph.workspace import Workspace

LEFT = ".{}.0123456789abcdef.tmp"


@pytest.mark.parametrize(
    "place",
    [
        ".ralph/run/auth/crash-copies", ".ralph/run/auth/US-001.1.attempt.json", ".ralph/run/limits.json",
        ".ralph/run_state.json", ".ralph/2026-01-01-auth/prd.json", ".git/ralph/last-run/auth",
    ],
)  # fmt: skip
def test_a_killed_writer_s_temporary_file_is_removed_wherever_ralph_writes(tmp_path: Path, place: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").touch()
    whole = tmp_path / place
    left = whole.with_name(LEFT.format(whole.name))
    left.parent.mkdir(parents=True, exist_ok=True)
    whole.touch()
    left.touch()

    remove_temporary(Workspace(root=tmp_path))

    assert not left.exists()
    assert whole.exists()


def test_a_folder_that_an_agent_linked_is_left_alone(tmp_path: Path) -> None:
    away = tmp_path / "away" / LEFT.format("mine")
    away.parent.mkdir()
    away.touch()
    (tmp_path / "project/.ralph/run").mkdir(parents=True)
    (tmp_path / "project/.ralph/run/auth").symlink_to(away.parent)
    (tmp_path / "project/.ralph/run" / LEFT.format("folder")).mkdir()

    remove_temporary(Workspace(root=tmp_path / "project"))

    assert away.exists()
