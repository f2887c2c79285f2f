"""The life of a run around the loop: lock, journal, branch, recovery and closing."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import __version__, config_notify
from ralph.checkout.branch import TargetBranch
from ralph.checkout.open import CheckoutRequest, OpenCheckout, fast_forward, open_checkout
from ralph.config import IN_PLACE, Budget, Config
from ralph.engine.containment import check_sandbox
from ralph.engine.disk_limits import hold_limits
from ralph.engine.interrupt import Interrupt
from ralph.engine.orphans import end_orphans, remove_temporary
from ralph.engine.pending import drop_reopened
from ralph.engine.run import Doubt, Run
from ralph.engine.settle import reopen_review, resume
from ralph.engine.workflow import Workflow
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git.refs import last_attempts
from ralph.git.trees import changed_since
from ralph.journal.events import Noted, RunEnded, RunStarted
from ralph.journal.writer import Journal, Listener, new_run_id, now
from ralph.plan.model import Plan, Task, TaskState
from ralph.plan.work import Ending, Finished
from ralph.process.clock import seconds
from ralph.process.redaction import Secrets
from ralph.process.warden import guarding
from ralph.protect import crash_copies
from ralph.stores import crash_file, last_run, lock, records
from ralph.stores.last_run import LastRun
from ralph.verify.browser import Browser
from ralph.workspace import Workspace

if TYPE_CHECKING:
    from ralph.steps.recorder import Recorder

CURRENT_BRANCH = "current"
"""`commits.branch`: Ralph fast-forwards the person's own branch when a run ends."""


class Options(Frozen):
    """What the person asked for on the command line."""

    once: bool = False
    jobs: int = 1  # how many tasks run in parallel, each in its own working copy
    abrupt: bool = False  # when the plan halts, cancel the attempts that are still running
    baseline: bool = True
    keep_going: bool = False  # continue even if a gate cannot run at all
    model: str = ""
    wait: bool = True  # wait until a limited agent can work again
    try_now: bool = False  # try agents at once that were limited in the last run
    budget: Budget | None = None  # instead of the configured one
    config: str = ""  # the name of the step configuration, if the workflow has one
    record: Path | None = None  # the folder in which agent calls are recorded

    def with_config(self, name: str) -> Options:
        return replace(self, config=name)


async def run_plan(
    workspace: Workspace,
    config: Config,
    wanted: CheckoutRequest,
    make: Callable[[Path], Workflow],
    options: Options,
    *listeners: Listener,
) -> RunEnded:
    """Run a workflow once, from taking the lock to the last event."""
    run_id, interrupt = new_run_id(), Interrupt()
    workspace.keep_out_of_git()
    owner = lock.me(run_id, wanted.target)
    addresses = config_notify.secrets(config.notify, os.environ)
    secrets = Secrets.of(os.environ, workspace.root, workspace.root / wanted.folder, more=addresses)
    with (
        guarding(run_id),
        secrets.in_errors(),
        interrupt.on_signals(),
        lock.hold(workspace.lock, owner) as left_by,
        Journal(workspace.logs / run_id, secrets.text, wanted.target) as journal,
    ):
        for listener in listeners:
            journal.listen(listener)
        ended = await end_orphans(left_by, workspace.records)
        remove_temporary(workspace)
        opened, known_tip = await _open(workspace, wanted, config, run_id, secrets)
        try:
            workflow = make(opened.project)
            plan = workflow.store.load()
        except RalphError:
            await opened.cancel(committed=config.commits.prd_changes)
            raise
        async with Browser(config.browser, run_id, _noting(journal)) as browser:
            run = Run(
                id=run_id,
                workspace=workspace,
                config=config,
                workflow=workflow,
                plan=plan,
                journal=journal,
                owner=owner,
                secrets=secrets,
                branch=opened.branch,
                plans=opened.plans,
                own=opened.own,
                browser=browser if config.browser.enabled else None,
                interrupt=interrupt,
                numbers=last_attempts(opened.branch.repo.git_dir, wanted.target),
                model=options.model,
                jobs=options.jobs,
                keep_going=options.keep_going,
            )
            async with aclosing(run):
                try:
                    killed = bool(known_tip or left_by or opened.plans.was_left)
                    doubt = _doubt(run, last_run.load(workspace, wanted.target), killed=killed)
                    edited = _edited(plan, opened, make, workspace.root)
                    return await _drive(run, opened, options, ended, doubt=doubt, edited=edited)
                finally:
                    await _close(run, opened, wanted)


