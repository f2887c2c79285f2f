"""Recovers from a killed run: keeps and resumes its attempts, and proves again what passed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ralph.agent.call import learnings_in
from ralph.checkout.branch import TargetBranch
from ralph.checkout.commit_message import TRAILER
from ralph.engine.loop import attempt, close, first_of, winner_of
from ralph.engine.pending import drop_reopened
from ralph.engine.run import Doubt, Run
from ralph.engine.settle import is_settled, name_commit, open_spec_of, reopen_review
from ralph.engine.verdict import conclude
from ralph.engine.worktree_pool import WorktreePool
from ralph.git.read import attempt_ref
from ralph.journal.events import Learned, Noted
from ralph.journal.writer import now
from ralph.plan.attempt import Record, StepResult
from ralph.plan.model import Gate, Plan, Task, TaskState
from ralph.plan.work import Outcome, Verdict, Work, WorkKind, without_agent
from ralph.protect.protection import undo_protected
from ralph.protect.repository_snapshot import RepositorySnapshot
from ralph.steps.registry import step_type
from ralph.stores import records
from ralph.verify.gates import explain

MAX_NAMED = 5


async def recover(run: Run, slots: WorktreePool) -> Outcome | None:
    """Finish the attempts that were running at the kill, at the same time; return an outcome that is final, if any is.

    The attempts of a race are finished one after the other.
    """
    by_work: dict[str, list[Record]] = {}
    for record in await _in_order(run, records.load(run.workspace.records, run.plan.target)):
        by_work.setdefault(record.work, []).append(record)
    places = asyncio.Semaphore(run.jobs)

    async def finish(attempts: list[Record]) -> list[Outcome | None]:
        async with places:
            return [await _recover(run, slots, record) for record in attempts]

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(finish(attempts)) for attempts in by_work.values()]
    except BaseExceptionGroup as several:
        raise first_of(several) from None
    outcomes = [outcome for task in tasks for outcome in task.result() if outcome]
    final = [outcome for outcome in outcomes if outcome.verdict is not Verdict.INTERRUPTED]
    return next(reversed(final or outcomes), None)


async def _in_order(run: Run, found: list[Record]) -> list[Record]:
    """Return the records of a race in the order that counts: what had landed, finished work, and the rest."""
    known = {(record.work, record.number) for record in found}
    landed = [record for record in found if record.rivals and await _commit_of(run, record)]
    ordered = sorted(
        found, key=lambda record: bool(record.rivals) and 1 + (record not in landed) + (not record.has_work)
    )
    return [
        replace(record, rivals=tuple(number for number in record.rivals if (record.work, number) in known))
        for record in ordered
    ]


async def _commit_of(run: Run, record: Record) -> str:
    """Return the commit with which an attempt landed; "" if it has not."""
    branch, line = run.branch, f"{TRAILER}: {record.target}/{record.work}/{record.number}"
    if not branch or not await branch.repo.exists(record.base):
        return ""
    work = run.workflow.work(run.plan, record.kind, record.work)
    return await branch.repo.has_line(record.base, await branch.tip(work.line if work else ""), line)


async def rescue(run: Run, slots: WorktreePool) -> None:
    """Keep the work that killed attempts' agents had made, before their slots are used again."""
    for name in records.discard_forged(run.workspace.records, run.plan.target):
        run.warn(f"The record {name} is not as Ralph wrote it, so Ralph removed it: that attempt begins anew.")
    for record in records.load(run.workspace.records, run.plan.target):
        await _rescue(run, slots, record)


