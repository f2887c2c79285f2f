"""Explains why a call of an agent does not count, whatever the agent said."""

from __future__ import annotations

from ralph.agent.call import AgentResult
from ralph.agent.dialects.base import Trouble
from ralph.config import Provider
from ralph.plan.work import Verdict, Work
from ralph.process.spawn import ExitKind
from ralph.protect.protection import violation_text

CANNOT_RUN = (126, 127)  # a shell's exit codes for a program that is missing or not executable
LAST_WORDS = 800


def failure(heard: AgentResult, provider: Provider, violations: tuple[str, ...]) -> tuple[Verdict, str] | None:
    """Return why a call does not count; None if it does."""
    report, ended = heard.report, heard.ended
    match report.trouble:
        case Trouble.LIMIT | Trouble.OVERLOAD:
            return Verdict.LIMITED, f"The agent could not work: {report.message}"
        case Trouble.UNUSABLE:
            return Verdict.INTERRUPTED, f"The agent cannot be used: {report.message}"
    if never_ran(heard):
        said = heard.errors.strip().splitlines()[-1:]
        return (
            Verdict.INTERRUPTED,
            f"The agent cannot run: exit code {ended.code}{''.join(f', {line}' for line in said)}.",
        )
    if violations:
        return Verdict.FAILED, violation_text("The agent did what it must not", violations)
    if ended.how is ExitKind.TIMED_OUT:
        limit = f"{provider.timeout:g} s"
        return Verdict.FAILED, f"The agent did not finish within {limit}; its whole process tree was ended."
    if ended.how is ExitKind.SILENT:
        return Verdict.FAILED, "The agent said nothing for too long; its whole process tree was ended."
    if report.trouble is Trouble.ERROR:
        return Verdict.FAILED, f"The agent reported an error: {report.message}"
    if ended.how is ExitKind.EXITED and ended.code != 0:
        return Verdict.FAILED, f"The agent ended with exit code {ended.code}.{_last_words(heard)}"
    return None


def never_ran(heard: AgentResult) -> bool:
    """Return whether the shell or `env` found no program to run; this is not the agent's mistake, nor an attempt."""
    return heard.ended.how is ExitKind.EXITED and heard.ended.code in CANNOT_RUN and not heard.tail.strip()


def not_committed(left_out: tuple[str, ...]) -> str:
    return f"Not part of the commit: {', '.join(left_out)}."


def unclaimed(work: Work, claims: frozenset[str], heard: AgentResult) -> str:
    wanted = work.spelled or " or ".join(f"<ralph>{claim}</ralph>" for claim in sorted(claims))
    mark = f" or marking its task in {work.claimable}" if work.claimable else ""
    return f"The agent ended without saying {wanted}{mark}.{_last_words(heard)}"


def _last_words(heard: AgentResult) -> str:
    words = (heard.errors or heard.tail)[-LAST_WORDS:]
    return f"\n\nIts last words:\n\n{words}" if words else ""
