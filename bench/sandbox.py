"""What the sandbox adds to a call, and to a gate that only computes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
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
COMPUTE = "import time; sum(number * number for number in range(30_000_000)); print(time.process_time())"
COMPUTES = [sys.executable, "-I", "-S", "-c", COMPUTE]
Around = Callable[[], Enclosure | None]


def rows() -> list[Row]:
    os.environ.pop("RALPH_SANDBOX", None)
    with folder() as place:
        (place / ".git").mkdir()
        config, states = Config(provider=Provider(command="sh")), every_state(os.environ)
        sandbox = prepared(config, Workspace(root=place), states)
        if sandbox.backend is None:
            raise CannotRun("no sandbox works here")
        call = _best(CALLS, sandbox, place, lambda around: seconds(lambda: _call(["/bin/true"], place, around())))
        gate = _best(GATES, sandbox, place, lambda around: float(_call(COMPUTES, place, around())))
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
            what=f"the sandbox ({kind}): processor time of a gate that computes",
            measured=gate["inside"] / gate["outside"],
            unit="x",
            limit=1.05,
            parts=gate,
        ),
    ]


def _best(rounds: int, sandbox: Sandbox, place: Path, measure: Callable[[Around], float]) -> dict[str, float]:
    """The best milliseconds inside and outside, which take turns: disturbances only make a call longer."""
    each = [
        alternate(
            1,
            {
                "outside": lambda: measure(lambda: None),
                "inside": lambda: measure(lambda: sandbox.around_gate(place)),
            },
        )
        for _ in range(rounds)
    ]
    return {name: 1000 * min(times[name] for times in each) for name in each[0]}


def _call(argv: list[str], place: Path, within: Enclosure | None) -> str:
    done = asyncio.run(capture(argv, cwd=place, env=os.environ, within=within))
    if done.code:
        raise RuntimeError(done.err.decode(errors="replace"))
    return done.out.decode()
