"""The hold step: what passed is kept without a commit, until all that belongs together has passed."""

from __future__ import annotations

from dataclasses import replace

from ralph.git.look import attempt_ref
from ralph.loop.record import StepResult
from ralph.loop.steps.base import Context, Step


class HoldStep(Step):
    repeatable = True
    offered = False

    async def run(self, context: Context) -> StepResult:
        place, record = context.place, context.record
        assert place is not None, "work that is held back has a place"
        ref = attempt_ref(record.target, record.work, record.number)
        message = f"{record.work}, attempt {record.number}: passed"
        commit = await place.hold(ref, message, record.target, record.work)
        gates = tuple(gate for result in record.steps for gate in result.gates)
        context.run.green[await place.repo.tree_of(commit)] = gates
        return replace(self.passed(), commit=commit, summary=context.work.title)
