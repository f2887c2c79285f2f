"""The ruling step: a reviewer decides about acceptance tests that the agent disputes."""

from __future__ import annotations

import os
from dataclasses import replace

from ralph.frozen import Frozen
from ralph.journal.events import Ruled
from ralph.plan.attempt import StepResult
from ralph.plan.model import Finding, NeedKind, Severity
from ralph.plan.prompting import PromptRequest, ReviewAssignment
from ralph.plan.work import Verdict, Work
from ralph.steps.answer import AnswerStep
from ralph.steps.base import Context
from ralph.steps.way_out import dispute_in
from ralph.stores.fields import Choice, Part, given
from ralph.stores.findings import SHORT
from ralph.stores.task_codec import Codec, Format
from ralph.text import one_line
from ralph.workspace import ANSWERS

RIGHT, WRONG = "right", "wrong"


class Ruling(Frozen):
    """The file that the reviewer writes."""

    tests: str
    reason: str


RULING = Format(
    title="ruling",
    codec=Codec(),
    part=Part(
        "RulingAnswer",
        "The file that a reviewer writes about disputed acceptance tests.",
        Ruling,
        given(
            "tests",
            Choice((RIGHT, WRONG)),
            about="right: the work must make them pass; wrong: the tester must change them.",
            required=True,
        ),
        given("reason", SHORT, about="Why, in one to three sentences.", required=True),
    ),
)


class RulingStep(AnswerStep):
    noun = "ruling"

    def role(self, work: Work) -> str:
        return "reviewer"

    def answer_name(self, context: Context) -> str:
        return f"{ANSWERS}/{context.work.id}-{context.attempt.number}.ruling.json"

    async def run(self, context: Context) -> StepResult:
        """Ask the reviewer once for each version of the tests; a second dispute goes to the person."""
        said = dispute_in(context.record.steps)
        assert said and context.task, "the engine leaves this step out if nothing is disputed"
        tests = await context.host.acceptance.known(context.attempt)
        if tests.wrong:
            return replace(self.failed("The tests were written again already, so a person decides."), final=True)
        return await super().run(context)

    def prompt_request(self, context: Context) -> PromptRequest:
        given = context.attempt.acceptance
        assignment = ReviewAssignment(answer=os.path.relpath(self.answer(context), context.cwd), diff="")
        return replace(super().prompt_request(context), review=assignment, tests=given.paths if given else ())

    def read(self, context: Context, data: bytes, result: StepResult) -> StepResult:
        ruling = RULING.load(data, name="the ruling")[1]
        reason = one_line(ruling.reason)
        context.host.emit(
            Ruled(work=context.work.id, attempt=context.attempt.number, tests=ruling.tests, reason=reason)
        )
        if ruling.tests == WRONG:
            context.host.acceptance.ask_again(context.attempt, reason)
            context.host.forget_claim(context.work.id, NeedKind.DISPUTE)
        what = f"The reviewer says that the acceptance tests are {ruling.tests}: {reason.rstrip('.')}."
        more = " The tester writes them again." if ruling.tests == WRONG else " Your work must make them pass."
        found = (Finding(severity=Severity.MAJOR, problem=what),)
        return replace(result, verdict=Verdict.REOPENED, reason=f"{what}{more}", findings=found)
