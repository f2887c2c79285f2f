"""What workflows answer alike: the configured gates for every task, those of the UI for the whole, and no claims."""

from __future__ import annotations

from ralph.config import Config
from ralph.engine.workflow import PlanClaims
from ralph.plan.model import Plan, Task
from ralph.plan.work import Work
from ralph.verify.gates import Gate, default_gates, simple_gates


class PlainGates:
    """A base for workflows whose tasks have no tags of their own."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.already_red: tuple[str, ...] = ()
        self.guarded: tuple[str, ...] = ()

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        return default_gates(self._config)

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        return simple_gates(self._config.verify.ui, self._config) if task is None else ()

    def is_ui(self, plan: Plan, task: Task | None) -> bool:
        return bool(self.ui_gates(task))

    def claimed(self, plan: Plan, work: Work, data: bytes) -> PlanClaims:
        return PlanClaims()
