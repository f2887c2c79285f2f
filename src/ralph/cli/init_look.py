"""What `ralph init` finds here, shows and asks: agents, gates, services."""

from __future__ import annotations

import shutil
import sys
from dataclasses import field, replace
from pathlib import Path

import click

from ralph.agent.dialects import AGENTS, KnownAgent
from ralph.agent.signed_in import login_of
from ralph.config import Config
from ralph.detect.disk import project_at
from ralph.detect.found import Findings, FoundGate
from ralph.detect.survey import survey
from ralph.errors import EXIT_INTERRUPTED, RalphError
from ralph.frozen import Frozen
from ralph.git.read import one_moment
from ralph.views import words
from ralph.views.lines import say
from ralph.workspace import Workspace

FALLBACK = "claude"
PLACEHOLDER = "make check"
"""An example of a check, where none was found."""


class LocalAgent(Frozen):
    """A known agent that is installed here."""

    agent: KnownAgent
    login: str  # the file or variable with the person's login; empty: none that Ralph knows


class InitLook(Frozen):
    """What was found in the project and on this machine."""

    findings: Findings = field(default_factory=Findings)
    agents: tuple[LocalAgent, ...] = ()

    @property
    def agent(self) -> KnownAgent:
        """The agent to propose: one that is signed in, if there is any."""
        return self.agents[0].agent if self.agents else AGENTS[FALLBACK]


def installed_agents() -> tuple[LocalAgent, ...]:
    """Return the known agents that are installed, those with a login first; no program is started."""
    there = (agent for agent in AGENTS.values() if agent.name != "scripted" and shutil.which(agent.command))
    found = [LocalAgent(agent=agent, login=login_of(agent)) for agent in there]
    return tuple(sorted(found, key=lambda one: not one.login))


def look(root: Path) -> InitLook:
    with one_moment():
        return InitLook(findings=survey(project_at(root)), agents=installed_agents())


def show(found: InitLook) -> None:
    """Show everything that was found, with the place that says so."""
    say("Agents on this machine:", bold=True)
    for one in found.agents:
        login = f"signed in ({one.login})" if one.login else f"no login found. {one.agent.login}".strip()
        say(f"  {'✓' if one.login else '·'} {one.agent.name}: {one.agent.title}, {login}")
    if not found.agents:
        say("  none that Ralph knows (`ralph agents` lists them)")
    say("Gates:", bold=True)
    for gate in found.findings.gates:
        say(f"  {gate.command}  ({gate.why})")
    if not found.findings.gates:
        say(f'  none found. Name your checks: ralph init --verify "{PLACEHOLDER}"')
    if found.findings.services:
        say("Services for pages:", bold=True)
        for service in found.findings.services:
            say(f"  {service.name}: {service.start}  ({service.why})")
    for fact in found.findings.facts:
        say(f"  {fact.what}  ({fact.why})", dim=True)


def is_asking(*, yes: bool) -> bool:
    return not yes and sys.stdin.isatty()


def ask_agent(found: InitLook) -> KnownAgent:
    """Ask which agent works here; with only one, whether it does."""
    if len(found.agents) == 1 and click.confirm(f"Use {found.agent.title}?", default=True):
        return found.agent
    names = click.Choice(sorted(AGENTS))
    return AGENTS[click.prompt("Which agent?", type=names, default=found.agent.name, show_choices=not found.agents)]


def ask_gates(gates: tuple[FoundGate, ...], red: dict[str, str]) -> tuple[FoundGate, ...]:
    """Ask for each gate whether every task must pass it; one that is red now is left out by default."""
    if not gates:
        return ()
    say("Every task must pass these gates. Take each of them?")
    return tuple(
        gate
        for gate in gates
        if click.confirm(f"  {words.cut(gate.command, 200)}{_state(gate, red)}", default=gate.command not in red)
    )


def _state(gate: FoundGate, red: dict[str, str]) -> str:
    return f" (red: {words.cut(words.first_line(red[gate.command]), 80)})" if gate.command in red else ""


def try_gates(workspace: Workspace, config: Config, gates: tuple[FoundGate, ...], *, asks: bool) -> dict[str, str]:
    """Run gates once in a clean checkout of the last commit; return the red ones with the reason of each."""
    if not gates or (asks and not click.confirm("Run these gates once now, in a clean checkout?", default=True)):
        return {}
    from ralph.views.terminal import TerminalView
    from ralph.workflows.clean_gates import run_once

    view = TerminalView(folder=workspace.root)
    if workspace.keep_out_of_git(shared=True):
        say("wrote .ralph/.gitignore")
    verify = replace(config.verify, default=tuple(gate.command for gate in gates))
    try:
        results = run_once(workspace, replace(config, gates=None, verify=verify), view, view.tick)
    except RalphError as error:
        if error.code == EXIT_INTERRUPTED:
            raise
        say(f"! The gates were not tried: {error.what}", fg="yellow", err=True)
        return {}
    return {result.command: result.reason or "red" for result in results if not result.passed}


def green(gates: tuple[FoundGate, ...], red: dict[str, str]) -> tuple[FoundGate, ...]:
    """Leave out the red gates, and say so."""
    for command, why in red.items():
        say(f"! Left out, because it is red: {command}: {words.cut(words.first_line(why), 200)}", fg="yellow")
    return tuple(gate for gate in gates if gate.command not in red)


def first_config(agent: KnownAgent) -> Config:
    """Return the configuration with which gates are tried before there is any."""
    from ralph.agent.installed import provider_of

    return Config(provider=provider_of(agent))
