"""What steps need from the machine they run on. The engine's host is `engine/host.py`; tests bring another."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ralph.checkout.working_copy import WorkingCopy
from ralph.config import Config, NamedProvider, Provider
from ralph.frozen import Frozen
from ralph.journal.events import Event
from ralph.plan.acceptance_tests import AcceptanceTests
from ralph.plan.attempt import Attempt
from ralph.plan.evidence import Concern, Proof
from ralph.plan.model import GateResult, NeedKind, Plan
from ralph.plan.prompting import PlanClaims, Prompt, PromptRequest
from ralph.plan.usage import Usage
from ralph.plan.work import ContractResult, FileTexts, Work
from ralph.process.enclosure import Enclosure
from ralph.process.redaction import Secrets
from ralph.protect.protection import Protection
from ralph.verify.gates import GateRun
from ralph.verify.suite import SuiteResult

if TYPE_CHECKING:
    from ralph.steps.recorder import Recorder


class Verified(Frozen):
    """What the gates said about an attempt's work, and of which commit."""

    suite: SuiteResult
    commit: str  # what they ran on: the work, with everything that lands before it
    base: str  # the same without the work
    is_merged: bool = False  # other code has landed, or lands first, since the attempt began
    conflict: str = ""  # why the work cannot be merged with that; no gate has run
    is_too_often: bool = False  # it has conflicted so often that a person must decide

    @property
    def results(self) -> tuple[GateResult, ...]:
        return self.suite.results


class AcceptanceTable(Protocol):
    """Keeps and checks acceptance tests."""

    def turn(self, task: str) -> AbstractAsyncContextManager[object]:
        """Serialize attempts at the same task."""
        ...

    async def known(self, attempt: Attempt) -> AcceptanceTests:
        """Return the tests of the attempt's task; without files if they must be written."""
        ...

    async def collect(
        self, attempt: Attempt, copy: WorkingCopy, before: AcceptanceTests, tester: str, mistake: str
    ) -> AcceptanceTests:
        """Keep what a tester left in its copy. `mistake` says why none of it can be used; "" if it can."""
        ...

    async def check(self, attempt: Attempt, tests: AcceptanceTests) -> AcceptanceTests:
        """Find out whether the tests fail without the work."""
        ...

    def ask_again(self, attempt: Attempt, reason: str) -> None:
        """Have the tester write the tests again."""
        ...

    async def give(self, attempt: Attempt, copy: WorkingCopy) -> None:
        """Put the tests into the working copy of the agent that must make them pass, unless they are held out."""
        ...

    async def take_away(self, attempt: Attempt, copy: WorkingCopy) -> None:
        """Remove tests that nobody requires any more."""
        ...


class Host(Protocol):
    """A working copy, its variables and the run around it."""

    @property
    def config(self) -> Config: ...

    @property
    def root(self) -> Path:
        """The person's project folder; Ralph writes only its own files there."""
        ...

    @property
    def copy(self) -> WorkingCopy | None:
        """The agent's working copy; None if the agent only answers."""
        ...

    @property
    def cwd(self) -> Path:
        """The folder in which agents and commands start."""
        ...

    @property
    def project(self) -> Path:
        """The folder with Ralph's own files, as an agent here sees them."""
        ...

    @property
    def logs(self) -> Path: ...

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables for agents, commands and hooks."""
        ...

    @property
    def secrets(self) -> Secrets:
        """What must not be in anything that is written."""
        ...

    @property
    def recorder(self) -> Recorder | None:
        """Records the agent calls of the run; None: they are not recorded."""
        ...

    @property
    def shares_services(self) -> bool:
        """Whether other attempts may need the services at the same time."""
        ...

    def emit(self, event: Event) -> None: ...

    def meter(self, work: str, attempt: int, usage: Usage) -> None:
        """Take note of what a running call has used so far; the run may end it."""
        ...

    def agent(self, agents: Sequence[NamedProvider]) -> NamedProvider:
        """Return the one of these agents that works now: the first that is not limited."""
        ...

    def temporary(self) -> AbstractContextManager[Path]:
        """Create a temporary folder for one use."""
        ...

    def enclose_agent(self, provider: Provider, work: Work, temporary: Path, private: Path) -> Enclosure | None:
        """Return the sandbox for a call of an agent, with its two temporary folders; None: it runs without one."""
        ...

    def enclose_hooks(self, temporary: Path) -> Enclosure | None:
        """Return the sandbox for commit hooks; None: they run without one."""
        ...

    @property
    def plan(self) -> Plan:
        """The current plan."""
        ...

    def prompt(self, request: PromptRequest) -> Prompt: ...

    @property
    def acceptance(self) -> AcceptanceTable:
        """The acceptance tests of the plan's tasks."""
        ...

    def tester_host(self, base: str, tests: AcceptanceTests) -> AbstractAsyncContextManager[Host]:
        """Yield another host with a disposable checkout of a commit, for a tester; its last tests are in it."""
        ...

    async def prepared(self, attempt: Attempt) -> Attempt:
        """Return the attempt with the acceptance tests that its task has now."""
        ...

    def claims_in(self, work: Work, data: bytes) -> PlanClaims:
        """Return the claims that an agent wrote into `work.claimable`."""
        ...

    def check_contract(self, work: Work, step: str, before: FileTexts, after: FileTexts) -> ContractResult:
        """Check whether a step fulfilled its contract."""
        ...

    def protect(self, work: Work) -> Protection:
        """Start watching what this work's agents, gates and hooks must not change."""
        ...

    def inspecting(self) -> AbstractAsyncContextManager[object]:
        """Limit how many attempts are inspected at once, so that the first is ready to land soon."""
        ...

    def agent_ended(self) -> None:
        """Renew the run's lock, which the agent may have removed."""
        ...

    async def reading_host(self, commit: str, paths: tuple[str, ...]) -> Host:
        """Return another host with a disposable checkout of a commit and the given files of Ralph's own."""
        ...

    async def tree_of(self, commit: str) -> str: ...

    def known_green(self, tree: str) -> tuple[GateResult, ...] | None:
        """Return the gate results for exactly this tree, if the gates have already passed it."""
        ...

    async def verify(self, attempt: Attempt, commit: str) -> Verified:
        """Run the attempt's gates on a clean checkout of its work, or of its work with what lands before it."""
        ...

    def note_claim(self, work: str, kind: NeedKind) -> bool:
        """Take note that an agent asks for a person; return whether it is the first time in this run."""
        ...

    def forget_claim(self, work: str, kind: NeedKind) -> None:
        """Forget that an agent asked for a person: what it asked about has changed."""
        ...

    def fails_as_before(self, results: tuple[GateResult, ...]) -> bool:
        """Take note of an attempt's gates; return whether all that are red fail as before the first attempt, again."""
        ...

    async def audit(self, attempt: Attempt, commit: str, verified: Verified) -> tuple[Concern, ...]:
        """Find out what the work may have weakened about the checks, and which tests its gates ran no longer."""
        ...

    async def evidence(self, attempt: Attempt, verified: Verified, redefining: Collection[str]) -> Proof:
        """Find out what shows that green work does what it should: does anything fail without it?

        `redefining` are files that change what the gates' commands lead to; a gate must not prove its own change.
        """
        ...

    def command_run(self, attempt: Attempt, label: str) -> AbstractContextManager[GateRun]:
        """Yield the settings with which a command step runs in the working copy."""
        ...

    async def commit_base(self, attempt: Attempt) -> str:
        """Return the parent of the attempt's own commit."""
        ...

    async def screenshots(self, attempt: Attempt) -> None:
        """Open the pages of UI work at the base commit, for screenshots only."""
        ...
