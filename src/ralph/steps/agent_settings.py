"""What a person may configure about a step that calls an agent."""

from __future__ import annotations

from pydantic import Field

from ralph.steps.base import StepSettings
from ralph.values import Duration


class CallSettings(StepSettings):
    """How an agent is called for this step."""

    prompt_file: str | None = Field(
        default=None, description="The prompt template, a Markdown file; null: the default one."
    )
    model: str | None = Field(default=None, description="The model that the agent uses; null: the configured one.")
    timeout: Duration | None = Field(default=None, description="The time limit of the call; null: 15m.")
    allowed_tools: str | None = Field(
        default=None, description="The tools that the agent may use, separated by commas, if it has an option for this."
    )


class AgentSettings(CallSettings):
    prd_file: str | None = Field(default=None, description="The plan's file; null: .ralph/prd.json.")
    marker_file: str | None = Field(
        default=None, description="Run the step only once: Ralph creates this file when it has run."
    )
