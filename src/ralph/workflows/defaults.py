"""What workflows have in common: the configured gates for every task, UI gates for the whole plan, no claims."""

from __future__ import annotations

from pathlib import Path

from ralph.config import Config
from ralph.plan.model import Gate, Plan, Task
from ralph.plan.prompting import PlanClaims
from ralph.plan.work import ContractResult, FileTexts, Work
from ralph.verify.gate_list import default_gates, simple_gates, waived


class WorkflowDefaults:
    """The defaults of every workflow."""

    def __init__(self, config: Config, templates: Path) -> None:
        self._config = config
        self.templates = templates  # the folder with the person's own prompts
        self.already_red: tuple[str, ...] = ()
        self.guarded: tuple[str, ...] = ()

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        return waived(default_gates(self._config), task.waived if task else ())

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        return simple_gates(self._config.verify.ui, self._config) if task is None else ()

    def is_ui(self, plan: Plan, task: Task | None) -> bool:
        return bool(self.ui_gates(task))

    def claimed(self, plan: Plan, work: Work, data: bytes) -> PlanClaims:
        return PlanClaims()

    def check_contract(self, work: Work, step: str, before: FileTexts, after: FileTexts) -> ContractResult:
        return ContractResult()
