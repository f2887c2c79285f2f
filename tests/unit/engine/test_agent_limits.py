"""Which agent works while others are limited, how long a run waits, and what the next run still knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph.config import NamedProvider, Provider
from ralph.engine.agent_limits import FIRST_WAIT, MAX_KEPT, MAX_WAIT, MAX_WAITS, AgentLimits

CLAUDE, CODEX = (NamedProvider(name=name, provider=Provider(command=name)) for name in ("claude", "codex"))
BOTH = (CLAUDE, CODEX)


class Limits(AgentLimits):
    """Limits with a clock that a test sets."""

    now = 1000.0

    def __init__(self, folder: Path, jitter: float = 0.0) -> None:
        super().__init__(path=folder / "limits.json", clock=lambda: self.now, jitter=lambda: jitter)

    def meet(self, agent: str, **more: float) -> float:
        """Note a limit; return how many seconds it lasts."""
        self.add("limit", agent=agent, **{"began": self.now, **more})
        found = self._limit(agent)
        return found.until - self.now if found else 0.0


@pytest.fixture
def limits(tmp_path: Path) -> Limits:
    return Limits(tmp_path)


def test_the_next_agent_works_while_the_first_is_limited_and_gives_back(limits: Limits) -> None:
    assert limits.free(BOTH) is CLAUDE
    limits.meet("claude", retry_at=1500.0)
    assert limits.free(BOTH) is CODEX
    assert limits.in_the_way(BOTH, "agent") is None
    limits.now = 1500.0
    assert limits.free(BOTH) is CLAUDE


def test_if_all_are_limited_the_first_end_is_waited_for(limits: Limits) -> None:
    limits.meet("claude", retry_at=5000.0)
    limits.meet("codex", retry_at=2000.0)
    found = limits.in_the_way(BOTH, "agent")
    assert found and (found.agent, found.until) == ("codex", 2000.0)
    assert limits.in_the_way((), "verify") is None, "a step without an agent goes on"


def test_a_limit_that_was_waited_for_is_over_also_if_the_clock_was_set_back(limits: Limits) -> None:
    limits.meet("claude", retry_at=1060.0)
    found = limits.in_the_way([CLAUDE], "agent")
    limits.now = -500_000.0
    assert found and limits.in_the_way([CLAUDE], "agent") == found
    limits.waited(found)
    assert limits.in_the_way([CLAUDE], "agent") is None
    limits.meet("claude")
    again = limits.in_the_way([CLAUDE], "agent")
    assert again and again.waits == 2, "it still counts as one wait"


def test_what_was_waited_for_does_not_end_a_limit_that_was_met_meanwhile(limits: Limits) -> None:
    limits.meet("claude", retry_at=1060.0)
    found = limits.in_the_way([CLAUDE], "agent")
    limits.meet("claude", retry_at=2000.0)
    assert found
    limits.waited(found)
    newer = limits.in_the_way([CLAUDE], "agent")
    assert newer and newer.until == 2000.0


def test_without_a_time_the_wait_doubles_up_to_a_ceiling(limits: Limits) -> None:
    lasted = []
    for _ in range(8):
        lasted.append(limits.meet("claude"))
        limits.now += lasted[-1]
    assert lasted[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert lasted[-1] == MAX_WAIT
    limits.clear("claude", "agent")
    assert limits.meet("claude") == FIRST_WAIT, "an agent that worked starts anew"


def test_waits_differ_a_little(tmp_path: Path) -> None:
    assert Limits(tmp_path, jitter=1.0).meet("claude") == pytest.approx(FIRST_WAIT * 1.1)


def test_calls_that_began_before_it_ended_met_the_same_limit(limits: Limits) -> None:
    limits.meet("claude")
    limits.now += FIRST_WAIT + 5
    assert limits.meet("claude", began=1000.0) == 0.0, "it is over"
    assert limits.meet("claude") == 2 * FIRST_WAIT, "this one is new"


def test_it_ends_after_too_many_waits_in_a_row(limits: Limits) -> None:
    for number in range(1, MAX_WAITS + 2):
        limits.now += limits.meet("claude") + 1
        limits.meet("claude")
        found = limits.in_the_way((CLAUDE,), "agent")
        assert found
        limits.now = found.until + 1
        if found.waits > MAX_WAITS:
            assert not limits.is_worth_waiting(found)
            return
        assert limits.is_worth_waiting(found), number
    pytest.fail("it never ended")


def test_an_agent_that_a_person_must_repair_is_done_without_and_not_waited_for(limits: Limits) -> None:
    limits.rule_out("claude", "no login")
    assert limits.free(BOTH) is CODEX
    found = limits.in_the_way((CLAUDE,), "agent")
    assert found and not limits.is_worth_waiting(found)
    assert json.loads(limits.path.read_bytes())["limits"] == [] if limits.path.exists() else True


def test_the_next_run_keeps_waiting(limits: Limits, tmp_path: Path) -> None:
    limits.meet("claude", retry_at=2000.0)
    limits.meet("codex", retry_at=1000.0 + MAX_KEPT + 1)
    limits.add("breaker", step="agent", began=limits.now, retry_at=3000.0)
    limits.rule_out("pi", "no login")

    later = Limits(tmp_path)
    later.load()

    found = later.in_the_way((CLAUDE,), "agent")
    assert found and (found.until, found.reason) == (2000.0, "limit")
    assert later.free((CODEX,)), "nobody is believed to be limited for months"
    later.forget()
    again = Limits(tmp_path)
    again.load()
    assert again.free(BOTH) is CLAUDE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"limits": 3}',
        '{"limits": [{"agent": "claude"}]}',
        '{"limits": [{"agent": "claude", "reason": "x", "until": "soon"}]}',
        '{"limits": [{"agent": 1, "reason": "x", "until": 2000}]}',
        '{"limits": [{"agent": "claude", "reason": "x", "until": 2000, "waits": true}]}',
        '{"limits": [{"agent": "claude", "reason": "x", "until": 2000, "more": 1}]}',
    ],
)
def test_a_file_that_is_not_ralphs_limits_nobody(limits: Limits, text: str) -> None:
    limits.path.write_text(text)
    limits.load()
    assert limits.free(BOTH) is CLAUDE


def test_nobody_is_told_twice(limits: Limits) -> None:
    limits.meet("claude")
    found = limits.in_the_way((CLAUDE,), "agent")
    assert found and limits.is_new(found) and not limits.is_new(found)
