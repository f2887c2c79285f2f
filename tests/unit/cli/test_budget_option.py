"""What `--budget` takes, and what it refuses."""

from __future__ import annotations

import pytest

from ralph.cli.budget_option import parse_budget
from ralph.config import Allowance, Budget
from ralph.errors import RalphError


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("usd=20,hours=8", Budget(usd=20, hours=8)),
        (" tokens = 2_000_000 , attempts=12 ", Budget(tokens=2_000_000, attempts=12)),
        ("target.usd=50,task.attempts=5,hard", Budget(target=Allowance(usd=50), task=Allowance(attempts=5), hard=True)),
        ("hard=false,usd=.5", None),
        ("usd=0.5,hard=false", Budget(usd=0.5)),
    ],
)
def test_limits_are_read(text: str, budget: Budget | None) -> None:
    if budget is None:
        with pytest.raises(RalphError):
            parse_budget(text)
    else:
        assert parse_budget(text) == budget


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no limit"),
        ("dollars=3", "dollars"),
        ("usd=0", "usd"),
        ("usd=-1", "usd"),
        ("usd=lots", "usd"),
        ("usd=1,usd=2", "is repeated"),
        ("task=3", "task"),
        ("task=3,task.usd=1", "conflicts with another limit"),
        ("task.usd.more=1", "not a limit"),
        ("attempts=1.5", "attempts"),
    ],
)
def test_what_is_no_limit_is_refused_with_an_example(text: str, said: str) -> None:
    with pytest.raises(RalphError) as caught:
        parse_budget(text)
    assert said in "\n".join((caught.value.what, *caught.value.details))
    assert "--budget usd=20,hours=8" in caught.value.remedy
