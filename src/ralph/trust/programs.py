"""The programs that a project's configuration names, and the files that decide what they do."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import islice
from pathlib import Path

from ralph import config as configuration
from ralph import validation
from ralph.config import Config, Provider
from ralph.frozen import Frozen
from ralph.verify.gate_list import default_gates
from ralph.workspace import RALPH

STEPS = f"{RALPH}/configs/*.json"
BESIDES = (STEPS, f"{RALPH}/prompts/*.md")
PATTERNS = (configuration.NAME, *BESIDES)
WORD = re.compile(r"[^\s;|&()<>'\"`=$]+")
MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
GLOB = frozenset("*?[")
MAX_FILE, MAX_FOLDERS, MAX_MATCHES = 2_000_000, 20, 1_000


class Kind(Enum):
    """What a program is for."""

    AGENT = "agent"
    GATE = "gate"
    SERVICE = "service"
    SET_UP = "set-up"
    STEP = "step"
    BROWSER = "browser"
    NOTIFIER = "notifier"


CHECKS = frozenset({Kind.GATE, Kind.SERVICE, Kind.BROWSER})
"""What a verification without an agent starts."""


class NamedProgram(Frozen):
    """One program that the configuration names."""

    kind: Kind
    command: str


def programs(root: Path, config: Config) -> tuple[NamedProgram, ...]:
    """Return every program that the configuration of the project at `root` names, each once."""
    commands = {
        Kind.AGENT: map(_agent, (config.provider, *config.providers.values())),
        Kind.GATE: (*(gate.command for gate in default_gates(config)), *config.verify.ui),
        Kind.SERVICE: (service.start for service in config.services if service.start),
        Kind.SET_UP: config.worktrees.setup,
        Kind.STEP: (text for step in _steps(root) if isinstance(text := step.get("command"), str)),
        Kind.BROWSER: filter(None, (config.browser.executable_path,)),
        Kind.NOTIFIER: (one.name for one in config.notify),
    }
    found = (NamedProgram(kind=kind, command=command) for kind, listed in commands.items() for command in listed)
    return tuple(dict.fromkeys(found))


def files(root: Path, named: Iterable[NamedProgram]) -> dict[str, bytes]:
    """Return the configuration's files and the project's files that it names, by path, with what they mean."""
    own = (str(path.relative_to(root)) for pattern in PATTERNS for path in sorted(root.glob(pattern)))
    words = (path for program in named for path in _named_in(root, program.command))
    prompts = (text for step in _steps(root) if isinstance(text := step.get("prompt_file"), str))
    found = {path: _content(root, path) for path in dict.fromkeys((*own, *words, *prompts))}
    return {path: data for path, data in found.items() if data is not None}


def _named_in(root: Path, command: str) -> Iterator[str]:
    """Yield every path that a command may mean: of a file, of all that a glob matches, of a module of Python's.

    A word may be quoted, and may be meant from a folder that the command names too, as in `cd web && ./check.sh`.
    """
    words = dict.fromkeys((*WORD.findall(command), *_split(command)))
    folders = [".", *(word for word in words if _is_folder(root, word))][:MAX_FOLDERS]
    for word in words:
        module = word.replace(".", "/") if MODULE.fullmatch(word) else ""
        for folder in folders:
            yield from (os.path.normpath(f"{folder}/{one}") for one in (word, module and f"{module}.py") if one)
            yield from [os.path.normpath(f"{folder}/{module}/__main__.py")] if module else []
            if not GLOB.isdisjoint(word):
                yield from _matching(root, os.path.normpath(f"{folder}/{word}"))


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote has no end
        return []


def _is_folder(root: Path, word: str) -> bool:
    return "\0" not in word and not word.startswith(os.sep) and os.path.isdir(root / word)  # noqa: PTH112 - no error


def _matching(root: Path, pattern: str) -> list[str]:
    if pattern.startswith(("..", os.sep)):
        return []
    try:
        return sorted(str(path.relative_to(root)) for path in islice(root.glob(pattern), MAX_MATCHES))
    except (OSError, ValueError, NotImplementedError):
        return []


def _agent(provider: Provider) -> str:
    where = f"cd {shlex.quote(provider.cwd)} && " if provider.cwd else ""
    return where + shlex.join((provider.command, *provider.args, *provider.model_args))


def _steps(root: Path) -> Iterator[validation.Json]:
    """Return the settings of every step in every step configuration, valid or not."""
    for path in sorted(root.glob(STEPS)):
        steps = _document(_content(root, str(path.relative_to(root))) or b"").get("steps")
        for step in steps if isinstance(steps, list) else ():
            settings = step.get("config") if isinstance(step, dict) else None
            if isinstance(settings, dict):
                yield settings


def _document(data: bytes) -> validation.Json:
    try:
        return validation.parse_plainly(data)
    except (validation.UnusualForm, ValueError, RecursionError):
        return {}  # such a file is compared as it is


def _content(root: Path, path: str) -> bytes | None:
    """Return the content of a file inside the project, without what means nothing; None if it is no such file."""
    try:
        place = (root / path).resolve()
        if not place.is_relative_to(root.resolve()) or not place.is_file():
            return None
        size = place.stat().st_size
        data = place.read_bytes() if size <= MAX_FILE else f"{size} bytes".encode()
    except (OSError, ValueError):  # it cannot be read, or no file has such a name
        return None
    document = _document(data) if path.endswith(".json") else {}
    document.pop("$schema", None)
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False).encode() if document else data
