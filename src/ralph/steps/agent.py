"""The agent step: one call, then an inspection of what the agent really did. Its claims only start a verification."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from ralph import safe_files
from ralph.agent import call
from ralph.agent.call import AgentCall, AgentResult, make
from ralph.agent.dialects import takes_context
from ralph.checkout.commit_subject import subject_of
from ralph.checkout.leaks import told
from ralph.checkout.working_copy import TakenWork, WorkingCopy
from ralph.config import NamedProvider, Provider
from ralph.frozen import Frozen
from ralph.journal.events import STOPPED, AgentEnded, AgentSpoke, AgentStarted, Learned, Marked, Undone
from ralph.plan.attempt import StepResult
from ralph.plan.model import Need, NeedKind
from ralph.plan.prompting import PromptRequest
from ralph.plan.usage import Usage
from ralph.plan.work import Verdict, Work
from ralph.process.spawn import finished
from ralph.protect.contract import ContractCheck
from ralph.protect.protection import Protection, Violations, undo_protected
from ralph.steps import base
from ralph.steps.agent_failures import failure, not_committed, permission_hint, refused, silence, unclaimed
from ralph.steps.agent_settings import AgentSettings, CallSettings
from ralph.steps.agent_work import given_paths, person_worked, protected
from ralph.steps.base import Context, Step
from ralph.steps.way_out import claim_of, said_in

MAX_TOUCHED = 8
UNKNOWN = Usage(calls=1, unpriced=1)
STARTS_BELOW = "You start in the folder `{}` of the project. Every path below is relative to the project: {}"


class Inspection(Frozen):
    """What an inspection of the working copy after a call found."""

    violations: tuple[str, ...] = ()
    commit: str = ""
    summary: str = ""
    has_work: bool = True  # there are changes since the task began
    moved: bool = False  # this attempt changed something
    touched: tuple[str, ...] = ()  # the files that the task's work has changed so far
    left_out: tuple[str, ...] = ()  # what is not part of the commit, and why


class AgentStep(Step):
    Settings: ClassVar[type[base.StepSettings]] = AgentSettings
    runs_agent = True
    may_claim = True  # marks in the plan count as its claims
    _contract: ContractCheck | None = None  # kept between retries, which continue from what the agent has written
    _agent: NamedProvider | None = None  # chosen for each call
    _used: Usage | None = None  # what the call has used so far, if its output says so

    def role(self, work: Work) -> str:
        return work.role

    def claims(self, work: Work) -> frozenset[str]:
        return work.claims

    def provider(self, context: Context) -> Provider:
        """Return the agent for the role, with the step's own time limit; the first choice also with its own model."""
        role, asking = self.role(context.work), self.settings(CallSettings)
        first = context.host.config.agents_for(role)[0]
        agent = self._agent or first
        asked_for = context.attempt.model if role == base.EXECUTOR else ""
        model = asked_for or asking.model if agent.name == first.name else None
        given = agent.provider
        return replace(given, model=model or given.model, timeout=asking.timeout or given.timeout)

    def prompt_request(self, context: Context) -> PromptRequest:
        """Build the request for this step's prompt."""
        return PromptRequest(
            plan=context.host.plan,
            work=context.work,
            step=self.spec,
            number=context.attempt.number,
            earlier=context.record.steps,
            mistakes=context.mistakes,
            tests=context.attempt.acceptance.paths if context.attempt.acceptance and self.may_claim else (),
        )

    def guarded(self, context: Context) -> Work:
        """Return the work with the files of Ralph's own that this step's agent may write."""
        return context.work if self.may_claim else replace(context.work, claimable="")

    async def run(self, context: Context) -> StepResult:
        self._agent, self._used, self._prompt = context.host.agent(context.agents(self.role(context.work))), None, ""
        protection = context.host.protect(self.guarded(context))
        contract = self._contract = self._contract or _contract(context, self.spec.label)
        heard = await self._call(context)
        context.host.agent_ended()
        # a cancellation must not cut this short
        return await finished(self._after(context, heard, protection, contract))

    async def _after(
        self, context: Context, heard: AgentResult | None, protection: Protection, contract: ContractCheck | None
    ) -> StepResult:
        async with context.host.inspecting():
            violations, findings = await self._inspect(context, protection)
        if heard and self.guarded(context).claimable:
            heard = self._with_claim(context, heard, b"{}" if violations.claimed is None else violations.claimed)
        result = self._judge(context, heard, findings)
        if heard is None:
            result = replace(result, learnings=self._learned(context))
        for text in result.learnings:
            context.host.emit(Learned(work=context.work.id, attempt=context.attempt.number, text=text))
        if findings.left_out and context.task:
            context.note(not_committed(findings.left_out), warning=True)
        if contract is None:
            return result
        resilience = context.work.step(result.step).resilience
        judged = contract.judge(
            result,
            context.record.steps,
            is_last=context.turn > resilience.max_retries,
            set_aside=context.host.logs / f"{context.label}-refused",
        )
        # the contract put files back, so take the commit again
        if judged is not result and context.copy and judged.commit:
            return replace(judged, commit=(await self._take(context, context.copy)).commit)
        return judged

    def _name(self, context: Context) -> str:
        """Return the base name of a call's prompt and log."""
        return f"{context.label}.{self.spec.label}" + (f"-{context.call}" if context.call > 1 else "")

    def _learned(self, context: Context) -> tuple[str, ...]:
        """Return the learnings that the agent had printed before it was stopped."""
        path = context.host.logs / self._name(context)
        return call.learnings_in(self.provider(context), Path(f"{path}.prompt.md"), Path(f"{path}.log"))

    async def _call(self, context: Context) -> AgentResult | None:
        """Call the agent; return None if the call was interrupted."""
        host, provider = context.host, self.provider(context)
        name = self._name(context)
        wanted = host.secrets.clean(host.prompt(self.prompt_request(context)))
        apart = takes_context(provider) and wanted.context
        text = wanted.text if apart or not wanted.context else f"{wanted.context}\n\n{wanted.text}"
        cwd = call.start_folder(provider, context.cwd)
        text = f"{STARTS_BELOW.format(provider.cwd, context.cwd)}\n\n{text}" if provider.cwd else text
        prompt = host.logs / f"{name}.prompt.md"
        with safe_files.open_new(prompt) as file:
            file.write(data := text.encode(errors="replace"))
        self._prompt = hashlib.sha256(data).hexdigest()
        log, words = host.logs / f"{name}.log", host.logs / f"{name}.words.txt"
        host.emit(
            AgentStarted(
                work=context.work.id,
                attempt=context.attempt.number,
                command=provider.command,
                prompt_chars=len(text) + (len(wanted.context) if apart else 0),
                log=str(log),
                words=str(words),
                agent=self._agent.name if self._agent else "",
            )
        )
        request = AgentCall(
            provider=provider,
            prompt=prompt,
            context=wanted.context if apart else "",
            tools=self.settings(CallSettings).allowed_tools or "",
            log=log,
            words=words,
            cwd=cwd,
            copy=Path(host.variables.get("RALPH_WORKTREE", context.cwd)),
            owner=context.attempt.run,
            variables=_variables(context),
            secrets=host.secrets,
            watcher=lambda line: host.emit(AgentSpoke(work=context.work.id, attempt=context.attempt.number, text=line)),
            meter=partial(self._meter, context),
        )
        began = time.monotonic()
        try:
            with host.temporary() as temporary, host.temporary() as private:
                variables = {**_variables(context), "TMPDIR": str(temporary)}
                within = host.enclose_agent(provider, context.work, temporary, private)
                request = replace(request, variables=variables, private=private, within=within)
                labels = (self.spec.label, self.role(context.work))
                recorder = host.recorder
                heard = await (recorder.make(context, request, *labels) if recorder else make(request))
        except asyncio.CancelledError:
            self._tell_stopped(context, time.monotonic() - began)
            return None
        self._tell(context, heard)
        return heard

    def _meter(self, context: Context, usage: Usage) -> None:
        self._used = usage
        context.host.meter(context.work.id, context.attempt.number, usage)

    def _tell_stopped(self, context: Context, seconds: float) -> None:
        context.host.emit(
            AgentEnded(
                work=context.work.id,
                attempt=context.attempt.number,
                how=STOPPED,
                code=-1,
                seconds=seconds,
                output_bytes=0,
                claims=(),
                usage=self._used or UNKNOWN,
            )
        )

    def _tell(self, context: Context, heard: AgentResult) -> None:
        context.host.emit(
            AgentEnded(
                work=context.work.id,
                attempt=context.attempt.number,
                how=heard.ended.how.value,
                code=heard.ended.code,
                seconds=heard.ended.seconds,
                output_bytes=heard.output_bytes,
                claims=tuple(sorted(heard.claims)),
                usage=heard.report.usage,
            )
        )

    def _with_claim(self, context: Context, heard: AgentResult, data: bytes) -> AgentResult:
        """Add the claims that the agent wrote into the plan; the plan itself has been restored."""
        claimed = context.host.claims_in(context.work, data)
        if claimed.note:
            context.note(claimed.note, warning=True)
        if claimed.claims:
            context.host.emit(
                Marked(work=context.work.id, attempt=context.attempt.number, claims=tuple(sorted(claimed.claims)))
            )
        return replace(heard, claims=heard.claims | claimed.claims, reason=heard.reason or claimed.reason)

    async def _inspect(self, context: Context, protection: Protection) -> tuple[Violations, Inspection]:
        """Undo the agent's violations and commit its work, before judging what it said."""
        copy = context.copy
        keep_in = context.host.logs / f"{context.label}-undone"
        violations = await protection.end(keep_in)
        if copy is None:
            self._tell_undone(context, violations)
            return violations, Inspection(violations=violations.texts)
        taken = await self._take(context, copy)
        if taken.forged:
            text = f"it replaced the content of objects in .git/objects ({', '.join(taken.forged)})"
            violations = replace(violations, texts=(*violations.texts, text))
        undone = await undo_protected(copy, *protected(context), taken, keep_in)
        if undone:
            text = f"it changed protected files ({', '.join(undone)})"
            violations = replace(
                violations, paths=(*violations.paths, *undone), texts=(*violations.texts, text), kept_in=keep_in
            )
            taken = await self._take(context, copy)
        if taken.leaked:
            violations = replace(violations, texts=(*violations.texts, f"it wrote {told(taken.leaked)}"))
        self._tell_undone(context, violations)
        return violations, await self._findings(context, copy, taken, violations)

    async def _findings(
        self, context: Context, copy: WorkingCopy, taken: TakenWork, violations: Violations
    ) -> Inspection:
        shown = sorted(set(taken.paths).difference(given_paths(context, copy)))
        return Inspection(
            violations=violations.texts,
            commit=taken.commit,
            summary=subject_of(copy.folder, context.base),
            has_work=bool(shown) or await person_worked(context, copy),
            moved=await copy.differs_from_start(taken),
            touched=(*shown[:MAX_TOUCHED], *(["…"] if len(shown) > MAX_TOUCHED else [])),
            left_out=taken.left_out,
        )

    async def _take(self, context: Context, copy: WorkingCopy) -> TakenWork:
        message = f"{context.work.id}, attempt {context.attempt.number}: the agent's work"
        also = map(copy.own.name, context.work.writable)
        return await copy.take(context.base, message, also=also)

    def _tell_undone(self, context: Context, violations: Violations) -> None:
        if violations.paths:
            context.host.emit(
                Undone(
                    work=context.work.id,
                    attempt=context.attempt.number,
                    paths=violations.paths,
                    kept_in=str(violations.kept_in),
                )
            )

    def _judge(self, context: Context, heard: AgentResult | None, findings: Inspection) -> StepResult:
        if heard is None:
            return StepResult(
                step=self.spec.label,
                verdict=Verdict.INTERRUPTED,
                reason="The agent was stopped before it finished.",
                usage=self._used or UNKNOWN,
                agent=self._agent.name if self._agent else "",
                commit=findings.commit,
            )
        verdict, reason = self._verdict(context, heard, findings)
        return StepResult(
            step=self.spec.label,
            verdict=verdict,
            reason=reason,
            claims=heard.claims,
            learnings=heard.learnings,
            reset=heard.reset,
            said=heard.reason,
            usage=heard.report.usage,
            agent=self._agent.name if self._agent else "",
            prompt=self._prompt,
            commit=findings.commit,
            summary=findings.summary,
            changed=findings.moved,
            touched=findings.touched,
            left_out=findings.left_out,
            need=self._need(context, heard, verdict),
            retry_at=heard.failure.retry_at if heard.failure else None,
            fatal=verdict is Verdict.INTERRUPTED,
        )

    def _verdict(self, context: Context, heard: AgentResult, findings: Inspection) -> tuple[Verdict, str]:
        failed = failure(heard, self.provider(context), findings.violations)
        if failed:
            return failed
        work, claims = context.work, self.claims(context.work)
        claim = self._claim(context, heard)
        if claim and _is_decided(context, claim):
            return self._accept(context, heard, findings)  # the other gates judge the work
        if claim and "DONE" not in heard.claims:
            is_first = not self.may_claim or context.host.note_claim(work.id, claim.kind)
            again = "It asks again in the same run, so this counts as a failed attempt. "
            return (Verdict.BLOCKED, said_in(claim)) if is_first else (Verdict.FAILED, again + said_in(claim))
        if claims and not claims & heard.claims:
            stopped = refused(heard, self.provider(context), changed=findings.moved)
            return stopped or silence(heard, changed=findings.moved) or (work.unclaimed, unclaimed(work, claims, heard))
        return self._accept(context, heard, findings)

    def _claim(self, context: Context, heard: AgentResult) -> Need | None:
        """Return what the agent asks of a person; only the one that does the work may dispute a gate."""
        gates = (*context.attempt.gates, *context.attempt.ui_gates)
        return claim_of(heard if self.may_claim else replace(heard, disputes=()), gates)

    def _need(self, context: Context, heard: AgentResult, verdict: Verdict) -> Need | None:
        """Return what a person must decide after this call."""
        claim = self._claim(context, heard)
        is_asking = self.may_claim and verdict in (Verdict.BLOCKED, Verdict.PASSED)
        return claim if claim and is_asking and not _is_decided(context, claim) else None

    def _accept(self, context: Context, heard: AgentResult, findings: Inspection) -> tuple[Verdict, str]:
        """The agent says that it is done: check that there is work to verify."""
        if context.task and not findings.has_work:
            stopped = refused(heard, self.provider(context), changed=False)
            if stopped:
                return stopped
            said = "The agent said that it was done, but changed nothing."
            if findings.left_out:
                return Verdict.FAILED, f"{said} {not_committed(findings.left_out)}"
            # a report alone can be the work: its contract requires it, and the reviewer decides
            if context.work.duties:
                return Verdict.PASSED, ""
            hint = permission_hint(self.provider(context))
            if hint:
                return Verdict.FAILED, f"{said} It may need permission. {hint}"
            accept = f'ralph accept {context.attempt.target} {context.work.id} --why "…"'
            return Verdict.FAILED, f"{said} If the task needs no work, accept it: {accept}"
        return Verdict.PASSED, ""


def _contract(context: Context, label: str) -> ContractCheck | None:
    """Return the contract of a step; None if it has none."""
    host, work = context.host, context.work
    if label not in work.duties:
        return None
    return ContractCheck.of(partial(host.check_contract, work), host.project, work.writable)


def _variables(context: Context) -> dict[str, str]:
    """Return the variables that describe the attempt to an agent and its tools."""
    return {
        **context.host.variables,
        "RALPH_ROOT": str(context.host.root),
        "RALPH_RUN": context.attempt.run,
        "RALPH_TARGET": context.attempt.target,
        "RALPH_TASK": context.work.id,
        "RALPH_ATTEMPT": str(context.attempt.number),
    }


def _is_decided(context: Context, claim: Need) -> bool:
    """Return whether an agent disputes a gate that a person has already waived for its task."""
    return claim.kind is NeedKind.DISPUTE and bool(context.task and claim.gate in context.task.waived)
