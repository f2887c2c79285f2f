"""One agent call: the prompt goes to the agent, all of its output to a log, the result into an `AgentResult`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from ralph import installation, safe_files
from ralph.agent.conclusion import failure_of
from ralph.agent.dialects import ACP, DIALECTS, arguments, dialect_of, known
from ralph.agent.dialects.acp import AcpReader
from ralph.agent.dialects.base import DialectReport, Reader
from ralph.agent.failure import CallFailure, Response
from ralph.agent.isolated import CleanStart, isolated
from ralph.agent.prices import estimated
from ralph.agent.transcript import Transcript
from ralph.agent.words import Words
from ralph.config import Provider
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.plan.usage import Usage
from ralph.process import environment, spawn
from ralph.process.child import Child
from ralph.process.enclosure import Enclosure
from ralph.process.redaction import Redactor, Secrets
from ralph.process.spawn import Limits, OpenInput, ProcessEnd
from ralph.text import PlainStream

if TYPE_CHECKING:
    from ralph.agent.conversation import AcpConversation

Feed = Callable[[bytes], None]
Stream = Literal["out", "err"]
PASSED_ON = ("RALPH_*",)
MAX_FIRST_LINE = 4096
MAX_TROUBLE = 300.0
"""Seconds that a program may try to reach its model after it said that it cannot; then Ralph waits instead of it."""
MAX_ARGUMENT = 100_000  # bytes; Linux allows 128 KB for one argument
IN_FILE = "Your task is too long to be given here. It is in the file {}. Read all of it first, then do what it says."
ACP_LIBRARY = "agent-client-protocol"


class AgentResult(Frozen):
    """The result of a call."""

    ended: ProcessEnd
    claims: frozenset[str]
    learnings: tuple[str, ...]
    reset: tuple[str, ...]
    reason: str
    tail: str
    errors: str
    last_words: str  # the end of what the program said, without lines of the prompt
    failure: CallFailure | None
    report: DialectReport
    output_bytes: int
    disputes: tuple[str, ...] = ()  # a gate and why it is wrong, in the agent's words


class AgentCall(Frozen):
    """Everything that one call needs, whatever it is for."""

    provider: Provider
    prompt: Path
    context: str = ""  # system text, for an agent that supports it
    tools: str = ""  # the tools it may use, for an agent with such an option
    log: Path
    words: Path  # the file that receives its transcript while it runs
    cwd: Path
    copy: Path | None = None  # the working copy, in which `cwd` is; None: `cwd` itself
    private: Path | None = None  # an empty folder for its state; None: it is not isolated
    owner: str
    variables: Mapping[str, str]
    secrets: Secrets = field(repr=False)
    watcher: Callable[[str], None] | None = None
    tap: Callable[[Stream, bytes], None] | None = None  # gets all output as it arrives, without secrets
    meter: Callable[[Usage], None] | None = None  # gets the running total whenever it has changed
    within: Enclosure | None = None  # the sandbox around it


def check_installed(provider: Provider, folder: Path) -> str:
    """Return the path of the agent's program, or raise an error that says how to get it."""
    dialect_of(provider)
    start_folder(provider, folder)
    if provider.protocol == "acp":
        check_acp()
    here = str(folder / provider.command) if "/" in provider.command else ""
    path = shutil.which(provider.command) or (shutil.which(here) if here else None)
    if path is None:
        agent = known(provider)
        wanted = (
            (agent.acp.install if agent.acp and provider.protocol == "acp" else "") or agent.install if agent else ""
        )
        how = f"Install it ({wanted})" if agent else "Install it"
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


def start_folder(provider: Provider, project: Path) -> Path:
    """Return the folder of a project in which the agent starts; raise an error if it is not there."""
    folder = project / provider.cwd
    if not provider.cwd or (folder.is_dir() and folder.resolve().is_relative_to(project.resolve())):
        return folder
    where = "leads out of the project" if folder.is_dir() else f"is not a folder in {project}"
    raise RalphError(
        f"provider.cwd: {provider.cwd!r} {where}.",
        remedy="Name a folder of the project that is committed, or leave provider.cwd out.",
    )


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
    env = {**environment_for(call.provider), **call.variables}
    private = call.private
    with (
        isolated(call.provider, env, private, call.copy or call.cwd) if private else nullcontext(CleanStart()) as start
    ):
        return await _make(call, {**env, **start.env}, start.args)


