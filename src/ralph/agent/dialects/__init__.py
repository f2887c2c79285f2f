"""How to talk to each agent: one table, one row for each agent Ralph knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from ralph.agent.dialects.base import Reader
from ralph.agent.dialects.claude import ClaudeReader
from ralph.agent.dialects.text import TextReader
from ralph.agent.speech import Speech
from ralph.config import Provider
from ralph.errors import RalphError
from ralph.validation import nearest

STREAMED_IDLE = 900.0
MODEL_KEYS = ("ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*", "AZURE_*", "AWS_*", "OLLAMA_*")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How an agent's output is read."""

    name: str
    reader: Callable[[Speech], Reader]
    idle: float | None = None  # seconds of silence that are no longer normal


@dataclass(frozen=True, kw_only=True)
class KnownAgent:
    """An agent Ralph can write a configuration for."""

    name: str
    command: str
    args: tuple[str, ...]
    install: str
    env: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)  # variables it gets unless a person has set them
    model_args: tuple[str, ...] = ("--model", "{model}")
    structured: tuple[str, ...] = field(default=())  # with these among its arguments its events can be read
    dialect: str = "text"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="text", reader=TextReader),
        Dialect(name="claude", reader=ClaudeReader, idle=STREAMED_IDLE),
    )
}

AGENTS = {
    agent.name: agent
    for agent in (
        KnownAgent(
            name="claude",
            command="claude",
            args=("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
            install="npm install -g @anthropic-ai/claude-code",
            env=("ANTHROPIC_*", "CLAUDE_*", "DISABLE_*", "AWS_*", "GOOGLE_*", "CLOUD_ML_REGION"),
            settings={"CLAUDE_CODE_DISABLE_CRON": "1"},  # nothing that wakes up after its last word
            structured=("stream-json",),
            dialect="claude",
        ),
        KnownAgent(
            name="amp",
            command="amp",
            args=("--dangerously-allow-all", "-x"),
            install="npm install -g @sourcegraph/amp",
            env=("AMP_*",),
            model_args=(),
        ),
        KnownAgent(
            name="opencode",
            command="opencode",
            args=("run",),
            install="npm install -g opencode-ai",
            env=("OPENCODE_*", *MODEL_KEYS),
        ),
        KnownAgent(
            name="codex",
            command="codex",
            args=("exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "-"),
            install="npm install -g @openai/codex",
            env=("OPENAI_*", "CODEX_*", "AZURE_*"),
        ),
        KnownAgent(
            name="gemini",
            command="gemini",
            args=("--yolo",),
            install="npm install -g @google/gemini-cli",
            env=("GEMINI_*", "GOOGLE_*"),
        ),
        KnownAgent(
            name="scripted",
            command="ralph",
            args=("scripted", "agent.json"),
            install="it comes with Ralph",
            env=("PYTHON*",),
            model_args=(),
        ),
    )
}


def known(provider: Provider) -> KnownAgent | None:
    """The row for a configured command, if it is an agent we know."""
    name = PurePath(provider.command).name
    found = next((agent for agent in AGENTS.values() if agent.command == name), None)
    return None if found and found.name == "scripted" and provider.args[:1] != ("scripted",) else found


def dialect_of(provider: Provider) -> Dialect:
    """How a configured agent's output is to be read."""
    if provider.dialect is not None:
        if provider.dialect not in DIALECTS:
            raise RalphError(
                f"provider.dialect: there is no {provider.dialect!r}{nearest(provider.dialect, DIALECTS)}",
                remedy=f"Choose one of: {', '.join(DIALECTS)}; or leave it out.",
            )
        return DIALECTS[provider.dialect]
    agent = known(provider)
    if agent and agent.structured and all(word in provider.args for word in agent.structured):
        return DIALECTS[agent.dialect]
    return DIALECTS["text"]


def arguments(provider: Provider) -> tuple[str, ...]:
    """The whole command line, with the model where the agent takes it."""
    agent = known(provider)
    wanted = provider.model_args or (agent.model_args if agent else ())
    model = [part.replace("{model}", provider.model) for part in wanted] if provider.model else []
    args = list(provider.args)
    at = len(args) - 1 if args[-1:] == ["-"] else len(args)
    return (provider.command, *args[:at], *model, *args[at:])
