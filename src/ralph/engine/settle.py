"""All rules about passing, retrying, blocking and reopening, as pure functions."""

from __future__ import annotations

from dataclasses import replace

from ralph.frozen import Frozen
from ralph.plan.evidence import Evidence
from ralph.plan.model import (
    Acceptance,
    Failure,
    FinalReview,
    Finding,
    NeedKind,
    Plan,
    Severity,
    Spec,
    Task,
    TaskResult,
    TaskState,
    learn,
)
from ralph.plan.work import Outcome, Verdict, Work, WorkKind, progress_of
from ralph.views import words

MAX_NOTES = 6_000
MAX_TRIED, MAX_TRIED_LINE = 8, 300
UNSUCCESSFUL = (Verdict.FAILED, Verdict.UNFINISHED, Verdict.BLOCKED, Verdict.HELD, Verdict.CONFLICTED, Verdict.REOPENED)


class Policy(Frozen):
    """A workflow's rules about failures."""

    max_failures: int = 3  # attempts without success before a task is blocked; 0: no limit
    max_idle: int = 0  # attempts in a row without a change before a task counts as stuck; 0: not checked
    max_setup_failures: int = 3
    halts: bool = False  # once a task is blocked, nothing else starts
    max_rounds: int = 2  # how often a review may send a task back before it is blocked
    blocking: frozenset[Severity] = frozenset({Severity.CRITICAL, Severity.MAJOR})  # findings that send a task back


def settle(plan: Plan, work: Work, outcome: Outcome, policy: Policy) -> Plan:
    """Apply an outcome to the plan. Applying the same outcome twice has no further effect."""
    if is_settled(plan, work, outcome.number):
        return plan
    plan = replace(plan, learnings=learn(plan.learnings, outcome.learnings))
    match work.kind:
        case WorkKind.REVIEW:
            return _settle_review(plan, outcome, policy)
        case WorkKind.SETUP:
            return _settle_setup(plan, outcome)
        case WorkKind.FINISH:
            return _settle_spec(plan, outcome, policy)
        case _:
            return _settle_task(plan, outcome, policy)


def is_settled(plan: Plan, work: Work, number: int) -> bool:
    known = progress_of(plan, work.kind, work.id)
    racing = known.racing if isinstance(known, Task) else ()
    return known is None or (number <= known.attempts and number not in racing)


def _settle_task(plan: Plan, outcome: Outcome, policy: Policy) -> Plan:
    task = plan.find(outcome.work_id)
    assert task is not None, "is_settled has checked"
    left = tuple(number for number in outcome.rivals if number > task.attempts or number in task.racing)
    settled = replace(
        _judged(task, outcome, policy, is_last=not left),
        attempts=max(task.attempts, outcome.number, *left),
        racing=left,
        base=task.base or outcome.base,
        tried=_tried(task, outcome),
        findings=task.findings if outcome.findings is None else outcome.findings,
        seconds=task.seconds + outcome.seconds,
        usage=task.usage + outcome.usage,
    )
    plan = plan.change(task.id, lambda _: settled)
    if settled.state is not TaskState.PENDING and plan.current == task.id:
        plan = replace(plan, current=None)
    if policy.halts:
        plan = _halted(plan, outcome.at)
    return plan


def _judged(task: Task, outcome: Outcome, policy: Policy, *, is_last: bool) -> Task:
    """A race is one try: only its last attempt costs a failure, and once one has passed, the others change nothing."""
    if task.state is TaskState.PASSED and (task.result or outcome.verdict is not Verdict.PASSED):
        return task
    is_for_review = bool(outcome.need and outcome.need.kind is NeedKind.REVIEW)
    if outcome.rivals and outcome.verdict in UNSUCCESSFUL and not is_for_review:
        gave_up = outcome.verdict is Verdict.BLOCKED  # one agent's opinion, which blocks nothing if others race
        verdict = Verdict.FAILED if gave_up else outcome.verdict
        outcome = replace(outcome, verdict=verdict, reason=_reason_in_race(task, outcome))
        if not is_last:
            return replace(task, notes=_notes(outcome.reason))
    return _judge(task, outcome, policy)