async def _open(
    workspace: Workspace, wanted: CheckoutRequest, config: Config, run_id: str, secrets: Secrets
) -> tuple[OpenCheckout, str]:
    """Open the branch and its plan; also return the branch tip that a killed run recorded with its last plan."""
    crash_copies.put_back(workspace, locked=True)
    known_tip = crash_file.tip_of(workspace, wanted.target)
    opened = await open_checkout(
        workspace,
        wanted,
        run_id,
        secrets=secrets,
        known_tip=known_tip,
        committed=config.commits.prd_changes,
        catch_up=config.commits.branch == CURRENT_BRANCH,
    )
    if known_tip:  # after a kill, the plan is the one that Ralph wrote last, whatever the branch says
        crash_copies.put_back(workspace, locked=True)
    return opened, known_tip


def _doubt(run: Run, last: LastRun | None, *, killed: bool) -> Doubt:
    """Find out what of the plan Ralph cannot know; a run here that left no note of its end counts as killed."""
    is_unclean = killed or (not last.is_over if last else bool(run.numbers))
    tasks = last_run.unknown(run.plan, last, is_unclean=is_unclean)
    run.unproven = {task.id for task in tasks}
    names = tuple(task.id for task in tasks)
    return Doubt(is_unclean=is_unclean, tasks=names, repository=last.repository if last else {})


async def _close(run: Run, opened: OpenCheckout, wanted: CheckoutRequest) -> None:
    """Close a run that was not killed: its plan is on the branch, and Ralph releases the branch."""
    run.remove_temporary()
    has_begun = bool(run.branch and run.branch.expected)
    if not has_begun and (opened.plans.was_left or crash_file.tip_of(run.workspace, wanted.target)):
        return  # the run was refused at the start: leave a killed run's plan for the next run
    close = opened.close if has_begun else opened.cancel
    await close(committed=run.config.commits.prd_changes)
    if has_begun:
        run.note_passed(is_over=True)
    crash_copies.forget(run.workspace, wanted.target)


async def _drive(
    run: Run, opened: OpenCheckout, options: Options, orphans: int, *, doubt: Doubt, edited: str
) -> RunEnded:
    """Run from the first event to the last."""
    began = seconds()
    run.begin_limits(waits=options.wait, try_now=options.try_now, budget=options.budget)
    if run.workflow.is_ui(run.plan, None):
        from ralph.engine.ui_ready import check_ui  # only UI tasks need a browser and services

        await check_ui(run)
    assert run.branch
    from ralph.engine.held_out import load_held_out
    from ralph.engine.receipts import open_receipts

    await open_receipts(run, run.branch)
    await load_held_out(run, run.branch.repo)
    check_sandbox(run)
    dropped = await drop_reopened(run)
    await run.branch.watch()
    run.recorder = _recorder(run, run.branch, options)
    await _forget_stale_verification(run, run.branch, unclean=doubt.is_unclean)
    if run.workflow.policy.halts:
        run.save(resume(run.plan))
    run.secure()
    run.interrupt.last_words = lambda: run.emit(_ended(run, Finished(ending=Ending.INTERRUPTED), began))
    run.emit(_started(run, run.branch, options, await _follower(run, run.branch)))
    _note(run, opened, orphans)
    if edited:
        run.emit(Noted(text=edited, warning=True))
    for text in dropped:
        run.emit(Noted(text=text))
    try:
        await hold_limits(run, is_over=False)
        end = await _work(run, options, doubt)
        await run.commit_state()
        await _fast_forward(run, run.branch)
        await run.aclose()
        await hold_limits(run, is_over=True)
    except Exception as error:  # after any error, the journal and the reports must say that the run ended
        why = error.what if isinstance(error, RalphError) else str(error)
        end = Finished(ending=Ending.STOPPED, reason=why)
        run.emit(replace(_ended(run, end, began), is_error=True))
        await run.commit_state()
        raise
    ended = _ended(run, end, began)
    run.emit(ended)
    return ended


