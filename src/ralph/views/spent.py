"""What a plan has cost so far, in all of its runs together."""

from __future__ import annotations

from pathlib import Path

from ralph.plan.budget import AmountSpent
from ralph.plan.usage import Usage
from ralph.stores import spending
from ralph.views import words


def summary(records: Path, target: str) -> str:
    """One line for a person; empty before the first call."""
    spent = spending.of_target(records, target).total
    if not spent.attempts and not spent.usage.calls:
        return ""
    made = words.count(spent.attempts, "attempt") if spent.attempts else "planning"
    parts = [made, words.duration(spent.seconds), used(spent.usage)]
    return f"in all runs: {' · '.join(parts)}"


def used(usage: Usage) -> str:
    return f"{words.tokens(usage)} · {words.cost(usage)}" if usage.calls else "no agent was called"


def as_json(records: Path, target: str) -> dict[str, object]:
    """The same for programs, with each task's share."""
    found = spending.of_target(records, target)
    return {**_spent(found.total), "tasks": {work: _spent(spent) for work, spent in sorted(found.tasks.items())}}


def _spent(spent: AmountSpent) -> dict[str, object]:
    return {"attempts": spent.attempts, "seconds": round(spent.seconds, 3), **usage_entry(spent.usage)}


def usage_entry(usage: Usage) -> dict[str, object]:
    """Usage as JSON; null: unknown, not 0."""
    return {
        "calls": usage.calls,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "costUsd": usage.cost_usd,
        "costSource": usage.cost_source,
        "unpricedCalls": usage.unpriced,
        "model": usage.model or None,
    }
