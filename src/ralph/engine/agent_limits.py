"""Agents that are limited or down: until when, which agent works instead, and how long a run waits if none can."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph.config import NamedProvider
from ralph.stores import agent_limits
from ralph.stores.agent_limits import Limit

FIRST_WAIT, MAX_WAIT = 60.0, 1800.0
MAX_WAITS = 20
JITTER = 0.1  # of a wait: several runs that met one limit do not all come back at the same moment
MAX_KEPT = 8 * 24 * 3600.0  # a limit that claims to last longer is not believed by the next run


@dataclass
class AgentLimits:
    """What a run knows about its agents. All of its slots share it, and the next run reads it."""

    path: Path
    clock: Callable[[], float]
    jitter: Callable[[], float] = random.random
    written: Callable[[Path], None] = lambda _: None  # called after each write of the file
    waits: bool = True  # False: a run that can only wait ends instead
    _known: dict[tuple[str, str], Limit] = field(default_factory=dict)  # by agent and step, of which one is empty
    _announced: set[tuple[str, str, float]] = field(default_factory=set)

    def load(self) -> None:
        """Take over the limits that the last run met."""
        horizon = self.clock() + MAX_KEPT
        self._known = {
            (limit.agent, ""): limit for limit in agent_limits.read(self.path) if self.clock() < limit.until < horizon
        }

    def forget(self) -> None:
        """Have every agent tried at once."""
        self._known.clear()
        self._save()

    def add(self, reason: str, *, agent: str = "", step: str = "", began: float, retry_at: float | None = None) -> None:
        """Note that a call met a limit; one that began before the last limit was over met the same one."""
        known, now = self._known.get((agent, step)), self.clock()
        is_same = known is not None and began < known.until
        waits = known.waits + (not is_same) if known else 1
        if known and is_same:
            until = max(known.until, retry_at or 0.0)
        elif retry_at:
            until = max(retry_at, now + 1)
        else:
            until = now + min(FIRST_WAIT * 2 ** (waits - 1), MAX_WAIT) * (1 + JITTER * self.jitter())
        self._set(Limit(agent=agent, step=step, reason=reason, until=until, waits=waits))

    def waited(self, limit: Limit) -> None:
        """Note that a limit was waited for: it is over, also if somebody set the clock back meanwhile."""
        if self._limit(limit.agent, limit.step) == limit:
            self._set(replace(limit, until=self.clock()))

    def rule_out(self, agent: str, reason: str) -> None:
        """Do without an agent that a person must repair first, for the rest of this run."""
        self._set(Limit(agent=agent, reason=reason, until=math.inf))

    def clear(self, agent: str, step: str) -> None:
        """Note that a step has run, and that its agent works."""
        gone = [self._known.pop(key, None) for key in ((agent, ""), ("", step))]
        if any(gone):
            self._save()

    def free(self, agents: Iterable[NamedProvider]) -> NamedProvider | None:
        """Return the first agent that is not limited; None if all are."""
        return next((agent for agent in agents if not self._limit(agent.name)), None)

    def in_the_way(self, agents: Sequence[NamedProvider], step: str) -> Limit | None:
        """Return what a step must wait for; of several limited agents, the limit that ends first."""
        paused = self._limit(step=step)
        if paused or not agents:
            return paused
        limits = [self._limit(agent.name) for agent in agents]
        found = [limit for limit in limits if limit]
        return min(found, key=lambda limit: limit.until) if len(found) == len(limits) else None

    def is_worth_waiting(self, limit: Limit) -> bool:
        return self.waits and limit.ends and limit.waits <= MAX_WAITS

    def is_new(self, limit: Limit) -> bool:
        """Return whether a limit has not been reported yet; it counts as reported from now on."""
        key = limit.agent, limit.step, limit.until
        is_new = key not in self._announced
        self._announced.add(key)
        return is_new

    def _limit(self, agent: str = "", step: str = "") -> Limit | None:
        known = self._known.get((agent, step))
        return known if known and self.clock() < known.until else None

    def _set(self, limit: Limit) -> None:
        self._known[limit.agent, limit.step] = limit
        self._save()

    def _save(self) -> None:
        kept = [limit for limit in self._known.values() if limit.ends and limit.agent]
        if kept or self.path.exists():
            agent_limits.write(self.path, kept)
            self.written(self.path)
