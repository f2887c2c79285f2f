"""A project whose agent is the real Claude Code, and a model that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.e2e import agents
from tests.e2e.model_server import ModelServer, Turn

API_KEY = "sk-ant-not-a-real-key-0123456789"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "IS_SANDBOX": "1",  # it refuses to skip its permissions as root otherwise
}

ModelSays = Callable[..., ModelServer]


def slot(project: Project) -> Path:
    """Where the agent works: Claude Code names files by their whole paths."""
    return project.path / ".ralph/worktrees/.slots/1"


@pytest.fixture(scope="session")
def claude_code() -> Path:
    try:
        return agents.claude_code()
    except agents.NotAvailable as reason:
        pytest.skip(f"Claude Code cannot be installed here: {reason}")


@pytest.fixture
def model_says(project: Project, claude_code: Path) -> Iterator[ModelSays]:
    """Start a model with a script for each conversation, and point the project's Claude Code to it."""
    with ExitStack() as servers:

        def start(*conversations: Sequence[Turn]) -> ModelServer:
            model = servers.enter_context(ModelServer(*conversations))
            project.env |= {**QUIET, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": API_KEY}
            project.env["PATH"] = f"{claude_code.parent}:{project.env['PATH']}"
            return model

        yield start
