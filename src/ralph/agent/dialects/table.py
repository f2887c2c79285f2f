"""The dialects: how each program's output is read. Other packages add to them (entry point group `ralph.dialects`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from ralph import plugins
from ralph.agent.dialects import api_errors
from ralph.agent.dialects.acp import AcpReader
from ralph.agent.dialects.agents import AcpProgram
from ralph.agent.dialects.base import Reader
from ralph.agent.dialects.claude import ClaudeReader
from ralph.agent.dialects.codex import CodexReader
from ralph.agent.dialects.copilot import CopilotReader
from ralph.agent.dialects.gemini import GeminiReader
from ralph.agent.dialects.goose import GooseReader
from ralph.agent.dialects.mini import MiniReader
from ralph.agent.dialects.opencode import OpenCodeReader
from ralph.agent.dialects.pi import PiReader
from ralph.agent.dialects.qwen import QwenReader
from ralph.agent.dialects.text import TextReader
from ralph.agent.transcript import Transcript
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.patterns import lazy
from ralph.validation import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ralph.dialects"
ACP = "acp"  # chosen by provider.protocol, never by name
STREAMED_IDLE = 900.0


class Dialect(Frozen):
    """How an agent's output is read."""

    name: str
    reader: Callable[[Transcript], Reader]
    idle: float | None = None  # seconds of silence after which the agent is considered stuck
    errors: tuple[re.Pattern[str], ...] = ()  # the lines with which the program ends after an error; group 1 is kept
    speaks_errors: bool = False  # as plain text, such a line may be on standard output, where the answer is
    answered: re.Pattern[str] | None = None  # a line that it prints after an answer; then exit code 0 may hide an error
    statuses: Mapping[int, int] = field(default_factory=dict)  # exit codes that stand for an HTTP status

    @property
    def is_structured(self) -> bool:
        return not (isinstance(self.reader, type) and issubclass(self.reader, TextReader))

    def as_text(self) -> Dialect:
        """Return the dialect of the same program without the arguments that make its output structured."""
        return replace(self, name="text", reader=TextReader, idle=None)


def _dialect(name: str, reader: type[Reader], *errors: str, answered: str = "") -> Dialect:
    return Dialect(
        name=name,
        reader=reader,
        idle=None if issubclass(reader, TextReader) else STREAMED_IDLE,
        errors=tuple(lazy(error) for error in errors),
        speaks_errors=name in ("claude", "aider", "mini"),
        answered=lazy(answered) if answered else None,
        statuses={status % 256: status for status in api_errors.STATUSES} if reader is GeminiReader else {},
    )


LITELLM = r"(?:\w+: )?(litellm\.\w+: .*)"
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        _dialect("text", TextReader),
        _dialect(
            *("claude", ClaudeReader, r"(Invalid API key · .*)", r"API Error: (.*)", r"(Not logged in · .*)"),
            r"(\S+ cannot be used with root.*)",
        ),
        _dialect("codex", CodexReader, r"ERROR: (.*)"),
        _dialect("opencode", OpenCodeReader, r"Error: (.*)"),
        _dialect(
            *("gemini", GeminiReader, r"(Please set an Auth method .*)", r"Error when talking to Gemini API (.*)"),
            r"(When using .+ you must specify .+)",
        ),
        _dialect("qwen", QwenReader),
        _dialect("copilot", CopilotReader, r"Error: (.*)"),
        _dialect("goose", GooseReader),
        _dialect("pi", PiReader, r"(No API key found .*)", r"Error: (.*)"),
        _dialect("aider", TextReader, LITELLM, answered=r"Tokens: .+ sent, .+ received\..*"),
        _dialect("mini", MiniReader, LITELLM),
    )
}


def acp_dialect(program: AcpProgram | None) -> Dialect:
    """Return how a program that speaks the Agent Client Protocol is read; None: one that Ralph does not know."""
    reader = partial(AcpReader, program=program) if program else AcpReader
    return Dialect(name=ACP, reader=reader, idle=STREAMED_IDLE)


def dialect_named(name: str) -> Dialect:
    """Return the dialect that a configuration names; raise an error that suggests the nearest name."""
    if name in DIALECTS:
        return DIALECTS[name]
    found = plugins.added(GROUP)
    if name not in found:
        names = dialect_names()
        raise RalphError(
            f"provider.dialect: there is no {name!r}{nearest(name, names)}",
            remedy=f"Choose one of: {', '.join(names)}; or leave it out. Other packages can add to them "
            f"(entry point group {GROUP}).",
        )
    return _load(found[name])


def dialect_names() -> list[str]:
    """Return every dialect that a configuration may name, Ralph's own first."""
    return [*DIALECTS, *(name for name in plugins.added(GROUP) if name not in DIALECTS)]


@cache
def _load(point: EntryPoint) -> Dialect:
    loaded = plugins.load(point, "dialect")
    if isinstance(loaded, Dialect):
        return loaded
    if isinstance(loaded, type) and issubclass(loaded, Reader):
        return Dialect(name=point.name, reader=loaded, idle=STREAMED_IDLE)
    raise RalphError(f"The dialect {point.name!r} ({point.value}) is neither a Dialect nor a subclass of Reader.")
