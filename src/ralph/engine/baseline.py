"""Runs the gates once before the first attempt, so that no agent is blamed for a gate that was already red."""

from __future__ import annotations

import time

from ralph.config import IN_PLACE
from ralph.engine.baseline_difference import check_difference
from ralph.engine.run import Run
from ralph.journal.events import BaselineEnded, BaselineStarted
from ralph.plan.model import TaskState
from ralph.plan.work import Work, WorkKind
from ralph.verify import gate_list
from ralph.verify.environment_failures import environment_failure


async def check_baseline(run: Run) -> tuple[str, ...]:
    """Return the gate commands that are red before any attempt; skip the run if they are known to be green."""
    wanted = run.gates(None)
    if not wanted or not _needed(run) or await _known_green(run):
        return ()
    assert run.branch, "what is verified is on a branch"
    run.emit(BaselineStarted(gates=tuple(gate.command for gate in wanted)))
    began = time.monotonic()
    following = run.workflow.next(run.plan)
    tip = await run.branch.tip(following.line if isinstance(following, Work) else "")
    checked = await run.interrupt.interruptible(run.verifier.check(tip, wanted, "baseline"))
    if checked is None:
        return ()
    run.before[await run.branch.repo.tree_of(tip)] = checked.results
    run.red_before.learn(checked.results)
    bad = gate_list.red(checked.results)
    red = tuple(result.command for result in bad)
    run.emit(BaselineEnded(red=red, seconds=time.monotonic() - began))
    # in place, an agent may create what the gates need
    forgiven = run.keep_going or run.config.verify.where == IN_PLACE
    for gate, result in zip(wanted, checked.results, strict=True) if not forgiven else ():
        if result not in bad or gate.held_out:  # a held-out gate may fail until its task is done
            continue
        await run.interrupt.interruptible(check_difference(run, tip, gate, result))
        error = environment_failure(result)
        if error:
            raise error
    return tuple(result.command for result in bad if not result.held_out)


def _needed(run: Run) -> bool:
    """Return whether a baseline is needed: only before any pending task has failed, and never before the set-up."""
    pending = [task for task in run.plan if task.state is TaskState.PENDING]
    following = run.workflow.next(run.plan)
    is_new = (
        isinstance(following, Work) and following.kind is WorkKind.SETUP
    )  # there is nothing yet that could be green
    return bool(pending) and not is_new and not any(task.failures for task in pending)


async def _known_green(run: Run) -> bool:
    """Return whether these gates were green on exactly these files when the last task passed."""
    results = [task.result for task in run.plan if task.result and task.result.gates and task.result.commit]
    if not results or not run.branch:
        return False
    last = max(results, key=lambda result: result.completed_at)
    commands = {gate.command for gate in last.gates if gate.passed}
    if any(gate.command not in commands for gate in run.gates(None)):
        return False
    repo = run.branch.repo
    if not await repo.exists(last.commit):
        return False
    tip = await run.branch.tip()
    if not all(path in run.own for path in await repo.between(last.commit, tip)):
        return False
    run.before[await repo.tree_of(tip)] = last.gates
    return True
