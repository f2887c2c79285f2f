"""Which of many files a gate needs, and which variables it speaks of."""

from __future__ import annotations

import asyncio
import math

import pytest

from ralph.config import Verify
from ralph.engine.baseline_difference import fewest, missing_variables
from ralph.plan.model import GateResult
from ralph.process.table import MARK

FILES = tuple("abcdefgh")


def red(output: str) -> GateResult:
    return GateResult(name="g", command="check $HIDDEN", passed=False, seconds=0.1, output=output)


@pytest.mark.parametrize("needed", ["d", "h", "gh", "ah", "ace", "abcdefgh"])
def test_only_the_files_that_are_needed_are_left(needed: str) -> None:
    async def is_green(paths: tuple[str, ...]) -> bool:
        return set(needed) <= set(paths)

    assert "".join(asyncio.run(fewest(FILES, is_green, until=math.inf))) == needed
    assert asyncio.run(fewest(FILES, is_green, until=0)) == FILES, "without time nothing is tried"


def test_only_variables_that_are_set_and_kept_from_the_gate_are_missing() -> None:
    settings = Verify(default=(), env=("GIVEN_*",))
    environment = dict.fromkeys(("HIDDEN", "SHOP_URL", "GIVEN_ONE", "PATH", "RALPH_RUN", MARK, "QUIET", "up"), "x")

    said = f"KeyError: 'SHOP_URL' GIVEN_ONE PATH RALPH_RUN {MARK} UNSET up NOT_QUIET"

    assert missing_variables(red(said), settings, environment) == ["HIDDEN", "SHOP_URL"]
