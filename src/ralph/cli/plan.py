"""`ralph plan "REQUEST"`: research, decisions, a plan; then a person reads it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ralph import config as configuration
from ralph import prompts
from ralph import workspace as workspaces
from ralph.cli.decide import Deciding, OpenQuestion, read_answers
from ralph.cli.running import restore_after_kill
from ralph.cli.show_plan import needed, show_plan
from ralph.config import Config
from ralph.engine.planning import planner
from ralph.engine.recovery import end_orphans
from ralph.errors import EXIT_UNDECIDED, RalphError
from ralph.journal.events import Event
from ralph.journal.writer import new_run_id
from ralph.stores import lock
from ralph.views import words
from ralph.views.lines import say
from ralph.views.terminal import TerminalView
from ralph.workflows.request.answers import Decision
from ralph.workflows.request.archive import put_aside
from ralph.workflows.request.draft import Draft
from ralph.workflows.request.execution_log import ExecutionLog
from ralph.workflows.request.files import DECISIONS
from ralph.workflows.request.locate import LocatedRequest, locate
from ralph.workflows.request.phases import GOING_ON, UNPLANNED, Phase
from ralph.workflows.request.planning import TEMPLATES, RequestPlanner, Researching
from ralph.workflows.request.store import TARGET
from ralph.workspace import Workspace

EXAMPLES = """\b
Examples:
  ralph plan "Build a REST API for user management"     asks you what is to be decided
  ralph plan "…" --yes                                  takes the recommended answers
  ralph plan "…" --answers answers.json                 {"answers": {"storage": "SQLite"}}
  ralph plan                                            goes on with a plan that was begun
  ralph plan --show                                     the plan, its tasks and its waves
  ralph plan --edit                                     the PRD and the tasks in $EDITOR
  ralph plan --discard                                  into .ralph/archive/; nothing is deleted
\b
Nothing is built before you have read the plan: `ralph start` does that."""


@click.command(name="plan", epilog=EXAMPLES)
@click.argument("request", required=False)
@click.option(
    "--research",
    type=click.Choice([one.value for one in Researching]),
    default="auto",
    show_default=True,
    help="Find things out first; auto: the agent says whether that is needed.",
)
@click.option("--answers", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Answers, as JSON.")
@click.option("--yes", is_flag=True, help="Take the recommended answers.")
@click.option("--show", is_flag=True, help="Only show the plan.")
@click.option("--edit", is_flag=True, help="Change the plan in $EDITOR; it is checked before it counts.")
@click.option("--discard", is_flag=True, help="Put the plan aside, into .ralph/archive/.")
@click.option("--model", help="The model the agent is told to use.")
@click.option("-q", "--quiet", is_flag=True, help="Only warnings and the plan.")
@click.option("--json", "as_json", is_flag=True, help="The plan as JSON.")
def command(
    request: str | None,
    research: str,
    answers: Path | None,
    yes: bool,
    show: bool,
    edit: bool,
    discard: bool,
    model: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Plan REQUEST, a sentence or a page of what you want: research, decisions, a PRD and tasks that depend on one
    another. Without it: go on with the plan that was begun."""
    if show + edit + discard + (request is not None) > 1:
        raise RalphError("A request, --show, --edit and --discard exclude one another.", remedy="Take one of them.")
    workspace = workspaces.find(Path.cwd())
    restore_after_kill(workspace)
    if show:
        return show_plan(workspace, as_json)
    if discard:
        return _discard(workspace)
    if edit:
        from ralph.cli.edit_plan import edit_plan

        edit_plan(workspace, configuration.load(workspace.root), needed(workspace))
        return show_plan(workspace, as_json)
    deciding = Deciding(
        answers=read_answers(answers), file=str(answers or ""), yes=yes, silent=as_json, kept_in=DECISIONS
    )
    config = configuration.load(workspace.root).with_model("planner", model)
    try:
        _plan(workspace, config, request, Researching(research), deciding, quiet=quiet or as_json)
    except RalphError as error:
        if as_json and error.code == EXIT_UNDECIDED:
            show_plan(workspace, as_json)
        raise
    return show_plan(workspace, as_json)


def _plan(
    workspace: Workspace,
    config: Config,
    request: str | None,
    researching: Researching,
    deciding: Deciding,
    *,
    quiet: bool,
) -> None:
    for template in TEMPLATES:
        prompts.check(template, workspace.root)
    _check_request(workspace, request)
    located = locate(workspace)
    if request is None and located and located.phase not in UNPLANNED:
        return  # it is planned: there is nothing to do but to show it
    view, log = TerminalView(quiet=quiet, folder=workspace.root), ExecutionLog(workspace.root)

    def listen(event: Event, line: str) -> None:
        view(event, line)
        log(event, line)

    with planner(workspace, config, TARGET, listen, tick=view.tick) as opened:
        maker = RequestPlanner(opened, _draft(workspace, request))

        def check(decisions: list[Decision]) -> None:
            deciding.check(map(_asked, decisions), [one.id for one in decisions if one.answer is not None])

        maker.make(researching, check, lambda decision: deciding(_asked(decision)))


def _asked(decision: Decision) -> OpenQuestion:
    return OpenQuestion(
        id=decision.id,
        question=decision.question,
        options={one.option: one.consequence for one in decision.options},
        recommendation=decision.recommendation,
        why=decision.why,
    )


def _check_request(workspace: Workspace, request: str | None) -> None:
    """A request that is new, or the one that was begun; one that is not finished is not lost for another."""
    located = locate(workspace)
    if request is None:
        if located is None:
            raise RalphError("There is no request here.", remedy='Begin with `ralph plan "What you want"`.')
        return
    if not request.strip():
        raise RalphError("The request is empty.", remedy="Say what you want, in a sentence or more.")
    if located and located.phase is not Phase.COMPLETED and not _is_same(located, request):
        going_on = GOING_ON[located.phase] if located.phase else "`ralph validate request` says what is wrong"
        raise RalphError(
            f"There is a request that is not finished: {words.cut(located.request, 120)!r}"
            f" (phase {located.phase.value if located.phase else 'unknown'}).",
            details=(f"To finish it: {going_on}.",),
            remedy="Or put it aside with `ralph plan --discard`: it goes into .ralph/archive/.",
        )


def _is_same(located: LocatedRequest, request: str) -> bool:
    """The very command that was cut short, once more: it goes on."""
    return located.phase in UNPLANNED and located.request == " ".join(request.split())


def _draft(workspace: Workspace, request: str | None) -> Draft:
    """The request that was begun, or a new one in place of a finished one."""
    located = locate(workspace)
    if located and located.phase is Phase.COMPLETED and request is not None:
        folder = put_aside(workspace, located)
        say(f"The request before this one is finished: moved to {folder}/", err=True)
        located = None
    if located is None:
        assert request is not None, "it was checked"
        return Draft.begin(workspace.root, request.strip())
    return Draft.load(workspace.root)


def _discard(workspace: Workspace) -> int:
    with lock.hold(workspace.lock, lock.me(new_run_id(), TARGET)) as left_by:
        located = needed(workspace)
        asyncio.run(end_orphans(left_by, workspace.records))
        folder = put_aside(workspace, located)
    say(f"{words.cut(located.request, 120) or 'The request'}: moved to {folder}/")
    if located.branch:
        say(f"  The branch {located.branch.name} stays as it is.")
    return 0
