"""The loop: starts attempts in the free slots, settles their outcomes, and repeats."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from ralph.config import Allowance
from ralph.engine.artifacts import take_artifacts
from ralph.engine.attempt import run_attempt, tell_begin, tell_end
from ralph.engine.holding import held
from ralph.engine.host import LocalHost
from ralph.engine.interrupt import Interrupt
from ralph.engine.landing import MAX_TRIES, arrive, can_land, land, landing_of, take_turn
from ralph.engine.race import Race, Racer, result
from ralph.engine.run import Run
from ralph.engine.settle import UNSUCCESSFUL, is_settled, settle
from ralph.engine.train import Car
from ralph.engine.verdict import conclude
from ralph.engine.worktree_pool import StartState, WorktreePool
from ralph.errors import RalphError
from ralph.git.read import attempt_ref
from ralph.journal.events import SpecClosed, TaskBlocked
from ralph.journal.writer import now
from ralph.plan.attempt import Attempt, Record
from ralph.plan.model import Plan, Task, TaskState
from ralph.plan.work import Ending, Finished, Outcome, Verdict, Work, WorkKind, progress_of, without_agent
from ralph.steps.agent_failures import CANNOT_RUN
from ralph.steps.registry import step_type

NO_LIMIT = Allowance()


async def work_through(run: Run, slots: WorktreePool, *, once: bool = False, abrupt: bool = False) -> Finished:
    """Run attempts until nothing is left to do, or until a person or a limit stops the run.

    `abrupt`: when the plan halts, cancel the running attempts; otherwise they run to their end.
    """
    try:
        async with asyncio.TaskGroup() as group:
            crew = _RunningAttempts(run, slots, max_running=1 if once else run.jobs)
            return await _work(crew, group, once=once, abrupt=abrupt)
    except BaseExceptionGroup as several:
        raise first_of(several) from None


def first_of(error: BaseException) -> BaseException:
    """Return the first exception; it caused the others to be cancelled."""
    return first_of(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def _work(crew: _RunningAttempts, group: asyncio.TaskGroup, *, once: bool, abrupt: bool) -> Finished:
    end: Finished | None = None
    while True:
        following = end or crew.begin_all(group)
        if not crew.running and following:
            return following
        outcome = await crew.next_ended()
        if outcome:
            end = end or crew.halt(abrupt) or crew.over_budget() or stop(outcome, once) or crew.broken(outcome)


@dataclass
class _RunningAttempts:
    """The work that is running: one attempt at each piece, or a race."""

    run: Run
    slots: WorktreePool
    max_running: int
    unable: dict[str, set[str]] = field(default_factory=dict)  # gates that could not run, and the tasks they failed
    running: dict[asyncio.Task[Outcome], str] = field(default_factory=dict)  # by work

    def begin_all(self, group: asyncio.TaskGroup) -> Finished | None:
        """Start all work that can start; return how the run ends if nothing is left."""
        while True:
            too_dear = self.too_dear()
            steering = self.run.steering
            excluded = frozenset((*self.running.values(), *too_dear, *steering.kept))
            following = self.run.workflow.next(self.run.plan, excluded)
            if self.run.interrupt.requested:
                return Finished(ending=Ending.INTERRUPTED)
            if isinstance(following, Finished):
                return following
            if over := self.over_budget():
                return over
            if steering.stopped:
                return Finished(ending=Ending.INTERRUPTED, reason=steering.stopped)
            if steering.is_paused or steering.kept.intersection((following.id,) if isinstance(following, Work) else ()):
                return None
            if not isinstance(following, Work):
                return self._only(too_dear)
            if self.running and (following.alone or not self.has_place()):
                return None
            attempts = self._attempts(following, steering.begin(following))
            self.running[group.create_task(attempts)] = following.id
            if following.alone:
                return None

    def has_place(self) -> bool:
        """Return whether more work can begin beside what is running, and none that the budget may not allow."""
        running = len(self.running)
        return running < self.max_running and self.run.spending.has_room_beside(running)

    def halt(self, abrupt: bool) -> Finished | None:
        """Return why no more work starts, if the plan has halted."""
        following = self.run.workflow.next(self.run.plan) if self.run.plan.failure else None
        if not isinstance(following, Finished):
            return None
        if abrupt:
            self.run.interrupt.halt()
        return following

    def over_budget(self) -> Finished | None:
        """Return why no more work starts, if the budget of the run or the plan is used up."""
        reason = self.run.spending.used_up()
        return Finished(ending=Ending.BUDGET, reason=reason) if reason else None

    def too_dear(self) -> dict[str, str]:
        """Return the open tasks that have used up their own budget, with the reasons."""
        spending, tasks = self.run.spending, self.run.plan
        if spending.budget.task == NO_LIMIT:
            return {}
        open_tasks = (task.id for task in tasks if task.state is TaskState.PENDING)
        return {name: reason for name in open_tasks if (reason := spending.used_up_by(name))}

    def _only(self, too_dear: dict[str, str]) -> Finished | None:
        """Return why the run ends, if only tasks are left that have used up their budget."""
        if self.running or not too_dear or self.run.steering.kept:
            return None
        return Finished(ending=Ending.BUDGET, reason=next(iter(too_dear.values())))

    def broken(self, outcome: Outcome) -> Finished | None:
        """Return why the run must stop: a gate that cannot run at all failed two different tasks."""
        for gate in outcome.gates:
            if gate.required and gate.code in CANNOT_RUN:
                tasks = self.unable.setdefault(gate.command, set())
                tasks.add(outcome.work_id)
                if len(tasks) > 1 and not self.run.keep_going:
                    names = " and ".join(sorted(tasks))
                    why = f"The gate `{gate.command}` cannot run for {names} ({gate.reason})."
                    hint = "This is not an agent's mistake. Use --keep-going to continue anyway."
                    return Finished(ending=Ending.BLOCKED, reason=f"{why} {hint}")
        return None

    async def next_ended(self) -> Outcome | None:
        """Wait for the next work that ends; return None if a person has asked for something first."""
        steering, interrupt = self.run.steering, self.run.interrupt
        asked = asyncio.create_task(steering.asked())
        try:
            with nullcontext() if self.running else interrupt.scope(asked):
                done, _ = await asyncio.wait((*self.running, asked), return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        task = next((task for task in self.running if task in done), None)
        if task is None:
            return None
        steering.end(self.running.pop(task))
        return task.result()

    async def _attempts(self, work: Work, interrupt: Interrupt) -> Outcome:
        """Attempt some work once, or let several agents race for it from the same start."""
        work = without_agent(self.run.plan, work)
        self.run.marks.begin(work)
        start = await self.slots.start_of(work)
        await mark_begun(self.run, work, start.note)  # first, because the agent sees the plan
        race = Race.begin(self.run, work, interrupt)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._in_slot(racer, start, work)) for racer in race.racers]
        self.run.marks.end(work)
        return result([task.result() for task in tasks])

    async def _in_slot(self, racer: Racer, start: StartState, work: Work) -> Outcome:
        number = self.slots.take()
        try:
            host = replace(await self.slots.prepare(number, start, work), racer=racer)
            outcome = await attempt(self.run, host, work, write_down(self.run, host, work, start.tip))
            racer.race.end(racer, outcome)
            return outcome
        finally:
            self.slots.give_back(number)


async def mark_begun(run: Run, work: Work, note: str) -> None:
    """Record in the plan that work has begun, and add a note for the next agent to its task."""
    async with run.ahead:  # a crash copy of a plan that is ahead of the branch would lose the work that lands now
        plan = replace(run.plan, started_at=run.plan.started_at or now())
        if work.kind is WorkKind.TASK and run.jobs == 1:
            plan = replace(plan, current=work.id)
        if note:
            plan = plan.change(work.id, lambda task: replace(task, notes=f"{task.notes}\n\n{note}".strip()))
            plan = plan.change_spec(work.id, lambda spec: replace(spec, notes=f"{spec.notes}\n\n{note}".strip()))
        run.save(plan)
        run.secure()


def write_down(run: Run, host: LocalHost, work: Work, base: str) -> Record:
    """Record that an attempt is running; from now on, the files in its slot belong to it."""
    racer = host.racer
    assert racer, "the loop has given it a number"
    record = Record(
        run=run.id,
        target=run.plan.target,
        kind=work.kind,
        work=work.id,
        number=racer.number,
        agent=racer.agent,
        rivals=racer.rivals,
        base=base,
        slot=host.slot,
        branch=run.branch.name if run.branch else "",
        began=run.clock(),
        agent_at_work=step_type(work.steps[0].type).runs_agent,
        read_only=step_type(work.steps[0].type).read_only,
    )
    run.note(record)
    return record


def attempt_of(run: Run, work: Work, record: Record) -> Attempt:
    """Build the attempt: all the data that its steps need."""
    workflow, task = run.workflow, run.plan.find(work.id)
    about = task if work.kind is WorkKind.TASK else None
    return Attempt(
        run=run.id,
        target=record.target,
        number=record.number,
        base=record.base,
        work=work,
        task=about,
        gates=run.gates(about),
        ui_gates=run.ui_gates(about),
        is_ui=workflow.is_ui(run.plan, about),
        protect=run.config.protect,
        model=run.model,
        agent=record.agent,
        commit_message=workflow.commit_message(run.plan, work),
        blocking=workflow.policy.blocking,
        max_rounds=workflow.policy.max_rounds,
    )


async def attempt(run: Run, host: LocalHost, work: Work, record: Record, *, resumed: bool = False) -> Outcome:
    """Run an attempt, or the rest of one, and settle it."""
    known = progress_of(run.plan, work.kind, work.id)
    failures = known.failures if known else 0
    policy = run.workflow.policy
    max_failures = policy.max_setup_failures if work.kind is WorkKind.SETUP else policy.max_failures
    race = host.racer.race.agents if host.racer else ()
    tell_begin(run, work, record, failures=failures, max_failures=max_failures, resumed=resumed, race=race)
    began = run.elapsed()
    landed_as = await landing_of(run, work, record) if resumed else ""
    place = _place(run.plan, work)
    car = Car(name=work.id, number=record.number, rank=place, base=record.base, landed_as=landed_as)
    with run.train(work.line).riding(car):
        host = replace(host, car=car)
        record = await run_attempt(attempt_of(run, work, record), host, record)
        outcome = conclude(run.plan, work, record, now(), run.elapsed() - began)
        outcome = outcome if car.landed_as else held(run, work, outcome)
        is_wanted = not superseded(run, host, work, record, outcome)
        if outcome.verdict is Verdict.INTERRUPTED and record.has_work and is_wanted:
            return outcome  # its agent had finished: the next run resumes from the record
        return await close(run, host, work, record, outcome)


def _place(plan: Plan, work: Work) -> int:
    """Return the place of some work among the plan's tasks."""
    return next((place for place, task in enumerate(plan) if task.id == work.id), 0)