def _reason_in_race(task: Task, outcome: Outcome) -> str:
    """Return why an attempt failed, after the reasons of the attempts in its race that failed before it."""
    share = MAX_NOTES // (len(outcome.rivals) + 1) - 4
    own = f"{outcome.agent or 'An agent'}, attempt {outcome.number}: {outcome.reason}"
    own = own if len(own) <= share else own[: share - 1] + "…"
    settled = any(number <= task.attempts and number not in task.racing for number in outcome.rivals)
    return f"{task.notes}\n\n{own}" if settled and task.notes else own


def _halted(plan: Plan, at: str) -> Plan:
    """The first blocked task halts the plan for as long as it is blocked; one that waits for a person does not."""
    blocked = [task for task in plan if task.state is TaskState.BLOCKED and not task.need and not task.left_out]
    if not blocked:
        return replace(plan, failure=None)
    if plan.failure and any(task.id == plan.failure.task for task in blocked):
        return plan
    first = blocked[0]
    return replace(plan, failure=Failure(task=first.id, title=first.title, message=first.notes, at=at))


def without_failure_of(plan: Plan, task_id: str) -> Plan:
    return replace(plan, failure=None) if plan.failure and plan.failure.task == task_id else plan


def resume(plan: Plan) -> Plan:
    """Resume a halted plan: blocked tasks get new attempts and keep their history."""

    def again(task: Task) -> Task:
        if task.state is not TaskState.BLOCKED or task.need or task.left_out:  # that is for a person to decide
            return task
        return with_new_attempts(task)

    return replace(plan, tasks=tuple(map(again, plan.tasks)), failure=None)


def with_new_attempts(task: Task) -> Task:
    return replace(task, state=TaskState.PENDING, failures=0, idle=0, rounds=0, result=None)


def _judge(task: Task, outcome: Outcome, policy: Policy) -> Task:
    if outcome.verdict not in (Verdict.INTERRUPTED, Verdict.LIMITED):
        task = replace(task, need=None)  # it was for an earlier attempt
    match outcome.verdict:
        case Verdict.PASSED:
            result = TaskResult(
                completed_at=outcome.at,
                commit=outcome.commit,
                summary=outcome.summary,
                gates=outcome.gates,
                agent=outcome.agent,
                usage=outcome.usage if outcome.usage.calls else None,
                evidence=outcome.evidence,
                proven_by=outcome.proven_by,
                concerns=outcome.concerns,
                tester=outcome.tester,
            )
            return replace(task, state=TaskState.PASSED, result=result, notes="", idle=0)
        case Verdict.HELD | Verdict.BLOCKED:
            return replace(task, state=TaskState.BLOCKED, need=outcome.need, notes=_notes(outcome.reason))
        case Verdict.FAILED | Verdict.UNFINISHED:
            idle = 0 if outcome.changed else task.idle + 1
            return _unless_stuck(replace(_failed_once_more(task, outcome.reason, policy), idle=idle), policy)
        case Verdict.REOPENED:
            return _sent_back(task, outcome, policy)
        case Verdict.CONFLICTED:
            return replace(task, notes=_notes(outcome.reason))
        case _:
            return task


def _failed_once_more(task: Task, reason: str, policy: Policy) -> Task:
    failures = task.failures + 1
    if policy.max_failures:
        failures = min(failures, policy.max_failures)
    state = TaskState.BLOCKED if failures == policy.max_failures else TaskState.PENDING
    return replace(task, state=state, failures=failures, result=None, notes=_notes(reason))


def _sent_back(task: Task, outcome: Outcome, policy: Policy) -> Task:
    """Send a task back without counting a failure (its gates were green); limit rounds and detect stalemates."""
    found = outcome.findings or ()
    if task.rounds and _same(_blocking(task.findings, policy), _blocking(found, policy)):
        why = "Stalemate: two reviews in a row found the same problems. "
    elif task.rounds >= policy.max_rounds:
        why = f"The limit of review rounds ({policy.max_rounds}) is reached. " if policy.max_rounds else ""
    else:
        return replace(task, rounds=task.rounds + 1, result=None, notes=_notes(outcome.reason))
    return replace(task, state=TaskState.BLOCKED, result=None, notes=_notes(why + outcome.reason))


