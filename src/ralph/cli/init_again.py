"""A second `ralph init`: shows what the configuration lacks by now, and adds it if the person agrees."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import click

from ralph import config as configuration
from ralph.audit.files import Tree, matches
from ralph.cli.gate_files import only, proposed
from ralph.cli.init_look import InitLook, ask_gates, green, is_asking, try_gates
from ralph.cli.trusting import extending_approval, load_trusted
from ralph.config import Config
from ralph.detect.disk import project_at
from ralph.detect.found import Aspect, FoundGate, FoundService
from ralph.detect.kinds import covers
from ralph.errors import RalphError
from ralph.stores import atomic
from ralph.verify.gate_list import default_gates
from ralph.views.lines import say
from ralph.workspace import Workspace


def missing_gates(found: InitLook, config: Config, tree: Tree) -> tuple[FoundGate, ...]:
    """Return the gates that check what no configured gate does."""
    there = [gate.command for gate in default_gates(config)]
    covered: set[Aspect] = {aspect for command in there for aspect in covers(tree, command)}
    return tuple(gate for gate in found.findings.gates if gate.command not in there and not gate.covers <= covered)


def missing_services(found: InitLook, config: Config) -> tuple[FoundService, ...]:
    return () if config.services else found.findings.services


def missing_protected(workspace: Workspace, config: Config, gates: tuple[FoundGate, ...]) -> tuple[str, ...]:
    """Return files that define the gates by now, if the person protects such files."""
    if not config.protect:
        return ()
    commands = [*(gate.command for gate in default_gates(config)), *(gate.command for gate in gates)]
    return tuple(path for path in proposed(workspace.root, commands) if not matches(path, config.protect))


def propose(
    workspace: Workspace, found: InitLook, *, yes: bool = False, dry_run: bool = False, tries: bool = False
) -> bool:
    """Show what could be added to the configuration; return whether the person agreed and it was written."""
    config = configuration.load(workspace.root)
    gates = missing_gates(found, config, project_at(workspace.root).tree)
    services = missing_services(found, config)
    protect = missing_protected(workspace, config, gates)
    if not gates and not services and not protect:
        return False
    say("The project has more than the configuration names:")
    for gate in gates:
        say(f"  gate {gate.command}  ({gate.why})")
    for service in services:
        say(f"  service {service.name}: {service.start}  ({service.why})")
    for name in protect:
        say(f"  protect {name}  (it defines a gate)")
    asks = is_asking(yes=yes) and not dry_run
    red = {}
    if gates and tries and (asks or yes):  # set-up commands of the configuration run too
        red = try_gates(workspace, load_trusted(workspace), gates, asks=asks)
    gates = ask_gates(gates, red) if asks else green(gates, red)
    if asks:
        services = tuple(one for one in services if click.confirm(f"Add the service {one.name}?", default=True))
        protect = tuple(name for name in protect if click.confirm(f"Protect {name}?", default=True))
    path = workspace.root / configuration.NAME
    before = path.read_text(encoding="utf-8")
    after = _added(before, gates, services, protect)
    if after == before:
        return False
    if not after:
        say(f"→ {configuration.NAME} is not plain JSON, so add it yourself.")
        return False
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2):
        say(f"  {line}")
    if dry_run or not (yes or asks):
        say("→ `ralph init --yes` adds it." if not dry_run else "Nothing was written.")
        return False
    if asks and not click.confirm(f"Write this to {configuration.NAME}?", default=True):
        return False
    _write(workspace, path, after)
    return True


def _write(workspace: Workspace, path: Path, text: str) -> None:
    configuration.parse(text.encode())
    with extending_approval(workspace):
        try:
            atomic.write(path, text.encode())
        except OSError as error:
            raise RalphError(f"{path} could not be written: {error.strerror}.") from None
    say(f"changed {configuration.NAME}")


def _added(
    text: str, gates: tuple[FoundGate, ...], services: tuple[FoundService, ...], protect: tuple[str, ...]
) -> str:
    """Return the file with more gates, services and protected files; empty if it is not plain JSON."""
    try:
        document = json.loads(text)
    except ValueError:
        return ""
    if isinstance(document.get("gates"), list):
        names = {gate.get("name") for gate in document["gates"]}
        for gate in gates:
            name = next(name for name in _names(gate.command) if name not in names)
            names.add(name)
            document["gates"].append({"name": name, "command": gate.command})
    elif gates:
        verify = document.setdefault("verify", {})
        verify["default"] = [*verify.get("default", ()), *(gate.command for gate in gates)]
    if services:
        document["services"] = [{"name": one.name, "start": one.start, "ready": one.ready} for one in services]
    if protect:
        document["protect"] = [*document.get("protect", ()), *map(only, protect)]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n" if gates or services or protect else text


def _names(command: str) -> list[str]:
    short = command[:55].strip()
    return [short, *(f"{short} {number}" for number in range(2, 50))]
