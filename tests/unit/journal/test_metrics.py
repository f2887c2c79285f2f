"""What a run used, added up from what happened."""

from __future__ import annotations

from ralph.journal.events import AgentEnded, GateEnded, Noted
from ralph.journal.metrics import Metrics
from ralph.plan.work import Usage
from tests.unit.journal.test_writer import ATTEMPT, GATE


def agent(usage: Usage) -> AgentEnded:
    return AgentEnded(
        work="US-001", attempt=1, how="exited", code=0, seconds=1, output_bytes=10, claims=("DONE",), usage=usage
    )


def test_attempts_and_usage_are_counted_and_nothing_else() -> None:
    metrics = Metrics()
    for event in (
        agent(Usage(calls=1, cost_usd=0.5, input_tokens=10)),
        GateEnded(result=GATE),
        GateEnded(result=GATE),
        ATTEMPT,
        Noted(text="x"),
        agent(Usage(calls=1, unpriced=1)),
        ATTEMPT,
    ):
        metrics(event)
    assert metrics.attempts == 2
    assert metrics.usage == Usage(calls=2, unpriced=1, cost_usd=0.5, input_tokens=10)


def test_a_run_that_never_called_an_agent_knows_no_cost() -> None:
    metrics = Metrics()
    metrics(ATTEMPT)
    assert metrics.usage == Usage()
    assert metrics.usage.cost_usd is None