async def close(run: Run, host: LocalHost | None, work: Work, record: Record, outcome: Outcome) -> Outcome:
    """Land or settle an attempt, then delete its record; return the final outcome.

    A crash between any two of these steps is harmless: the next run starts with the last saved crash copy of the plan.
    """
    race = host.racer.race if host and host.racer else Race()
    async with race.arriving:
        for _ in range(MAX_TRIES):
            arrived = outcome
            if host and can_land(work, outcome) and not superseded(run, host, work, record, outcome):
                arrived = await arrive(run, host, work, record, outcome)
                is_over = superseded(run, host, work, record, arrived)
                if arrived.verdict is Verdict.INTERRUPTED and not is_over:
                    return arrived  # the next run lands it
            async with take_turn(run):
                ended = await _close(run, host, work, record, arrived)
            if ended:
                return ended
    where = run.branch.name if run.branch else "the branch"
    raise RalphError(f"Another process keeps moving {where}.", remedy="Stop that process, then run again.")


async def _close(run: Run, host: LocalHost | None, work: Work, record: Record, outcome: Outcome) -> Outcome | None:
    """Land or settle an attempt during its turn; return None if it must arrive again, because the branch has moved."""
    instead = superseded(run, host, work, record, outcome)
    if instead:
        outcome = instead
    elif host and host.copy:
        take_artifacts(run, host.copy, _artifacts(work, outcome))
    if host and can_land(work, outcome):
        landed = await land(run, host, work, record, outcome)
        if landed is None or landed.verdict is Verdict.INTERRUPTED:
            return landed  # if it was interrupted, the next run lands it
        outcome = landed
    else:
        await _settle(run, work, record, outcome)
    run.secure()
    run.forget(record)
    _tell(run, work, record, outcome)
    return outcome


