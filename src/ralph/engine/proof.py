"""Verifies again, after a killed run, the tasks that are recorded as passed since that run began."""

from __future__ import annotations

from dataclasses import replace

from ralph.checkout.branch import TargetBranch
from ralph.checkout.commit_message import TRAILER
from ralph.engine.pending import take_back
from ralph.engine.run import Run
from ralph.engine.settle import open_spec_of, reopen_review
from ralph.journal.events import Noted
from ralph.plan.model import Plan, Task, TaskState
from ralph.verify.gates import explain


async def prove_again(run: Run, since: str) -> None:
    """Run the gates on the branch tip; if they are red, reopen the tasks that passed after `since`."""
    if not run.branch:
        return
    landed = await _landed(run, run.branch)
    suspects = [task for task in run.plan if _passed_after(task, since) or _never_landed(task, landed)]
    if not suspects:
        return
    run.save(reopen_review(run.plan))
    gates = run.workflow.gates(None)
    if not gates or run.interrupt.requested:
        return
    names = ", ".join(task.id for task in suspects)
    run.emit(Noted(text=f"The last run was killed. The gates run again on what passed in it: {names}."))
    tip = await run.branch.tip()
    checked = await run.interrupt.interruptible(run.verifier.check(tip, gates, "proof"))
    if checked is None:
        return
    if not checked.reason:
        run.verified[await run.branch.repo.tree_of(tip)] = checked.results
    else:
        run.emit(Noted(text=f"They fail, so {names} did not pass.", warning=True))
        run.save(reopened(run.plan, suspects, explain(checked.results)))
        await take_back(run)
        await run.branch.watch()
    run.secure()


async def _landed(run: Run, branch: TargetBranch) -> set[str] | None:
    """Return the tasks whose commits are on the branch; None if this branch has no commit for each task."""
    if branch.defers:
        return None
    prefix = f"{TRAILER}: {run.plan.target}/"
    out = await branch.repo.git("log", "--fixed-strings", f"--grep={prefix}", "--format=%B", await branch.tip())
    lines = (line.removeprefix(prefix) for line in out.splitlines() if line.startswith(prefix))
    return {line.partition("/")[0] for line in lines}


def _never_landed(task: Task, landed: set[str] | None) -> bool:
    """Return whether a task is recorded as passed by gates but has no commit: an agent may have written that."""
    by_gates = task.state is TaskState.PASSED and task.result is not None and bool(task.result.gates)
    return by_gates and landed is not None and task.id not in landed


def _passed_after(task: Task, since: str) -> bool:
    return task.state is TaskState.PASSED and task.result is not None and task.result.completed_at >= since


def reopened(plan: Plan, tasks: list[Task], reason: str) -> Plan:
    notes = f"The run was killed after this task was said to have passed, and the gates are red. {reason}"
    for task in tasks:
        plan = plan.change(task.id, lambda one: replace(one, state=TaskState.PENDING, result=None, notes=notes[:6_000]))
        plan = open_spec_of(plan, task.id)
    return plan
