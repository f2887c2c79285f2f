"""How to call each agent and read its output; what a package needs to add a dialect of its own is exported here."""

from __future__ import annotations

import json
from pathlib import PurePath

from ralph.agent.dialects.agents import AGENTS, KnownAgent
from ralph.agent.dialects.api_errors import failure as service_failure
from ralph.agent.dialects.base import DialectReport, JsonReader, Reader
from ralph.agent.dialects.fields import Json, a_count, a_list, a_number, a_text, an_object
from ralph.agent.dialects.table import ACP, DIALECTS, Dialect, acp_dialect, dialect_named
from ralph.agent.failure import CallFailure, FailureKind
from ralph.config import Provider
from ralph.plan.usage import Usage

__all__ = [
    "ACP", "AGENTS", "DIALECTS", "CallFailure", "Dialect", "DialectReport", "FailureKind", "Json", "JsonReader",
    "KnownAgent", "Reader", "Usage", "a_count", "a_list", "a_number", "a_text", "an_object", "arguments", "dialect_of",
    "is_permitted", "known", "service_failure", "takes_context", "takes_model", "takes_tools",
]  # fmt: skip


PROMPT = "{prompt}"


def known(provider: Provider) -> KnownAgent | None:
    """Return the row for a configured command; None if Ralph does not know the agent."""
    name = PurePath(provider.command).name
    if provider.protocol == "acp":
        return next((agent for agent in AGENTS.values() if agent.acp and agent.acp.command == name), None)
    if provider.dialect in AGENTS and provider.dialect != "scripted":
        return AGENTS[provider.dialect]
    found = next((agent for agent in AGENTS.values() if agent.command == name), None)
    return None if found and found.name == "scripted" and provider.args[:1] != ("scripted",) else found


def dialect_of(provider: Provider) -> Dialect:
    """Return how a configured agent's output is read."""
    if provider.protocol == "acp":
        agent = known(provider)
        return acp_dialect(agent.acp if agent else None)
    if provider.dialect is not None:
        named = AGENTS.get(provider.dialect)
        return dialect_named(named.dialect if named else provider.dialect)
    agent = known(provider)
    if agent is None:
        return DIALECTS["text"]
    found = DIALECTS[agent.dialect]
    asks_for_it = all(word in provider.args for word in agent.structured)
    return found if asks_for_it or not found.is_structured else found.as_text()


def is_permitted(provider: Provider) -> bool:
    """Return whether a known agent may work without asking a person; True if Ralph cannot tell."""
    agent = known(provider)
    if provider.protocol == "acp":
        return provider.permissions == "allow"
    return not agent or all(word in provider.args for word in agent.permission)


def takes_context(provider: Provider) -> bool:
    """Return whether the agent has an option for system text."""
    agent = known(provider)
    return bool(agent and agent.context_args) and provider.protocol == "cli"


def takes_tools(provider: Provider) -> bool:
    """Return whether the agent has an option to restrict its tools."""
    agent = known(provider)
    return bool(agent and agent.tools_args) and provider.protocol == "cli"


def takes_model(provider: Provider) -> bool:
    """Return whether the model is passed as an argument; over ACP it may be an option of the protocol instead."""
    return bool(provider.model_args or _model_args(provider))


def _model_args(provider: Provider) -> tuple[str, ...]:
    agent = known(provider)
    if provider.protocol == "acp":
        return agent.acp.model_args if agent and agent.acp else ()
    return agent.model_args if agent else ()


def arguments(
    provider: Provider, *, prompt: str = "", context: str = "", tools: str = "", more: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the whole command line, with model, system text and tools if the agent supports them.

    An argument `{prompt}` becomes the prompt, for an agent that does not read standard input.
    """
    agent = known(provider) if provider.protocol == "cli" else None
    added = [
        *_filled(provider.model_args or _model_args(provider), "model", provider.model or ""),
        *_filled(agent.context_args if agent else (), "context", context),
        *_filled(agent.tools_args if agent else (), "tools", tools),
        *more,
    ]
    args = [prompt.replace("\0", "") if part == PROMPT else part for part in provider.args]
    ending = next((end for end in (["-i", "-"], ["-"]) if args[-len(end) :] == end), [])
    at = len(args) - len(ending)
    return (provider.command, *args[:at], *added, *ending)


def _filled(wanted: tuple[str, ...], name: str, value: str) -> list[str]:
    if not value:
        return []
    quoted = json.dumps(value, ensure_ascii=False)
    return [part.replace(f"{{{name}}}", value).replace(f"{{{name}:json}}", quoted) for part in wanted]
