"""A project whose agent is a real program, and a model that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.e2e.agents import AGENTS, API_KEY, NotAvailable, RealAgent, installed
from tests.e2e.model_server import ModelServer
from tests.e2e.protocols import Turn

__all__ = ["API_KEY", "ModelSays", "slot"]
ModelSays = Callable[..., ModelServer]


def slot(project: Project) -> Path:
    """Where the agent works: Claude Code names files by their whole paths."""
    return project.path / ".ralph/worktrees/.slots/1"


@pytest.fixture(params=["claude"])
def agent(request: pytest.FixtureRequest) -> RealAgent:
    """Claude Code, or each of the programs that a test names by indirect parameters."""
    found = AGENTS[request.param]
    try:
        installed(found)
    except NotAvailable as reason:
        pytest.skip(f"{found.name} cannot be installed here: {reason}")
    return found


@pytest.fixture
def model_says(project: Project, agent: RealAgent) -> Iterator[ModelSays]:
    """Start a model with a script for each conversation, and point the project's agent to it."""
    with ExitStack() as servers:

        def start(*conversations: Sequence[Turn], about: Mapping[str, Sequence[Turn]] | None = None) -> ModelServer:
            model = servers.enter_context(ModelServer(*conversations, about=about))
            project.env |= agent.env(model.url)
            project.env["PATH"] = f"{agent.program.parent}:{project.env['PATH']}"
            for name, text in agent.files(model.url).items():
                path = Path(project.env["HOME"]) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return model

        yield start
