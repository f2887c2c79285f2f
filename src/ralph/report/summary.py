"""The sentences that every form of a report has in common."""

from __future__ import annotations

import shlex
import time
from collections import Counter

from ralph.plan.evidence import Evidence
from ralph.plan.model import TaskState
from ralph.plan.usage import Usage
from ralph.report.facts import AttemptHistory, Change, ChangedTests, PlanReport, TaskFacts
from ralph.text import one_line
from ralph.views import words
from ralph.views.spent import used


def headline(report: PlanReport) -> str:
    """How far the plan is, in one line."""
    plan = report.plan
    blocked = plan.count(TaskState.BLOCKED)
    parts = [words.passed(plan.passed, plan.accepted, len(plan.tasks)) + words.blocked(blocked, plan.held)]
    if plan.proven:
        parts.append(f"{plan.proven} proven")
    if plan.review.verified_at:
        parts.append("final verification agreed")
    if report.running:
        parts.append(f"run {report.running} is working on it")
    return " · ".join(parts)


def landed(report: PlanReport) -> str:
    """What is on the branch; empty if there is none."""
    if not report.change:
        return ""
    merged = ", merged" if report.is_merged else ""
    return f"{report.branch}: {words.count(report.commits, 'commit')}, {size(report.change)}{merged}"


def size(change: Change) -> str:
    return f"{words.count(change.files, 'file')}, +{change.added:,} -{change.removed:,}"


def times(report: PlanReport) -> str:
    """How long it took: of a person's day, and of the agents' work."""
    runs = [run for run in report.history.runs if not run.plans]
    planning = sum(run.plans for run in report.history.runs)
    many = [words.count(len(runs), "run")] if runs else []
    if planning:
        many.append(f"{planning} for planning")
    worked = f" · attempts {words.duration(report.spent.seconds)}" if report.spent.seconds else ""
    return f"{words.duration(report.history.seconds)} in {' and '.join(many) or 'no run'}{worked}"


def cost(report: PlanReport) -> str:
    """Tokens and cost of everything, planning included; with the cost for each task that is done."""
    done = report.plan.passed
    usage = report.spent.usage
    each = f" · ${usage.cost_usd / done:.2f} for each passed task" if usage.cost_usd and done else ""
    return f"{used(usage)}{each}"


def agents(report: PlanReport) -> str:
    """The agents that did the work, those with most attempts first."""
    found = Counter(_who(attempt) for attempt in report.history.attempts if attempt.kind == "task" and attempt.agent)
    return ", ".join(name for name, _ in found.most_common())


def _who(attempt: AttemptHistory) -> str:
    return f"{attempt.agent} ({attempt.usage.model})" if attempt.usage.model else attempt.agent


def date(report: PlanReport) -> str:
    """When the first run began and the last one ended, in local time."""
    if not report.history.runs:
        return ""
    begin, end = report.history.runs[0].begin, max(run.end for run in report.history.runs)
    form = "%Y-%m-%d %H:%M"
    first, last = (time.strftime(form, time.localtime(at)) for at in (begin, end))
    return first if first == last else f"{first} to {last if last[:10] != first[:10] else last[11:]}"


def evidence(facts: TaskFacts) -> str:
    """How a task is known to work, in a word or two."""
    task = facts.task
    if task.acceptance:
        return "accepted"
    if not task.result or task.state is not TaskState.PASSED:
        return ""
    return words.how(task) or ("" if task.result.evidence is None else task.result.evidence.value)


def proof(facts: TaskFacts) -> str:
    """The tests or gates that prove a task; empty if none do."""
    result = facts.task.result
    if not result or result.evidence is not Evidence.PROVEN:
        return ""
    return words.proof(result.evidence, result.proven_by)


def tried(facts: TaskFacts) -> int:
    """How many attempts were judged or cut short."""
    return sum(attempt.kind == "task" for attempt in facts.attempts)


def usage_of(usage: Usage) -> str:
    """The cost of a task in a cell of a table."""
    return words.cost(usage).removeprefix("cost ") if usage.calls else ""


def commit_of(facts: TaskFacts) -> str:
    result = facts.task.result
    return result.commit[:10] if result and facts.task.state is TaskState.PASSED else ""


def tests(changed: ChangedTests) -> str:
    """How many tests were added, changed and removed."""
    counts = ((changed.added, "added"), (changed.changed, "changed"), (changed.removed, "removed"))
    return ", ".join(f"{len(names)} {what}" for names, what in counts if names)


def merge_commands(report: PlanReport) -> tuple[str, ...]:
    """How to read and to merge the branch; empty if there is nothing to merge."""
    if not report.change or report.is_merged:
        return ()
    target, branch = (shlex.quote(one_line(name)) for name in (report.target, report.branch))
    return (f"ralph diff {target}", f"git merge {branch}")
