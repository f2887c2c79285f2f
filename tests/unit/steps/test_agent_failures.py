"""What a failed call means for its attempt: a verdict, a reason that quotes the program, and the remedy."""

from __future__ import annotations

import pytest

from ralph.agent.call import AgentResult
from ralph.agent.dialects import AGENTS
from ralph.agent.dialects.base import DialectReport
from ralph.agent.failure import CallFailure, FailureKind
from ralph.config import Provider
from ralph.plan.work import Verdict
from ralph.process.spawn import ExitKind, ProcessEnd
from ralph.steps.agent_failures import failure, permission_hint, refused, silence

CLAUDE = Provider(command="claude", args=AGENTS["claude"].args)
BARE = Provider(command="claude", args=("-p",))


def heard(
    kind: FailureKind | None = None, said: str = "", *, tools: tuple[str, ...] = (), tail: str = ""
) -> AgentResult:
    return AgentResult(
        ended=ProcessEnd(how=ExitKind.EXITED, code=0, seconds=1),
        claims=frozenset(),
        learnings=(),
        reset=(),
        reason="",
        tail=tail,
        errors="",
        last_words=tail,
        failure=CallFailure(kind=kind, said=said) if kind else None,
        report=DialectReport(refused=tools),
        output_bytes=0,
    )


@pytest.mark.parametrize(
    ("kind", "verdict", "reason"),
    [
        (FailureKind.AUTHENTICATION, Verdict.INTERRUPTED, "The agent cannot be used: no. Run `claude` once and log in"),
        (FailureKind.UNUSABLE, Verdict.INTERRUPTED, "The agent cannot be used: no"),
        (FailureKind.NOT_STARTED, Verdict.INTERRUPTED, "The agent cannot run: no."),
        (FailureKind.USAGE_LIMIT, Verdict.LIMITED, "The agent has reached its usage limit: no"),
        (FailureKind.NETWORK, Verdict.LIMITED, "The agent could not reach the model: no"),
        (FailureKind.HANGING_MODEL, Verdict.LIMITED, "The model did not answer: no"),
        (FailureKind.CONTEXT_TOO_LONG, Verdict.FAILED, "The task does not fit into the model's context: no"),
        (FailureKind.CRASH, Verdict.FAILED, "The agent ended with no."),
        (FailureKind.ERROR, Verdict.FAILED, "The agent reported an error: no"),
    ],
)
def test_a_failure_has_a_verdict_and_a_reason(kind: FailureKind, verdict: Verdict, reason: str) -> None:
    found = failure(heard(kind, "no"), CLAUDE, ())
    assert found
    assert found[0] is verdict
    assert found[1].startswith(reason)


def test_what_the_agent_must_not_do_comes_after_what_is_not_its_fault() -> None:
    for kind, verdict in ((FailureKind.NETWORK, Verdict.LIMITED), (FailureKind.AUTHENTICATION, Verdict.INTERRUPTED)):
        found = failure(heard(kind), CLAUDE, ("it changed HEAD",))
        assert found and found[0] is verdict
    for kind in (None, FailureKind.CRASH, FailureKind.TIME_OUT):
        found = failure(heard(kind), CLAUDE, ("it changed HEAD",))
        assert found and "it changed HEAD" in found[1]
    assert failure(heard(), CLAUDE, ()) is None


def test_an_agent_that_may_not_write_stops_the_run_with_the_remedy() -> None:
    found = refused(heard(tools=("Write",)), BARE, changed=False)
    assert found
    assert found[0] is Verdict.INTERRUPTED
    assert "Write" in found[1]
    assert "Add --dangerously-skip-permissions to provider.args" in found[1]
    found = refused(heard(tools=("Write",)), CLAUDE, changed=False)
    assert found and found[1].endswith("Allow it in the agent's own settings.")


def test_any_other_refused_tool_only_fails_the_attempt() -> None:
    assert refused(heard(), BARE, changed=False) is None
    for tools, changed in ((("Bash",), False), (("Write",), True)):
        found = refused(heard(tools=tools), BARE, changed=changed)
        assert found and found[0] is Verdict.FAILED


def test_silence_is_a_failure_only_if_nothing_was_done() -> None:
    found = silence(heard(), changed=False)
    assert found == (Verdict.FAILED, "The agent ended with exit code 0, but said nothing.")
    assert silence(heard(), changed=True) is None
    assert silence(heard(tail="words"), changed=False) is None


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_what_ralph_writes_for_an_agent_lets_it_work(agent) -> None:
    assert permission_hint(Provider(command=agent.command, args=agent.args)) == ""
