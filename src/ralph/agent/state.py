"""Where each agent keeps its own state, such as its login: the one place outside a project that it writes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ralph.agent.dialects import is_scripted, known
from ralph.agent.dialects.agents import AGENTS, KnownAgent
from ralph.agent.dialects.isolation import StateFolder
from ralph.config import Provider
from ralph.frozen import Frozen
from ralph.process.environment import in_home


class AgentState(Frozen):
    """What an agent may write outside of the project, and what it must leave alone there."""

    writable: tuple[Path, ...] = ()
    fixed: tuple[Path, ...] = ()  # it may read this


def state_of(provider: Provider, env: Mapping[str, str]) -> AgentState:
    """Return the state of the agent that a call starts; create the folders, as the agent would.

    An isolated agent has private folders. Of the person's own it writes only the login, which is linked into them.
    """
    if provider.state is not None:
        return AgentState(
            writable=tuple(in_home(path[2:], env) if path.startswith("~/") else Path(path) for path in provider.state)
        )
    agents = [agent for agent in (known(provider), AGENTS["scripted"] if is_scripted(provider) else None) if agent]
    private = tuple(folder for agent in agents if provider.isolate for folder in agent.isolation.folders)
    replaced = [folder for folder in private if folder.replaced]
    writable = []
    for path in (path for agent in agents for path in _state(agent, env)):
        if any(path == _usual(folder, env) or path in _usual(folder, env).parents for folder in replaced):
            continue
        if not path.suffix:
            with suppress(OSError):
                path.mkdir(parents=True, exist_ok=True, mode=0o700)
        writable.append(path)
    return AgentState(
        writable=(*writable, *(path for folder in replaced for path in _logins(folder, env))),
        fixed=tuple(path for agent in agents for path in _fixed(agent, env)),
    )


def _fixed(agent: KnownAgent, env: Mapping[str, str]) -> Iterator[Path]:
    """Return what an agent must leave alone, and create it: what is not there, a sandbox cannot make read-only."""
    for name in agent.fixed:
        moved = (_usual(folder, env) / name.removeprefix(f"{folder.usual}/") for folder in agent.isolation.folders)
        for path in {in_home(name, env), *moved}:
            with suppress(OSError):
                if path.suffix and not os.path.lexists(path):
                    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    path.write_text("{}\n" if path.suffix == ".json" else "")
                elif not path.suffix:
                    path.mkdir(parents=True, exist_ok=True, mode=0o700)
            yield path


def every_state(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the state of every known agent, whether it exists or not."""
    return tuple(path for agent in AGENTS.values() for path in _state(agent, env))


def _state(agent: KnownAgent, env: Mapping[str, str]) -> Iterator[Path]:
    yield from (in_home(path, env) for path in agent.state)
    yield from (_usual(folder, env) for folder in agent.isolation.folders if env.get(folder.variable))


def _usual(folder: StateFolder, env: Mapping[str, str]) -> Path:
    """Return the person's own folder."""
    named = env.get(folder.variable, "")
    return Path(named) / folder.inside if named else in_home(folder.usual, env)


def _logins(folder: StateFolder, env: Mapping[str, str]) -> Iterator[Path]:
    for name in folder.login:
        yield from _usual(folder, env).glob(name)
