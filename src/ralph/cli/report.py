"""`ralph report`: tells what the runs of a plan did, what they left, and what to look at first."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.complete import targets
from ralph.cli.status import unseen_pages
from ralph.errors import RalphError
from ralph.git.read import one_moment
from ralph.journal.reader import events, runs
from ralph.report import attention
from ralph.report.collect import collect
from ralph.report.facts import Notice, PlanReport
from ralph.stores import atomic
from ralph.views.lines import say, say_exactly
from ralph.workflows.registry import everything, find, only_target
from ralph.workflows.target import Target
from ralph.workspace import Workspace

FORMS = {".md": "md", ".html": "html", ".htm": "html", ".json": "json"}


@click.command(
    name="report",
    epilog="""\b
Examples:
  ralph report                               the plan that was run last, in the terminal
  ralph report auth --md | gh pr create --title "Sign in" --body-file -
  ralph report auth --html -o auth.html      one file to open or to send
  ralph report auth --json | jq .used.costUsd""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option("--md", "form", flag_value="md", help="Print Markdown, for a pull request.")
@click.option("--html", "form", flag_value="html", help="Print one HTML page, with a timeline and screenshots.")
@click.option("--json", "form", flag_value="json", help="Print JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write it to this file.")
@one_moment()
def command(target: str | None, form: str | None, output: Path | None) -> int:
    """Report on TARGET: what was built, what each task took, and what to look at first.

    It covers all runs of the plan, planning included, and works during a run too.
    """
    workspace = workspaces.find(Path.cwd())
    found = find(workspace, target) if target else last_target(workspace)
    report, notices = make(workspace, found)
    form = form or _form_of(output)
    if form is None:
        from ralph.report import terminal

        terminal.show(report, notices)
        return 0
    text = _rendered(form, report, notices, workspace)
    if output is None:
        say_exactly(text)
    else:
        atomic.write(output, text.encode())
        say(f"wrote {output}")
    return 0


def make(workspace: Workspace, target: Target) -> tuple[PlanReport, tuple[Notice, ...]]:
    """The report about a plan, and what to look at first."""
    plan = target.needed_plan()
    report = collect(workspace, target, plan, unseen=unseen_pages(workspace, plan))
    return report, attention.notices(report)


def last_target(workspace: Workspace) -> Target:
    """The plan that was run last; without any run, the only plan."""
    known = {target.name: target for target in everything(workspace)}
    for run in reversed(runs(workspace.logs)):
        name = next((entry.target for entry in events(run, "run_started")), "")
        if name in known:
            return known[name]
    return only_target(workspace)


def _form_of(output: Path | None) -> str | None:
    """The form that a file's name asks for."""
    form = FORMS.get(output.suffix.lower()) if output else None
    if output and form is None:
        raise RalphError(f"Which form should {output.name} have?", remedy="Add --md, --html or --json.")
    return form


def _rendered(form: str, report: PlanReport, notices: tuple[Notice, ...], workspace: Workspace) -> str:
    match form:
        case "md":
            from ralph.report import markdown

            return markdown.render(report, notices)
        case "html":
            from ralph.report import page

            return page.render(report, notices, workspace.root)
        case _:
            from ralph.report import as_json

            return json.dumps(as_json.render(report, notices), indent=2) + "\n"
