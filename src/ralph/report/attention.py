"""What a person should look at first, the most urgent first. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.plan.evidence import Evidence
from ralph.plan.model import Severity, TaskState
from ralph.report.facts import Notice, PlanReport, TaskFacts
from ralph.views import inbox, words

MANY_ATTEMPTS = 3
MANY_LINES = 400
"""Changed lines of one task from which on a careful reader needs more than one sitting."""


def notices(report: PlanReport) -> tuple[Notice, ...]:
    """Return what needs attention."""
    return (
        *_needs(report),
        *_left_out(report),
        *(Notice(task=task.task.id, text=text) for task in report.tasks for text in _about(task)),
        *_plan(report),
    )


def _needs(report: PlanReport) -> Iterator[Notice]:
    for item in inbox.of_plan(report.target, report.plan, f"ralph run {report.target}"):
        said = item.headline if item.kind == inbox.OUT_OF_ATTEMPTS or not item.task else f"needs you: {item.why}"
        yield Notice(task=item.task, text=said, commands=item.answers)


def _left_out(report: PlanReport) -> Iterator[Notice]:
    for task in report.plan:
        if task.state is TaskState.BLOCKED and task.left_out:
            why = words.first_line(task.notes)
            yield Notice(task=task.id, text=f"left out by you: {why}" if why else "left out by you")


def _about(facts: TaskFacts) -> Iterator[str]:
    """What is unusual about a task that is done."""
    task = facts.task
    if task.state is not TaskState.PASSED or not task.result:
        return
    result = task.result
    if task.acceptance:
        yield f"{words.accepted(task.acceptance)}; no gate decided"
    elif not any(gate.required for gate in result.gates) and result.evidence is Evidence.UNVERIFIED:
        yield "unverified: no gate was required"
    for concern in result.concerns:
        what = "you approved a changed check" if concern in task.approved else "may have weakened the checks"
        yield f"{what}: {concern}"
    if task.waived:
        yield f"passed {words.without(task)}, which you waived"
    if result.evidence is Evidence.REGRESSION_ONLY:
        yield "regression-only: nothing fails without this work, so no test shows that it does what it should"
    for gate in result.gates:
        if gate.flaky:
            yield f"the gate `{gate.name}` was flaky: red, then green on the same files"
    if result.in_place:
        yield "its gates ran where the agent worked, not on the commit"
    if facts.no_page:
        yield f"no page was opened: {facts.no_page}"
    for finding in facts.findings:
        if finding.severity is not Severity.MINOR:
            yield f"its reviewer found: {finding}"
    undone = tuple(dict.fromkeys(path for attempt in facts.attempts for path in attempt.undone))
    if undone:
        yield f"an attempt changed files that were not its own, and Ralph put them back: {_some(undone)}"
    if facts.change and facts.change.lines > MANY_LINES:
        yield f"a large change: {facts.change.lines:,} lines in {words.count(facts.change.files, 'file')}"
    tried = sum(attempt.kind == "task" and bool(attempt.verdict) for attempt in facts.attempts)
    if tried >= MANY_ATTEMPTS:
        yield f"took {tried} attempts"


def _plan(report: PlanReport) -> Iterator[Notice]:
    left = report.plan.count(TaskState.PENDING)
    if left and not report.running:
        yield Notice(
            task="", text=f"{words.count(left, 'task')} not done yet", commands=(f"ralph run {report.target}",)
        )


def _some(names: tuple[str, ...], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
