"""The ids of sessions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph.errors import RalphError
from ralph.protect import crash_copies
from ralph.workflows.session.ids import check_id, ids, new_id
from ralph.workflows.session.locate import begin, find, is_finished
from ralph.workspace import Workspace

NOW = datetime(2026, 2, 1, 12, 30, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/tmp/x", "a\\b", ".hidden", "a..b", "-x", "x\n", "x" * 81, "a.lock", "specs"],
)
def test_an_id_that_could_leave_the_folder_or_means_something_else_is_refused(name: str) -> None:
    with pytest.raises(RalphError, match="is not a valid session id"):
        check_id(name)


def test_a_new_id_says_when_and_what_and_is_never_taken(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path)
    name = new_id(workspace, "Add a *weather* page/../ for ÄÖÜ", NOW)
    assert check_id(name) == "20260201-123005-add-a-weather-page-for"
    begin(workspace, name, "x")
    assert check_id(new_id(workspace, "Add a *weather* page/../ for ÄÖÜ", NOW)) == f"{name}-2"
    assert check_id(new_id(workspace, "天気", NOW)) == "20260201-123005"
    assert len(check_id(new_id(workspace, "word " * 99, NOW))) <= 60


def test_a_session_that_was_begun_is_known_before_it_has_a_folder(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path)
    begin(workspace, "weather", "  How warm is it?\n")
    (tmp_path / ".ralph-sessions/other").mkdir(parents=True)
    (tmp_path / ".ralph-sessions/link").symlink_to(tmp_path)
    (tmp_path / ".ralph-sessions/..odd").mkdir()
    assert ids(workspace) == ["other", "weather"]
    assert find(workspace, "weather").request == "How warm is it?"
    with pytest.raises(RalphError, match="weather"):
        find(workspace, "wether")


def test_a_session_is_finished_when_its_last_run_has_ended_too(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path)
    folder = tmp_path / ".ralph-sessions/weather"
    folder.mkdir(parents=True)
    (folder / "progress.md").write_text("- [x] plan-init: Do it\n- [x] task-1: Do it\n")
    (folder / "progress.review1.md").write_text("task-1\n\n**Verdict**: Complete\n")
    assert is_finished(find(workspace, "weather"))

    crash_copies.keep(workspace, "weather", folder.iterdir(), tip="abc")
    assert not is_finished(find(workspace, "weather")), "nobody knows whether the branch has all of it"

    crash_copies.forget(workspace, "weather")
    assert is_finished(find(workspace, "weather"))
