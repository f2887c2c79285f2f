"""The table of step types; other packages add to it through the entry point group `ralph.steps`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph import plugins
from ralph.errors import RalphError
from ralph.steps.acceptance import AcceptanceStep
from ralph.steps.agent import AgentStep
from ralph.steps.answer import AnswerStep
from ralph.steps.base import Step
from ralph.steps.command import CommandStep
from ralph.steps.final_review import FinalReviewStep
from ralph.steps.git_commit import GitCommitStep
from ralph.steps.noop import NoopStep
from ralph.steps.readme_check import ReadmeCheckStep
from ralph.steps.review import ReviewStep
from ralph.steps.role import RoleStep
from ralph.steps.ruling import RulingStep
from ralph.steps.screenshot import ScreenshotStep
from ralph.steps.verify import VerifyStep
from ralph.validation import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

STEPS: dict[str, type[Step]] = {
    "acceptance-tests": AcceptanceStep,
    "agent": AgentStep,
    "command": CommandStep,
    "verify": VerifyStep,
    "answer": AnswerStep,
    "review": ReviewStep,
    "ruling": RulingStep,
    "role": RoleStep,
    "screenshot": ScreenshotStep,
    "final-review": FinalReviewStep,
    "git-commit": GitCommitStep,
    "readme-check": ReadmeCheckStep,
    "noop": NoopStep,
}
GROUP = "ralph.steps"


def step_type(name: str) -> type[Step]:
    """Return the step type with this name."""
    return STEPS[name] if name in STEPS else offered_type(name)


def offered_type(name: str) -> type[Step]:
    """Return the step type that a configuration names; raise an error that suggests the nearest name."""
    if name in STEPS and STEPS[name].offered:
        return STEPS[name]
    found = plugins.added(GROUP)
    if name not in found:
        names = step_names()
        raise RalphError(
            f"There is no step type {name!r}{nearest(name, names)}",
            remedy=f"Step types: {', '.join(names)}. Other packages can add more (entry point group {GROUP}).",
        )
    return _load(found[name])


def step_names() -> list[str]:
    """Return every step type that a configuration may name, Ralph's own first."""
    return [
        *(name for name, kind in STEPS.items() if kind.offered),
        *(name for name in plugins.added(GROUP) if name not in STEPS),
    ]


def is_built_in(step: Step) -> bool:
    return type(step) in STEPS.values()


def _load(point: EntryPoint) -> type[Step]:
    loaded = plugins.load(point, "step type")
    if not (isinstance(loaded, type) and issubclass(loaded, Step)):
        raise RalphError(f"The step type {point.name!r} ({point.value}) is not a subclass of ralph.steps.Step.")
    return loaded
