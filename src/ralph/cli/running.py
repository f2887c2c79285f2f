"""Shared by every command that runs a plan: makes one run, shows it, and prints the next steps at its end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ralph.checkout.open import CheckoutRequest
from ralph.cli import ci_summary
from ralph.cli.notifying import notifying
from ralph.config import Config
from ralph.engine.lifecycle import CURRENT_BRANCH, Options, run_plan
from ralph.engine.ticking import ticking
from ralph.errors import EXIT_DONE, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_LIMIT, EXIT_UNFINISHED
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.journal.events import Event, RunEnded
from ralph.journal.writer import Listener
from ralph.plan.work import Ending
from ralph.protect import crash_copies
from ralph.views.inbox import HEADING, SAID_BY_RUN, lines, only_waits
from ralph.views.lines import say, say_json_line
from ralph.views.terminal import TerminalView
from ralph.workflows.inbox import gathered
from ralph.workflows.registry import find
from ralph.workflows.run_request import RunRequest
from ralph.workspace import Workspace

CODES = {
    Ending.DONE: EXIT_DONE,
    Ending.BLOCKED: EXIT_UNFINISHED,
    Ending.UNVERIFIED: EXIT_UNFINISHED,
    Ending.HALTED: EXIT_UNFINISHED,
    Ending.LIMITED: EXIT_LIMIT,
    Ending.BUDGET: EXIT_LIMIT,
    Ending.STOPPED: EXIT_ERROR,
    Ending.INTERRUPTED: EXIT_INTERRUPTED,
}
EXIT_CODES = """Exit codes: 0 all done and verified, 1 error, 3 a task is blocked, failed, stuck, halted or not
verified, 4 stopped at a limit, 5 another run is active, 130 interrupted."""


class ViewOptions(Frozen):
    """How to show a run."""

    quiet: bool = False
    as_json: bool = False


def run_request(
    workspace: Workspace,
    config: Config,
    request: RunRequest,
    options: Options,
    watching: ViewOptions,
    *,
    silent: bool = False,
) -> RunEnded:
    """Make one run and show it as requested; `silent`: only the request's own listeners report."""
    if options.record:
        from ralph.steps.recorder import check_unused  # its models take their time, and few runs are recorded

        check_unused(options.record)
    view = TerminalView(quiet=watching.quiet, folder=workspace.root)
    listener: Listener = _ignore if silent else print_json if watching.as_json else view

    async def watched() -> RunEnded:
        async with (
            ticking(None if watching.as_json or silent else view.tick),
            notifying(workspace, config.notify, request.checkout.target) as heard,
        ):
            return await run_plan(
                workspace, config, request.checkout, request.open, options, listener, *request.listeners, *heard
            )

    ended = asyncio.run(watched())
    if not watching.as_json:
        _closing(view, ended, request, workspace, config)
    if not silent:
        ci_summary.add(workspace, ended.target)
    return ended


def exit_code(ended: RunEnded) -> int:
    if ended.ending is Ending.ONCE:
        return EXIT_DONE if ended.reason == "passed" and not ended.unverified else EXIT_UNFINISHED
    return CODES[ended.ending]


def restore_after_kill(workspace: Workspace) -> None:
    """After a kill during an agent call: undo the agent's changes to Ralph's files before reading them."""
    changed = crash_copies.put_back(workspace)
    if changed:
        text = f"! The last run was killed while an agent was running. Ralph restored {', '.join(changed)}."
        say(f"{text} The changed versions are in .ralph/run/*/found.", fg="yellow", err=True)


def _ignore(_: Event, line: str) -> None: ...


def print_json(_: Event, line: str) -> None:
    if line:
        say_json_line(line)


