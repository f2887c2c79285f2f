"""Plans a request: research, decisions, a plan. Then a person reviews it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ralph import config as configuration
from ralph import prompts
from ralph import workspace as workspaces
from ralph.cli.questions import DecisionOptions, OpenQuestion, read_answers
from ralph.cli.running import restore_after_kill
from ralph.cli.show_plan import needed, show_plan
from ralph.cli.trusting import load_trusted
from ralph.config import Config
from ralph.engine.orphans import end_orphans
from ralph.errors import EXIT_UNDECIDED, RalphError
from ralph.frozen import Frozen
from ralph.journal.events import Event
from ralph.journal.writer import new_run_id
from ralph.stores import lock
from ralph.views import words
from ralph.views.lines import say
from ralph.views.terminal import TerminalView
from ralph.workflows.planning import planner
from ralph.workflows.request.answers import Decision
from ralph.workflows.request.archive import put_aside
from ralph.workflows.request.draft import Draft
from ralph.workflows.request.execution_log import ExecutionLog
from ralph.workflows.request.files import DECISIONS
from ralph.workflows.request.locate import LocatedRequest, locate
from ralph.workflows.request.phases import NEXT_STEP, UNPLANNED, Phase
from ralph.workflows.request.planning import TEMPLATES, RequestPlanner, ResearchMode
from ralph.workflows.request.store import TARGET
from ralph.workspace import Workspace


class PlanFlags(Frozen):
    """The options from the command line."""

    research: str = "auto"
    answers: Path | None = None
    yes: bool = False
    show: bool = False
    edit: bool = False
    discard: bool = False
    model: str | None = None
    quiet: bool = False
    as_json: bool = False


def plan_request(request: str | None, flags: PlanFlags) -> int:
    """Plan a request, or show, edit or discard the plan there is."""
    if flags.show + flags.edit + flags.discard + (request is not None) > 1:
        raise RalphError("A request, --show, --edit and --discard cannot be combined.", remedy="Choose one of them.")
    workspace = workspaces.find(Path.cwd())
    restore_after_kill(workspace)
    if flags.show:
        return show_plan(workspace, flags.as_json)
    if flags.discard:
        return _discard(workspace)
    if flags.edit:
        from ralph.cli.edit_plan import edit_plan

        edit_plan(workspace, configuration.load(workspace.root), needed(workspace))
        return show_plan(workspace, flags.as_json)
    deciding = DecisionOptions(
        answers=read_answers(flags.answers),
        file=str(flags.answers or ""),
        yes=flags.yes,
        silent=flags.as_json,
        kept_in=DECISIONS,
    )
    config = load_trusted(workspace).with_model("planner", flags.model)
    try:
        _plan(workspace, config, request, ResearchMode(flags.research), deciding, flags)
    except RalphError as error:
        if flags.as_json and error.code == EXIT_UNDECIDED:
            show_plan(workspace, flags.as_json)
        raise
    return show_plan(workspace, flags.as_json)


def _plan(
    workspace: Workspace,
    config: Config,
    request: str | None,
    researching: ResearchMode,
    deciding: DecisionOptions,
    flags: PlanFlags,
) -> None:
    for template in TEMPLATES:
        prompts.check(template, workspace.root)
    _check_request(workspace, request)
    located = locate(workspace)
    if request is None and located and located.phase not in UNPLANNED:
        return  # already planned: only show it
    view = TerminalView(quiet=flags.quiet, as_json=flags.as_json, folder=workspace.root)
    log = ExecutionLog(workspace.root)

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
    """Refuse an empty request, and a new one while another is unfinished."""
    located = locate(workspace)
    if request is None:
        if located is None:
            raise RalphError("There is no request here.", remedy='Make one with `ralph plan "What you want"`.')
        return
    if not request.strip():
        raise RalphError("The request is empty.", remedy="Say what you want, in a sentence or more.")
    if located and located.phase is not Phase.COMPLETED and not _is_same(located, request):
        next_step = NEXT_STEP[located.phase] if located.phase else "run `ralph validate request` to see what is wrong"
        raise RalphError(
            f"Another request is not finished: {words.cut(located.request, 120)!r}"
            f" (phase {located.phase.value if located.phase else 'unknown'}).",
            details=(f"To finish it: {next_step}.",),
            remedy="Or archive it with `ralph plan --discard`. It moves to .ralph/archive/.",
        )


def _is_same(located: LocatedRequest, request: str) -> bool:
    """Whether this is the interrupted command once more; then it resumes."""
    return located.phase in UNPLANNED and located.request == " ".join(request.split())


def _draft(workspace: Workspace, request: str | None) -> Draft:
    """The request that was started, or a new one that replaces a finished one."""
    located = locate(workspace)
    if located and located.phase is Phase.COMPLETED and request is not None:
        folder = put_aside(workspace, located)
        say(f"Moved the finished request to {folder}/", err=True)
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
        say(f"  The branch {located.branch.name} is kept.")
    return 0
