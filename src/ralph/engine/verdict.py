"""Derives the outcome of an attempt from the results of its steps. Pure."""

from __future__ import annotations

from ralph.frozen import Frozen
from ralph.plan.attempt import Record, StepResult, counts_against
from ralph.plan.model import GateResult, Need, Plan
from ralph.plan.usage import Usage
from ralph.plan.work import Outcome, Verdict, Work, WorkKind
from ralph.verify.gate_list import red

LEAVES_OFF = frozenset({Verdict.LIMITED, Verdict.INTERRUPTED})


def conclude(plan: Plan, work: Work, record: Record, at: str, seconds: float = 0.0) -> Outcome:
    """Return the outcome of an attempt whose steps have run, either all or up to the first failure."""
    judged = _judge(plan, work, record)
    usage = Usage()
    for result in record.steps:
        usage += result.usage
    last = record.steps[-1] if record.steps else None
    subjects = (result.hooked_subject for result in record.steps)
    return Outcome(
        work_id=work.id,
        number=record.number,
        verdict=judged.verdict,
        reason=judged.reason,
        at=at,
        commit=next((result.commit for result in reversed(record.steps) if result.commit), ""),
        summary=next((text for text in (*subjects, *(result.summary for result in record.steps)) if text), ""),
        trailers=tuple(line for result in record.steps for line in result.trailers),
        gates=_gates(record.steps),
        learnings=tuple(text for result in record.steps for text in result.learnings),
        reopened=judged.reopened,
        findings=next((result.findings for result in reversed(record.steps) if result.findings is not None), None),
        usage=usage,
        agent=_worker(record),
        retry_at=last.retry_at if last else None,
        fatal=any(result.fatal for result in record.steps),
        base=record.base,
        verified_tree=next((result.verified_tree for result in reversed(record.steps) if result.verified_tree), ""),
        evidence=next((result.evidence for result in reversed(record.steps) if result.evidence), None),
        proven_by=next((result.proven_by for result in reversed(record.steps) if result.evidence), ()),
        concerns=tuple(text for result in record.steps for text in result.concerns),
        need=judged.need,
        tester=next((result.tester for result in record.steps if result.tester), ""),
        changed=any(result.changed for result in record.steps),
        touched=next((result.touched for result in record.steps if result.touched), ()),
        seconds=seconds,
        rivals=record.rivals,
    )


def _worker(record: Record) -> str:
    """Return the agent that did the work."""
    return next((result.agent for result in record.steps if result.agent and not result.tester), record.agent)


class Judgement(Frozen):
    """What the steps of an attempt lead to."""

    verdict: Verdict
    reason: str = ""
    reopened: tuple[str, ...] = ()
    need: Need | None = None


def _judge(plan: Plan, work: Work, record: Record) -> Judgement:
    if not record.steps:
        return Judgement(verdict=Verdict.INTERRUPTED, reason="The attempt ended before its first step.")
    off = next((result for result in record.steps if result.verdict in LEAVES_OFF), None)
    if off:
        return Judgement(verdict=off.verdict, reason=off.reason)
    if work.kind is WorkKind.REVIEW:
        verdict, reason, reopened = _judge_review(plan, record)
        return Judgement(verdict=verdict, reason=reason, reopened=reopened)
    against = [result for result in record.steps if counts_against(work, result)]
    if not against:
        return Judgement(verdict=Verdict.PASSED)
    bad = against[0]
    if against[-1].verdict is Verdict.REOPENED:  # a reviewer decided about what an agent disputes
        bad = against[-1]
    elif bad.need:  # the gates have run since, and their step says more
        bad = next(result for result in reversed(against) if result.need and result.need.kind is bad.need.kind)
    return Judgement(verdict=bad.verdict, reason=bad.reason, need=bad.need)


def _judge_review(plan: Plan, record: Record) -> tuple[Verdict, str, tuple[str, ...]]:
    """Judge a final review: RESET overrides VERIFIED, and VERIFIED is refused while the suite is red."""
    review = record.steps[-1]
    known = tuple(task_id for task_id in review.reset if plan.find(task_id))
    if review.verdict is not Verdict.PASSED:
        return review.verdict, review.reason, ()
    if known:
        return Verdict.REOPENED, review.said or "the verifier gave no reason", known
    if "RESET" in review.claims:
        return Verdict.FAILED, f"The verifier named tasks that do not exist: {', '.join(review.reset)}.", ()
    bad = red(_gates(record.steps))
    if bad:
        names = ", ".join(f"`{result.command}`" for result in bad)
        return Verdict.FAILED, f"The verifier said VERIFIED, but gates fail: {names}.", ()
    failed = next((result for result in record.steps if result.verdict is not Verdict.PASSED), None)
    if failed:
        return Verdict.FAILED, f"The verifier said VERIFIED, but the gates could not run: {failed.reason}", ()
    return Verdict.PASSED, "", ()


def _gates(steps: tuple[StepResult, ...]) -> tuple[GateResult, ...]:
    return tuple(gate for result in steps for gate in result.gates)
