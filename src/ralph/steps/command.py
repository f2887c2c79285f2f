"""The command step: runs any shell command in the working copy. It can fail an attempt; only gates can pass one."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from ralph.checkout.leaks import told
from ralph.checkout.working_copy import WorkingCopy
from ralph.plan.attempt import StepResult
from ralph.plan.model import Gate
from ralph.protect.protection import undo_protected
from ralph.steps import base
from ralph.steps.agent_work import protected
from ralph.steps.base import Context, Step
from ralph.values import Duration
from ralph.verify import gates

MAX_SECONDS = 1800.0


class CommandSettings(base.StepSettings):
    command: Annotated[str, Field(min_length=1, pattern=r"\S")] = Field(description="The shell command.")
    timeout: Duration | None = Field(default=None, description="The time limit of the command; null: 30m.")
    marker_file: str | None = Field(
        default=None, description="Run the step only once: Ralph creates this file when it has run."
    )


class CommandStep(Step):
    Settings: ClassVar[type[base.StepSettings]] = CommandSettings

    async def run(self, context: Context) -> StepResult:
        host, settings = context.host, self.settings(CommandSettings)
        assert context.copy, "a command runs where work is done"
        gate = Gate(name=self.spec.label, command=settings.command, timeout=settings.timeout or MAX_SECONDS)
        label = f"{context.label}-{self.spec.label}"
        undone = host.logs / f"{context.label}-undone-by-{self.spec.label}"
        with host.command_run(context.attempt, label) as gate_run:
            async with host.protect(replace(context.work, claimable="")).until_end(undone) as protection:
                results = await gates.run_all((gate,), gate_run)
        reasons = (
            protection.violations.reason("A command"),
            await self._put_back(context, context.copy),
            gates.explain(results),
        )
        reason = "\n\n".join(filter(None, reasons))
        return self.failed(reason) if reason else self.passed()

    async def _put_back(self, context: Context, copy: WorkingCopy) -> str:
        """Undo changes to protected files, because a command's changes land with the work; return what it did."""
        base, globs = protected(context)
        taken = await copy.take(context.base, f"{context.label}: after {self.spec.label}")
        if taken.leaked:
            return f"A command wrote {told(taken.leaked)}."
        found = await undo_protected(copy, base, globs, taken, context.host.logs / f"{context.label}-undone")
        names = ", ".join(found)
        return f"A command broke the rules: it changed protected files ({names}). Ralph undid this." if found else ""