def _edited(plan: Plan, opened: OpenCheckout, make: Callable[[Path], Workflow], root: Path) -> str:
    """Return a warning if the plan in the person's checkout differs from the plan on the branch."""
    if opened.plans.is_new or not opened.own.held:
        return ""
    try:
        theirs = make(root).store.load()
    except RalphError:  # there is no plan, or it cannot be read
        return ""
    wishes = [{task.id: task.wish for task in one} for one in (plan, theirs)]
    names = sorted({task_id for task_id, _ in wishes[0].items() ^ wishes[1].items()})
    if not names or not theirs.tasks:  # a session's tasks are only ever on its branch
        return ""
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")
    branch = opened.branch.name
    return (
        f"The plan in your checkout differs from the one on {branch} in {listed}. Ralph uses the one on the branch. "
        f"To change it: git switch {branch}, edit, commit, git switch -"
    )


def _ended(run: Run, end: Finished, began: float) -> RunEnded:
    plan, gates, unverified = run.plan, run.gates(None), _unverified(run)
    if end.ending is Ending.DONE and unverified:
        end = Finished(ending=Ending.UNVERIFIED, reason=unverified)
    return RunEnded(
        run=run.id,
        target=plan.target,
        workflow=run.workflow.name,
        ending=end.ending,
        reason=end.reason,
        seconds=seconds() - began,
        tasks=len(plan.tasks),
        passed=plan.passed,
        accepted=plan.accepted,
        blocked=plan.count(TaskState.BLOCKED),
        held=plan.held,
        needs=len(plan.needs),
        attempts=run.spending.attempts,
        verified=bool(plan.review.verified_at),
        proven=plan.proven,
        unrecorded=sum(task.state is TaskState.PASSED and not task.result for task in plan),
        gates=sum(gate.required for gate in gates),
        optional=sum(not gate.required for gate in gates),
        in_place=_is_in_place(run),
        unverified=unverified,
        usage=run.spending.usage,
        total=run.spending.total.usage,
    )


def _unverified(run: Run) -> str:
    """Return why passed work is not verified; "" if required gates or the pages of UI tasks verified all of it."""
    if not any(gate.required for gate in run.workflow.gates(None)) and not all(_is_seen(run, one) for one in run.plan):
        return "no gate is required, so nothing was verified"
    names = [task.id for task in run.plan.unverified if not _is_seen(run, task)]
    return f"{', '.join(names)} passed when no gate was required" if names else ""


def _is_seen(run: Run, task: Task) -> bool:
    """Return whether a browser opens the pages of a task."""
    if not run.workflow.is_ui(run.plan, task):
        return False
    from ralph.verify.urls import why_unseen  # only UI tasks have pages

    return not why_unseen(task.criteria, run.config)


def _is_in_place(run: Run) -> bool:
    return run.config.verify.where == IN_PLACE or run.plan.in_place


async def _work(run: Run, options: Options, doubt: Doubt) -> Finished:
    """Work through the plan; one that is complete, and known to be, needs nothing but this answer."""
    is_open = any(task.state is TaskState.PENDING for task in run.plan)
    is_known = not doubt.is_unclean and not (doubt.tasks and run.gates(None))
    if is_known and not is_open and not run.interrupt.requested and not records.load(run.workspace.records):
        following = run.workflow.next(run.plan)
        if isinstance(following, Finished):
            return following
    from ralph.engine.working import work  # half of all that a run imports

    return await work(run, options, doubt)


