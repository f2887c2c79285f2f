"""The verify step: runs the project's gates on a clean checkout of the attempt's commit. Only this passes a task."""

from __future__ import annotations

from dataclasses import replace

from ralph.journal.events import Audited
from ralph.plan.attempt import StepResult
from ralph.plan.evidence import Evidence, Proof
from ralph.plan.model import GateResult, Need, NeedKind
from ralph.plan.work import Verdict, listed
from ralph.steps.base import Context, Step
from ralph.steps.host import Verified
from ralph.steps.way_out import dispute_in, judge_dispute
from ralph.steps.weakened import Weakened, sort_by_consequence
from ralph.verify.gate_list import red
from ralph.verify.gates import explain
from ralph.verify.urls import why_unseen

UNPROVEN = (
    "All gates are green, but they are green without your change too, so nothing shows that it works. "
    "Write a test that fails without your change and passes with it. The gates must run it."
)
TOGETHER = "The gates ran on this work together with work that landed after the attempt began."
REDEFINED = "Your change also alters what the gates run, which may be why; if the task does not need that, take it back"


def conflict_need(why: str) -> Need:
    """What work waits for that conflicted with other work again and again."""
    return Need(kind=NeedKind.CONFLICT, why=why.split("\n", 1)[0].rstrip(":"))


class VerifyStep(Step):
    async def run(self, context: Context) -> StepResult:
        host, attempt = context.host, context.attempt
        commit = await context.work_commit()
        tree = await host.tree_of(commit)
        known = host.known_green(tree) if context.work.closes and not attempt.is_ui else None
        if known is not None:
            return replace(self.passed(), gates=known, commit=commit, verified_tree=tree)
        said = dispute_in(context.record.steps)
        undone = host.logs / f"{context.label}-undone-by-gates"
        async with host.protect(replace(context.work, claimable="")).until_end(undone) as protection:
            verified = await host.verify(attempt, commit)
            if verified.conflict:
                verdict = Verdict.BLOCKED if verified.is_too_often else Verdict.CONFLICTED
                need = conflict_need(verified.conflict) if verified.is_too_often else None
                return replace(self.failed(verified.conflict), verdict=verdict, need=need, commit=commit, final=True)
            checked = verified.suite
            weakened = await self._audit(context, commit, verified)
            is_green = not checked.reason and not weakened.reason
            is_weighed = is_green and context.task and not said
            proof = await host.evidence(attempt, verified, weakened.redefining) if is_weighed else None
        if not checked.results and not checked.pages and not checked.problem:
            context.note("No gates are configured: the work is unverified.", warning=True)
        no_page = self._say_unseen(context)
        broken = protection.violations.reason("A gate")
        reason = "\n\n".join(filter(None, (broken, weakened.reason, checked.reason)))
        by_gates = bool(reason) and not broken and not weakened.reason and checked.fails_by_gates_alone
        waiting = self._waiting(context, said, checked.results, by_gates=by_gates)
        if waiting:
            return replace(waiting, gates=checked.results, commit=commit, no_page=no_page, concerns=weakened.concerns)
        if reason:
            left_out = next((result.left_out for result in reversed(context.record.steps) if result.left_out), ())
            hint = f"\n\nNot in the commit, so the gates did not see it: {', '.join(left_out)}." if left_out else ""
            hint += f"\n\n{TOGETHER}" if verified.is_merged and checked.reason else ""
            result = self.failed(reason + hint)
            return replace(result, gates=checked.results, commit=commit, no_page=no_page, concerns=weakened.concerns)
        unproven = self._unproven(context, proof, weakened)
        seen = await host.tree_of(verified.commit)
        result = self.failed(unproven) if unproven else replace(self._green(context, weakened), verified_tree=seen)
        result = replace(result, gates=checked.results, commit=commit, no_page=no_page, concerns=weakened.concerns)
        return replace(result, evidence=proof.evidence, proven_by=proof.proven_by) if proof else result

    async def _audit(self, context: Context, commit: str, verified: Verified) -> Weakened:
        """Find out what the work may have weakened about the checks, and what follows from that."""
        if context.task is None:
            return Weakened()
        found = await context.host.audit(context.attempt, commit, verified)
        if not found:
            return Weakened()
        settings, approved = context.host.config.integrity, context.task.approved if context.task else ()
        weakened = sort_by_consequence(context.host.secrets.clean(found), settings, approved)
        context.host.emit(
            Audited(
                work=context.work.id,
                attempt=context.attempt.number,
                failed=weakened.failed,
                held=weakened.held,
                told=weakened.told,
            )
        )
        return weakened

    def _waiting(
        self, context: Context, said: StepResult | None, results: tuple[GateResult, ...], *, by_gates: bool
    ) -> StepResult | None:
        """Return the result of work that waits for a person: a gate is disputed, or was red before in the same way.

        `by_gates`: if the work fails, it fails by these gates alone.
        """
        bad = red(results) if by_gates else ()
        names = frozenset(result.name for result in bad)
        why = judge_dispute(said, results, names, context.attempt.acceptance) if said else ""
        if why and said:
            return StepResult(step=self.spec.label, verdict=Verdict.BLOCKED, reason=why, need=said.need)
        is_unchanged = context.task and context.host.fails_as_before(results)
        if not is_unchanged or not bad:
            return None
        why = explain(bad)
        reason = f"Was red before, and fails in the same way. {why}"
        need = Need(kind=NeedKind.RED_BEFORE, why=why.split("\n", 1)[0], gate=bad[0].name)
        return StepResult(step=self.spec.label, verdict=Verdict.BLOCKED, reason=reason, need=need)

    def _green(self, context: Context, weakened: Weakened) -> StepResult:
        """Return the result of green work: held for a person's approval, unless a reviewer sees it anyway."""
        if not weakened.held or context.work.is_reviewed:
            return self.passed()
        reason = listed("Its gates are green, but a person must approve what it changed about them", weakened.held)
        need = Need(kind=NeedKind.APPROVAL, why=reason.split("\n", 1)[0], concerns=weakened.held)
        return StepResult(step=self.spec.label, verdict=Verdict.HELD, reason=reason, need=need)

    def _unproven(self, context: Context, proof: Proof | None, weakened: Weakened) -> str:
        """Return why green work does not pass: the person asks for a proof, and nothing fails without it."""
        settings, task = context.host.config.verify, context.task
        if settings.require != "proven" or not proof or proof.evidence is Evidence.PROVEN:
            return ""
        if settings.require_for and not (task and task.tags.intersection(settings.require_for)):
            return ""
        return f"{UNPROVEN}\n\n{listed(REDEFINED, weakened.held)}" if weakened.held else UNPROVEN

    def _say_unseen(self, context: Context) -> str:
        task = context.task if context.attempt.is_ui else None
        why = why_unseen(task.criteria, context.host.config) if task else ""
        if why:
            text = f"{context.work.id} is a UI task, but Ralph opened no page: {why}."
            context.note(text, warning=True)
        return why
