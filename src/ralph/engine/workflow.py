"""What the engine asks of a workflow: data and a few pure answers, never a loop of its own."""

from __future__ import annotations

from typing import Protocol

from ralph.engine.settle import Policy
from ralph.plan.model import Gate, Plan, Task
from ralph.plan.prompting import PlanClaims, Prompt, PromptRequest
from ralph.plan.work import ContractResult, FileTexts, Finished, Waiting, Work, WorkKind


class Store(Protocol):
    """Reads and writes one on-disk layout of a plan, atomically."""

    def load(self) -> Plan: ...

    def save(self, plan: Plan) -> Plan | None:
        """Returns the plan as it is now, where others write it too."""
        ...


class Workflow(Protocol):
    """How a plan is worked on: what comes next, with which steps, prompts and gates."""

    name: str
    policy: Policy
    guarded: tuple[str, ...]  # files and folders of a person's that no agent may change, below the project's root
    already_red: tuple[str, ...]  # gates that failed before anybody did anything; set by the engine

    @property
    def target(self) -> str: ...

    @property
    def store(self) -> Store: ...

    @property
    def plan_paths(self) -> tuple[str, ...]:
        """The files that say what is done, relative to the project's root."""
        ...

    @property
    def state_paths(self) -> tuple[str, ...]:
        """What a state commit holds, likewise."""
        ...

    @property
    def state_message(self) -> str:
        """What a state commit is called."""
        ...

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Waiting | Finished:
        """What to begin while the tasks in `running` are under way."""
        ...

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        """The work that a record of an earlier run names, if it still exists."""
        ...

    def prompt(self, occasion: PromptRequest) -> Prompt: ...

    def claimed(self, plan: Plan, work: Work, data: bytes) -> PlanClaims:
        """What an agent claims by what it wrote into `work.claimable`."""
        ...

    def check_contract(self, work: Work, step: str, before: FileTexts, after: FileTexts) -> ContractResult:
        """Whether a step wrote what it owes (`work.duties`)."""
        ...

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        """The gates every task has; without a task, those of the whole suite."""
        ...

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        """The gates that need services and pages; empty for a task without any."""
        ...

    def is_ui(self, plan: Plan, task: Task | None) -> bool:
        """Whether services and pages are to be checked; without a task: for any task of the plan."""
        ...

    def commit_message(self, plan: Plan, work: Work) -> str: ...
