"""A run for other programs: both files are whole and true after every event, and what is unknown is not 0."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph import __version__
from ralph.journal import events as e
from ralph.plan.model import GateResult
from ralph.plan.work import Ending, Usage, Verdict, WorkKind
from ralph.views.reports import AGGREGATE, STATE, STATUS, Reports, aggregate_schema, read_state, state_schema

Json = dict[str, Any]
SCHEMAS = {
    STATE: jsonschema.Draft202012Validator(json.loads(state_schema())),
    AGGREGATE: jsonschema.Draft202012Validator(json.loads(aggregate_schema())),
}
GATE = GateResult(name="test", command="make test", passed=True, seconds=1.5)


class Watched:
    """A run whose files are checked after every event."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reports = Reports(folder)

    def tell(self, *events: e.Event) -> Watched:
        for event in events:
            self.reports(event, "a line")
            for name, schema in SCHEMAS.items():
                if (self.folder / name).exists():
                    schema.validate(self.read(name))
        return self

    def read(self, name: str) -> Json:
        return json.loads((self.folder / name).read_text(), parse_constant=pytest.fail)

    @property
    def state(self) -> Json:
        return self.read(STATE)

    @property
    def aggregate(self) -> Json:
        return self.read(AGGREGATE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For properties: each example writes over what the one before left."""
    return tmp_path_factory.mktemp("run")


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def started(**more: Any) -> e.RunStarted:
    usual = {
        "run": "r1",
        "target": "requirements",
        "workflow": "requirements",
        "version": "1",
        "tasks": 3,
        "passed": 1,
        "blocked": 0,
        "branch": "main",
        "slots": "/p",
        "agent": "claude",
        "gates": ("make test",),
        "model": "",
        "config": "careful",
    }
    return e.RunStarted(**{**usual, **more})


def begun(work: str = "T-002", number: int = 1, kind: WorkKind = WorkKind.TASK) -> e.AttemptStarted:
    return e.AttemptStarted(
        work=work,
        kind=kind,
        title=f"Title {work}",
        attempt=number,
        failures=0,
        max_failures=0,
        base="b",
    )


def over(
    verdict: Verdict, work: str = "T-002", number: int = 1, kind: WorkKind = WorkKind.TASK, reason: str = ""
) -> e.AttemptEnded:
    return e.AttemptEnded(
        work=work,
        kind=kind,
        attempt=number,
        verdict=verdict,
        reason=reason,
        base="b",
        commit="c",
        ref="r",
        seconds=1.5,
        gates=(GATE,),
    )


def ended(ending: Ending = Ending.DONE, usage: Usage | None = None, **more: Any) -> e.RunEnded:
    usual = {
        "run": "r1",
        "target": "requirements",
        "workflow": "requirements",
        "ending": ending,
        "reason": "",
        "seconds": 12.3456,
        "tasks": 3,
        "passed": 3,
        "blocked": 0,
        "attempts": 2,
        "verified": False,
        "gates": 1,
        "usage": usage or Usage(),
    }
    return e.RunEnded(**{**usual, **more})


STEP = e.StepStarted(work="T-002", attempt=1, step="verify")
BLOCKED = e.TaskBlocked(work="T-002", attempt=1, reason="Stuck", ref="r")
OPENED = e.BreakerChanged(step="work", state="open", failures=3, until=1060.5)
CLOSED = e.BreakerChanged(step="work", state="closed", failures=0, until=None)


# while it goes on


def test_a_run_that_began_says_who_it_is(watched: Watched) -> None:
    state = watched.tell(started()).state
    assert state.pop("started_at")
    assert state.pop("updated_at")
    assert state == {
        "version": 1,
        "run_id": "r1",
        "pid": os.getpid(),
        "status": "running",
        "reason": "",
        "target": "requirements",
        "config": "careful",
        "loop": 0,
        "now": None,
        "tasks": {"total": 3, "done": 1, "failed": 0},
        "in_place": False,
        "last_failure": "",
        "breakers": [],
    }


def test_what_happens_before_a_run_has_begun_leaves_no_file(watched: Watched) -> None:
    watched.tell(begun(), STEP, over(Verdict.PASSED), ended())
    assert list(watched.folder.iterdir()) == []


def test_the_work_and_its_step_are_shown_while_they_last(watched: Watched) -> None:
    watched.tell(started(), begun(number=4))
    assert watched.state["now"] == {"id": "T-002", "title": "Title T-002", "attempt": 4, "step": ""}
    watched.tell(e.StepStarted(work="T-002", attempt=4, step="work"))
    watched.tell(e.StepStarted(work="T-002", attempt=4, step="verify"))
    assert watched.state["now"] == {"id": "T-002", "title": "Title T-002", "attempt": 4, "step": "verify"}
    watched.tell(over(Verdict.PASSED, number=4))
    assert watched.state["now"] is None


def test_every_attempt_is_a_loop(watched: Watched) -> None:
    watched.tell(started(), begun("setup", kind=WorkKind.SETUP), over(Verdict.PASSED, "setup", kind=WorkKind.SETUP))
    for number in (1, 2, 3):
        watched.tell(begun(number=number), over(Verdict.UNFINISHED, number=number))
        assert watched.state["loop"] == number + 1


@pytest.mark.parametrize(
    ("kind", "verdict", "done"),
    [
        (kind, verdict, 2 if (kind, verdict) == (WorkKind.TASK, Verdict.PASSED) else 1)
        for kind in WorkKind
        for verdict in Verdict
    ],
)
def test_only_a_task_that_passed_is_done(watched: Watched, kind: WorkKind, verdict: Verdict, done: int) -> None:
    watched.tell(started(), begun(kind=kind), over(verdict, kind=kind))
    assert watched.state["tasks"] == {"total": 3, "done": done, "failed": 0}


def test_a_task_that_is_given_up_is_failed(watched: Watched) -> None:
    watched.tell(started(blocked=1), begun(), over(Verdict.FAILED), BLOCKED)
    assert watched.state["tasks"] == {"total": 3, "done": 1, "failed": 2}


def test_the_last_failure_is_shown_until_something_passes(watched: Watched) -> None:
    watched.tell(started(), begun(), over(Verdict.FAILED, reason="make test is red"), begun(number=2), STEP)
    assert watched.state["last_failure"] == "make test is red"
    watched.tell(over(Verdict.PASSED, number=2))
    assert watched.state["last_failure"] == ""


def test_a_run_that_waits_says_why_and_forgets_it_when_it_goes_on(watched: Watched) -> None:
    watched.tell(started(), begun(), over(Verdict.LIMITED), e.Waited(reason="usage limit", seconds=60))
    assert (watched.state["status"], watched.state["reason"]) == ("waiting", "usage limit")
    watched.tell(begun(number=2))
    assert (watched.state["status"], watched.state["reason"]) == ("running", "")


def test_the_newest_word_of_each_breaker_is_shown(watched: Watched) -> None:
    other = e.BreakerChanged(step="lint", state="open", failures=1, until=None)
    watched.tell(started(), OPENED, other)
    shown = [{"step": "work", "state": "open", "failures": 3, "until": 1060.5}]
    assert watched.state["breakers"] == [*shown, {"step": "lint", "state": "open", "failures": 1, "until": None}]
    watched.tell(CLOSED)
    assert {breaker["step"]: breaker["state"] for breaker in watched.state["breakers"]} == {
        "lint": "open",
        "work": "closed",
    }
    assert len(watched.state["breakers"]) == 2


def test_an_event_that_says_nothing_new_writes_nothing(watched: Watched) -> None:
    watched.tell(started())
    (watched.folder / STATE).unlink()
    watched.tell(
        e.Noted(text="hello"), e.AgentSpoke(work="US-001", attempt=1, text="hi"), e.GateEnded(result=GATE), STEP
    )
    assert not (watched.folder / STATE).exists()
    watched.tell(begun())
    assert (watched.folder / STATE).exists()


def test_there_is_no_aggregate_before_the_end(watched: Watched) -> None:
    watched.tell(started(), begun(), STEP, over(Verdict.PASSED))
    assert not (watched.folder / AGGREGATE).exists()


def test_a_second_run_begins_anew(watched: Watched) -> None:
    watched.tell(started(), begun(), OPENED, over(Verdict.FAILED, reason="no"), ended(Ending.INTERRUPTED))
    state = Watched(watched.folder).tell(started(run="r2", passed=2)).state
    assert (state["run_id"], state["status"], state["loop"], state["breakers"]) == ("r2", "running", 0, [])
    assert (state["last_failure"], state["tasks"]["done"]) == ("", 2)


def test_a_state_is_read_back_and_half_a_file_is_none(watched: Watched) -> None:
    assert read_state(watched.folder) is None
    watched.tell(started(), begun(), OPENED)
    state = read_state(watched.folder)
    assert state is not None
    assert state.model_dump() == watched.state
    data = (watched.folder / STATE).read_bytes()
    for broken in (data[: len(data) // 2], b"", b"[]", b"\xff"):
        (watched.folder / STATE).write_bytes(broken)
        assert read_state(watched.folder) is None


# when it has ended


def test_a_run_that_ended_is_summed_up(watched: Watched) -> None:
    usage = Usage(
        input_tokens=100,
        output_tokens=0,
        cache_read_tokens=None,
        cache_write_tokens=7,
        cost_usd=0.75,
        calls=3,
        unpriced=1,
        model="opus",
    )
    watched.tell(started(model="sonnet"), begun(), over(Verdict.PASSED), begun("T-003"), over(Verdict.FAILED), BLOCKED)
    watched.tell(ended(Ending.BLOCKED, usage, reason="failed: T-003", passed=2, blocked=1))
    aggregate = watched.aggregate
    assert aggregate.pop("started_at") == watched.state["started_at"]
    assert aggregate.pop("ended_at") >= watched.state["started_at"]
    assert aggregate == {
        "version": 1,
        "run_id": "r1",
        "ralph_version": __version__,
        "target": "requirements",
        "config": "careful",
        "model": "opus",
        "status": "failed",
        "reason": "failed: T-003",
        "verified": True,
        "in_place": False,
        "proven": 0,
        "elapsed_seconds": 12.346,
        "loops": 2,
        "calls": 3,
        "tasks": {"total": 3, "done": 2, "failed": 1},
        "tokens": {"input": 100, "output": 0, "cache_read": None, "cache_write": 7},
        "cost": {"usd": 0.75, "source": "reported", "unpriced_calls": 1},
    }
    state = watched.state
    assert (state["status"], state["reason"], state["now"]) == ("failed", "failed: T-003", None)
    assert state["tasks"] == {"total": 3, "done": 2, "failed": 1}


@pytest.mark.parametrize("ending", list(Ending))
def test_however_a_run_ends_both_files_say_so(watched: Watched, ending: Ending) -> None:
    watched.tell(started(), begun(), STEP, ended(ending))
    assert watched.state["status"] == watched.aggregate["status"] == STATUS[ending]
    assert watched.state["now"] is None


def test_a_run_that_is_interrupted_in_the_middle_of_a_step_is_summed_up_all_the_same(watched: Watched) -> None:
    watched.tell(started(), begun(), STEP, ended(Ending.INTERRUPTED, Usage(calls=1, unpriced=1), passed=1))
    aggregate = watched.aggregate
    assert (aggregate["status"], aggregate["loops"], aggregate["calls"]) == ("interrupted", 1, 1)
    assert aggregate["tasks"] == {"total": 3, "done": 1, "failed": 0}


def test_a_run_that_ends_at_once_is_summed_up(watched: Watched) -> None:
    watched.tell(started(), ended(Ending.STOPPED, reason="the agent is not installed"))
    assert (watched.aggregate["loops"], watched.aggregate["reason"]) == (0, "the agent is not installed")


def test_without_gates_nothing_was_verified(watched: Watched) -> None:
    assert watched.tell(started(gates=()), ended(gates=0)).aggregate["verified"] is False


@pytest.mark.parametrize(
    ("used", "asked_for", "expected"), [("opus", "sonnet", "opus"), ("", "sonnet", "sonnet"), ("", "", None)]
)
def test_the_model_is_the_one_that_was_used_or_asked_for_or_unknown(
    watched: Watched, used: str, asked_for: str, expected: str | None
) -> None:
    watched.tell(started(model=asked_for), ended(usage=Usage(calls=1, model=used)))
    assert watched.aggregate["model"] == expected


@pytest.mark.parametrize(
    ("usage", "usd", "source"),
    [
        (Usage(), None, "unknown"),
        (Usage(calls=2, unpriced=2), None, "unknown"),
        (Usage(calls=1, cost_usd=0.0), 0.0, "reported"),
        (Usage(calls=2, cost_usd=1.5), 1.5, "reported"),
        (Usage(calls=2, cost_usd=1.5, unpriced=1), 1.5, "reported"),
        (Usage(calls=2, cost_usd=1.5, estimated=2), 1.5, "estimated"),
        (Usage(calls=3, cost_usd=1.5, estimated=2, unpriced=1), 1.5, "estimated"),
        (Usage(calls=3, cost_usd=1.5, estimated=1), 1.5, "mixed"),
        (Usage(calls=3, cost_usd=1.5, estimated=1, unpriced=1), 1.5, "mixed"),
    ],
)
def test_a_cost_says_where_it_comes_from_and_an_unknown_one_is_not_0(
    watched: Watched, usage: Usage, usd: float | None, source: str
) -> None:
    cost = watched.tell(started(), ended(usage=usage)).aggregate["cost"]
    assert cost == {"usd": usd, "source": source, "unpriced_calls": usage.unpriced}


CALLS = st.sampled_from(
    [
        Usage(calls=1, cost_usd=0.5, input_tokens=10, output_tokens=1),
        Usage(calls=1, cost_usd=0.25, estimated=1, input_tokens=10),
        Usage(calls=1, unpriced=1),
        Usage(calls=1, unpriced=1, output_tokens=0),
    ]
)


@given(st.lists(CALLS, max_size=6))
def test_what_nobody_told_is_null_and_what_somebody_told_is_its_sum(folder: Path, calls: list[Usage]) -> None:
    usage = Usage()
    for call in calls:
        usage += call
    aggregate = Watched(folder).tell(started(), ended(usage=usage)).aggregate
    priced = [call.cost_usd for call in calls if call.cost_usd is not None]
    estimated = sum(call.estimated for call in calls)
    cost = aggregate["cost"]
    assert cost["usd"] == (sum(priced) if priced else None)
    assert (cost["source"] == "unknown") is (not priced)
    assert (cost["source"] == "estimated") is (0 < estimated == len(priced))
    assert (cost["source"] == "mixed") is (0 < estimated < len(priced))
    assert cost["unpriced_calls"] == len(calls) - len(priced)
    for name, key in (("input", "input_tokens"), ("output", "output_tokens"), ("cache_read", "cache_read_tokens")):
        told = [getattr(call, key) for call in calls if getattr(call, key) is not None]
        assert aggregate["tokens"][name] == (sum(told) if told else None)


TEXTS = st.text(max_size=10)
NUMBERS = st.integers(1, 5)
EVENTS = st.one_of(
    st.builds(begun, st.sampled_from(["T-001", "T-002"]), NUMBERS, st.sampled_from(WorkKind)),
    st.builds(over, st.sampled_from(Verdict), number=NUMBERS, kind=st.sampled_from(WorkKind), reason=TEXTS),
    st.builds(e.StepStarted, work=st.just("T-001"), attempt=NUMBERS, step=TEXTS),
    st.builds(
        e.BreakerChanged,
        step=st.sampled_from(["work", "lint"]),
        state=st.sampled_from(["open", "closed", "half-open"]),
        failures=st.integers(0, 5),
        until=st.none() | st.floats(0, 1e10),
    ),
    st.builds(e.Waited, reason=TEXTS, seconds=st.floats(0, 1e6)),
    st.builds(e.Noted, text=TEXTS),
    st.builds(ended, st.sampled_from(Ending), reason=TEXTS, seconds=st.floats(0, 1e9)),
    st.sampled_from([BLOCKED, started(run="r2", config="")]),
)


@given(st.lists(EVENTS, max_size=12))
def test_both_files_are_right_by_their_schemas_after_any_event(folder: Path, events: list[e.Event]) -> None:
    (folder / AGGREGATE).unlink(missing_ok=True)
    watched = Watched(folder).tell(started(), *events)
    assert read_state(watched.folder) is not None
    assert (watched.folder / AGGREGATE).exists() is any(isinstance(event, e.RunEnded) for event in events)


def test_the_schemas_are_schemas_that_refuse_what_is_no_report() -> None:
    for text in (state_schema(), aggregate_schema()):
        jsonschema.Draft202012Validator.check_schema(json.loads(text))
    for schema in SCHEMAS.values():
        assert not schema.is_valid({})
        assert not schema.is_valid([])
