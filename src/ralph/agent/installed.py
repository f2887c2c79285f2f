"""Which of the agents that Ralph knows are installed here, and in which version."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ralph.agent.call import environment_for
from ralph.agent.dialects import AGENTS, KnownAgent, dialect_of
from ralph.config import Provider
from ralph.frozen import Frozen
from ralph.process.blocking import capture_now

VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+]\w+(?:\.\w+)*)?")
ASK = ("sh", "-c", '"$0" --version 2>&1')  # some print their version as an error
AT_A_TIME = 4


class InstalledAgent(Frozen):
    """One row of the table of agents, and what of it is on this machine."""

    agent: KnownAgent
    path: str  # "": not installed
    version: str  # "": it does not say
    dialect: str
    structured: bool
    acp_path: str  # of the program that speaks ACP; "": none, or not installed


def provider_of(agent: KnownAgent) -> Provider:
    """Return the configuration that Ralph writes for an agent."""
    return Provider(command=agent.command, args=agent.args)


def survey(folder: Path) -> list[InstalledAgent]:
    """Look for every known agent and ask each one that is installed for its version, several at a time."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(lambda agent: _find_agent(agent, folder), AGENTS.values()))


def _find_agent(agent: KnownAgent, folder: Path) -> InstalledAgent:
    provider = provider_of(agent)
    dialect = dialect_of(provider)
    path = shutil.which(agent.command) or ""
    return InstalledAgent(
        agent=agent,
        path=path,
        version=version_of(path, provider, folder) if path else "",
        dialect=dialect.name,
        structured=dialect.is_structured,
        acp_path=(shutil.which(agent.acp.command) if agent.acp else None) or "",
    )


def version_of(path: str, provider: Provider, folder: Path) -> str:
    """Ask a program for its version; "" if it does not say."""
    code, out = capture_now([*ASK, path], cwd=folder, env=environment_for(provider))
    found = VERSION.search(out.decode(errors="replace")) if code == 0 else None
    return found[0] if found else ""