def _blocking(findings: tuple[Finding, ...], policy: Policy) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.severity in policy.blocking)


def _same(before: tuple[Finding, ...], after: tuple[Finding, ...]) -> bool:
    """Return whether both name the same problems in the same files; line numbers may differ."""
    return {_essence(finding) for finding in before} == {_essence(finding) for finding in after}


def _essence(finding: Finding) -> tuple[str, str]:
    return finding.file, " ".join(finding.problem.split()).casefold().rstrip(".!")


def _unless_stuck(task: Task, policy: Policy) -> Task:
    """Block a task after too many attempts in a row that changed nothing."""
    if not policy.max_idle or task.idle < policy.max_idle:
        return task
    notes = f"Stuck: {task.idle} attempts in a row changed nothing. The last attempt: {task.notes}"
    return replace(task, state=TaskState.BLOCKED, notes=_notes(notes))


def _settle_setup(plan: Plan, outcome: Outcome) -> Plan:
    setup = replace(plan.setup, attempts=outcome.number)
    match outcome.verdict:
        case Verdict.PASSED:
            setup = replace(setup, failures=0, notes="", done=setup.done | {outcome.work_id})
        case Verdict.FAILED | Verdict.UNFINISHED | Verdict.BLOCKED:
            setup = replace(setup, failures=setup.failures + 1, notes=_notes(outcome.reason))
        case _:
            pass
    return replace(plan, setup=setup)


def _settle_spec(plan: Plan, outcome: Outcome, policy: Policy) -> Plan:
    """Close a spec whose work is committed; if the commit failed, keep the spec open and its work pending."""
    spec = plan.find_spec(outcome.work_id)
    assert spec is not None, "is_settled has checked"
    settled = replace(spec, attempts=outcome.number)
    match outcome.verdict:
        case Verdict.PASSED:
            settled = _closed(settled, plan, outcome)
        case Verdict.FAILED | Verdict.BLOCKED | Verdict.UNFINISHED:
            failures = policy.max_failures if outcome.verdict is Verdict.BLOCKED else spec.failures + 1
            settled = replace(settled, failures=failures, notes=_notes(outcome.reason))
        case Verdict.CONFLICTED:
            settled = replace(settled, notes=_notes(outcome.reason))
        case _:
            pass
    if settled.state is not TaskState.PENDING and outcome.verdict is Verdict.PASSED:
        plan = _with_commit(plan, spec.id, outcome.commit)
    return plan.change_spec(spec.id, lambda _: settled)


def _with_commit(plan: Plan, spec_id: str, commit: str) -> Plan:
    """Record the commit of a spec in its tasks that had pending commits."""

    def named(task: Task) -> Task:
        waited = task.spec == spec_id and task.state is TaskState.PASSED and task.result and not task.result.commit
        return replace(task, result=replace(task.result, commit=commit)) if waited and task.result else task

    return replace(plan, tasks=tuple(map(named, plan.tasks)))


def name_commit(plan: Plan, work: Work, commit: str) -> Plan:
    """Record the commit of work that landed just before the run was killed."""
    known = progress_of(plan, work.kind, work.id)
    if not isinstance(known, Task | Spec) or not known.result or known.result.commit:
        return plan
    result = replace(known.result, commit=commit)
    if isinstance(known, Task):
        return plan.change(known.id, lambda task: replace(task, result=result))
    return _with_commit(plan.change_spec(known.id, lambda spec: replace(spec, result=result)), known.id, commit)


def _closed(spec: Spec, plan: Plan, outcome: Outcome) -> Spec:
    tasks = plan.of_spec(spec.id)
    open_ones = [task.id for task in tasks if task.state is not TaskState.PASSED]
    commit = outcome.commit if len(open_ones) < len(tasks) else ""  # nothing passed: the spec has no commit of its own
    return replace(
        spec,
        failures=0,
        state=TaskState.BLOCKED if open_ones else TaskState.PASSED,
        notes=f"blocked: {', '.join(open_ones)}" if open_ones else "",
        result=TaskResult(completed_at=outcome.at, commit=commit, summary=outcome.summary, gates=outcome.gates),
    )


