"""Reading journals back: also those that a crash cut short."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.journal.encode import MAX_LINE
from ralph.journal.events import AgentStarted, AttemptEnded, Event, Noted, RunStarted, Unknown
from ralph.journal.reader import Figures, Lines, PastAttempt, events, figures, past_attempts, runs, seen_pages
from ralph.journal.writer import FILE, Journal
from ralph.plan.model import GateResult
from ralph.plan.work import Usage, Verdict, WorkKind
from tests.unit.journal.test_writer import ATTEMPT, line


def journal(folder: Path, *lines: str | bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes(b"\n".join(text.encode() if isinstance(text, str) else text for text in lines))
    return folder


def test_events_can_be_asked_for_by_name(tmp_path: Path) -> None:
    with Journal(tmp_path) as made:
        for event in (Noted(text="one"), ATTEMPT, Noted(text="two")):
            made.emit(event)
    assert [found.name for found in events(tmp_path)] == ["noted", "attempt_ended", "noted"]
    assert [found.event for found in events(tmp_path, "attempt_ended")] == [ATTEMPT]
    assert len(list(events(tmp_path, "attempt_ended", "noted"))) == 3
    assert list(events(tmp_path, "run_ended")) == []


def test_an_event_that_only_mentions_a_name_is_not_of_that_name(tmp_path: Path) -> None:
    with Journal(tmp_path) as made:
        made.emit(Noted(text='"event": "attempt_ended"'))
    assert list(events(tmp_path, "attempt_ended")) == []


@given(cut=st.integers(0, 400))
def test_a_line_that_a_crash_cut_is_passed_over(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    text = line(ATTEMPT)
    folder = journal(tmp_path_factory.mktemp("cut") / "run", line(Noted(text="one")), text[: min(cut, len(text) - 1)])
    assert [found.name for found in events(folder)] == ["noted"]


@pytest.mark.parametrize("garbage", ["", "garbage", "[]", "3", "null", b"\xff\xfe", "\0" * 50])
def test_lines_that_are_no_events_are_passed_over(tmp_path: Path, garbage: str | bytes) -> None:
    folder = journal(tmp_path / "20260101-000000-00000000", garbage, line(ATTEMPT), garbage, line(Noted(text="two")))
    assert [found.name for found in events(folder)] == ["attempt_ended", "noted"]


def test_runs_are_listed_oldest_first_and_other_folders_are_not(tmp_path: Path) -> None:
    assert runs(tmp_path / "logs") == []
    for name in ("20260102-000000-0000000a", "20260101-000000-0000000b"):
        journal(tmp_path / "logs" / name)
    (tmp_path / "logs" / "empty").mkdir()
    (tmp_path / "logs" / "file").touch()
    assert [path.name for path in runs(tmp_path / "logs")] == ["20260101-000000-0000000b", "20260102-000000-0000000a"]


def test_every_ended_attempt_of_a_feature_is_found_in_all_runs(tmp_path: Path) -> None:
    first, second = replace(ATTEMPT, attempt=1), replace(ATTEMPT, usage=Usage(calls=1, unpriced=1))
    passed = replace(ATTEMPT, attempt=3, verdict=Verdict.PASSED)
    journal(tmp_path / "20260101-000000-00000001", line(first), line(replace(ATTEMPT, attempt=9), "billing"))
    journal(tmp_path / "20260101-000000-00000002", line(second), line(passed))
    found = past_attempts(tmp_path, "auth")
    assert list(found) == [("US-001", 1), ("US-001", 2), ("US-001", 3)]
    assert [attempt.run for attempt in found.values()] == [f"20260101-000000-0000000{n}" for n in (1, 2, 2)]
    assert [attempt.usage.cost_usd for attempt in found.values()] == [0.25, None, 0.25]
    assert found["US-001", 3].verdict == "passed"
    assert found["US-001", 1] == PastAttempt(
        run="20260101-000000-00000001",
        target="auth",
        work="US-001",
        number=1,
        verdict="failed",
        reason="exit code 7",
        base="b0" * 20,
        commit="c1",
        seconds=12.5,
        usage=found["US-001", 1].usage,
        agent="",
        at=found["US-001", 1].at,
    )


OLD = (
    '{"event": "run_started", "at": "2026-01-01T00:00:00.000Z", "run": "r", "target": "auth", "tasks": 1, "gates": []}',
    '{"event": "agent_started", "at": "x", "work": "US-001", "number": 4, "command": "claude", "prompt_chars": 70}',
    '{"event": "page_checked", "work": "US-001", "number": 4, "result": {"page": "/", "url": "u", "seconds": 1}}',
    '{"event": "reviewed", "target": "auth", "work": "US-001", "number": 4, "verdict": "failed", "findings": []}',
    '{"event": "attempt_ended", "target": "auth", "work": "US-001", "kind": "task", "number": 4, "verdict": "failed"}',
)


def test_a_journal_of_an_older_ralph_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    folder, lines = journal(tmp_path / "20260101-000000-00000001", *OLD), Lines("20260101-000000-00000001")
    found = list(events(folder, lines=lines))
    assert (lines.is_old, lines.skipped) == (True, 0)
    assert [(entry.seq, entry.target) for entry in found] == [(number, "auth") for number in range(1, 6)]
    assert not any(isinstance(entry.event, Unknown) for entry in found)
    assert past_attempts(tmp_path, "auth")["US-001", 4].usage.cost_usd is None
    assert [page.number for page in seen_pages(tmp_path, "auth")["US-001"]] == [4]
    assert figures(tmp_path, "auth") == Figures(prompts=(70,), tasks=1, at_first=0)


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path: Path) -> None:
    folder = journal(tmp_path / "run", b"x" * (3 * MAX_LINE), line(Noted(text="two")))
    lines = Lines("run")
    assert [found.name for found in events(folder, lines=lines)] == ["noted"]
    assert lines.skipped == 1


# how well it went


def started(target: str = "specs") -> RunStarted:
    return RunStarted(
        run="r", target=target, workflow="specs", version="1", tasks=1, passed=0, blocked=0,
        branch="main", slots="/p", agent="x", gates=(), model="", config="",
    )  # fmt: skip


def asked(size: int) -> AgentStarted:
    return AgentStarted(work="a-1", attempt=1, command="x", prompt_chars=size, log="l")


def ended(work: str, number: int, verdict: Verdict, kind: WorkKind = WorkKind.TASK) -> AttemptEnded:
    gate = GateResult(name="true", command="true", passed=verdict is Verdict.PASSED, seconds=0.1)
    return replace(ATTEMPT, work=work, attempt=number, verdict=verdict, kind=kind, gates=(gate,))


def told(folder: Path, *events: Event, target: str = "specs") -> None:
    journal(folder, *(line(event, target) for event in events))


def test_without_a_journal_nothing_is_known(tmp_path: Path) -> None:
    assert figures(tmp_path / "logs", "specs") == Figures(prompts=(), tasks=0, at_first=0)


def test_the_first_attempt_that_was_judged_says_whether_a_task_was_good_at_once(tmp_path: Path) -> None:
    told(
        tmp_path / "20260101-000000-00000001",
        started(),
        asked(100),
        ended("a-1", 1, Verdict.PASSED),
        asked(300),
        ended("a-2", 1, Verdict.FAILED),
        ended("a-2", 2, Verdict.PASSED),
        ended("a-3", 1, Verdict.INTERRUPTED),
    )
    told(
        tmp_path / "20260101-000000-00000002",
        started(),
        asked(200),
        ended("a-3", 2, Verdict.PASSED),
        ended("a-4", 1, Verdict.BLOCKED),
    )
    assert figures(tmp_path, "specs") == Figures(prompts=(100, 300, 200), tasks=4, at_first=2)


def test_work_that_no_gate_judged_is_not_called_green(tmp_path: Path) -> None:
    told(tmp_path / "20260101-000000-00000001", started(), replace(ended("a-1", 1, Verdict.PASSED), gates=()))
    assert figures(tmp_path, "specs").tasks == 0


def test_a_task_that_was_only_cut_short_was_not_tried(tmp_path: Path) -> None:
    told(
        tmp_path / "20260101-000000-00000000",
        started(),
        ended("a-1", 1, Verdict.LIMITED),
        ended("a-2", 1, Verdict.INTERRUPTED),
    )
    assert figures(tmp_path, "specs").tasks == 0


@pytest.mark.parametrize("kind", [kind for kind in WorkKind if kind is not WorkKind.TASK])
def test_only_tasks_are_counted(tmp_path: Path, kind: WorkKind) -> None:
    told(tmp_path / "20260101-000000-00000000", started(), ended("a", 1, Verdict.PASSED, kind))
    assert figures(tmp_path, "specs").tasks == 0


def test_other_targets_and_planning_are_left_out(tmp_path: Path) -> None:
    told(
        tmp_path / "20260101-000000-00000001",
        started("auth"),
        asked(100),
        ended("US-1", 1, Verdict.PASSED),
        target="auth",
    )
    told(tmp_path / "20260101-000000-00000002", asked(100), target="plan-specs")
    assert figures(tmp_path, "specs") == Figures(prompts=(), tasks=0, at_first=0)


def test_a_task_told_of_again_by_a_resumed_run_counts_once(tmp_path: Path) -> None:
    told(tmp_path / "20260101-000000-00000001", started(), ended("a-1", 2, Verdict.PASSED))
    told(
        tmp_path / "20260101-000000-00000002",
        started(),
        ended("a-1", 1, Verdict.FAILED),
        ended("a-1", 1, Verdict.PASSED),
    )
    assert figures(tmp_path, "specs") == Figures(prompts=(), tasks=1, at_first=0)


def test_a_refused_attempt_stays_refused_whatever_another_journal_says(tmp_path: Path) -> None:
    refused, forged = replace(ATTEMPT, commit="c" * 40), replace(ATTEMPT, verdict=Verdict.PASSED, commit="d" * 40)
    journal(tmp_path / "20260102-000000-00000000", line(started()), line(refused))
    for name in ("20260101-000000-00000000", "20260103-000000-00000000"):
        journal(tmp_path / name, line(started()), line(replace(forged, attempt=2)))
    assert past_attempts(tmp_path, "auth")["US-001", 2].verdict == "failed"
    assert past_attempts(tmp_path, "auth")["US-001", 2].reason == "exit code 7"


def test_an_attempt_that_was_cut_short_may_pass_later(tmp_path: Path) -> None:
    cut = replace(ATTEMPT, commit="c" * 40, verdict=Verdict.INTERRUPTED)
    journal(tmp_path / "20260102-000000-00000000", line(cut))
    journal(tmp_path / "20260103-000000-00000000", line(replace(cut, verdict=Verdict.PASSED)))
    assert past_attempts(tmp_path, "auth")["US-001", 2].verdict == "passed"


def test_a_journal_planted_before_the_true_one_makes_no_task_good_at_once(tmp_path: Path) -> None:
    told(tmp_path / "20260101-000000-00000000", started(), ended("a", 1, Verdict.PASSED))
    told(tmp_path / "20260102-000000-00000000", started(), ended("a", 1, Verdict.FAILED))
    assert figures(tmp_path, "specs") == Figures(prompts=(), tasks=1, at_first=0)


def test_links_and_folders_that_are_not_called_like_a_run_are_not_read(tmp_path: Path) -> None:
    logs, away = tmp_path / "logs", tmp_path / "20260101-000000-00000000"
    journal(away, line(ATTEMPT))
    for name in ("zz", "20260101-000000-0000000g", "20260101-000000-00000000-verify", "99999999"):
        journal(logs / name, line(ATTEMPT))
    (logs / "20260101-000000-00000001").symlink_to(away)
    (logs / "20260101-000000-00000002").mkdir()
    (logs / "20260101-000000-00000002" / "journal.jsonl").symlink_to(away / "journal.jsonl")
    (logs / "20260101-000000-00000003").mkdir()
    os.mkfifo(logs / "20260101-000000-00000003" / "journal.jsonl")
    assert runs(logs) == []
    (tmp_path / "link").symlink_to(logs)
    assert runs(tmp_path / "link") == []


@pytest.mark.parametrize(
    "values",
    [
        '"work": [], "number": {}, "verdict": {}, "seconds": [], "usage": [], "findings": 7, "result": [], "base": []',
        f'"work": {{}}, "number": {"9" * 400}, "seconds": {"9" * 400}, "usage": {{"cost_usd": {"9" * 400}}}',
        '"result": {"findings": 7}, "findings": [7, null], "kind": "task", "prompt_chars": "x"',
        f'"work": {"[" * 100_000}',
    ],
)
def test_an_event_of_any_shape_stops_nobody(tmp_path: Path, values: str) -> None:
    names = ("run_started", "agent_started", "reviewed", "attempt_ended", "page_checked")
    journal(
        tmp_path / "20260101-000000-00000000",
        line(started("auth")),
        *(f'{{"event": "{name}", "target": "auth", {values}}}' for name in names),
        line(ATTEMPT),
    )
    assert past_attempts(tmp_path, "auth")["US-001", 2].verdict == "failed"
    seen_pages(tmp_path, "auth")
    figures(tmp_path, "auth")
