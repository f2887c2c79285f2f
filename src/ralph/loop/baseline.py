"""Before the first attempt the gates run once: what is red already is said, not blamed on an agent."""

from __future__ import annotations

import time

from ralph.journal.events import BaselineEnded, BaselineStarted
from ralph.loop.attempt import cancellable
from ralph.loop.run import Run
from ralph.plan.model import TaskState
from ralph.plan.work import Kind, Work
from ralph.verify import gates


async def check_baseline(run: Run) -> tuple[str, ...]:
    """The commands that are red before anybody did anything; nothing is run that was green on these files."""
    wanted = run.workflow.gates(None)
    if not wanted or not _needed(run) or await _known_green(run):
        return ()
    run.emit(BaselineStarted(gates=tuple(gate.command for gate in wanted)))
    began = time.monotonic()
    results = await cancellable(run, gates.run_all(wanted, run.bench(run.home, "baseline")))
    if results is None:
        return ()
    if run.place:
        run.place.seen = False  # what gates leave behind is not an agent's
    red = tuple(result.command for result in gates.red(results))
    run.emit(BaselineEnded(red=red, seconds=time.monotonic() - began))
    return red


def _needed(run: Run) -> bool:
    """Only before a task's very first attempt: later ones know what the last attempt came to."""
    pending = [task for task in run.plan if task.state is TaskState.PENDING]
    following = run.workflow.next(run.plan)
    is_new = isinstance(following, Work) and following.kind is Kind.SETUP  # nothing is there yet that could be green
    return bool(pending) and not is_new and not any(task.failures for task in pending)


async def _known_green(run: Run) -> bool:
    """Whether the last task to pass left just these files, and these gates were green on them."""
    results = [task.result for task in run.plan if task.result and task.result.gates]
    if not results or not run.place:
        return False
    last = max(results, key=lambda result: result.completed_at)
    commands = {gate.command for gate in last.gates if gate.passed}
    if any(gate.command not in commands for gate in run.workflow.gates(None)):
        return False
    if (await run.place.repo.ask("cat-file", "-e", f"{last.commit}^{{commit}}")).code:
        return False
    return not await run.place.changed_beside_own(last.commit)
