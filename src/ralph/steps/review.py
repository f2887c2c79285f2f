"""The review step: another agent reads the work once its gates are green. It cannot pass a red gate."""

from __future__ import annotations

import os
from dataclasses import replace

from ralph.journal.events import Reviewed
from ralph.plan.attempt import StepResult, counts_against
from ralph.plan.model import Finding
from ralph.plan.prompting import PromptRequest, ReviewAssignment
from ralph.plan.work import Verdict, Work
from ralph.steps import review_answer
from ralph.steps.answer import AnswerStep
from ralph.steps.base import Context
from ralph.workspace import ANSWERS


class ReviewStep(AnswerStep):
    offered = True
    noun = "review"

    def role(self, work: Work) -> str:
        return "reviewer"

    def answer_name(self, context: Context) -> str:
        """Return the path of the reviewer's answer, in the copy that only this reviewer reads."""
        return f"{ANSWERS}/{context.work.id}-{context.attempt.number}.review.json"

    async def run(self, context: Context) -> StepResult:
        """Ask for a review if nothing has failed yet; without a usable one, the work has not passed."""
        if any(counts_against(context.work, result) for result in context.record.steps):
            return replace(self.failed("Not reviewed: an earlier step failed."), final=True)
        result = await super().run(context)
        if result.verdict is Verdict.FAILED and context.turn > self.spec.resilience.max_retries:
            said = f"The reviewer gave no usable answer in {context.turn} tries. {result.reason}"
            return replace(result, reason=said)
        return result

    def prompt_request(self, context: Context) -> PromptRequest:
        assert context.copy, "work that is reviewed has a working copy"
        assignment = ReviewAssignment(
            answer=os.path.relpath(self.answer(context), context.cwd),
            diff=context.copy.diff_command(f"{context.base}^", context.base),
        )
        return replace(super().prompt_request(context), review=assignment)

    def read(self, context: Context, data: bytes, result: StepResult) -> StepResult:
        answer = review_answer.parse(data, context.attempt.blocking)
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
