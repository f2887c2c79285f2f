"""A report for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.report import summary
from ralph.report.facts import Notice, PlanReport, TaskFacts
from ralph.views import words
from ralph.views.lines import say, styled

MAX_TITLE = 120


def show(report: PlanReport, notices: Iterable[Notice]) -> None:
    """Print the report."""
    plan = report.plan
    say(f"{report.target}: {plan.description}" if plan.description else report.target, bold=True)
    say(f"  {summary.headline(report)}")
    for name, text in (
        ("branch", summary.landed(report)),
        ("when", summary.date(report)),
        ("time", summary.times(report)),
        ("agents", summary.agents(report)),
        ("used", summary.cost(report)),
    ):
        if text:
            say(styled(f"  {name:8}", dim=True), text, hang=8)
    found = list(notices)
    if found:
        say("\nLook at this first:", bold=True, fg="yellow")
        for notice in found:
            _show_notice(notice)
    if report.tasks:
        say("\nTasks:", bold=True)
    for facts in report.tasks:
        _show_task(facts)
    commands = summary.merge_commands(report)
    if commands:
        say("\n→ " + ", then ".join(f"`{command}`" for command in commands))


def _show_notice(notice: Notice) -> None:
    about = f"{notice.task} " if notice.task else ""
    say(styled(f"  {about}", bold=True), notice.text, hang=2)
    for command in notice.commands[:1]:
        say(f"    → {command}")


def _show_task(facts: TaskFacts) -> None:
    task = facts.task
    say(
        styled(f"  {words.mark(task)} {task.id:10} {words.cut(task.title, MAX_TITLE)}", fg=words.colour(task)),
        styled(f"  {summary.commit_of(facts)}", dim=True) if summary.commit_of(facts) else "",
        hang=13,
    )
    tried, how = summary.tried(facts), summary.evidence(facts)
    parts = [
        how or task.standing,
        words.count(tried, "attempt") if tried else "",
        words.duration(facts.spent.seconds) if facts.spent.seconds else "",
        words.cost(facts.spent.usage) if facts.spent.usage.calls else "",
        summary.size(facts.change) if facts.change else "",
        f"tests: {summary.tests(facts.change.tests)}" if facts.change and facts.change.tests else "",
    ]
    say(f"{'':15}{' · '.join(filter(None, parts))}", dim=True)
