"""What an attempt's steps need from where they run. The engine's own host is `engine/host.py`; tests bring another."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Protocol

from ralph.checkout.working_copy import WorkingCopy
from ralph.config import Config
from ralph.journal.events import Event
from ralph.plan.attempt import Attempt
from ralph.plan.model import GateResult, Plan
from ralph.plan.prompting import PlanClaims, Prompt, PromptRequest
from ralph.plan.work import ContractResult, FileTexts, Work
from ralph.protect.protection import Protection
from ralph.verify.gates import GateRun
from ralph.verify.suite import SuiteResult


class Host(Protocol):
    """A working copy, the variables that belong to it, and the run around it."""

    @property
    def config(self) -> Config: ...

    @property
    def root(self) -> Path:
        """The person's project folder. Nothing is written there but Ralph's own files."""
        ...

    @property
    def copy(self) -> WorkingCopy | None:
        """Where the work is done; None: the agent only answers."""
        ...

    @property
    def cwd(self) -> Path:
        """The folder in which agents and commands start."""
        ...

    @property
    def project(self) -> Path:
        """Where Ralph's own files are, as an agent here sees them."""
        ...

    @property
    def logs(self) -> Path: ...

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables for agents, commands and hooks."""
        ...

    @property
    def shares_services(self) -> bool:
        """Whether other attempts may need the services at the same time."""
        ...

    def emit(self, event: Event) -> None: ...

    def temporary(self) -> AbstractContextManager[Path]:
        """A new temporary folder for one use."""
        ...

    @property
    def plan(self) -> Plan:
        """The plan as it is now."""
        ...

    def prompt(self, request: PromptRequest) -> Prompt: ...

    def claims_in(self, work: Work, data: bytes) -> PlanClaims:
        """What an agent claims by what it wrote into `work.claimable`."""
        ...

    def check_contract(self, work: Work, step: str, before: FileTexts, after: FileTexts) -> ContractResult:
        """Whether a step wrote what it owes."""
        ...

    def protect(self, work: Work) -> Protection:
        """Start watching what this work's agents, gates and hooks must not change."""
        ...

    def inspecting(self) -> AbstractAsyncContextManager[object]:
        """A turn at inspecting what an agent left: few at a time, so that the first is soon ready to land."""
        ...

    def agent_ended(self) -> None:
        """An agent may have removed the run's lock: take it again."""
        ...

    async def reading_host(self, commit: str, paths: tuple[str, ...]) -> Host:
        """Another host, with a checkout of a commit that is thrown away, and the given files of Ralph's own."""
        ...

    async def tree_of(self, commit: str) -> str: ...

    def known_green(self, tree: str) -> tuple[GateResult, ...] | None:
        """What the gates said of this very tree, if they have passed it already."""
        ...

    async def verify(self, attempt: Attempt, commit: str) -> SuiteResult:
        """Run the attempt's gates on a clean checkout of a commit."""
        ...

    def command_run(self, attempt: Attempt, label: str) -> AbstractContextManager[GateRun]:
        """What a command step needs to run in the working copy."""
        ...

    async def commit_base(self, attempt: Attempt) -> str:
        """The commit that the attempt's own commit will stand on."""
        ...

    async def screenshots(self, attempt: Attempt) -> None:
        """Open the pages of UI work as the base has them; what they show decides nothing."""
        ...
