"""What a call probably cost, worked out from its tokens when the agent did not say. Offline; unknown stays unknown."""

from __future__ import annotations

from dataclasses import replace

from ralph.plan.usage import Usage


def estimated(usage: Usage) -> Usage:
    """The same usage with a price, if it has none and its model and tokens are known."""
    counted = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    if usage.cost_usd is not None or not usage.model or usage.output_tokens is None or not any(counted):
        return usage
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=sum(count or 0 for count in counted),  # as they count: with what came from a cache
        cache_read_tokens=usage.cache_read_tokens or 0,
        cache_write_tokens=usage.cache_write_tokens or 0,
        output_tokens=usage.output_tokens,
    )
    try:
        price = calc_price(tokens, usage.model)
    except (LookupError, ValueError):
        return usage
    return replace(usage, cost_usd=float(price.total_price), unpriced=0, estimated=1)