async def _make(call: AgentCall, env: Mapping[str, str], added: tuple[str, ...]) -> AgentResult:
    dialect = dialect_of(call.provider)
    words = Words(call.words, call.secrets.log_stream())
    prompt = call.prompt.read_text(encoding="utf-8")
    transcript = Transcript(prompt, call.watcher, words.feed)
    reader = dialect.reader(transcript)
    errors = Transcript()
    children: list[Child] = []

    def listen(data: bytes) -> None:
        before = reader.usage
        try:
            reader.feed(data)
        except Exception as error:
            if dialect.name in (*DIALECTS, ACP):
                raise  # a bug of our own is not hidden
            raise _broken(dialect.name, error) from error
        if call.meter and reader.usage != before:
            call.meter(_known(reader.usage, call.provider))
        for child in children:
            child.in_trouble(reader.failure is not None and reader.failure.response is Response.WAIT)
        if reader.finished and children:
            children.pop().last_word()

    idle = call.provider.idle_timeout or dialect.idle
    limits = Limits(total=call.provider.timeout, idle=idle, trouble=min(idle or MAX_TROUBLE, MAX_TROUBLE))
    with safe_files.open_new(call.log, buffering=1 << 16) as log, closing(words):
        out = _Tap(log, call.secrets.stream(), _also(call.tap, "out", listen))
        err = _Tap(log, call.secrets.stream(), _also(call.tap, "err", errors.feed))
        sent = _Tap(log, call.secrets.stream(), lambda data: None)
        conversation = _conversation(call, prompt, reader, sent)
        ended = await spawn.run(
            arguments(
                call.provider,
                prompt=_as_argument(prompt, call.prompt),
                context=call.context,
                tools=call.tools,
                more=added,
            ),
            cwd=call.cwd,
            env=env,
            owner=call.owner,
            stdin=OpenInput() if conversation else call.prompt,
            out=out.take,
            err=err.take,
            limits=limits,
            started=conversation.begin if conversation else children.append,
            parting=conversation.part if conversation else None,
            within=call.within,
        )
        out.close()
        err.close()
        report = reader.close()
    errors.close()
    report = replace(report, usage=_known(report.usage, call.provider))
    result = _result(ended, transcript, errors, report, out.size + err.size)
    failure = failure_of(ended, report, dialect, limits, said=result.tail, errors=result.errors)
    spoke_last = dialect.is_structured and failure is None  # then standard error has only noise
    last = result.tail or result.errors if spoke_last else result.errors or result.tail
    return replace(result, failure=failure, last_words=_without(prompt, last))


def _as_argument(prompt: str, file: Path) -> str:
    """Return a prompt for an agent that takes it as an argument: itself, or where it is if it is too long for one."""
    return prompt if len(prompt.encode()) <= MAX_ARGUMENT else IN_FILE.format(file.resolve())


def _conversation(call: AgentCall, prompt: str, reader: Reader, sent: _Tap) -> AcpConversation | None:
    """Return the conversation with an agent that speaks ACP; None for a program that only reads its prompt."""
    if not isinstance(reader, AcpReader):
        return None
    check_acp()
    from ralph.agent.conversation import AcpConversation  # its library takes a second to import

    return AcpConversation(call.provider, prompt, call.cwd, reader, sent.take)


def check_acp() -> None:
    """Raise an error that says how to get the library for ACP, if it is not installed."""
    if not installation.version_of(ACP_LIBRARY):
        raise RalphError(
            'A provider has "protocol": "acp", but the library for the Agent Client Protocol is not installed.',
            remedy=f"Install it with `{installation.this().extra(ACP)}`.",
        )


def _also(tap: Callable[[Stream, bytes], None] | None, stream: Stream, feed: Feed) -> Feed:
    """Return a function that passes output on to `tap` as well, if there is one."""
    if tap is None:
        return feed
    tell = tap

    def both(data: bytes) -> None:
        tell(stream, data)
        feed(data)

    return both


def _broken(name: str, error: Exception) -> RalphError:
    return RalphError(
        f"The dialect {name!r} broke: {type(error).__name__}: {error}.",
        remedy="Repair or uninstall the package that provides it, or set provider.dialect to another one.",
    )


def _known(usage: Usage, provider: Provider) -> Usage:
    """Return the usage with the configured model, if the agent names none, and with an estimated cost."""
    is_reported = usage.input_tokens is not None or usage.output_tokens is not None
    return estimated(replace(usage, model=usage.model or (provider.model or "" if is_reported else "")))


def _without(prompt: str, text: str) -> str:
    """Return the text without lines of the prompt, which some programs print back."""
    asked = {line.strip() for line in prompt.splitlines()}
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.strip() or line.strip() not in asked).strip()


def learnings_in(provider: Provider, prompt: Path, log: Path) -> tuple[str, ...]:
    """Return the learnings of an interrupted agent, from its output so far."""
    try:
        asked, printed = prompt.read_text(encoding="utf-8"), log.read_bytes()
    except OSError:
        return ()
    transcript = Transcript(asked)
    reader = dialect_of(provider).reader(transcript)
    reader.feed(printed)
    reader.close()
    return transcript.texts("LEARNING")


class _Tap:
    """One of the agent's output streams: redacted, parsed, and logged as plain text."""

    def __init__(self, log: BinaryIO, redactor: Redactor, feed: Feed) -> None:
        self._log, self._redactor, self._feed, self._plain = log, redactor, feed, PlainStream()
        self.size = 0

    def take(self, data: bytes) -> None:
        self.size += len(data)
        self._pass_on(self._redactor.feed(data))

    def close(self) -> None:
        self._pass_on(self._redactor.flush(), is_last=True)

    def _pass_on(self, data: bytes, *, is_last: bool = False) -> None:
        self._log.write(self._plain.feed(data, is_last=is_last))
        self._log.flush()  # the output must survive a `kill -9` of Ralph
        self._feed(data)


def _result(
    ended: ProcessEnd, transcript: Transcript, errors: Transcript, report: DialectReport, size: int
) -> AgentResult:
    reset = tuple(
        dict.fromkeys(name for text in transcript.texts("RESET") for name in text.replace(",", " ").split() if name)
    )
    return AgentResult(
        ended=ended,
        claims=frozenset(marker.kind for marker in transcript.markers),
        learnings=transcript.texts("LEARNING"),
        reset=reset,
        reason=" ".join((*transcript.texts("REASON"), *filter(None, transcript.texts("BLOCKED")))),
        tail=transcript.tail,
        errors=errors.tail,
        last_words="",
        failure=None,
        report=report,
        output_bytes=size,
        disputes=transcript.texts("DISPUTE"),
    )
