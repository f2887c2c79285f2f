"""Explains why a call of an agent does not count, whatever the agent said."""

from __future__ import annotations

from ralph.agent.call import AgentResult
from ralph.agent.conclusion import CANNOT_RUN
from ralph.agent.failure import CallFailure, FailureKind, Response, refusal
from ralph.agent.remedy import permission_hint, remedy_of
from ralph.config import Provider
from ralph.plan.work import Verdict, Work
from ralph.protect.protection import violation_text

__all__ = ["CANNOT_RUN", "failure", "not_committed", "permission_hint", "refused", "silence", "unclaimed"]
VERDICTS = {Response.STOP: Verdict.INTERRUPTED, Response.WAIT: Verdict.LIMITED, Response.FAIL: Verdict.FAILED}
LAST_WORDS = 800
ENDS = (".", "!", "?", "…")


def failure(heard: AgentResult, provider: Provider, violations: tuple[str, ...]) -> tuple[Verdict, str] | None:
    """Return why a call does not count; None if it does."""
    failed = heard.failure
    if failed and failed.response is not Response.FAIL:
        return _judged(failed, provider)
    if violations:
        return Verdict.FAILED, violation_text("The agent broke the rules", violations)
    if failed is None:
        return None
    verdict, reason = _judged(failed, provider)
    return verdict, reason + (_last_words(heard) if failed.kind is FailureKind.CRASH else "")


def refused(heard: AgentResult, provider: Provider, *, changed: bool) -> tuple[Verdict, str] | None:
    """Return why a call that did not do its work could not: it was refused tools."""
    found = refusal(heard.report.refused, changed=changed)
    return _judged(found, provider) if found else None


def silence(heard: AgentResult, *, changed: bool) -> tuple[Verdict, str] | None:
    """Return the failure of a call that ended well, but said nothing and changed nothing."""
    if changed or heard.tail.strip() or heard.claims:
        return None
    return VERDICTS[Response.FAIL], CallFailure(kind=FailureKind.SILENCE).text + _last_words(heard)


def _judged(failed: CallFailure, provider: Provider) -> tuple[Verdict, str]:
    text, remedy = failed.text, remedy_of(failed, provider)
    end = "" if text.endswith(ENDS) else "."
    return VERDICTS[failed.response], f"{text}{end} {remedy}" if remedy else text


def not_committed(left_out: tuple[str, ...]) -> str:
    return f"Not part of the commit: {', '.join(left_out)}."


def unclaimed(work: Work, claims: frozenset[str], heard: AgentResult) -> str:
    wanted = work.spelled or " or ".join(f"<ralph>{claim}</ralph>" for claim in sorted(claims))
    mark = f" or marking its task in {work.claimable}" if work.claimable else ""
    return f"The agent ended without saying {wanted}{mark}.{_last_words(heard)}"


def _last_words(heard: AgentResult) -> str:
    words = heard.last_words[-LAST_WORDS:]
    return f"\n\nIts last words:\n\n{words}" if words else ""