def _settle_review(plan: Plan, outcome: Outcome, policy: Policy) -> Plan:
    review = replace(plan.review, attempts=outcome.number)
    match outcome.verdict:
        case Verdict.PASSED:
            review = replace(review, failures=0, notes="", verified_at=outcome.at, verified_commit=outcome.commit)
        case Verdict.REOPENED:
            review = replace(review, failures=0, notes="")
            for task_id in dict.fromkeys(outcome.reopened):
                plan = plan.change(task_id, lambda task: _reopen(task, outcome.reason, policy))
        case Verdict.FAILED | Verdict.BLOCKED | Verdict.UNFINISHED:
            review = replace(review, failures=review.failures + 1, notes=_notes(outcome.reason))
        case _:
            pass
    return replace(plan, review=review)


def _reopen(task: Task, reason: str, policy: Policy) -> Task:
    """Reopen a task after the final verification: it starts from the current branch, including later tasks' work."""
    before = replace(task, failures=task.resets)  # failures from before it passed no longer count
    reset = replace(_failed_once_more(before, f"Final verification: {reason}", policy), base="", rounds=0)
    return replace(reset, resets=task.resets + 1)


def retry_manually(plan: Plan, task_id: str) -> Plan:
    """Reset a task so that it starts from the beginning, as a person asked."""

    def again(task: Task) -> Task:
        fresh = replace(task, state=TaskState.PENDING, failures=0, idle=0, base="", notes="", tried=(), result=None)
        fresh = replace(fresh, rounds=0, resets=0, findings=(), need=None, approved=())
        return replace(fresh, waived=(), decisions=(), left_out=False)

    return open_spec_of(without_failure_of(plan.change(task_id, again), task_id), task_id)


def accept_manually(plan: Plan, task_id: str, why: str, at: str, commit: str, by: str = "") -> Plan:
    """Mark a task as accepted by a person and clear its base."""
    accepted = Acceptance(by=by, why=why)
    summary = f"Accepted by a person: {why}"
    result = TaskResult(completed_at=at, commit=commit, summary=summary, accepted=accepted, evidence=Evidence.ACCEPTED)
    plan = plan.change(
        task_id,
        lambda task: replace(task, state=TaskState.PASSED, result=result, notes="", base="", need=None, left_out=False),
    )
    plan = replace(plan, current=None if plan.current == task_id else plan.current)
    return open_spec_of(without_failure_of(plan, task_id), task_id)


def retry_spec_manually(plan: Plan, spec_id: str) -> Plan:
    """Allow a spec to be committed again, after a person fixed the cause."""
    return plan.change_spec(spec_id, lambda spec: replace(spec, failures=0, notes=""))


def open_spec_of(plan: Plan, task_id: str) -> Plan:
    """Reopen the spec of a changed task, so that it is closed again."""
    task = plan.find(task_id)
    return plan.change_spec(
        task.spec if task else "", lambda spec: replace(spec, state=TaskState.PENDING, failures=0, notes="")
    )


def reopen_review(plan: Plan) -> Plan:
    """Require the final verification again after a manual change."""
    return replace(plan, review=FinalReview(attempts=plan.review.attempts))


def _tried(task: Task, outcome: Outcome) -> tuple[str, ...]:
    """Return short summaries of the last unsuccessful attempts, for the agents of later attempts."""
    if outcome.verdict not in UNSUCCESSFUL:
        return task.tried
    said = words.cut(outcome.reason.strip().split("\n", 1)[0], MAX_TRIED_LINE)
    said += "." if said and said[-1] not in ".…!?:" else ""
    files = f" It changed {', '.join(outcome.touched)}." if outcome.touched else " It changed nothing."
    line = " ".join(f"Attempt {outcome.number}: {said}{files}".split())
    return (*task.tried, line)[-MAX_TRIED:]


def _notes(reason: str) -> str:
    return reason if len(reason) <= MAX_NOTES else reason[: MAX_NOTES - 1] + "…"
