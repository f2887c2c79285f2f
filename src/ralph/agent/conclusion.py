"""Concludes from a call's end and its output whether it failed, and why. The agent's claims play no part in it."""

from __future__ import annotations

from dataclasses import replace

from ralph.agent.dialects import api_errors
from ralph.agent.dialects.base import DialectReport
from ralph.agent.dialects.table import Dialect
from ralph.agent.failure import CallFailure, FailureKind, Response
from ralph.process.spawn import ExitKind, Limits, ProcessEnd

CANNOT_RUN = (126, 127)  # a shell's exit codes for a program that is missing or not executable
LAST_LINES = 6


def failure_of(
    ended: ProcessEnd, report: DialectReport, dialect: Dialect, limits: Limits, *, said: str, errors: str
) -> CallFailure | None:
    """Return why a call failed; None if it did not. `said` and `errors`: the last words of its two streams."""
    if report.complete:
        return report.failure
    reported = _with_status(report.failure, dialect, ended) or _last_error(ended, dialect, said, errors)
    if reported and reported.response is not Response.FAIL:
        return reported
    if ended.how is ExitKind.EXITED and ended.code in CANNOT_RUN and not said.strip():
        words = (f"exit code {ended.code}", *errors.strip().splitlines()[-1:])
        return CallFailure(kind=FailureKind.NOT_STARTED, said=", ".join(words))
    if ended.how is ExitKind.TIMED_OUT:
        if not report.answered:
            return _hanging(limits.total)
        return CallFailure(kind=FailureKind.TIME_OUT, said=_seconds(limits.total))
    if ended.how is ExitKind.SILENT:
        if dialect.is_structured and report.waiting:
            return _hanging(limits.idle)
        return CallFailure(kind=FailureKind.IDLE, said=_seconds(limits.idle))
    if reported:
        return reported
    if ended.how is ExitKind.EXITED and ended.code != 0:
        return CallFailure(kind=FailureKind.CRASH, said=_exit(ended.code))
    return None


def _hanging(seconds: float | None) -> CallFailure:
    return CallFailure(kind=FailureKind.HANGING_MODEL, said=f"it sent nothing for {_seconds(seconds)}.")


def _seconds(seconds: float | None) -> str:
    return f"{seconds:g} s" if seconds else "its time limit"


def _exit(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _with_status(failure: CallFailure | None, dialect: Dialect, ended: ProcessEnd) -> CallFailure | None:
    """Add what the exit code says, for a program whose exit code stands for an HTTP status."""
    status = dialect.statuses.get(ended.code) if ended.how is ExitKind.EXITED else None
    if failure is None or failure.kind is not FailureKind.ERROR or status is None:
        return failure
    return replace(failure, kind=api_errors.failure(failure.said, status=status).kind)


def _last_error(ended: ProcessEnd, dialect: Dialect, said: str, errors: str) -> CallFailure | None:
    """Return the error with which the program's own last lines end."""
    ended_well = ended.how is ExitKind.EXITED and ended.code == 0 and not dialect.answered
    if ended_well or ended.how is ExitKind.LINGERED:  # a program that lingers had reported its end
        return None
    for stream in (errors, said if dialect.speaks_errors and not dialect.is_structured else ""):
        lines = [line.strip() for line in stream.splitlines() if line.strip()]
        last = lines[-LAST_LINES:]
        for at in reversed(range(len(last))):
            if dialect.answered and dialect.answered.fullmatch(last[at]):
                return None
            found = next((match for error in dialect.errors if (match := error.fullmatch(last[at]))), None)
            if found:
                return replace(api_errors.failure(found[1]), said=" ".join((found[1], *last[at + 1 :])))
    return None
