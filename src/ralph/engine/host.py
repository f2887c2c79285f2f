"""The host for attempts on this machine: one of Ralph's working copies and the run around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.checkout.copy_own_files import copy_own_files
from ralph.checkout.set_aside import set_aside
from ralph.checkout.working_copy import WorkingCopy
from ralph.checkout.worktrees import note_use
from ralph.config import IN_PLACE, Config, NamedProvider, Provider
from ralph.engine.acceptance_prompts import prompt_for
from ralph.engine.agent_limits import AgentLimits
from ralph.engine.breaker import Breaker
from ralph.engine.containment import around_agent, around_gate, is_contained
from ralph.engine.coupling import count_conflict
from ralph.engine.evidence import weigh
from ralph.engine.holding import waits_for_person
from ralph.engine.integrity import concerns
from ralph.engine.interrupt import Interrupt
from ralph.engine.race import Racer
from ralph.engine.run import Run
from ralph.engine.steering import Steering
from ralph.engine.train import Car, Coupling
from ralph.frozen import Frozen
from ralph.git.repo import Repo
from ralph.journal.events import AgentSpoke, AgentStarted, Event
from ralph.plan.acceptance_tests import AcceptanceTests
from ralph.plan.attempt import Attempt, Record
from ralph.plan.evidence import Concern, Proof
from ralph.plan.model import GateResult, NeedKind, Plan
from ralph.plan.prompting import PlanClaims, Prompt, PromptRequest
from ralph.plan.usage import Usage
from ralph.plan.work import ContractResult, FileTexts, StepSpec, Work
from ralph.process.enclosure import Enclosure
from ralph.process.redaction import Secrets
from ralph.protect.protection import Protection, ProtectionScope
from ralph.steps.host import Verified
from ralph.stores import lock
from ralph.stores.held_out import HeldOutStore, lay
from ralph.verify.gates import GateRun
from ralph.verify.suite import SuiteResult

if TYPE_CHECKING:
    from ralph.engine.acceptance import AcceptanceDesk
    from ralph.steps.recorder import Recorder


class LocalHost(Frozen):
    """There is one for each slot, one for each reviewer's copy and one for planning. See `steps/host.py`."""

    run: Run
    copy: WorkingCopy | None = None
    scratch: Path | None = None  # where an agent starts that builds nothing
    variables: dict[str, str] = field(default_factory=dict)
    slot: int = 0
    repo: Repo | None = None  # the person's repository, when nothing is built
    racer: Racer | None = None  # the attempt that runs here now, if it may be ended alone
    car: Car | None = None  # the work of its attempt on the merge train
    private: Path | None = None  # the logs of an agent whose words no other agent may read

    @property
    def config(self) -> Config:
        return self.run.config

    @property
    def plan(self) -> Plan:
        return self.run.plan

    @property
    def root(self) -> Path:
        return self.run.workspace.root

    @property
    def cwd(self) -> Path:
        return self.copy.root if self.copy else self.scratch or self.root

    @property
    def project(self) -> Path:
        if self.copy is None:
            return self.cwd
        return self.copy.project if self.copy.own.held else self.root

    @property
    def logs(self) -> Path:
        return self.private or self.run.logs

    @property
    def secrets(self) -> Secrets:
        return self.run.secrets

    @property
    def recorder(self) -> Recorder | None:
        return None if self.private else self.run.recorder

    @property
    def shares_services(self) -> bool:
        return self.run.is_parallel

    @property
    def interrupt(self) -> Interrupt:
        return self.racer.interrupt if self.racer else self.run.interrupt

    @property
    def may_wait(self) -> bool:
        return self.racer is None or self.racer.is_alone

    @property
    def steering(self) -> Steering:
        return self.run.steering

    @property
    def limits(self) -> AgentLimits:
        return self.run.limits

    def meter(self, work: str, attempt: int, usage: Usage) -> None:
        self.run.meter(work, attempt, usage)

    def agent(self, agents: Sequence[NamedProvider]) -> NamedProvider:
        return self.limits.free(agents) or agents[0]

    def note(self, record: Record) -> None:
        self.run.note(record)

    def breaker(self, spec: StepSpec) -> Breaker | None:
        return self.run.breaker(spec)

    async def pause(self, seconds: float) -> bool:
        return await self.steering.wait(seconds, self.interrupt)

    def emit(self, event: Event) -> None:
        if not self.private:
            self.run.emit(event)
        elif isinstance(event, AgentStarted):
            self.run.emit(replace(event, log="", words=""))
        elif not isinstance(event, AgentSpoke):
            self.run.emit(event)

    def temporary(self) -> AbstractContextManager[Path]:
        return self.run.temporary()

    def enclose_agent(self, provider: Provider, work: Work, temporary: Path, private: Path) -> Enclosure | None:
        folder = Path(self.variables.get("RALPH_WORKTREE", self.cwd))
        shared = () if self.project != self.root else (*work.writable, work.claimable)
        outside = tuple(self.root / path for path in shared if path)  # the plan is outside of the working copy
        shown = (self.private,) if self.private else ()  # a long prompt is a file there
        return around_agent(self.run, provider, folder, outside, temporary, private, shown)

    def enclose_hooks(self, temporary: Path) -> Enclosure | None:
        assert self.copy, "hooks run in a working copy"
        return around_gate(self.run, self.copy.folder, temporary=temporary)

    def prompt(self, request: PromptRequest) -> Prompt:
        return prompt_for(self.run.workflow, self.config, request)

    @property
    def acceptance(self) -> AcceptanceDesk:
        return self.run.acceptance

    async def prepared(self, attempt: Attempt) -> Attempt:
        return await self.run.acceptance.prepared(attempt)

    def claims_in(self, work: Work, data: bytes) -> PlanClaims:
        """One folder can have the plan of several agents: what others have marked there is theirs to claim."""
        run = self.run
        if not run.shares_plan:
            return run.workflow.claimed(run.plan, work, data)
        run.marks.note(run.workflow, run.plan, data)
        return replace(run.workflow.claimed(run.plan, work, run.marks.take(work) or data), note="")

    def check_contract(self, work: Work, step: str, before: FileTexts, after: FileTexts) -> ContractResult:
        return self.run.workflow.check_contract(work, step, before, after)

    def protect(self, work: Work) -> Protection:
        run, paths = self.run, self.run.workflow.plan_paths
        return Protection.begin(
            ProtectionScope(
                workspace=run.workspace,
                project=self.project,
                # nobody but a person can write there from a sandbox: `PlanEdits` takes it over
                plan=() if run.own.held and is_contained(run) else tuple(run.project / path for path in paths),
                plan_paths=paths,
                guarded=run.workflow.guarded,
                guards=run.guards,
                trace=run.trace,
                emit=run.emit,
                # a program in a sandbox cannot change it, so whatever changes is the person's
                repo=None if is_contained(run) else run.branch.repo if run.branch else self.repo,
                branch=run.branch.ref if run.branch else "",
                copy=self.copy,
            ),
            work,
        )

    def inspecting(self) -> AbstractAsyncContextManager[object]:
        return self.run.inspections

    def agent_ended(self) -> None:
        lock.renew(self.run.workspace.lock, self.run.owner)

    async def reading_host(self, commit: str, paths: tuple[str, ...]) -> LocalHost:
        run = self.run
        copy = run.working_copy(run.workspace.review_copies / str(self.slot))
        note_use(copy.folder, run.plan.target, copy.repo)
        await run.reset(copy, commit)
        provided = await run.provide(copy)
        if not copy.is_new:
            await copy.clean()
        await run.restore_provided(copy)
        if self.copy:
            copy_own_files(self.copy, copy, paths)
        variables = {**self.variables, "RALPH_WORKTREE": str(copy.folder), **provided}
        return LocalHost(run=run, copy=copy, variables=variables, slot=self.slot)

    @asynccontextmanager
    async def tester_host(self, base: str, tests: AcceptanceTests) -> AsyncIterator[LocalHost]:
        """Yield a host whose copy has the base and the tester's last tests; afterwards remove it."""
        run = self.run
        copy = run.working_copy(run.workspace.tester_copies / str(self.slot))
        await run.reset(copy, base)
        provided = await run.provide(copy)
        lay(run.acceptance.files_of((tests.task,)) if tests.files else (), copy.root)
        private = HeldOutStore.of(run.workspace).new_logs(run.id) if self.config.acceptance.held_out else None
        variables = {**self.variables, "RALPH_WORKTREE": str(copy.folder), **provided}
        try:
            yield LocalHost(run=run, copy=copy, variables=variables, slot=self.slot, private=private)
        finally:
            copy.remove()

    async def tree_of(self, commit: str) -> str:
        assert self.run.branch, "what is verified is on a branch"
        return await self.run.branch.repo.tree_of(commit)

    def known_green(self, tree: str) -> tuple[GateResult, ...] | None:
        return self.run.verified.get(tree)

    async def verify(self, attempt: Attempt, commit: str) -> Verified:
        is_in_place = self.config.verify.where == IN_PLACE
        with nullcontext() if is_in_place or not self.copy else set_aside(self.copy.folder):
            races = bool(self.racer and self.racer.rivals)
            is_held = waits_for_person(self.run, attempt.work)
            may_ride = bool(self.car and not self.car.landed_as and attempt.work.rides_early)
            if self.car and may_ride and not (is_in_place or races or is_held):
                return await self._ride(self.car, attempt, commit)
            suite = await self._check(attempt, commit, attempt.label)
            return Verified(suite=suite, commit=commit, base=attempt.base)

    async def _ride(self, car: Car, attempt: Attempt, commit: str) -> Verified:
        numbers = count(1)

        async def check(coupling: Coupling) -> SuiteResult:
            number = next(numbers)
            label = f"{attempt.label}-again{number}" if number > 1 else attempt.label
            suite = await self._check(attempt, coupling.commit, label)
            if not suite.reason:
                self.run.verified[await self.tree_of(coupling.commit)] = suite.results
            return suite

        arrival = await self.run.train(attempt.work.line).verify(car, commit, check)
        coupling, suite = arrival.coupling, arrival.result or SuiteResult(results=())
        conflict = coupling.conflict
        is_too_often = bool(conflict) and count_conflict(self.run, attempt.work)
        return Verified(
            suite=suite,
            commit=coupling.commit,
            base=coupling.base,
            is_merged=coupling.is_merged,
            conflict=conflict,
            is_too_often=is_too_often,
        )

    async def _check(self, attempt: Attempt, commit: str, label: str) -> SuiteResult:
        return await self.run.verifier.check(
            commit,
            attempt.gates,
            label,
            work=attempt.work.id,
            attempt=attempt.number,
            task=attempt.task,
            ui=attempt.number,
            slot=self.copy,
            protected=attempt.acceptance.paths if attempt.acceptance else (),
        )

    def note_claim(self, work: str, kind: NeedKind) -> bool:
        is_first = (work, kind) not in self.run.claims
        self.run.claims.add((work, kind))
        return is_first

    def forget_claim(self, work: str, kind: NeedKind) -> None:
        self.run.claims.discard((work, kind))

    def fails_as_before(self, results: tuple[GateResult, ...]) -> bool:
        return self.run.red_before.is_unchanged(results)

    async def audit(self, attempt: Attempt, commit: str, verified: Verified) -> tuple[Concern, ...]:
        return await concerns(self.run, attempt, commit, verified)

    async def evidence(self, attempt: Attempt, verified: Verified, redefining: Collection[str]) -> Proof:
        return await weigh(self.run, attempt, verified, redefining)

    @contextmanager
    def command_run(self, attempt: Attempt, label: str) -> Iterator[GateRun]:
        assert self.copy, "a command runs where work is done"
        with self.run.verifier.command_run(
            self.copy, self.variables, label, attempt.work.id, attempt.number
        ) as gate_run:
            yield gate_run

    async def commit_base(self, attempt: Attempt) -> str:
        """A commit that closes a line replaces all of its commits, so it starts from the branch's own commit."""
        branch = self.run.branch
        return await branch.tip() if branch and attempt.work.closes else attempt.base

    async def screenshots(self, attempt: Attempt) -> None:
        await self.run.verifier.screenshots(attempt.base, attempt.task, attempt.work.id)
