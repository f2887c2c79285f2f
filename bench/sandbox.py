"""What the sandbox adds to a call, and to a gate that only computes."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from bench.measure import CannotRun, alternate, folder, seconds
from bench.table import Row
from ralph.agent.state import every_state
from ralph.config import Config, Provider
from ralph.process.enclosure import Enclosure
from ralph.process.spawn import capture
from ralph.sandbox.sandbox import Sandbox, prepared
from ralph.workspace import Workspace

CALLS, GATES = 40, 7
COMPUTES = [sys.executable, "-I", "-S", "-c", "sum(number * number for number in range(30_000_000))"]


def rows() -> list[Row]:
    os.environ.pop("RALPH_SANDBOX", None)
    with folder() as place:
        (place / ".git").mkdir()
        config, states = Config(provider=Provider(command="sh")), every_state(os.environ)
        sandbox = prepared(config, Workspace(root=place), states)
        if sandbox.backend is None:
            raise CannotRun("no sandbox works here")
        call = _best(CALLS, ["/bin/true"], sandbox, place)
        gate = _best(GATES, COMPUTES, sandbox, place)
    kind = sandbox.backend.name
    return [
        Row(
            group="sandbox",
            what=f"the sandbox ({kind}): time beyond a call's own",
            measured=call["inside"] - call["outside"],
            unit="ms",
            limit=30,
            parts=call,
        ),
        Row(
            group="sandbox",
            what=f"the sandbox ({kind}): a gate that computes",
            measured=gate["inside"] / gate["outside"],
            unit="x",
            limit=1.05,
            parts=gate,
        ),
    ]


def _best(rounds: int, argv: list[str], sandbox: Sandbox, place: Path) -> dict[str, float]:
    """The best milliseconds inside and outside, which take turns: disturbances only make a call longer."""
    each = [
        alternate(
            1,
            {
                "outside": lambda: seconds(lambda: _call(argv, place, None)),
                "inside": lambda: seconds(lambda: _call(argv, place, sandbox.around_gate(place))),
            },
        )
        for _ in range(rounds)
    ]
    return {name: 1000 * min(times[name] for times in each) for name in each[0]}


def _call(argv: list[str], place: Path, within: Enclosure | None) -> None:
    done = asyncio.run(capture(argv, cwd=place, env=os.environ, within=within))
    if done.code:
        raise RuntimeError(done.err.decode(errors="replace"))
