"""An attempt is plain data: it survives JSON, whatever is in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.attempt import Attempt
from ralph.plan.model import Finding, Gate, GateResult, Severity, Task, TaskResult, TaskState
from ralph.plan.usage import Usage
from ralph.plan.work import Duty, Resilience, StepSpec, Verdict, Work, WorkKind
from ralph.steps.agent_settings import AgentSettings
from ralph.steps.attempt_codec import decode, encode
from ralph.steps.command import CommandSettings

TEXT = st.text(max_size=20)
SECONDS = st.floats(min_value=0, max_value=1e6, allow_nan=False)
COUNT = st.integers(min_value=0, max_value=10**6)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
GATES = st.lists(st.builds(Gate, name=TEXT, command=TEXT, timeout=SECONDS, required=st.booleans()), max_size=3).map(
    tuple
)
RESILIENCE = st.builds(
    Resilience,
    timeout=st.none() | SECONDS,
    max_retries=COUNT,
    retry_delay=SECONDS,
    continue_on_error=st.booleans(),
    breaker_threshold=COUNT,
    breaker_reset=SECONDS,
)
SETTINGS = {
    "agent": st.builds(AgentSettings, prompt_file=st.none() | TEXT, model=st.none() | TEXT),
    "command": st.builds(CommandSettings, command=st.just("make test")),
    "verify": st.none(),
    "git-commit": st.none(),
}
STEP = st.sampled_from(sorted(SETTINGS)).flatmap(
    lambda kind: st.builds(StepSpec, type=st.just(kind), name=TEXT, resilience=RESILIENCE, settings=SETTINGS[kind])
)
WORK = st.builds(
    Work,
    kind=st.sampled_from(WorkKind),
    id=TEXT,
    title=TEXT,
    steps=st.lists(STEP, max_size=4).map(tuple),
    role=TEXT,
    claims=st.frozensets(TEXT, max_size=3),
    unclaimed=st.sampled_from(Verdict),
    writable=TEXTS,
    duties=st.dictionaries(TEXT, st.builds(Duty, mode=TEXT, task=TEXT, number=COUNT), max_size=2),
    claimable=TEXT,
)
RESULT = st.builds(
    TaskResult,
    completed_at=TEXT,
    commit=TEXT,
    summary=TEXT,
    gates=st.lists(st.builds(GateResult, name=TEXT, command=TEXT, passed=st.booleans(), seconds=SECONDS)).map(tuple),
)
TASK = st.builds(
    Task,
    id=TEXT,
    title=TEXT,
    criteria=TEXTS,
    tags=st.frozensets(TEXT, max_size=2),
    state=st.sampled_from(TaskState),
    findings=st.lists(st.builds(Finding, severity=st.sampled_from(Severity), problem=TEXT), max_size=2).map(tuple),
    usage=st.builds(Usage, calls=COUNT),
    result=st.none() | RESULT,
)
ATTEMPT = st.builds(
    Attempt,
    run=TEXT,
    target=TEXT,
    number=COUNT,
    base=TEXT,
    work=WORK,
    task=st.none() | TASK,
    gates=GATES,
    ui_gates=GATES,
    is_ui=st.booleans(),
    protect=TEXTS,
    model=TEXT,
    commit_message=TEXT,
    blocking=st.frozensets(st.sampled_from(Severity)),
    max_rounds=COUNT,
)


@given(ATTEMPT)
def test_an_attempt_survives_json(attempt: Attempt) -> None:
    assert decode(json.loads(json.dumps(encode(attempt)))) == attempt


@pytest.mark.parametrize("data", [None, [], "x", {}, {"run": "r", "number": "many"}])
def test_anything_else_is_refused(data: object) -> None:
    with pytest.raises(ValueError):
        decode(data)
