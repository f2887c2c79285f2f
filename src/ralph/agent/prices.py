"""Estimates the cost of a call from its tokens if the agent did not report it. Offline; unknown stays unknown.

The price list is the extra `prices`: with all that it brings it takes as long to import as the rest of Ralph.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

from ralph import installation
from ralph.plan.usage import Usage

EXTRA, LIBRARY = "prices", "genai_prices"


def estimated(usage: Usage) -> Usage:
    """Return the usage with an estimated cost, if it has none and its model and tokens are known."""
    counted = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    if usage.cost_usd is not None or not usage.model or usage.output_tokens is None or not any(counted):
        return usage
    try:
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price
    except ImportError:
        return usage
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


def is_priced(model: str) -> bool:
    """Return whether a model has a known price."""
    return estimated(Usage(input_tokens=1, output_tokens=1, model=model)).cost_usd is not None


def how_to_get() -> str:
    """Return the command that installs the price list; "" if it is installed."""
    return "" if find_spec(LIBRARY) else installation.this().extra(EXTRA)