def _closing(view: TerminalView, ended: RunEnded, request: RunRequest, workspace: Workspace, config: Config) -> None:
    """What to do next."""
    wanted = request.checkout
    view.line(f"  branch    {wanted.branch}")
    view.line(f"  logs      {_relative(workspace.logs / ended.run)}")
    if request.figures:
        view.line(f"  figures   {_relative(workspace.root / request.figures)}")
    if request.artifacts:
        view.line(f"  artifacts {request.artifacts}")
    if ended.ending is Ending.DONE and (review := request.review()):
        view.line(f"  review    {review}")
    if _tell_needs(view, ended, request, workspace):
        return
    match ended.ending:
        case Ending.DONE:
            git = f"git -C {wanted.folder}" if wanted.folder else "git"
            if config.commits.branch == CURRENT_BRANCH and _has_followed(workspace.root / wanted.folder, wanted.branch):
                view.line(f"→ Review it: `{git} log -p`. It is also on your branch. {request.more}".rstrip())
                return
            view.line(f"→ Review it: `{git} log -p HEAD..{wanted.branch}`. Merge it when you like:")
            view.line(f"  `{git} merge {wanted.branch}`. Ralph never merges it. {request.more}".rstrip())
            _hint_untracked(view, workspace, wanted)
        case Ending.BLOCKED if _setup_failed(workspace, ended.target):
            retry = f"`ralph retry {ended.target}` and " if request.manual else ""
            view.line(f"→ The set-up failed. See why: `ralph status {ended.target}`. Then {retry}`{request.command}`.")
        case Ending.BLOCKED if not request.manual:
            view.line(f"→ Read {request.artifacts}, fix the cause (a task, the plan, a gate), then run")
            view.line(f"  `{request.command}` to retry. If a task needs no work:")
            view.line(f'  `ralph accept {ended.target} TASK --why "…"`.')
        case Ending.BLOCKED:
            view.line(f"→ See why: `ralph status {ended.target} --task ID`, `ralph attempts {ended.target}`.")
            view.line(f"  Then `ralph retry {ended.target}` and `{request.command}`.")
        case Ending.HALTED:
            view.line(f"→ See why: `ralph status {ended.target}`, `ralph attempts {ended.target}`.")
            view.line(f"  Fix it or leave it to the next agent, then run `{request.command}` to continue.")
        case Ending.UNVERIFIED if ended.reason == ended.unverified:
            view.line("→ Add your checks to verify.default in ralph.config.json: they decide what passes.")
            view.line(f"  Check this work yourself: `git switch {wanted.branch}`, then `ralph verify`.")
            if request.manual:
                view.line(
                    f"  If it is correct: `ralph accept {ended.target} TASK --why TEXT`, then `{request.command}`."
                )
        case Ending.UNVERIFIED:
            view.line(f"→ See why: `ralph status {ended.target}`.")
            view.line(f"  Then `ralph retry {ended.target}` and `{request.command}`.")
        case Ending.STOPPED:
            view.line(f"→ Fix that, then run `{request.command}` to resume.")
        case Ending.BUDGET:
            view.line(f"→ Continue with more: `{request.command} --budget …`, or raise budget in ralph.config.json.")
        case Ending.LIMITED:
            view.line(f"→ Run `{request.command}` to resume. It waits until the limit has passed; --try-now does not.")
        case _:
            view.line(f"→ Run `{request.command}` to resume.")


def _setup_failed(workspace: Workspace, target: str) -> bool:
    plan = find(workspace, target).plan()
    return bool(plan and plan.setup.failures)


def _tell_needs(view: TerminalView, ended: RunEnded, request: RunRequest, workspace: Workspace) -> bool:
    """List what waits for a person; return whether nothing else is left to say."""
    if ended.ending is Ending.DONE:
        return False
    target = find(workspace, ended.target)
    plan = target.plan()
    found = gathered(workspace, [(target, plan)]) if plan else ()
    items = [item for item in found if item.kind not in SAID_BY_RUN]
    if plan is None or not items:
        return False
    view.line(f"→ {HEADING}:")
    for line in lines(items):
        view.line(line, hang=4)
    is_all = ended.ending in (Ending.BLOCKED, Ending.HALTED) and only_waits(plan)
    if is_all:
        view.line(f"  Then run `{request.command}`.")
    return is_all


def _has_followed(folder: Path, branch: str) -> bool:
    return git_read.head(folder, "HEAD") == git_read.head(folder, branch)


def _hint_untracked(view: TerminalView, workspace: Workspace, wanted: CheckoutRequest) -> None:
    """Git does not merge a branch over untracked files."""
    paths = [path for path in wanted.carry if (workspace.root / path).is_file()]
    listed = git_read.show(workspace.root, "ls-files", "--others", "--", *paths) if paths else ""
    if listed.strip() and not wanted.folder:
        names = " ".join(listed.split("\n")[:3]).strip()
        view.line(f"  First remove your copies of the plan, which are also on the branch: rm {names}")


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
