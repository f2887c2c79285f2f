"""One agent call: the prompt on standard input, the whole output in a log, the result in an `AgentResult`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from ralph import safe_files
from ralph.agent.dialects import arguments, dialect_of, known
from ralph.agent.dialects.base import DialectReport
from ralph.agent.prices import estimated
from ralph.agent.speech import Speech
from ralph.agent.words import Words
from ralph.config import Provider
from ralph.errors import RalphError
from ralph.process import environment, spawn
from ralph.process.spawn import Child, Limits, ProcessEnd

PASSED_ON = ("RALPH_*",)
MAX_FIRST_LINE = 4096


@dataclass(frozen=True, kw_only=True)
class AgentResult:
    """The result of a call."""

    ended: ProcessEnd
    claims: frozenset[str]
    learnings: tuple[str, ...]
    reset: tuple[str, ...]
    reason: str
    tail: str
    errors: str
    report: DialectReport
    output_bytes: int


@dataclass(frozen=True, kw_only=True)
class AgentCall:
    """Everything that one call needs, whatever it is for."""

    provider: Provider
    prompt: Path
    context: str = ""  # system text, for an agent that supports it
    tools: str = ""  # the tools it may use, for an agent with such an option
    log: Path
    words: Path  # the file that receives its speech while it runs
    cwd: Path
    owner: str
    variables: Mapping[str, str]
    watcher: Callable[[str], None] | None = None


def check_installed(provider: Provider, folder: Path) -> str:
    """Return the path of the agent's program, or raise an error that says how to get it."""
    dialect_of(provider)
    here = str(folder / provider.command) if "/" in provider.command else ""
    path = shutil.which(provider.command) or (shutil.which(here) if here else None)
    if path is None:
        agent = known(provider)
        how = f"Install it ({agent.install})" if agent else "Install it"
        raise RalphError(
            f"The agent {provider.command!r} was not found.",
            remedy=f"{how}, or set provider.command in ralph.config.json to the one you use.",
        )
    missing = _missing_interpreter(Path(path))
    if missing:
        raise RalphError(
            f"The agent {provider.command!r} ({path}) cannot run: its interpreter {missing!r} was not found.",
            remedy=f"Install {Path(missing).name} or put it on PATH, or install the agent again.",
        )
    return path


def _missing_interpreter(program: Path) -> str:
    """Return the interpreter that a script names and this machine lacks; "" if nothing is missing."""
    try:
        with program.open("rb") as file:
            first = file.readline(MAX_FIRST_LINE)
    except OSError:
        return ""  # a program may be executable without being readable
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    if not words:
        return ""
    if Path(words[0]).name == "env":  # env [-S] [NAME=VALUE…] PROGRAM
        named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        if named and shutil.which(words[0]):
            return "" if shutil.which(named) else named
    return "" if shutil.which(words[0]) else words[0]


def environment_for(provider: Provider) -> dict[str, str]:
    """Return the part of the person's environment that the agent sees: an allow-list."""
    agent = known(provider)
    settings = agent.settings if agent else {}
    patterns = (*PASSED_ON, *(agent.env if agent else ()), *provider.env)
    return {**settings, **environment.allowed(os.environ, patterns)}


async def make(call: AgentCall) -> AgentResult:
    """Run the agent and read its output."""
    dialect = dialect_of(call.provider)
    env = {**environment_for(call.provider), **call.variables}
    secrets = environment.secrets_in(env)
    words = Words(call.words, secrets)
    speech = Speech(call.prompt.read_text(encoding="utf-8"), call.watcher, words.feed)
    reader = dialect.reader(speech)
    errors = Speech()
    children: list[Child] = []

    def listen(data: bytes) -> None:
        reader.feed(data)
        if reader.finished and children:
            children.pop().last_word()

    with safe_files.open_new(call.log, buffering=1 << 16) as log, closing(words):
        out = _Tap(log, environment.Redactor(secrets), listen)
        err = _Tap(log, environment.Redactor(secrets), errors.feed)
        ended = await spawn.run(
            arguments(call.provider, context=call.context, tools=call.tools),
            cwd=call.cwd,
            env=env,
            owner=call.owner,
            stdin=call.prompt,
            out=out.take,
            err=err.take,
            limits=Limits(total=call.provider.timeout, idle=call.provider.idle_timeout or dialect.idle),
            started=children.append,
        )
        out.close()
        err.close()
        report = reader.close()
    return _heard(ended, speech, errors, report, out.size + err.size)


def learnings_in(provider: Provider, prompt: Path, log: Path) -> tuple[str, ...]:
    """Return the learnings of an interrupted agent, from its output so far."""
    try:
        asked, printed = prompt.read_text(encoding="utf-8"), log.read_bytes()
    except OSError:
        return ()
    speech = Speech(asked)
    reader = dialect_of(provider).reader(speech)
    reader.feed(printed)
    reader.close()
    return speech.texts("LEARNING")


class _Tap:
    """One of the agent's output streams: redacted, logged and parsed."""

    def __init__(self, log: BinaryIO, redactor: environment.Redactor, feed: Callable[[bytes], None]) -> None:
        self._log, self._redactor, self._feed = log, redactor, feed
        self.size = 0

    def take(self, data: bytes) -> None:
        self.size += len(data)
        self._pass_on(self._redactor.feed(data))

    def close(self) -> None:
        self._pass_on(self._redactor.flush())

    def _pass_on(self, data: bytes) -> None:
        self._log.write(data)
        self._log.flush()  # the output must survive a `kill -9` of Ralph
        self._feed(data)


def _heard(ended: ProcessEnd, speech: Speech, errors: Speech, report: DialectReport, size: int) -> AgentResult:
    errors.close()
    reset = tuple(
        dict.fromkeys(name for text in speech.texts("RESET") for name in text.replace(",", " ").split() if name)
    )
    return AgentResult(
        ended=ended,
        claims=frozenset(marker.kind for marker in speech.markers),
        learnings=speech.texts("LEARNING"),
        reset=reset,
        reason=" ".join((*speech.texts("REASON"), *filter(None, speech.texts("BLOCKED")))),
        tail=speech.tail,
        errors=errors.tail,
        report=replace(report, usage=estimated(report.usage)),
        output_bytes=size,
    )
