"""The order of gates: needs hold, nothing runs twice, and all that can run runs."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.model import Gate, HeldOut
from ralph.verify.schedule import Schedule


def gate(name: str, *needs: str, **more: Any) -> Gate:
    return Gate(name=name, command=name, timeout=1, needs=needs, **more)


@st.composite
def lists_of_gates(draw: st.DrawFn) -> tuple[Gate, ...]:
    """Gates in any order whose needs lead to no circle; some name a gate that is not among them."""
    count = draw(st.integers(1, 8))
    made = []
    for number in range(count):
        needs = draw(st.lists(st.sampled_from([*(str(one) for one in range(number)), "elsewhere"]), max_size=3))
        flags = {key: draw(st.booleans()) for key in ("parallel", "required")}
        made.append(gate(str(number), *needs, **flags))
    return tuple(draw(st.permutations(made)))


class Played:
    """A round without processes: it starts all that can start, and ends what runs in the order that chance says."""

    def __init__(self, gates: tuple[Gate, ...], green: dict[str, bool], *, beside: bool, copies: int = 99) -> None:
        self.gates, self.green, self.copies = gates, green, copies
        self.schedule = Schedule(gates, beside=beside, seconds={gate.name: float(gate.name) for gate in gates})
        self.line: int | None = None
        self.others: list[int] = []
        self.order: list[str] = []
        self.missed: dict[str, str] = {}

    def start(self) -> None:
        if self.line is None:
            self.line = self._noted(self.schedule.take_in_line())
        while len(self.others) < self.copies and (place := self._noted(self.schedule.take_beside())) is not None:
            self.others.append(place)

    def _noted(self, place: int | None) -> int | None:
        if place is not None:
            self.order.append(self.gates[place].name)
        return place

    @property
    def at_work(self) -> list[int]:
        return [*([] if self.line is None else [self.line]), *self.others]

    def end(self, place: int) -> None:
        if place == self.line:
            self.line = None
        else:
            self.others.remove(place)
        self.schedule.finish(place, green=self.green[self.gates[place].name])
        while found := self.schedule.next_missed():
            self.missed[self.gates[found[0]].name] = found[1]
            self.schedule.finish(found[0], green=False)


def cannot_run(gates: tuple[Gate, ...], green: dict[str, bool]) -> set[str]:
    """The gates that need a red one, or one that needs a red one, and so on; found in another way."""
    lost: set[str] = set()
    for _ in gates:
        lost |= {one.name for one in gates if any(name in lost or not green.get(name, True) for name in one.needs)}
    return lost


@given(data=st.data(), gates=lists_of_gates(), beside=st.booleans(), copies=st.sampled_from([0, 1, 2, 99]))
def test_every_order_respects_needs_and_all_that_can_run_runs_once(
    data: st.DataObject, gates: tuple[Gate, ...], *, beside: bool, copies: int
) -> None:
    green = {one.name: data.draw(st.booleans()) for one in gates}
    by_name = {one.name: one for one in gates}
    played = Played(gates, green, beside=beside, copies=copies)
    ended: set[str] = set()
    played.start()
    while played.at_work:
        in_line = [one for one in played.at_work if not (beside and gates[one].parallel)]
        assert len(in_line) <= 1, "gates that are not parallel share one copy"
        for name in played.order:
            assert all(need in ended and green[need] for need in by_name[name].needs if need in by_name)
        if copies == 99:
            assert played.schedule.ready_beside == [], "what can run at once runs at once"
        place = data.draw(st.sampled_from(played.at_work))
        played.end(place)
        ended.add(gates[place].name)
        played.start()
    lost = cannot_run(gates, green)
    assert len(played.order) == len(set(played.order))
    assert set(played.missed) == lost
    assert set(played.order) == set(by_name) - lost


def test_gates_in_line_keep_their_order_and_others_begin_with_the_quick_required_ones() -> None:
    gates = (
        gate("slow", parallel=True),
        gate("b"),
        gate("quick", parallel=True),
        gate("optional", parallel=True, required=False),
        gate("new", parallel=True),
        gate("a"),
    )
    schedule = Schedule(gates, beside=True, seconds={"slow": 9.0, "quick": 0.1, "optional": 0.01})

    taken = [schedule.take_beside() for _ in range(5)]

    assert [gates[place].name for place in taken if place is not None] == ["quick", "slow", "new", "optional"]
    assert schedule.take_in_line() == 1
    schedule.finish(1, green=False)
    assert schedule.take_in_line() == 5


def test_without_copies_every_gate_is_in_line() -> None:
    gates = (gate("slow", parallel=True), gate("quick", parallel=True))
    schedule = Schedule(gates, seconds={"slow": 9.0, "quick": 0.1})
    assert (schedule.take_in_line(), schedule.ready_beside) == (0, [])


def test_a_stopped_schedule_starts_nothing() -> None:
    schedule = Schedule((gate("a"), gate("b", parallel=True)), beside=True, stopped="because")
    assert (schedule.take_in_line(), schedule.take_beside(), schedule.ready_beside) == (None, None, [])


def test_a_held_out_gate_needs_what_ran_before_under_the_names_of_the_configuration() -> None:
    hidden = HeldOut(name="hidden", command="x")
    gates = (gate("held-out check", "lint", held_out=hidden), gate("held-out check", "types", held_out=hidden))
    schedule = Schedule(gates, earlier={"lint": False, "types": True})
    assert schedule.next_missed() == (0, "lint")
    schedule.finish(0, green=False)
    assert (schedule.next_missed(), schedule.take_in_line()) == (None, 1)