def superseded(run: Run, host: LocalHost | None, work: Work, record: Record, outcome: Outcome) -> Outcome | None:
    """Return the outcome of an attempt whose work is not wanted any more; None if it is."""
    winner = winner_of(run, work, record)
    if winner:
        return beaten(outcome, winner)
    why = host.racer.race.ended_by_person if host and host.racer else ""
    if not why or outcome.by_person:
        return outcome if why else None
    return replace(outcome, verdict=Verdict.INTERRUPTED, reason=why, need=None, fatal=False, by_person=True)


def winner_of(run: Run, work: Work, record: Record) -> Task | None:
    """Return the task of an attempt if another attempt of its race has passed it; None if it can still land."""
    task = run.plan.find(work.id) if work.kind is WorkKind.TASK else None
    has_passed = task and task.state is TaskState.PASSED and task.result
    return task if has_passed and not is_settled(run.plan, work, record.number) else None


def beaten(outcome: Outcome, task: Task) -> Outcome:
    """Return the outcome of an attempt at a task that has passed: unless it failed, Ralph ended it."""
    if outcome.verdict in UNSUCCESSFUL:
        return outcome
    who = task.result.agent if task.result and task.result.agent else "another agent"
    return replace(outcome, verdict=Verdict.INTERRUPTED, reason=f"The work of {who} landed first.", fatal=False)


