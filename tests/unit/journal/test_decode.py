"""A line of a journal as an event: every event comes back as it was, and nothing that a line holds raises."""

from __future__ import annotations

import json
import types
import typing
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from enum import EnumMeta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.journal.decode import HEAD, decode
from ralph.journal.encode import MAX_LINE, encode
from ralph.journal.events import EVENTS, AgentSpoke, AttemptEvent, Event, GateEnded, Noted, RunStarted, Unknown
from tests.unit.journal.test_writer import ATTEMPT, GATE, line

SOUND = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEPT = {name: cls for name, cls in EVENTS.items() if cls.kept}
PLAIN: dict[object, st.SearchStrategy[object]] = {
    str: SOUND,
    int: st.integers(-(1 << 62), 1 << 62),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def values_of(wanted: object) -> st.SearchStrategy[object]:
    """Any value that a field of this type can have."""
    inner = typing.get_args(wanted)
    if typing.get_origin(wanted) is tuple:
        return st.lists(values_of(inner[0]), max_size=3).map(tuple)
    if typing.get_origin(wanted) in (types.UnionType, typing.Union):
        return st.none() | values_of(next(one for one in inner if one is not type(None)))
    if isinstance(wanted, EnumMeta):
        return st.sampled_from(list(wanted))
    return any_of(wanted) if isinstance(wanted, type) and is_dataclass(wanted) else PLAIN[wanted]


def any_of(cls: type) -> st.SearchStrategy[object]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{one.name: values_of(hints[one.name]) for one in fields(cls)})


@pytest.mark.parametrize("name", KEPT)
@given(data=st.data())
def test_every_event_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    event = data.draw(any_of(KEPT[name]))
    assert isinstance(event, Event)
    run, target = getattr(event, "run", "r"), getattr(event, "target", "auth")
    entry = decode(encode(event, seq=7, run=run, target=target, at="2026-01-01T00:00:00.000Z"))
    assert entry
    assert entry.event == event
    assert (entry.v, entry.seq, entry.at, entry.run, entry.target) == (1, 7, "2026-01-01T00:00:00.000Z", run, target)
    assert entry.more == {}
    assert entry.name == name


@given(called=SOUND.filter(lambda name: name not in EVENTS), values=st.dictionaries(SOUND, SOUND, max_size=4))
def test_an_event_that_nobody_knows_comes_back_as_it_was(called: str, values: dict[str, object]) -> None:
    event = Unknown(called=called, values={key: value for key, value in values.items() if key not in HEAD})
    entry = decode(encode(event, seq=1, run="r", target="t"))
    assert entry
    assert entry.event == event
    assert entry.name == called


@given(st.binary() | st.text() | JSON.map(json.dumps))
def test_garbage_never_raises(garbage: bytes | str) -> None:
    decode(garbage)


@given(name=st.sampled_from(list(EVENTS)), body=st.dictionaries(st.text(max_size=6), JSON, max_size=4), data=st.data())
def test_an_event_of_any_shape_never_raises(name: str, body: dict[str, object], data: st.DataObject) -> None:
    known = [one.name for one in fields(EVENTS[name])]
    twisted = {key: data.draw(JSON) for key in data.draw(st.sets(st.sampled_from([*known, "v", "seq", "at", "run"])))}
    entry = decode(json.dumps({"v": 1, **body, **twisted, "event": name}))
    if entry:  # and what comes of it can be written anywhere
        encode(entry.event, seq=1, run=entry.run, target=entry.target).decode()
        f"{entry}".encode()


