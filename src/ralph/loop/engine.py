"""Everything around the loop: lock, journal, place, shield, services, recovery, and the end of it all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ralph import __version__
from ralph.agent import call
from ralph.config import Config
from ralph.errors import RalphError
from ralph.git import look, shield
from ralph.journal.events import Noted, RunEnded, RunStarted, ServiceStarted
from ralph.journal.metrics import Metrics
from ralph.journal.writer import Journal, Listener, new_run_id, now
from ralph.loop import trusted
from ralph.loop.baseline import check_baseline
from ralph.loop.checkout import Wanted, open_place
from ralph.loop.home import let_go
from ralph.loop.loop import work_through
from ralph.loop.place import Place
from ralph.loop.recover import end_orphans, recover
from ralph.loop.run import Interrupt, Run
from ralph.loop.settle import reopen_review, resume
from ralph.loop.side_by_side import work_side_by_side
from ralph.loop.site import Site
from ralph.loop.slots import Slots
from ralph.loop.workflow import Workflow
from ralph.plan.model import TaskState
from ralph.plan.work import Ending, Finished, Verdict
from ralph.process import environment, tree
from ralph.stores import atomic, lock
from ralph.verify.browser import Browser
from ralph.verify.services import Services
from ralph.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a person asked for on the command line."""

    once: bool = False
    jobs: int = 0  # how many tasks at a time, each in a worktree of its own; 0: one by one, in one checkout
    abrupt: bool = False  # when the plan halts, what is under way beside it is ended
    baseline: bool = True
    model: str = ""
    config: str = ""  # the name of the step configuration, where the workflow has one

    def with_jobs(self, jobs: int) -> Options:
        return replace(self, jobs=jobs)

    def with_config(self, name: str) -> Options:
        return replace(self, config=name)


async def engage(
    workspace: Workspace,
    config: Config,
    wanted: Wanted,
    make: Callable[[Path], Workflow],
    options: Options,
    *listeners: Listener,
) -> RunEnded:
    """One whole run of a workflow, from the lock to the last event."""
    run_id, interrupt = new_run_id(), Interrupt()
    tree.adopt_orphans()
    workspace.keep_out_of_git()
    owner = lock.me(run_id, wanted.target)
    secrets = environment.Redactor(environment.secrets_in(_environment(config)))
    with (
        interrupt.on_signals(),
        lock.hold(workspace.lock, owner) as left_by,
        Journal(workspace.logs / run_id, secrets.text) as journal,
    ):
        for listener in listeners:
            journal.listen(listener)
        ended = await end_orphans(left_by, workspace.records)
        for name in workspace.own_files:
            atomic.sweep(workspace.root / name)
        place = await open_place(workspace, wanted)
        place.repo.owner = run_id
        workflow = make(place.root)
        plan = workflow.store.load()
        place.foreign -= {place.in_repo(path) for path in workflow.state_paths}
        with shield.raised(place.repo.common_dir, sorted(place.foreign)):
            async with (
                _services(config, place.root, journal, run_id) as services,
                Browser(config.browser, run_id, _noting(journal)) as browser,
            ):
                run = Run(
                    id=run_id,
                    workspace=workspace,
                    config=config,
                    workflow=workflow,
                    plan=plan,
                    journal=journal,
                    owner=owner,
                    home=Site(
                        folder=workspace.root,
                        services=services,
                        place=place,
                        variables={**place.repo.identity, **services.variables},
                    ),
                    browser=browser if config.browser.enabled else None,
                    lands=wanted.lands,
                    interrupt=interrupt,
                    numbers=_numbers(place.repo.top, wanted.target),
                    model=options.model,
                )
                try:
                    return await _drive(run, place, options, ended)
                finally:
                    trusted.forget(workspace, wanted.target)
                    if wanted.lands:
                        await let_go(place.repo, place.branch)


async def _drive(run: Run, place: Place, options: Options, orphans: int) -> RunEnded:
    began = time.monotonic()
    metrics = Metrics()
    run.journal.listen(metrics)
    run.check_browser()
    await _forget_stale_verification(run, place)
    if run.workflow.policy.halts:
        await run.save(resume(run.plan), commit=False)
    if run.lands:  # else the first task's beginning says so
        await run.save(replace(run.plan, started_at=run.plan.started_at or now()), commit=False)
    run.interrupt.last_words = lambda: run.emit(_ended(run, metrics, Finished(ending=Ending.INTERRUPTED), began))
    run.emit(_started(run, place, options))
    _note(run, place, orphans)
    try:
        if not place.held:  # else it waits for the work it tells of
            await run.commit_state()
        if run.lands:  # from now on nobody else moves it
            place.tip = await place.repo.head()
        end = await _work(run, options)
    except Exception as error:  # whatever it was, the journal and the reports say that it ended
        why = error.what if isinstance(error, RalphError) else str(error)
        run.emit(_ended(run, metrics, Finished(ending=Ending.STOPPED, reason=why), began))
        raise
    ended = _ended(run, metrics, end, began)
    run.emit(ended)
    return ended


