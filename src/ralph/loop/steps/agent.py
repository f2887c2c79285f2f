"""The agent step: one call, then a look at what it really did. Its words only start a verification."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ralph.agent import call
from ralph.agent.call import Call, Heard
from ralph.agent.dialects.base import Trouble
from ralph.git.look import attempt_ref
from ralph.journal.events import AgentEnded, AgentSpoke, AgentStarted, Learned, Undone
from ralph.loop.place import Changes, Left, Place
from ralph.loop.protection import Protection
from ralph.loop.record import StepResult
from ralph.loop.steps.base import Context, Step
from ralph.plan.work import Kind, Usage, Verdict
from ralph.process.spawn import How
from ralph.stores import lock

LAST_WORDS = 800


class AgentStep(Step):
    async def run(self, context: Context) -> StepResult:
        if context.run.place:
            await context.run.place.look()
        protection = await Protection.begin(context.run, context.work, context.record.base)
        heard = await self._call(context)
        lock.renew(context.run.workspace.lock, context.run.owner)
        result = await self._look(context, heard, protection)
        for text in result.learnings:
            context.run.emit(Learned(work=context.work.id, text=text))
        return result

    async def _call(self, context: Context) -> Heard | None:
        """What the agent said; None if the call was cut short."""
        run, label = context.run, context.label
        run.logs.mkdir(parents=True, exist_ok=True)
        text = run.workflow.prompt(run.plan, context.work, context.record.number, context.record.steps)
        prompt = run.logs / f"{label}.prompt.md"
        prompt.unlink(missing_ok=True)  # an agent may have put something there
        with prompt.open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
        provider = run.config.provider_for(context.work.role)
        log = run.logs / f"{label}.{self.spec.label}.log"
        run.emit(
            AgentStarted(
                work=context.work.id,
                number=context.record.number,
                command=provider.command,
                prompt_chars=len(text),
                log=str(log),
            )
        )
        request = Call(
            provider=provider,
            prompt=prompt,
            log=log,
            cwd=run.cwd,
            owner=run.id,
            variables=_variables(context),
            watcher=lambda line: run.emit(AgentSpoke(text=line)),
        )
        try:
            heard = await call.make(request)
        except asyncio.CancelledError:
            return None
        self._tell(context, heard)
        return heard

    def _tell(self, context: Context, heard: Heard) -> None:
        context.run.emit(
            AgentEnded(
                work=context.work.id,
                number=context.record.number,
                how=heard.ended.how.value,
                code=heard.ended.code,
                seconds=heard.ended.seconds,
                output_bytes=heard.output_bytes,
                claims=tuple(sorted(heard.claims)),
                usage=heard.report.usage,
            )
        )

    async def _look(self, context: Context, heard: Heard | None, protection: Protection) -> StepResult:
        """Put right what it must not have done, keep what it made, and only then judge what it said."""
        place, base = context.run.place, context.record.base
        if place is None:
            wrongs = await self._undo(context, protection)
            return self._judge(context, heard, wrongs, changed=True)
        tip = await place.straighten(base)
        wrongs = await self._undo(context, protection)
        if wrongs:
            tip = replace(tip, status=await place.repo.status())
        changes = await place.changes(base, tip)
        commit = await self._keep(context, place, changes)
        wrongs = (*wrongs, *changes.wrongs)
        if changes.any and not context.work.may_change_project:
            wrongs = (*wrongs, "it changed the project, and was only to look at it")
            await place.restore(base, f"chore: undo what {context.work.id} changed")
        changed = await self._changed(context, place, changes)
        result = self._judge(context, heard, wrongs, changed=changed)
        return replace(result, commit=commit, summary=changes.commits[0].subject if changes.commits else "")

    async def _undo(self, context: Context, protection: Protection) -> tuple[str, ...]:
        wrongs = await protection.end(context.run.logs / f"{context.label}-undone")
        if wrongs.paths:
            context.run.emit(
                Undone(
                    work=context.work.id,
                    number=context.record.number,
                    paths=wrongs.paths,
                    kept_in=str(wrongs.kept_in),
                )
            )
        return wrongs.texts

    async def _keep(self, context: Context, place: Place, changes: Changes) -> str:
        target, work, number = context.record.target, context.work.id, context.record.number
        ref = attempt_ref(target, work, number)
        message = f"{work}, attempt {number}: what the agent left"
        commit = await place.keep(ref, changes, message)
        if changes.left and context.work.may_change_project:
            place.remember_left(Left(target=target, commit=commit, parent=changes.head))
        return commit

    async def _changed(self, context: Context, place: Place, changes: Changes) -> bool:
        """Whether the task has any work to show since it began."""
        first = context.task.base if context.task else ""
        if not first or first == context.record.base:
            return changes.any
        return await place.changed_beside_own(first)

    def _judge(self, context: Context, heard: Heard | None, wrongs: tuple[str, ...], *, changed: bool) -> StepResult:
        if heard is None:
            return StepResult(
                step=self.spec.label,
                verdict=Verdict.INTERRUPTED,
                reason="The agent was stopped before it had finished.",
                usage=Usage(calls=1, unpriced=1),
            )
        verdict, reason = _verdict(context, heard, wrongs, changed)
        return StepResult(
            step=self.spec.label,
            verdict=verdict,
            reason=reason,
            claims=heard.claims,
            learnings=heard.learnings,
            reset=heard.reset,
            said=heard.reason,
            usage=heard.report.usage,
            retry_at=heard.report.retry_at,
            fatal=heard.report.trouble is Trouble.UNUSABLE,
        )


def _verdict(context: Context, heard: Heard, wrongs: tuple[str, ...], changed: bool) -> tuple[Verdict, str]:
    work, report, ended = context.work, heard.report, heard.ended
    provider = context.run.config.provider_for(work.role)
    match report.trouble:
        case Trouble.LIMIT | Trouble.OVERLOAD:
            return Verdict.LIMITED, f"The agent could not work: {report.message}"
        case Trouble.UNUSABLE:
            return Verdict.INTERRUPTED, f"The agent cannot be used: {report.message}"
    if wrongs:
        return Verdict.FAILED, "The agent did what it must not: " + "; ".join(wrongs) + ". This was undone."
    if ended.how is How.TIMED_OUT:
        limit = f"{provider.timeout:g} s"
        return Verdict.FAILED, f"The agent did not finish within {limit}; its whole process tree was ended."
    if ended.how is How.SILENT:
        return Verdict.FAILED, "The agent said nothing for too long; its whole process tree was ended."
    if report.trouble is Trouble.ERROR:
        return Verdict.FAILED, f"The agent reported an error: {report.message}"
    if ended.how is How.EXITED and ended.code != 0:
        return Verdict.FAILED, f"The agent ended with exit code {ended.code}.{_last_words(heard)}"
    if work.claims and not work.claims & heard.claims:
        wanted = " or ".join(f"<ralph>{claim}</ralph>" for claim in sorted(work.claims))
        return Verdict.FAILED, f"The agent ended without saying {wanted}.{_last_words(heard)}"
    if work.kind is Kind.TASK and not changed:
        return Verdict.FAILED, (
            "The agent said that it was done, but changed nothing. If the task needs no work, a person can "
            f'say so: ralph accept {context.record.target} {work.id} --why "…"'
        )
    return Verdict.PASSED, ""


def _last_words(heard: Heard) -> str:
    words = (heard.errors or heard.tail)[-LAST_WORDS:]
    return f"\n\nIts last words:\n\n{words}" if words else ""


def _variables(context: Context) -> dict[str, str]:
    """What an agent and its tools can know about where they are."""
    return {
        **context.run.variables,
        "RALPH_RUN": context.run.id,
        "RALPH_TARGET": context.record.target,
        "RALPH_TASK": context.work.id,
        "RALPH_ATTEMPT": str(context.record.number),
    }