async def _rescue(run: Run, slots: WorktreePool, record: Record) -> None:
    folder = slots.folder(record.slot)
    if not record.agent_at_work or record.read_only or not record.slot or not folder.is_dir() or not run.branch:
        return
    copy = run.working_copy(folder)
    if not copy.index.exists():
        return
    message = f"{record.work}, attempt {record.number}: interrupted"
    taken = await copy.take(record.base, message)
    guarded = (glob for name in run.workflow.guarded for glob in (name, f"{name}/**"))
    undone = run.logs / f"{record.work}-{record.number}-undone"
    if await undo_protected(copy, record.base, (*run.config.protect, *guarded), taken, undone):
        taken = await copy.take(record.base, message)
    await run.branch.repo.keep(attempt_ref(record.target, record.work, record.number), taken.commit)
    run.note(replace(record, agent_at_work=False))


def check_repository(run: Run, before: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of git's configuration, hooks and the like; warn of what has changed since a killed run began.

    An agent may have changed it after the kill, and what is there runs as the person. Ralph cannot tell who did.
    """
    if not run.branch:
        return {}
    found = RepositorySnapshot.of(run.branch.repo.git_dir, run.workspace.worktrees).git_dirs
    now_there = {
        str(Path(key, name)): hashlib.sha256(f"{file.kind} {file.permissions} ".encode() + file.data).hexdigest()
        for key, files in found.items()
        for name, file in files.items()
    }
    changed = sorted({path for path, _ in before.items() ^ now_there.items()}) if before else []
    if changed:
        more = f" and {len(changed) - MAX_NAMED} more" if changed[MAX_NAMED:] else ""
        names = ", ".join(f".git/{path}" for path in changed[:MAX_NAMED])
        text = f"Since the killed run began, {names}{more} changed. If you did not do that, an agent may have"
        run.warn(f"{text}: look at it before you use git here.")
    return now_there


async def _name(run: Run, branch: TargetBranch, work: Work, record: Record) -> None:
    """Record the commit of work that landed before the kill, if the plan does not name it yet."""
    line = f"{TRAILER}: {record.target}/{work.id}/{record.number}"
    known = await branch.repo.exists(record.base)
    commit = await branch.repo.has_line(record.base, await branch.tip(), line) if known else ""
    if commit:
        run.save(name_commit(run.plan, work, commit))


async def _recover(run: Run, slots: WorktreePool, record: Record) -> Outcome | None:
    work = run.workflow.work(run.plan, record.kind, record.work)
    work = without_agent(run.plan, work) if work else None
    if work is None or is_settled(run.plan, work, record.number):
        if work and run.branch and not work.line:
            await _name(run, run.branch, work, record)
        run.forget(record)
        return None
    record = _without_judgements(work, record)
    kept = next((result.commit for result in reversed(record.steps) if result.commit), "")
    is_gone = bool(kept and run.branch and not await run.branch.repo.exists(kept))
    winner = winner_of(run, work, record)
    if record.has_work and run.branch and not is_gone and not winner:
        run.emit(Noted(text=f"{record.work} resumes where it stopped: its agent had finished."))
        return await _resume(run, slots, work, record, kept)
    if is_gone:  # no ref names it before it is settled, so `git gc` may have removed it
        record = replace(record, steps=())
    what = "Git has removed the commit with its work" if is_gone else "Its work is kept"
    run.emit(Noted(text=f"{record.work}, attempt {record.number} was interrupted. {what}."))
    learned = _learned(run, work, record)
    for text in learned:
        run.emit(Learned(work=work.id, attempt=record.number, text=text))
    cut = StepResult(step="agent", verdict=Verdict.INTERRUPTED, reason="The run was killed.", learnings=learned)
    record = replace(record, steps=(*record.steps, cut))
    outcome = conclude(run.plan, work, record, now())
    await close(run, None, work, record, outcome)
    return outcome


def _learned(run: Run, work: Work, record: Record) -> tuple[str, ...]:
    """Return the learnings that the agent had printed before the kill, read from its log."""
    folder = run.workspace.logs / Path(record.run).name
    logs = sorted(folder.glob(f"{record.work}-{record.number}.*.log"), key=lambda path: path.stat().st_mtime)
    provider = run.config.executor(record.agent).provider if record.agent else run.config.provider_for(work.role)
    return learnings_in(provider, logs[-1].with_suffix(".prompt.md"), logs[-1]) if logs else ()


def _without_judgements(work: Work, record: Record) -> Record:
    """Drop the results of gates and reviewers: after a kill, any process may have written them."""
    made = {spec.label for spec in work.steps if step_type(spec.type).runs_agent and not step_type(spec.type).read_only}
    return replace(record, steps=tuple(result for result in record.steps if result.step in made))


async def _resume(run: Run, slots: WorktreePool, work: Work, record: Record, commit: str) -> Outcome:
    """Run the rest of an attempt in any free slot."""
    number = slots.take()
    try:
        host = await slots.at(number, record.base, commit, work)
        return await attempt(run, host, work, replace(record, slot=number), resumed=True)
    finally:
        slots.give_back(number)


async def prove_again(run: Run, doubt: Doubt) -> None:
    """Run the gates again on what Ralph cannot know to have passed; if they are red, reopen those tasks."""
    if not run.branch or not (doubt.tasks or doubt.is_unclean):
        return
    landed = await _landed(run, run.branch)
    suspects = [task for task in run.plan if task.id in doubt.tasks or _never_landed(task, landed)]
    if not suspects:
        return
    if doubt.is_unclean:
        run.save(reopen_review(run.plan))
    gates = run.gates(None)
    if not gates or run.interrupt.requested:
        return
    names = ", ".join(task.id for task in suspects)
    why = (
        "The last run was killed. Ralph runs the gates again for the tasks that passed in it"
        if doubt.is_unclean
        else "The plan says that these tasks passed, but not in a run here, so Ralph runs the gates for them"
    )
    run.emit(Noted(text=f"{why}: {names}."))
    where: dict[str, list[Task]] = {}
    for task in suspects:
        work = run.workflow.work(run.plan, WorkKind.TASK, task.id)
        where.setdefault(await run.branch.tip(work.line if work else ""), []).append(task)
    for tip, tasks in where.items():
        await _prove(run, run.branch, tip, tasks, gates)
    run.secure()


async def _prove(run: Run, branch: TargetBranch, tip: str, tasks: list[Task], gates: tuple[Gate, ...]) -> None:
    checked = await run.interrupt.interruptible(run.verifier.check(tip, gates, "proof"))
    if checked is None:
        return
    run.unproven.difference_update(task.id for task in tasks)
    if not checked.reason:
        run.verified[await branch.repo.tree_of(tip)] = checked.results
        return
    names = ", ".join(task.id for task in tasks)
    run.emit(Noted(text=f"The gates fail, so Ralph reopened {names}.", warning=True))
    run.save(reopen_review(reopened(run.plan, tasks, explain(checked.results))))
    await drop_reopened(run)
    await branch.watch()


async def _landed(run: Run, branch: TargetBranch) -> set[str] | None:
    """Return the tasks whose commits are on the branch; None if this branch has no commit for each task."""
    if branch.defers_commit:
        return None
    prefix = f"{TRAILER}: {run.plan.target}/"
    out = await branch.repo.git("log", "--fixed-strings", f"--grep={prefix}", "--format=%B", await branch.tip())
    lines = (line.removeprefix(prefix) for line in out.splitlines() if line.startswith(prefix))
    return {line.partition("/")[0] for line in lines}


def _never_landed(task: Task, landed: set[str] | None) -> bool:
    """Return whether a task is recorded as passed by gates but has no commit: an agent may have written that."""
    by_gates = task.state is TaskState.PASSED and task.result is not None and bool(task.result.gates)
    return by_gates and landed is not None and task.id not in landed


def reopened(plan: Plan, tasks: list[Task], reason: str) -> Plan:
    notes = f"This task was recorded as passed, but Ralph could not know that it had, and the gates fail. {reason}"
    for task in tasks:
        plan = plan.change(task.id, lambda one: replace(one, state=TaskState.PENDING, result=None, notes=notes[:6_000]))
        plan = open_spec_of(plan, task.id)
    return plan
