"""A tick once a second while something is under way, so that views can show that time passes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

Tick = Callable[[], None]


@asynccontextmanager
async def ticking(tick: Tick | None) -> AsyncIterator[None]:
    """Call `tick` once a second for as long as this is open."""
    ticker = asyncio.create_task(_tick(tick)) if tick else None
    try:
        yield
    finally:
        if ticker:
            ticker.cancel()


async def _tick(tick: Tick) -> None:
    while True:
        await asyncio.sleep(1)
        tick()
