"""One task as `ralph status --task` shows it: what it asks for, its result, and what happened so far."""

from __future__ import annotations

from ralph.journal.reader import seen_pages
from ralph.plan.model import Task
from ralph.text import one_line
from ralph.views import words
from ralph.views.lines import indented, say
from ralph.workflows.target import Target
from ralph.workspace import Workspace

MAX_LINE = 300


def show_task(task: Task) -> None:
    say(f"{task.id} {one_line(task.title)}", bold=True)
    say(f"  {words.state_of(task)} · attempts {task.attempts}")
    if task.description:
        say(indented(task.description), hang=0)
    for criterion in task.criteria:
        say(f"  - {one_line(criterion)}")
    if task.may:
        say(f"  may change tests and gates: {', '.join(task.may)}")
    for text in task.decisions:
        say(f"  a person decided: {one_line(text)}")
    if task.acceptance:
        say(f"  {words.accepted(task.acceptance)}")
    elif task.result:
        say(f"  commit {task.result.commit[:10]}: {task.result.summary}")
        if task.result.evidence:
            say(f"  {words.proof(task.result.evidence, task.result.proven_by)}")
        for concern in task.result.concerns:
            approved = ", approved by a person" if concern in task.approved else ""
            say(f"  it may have weakened the checks{approved}: {one_line(concern)}", fg="yellow")
        if task.result.tester:
            say(f"  acceptance tests by {task.result.tester}")
        for gate in task.result.gates:
            optional = "" if gate.required else " (waived)" if gate.name in task.waived else " (optional)"
            where = f" · {words.IN_PLACE}" if gate.in_place else ""
            tests = f" · {gate.tests}" if gate.tests else ""
            how = (
                " · flaky: red, then green on the same files"
                if gate.flaky
                else f" · {gate.how_missed}"
                if gate.not_run
                else ""
            )
            took = words.duration(gate.seconds)
            say(f"  {words.gate_mark(gate)} {gate.command}{optional}{where} · {took}{tests}{how}")
    for line in task.tried if len(task.tried) > 1 or not task.notes else ():
        say(f"  {words.cut(line, MAX_LINE)}")
    if task.rounds:
        say(f"  sent back by reviews: {words.count(task.rounds, 'time')}")
    for finding in task.findings if task.result else ():  # otherwise the notes have them
        say(f"  {words.cut(str(finding), MAX_LINE)}", fg=words.SEVERITY_COLOURS[finding.severity])
    if task.notes:
        say("\n" + indented(task.notes))


def show_pages(workspace: Workspace, target: Target, task: str) -> None:
    """What the browser found before the first attempt and after each one."""
    attempt = None
    for seen in seen_pages(workspace.logs, target.name).get(task, ()):
        if seen.number != attempt:
            attempt = seen.number
            when = f"after attempt {attempt}" if attempt else "before the first attempt"
            say(f"\nIn the browser, {when}:", bold=True)
        colour = "red" if seen.findings else "green"
        shot = f" · {seen.screenshot}" if seen.screenshot else ""
        say(f"  {'✗' if seen.findings else '✓'} {seen.page}{shot}", fg=colour)
        for finding in seen.findings:
            say(f"      {words.cut(finding, MAX_LINE)}")
