"""Ticks once a second while work is running, so that views can show elapsed time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

Tick = Callable[[], None]


@asynccontextmanager
async def ticking(tick: Tick | None) -> AsyncIterator[None]:
    """Call `tick` once a second while the context is open."""
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
