"""Starts a known program without a person's own settings, hooks, memory and tool servers: `provider.isolate`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path

from ralph.agent.dialects import known
from ralph.agent.dialects.isolation import Isolation, SettingsFile, StateFolder
from ralph.agent.kept_settings import filtered
from ralph.config import Provider
from ralph.frozen import Frozen
from ralph.stores import atomic

PRIVATE = "{private}"
ABOVE = "{above}"
FILE = "{file}"
PATTERN = re.compile(r"([*?\[\]{}()!+@|\\])")


class CleanStart(Frozen):
    """What a call adds to the command line and to the environment."""

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def isolated(provider: Provider, env: Mapping[str, str], private: Path, copy: Path) -> Iterator[CleanStart]:
    """Prepare a private folder for one call in the working copy `copy`; afterwards bring back a renewed login."""
    agent = known(provider)
    if agent is None or not provider.isolate:
        yield CleanStart()
        return
    wanted = agent.isolation
    states = [_State(folder, env, private) for folder in wanted.folders]
    for state in states:
        state.make(copy)
    try:
        yield CleanStart(
            # a program that speaks ACP has other options: it gets only the private folders
            args=() if provider.protocol == "acp" else _arguments(wanted, provider.args, private, copy),
            env={
                **{name: value.replace(PRIVATE, str(private)) for name, value in wanted.env.items()},
                **{state.folder.variable: str(state.top) for state in states if state.folder.replaced},
            },
        )
    finally:
        for state in states:
            state.bring_back()


def opened(providers: Iterable[Provider]) -> str:
    """Return a sentence about the agents that a person's own settings reach, because `isolate` is off; "" if none."""
    agents = [(provider.command, known(provider)) for provider in providers if not provider.isolate]
    names = dict.fromkeys(command for command, agent in agents if agent and agent.isolation != Isolation())
    mine = "your own settings, hooks, memory and tool servers"
    return f"isolate is off: {mine} reach {', '.join(names)}" if names else ""


class _State:
    """One private state folder, and the person's folder that it stands for."""

    def __init__(self, folder: StateFolder, env: Mapping[str, str], private: Path) -> None:
        named, home = env.get(folder.variable, ""), Path(env.get("HOME") or Path.home())
        self.folder = folder
        self.theirs = Path(named) / folder.inside if named else home / folder.usual
        self.top = private / folder.variable.lower()
        self.own = self.top / folder.inside

    def make(self, copy: Path) -> None:
        self.own.mkdir(parents=True, mode=0o700)
        if self.folder.shared:
            _link_all(self.theirs.parent, self.top, besides=self.theirs.name)
        for name in self.folder.login:
            for found in self.theirs.glob(name):
                (self.own / found.name).symlink_to(found)
        for wanted in self.folder.settings:
            self._settings(wanted, copy)

    def _settings(self, wanted: SettingsFile, copy: Path) -> None:
        defaults = {key: _above(value, copy) for key, value in wanted.defaults.items()}
        found = list(self.theirs.glob(wanted.name))
        for path in found or ([self.theirs / wanted.name] if wanted.always else []):
            made = self.own / path.name
            made.touch(mode=0o600)
            made.write_text(filtered(path, wanted.keep, defaults), encoding="utf-8")

    def bring_back(self) -> None:
        """Save a login that the program replaced, instead of writing to it."""
        for name in self.folder.login:
            for found in self.own.glob(name):
                with suppress(OSError):
                    if found.is_file() and not found.is_symlink():
                        atomic.write((self.theirs / found.name).resolve(), found.read_bytes(), permissions=0o600)


def _link_all(theirs: Path, own: Path, besides: str) -> None:
    with suppress(OSError):
        for entry in theirs.iterdir():
            if entry.name != besides:
                (own / entry.name).symlink_to(entry)


def _arguments(wanted: Isolation, given: Sequence[str], private: Path, copy: Path) -> tuple[str, ...]:
    named = {word.partition("=")[0] for word in given if word.startswith("-")}
    options = [option for option in wanted.args if option[0] not in named]
    for file in wanted.project:
        found = next((copy / name for name in file.names if (copy / name).exists()), None)
        if found:
            options.append(tuple(word.replace(FILE, str(found)) for word in file.args))
    return tuple(word.replace(PRIVATE, str(private)) for option in options for word in option)


def _above(value: object, copy: Path) -> object:
    """Return a default with each pattern that names `{above}` once for each folder above the working copy."""
    if not isinstance(value, list):
        return value
    folders = dict.fromkeys(str(folder) for path in (copy, copy.resolve()) for folder in path.parents)
    names = [PATTERN.sub(r"\\\1", name).rstrip("/") for name in folders]
    return [pattern.replace(ABOVE, name) for name in names for pattern in value]
