"""The API for packages that add a step type: subclass `Step` and name it under the entry point group `ralph.steps`."""

from ralph.plan.attempt import StepResult
from ralph.plan.work import Verdict
from ralph.steps.base import Context, Step, StepSettings

__all__ = ["Context", "Step", "StepResult", "StepSettings", "Verdict"]
