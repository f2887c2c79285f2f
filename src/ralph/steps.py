"""All that a package needs to add a step type: subclass `Step`, name it under the entry point group `ralph.steps`."""

from ralph.loop.record import StepResult
from ralph.loop.steps.base import Context, Settings, Step
from ralph.plan.work import Verdict

__all__ = ["Context", "Settings", "Step", "StepResult", "Verdict"]
