"""`ralph next`: shows which task comes next, as the plan's own workflow decides."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.cli.complete import targets
from ralph.config import Config
from ralph.git.read import one_moment
from ralph.plan.model import Plan
from ralph.plan.work import Ending, Finished, Waiting, Work, WorkKind
from ralph.views import inbox, words
from ralph.views.lines import say, say_json
from ralph.workflows.inbox import of_target
from ralph.workflows.registry import NO_PLANS, everything, find, workflow_of
from ralph.workflows.target import Target
from ralph.workspace import Workspace

STATES = {
    Ending.DONE: "done",
    Ending.HALTED: "halted",
    Ending.UNVERIFIED: "unverified",
}
"""The state of a plan that has no task to start; every other ending is `blocked`."""


@click.command(name="next")
@click.argument("target", required=False, shell_complete=targets)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@one_moment()
def command(target: str | None, as_json: bool) -> int:
    """Show the next task of TARGET (a feature, a session, `request`, `requirements`, `specs`), or of every plan in
    the project."""
    workspace = workspaces.find(Path.cwd())
    found = [find(workspace, target)] if target else everything(workspace)
    config = configuration.load(workspace.root) if found else None
    plans = [(item, item.plan()) for item in found]
    rows = [(item, plan, _upcoming(workspace, config, item, plan)) for item, plan in plans if config]
    if as_json:
        say_json([_row(workspace, item, plan, work) for item, plan, work in rows])
        return 0
    for item, plan, work in rows:
        say(f"{item.name}: {_words(item, plan, work)}")
        for line in inbox.lines(of_target(workspace, item, plan) if plan else ()):
            say(line, fg="yellow", hang=4)
        for task in plan or ():
            if task.acceptance:
                say(f"  {words.ACCEPTED_MARK} {task.id} {words.cut(words.accepted(task.acceptance), 300)}", fg="cyan")
    if not rows:
        say(NO_PLANS)
    return 0


def _upcoming(workspace: Workspace, config: Config, target: Target, plan: Plan | None) -> Work | Finished | None:
    """What the plan's workflow would begin; None: there is no plan yet."""
    if plan is None:
        return None
    upcoming = workflow_of(target).open(workspace, config, target).next(plan)
    assert not isinstance(upcoming, Waiting), "no run is active here"
    return upcoming


def _row(
    workspace: Workspace, target: Target, plan: Plan | None, upcoming: Work | Finished | None
) -> dict[str, object]:
    accepted = [{"id": task.id, **asdict(task.acceptance)} for task in plan or () if task.acceptance]
    row: dict[str, object] = {"target": target.name, "workflow": target.workflow, "accepted": accepted}
    row["needs"] = inbox.as_json(of_target(workspace, target, plan) if plan else ())
    if upcoming is None:
        return {**row, "state": "unplanned", "next": None}
    if isinstance(upcoming, Finished):
        return {**row, "state": STATES.get(upcoming.ending, "blocked"), "next": None}
    following: dict[str, object] = {"id": upcoming.id, "title": upcoming.title}
    if upcoming.kind is not WorkKind.TASK:
        following["kind"] = upcoming.kind.value
    return {**row, "state": "ready", "next": following}


def _words(target: Target, plan: Plan | None, upcoming: Work | Finished | None) -> str:
    if plan is None or upcoming is None:
        return f"{target.draft} ({target.plan_command or target.command})"
    if isinstance(upcoming, Finished):
        return _rest(target, plan, upcoming)
    match upcoming.kind:
        case WorkKind.TASK:
            task = plan.find(upcoming.id)
            spec = plan.find_spec(task.spec) if task else None
            return f"{upcoming.id} {upcoming.title}" + (f" ({spec.name})" if spec else "")
        case WorkKind.FINISH:
            return f"the commit of {upcoming.title}, whose tasks are all settled"
        case _:
            return f"{upcoming.title[0].lower()}{upcoming.title[1:]} ({upcoming.id})"


def _rest(target: Target, plan: Plan, end: Finished) -> str:
    """What is left when no task can start."""
    if not plan.tasks and end.ending is not Ending.BLOCKED:
        return f"nothing is planned yet ({target.plan_command or target.command})"
    match end.ending:
        case Ending.DONE:
            return "nothing left to do"
        case Ending.HALTED if plan.failure:
            return f"halted: {plan.failure.task} failed. Run `{target.command}` to retry it"
        case Ending.UNVERIFIED:
            return f"the final verification did not pass (ralph retry {target.name})"
        case _ if inbox.only_waits(plan):
            return f"cannot continue; {words.cut(words.first_line(end.reason), 300)}"
        case _:
            remedy = target.command if target.marked_by else f"ralph retry {target.name}"
            return f"cannot continue; {words.cut(words.first_line(end.reason), 300)} ({remedy})"