def _ended(run: Run, metrics: Metrics, end: Finished, began: float) -> RunEnded:
    plan, gates = run.plan, run.workflow.gates(None)
    return RunEnded(
        run=run.id,
        target=plan.target,
        workflow=run.workflow.name,
        ending=end.ending,
        reason=end.reason,
        seconds=time.monotonic() - began,
        tasks=len(plan.tasks),
        passed=plan.count(TaskState.PASSED),
        blocked=plan.count(TaskState.BLOCKED),
        attempts=metrics.attempts,
        verified=bool(plan.review.verified_at),
        gates=sum(gate.required for gate in gates),
        optional=sum(not gate.required for gate in gates),
        usage=metrics.usage,
    )


async def _work(run: Run, options: Options) -> Finished:
    async with Slots.opened(run, options.jobs) as slots:
        outcome = await recover(run, slots.of)
        if outcome and outcome.verdict is not Verdict.INTERRUPTED and options.once:
            return Finished(ending=Ending.ONCE, reason=outcome.verdict.value)
        if options.baseline and not run.interrupt.requested:
            run.workflow.already_red = await check_baseline(run)
        if options.jobs:
            return await work_side_by_side(run, slots, once=options.once, abrupt=options.abrupt)
        return await work_through(run, once=options.once)


def _started(run: Run, place: Place, options: Options) -> RunStarted:
    return RunStarted(
        run=run.id,
        target=run.plan.target,
        workflow=run.workflow.name,
        version=__version__,
        tasks=len(run.plan.tasks),
        passed=run.plan.count(TaskState.PASSED),
        blocked=run.plan.count(TaskState.BLOCKED),
        branch=place.branch,
        place=str(place.root),
        agent=Path(run.config.provider.command).name,
        gates=tuple(gate.command for gate in run.workflow.gates(None)),
        model=options.model or run.config.provider_for("executor").model or "",
        jobs=options.jobs or 1,
        config=options.config,
    )


def _note(run: Run, place: Place, orphans: int) -> None:
    if orphans:
        run.emit(Noted(text=f"An earlier run was killed; what it left running was ended (processes: {orphans})."))
    if place.repo.identity:
        run.emit(Noted(text="git has no user.name and user.email here: commits are made as Ralph <ralph@localhost>."))
    if place.brought:
        run.emit(Noted(text=f"Passed work that was not on disk was put back: {', '.join(place.brought[:5])}."))
    if place.collided:
        names = ", ".join(place.collided[:5])
        text = f"Passed work and newer commits both changed {names}: the commits' version stays, and the gates decide."
        run.emit(Noted(text=f"{text} The other one is in `ralph attempts {run.plan.target}`.", warning=True))
    _note_gates(run)


def _note_gates(run: Run) -> None:
    gates = run.workflow.gates(None)
    if not gates:
        run.emit(Noted(text="No gates are configured: nothing will be verified.", warning=True))
    elif not any(gate.required for gate in gates):
        run.emit(Noted(text="None of the gates is required: nothing will be verified.", warning=True))
    if run.config.unused_gates:
        names = ", ".join(f"`{command}`" for command in run.config.unused_gates)
        run.emit(Noted(text=f"`gates` is set, so verify.default is not run: {names}.", warning=True))


async def _forget_stale_verification(run: Run, place: Place) -> None:
    """What was verified once and has changed since is not verified."""
    commit = run.plan.review.verified_commit
    if not commit:
        return
    known = (await place.repo.ask("cat-file", "-e", f"{commit}^{{commit}}")).code == 0
    if not known or await place.changed_beside_own(commit):
        await run.save(reopen_review(run.plan))


def _services(config: Config, cwd: Path, journal: Journal, run_id: str) -> Services:
    return Services(
        services=config.services,
        cwd=cwd,
        logs=journal.folder,
        owner=run_id,
        started=lambda service, seconds: journal.emit(
            ServiceStarted(service=service.name, ready=service.ready, seconds=seconds)
        ),
        noted=_noting(journal),
    )


def _noting(journal: Journal) -> Callable[[str], None]:
    return lambda text: journal.emit(Noted(text=text))


def _numbers(root: Path, target: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for ref in look.attempts(root, target):
        numbers[ref.task] = max(ref.number, numbers.get(ref.task, 0))
    return numbers


def _environment(config: Config) -> dict[str, str]:
    return {**os.environ, **call.environment_for(config.provider)}
