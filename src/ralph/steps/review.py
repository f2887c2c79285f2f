"""The review step: another agent reads the work once its gates are green. It cannot pass a red gate."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ralph.agent.call import AgentResult
from ralph.checkout.working_copy import WorkingCopy
from ralph.errors import RalphError
from ralph.journal.events import Reviewed
from ralph.plan.attempt import StepResult, counts_against
from ralph.plan.model import Finding
from ralph.plan.prompting import PromptRequest, ReviewAssignment
from ralph.plan.usage import Usage
from ralph.plan.work import Verdict, Work
from ralph.protect.answer_file import clear, mistakes_text, read_answer
from ralph.steps import review_answer
from ralph.steps.agent import Inspection
from ralph.steps.agent_failures import failure
from ralph.steps.base import Context
from ralph.steps.read_only_agent import ReadOnlyAgentStep
from ralph.workspace import ANSWERS

TRIES = 3


class ReviewStep(ReadOnlyAgentStep):
    def role(self, work: Work) -> str:
        return "reviewer"

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset()

    async def run(self, context: Context) -> StepResult:
        """Ask up to three times for a usable answer; without one, the work has not passed."""
        if any(counts_against(context.work, result) for result in context.record.steps):
            return self.failed("Not reviewed: an earlier step failed.")
        used, learned, mistakes = Usage(), tuple[str, ...](), context.mistakes
        for number in range(1, TRIES + 1):
            result = await super().run(context.at_try((context.turn - 1) * TRIES + number, mistakes))
            used, learned = used + result.usage, (*learned, *result.learnings)
            result = replace(result, usage=used, learnings=learned)
            if result.verdict is not Verdict.FAILED:
                return result
            mistakes = result.reason
            brief = " ".join(result.reason.splitlines()[:2])
            context.note(f"The review cannot be used: {brief}", warning=True)
        return replace(result, reason=f"The reviewer gave no usable answer in {TRIES} tries. {mistakes}")

    def guarded(self, context: Context) -> Work:
        work, answer = super().guarded(context), _answer(context)
        return replace(work, writable=(*work.writable, str(answer.relative_to(_copy(context).project))))

    async def _call(self, context: Context) -> AgentResult | None:
        copy, answer = _copy(context), _answer(context)
        copy.provided |= {str(answer.relative_to(copy.folder))}
        clear(answer)
        return await super()._call(context)

    def prompt_request(self, context: Context) -> PromptRequest:
        copy = _copy(context)
        assignment = ReviewAssignment(
            answer=os.path.relpath(_answer(context), context.cwd),
            diff=copy.diff_command(f"{context.base}^", context.base),
            mistakes=context.mistakes,
        )
        return replace(super().prompt_request(context), review=assignment)

    def _verdict(self, context: Context, heard: AgentResult, findings: Inspection) -> tuple[Verdict, str]:
        """Judge only whether the call counts; its opinion of the work is in the answer file alone."""
        return failure(heard, self.provider(context), findings.violations) or (Verdict.PASSED, "")

    def _judge(self, context: Context, heard: AgentResult | None, findings: Inspection) -> StepResult:
        result = super()._judge(context, heard, findings)
        if result.verdict is not Verdict.PASSED:
            return result
        try:
            answer = review_answer.parse(read_answer(_answer(context)), context.attempt.blocking)
        except RalphError as error:
            file = _answer(context)
            reason = mistakes_text(error).replace(str(file), os.path.relpath(file, context.cwd))
            return replace(result, verdict=Verdict.FAILED, reason=reason)
        found = tuple(sorted(answer.findings, key=_weight))
        context.host.emit(
            Reviewed(
                work=context.work.id,
                attempt=context.attempt.number,
                verdict=answer.verdict,
                summary=answer.gist,
                findings=found,
                rounds=context.task.rounds if context.task else 0,
                max_rounds=context.attempt.max_rounds,
            )
        )
        if answer.qualified:
            return replace(result, findings=found)
        lines = "\n".join(f"- {finding}" for finding in found)
        reason = f"The reviewer sent it back: {answer.gist}.\n\n{lines}"
        return replace(result, verdict=Verdict.REOPENED, reason=reason, findings=found)


def _weight(finding: Finding) -> int:
    return review_answer.SEVERITIES.index(finding.severity.value)


def _copy(context: Context) -> WorkingCopy:
    assert context.copy is not None, "work that is reviewed has a working copy"
    return context.copy


def _answer(context: Context) -> Path:
    """Return the path of the reviewer's answer, in the copy that only this reviewer reads."""
    return _copy(context).project / ANSWERS / f"{context.work.id}-{context.attempt.number}.review.json"