def _started(run: Run, branch: TargetBranch, options: Options, follower: str) -> RunStarted:
    return RunStarted(
        run=run.id,
        target=run.plan.target,
        workflow=run.workflow.name,
        version=__version__,
        tasks=len(run.plan.tasks),
        passed=run.plan.passed,
        accepted=run.plan.accepted,
        blocked=run.plan.count(TaskState.BLOCKED),
        held=run.plan.held,
        branch=branch.name,
        slots=str(run.workspace.slots),
        agent=", ".join(Path(agent.provider.command).name for agent in run.config.agents_for("executor")),
        gates=tuple(gate.command for gate in run.workflow.gates(None)),
        model=options.model or run.config.provider_for("executor").model or "",
        jobs=options.jobs,
        race=tuple(run.config.executor(name).name for name in run.config.race.agents),
        config=options.config,
        in_place=_is_in_place(run),
        follower=follower,
    )


def _recorder(run: Run, branch: TargetBranch, options: Options) -> Recorder | None:
    if not options.record:
        return None
    from ralph.steps.recorder import Recorder  # its models take their time, and few runs are recorded
    from ralph.testing.recording import RecordingHead

    head = RecordingHead(
        ralph=__version__,
        run=run.id,
        target=run.plan.target,
        workflow=run.workflow.name,
        commit=branch.expected,
        began=now(),
    )
    return Recorder(folder=options.record.absolute(), head=head, project=run.workspace.root, secrets=run.secrets)


def _note(run: Run, opened: OpenCheckout, orphans: int) -> None:
    if orphans:
        run.emit(
            Noted(text=f"An earlier run was killed. Ralph ended the processes that it had left running ({orphans}).")
        )
    if not opened.branch.repo.has_ident:
        run.emit(Noted(text="git has no user.name and user.email here, so Ralph commits as Ralph <ralph@localhost>."))
    if run.config.verify.where == IN_PLACE:
        text = "verify.where is slot: gates run in place, where the agent worked, not on a clean checkout."
        run.emit(Noted(text=text, warning=True))
    _note_gates(run)


def _note_gates(run: Run) -> None:
    gates = run.workflow.gates(None)
    if not gates:
        run.emit(Noted(text="No gates are configured: nothing will be verified.", warning=True))
    elif not any(gate.required for gate in gates):
        run.emit(Noted(text="No gate is required: nothing will be verified.", warning=True))
    for gate in gates if run.plan.tasks else ():
        for name in gate.unknown_tasks(run.plan):
            text = f"The gate {gate.name} is about {name}, but the plan has no such task."
            run.emit(Noted(text=text, warning=True))
    if run.config.unused_gates:
        names = ", ".join(f"`{command}`" for command in run.config.unused_gates)
        run.emit(Noted(text=f"`gates` is set, so Ralph does not run verify.default: {names}.", warning=True))


async def _forget_stale_verification(run: Run, branch: TargetBranch, *, unclean: bool) -> None:
    """Discard the final verification if the code has changed since, or if the last run was killed."""
    commit = run.plan.review.verified_commit
    if not commit:
        return
    changed = None if unclean else await changed_since(branch.repo, commit, await branch.tip())
    if changed is None or any(path not in run.own for path in changed):
        run.save(reopen_review(run.plan))


async def _follower(run: Run, branch: TargetBranch) -> str:
    """Return the person's current branch if it follows Ralph's branch, else ""."""
    return await branch.repo.current() if run.config.commits.branch == CURRENT_BRANCH else ""


async def _fast_forward(run: Run, branch: TargetBranch) -> None:
    """With `commits.branch: "current"`, fast-forward the person's own branch if git can do so without loss."""
    if run.config.commits.branch != CURRENT_BRANCH:
        return
    text = await fast_forward(branch.repo, branch.name)
    if text:
        run.emit(Noted(text=text, warning=True))


def _noting(journal: Journal) -> Callable[[str], None]:
    return lambda text: journal.emit(Noted(text=text))
