"""What Ralph knows of a plan from its last run: only what it wrote itself, with its own key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.plan.model import Plan, Task, TaskResult, TaskState
from ralph.stores import last_run, seal
from ralph.stores.last_run import LastRun
from ralph.workspace import Workspace

PASSED = Task(
    id="US-001",
    title="One",
    state=TaskState.PASSED,
    result=TaskResult(completed_at="2026-01-01T10:00:00Z", commit="abc", summary="done"),
)
MARKED = Task(id="US-002", title="Two", state=TaskState.PASSED)
OPEN = Task(id="US-003", title="Three")
PLAN = Plan(target="auth", tasks=(PASSED, MARKED, OPEN))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/.git/HEAD").touch()
    seal._key.cache_clear()
    yield Workspace(root=tmp_path / "project")
    seal._key.cache_clear()


def saved(workspace: Workspace) -> LastRun | None:
    last_run.save(workspace, "auth", LastRun(is_over=True, passed=last_run.moments(PLAN)))
    return last_run.load(workspace, "auth")


def test_it_is_read_as_it_was_written(workspace: Workspace) -> None:
    assert saved(workspace) == LastRun(is_over=True, passed={"US-001": "2026-01-01T10:00:00Z", "US-002": ""})
    assert last_run.load(workspace, "other") is None


def test_what_ralph_saw_pass_is_known_and_nothing_else(workspace: Workspace) -> None:
    last = saved(workspace)
    assert PASSED.result
    again = replace(PASSED, result=replace(PASSED.result, completed_at="2026-01-02T10:00:00Z"))
    forged = Plan(target="auth", tasks=(again, MARKED, replace(OPEN, state=TaskState.PASSED, result=PASSED.result)))
    assert last_run.unknown(PLAN, last, is_unclean=True) == []
    assert [task.id for task in last_run.unknown(forged, last, is_unclean=False)] == ["US-001", "US-003"]


@pytest.mark.parametrize(("is_unclean", "doubted"), [(False, ["US-001"]), (True, ["US-001", "US-002"])])
def test_a_task_marked_without_a_result_is_a_person_s_word_unless_a_run_was_killed(
    is_unclean: bool, doubted: list[str]
) -> None:
    assert [task.id for task in last_run.unknown(PLAN, None, is_unclean=is_unclean)] == doubted


@pytest.mark.parametrize("how", ["copied to another plan", "changed", "empty", "another key", "a key that others read"])
def test_what_somebody_else_wrote_is_not_known(workspace: Workspace, tmp_path: Path, how: str) -> None:
    saved(workspace)
    path, key = workspace.root / ".git/ralph/last-run/auth", tmp_path / "data/ralph/key"
    assert key.stat().st_mode & 0o777 == 0o600
    target = "auth"
    match how:
        case "copied to another plan":
            target = path.with_name("other").name
            path.with_name(target).write_bytes(path.read_bytes())
        case "changed":
            path.write_bytes(path.read_bytes().replace(b"US-002", b"US-003"))
        case "empty":
            path.write_bytes(b"")
        case "another key":
            key.write_bytes(b"k" * 32)
        case _:
            key.chmod(0o644)
    seal._key.cache_clear()
    assert last_run.load(workspace, target) is None


def test_where_no_key_can_be_kept_later_runs_believe_nothing(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    assert saved(workspace), "this process knows what it wrote"
    seal._key.cache_clear()
    assert last_run.load(workspace, "auth") is None


def test_a_run_that_did_not_end_is_remembered_for_the_whole_project(workspace: Workspace) -> None:
    assert not last_run.was_cut_short(workspace)
    saved(workspace)
    last_run.save(workspace, "other", LastRun(is_over=False, passed={}, repository={"config": "digest"}))
    assert last_run.load(workspace, "other") == LastRun(is_over=False, passed={}, repository={"config": "digest"})
    assert last_run.was_cut_short(workspace)
    last_run.save(workspace, "other", LastRun(is_over=True, passed={}))
    assert not last_run.was_cut_short(workspace)
