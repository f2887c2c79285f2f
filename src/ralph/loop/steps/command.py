"""The command step: any shell command, where the work is done. It can fail an attempt; only gates pass one."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from ralph.loop.protection import Protection
from ralph.loop.record import StepResult
from ralph.loop.steps import base
from ralph.loop.steps.base import Context, Step
from ralph.plan.work import Kind
from ralph.values import Duration
from ralph.verify import gates
from ralph.verify.gates import Gate

LONGEST = 1800.0


class Settings(base.Settings):
    command: Annotated[str, Field(min_length=1, pattern=r"\S")] = Field(description="The command, as a shell reads it.")
    timeout: Duration | None = Field(default=None, description="How long it may take; null: 30 minutes.")
    marker_file: str | None = Field(default=None, description="Run once: this file says that it has run.")


class CommandStep(Step):
    Settings: ClassVar[type[base.Settings]] = Settings

    async def run(self, context: Context) -> StepResult:
        run, settings = context.run, self.settings(Settings)
        gate = Gate(name=self.spec.label, command=settings.command, timeout=settings.timeout or LONGEST)
        undone = run.logs / f"{context.label}-undone-by-{self.spec.label}"
        async with Protection.around(run, context.site, context.work, context.record.base, undone) as protection:
            results = await gates.run_all((gate,), context.bench(f"{context.label}-{self.spec.label}"))
        if context.place and context.work.kind is Kind.SETUP:
            await context.place.take_new()
        if context.place:
            context.place.seen = False  # what a command leaves behind is not an agent's
        reason = "\n\n".join(filter(None, (protection.wrongs.reason("A command"), gates.explain(results))))
        return self.failed(reason) if reason else self.passed()
