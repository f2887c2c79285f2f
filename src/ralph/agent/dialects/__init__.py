"""How to call each agent: a table with one row for each agent that Ralph knows."""

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
    idle: float | None = None  # seconds of silence after which the agent is considered stuck


@dataclass(frozen=True, kw_only=True)
class KnownAgent:
    """An agent for which Ralph can write a configuration."""

    name: str
    command: str
    args: tuple[str, ...]
    install: str
    env: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)  # variables it gets unless the person has set them
    model_args: tuple[str, ...] = ("--model", "{model}")
    models: Mapping[str, str] = field(default_factory=dict)  # the models that a new configuration names for each role
    context_args: tuple[str, ...] = ()  # how to pass system text; empty: not supported
    tools_args: tuple[str, ...] = ()  # how to restrict its tools; empty: not supported
    structured: tuple[str, ...] = field(default=())  # arguments with which its output is structured
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
            settings={"CLAUDE_CODE_DISABLE_CRON": "1"},  # nothing may wake up after its last word
            models={"planner": "opus", "executor": "sonnet"},
            context_args=("--append-system-prompt", "{context}"),
            tools_args=("--tools", "{tools}"),  # --allowedTools only avoids permission questions, which are off here
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
    """Return the row for a configured command; None if Ralph does not know the agent."""
    name = PurePath(provider.command).name
    found = next((agent for agent in AGENTS.values() if agent.command == name), None)
    return None if found and found.name == "scripted" and provider.args[:1] != ("scripted",) else found


def dialect_of(provider: Provider) -> Dialect:
    """Return how a configured agent's output is read."""
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


def takes_context(provider: Provider) -> bool:
    """Return whether the agent has an option for system text."""
    agent = known(provider)
    return bool(agent and agent.context_args)


def takes_tools(provider: Provider) -> bool:
    """Return whether the agent has an option to restrict its tools."""
    agent = known(provider)
    return bool(agent and agent.tools_args)


def arguments(provider: Provider, *, context: str = "", tools: str = "") -> tuple[str, ...]:
    """Return the whole command line, with model, system text and tools if the agent supports them."""
    agent = known(provider)
    added = [
        *_filled(provider.model_args or (agent.model_args if agent else ()), "model", provider.model or ""),
        *_filled(agent.context_args if agent else (), "context", context),
        *_filled(agent.tools_args if agent else (), "tools", tools),
    ]
    args = list(provider.args)
    at = len(args) - 1 if args[-1:] == ["-"] else len(args)
    return (provider.command, *args[:at], *added, *args[at:])


def _filled(wanted: tuple[str, ...], name: str, value: str) -> list[str]:
    return [part.replace(f"{{{name}}}", value) for part in wanted] if value else []
