"""The git-commit step: commits what the agent left, as a person would, hooks included."""

from __future__ import annotations

import os
from dataclasses import replace

from ralph.loop.protection import Protection
from ralph.loop.record import StepResult
from ralph.loop.steps.base import Context, Step
from ralph.process.environment import Redactor, secrets_in

LONGEST = 4_000


class GitCommitStep(Step):
    repeatable = True

    async def run(self, context: Context) -> StepResult:
        place = context.place
        assert place is not None, "work that commits has a place"
        status, paths = await place.to_commit()
        head, summary = status.head, ""
        if paths:
            message = context.run.workflow.commit_message(context.run.plan, context.work)
            summary = message.split("\n", 1)[0]
            if context.work.trailer:
                message = f"{message.rstrip()}\n\n{context.work.trailer}\n"
            undone = context.run.logs / f"{context.label}-undone-by-hooks"
            async with Protection.around(
                context.run, context.site, context.work, context.record.base, undone
            ) as protection:
                done = await place.commit_left(paths, message)
            wrongs = protection.wrongs
            if done.code:
                secrets = Redactor(secrets_in(os.environ))
                output = secrets.text((done.out + done.err).decode(errors="replace")).strip()[-LONGEST:]
                return self.failed(f"A git hook refused the commit (exit code {done.code}):\n\n{output}")
            if wrongs.texts:
                return self.failed(wrongs.reason("A git hook"))
            head = await place.repo.resolve("HEAD")
        place.forget_left(context.record.target)
        if not summary and context.work.trailer:  # nothing is left to commit: it may have been, before a crash
            head = await place.commit_with(context.work.trailer)
        elif not summary and not any(result.summary for result in context.record.steps):
            summary = await place.last_subject()
        return replace(self.passed(), commit=head, summary=summary)
