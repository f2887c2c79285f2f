"""All plans of a project, and what a plan's head says. Pure but for what the reader reads."""

from __future__ import annotations

from ralph.frozen import Frozen
from ralph.plan.model import Plan, Task, TaskState
from ralph.plan.usage import Usage
from ralph.report import summary
from ralph.report.facts import PlanReport
from ralph.stores import spending
from ralph.views import words
from ralph.views.inbox import InboxItem
from ralph.web.board import at_work
from ralph.web.reading import PlanRow, ProjectReader
from ralph.web.spending import each_verified


class Segment(Frozen):
    """A part of a progress bar, in thousandths of it."""

    kind: str
    count: int
    x: float
    width: float


class PlanCard(Frozen):
    """A plan in the list."""

    target: str
    workflow: str
    description: str
    headline: str
    segments: tuple[Segment, ...]
    used: str
    is_at_work: bool
    problem: str = ""


class ProjectOverview(Frozen):
    """A project in the list."""

    number: int
    name: str
    root: str
    running: str  # the plan that is being worked on; empty: none
    plans: tuple[PlanCard, ...]
    needs: tuple[InboxItem, ...]


def overview(reader: ProjectReader) -> ProjectOverview:
    """Return what the first page says about a project."""
    project, owner = reader.project, reader.owner()
    rows = reader.plans()
    running = owner.target if owner else ""
    records = project.workspace.records
    begun = [(row, _working(reader, row.target) if row.target == running else None) for row in rows]
    return ProjectOverview(
        number=project.number,
        name=project.name,
        root=str(project.workspace.root),
        running=running,
        plans=tuple(_card(row, spending.of_target(records, row.target).total.usage, working) for row, working in begun),
        needs=reader.needs(),
    )


def _working(reader: ProjectReader, target: str) -> set[str]:
    told = reader.report(target)
    return set(at_work(told.report)) if told else set()


def _card(row: PlanRow, usage: Usage, working: set[str] | None) -> PlanCard:
    """`working`: the tasks that agents are at; None: no run is at work on this plan."""
    plan = row.plan
    return PlanCard(
        target=row.target,
        workflow=row.workflow,
        description=plan.description if plan else "",
        headline=_headline(plan) if plan else row.draft,
        segments=segments(plan, working or set()) if plan else (),
        used=words.cost(usage).removeprefix("cost ") if usage.calls and usage.cost_usd is not None else "",
        is_at_work=working is not None,
        problem=row.problem,
    )


def _headline(plan: Plan) -> str:
    blocked = plan.count(TaskState.BLOCKED)
    return words.passed(plan.passed, plan.accepted, len(plan.tasks)) + words.blocked(blocked, plan.held)


def segments(plan: Plan, working: set[str]) -> tuple[Segment, ...]:
    """Return the progress of a plan as parts of a bar."""
    kinds = {"passed": 0, "accepted": 0, "working": 0, "needs": 0, "waiting": 0}
    for task in plan:
        kinds[_kind(task, working)] += 1
    total, at, found = max(len(plan.tasks), 1), 0, []
    for kind, count in kinds.items():
        if count:
            found.append(Segment(kind=kind, count=count, x=1000 * at / total, width=1000 * count / total))
            at += count
    return tuple(found)


def _kind(task: Task, working: set[str]) -> str:
    if task.id in working:
        return "working"
    if task.state is TaskState.PASSED:
        return "accepted" if task.acceptance else "passed"
    return "needs" if task.state is TaskState.BLOCKED and not task.left_out else "waiting"


def figures(report: PlanReport) -> tuple[tuple[str, str, str], ...]:
    """Return the numbers at the head of a plan: each with its name, and what is beside it."""
    plan, usage = report.plan, report.spent.usage
    done = plan.passed + plan.accepted
    each = each_verified(report)
    attempts = sum(attempt.kind == "task" for attempt in report.history.attempts)
    return (
        ("verified", f"{plan.passed}/{len(plan.tasks)}", f"{plan.proven} proven" if plan.proven else ""),
        ("time", words.duration(report.history.seconds) if report.history.runs else "–", _runs(report)),
        ("attempts", str(attempts), f"{attempts / done:.1f} for each task" if done and attempts else ""),
        (
            "cost",
            summary.usage_of(usage) if usage.cost_usd is not None else "unknown" if usage.calls else "–",
            f"{each} for each verified task" if each else "",
        ),
        ("tokens", *_tokens(report)),
        ("landed", f"+{report.change.added:,} −{report.change.removed:,}" if report.change else "–", _landed(report)),
    )


def _runs(report: PlanReport) -> str:
    return words.count(len(report.history.runs), "run") if report.history.runs else "no run yet"


def _tokens(report: PlanReport) -> tuple[str, str]:
    usage = report.spent.usage
    if usage.input_tokens is None and usage.output_tokens is None:
        return ("unknown" if usage.calls else "–"), ""
    taken, _, given = words.tokens(usage).partition(", ")
    return taken.removesuffix(" tokens in"), f"in, {given}"


def _landed(report: PlanReport) -> str:
    return f"{words.count(report.commits, 'commit')}{', merged' if report.is_merged else ''}" if report.change else ""
