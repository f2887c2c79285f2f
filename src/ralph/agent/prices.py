"""Estimates the cost of a call from its tokens if the agent did not report it. Offline; unknown stays unknown."""

from __future__ import annotations

from dataclasses import replace

from ralph.plan.usage import Usage


def estimated(usage: Usage) -> Usage:
    """Return the usage with an estimated cost, if it has none and its model and tokens are known."""
    counted = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    if usage.cost_usd is not None or not usage.model or usage.output_tokens is None or not any(counted):
        return usage
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=sum(count or 0 for count in counted),  # `genai_prices` counts cached tokens as input
        cache_read_tokens=usage.cache_read_tokens or 0,
        cache_write_tokens=usage.cache_write_tokens or 0,
        output_tokens=usage.output_tokens,
    )
    try:
        price = calc_price(tokens, usage.model)
    except (LookupError, ValueError):
        return usage
    return replace(usage, cost_usd=float(price.total_price), unpriced=0, estimated=1)
