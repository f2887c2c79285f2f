"""The acceptance step: before a task is implemented, a tester writes tests from its criteria alone.

They must fail without the work. What cannot be used is asked for again, with the mistakes. The tests are kept outside
of the repository as soon as the tester has ended, so a kill at any instant costs no second call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ralph.agent.call import AgentResult
from ralph.frozen import Frozen
from ralph.journal.events import AcceptanceReady, Confided
from ralph.plan.acceptance_tests import ACCEPTANCE, AcceptanceTests, spec_of
from ralph.plan.attempt import StepResult
from ralph.plan.model import Need, NeedKind, Task
from ralph.plan.prompting import PromptRequest
from ralph.plan.work import ASKED_AGAIN, Verdict, Work, listed
from ralph.protect.contract import ContractCheck
from ralph.protect.protection import Protection, Violations
from ralph.steps import base
from ralph.steps.agent import AgentStep, Inspection
from ralph.steps.agent_failures import failure
from ralph.steps.agent_settings import CallSettings
from ralph.steps.base import Context

UNUSABLE = "The acceptance tests cannot be used"
CUT_SHORT = "the last call was cut short, so the tests in this copy may be incomplete: finish them"


class AcceptanceStep(AgentStep):
    Settings: ClassVar[type[base.StepSettings]] = CallSettings
    may_claim = False
    read_only = True  # it works in a copy of its own
    prepares = True
    offered = False
    max_retries = ASKED_AGAIN.max_retries
    _tests: AcceptanceTests | None = None  # as they were before the call, and then what the tester wrote
    _heard: AgentResult | None = None  # None: the call was stopped

    def role(self, work: Work) -> str:
        return "tester"

    def claims(self, work: Work) -> frozenset[str]:
        return frozenset()

    async def run(self, context: Context) -> StepResult:
        task, desk = context.task, context.host.acceptance
        assert task and context.copy, "a task has acceptance tests, and its work has a working copy"
        if left_out := _left_out(context, task):
            await desk.take_away(context.attempt, context.copy)
            if left_out.why:
                context.note(left_out.why)
            return self.passed()
        result = await self._ready(context, task)
        return replace(result, tester=result.tester or result.agent)

    async def _ready(self, context: Context, task: Task) -> StepResult:
        """Get tests that fail without the work: those that are there, or new ones."""
        desk = context.host.acceptance
        assert context.copy, "its work has a working copy"
        async with desk.turn(task.id):  # the agents of a race get the same tests
            result, was_called = self.passed(), False
            tests = await desk.known(context.attempt)
            if tests.are_wanted:
                was_called = True
                result, tests = await self._write(context, tests)
                if result.verdict is not Verdict.PASSED:
                    return self._refused(context, result)
            if not tests.is_checked:
                tests = await desk.check(context.attempt, tests)
            if tests.mistakes:
                return self._refused(context, replace(result, verdict=Verdict.FAILED, reason=_why(context, tests)))
        await desk.give(context.attempt, context.copy)
        self._tell_ready(context, tests, is_new=was_called)
        return replace(result, tester=tests.tester)

    async def _write(self, context: Context, tests: AcceptanceTests) -> tuple[StepResult, AcceptanceTests]:
        """Call the tester in a copy of the base, with its last tests if it is asked again."""
        self._tests = tests
        async with context.host.tester_host(context.base, tests) as host:
            result = await super().run(replace(context, host=host))
        return result, self._tests

    def prompt_request(self, context: Context) -> PromptRequest:
        """Name the mistakes that are kept with the tests: of a killed run, too, and those that only it may see."""
        known = self._tests.mistakes if self._tests else ()
        mistakes = listed(UNUSABLE, known) if known else context.mistakes
        return replace(super().prompt_request(context), mistakes=mistakes)

    async def _after(
        self, context: Context, heard: AgentResult | None, protection: Protection, contract: ContractCheck | None
    ) -> StepResult:
        self._heard = heard
        return await super()._after(context, heard, protection, contract)

    async def _inspect(self, context: Context, protection: Protection) -> tuple[Violations, Inspection]:
        """Keep the tests that the tester wrote; whatever else it did is gone with its copy."""
        assert context.copy and self._tests, "it was called in a copy"
        violations = await protection.end(context.host.logs / f"{context.label}-undone")
        self._tell_undone(context, violations)
        agent = self._agent.name if self._agent else ""
        mistake = self._why_incomplete(context, violations)
        self._tests = await context.host.acceptance.collect(context.attempt, context.copy, self._tests, agent, mistake)
        return violations, Inspection(violations=violations.texts)

    def _why_incomplete(self, context: Context, violations: Violations) -> str:
        """Return why nothing that the call left can be used as it is; "" if it ended well."""
        if self._heard is None:
            return CUT_SHORT
        failed = failure(self._heard, self.provider(context), violations.texts)
        if not failed:
            return ""
        return failed[1] if violations.texts else CUT_SHORT

    def _judge(self, context: Context, heard: AgentResult | None, findings: Inspection) -> StepResult:
        return replace(super()._judge(context, heard, findings), learnings=())  # they could tell what is held out

    def _learned(self, context: Context) -> tuple[str, ...]:
        return ()

    def _verdict(self, context: Context, heard: AgentResult, findings: Inspection) -> tuple[Verdict, str]:
        """Judge only whether the call counts, and the files that it left; what the tester says does not matter."""
        failed = failure(heard, self.provider(context), findings.violations)
        if failed:
            return failed
        claim = self._claim(context, heard)
        if claim:
            return Verdict.BLOCKED, f"The tester wrote no acceptance tests: {claim.why}"
        assert self._tests, "they were collected"
        return (Verdict.FAILED, _why(context, self._tests)) if self._tests.mistakes else (Verdict.PASSED, "")

    def _refused(self, context: Context, result: StepResult) -> StepResult:
        """Return the result without usable tests: after the last try, a person decides."""
        is_last = context.turn > self.spec.resilience.max_retries
        if result.verdict is Verdict.FAILED and is_last:
            said = f"The tester wrote no usable acceptance tests in {context.turn} tries. {result.reason}"
            result = replace(result, verdict=Verdict.BLOCKED, reason=said)
        if result.verdict is not Verdict.BLOCKED:
            return result
        need = Need(kind=NeedKind.TESTS, why=result.reason.split("\n", 1)[0], gate=ACCEPTANCE)
        return replace(result, need=need, claims=frozenset())

    def _tell_ready(self, context: Context, tests: AcceptanceTests, *, is_new: bool) -> None:
        hidden = context.host.config.acceptance.held_out
        context.host.emit(
            AcceptanceReady(
                work=context.work.id,
                attempt=context.attempt.number,
                files=() if hidden else tests.paths,
                red=() if hidden else tests.red,
                agent=tests.tester,
                is_new=is_new,
                held_out=hidden,
            )
        )


class LeftOut(Frozen):
    """A task gets no acceptance tests."""

    why: str = ""  # for the person; empty: the person asked for it


def _left_out(context: Context, task: Task) -> LeftOut | None:
    """Return why a task gets no acceptance tests; None if it gets them."""
    settings, spec = context.host.config.acceptance, spec_of(context.host.plan, task)
    is_meant = not settings.only_for or not task.tags.isdisjoint(settings.only_for)
    if ACCEPTANCE in task.waived or not is_meant or not task.tags.isdisjoint(settings.not_for):
        return LeftOut()
    asked = task.criteria or (spec.criteria if spec else ()) or (context.work.duties and task.description)
    if not asked:
        return LeftOut(why="It has no acceptance criteria, so there are no acceptance tests.")
    runs = any(gate.required and not gate.held_out for gate in context.attempt.gates)
    return None if runs else LeftOut(why="No required gate runs for it, so there are no acceptance tests.")


def _why(context: Context, tests: AcceptanceTests) -> str:
    """Return why the tests cannot be used. If they are held out, only the person at the terminal learns it."""
    whole = listed(UNUSABLE, tests.mistakes)
    if not context.host.config.acceptance.held_out:
        return whole
    context.host.emit(Confided(work=context.work.id, attempt=context.attempt.number, text=whole))
    where = f"the terminal of the run and {tests.task}.tests.json in the held-out store"
    return f"{UNUSABLE}. They are held out, so only {where} say why."
