"""What a person should look at first, the most urgent first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ralph.plan.evidence import Evidence
from ralph.plan.model import Severity, Task, TaskState
from ralph.report.facts import Notice, PlanReport, TaskFacts
from ralph.views import words

MANY_ATTEMPTS = 3
MANY_LINES = 400
"""Changed lines of one task from which on a careful reader needs more than one sitting."""

Answers = Callable[[str, Task], Iterable[str]]
"""The commands that answer a task's need."""


def notices(report: PlanReport, answers: Answers) -> tuple[Notice, ...]:
    """Return what needs attention; `answers` knows the commands that answer a need."""
    return (
        *_needs(report, answers),
        *_blocked(report),
        *(Notice(task=task.task.id, text=text) for task in report.tasks for text in _about(task)),
        *_plan(report),
    )


def _needs(report: PlanReport, answers: Answers) -> Iterator[Notice]:
    for task in report.plan.needs:
        assert task.need, "it needs a person"
        yield Notice(task=task.id, text=f"needs you: {task.need.why}", commands=tuple(answers(report.target, task)))


def _blocked(report: PlanReport) -> Iterator[Notice]:
    for task in report.plan:
        if task.state is TaskState.BLOCKED and not task.needs_person:
            what = "left out by you" if task.left_out else "blocked"
            commands = () if task.left_out else (f"ralph retry {report.target} {task.id}",)
            why = words.first_line(task.notes)
            yield Notice(task=task.id, text=f"{what}: {why}" if why else what, commands=commands)


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
