"""The answer step: an agent answers in a file, which alone counts; an answer that is refused is asked for again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from ralph import safe_files
from ralph.agent.call import AgentResult
from ralph.errors import RalphError
from ralph.plan.attempt import StepResult
from ralph.plan.work import ASKED_AGAIN, Verdict, Work, listed
from ralph.steps.agent import Inspection
from ralph.steps.agent_failures import failure, refused
from ralph.steps.base import Context
from ralph.steps.read_only_agent import ReadOnlyAgentStep


class AnswerStep(ReadOnlyAgentStep):
    """A refused answer fails the step with its mistakes, and the wrapper around every step tries it again with them."""

    offered = False
    max_retries = ASKED_AGAIN.max_retries
    noun: ClassVar[str] = "answer"

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset()

    def answer_name(self, context: Context) -> str:
        """Return the path of the answer, relative to the project root."""
        return context.work.writable[0]

    def answer(self, context: Context) -> Path:
        folder = context.copy.project if context.copy else context.host.project
        return folder / self.answer_name(context)

    def read(self, context: Context, data: bytes, result: StepResult) -> StepResult:
        """Return the result of an answer that can be used; raise its mistakes otherwise."""
        name = self.answer_name(context)
        kept = context.host.check_contract(context.work, result.step, {name: None}, {name: data})
        if kept.mistakes:
            raise RalphError(kept.mistakes[0], details=kept.mistakes)
        return replace(result, verdict=kept.verdict, reason=kept.reason)

    def guarded(self, context: Context) -> Work:
        work, name = super().guarded(context), self.answer_name(context)
        return work if name in work.writable else replace(work, writable=(*work.writable, name))

    async def _call(self, context: Context) -> AgentResult | None:
        answer = self.answer(context)
        if context.copy:
            context.copy.provided |= {str(answer.relative_to(context.copy.folder))}
        answer.parent.mkdir(parents=True, exist_ok=True)
        safe_files.remove_all(answer)  # only a new answer can be there
        return await super()._call(context)

    def _verdict(self, context: Context, heard: AgentResult, findings: Inspection) -> tuple[Verdict, str]:
        """Judge only whether the call counts; what it says is in the answer file alone."""
        return failure(heard, self.provider(context), findings.violations) or (Verdict.PASSED, "")

    def _judge(self, context: Context, heard: AgentResult | None, findings: Inspection) -> StepResult:
        result = super()._judge(context, heard, findings)
        if result.verdict is not Verdict.PASSED:
            return result
        answer = self.answer(context)
        try:
            data = context.host.secrets.data(_content(answer, os.path.relpath(answer, context.cwd)))
            return self.read(context, data, result)
        except RalphError as error:
            reason = listed(f"The {self.noun} cannot be used", error.details or (error.what,))
            stopped = refused(heard, self.provider(context), changed=False) if heard and not answer.exists() else None
            verdict, reason = stopped or (Verdict.FAILED, reason)
            return replace(result, verdict=verdict, reason=reason, fatal=verdict is Verdict.INTERRUPTED)


def _content(answer: Path, name: str) -> bytes:
    """Return the agent's answer if it is a regular file of reasonable size; otherwise raise an error."""
    data = safe_files.read(answer)
    if data is None:
        raise RalphError(f"The file {name} {'is too large' if safe_files.is_file(answer) else 'was not written'}.")
    if not data.strip():
        raise RalphError(f"The file {name} is empty.")
    return data