@given(cut=st.integers(0, 600))
def test_a_line_that_a_crash_cut_is_no_event(cut: int) -> None:
    text = line(ATTEMPT)
    assert decode(text[: min(cut, len(text) - 1)]) is None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"event": "noted", "text": ' + "[" * 900 + "]" * 900 + "}",
        '{"event": 7}',
        '{"v": 1, "event": "waited", "reason": "x", "seconds": 1e999}',
        '{"v": 1, "event": "waited", "reason": "x", "seconds": NaN}',
        '{"v": 1, "event": "step_started", "work": "a", "attempt": true, "step": "x"}',
        '{"v": 1, "event": "step_started", "work": "a", "attempt": ' + "9" * 400 + ', "step": "x"}',
        '{"v": 1, "event": "step_started", "work": "a", "attempt": ' + "9" * 5_000 + ', "step": "x"}',
        '{"v": 1, "event": "attempt_ended", "verdict": {}, "kind": []}',
        '{"v": 1, "event": "agent_spoke", "work": "a", "attempt": 1, "text": "never written"}',
    ],
)
def test_what_no_ralph_wrote_is_never_taken_for_an_event_that_is_known(text: str) -> None:
    entry = decode(text)
    assert entry is None or isinstance(entry.event, Unknown)


def test_a_line_that_is_too_long_is_no_event() -> None:
    assert decode(line(Noted(text="x" * 100)) + " " * MAX_LINE) is None


def test_half_a_character_does_not_reach_anybody() -> None:
    entry = decode('{"v": 1, "event": "noted", "text": "\\ud800", "\\udfff": ["\\ud800"]}')
    assert entry
    assert entry.event == Noted(text="?")
    assert entry.more == {"?": ["?"]}


def test_what_a_newer_ralph_says_besides_is_kept() -> None:
    found = json.loads(line(GateEnded(work="US-001", attempt=3, result=GATE)))
    entry = decode(json.dumps({**found, "v": 2, "mood": "good"}))
    assert entry
    assert entry.event == GateEnded(work="US-001", attempt=3, result=GATE)
    assert entry.more == {"mood": "good"}


def test_an_event_without_an_envelope_has_the_names_of_today() -> None:
    entry = decode('{"event": "gate_started", "at": "2026-01-01", "work": "US-001", "gate": "t", "command": "make"}')
    assert entry
    assert entry.is_old
    assert isinstance(entry.event, AttemptEvent)
    assert (entry.event.work, entry.event.attempt) == ("US-001", 0)


# events as values


def test_a_field_that_had_another_name_is_read() -> None:
    head = {"v": 1, "seq": 1, "at": "", "run": "r", "target": "auth", "event": "run_started", "workflow": "feature"}
    body = {"version": "1", "tasks": 1, "passed": 0, "blocked": 0, "branch": "ralph/auth", "agent": "x", "gates": []}
    entry = decode(json.dumps({**head, **body, "place": "/slots"}))
    assert entry and isinstance(entry.event, RunStarted)
    assert entry.event.slots == "/slots"
    assert entry.more == {}


def test_an_event_cannot_be_changed_and_equals_its_like() -> None:
    event = Noted(text="one")
    with pytest.raises(FrozenInstanceError):
        event.text = "two"  # type: ignore[misc]  # that is the point
    with pytest.raises(FrozenInstanceError):
        del event.text
    assert event == Noted(text="one") != Noted(text="two")
    assert hash(event) == hash(Noted(text="one"))
    assert replace(event, warning=True) == Noted(text="one", warning=True)
    assert repr(event) == "Noted(text='one', warning=False, work='', attempt=0)"


@pytest.mark.parametrize("given", [{}, {"text": "x", "colour": "red"}])
def test_an_event_that_lacks_something_or_has_too_much_is_a_mistake(given: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"Noted (lacks text|has no field colour)"):
        Noted(**given)


def test_every_event_of_an_attempt_says_which() -> None:
    loose = {name for name, cls in EVENTS.items() if not issubclass(cls, AttemptEvent)}
    assert loose == {
        "run_started", "noted", "baseline_started", "baseline_ended", "breaker_changed", "service_started",
        "waited", "run_ended", "sandbox_chosen", "host_refused", "steered",
    }  # fmt: skip
    assert {field.name for field in fields(AgentSpoke)} == {"work", "attempt", "text"}
    assert "run" in {field.name for field in fields(RunStarted)}
