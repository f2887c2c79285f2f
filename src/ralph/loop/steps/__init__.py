"""The step types: one visible table."""

from __future__ import annotations

from ralph.loop.steps.agent import AgentStep
from ralph.loop.steps.base import Step
from ralph.loop.steps.git_commit import GitCommitStep
from ralph.loop.steps.verify import VerifyStep

STEPS: dict[str, type[Step]] = {
    "agent": AgentStep,
    "verify": VerifyStep,
    "git-commit": GitCommitStep,
}
