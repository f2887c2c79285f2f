"""What agent calls used: tokens and money, if known."""

from __future__ import annotations

from typing import Literal, TypeVar

from ralph.frozen import Frozen

CostSource = Literal["reported", "estimated", "mixed", "unknown"]


class Usage(Frozen):
    """What agent calls used. None means unknown, which is never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None
    calls: int = 0
    unpriced: int = 0  # calls of unknown cost
    estimated: int = 0  # calls whose cost was calculated from their tokens
    model: str = ""

    @property
    def tokens(self) -> int:
        """All known tokens together: in and out, cached or not."""
        counts = (self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens)
        return sum(count or 0 for count in counts)

    @property
    def cost_source(self) -> CostSource:
        """Where the cost comes from: the agent, a price list, both, or nowhere."""
        if self.cost_usd is None:
            return "unknown"
        priced = self.calls - self.unpriced
        return "reported" if not self.estimated else "estimated" if self.estimated == priced else "mixed"

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            cache_read_tokens=_sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, other.cache_write_tokens),
            cost_usd=_sum(self.cost_usd, other.cost_usd),
            calls=self.calls + other.calls,
            unpriced=self.unpriced + other.unpriced,
            estimated=self.estimated + other.estimated,
            model=other.model or self.model,
        )


N = TypeVar("N", int, float)


def _sum(a: N | None, b: N | None) -> N | None:
    return b if a is None else a if b is None else a + b
