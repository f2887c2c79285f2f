"""A report as Markdown: for a file, a pull request, or the summary of a CI job.

Titles, reasons and test names come from plans and agents. They are escaped, so that none of them becomes a link, a
heading, HTML, or the mention of a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ralph.report import summary
from ralph.report.facts import Notice, PlanReport, TaskFacts
from ralph.text import one_line
from ralph.views import words

SPECIAL = re.compile(r"([\\`*_\[\]<>|~$])")
MENTION = re.compile(r"([@#])(?=\w)")
MAX_TEXT = 300
MAX_NAMES = 20


def render(report: PlanReport, notices: Iterable[Notice]) -> str:
    """Return the whole report."""
    return "\n".join(_lines(report, list(notices))) + "\n"


def _lines(report: PlanReport, notices: list[Notice]) -> Iterator[str]:
    yield f"## {escaped(report.target)}"
    yield ""
    if report.plan.description:
        yield f"{escaped(report.plan.description)}"
        yield ""
    yield f"{escaped(summary.headline(report))}."
    yield ""
    yield from _figures(report)
    yield from _notices(notices)
    yield from _built(report)
    yield from _tasks(report)
    yield from _tests(report)
    yield from _failed(report)
    yield from _merge(report)


def _figures(report: PlanReport) -> Iterator[str]:
    rows = (
        ("branch", summary.landed(report)),
        ("when", summary.date(report)),
        ("time", summary.times(report)),
        ("agents", summary.agents(report)),
        ("used", summary.cost(report)),
    )
    yield "| | |"
    yield "| --- | --- |"
    for name, text in rows:
        if text:
            yield f"| {name} | {escaped(text)} |"
    yield ""


def _notices(notices: list[Notice]) -> Iterator[str]:
    if not notices:
        return
    yield "### Look at this first"
    yield ""
    for notice in notices:
        about = f"**{escaped(notice.task)}** " if notice.task else ""
        commands = ", or ".join(code(command) for command in notice.commands)
        yield f"- {about}{escaped(notice.text)}" + (f" → {commands}" if commands else "")
    yield ""


def _built(report: PlanReport) -> Iterator[str]:
    done = [facts for facts in report.tasks if summary.commit_of(facts)]
    if not done:
        return
    yield "### What was built"
    yield ""
    for facts in done:
        how = summary.evidence(facts)
        yield f"- **{escaped(facts.task.id)}** {escaped(facts.task.title)}" + (f" ({escaped(how)})" if how else "")
        proof = summary.proof(facts)
        if proof:
            yield f"  - {escaped(proof)}"
    yield ""


def _tasks(report: PlanReport) -> Iterator[str]:
    if not report.tasks:
        return
    yield "### Tasks"
    yield ""
    yield "| | task | result | attempts | time | cost | gates | change | commit |"
    yield "| --- | --- | --- | ---: | ---: | ---: | --- | --- | --- |"
    for facts in report.tasks:
        yield f"| {' | '.join(_cells(facts))} |"
    yield ""


def _cells(facts: TaskFacts) -> tuple[str, ...]:
    task = facts.task
    how = summary.evidence(facts)
    gates = task.result.gates if task.result else ()
    commit = summary.commit_of(facts)
    return (
        words.mark(task),
        f"{escaped(task.id)} {escaped(task.title)}",
        escaped(", ".join(filter(None, (task.standing, how if how != task.standing else "")))),
        str(summary.tried(facts) or ""),
        words.duration(facts.spent.seconds) if facts.spent.seconds else "",
        escaped(summary.usage_of(facts.spent.usage)),
        "<br>".join(f"{words.gate_mark(gate)} {code(gate.name)}{' (flaky)' if gate.flaky else ''}" for gate in gates),
        escaped(summary.size(facts.change)) if facts.change else "",
        code(commit) if commit else "",
    )


def _tests(report: PlanReport) -> Iterator[str]:
    found = [facts for facts in report.tasks if facts.change and facts.change.tests]
    if not found:
        return
    yield "### Tests"
    yield ""
    for facts in found:
        assert facts.change, "only these are listed"
        changed = facts.change.tests
        yield f"- **{escaped(facts.task.id)}**: {summary.tests(changed)}"
        for what, names in (("added", changed.added), ("changed", changed.changed), ("removed", changed.removed)):
            if names:
                listed = ", ".join(code(name) for name in names[:MAX_NAMES])
                more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
                yield f"  - {what}: {listed}{more}"
    yield ""


def _failed(report: PlanReport) -> Iterator[str]:
    failed = [
        attempt
        for facts in report.tasks
        for attempt in facts.attempts
        if attempt.verdict not in ("passed", "", "interrupted", "limited")
    ]
    if not failed:
        return
    yield "<details><summary>Attempts that did not pass</summary>"
    yield ""
    for attempt in failed:
        reason = words.first_line(attempt.reason)
        yield f"- {escaped(attempt.name)} {attempt.verdict}" + (f": {escaped(reason)}" if reason else "")
    yield ""
    yield "</details>"
    yield ""


def _merge(report: PlanReport) -> Iterator[str]:
    commands = summary.merge_commands(report)
    if not commands:
        return
    yield "### Review and merge"
    yield ""
    yield "```sh"
    yield from commands
    yield "```"


def escaped(text: str) -> str:
    """Return a text on one line that Markdown shows as it is, and that mentions nobody."""
    text = SPECIAL.sub(r"\\\1", words.cut(one_line(text), MAX_TEXT))
    return MENTION.sub(r"\1<!-- -->", text)


def code(text: str) -> str:
    """Return a text as code, whatever backticks it has."""
    text = words.cut(one_line(text), MAX_TEXT).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"
