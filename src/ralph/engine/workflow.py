"""What the engine asks of a workflow: data and a few pure functions, never a loop."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ralph.engine.settle import Policy
from ralph.plan.model import Gate, Plan, Task
from ralph.plan.prompting import PlanClaims, Prompt, PromptRequest
from ralph.plan.work import ContractResult, FileTexts, Finished, Waiting, Work, WorkKind


class Store(Protocol):
    """Reads and writes one on-disk layout of a plan, atomically."""

    def load(self) -> Plan: ...

    def save(self, plan: Plan) -> Plan | None:
        """Save the plan; return the current plan if other processes write it too."""
        ...


class Workflow(Protocol):
    """Defines how a plan is worked on: what comes next, with which steps, prompts and gates."""

    name: str
    policy: Policy
    templates: Path  # the folder with the person's own prompts
    guarded: tuple[str, ...]  # the person's files and folders that no agent may change, relative to the project root
    already_red: tuple[str, ...]  # gates that failed before the first attempt; set by the engine

    @property
    def target(self) -> str: ...

    @property
    def store(self) -> Store: ...

    @property
    def plan_paths(self) -> tuple[str, ...]:
        """The files that record progress, relative to the project root."""
        ...

    @property
    def state_paths(self) -> tuple[str, ...]:
        """The files in a state commit, relative to the project root."""
        ...

    @property
    def state_message(self) -> str:
        """The message of a state commit."""
        ...

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Waiting | Finished:
        """Return what to start while the tasks in `running` are running."""
        ...

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        """Return the work that a record of an earlier run names; None if it no longer exists."""
        ...

    def prompt(self, occasion: PromptRequest) -> Prompt: ...

    def claimed(self, plan: Plan, work: Work, data: bytes) -> PlanClaims:
        """Return the claims that an agent wrote into `work.claimable`."""
        ...

    def check_contract(self, work: Work, step: str, before: FileTexts, after: FileTexts) -> ContractResult:
        """Check whether a step fulfilled its contract (`work.duties`)."""
        ...

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        """Return the gates of a task; without a task, those of the whole suite."""
        ...

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        """Return the gates that need services and pages; empty for a task that is not UI work."""
        ...

    def is_ui(self, plan: Plan, task: Task | None) -> bool:
        """Return whether services and pages are checked; without a task, whether any task of the plan needs that."""
        ...

    def commit_message(self, plan: Plan, work: Work) -> str: ...