def _artifacts(work: Work, outcome: Outcome) -> tuple[str, ...]:
    return () if outcome.verdict in (Verdict.INTERRUPTED, Verdict.LIMITED) else work.writable


async def _settle(run: Run, work: Work, record: Record, outcome: Outcome) -> None:
    """Settle work that did not land; commit the plan at once if a task was blocked or reopened."""
    if run.branch and outcome.commit:
        await run.branch.repo.keep(attempt_ref(record.target, work.id, record.number), outcome.commit)
    before = {task.id for task in run.plan if task.state is TaskState.BLOCKED}
    run.save(settle(run.plan, work, outcome, run.workflow.policy))
    blocked = {task.id for task in run.plan if task.state is TaskState.BLOCKED}
    if blocked != before or outcome.reopened:
        await run.commit_state()


def _tell(run: Run, work: Work, record: Record, outcome: Outcome) -> None:
    ref = attempt_ref(record.target, work.id, record.number) if work.kind is not WorkKind.FINISH else ""
    tell_end(run, work, record, outcome, ref=ref)
    _tell_closed(run, work)
    for task_id in (work.id, *outcome.reopened):
        task = run.plan.find(task_id)
        if task and task.state is TaskState.BLOCKED:
            ref = attempt_ref(record.target, task.id, task.attempts)
            need, gate = (task.need.kind.value, task.need.gate) if task.need else ("", "")
            run.emit(TaskBlocked(work=task.id, attempt=task.attempts, reason=task.notes, ref=ref, need=need, gate=gate))


def _tell_closed(run: Run, work: Work) -> None:
    spec = run.plan.find_spec(work.id) if work.kind is WorkKind.FINISH else None
    if spec and spec.state is not TaskState.PENDING:
        tasks = run.plan.of_spec(spec.id)
        run.emit(
            SpecClosed(
                work=spec.id,
                attempt=spec.attempts,
                title=spec.name,
                state=spec.state,
                tasks=len(tasks),
                passed=sum(task.state is TaskState.PASSED for task in tasks),
                commit=spec.result.commit if spec.result else "",
            )
        )


def stop(outcome: Outcome, once: bool) -> Finished | None:
    if outcome.by_person:
        return None
    if outcome.fatal:
        return Finished(ending=Ending.STOPPED, reason=outcome.reason)
    if outcome.verdict is Verdict.INTERRUPTED:
        return Finished(ending=Ending.INTERRUPTED)
    if outcome.verdict is Verdict.LIMITED:
        return Finished(ending=Ending.LIMITED, reason=outcome.reason)
    return Finished(ending=Ending.ONCE, reason=outcome.verdict.value) if once else None
