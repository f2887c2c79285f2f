"""After a run that did not end by itself, nobody's word counts: what is said to have passed since is proved again."""

from __future__ import annotations

from dataclasses import replace

from ralph.journal.events import Noted
from ralph.loop.attempt import cancellable
from ralph.loop.pending import take_back
from ralph.loop.run import Run
from ralph.loop.settle import open_spec_of, reopen_review
from ralph.plan.model import Plan, Task, TaskState
from ralph.verify.gates import explain


async def prove_again(run: Run, since: str) -> None:
    """Run the gates on the branch as it is; if they are red, what passed after `since` is to be done again."""
    suspects = [task for task in run.plan if _passed_after(task, since)]
    if not suspects or not run.branch:
        return
    run.save(reopen_review(run.plan))
    gates = run.workflow.gates(None)
    if not gates or run.interrupt.requested:
        return
    names = ", ".join(task.id for task in suspects)
    run.emit(Noted(text=f"The last run was killed. The gates run again on what passed in it: {names}."))
    tip = await run.branch.tip()
    checked = await cancellable(run, run.verifier.check(tip, gates, "proof"))
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


def _passed_after(task: Task, since: str) -> bool:
    return task.state is TaskState.PASSED and task.result is not None and task.result.completed_at >= since


def reopened(plan: Plan, tasks: list[Task], reason: str) -> Plan:
    notes = f"The run was killed after this task was said to have passed, and the gates are red. {reason}"
    for task in tasks:
        plan = plan.change(task.id, lambda one: replace(one, state=TaskState.PENDING, result=None, notes=notes[:6_000]))
        plan = open_spec_of(plan, task.id)
    return plan
