"""An agent's way out: it says that a task cannot be done, or that a gate is wrong. Neither passes a task."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ralph.agent.call import AgentResult
from ralph.plan.acceptance_tests import ACCEPTANCE
from ralph.plan.attempt import GivenTests, StepResult
from ralph.plan.model import Gate, GateResult, Need, NeedKind
from ralph.plan.work import Verdict
from ralph.text import one_line
from ralph.verify.gates import called, describe
from ralph.views import words

MAX_WHY = 500
MAX_GATE = 100
SEPARATOR = re.compile(r"\s+[—–-]+\s+|:\s+")
END_OF_NAME = re.compile(r"[`'\"*]*(?:$|\s|[—–:])")
BETWEEN = " —–-:,.`'\"*"
NO_REASON = "it gave no reason."


def claim_of(heard: AgentResult, gates: Iterable[Gate]) -> Need | None:
    """Return what the agent asks of a person; None if it asks for nothing."""
    if "BLOCKED" in heard.claims:
        return Need(kind=NeedKind.BLOCKED, why=_line(heard.reason, MAX_WHY) or NO_REASON)
    if heard.disputes:
        gate, why = parse_dispute(heard.disputes[0], gates)
        return Need(kind=NeedKind.DISPUTE, why=why, gate=gate)
    return None


def parse_dispute(text: str, gates: Iterable[Gate]) -> tuple[str, str]:
    """Return the gate's name and the reason; a gate that is not configured stays as the agent wrote it."""
    text = one_line(text)
    bare = text.lstrip(BETWEEN)
    spelled = [(name, gate.name) for gate in gates for name in (gate.name, gate.command)]
    for name, known in sorted(spelled, key=lambda pair: -len(pair[0])):
        rest = bare[len(name) :]
        if bare.casefold().startswith(name.casefold()) and END_OF_NAME.match(rest):
            return known, _line(rest.strip(BETWEEN), MAX_WHY) or NO_REASON
    head, *tail = SEPARATOR.split(text, maxsplit=1)
    if not tail:
        return "", _line(text, MAX_WHY)
    name = head.strip(BETWEEN).casefold()
    if name.startswith(ACCEPTANCE.removesuffix("s")):  # "acceptance test test_total", for example
        return ACCEPTANCE, _line(tail[0] if name == ACCEPTANCE else text, MAX_WHY)
    return _line(head.strip(BETWEEN), MAX_GATE), _line(tail[0], MAX_WHY)


def _line(text: str, size: int) -> str:
    return words.cut(one_line(text), size)


def said_in(need: Need) -> str:
    """Return the claim as a reason for views."""
    if need.kind is NeedKind.BLOCKED:
        return f"The agent says that it cannot be done: {need.why}"
    gate = f"the gate `{need.gate}`" if need.gate else "a gate"
    return f"The agent disputes {'the acceptance tests' if need.gate == ACCEPTANCE else gate}: {need.why}"


def dispute_in(steps: Iterable[StepResult]) -> StepResult | None:
    """Return the result of the agent that disputes a gate, if one does."""
    return next((result for result in steps if result.need and result.need.kind is NeedKind.DISPUTE), None)


def disputed_tests(steps: Iterable[StepResult]) -> bool:
    """Return whether a person or a reviewer must decide about acceptance tests."""
    found = (result.need for result in steps if result.need and result.verdict is Verdict.BLOCKED)
    return any(need.kind is NeedKind.DISPUTE and need.gate == ACCEPTANCE for need in found)


def judge_dispute(
    said: StepResult, results: tuple[GateResult, ...], failed_by: frozenset[str], tests: GivenTests | None = None
) -> str:
    """Return why a person must decide, with the gate's output; "" if the dispute changes nothing.

    It does if the agent did not say that the work is done, or if the work fails by the disputed gate alone; acceptance
    tests are disputed together with the gates that run them.
    `failed_by` are the gates that alone make the work fail; empty: nothing does, or something else too.
    """
    assert said.need, "it disputes a gate"
    meant = tests.gates if tests and said.need.gate == ACCEPTANCE else frozenset({said.need.gate})
    if said.verdict is Verdict.PASSED and not (failed_by and failed_by <= meant):
        return ""
    about = next((result for result in results if result.name in meant and not result.passed), None)
    about = about or next((result for result in results if result.name in meant), None)
    if about is None:
        return said_in(said.need)
    last = f"The gate {called(about)} is green." if about.passed else f"The gate {called(about)}: {describe(about)}"
    return f"{said_in(said.need)}\n\n{last}"
