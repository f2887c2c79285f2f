"""What the shape of `ralph.config.json` alone cannot say: names that repeat, patterns, and paths that lead outside."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from ralph import config_notify, config_sandbox, validation
from ralph.slow_patterns import why_slow
from ralph.workspace import RALPH, is_inside

DEFAULT = "default"
"""How a role names the default provider; the name of its program works too."""
OTHER_VARIABLE = re.compile(r"\$\{(?!RALPH_PORT\})\w*\}|\$RALPH_PORT\b")
"""What looks like a variable in `ready` and is not `${RALPH_PORT}`."""


def mistakes_in(document: validation.Json) -> Iterable[str]:
    yield from _no_gates(document)
    yield from _repeated_names(document, "services")
    yield from _services(document)
    yield from _ignored(document)
    yield from _repeated_names(document, "gates")
    yield from _reports(document)
    yield from _held_out(document)
    yield from _needs(document)
    yield from _acceptance(document)
    yield from _provided(document)
    for where, provider in _providers(document).items():
        yield from _start(where, provider)
        yield from _protocol(where, provider)
        yield from _state(where, provider)
    yield from _roles(document)
    yield from _race(document)
    yield from config_sandbox.mistakes_in(document)
    yield from config_notify.mistakes_in(document)


def _no_gates(document: validation.Json) -> Iterable[str]:
    """`[]` says that there are none; nothing at all is more likely forgotten."""
    if document.get("gates") is not None:
        return
    if "verify" not in document:
        yield "verify: missing, and required (or gates instead)"
    elif isinstance(verify := document["verify"], dict) and "default" not in verify:
        yield "verify.default: missing, and required (or gates instead)"


def _roles(document: validation.Json) -> Iterable[str]:
    names = _agent_names(document)
    roles = document.get("roles")
    for role, settings in roles.items() if isinstance(roles, dict) else ():
        one, several = (
            (settings.get(key) for key in ("provider", "providers")) if isinstance(settings, dict) else ("",) * 2
        )
        if one is not None and several:
            yield f"roles.{role}: provider and providers are both set; keep one of them"
        for key, wanted in (("provider", [one]), ("providers", several if isinstance(several, list) else [])):
            for name in wanted:
                if isinstance(name, str) and name and name not in names:
                    yield f"roles.{role}.{key}: {name!r} is not among providers{validation.nearest(name, names)}"


def _race(document: validation.Json) -> Iterable[str]:
    race = document.get("race")
    agents = race.get("agents") if isinstance(race, dict) else None
    listed = [name for name in agents if isinstance(name, str)] if isinstance(agents, list) else []
    yield from (f"race.agents: {mistake}" for mistake in race_mistakes(listed, _agent_names(document)))


def race_mistakes(agents: Sequence[str], names: Iterable[str]) -> Iterable[str]:
    """What is wrong with the agents of a race; the same agent twice makes two attempts, which is fine."""
    known = list(names)
    if len(agents) == 1:
        yield f"a race needs two agents or more, but only {agents[0]!r} is named"
    for name in dict.fromkeys(agents):
        if name not in known:
            yield f"{name!r} is not among providers{validation.nearest(name, known)}"


def _agent_names(document: validation.Json) -> list[str]:
    """The names by which a role can refer to an agent."""
    providers, provider = document.get("providers"), document.get("provider")
    command = provider.get("command") if isinstance(provider, dict) else None
    program = [PurePath(command).name] if isinstance(command, str) else []
    return [*(providers if isinstance(providers, dict) else ()), DEFAULT, *program]


def _services(document: validation.Json) -> Iterable[str]:
    listed = document.get("services")
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        ready = item.get("ready") if isinstance(item, dict) else None
        if isinstance(ready, str) and ready.startswith("log:"):
            yield from _pattern(f"services[{index}].ready", ready.removeprefix("log:"))
            if not item.get("start"):
                yield f"services[{index}].ready: only the output of a service with a start command can be read"
        elif isinstance(ready, str):
            for name in OTHER_VARIABLE.findall(ready):
                yield f"services[{index}].ready: {name} is not replaced; only ${{RALPH_PORT}} is"


def _ignored(document: validation.Json) -> Iterable[str]:
    browser = document.get("browser")
    listed = browser.get("ignore") if isinstance(browser, dict) else None
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, str):
            yield from _pattern(f"browser.ignore[{index}]", item)


def _reports(document: validation.Json) -> Iterable[str]:
    listed = document.get("gates")
    for index, gate in enumerate(listed if isinstance(listed, list) else ()):
        report = gate.get("report") if isinstance(gate, dict) else None
        if isinstance(report, str) and not is_inside(report):
            yield f"gates[{index}].report: {report!r} is outside the project"
        elif isinstance(report, str) and (problem := _not_a_glob(report)):
            yield f"gates[{index}].report: {report!r} {problem}"


def _held_out(document: validation.Json) -> Iterable[str]:
    verify, listed = document.get("verify"), document.get("gates")
    in_place = isinstance(verify, dict) and verify.get("where") == "slot"
    for index, gate in enumerate(listed if isinstance(listed, list) else ()):
        held_out = isinstance(gate, dict) and gate.get("heldOut") is True
        if held_out and in_place:
            yield f'gates[{index}].heldOut: needs "verify": {{"where": "clean"}}; agents see what is in their slot'
        if isinstance(gate, dict) and gate.get("files") and not held_out:
            yield f'gates[{index}].files: is used only with "heldOut": true; leave it out'


def _needs(document: validation.Json) -> Iterable[str]:
    """Needs that name no other gate, or lead back to their own gate."""
    listed = document.get("gates")
    gates = (
        [(index, gate) for index, gate in enumerate(listed) if isinstance(gate, dict)]
        if isinstance(listed, list)
        else []
    )
    names = [name for _, gate in gates if isinstance(name := gate.get("name"), str)]
    hidden = {gate.get("name") for _, gate in gates if gate.get("heldOut") is True}
    needs = {name: _texts(gate.get("needs")) for _, gate in gates if isinstance(name := gate.get("name"), str)}
    for index, gate in gates:
        if gate.get("heldOut") is True and gate.get("parallel") is True:
            yield f"gates[{index}].parallel: held-out gates run after all others, one after another; leave it out"
        for place, wanted in enumerate(_texts(gate.get("needs"))):
            where = f"gates[{index}].needs[{place}]"
            if wanted not in names:
                yield f"{where}: {wanted!r} is not among gates{validation.nearest(wanted, names)}"
            elif wanted in hidden:
                yield f"{where}: {wanted!r} is held out, so it runs after this gate"
            elif circle := _way(needs, wanted, str(gate.get("name"))):
                yield f"{where}: {' needs '.join(map(repr, (gate.get('name'), *circle)))}, so none of them could run"


def _way(needs: Mapping[str, Sequence[str]], start: str, end: str) -> tuple[str, ...]:
    """The gates that lead from one gate to another by what they need; empty if none do."""
    ways: deque[tuple[str, ...]] = deque([(start,)])
    seen = {start}
    while ways:
        way = ways.popleft()
        if way[-1] == end:
            return way
        new = [name for name in needs.get(way[-1], ()) if name not in seen]
        seen.update(new)
        ways.extend((*way, name) for name in new)
    return ()


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _acceptance(document: validation.Json) -> Iterable[str]:
    settings, verify, gates = (document.get(key) for key in ("acceptance", "verify", "gates"))
    if not isinstance(settings, dict) or settings.get("enabled") is False:
        return
    verify = verify if isinstance(verify, dict) else {}
    if verify.get("where") == "slot":
        yield 'acceptance: needs "verify": {"where": "clean"}; that they fail at first is seen in a clean copy'
    listed = [gate for gate in gates if isinstance(gate, dict)] if isinstance(gates, list) else None
    commands = verify.get("default")
    names = [gate.get("name") for gate in listed or () if _runs_tests(gate)]
    names = names if listed is not None else commands if isinstance(commands, list) else []
    if not names:
        yield "acceptance: no required gate could run the tests; add one"
    wanted = settings.get("gates")
    for name in wanted if isinstance(wanted, list) else ():
        if isinstance(name, str) and name not in names:
            known = [known for known in names if isinstance(known, str)]
            yield f"acceptance.gates: {name!r} is not a required gate{validation.nearest(name, known)}"


def _runs_tests(gate: validation.Json) -> bool:
    return gate.get("required") is not False and gate.get("heldOut") is not True


def _provided(document: validation.Json) -> Iterable[str]:
    worktrees = document.get("worktrees")
    for key in ("link", "copy"):
        listed = worktrees.get(key) if isinstance(worktrees, dict) else None
        for index, item in enumerate(listed if isinstance(listed, list) else ()):
            wrong = _misplaced(item) if isinstance(item, str) else ""
            if wrong:
                yield f"worktrees.{key}[{index}]: {item!r} {wrong}"


def _providers(document: validation.Json) -> dict[str, validation.Json]:
    """The providers of a document, by where they are in it."""
    providers = document.get("providers")
    named = {f"providers.{name}": item for name, item in providers.items()} if isinstance(providers, dict) else {}
    found = {"provider": document.get("provider"), **named}
    return {where: item for where, item in found.items() if isinstance(item, dict)}


def _start(where: str, provider: validation.Json) -> Iterable[str]:
    cwd = provider.get("cwd")
    if isinstance(cwd, str) and not is_inside(cwd):
        yield f"{where}.cwd: {cwd!r} is outside the project"


def _state(where: str, provider: validation.Json) -> Iterable[str]:
    state = provider.get("state")
    for index, path in enumerate(state if isinstance(state, list) else ()):
        if isinstance(path, str) and not path.startswith(("/", "~/")):
            yield f"{where}.state[{index}]: {path!r} is neither absolute nor below ~/"


def _protocol(where: str, provider: validation.Json) -> Iterable[str]:
    """What one way to talk to an agent has and the other has not."""
    if provider.get("protocol") == "acp" and provider.get("dialect") is not None:
        yield f'{where}.dialect: is not used with "protocol": "acp"; leave it out'
    if provider.get("protocol", "cli") == "cli" and "permissions" in provider:
        yield f'{where}.permissions: is used only with "protocol": "acp"; leave it out'


def _not_a_glob(pattern: str) -> str:
    """What is wrong with a glob of files."""
    parts = Path(pattern).parts
    if pattern and not parts:
        return "is a folder; name the files, such as reports/*.xml"
    return (
        "has ** beside other signs; write it as a folder of its own"
        if any("**" in one != "**" for one in parts)
        else ""
    )


def _misplaced(path: str) -> str:
    """What is wrong with a path that Ralph is to put into a working copy."""
    parts = Path(path).parts
    if not is_inside(path):
        return "is outside the project"
    if not parts:
        return "is the whole project"
    if ".git" in parts or RALPH in parts:
        return "belongs to git or to Ralph"
    return "uses `**`, which works only in .worktreeinclude" if "**" in path else ""


def _pattern(where: str, text: str) -> Iterable[str]:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        yield f"{where}: {text[:100]!r} is not a regular expression ({error})"
        return
    why = why_slow(text)
    if why:
        yield f"{where}: {text[:100]!r} can take for ever to search: {why}"


def _repeated_names(document: validation.Json, key: str) -> Iterable[str]:
    listed = document.get(key)
    seen: set[object] = set()
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name in seen:
            yield f"{key}[{index}].name: {name!r} is used twice"
        seen.add(name if isinstance(name, str) else None)
