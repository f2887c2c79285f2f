"""In which order gates run, and which of them at the same time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from ralph.plan.model import Gate


@dataclass
class Schedule:
    """The gates that are still to run; each is known by its place in the configuration.

    Gates that are not parallel run *in line*: one after another, in the order of the configuration, as far as their
    needs allow. The order of the others is free, so the required and quick ones come first.
    """

    gates: Sequence[Gate]
    seconds: Mapping[str, float] = field(default_factory=dict)  # how long gates took, by name
    beside: bool = False  # False: all gates run in line
    earlier: Mapping[str, bool] = field(default_factory=dict)  # gates that ran before these: whether they were green
    stopped: str = ""  # why no more gates start
    running: set[int] = field(default_factory=set)
    done: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = {gate.own_name: place for place, gate in enumerate(self.gates)}

    @property
    def is_over(self) -> bool:
        return len(self.done) == len(self.gates)

    def take_in_line(self) -> int | None:
        """Return the next gate for the first copy. It takes a parallel one only when no gate is left in the line."""
        in_line = [place for place in self._left if not self._is_parallel(place)]
        return self._take([place for place in in_line if self._is_ready(place)]) if in_line else self.take_beside()

    def take_beside(self) -> int | None:
        """Return the next gate for a copy of its own."""
        return self._take(sorted(self.ready_beside, key=self._rank))

    @property
    def ready_beside(self) -> list[int]:
        """The parallel gates that could run now."""
        return [place for place in self._left if self._is_parallel(place) and self._is_ready(place)]

    def finish(self, place: int, *, green: bool) -> None:
        self.running.discard(place)
        self.done[place] = green

    def next_missed(self) -> tuple[int, str] | None:
        """Return a gate that cannot run any more, and the name of the gate that it needs."""
        for place in self._left:
            for name in self.gates[place].needs:
                if self._is_green(name) is False:
                    return place, name
        return None

    def _take(self, places: Sequence[int]) -> int | None:
        if not places or self.stopped:
            return None
        self.running.add(places[0])
        return places[0]

    @property
    def _left(self) -> list[int]:
        return [place for place in range(len(self.gates)) if place not in self.done and place not in self.running]

    def _is_ready(self, place: int) -> bool:
        return not self.stopped and all(self._is_green(name) is True for name in self.gates[place].needs)

    def _is_green(self, name: str) -> bool | None:
        """Return whether a gate is green; None: it has not ended. A gate that is not about this work is not missed."""
        place = self._places.get(name)
        return self.earlier.get(name, True) if place is None else self.done.get(place)

    def _is_parallel(self, place: int) -> bool:
        return self.beside and self.gates[place].parallel and not self.gates[place].held_out

    def _rank(self, place: int) -> tuple[bool, float, int]:
        gate = self.gates[place]
        return not gate.required, self.seconds.get(gate.name, inf), place
