"""What a probe finds out about an agent: one finding for each thing that a run needs of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from ralph.agent.call import check_installed
from ralph.agent.dialects import dialect_of
from ralph.agent.failure import CallFailure, FailureKind, Response
from ralph.agent.installed import version_of
from ralph.agent.probe.calls import DONE, EndProbe, WorkProbe, probe_end, probe_work
from ralph.agent.probe.folders import Enclose, make_repository, probe_folders
from ralph.agent.remedy import permission_hint, remedy_of
from ralph.config import Provider
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.plan.usage import Usage

SECONDS = 180.0
LAST_WORDS = 300
FATAL_LOGIN = (FailureKind.AUTHENTICATION, FailureKind.UNUSABLE)


class ProbeFinding(Frozen):
    """One thing that was found out about an agent."""

    check: str  # found, version, authenticated, answers, writes, dialect, usage, ends, cost
    state: str  # good, note, bad
    what: str
    remedy: str = ""
    seconds: float | None = None  # None: it took no time of its own
    kind: str = ""  # of the failure
    usage: Usage | None = None


def label_of(provider: Provider) -> str:
    """Return how an agent is called in a probe's lines."""
    name = Path(provider.command).name
    return f"{name} ({provider.model})" if provider.model else name


def placed(provider: Provider, folder: Path) -> Provider:
    """Return the provider with the whole path of its program, for a call in another folder."""
    return replace(provider, command=str(folder / check_installed(provider, folder)))


async def examine(provider: Provider, folder: Path, enclose: Enclose = lambda *_: None) -> AsyncIterator[ProbeFinding]:
    """Probe an agent completely: two calls of it, the second of which is interrupted."""
    began = time.monotonic()
    try:
        found = placed(provider, folder)
    except RalphError as error:
        yield ProbeFinding(
            check="found", state="bad", what=error.what, remedy=error.remedy, kind=FailureKind.NOT_STARTED.value
        )
        return
    yield ProbeFinding(check="found", state="good", what=f"found ({found.command})", seconds=time.monotonic() - began)
    began = time.monotonic()
    version = await asyncio.to_thread(version_of, found.command, provider, folder)
    what = f"version {version}" if version else "it does not report its version"
    yield ProbeFinding(
        check="version", state="good" if version else "note", what=what, seconds=time.monotonic() - began
    )
    limited = replace(found, timeout=min(found.timeout, SECONDS))
    with probe_folders(enclose) as folders:
        await make_repository(folders, commit=True)
        worked = await probe_work(limited, folders, commit=True)
        for finding in of_work(worked, provider):
            yield finding
        used = worked.heard.report.usage
        if worked.failure(provider) is None:
            ended = await probe_end(limited, folders, limited.timeout)
            used += ended.usage
            yield of_end(ended)
    yield ProbeFinding(check="cost", state="good", what="", usage=used)


def of_work(worked: WorkProbe, provider: Provider) -> list[ProbeFinding]:
    """Return what the first call tells."""
    failed, heard = worked.failure(provider), worked.heard
    if failed and failed.kind in FATAL_LOGIN:
        return [_failed("authenticated", failed, worked, provider)]
    after = worked.answered_after or heard.ended.seconds
    answered = worked.answered_after is not None or worked.wrote
    findings = [
        ProbeFinding(check="authenticated", state="good", what="authenticated", seconds=after),
        ProbeFinding(check="answers", state="good", what="answers", seconds=after),
    ]
    if failed:
        return [*(findings if answered else ()), _failed("writes" if answered else "answers", failed, worked, provider)]
    return [*findings, _written(worked, provider), _dialect(worked, provider), _usage(heard.report.usage)]


def _failed(check: str, failed: CallFailure, worked: WorkProbe, provider: Provider) -> ProbeFinding:
    can_wait = failed.response is Response.WAIT
    otherwise = (
        "Try again later." if can_wait else f"Run `{Path(provider.command).name}` yourself to see what it needs."
    )
    said = _last_words(worked) if failed.kind is FailureKind.CRASH else ""
    return ProbeFinding(
        check=check,
        state="bad",
        what=failed.text + said,
        remedy=remedy_of(failed, provider) or otherwise,
        seconds=worked.heard.ended.seconds,
        kind=failed.kind.value,
    )


def _written(worked: WorkProbe, provider: Provider) -> ProbeFinding:
    seconds = worked.heard.ended.seconds
    if worked.wrote and worked.committed:
        return ProbeFinding(check="writes", state="good", what="writes a file and commits it", seconds=seconds)
    if worked.wrote:
        what = "writes a file, but did not commit it (Ralph commits its work itself)"
        return ProbeFinding(check="writes", state="note", what=what, seconds=seconds)
    what = f"it answers, but wrote no file.{_last_words(worked)}"
    remedy = permission_hint(provider) or "Check its permissions and its model."
    return ProbeFinding(check="writes", state="bad", what=what, remedy=remedy, seconds=seconds)


def _last_words(worked: WorkProbe) -> str:
    said = " ".join(worked.heard.last_words.split())[-LAST_WORDS:]
    return f" Its last words: {said}" if said else ""


def _dialect(worked: WorkProbe, provider: Provider) -> ProbeFinding:
    dialect = dialect_of(provider)
    how = f"structured events ({dialect.name})" if dialect.is_structured else "plain text"
    if DONE in worked.heard.claims:
        return ProbeFinding(check="dialect", state="good", what=f"speaks {how}; its claim was read")
    return ProbeFinding(
        check="dialect",
        state="bad",
        what=f"Ralph found no claim in its output, which it reads as {how}",
        remedy="Set provider.dialect to the format that it prints, or use a model that follows instructions.",
    )


def _usage(usage: Usage) -> ProbeFinding:
    is_known = usage.input_tokens is not None or usage.output_tokens is not None
    return ProbeFinding(check="usage", state="good" if is_known else "note", what="", usage=usage)


def of_end(ended: EndProbe) -> ProbeFinding:
    """Return what the second call tells."""
    if ended.failure and not ended.begun:
        what, kind = f"Ralph could not test whether it ends: {ended.failure.text}", ended.failure.kind.value
        return ProbeFinding(check="ends", state="note", what=what, kind=kind, seconds=ended.seconds)
    if not ended.begun:
        what = "it did not run the command that Ralph wanted to interrupt, so this is not tested"
        return ProbeFinding(check="ends", state="note", what=what, seconds=ended.seconds)
    if ended.left:
        what = f"it left {ended.left} processes running when Ralph interrupted it"
        return ProbeFinding(check="ends", state="bad", what=what, remedy="Please report this.", seconds=ended.seconds)
    return ProbeFinding(
        check="ends", state="good", what="ends when interrupted, and leaves nothing running", seconds=ended.seconds
    )
