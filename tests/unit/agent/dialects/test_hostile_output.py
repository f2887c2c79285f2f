"""No output of any program breaks its reader: cut, interleaved, huge, of wrong types, unknown, twice."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.agent.dialects import DIALECTS
from ralph.agent.transcript import Marker, Transcript
from tests.unit.agent.dialects.recorded import FORMATS, SAMPLES, STRUCTURED, Heard, lines, raw, read, success

DONE = "<ralph>DONE</ralph>"
IDS = [f"{agent}-{name}" for agent, name in SAMPLES]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
NOISE = (
    b"npm warn deprecated\n",
    b"{not json\n",
    b"\xff\xfe\xfd\n",
    b"[]\n",
    b'"text"\n',
    b"{}\n",
    b'{"type": null}\n',
    b'{"type": ["assistant"]}\n',
    b'{"type": {"type": "result"}}\n',
    b'{"type": "something.new", "data": {"content": "<ralph>DONE</ralph>"}}\n',
    b"\xe2\x82\n",
    b"\r\n",
)


def same(one: Heard, other: Heard) -> bool:
    return (
        one.report == other.report
        and one.transcript.markers == other.transcript.markers
        and one.transcript.tail == other.transcript.tail
        and one.reader.finished == other.reader.finished
    )


@pytest.mark.parametrize(("agent", "name"), SAMPLES, ids=IDS)
def test_byte_by_byte_is_as_good_as_at_once(agent: str, name: str) -> None:
    data = raw(agent, name)[:12_000]
    assert same(read(agent, *(data[at : at + 1] for at in range(len(data)))), read(agent, data))


@pytest.mark.parametrize(("agent", "name"), SAMPLES, ids=IDS)
def test_output_that_ends_anywhere_is_read_up_to_there(agent: str, name: str) -> None:
    data = raw(agent, name)
    step = max(len(data) // 400, 1)
    for end in range(0, len(data), step):
        heard = read(agent, data[:end])
        whole = data[:end].rpartition(b"\n")[0]
        assert heard.transcript.tail.startswith(read(agent, whole).transcript.tail)


@pytest.mark.parametrize(("agent", "name"), SAMPLES, ids=IDS)
def test_noise_between_the_lines_changes_nothing(agent: str, name: str) -> None:
    data = raw(agent, name).rstrip(b"\n") + b"\n"
    noise = b"".join(NOISE)
    assert same(read(agent, noise + data.replace(b"\n", b"\n" + noise)), read(agent, data))


@pytest.mark.parametrize("agent", STRUCTURED)
def test_a_line_of_50_megabytes_is_passed_over_in_constant_memory(agent: str) -> None:
    before, after = lines(*FORMATS[agent].says("Before.\n")), lines(*FORMATS[agent].says(DONE))
    piece = b"x" * (1 << 20)
    reader = DIALECTS[agent].reader(transcript := Transcript())
    tracemalloc.start()
    reader.feed(before + b'{"type": "result", "text": "')
    for _ in range(50):
        reader.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    reader.feed(b'"}\n' + after)
    reader.close()
    assert peak < 20_000_000
    assert transcript.markers == [Marker("DONE")]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _paths(inner, (*path, key))


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


@settings(max_examples=max(300, settings().max_examples))
@given(sample=st.sampled_from(SAMPLES), data=st.data())
def test_values_of_wrong_types_anywhere_never_break_it(sample: tuple[str, str], data: st.DataObject) -> None:
    agent, name = sample
    events = [json.loads(line) for line in raw(agent, name).splitlines() if line.startswith(b"{")]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(events) - 1))
        path = data.draw(st.sampled_from(list(_paths(events[at]))[1:] or [()]))
        events[at] = _replaced(events[at], path, data.draw(VALUES)) if path else events[at]

    heard = read(agent, b"".join(json.dumps(event).encode() + b"\n" for event in events))

    usage = heard.report.usage
    for count in (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens):
        assert count is None or (type(count) is int and count >= 0)
    assert usage.cost_usd is None or isinstance(usage.cost_usd, float)
    assert isinstance(usage.model, str)
    if heard.report.failure:
        assert heard.report.failure.text
    assert all(isinstance(tool, str) for tool in heard.report.refused)


@pytest.mark.parametrize("agent", STRUCTURED)
def test_unknown_events_and_fields_change_nothing(agent: str) -> None:
    data = success(agent)
    known = [json.loads(line) for line in data.splitlines() if line.startswith(b"{")]
    widened = b"".join(
        json.dumps({"new": {"text": DONE}, **event, "newer": [DONE]}).encode() + b"\n" for event in known
    )
    unknown = lines({"type": "brand.new", "message": {"role": "assistant", "content": DONE}, "text": DONE})
    assert same(read(agent, unknown + widened.replace(b"\n", b"\n" + unknown)), read(agent, data))


@pytest.mark.parametrize(("agent", "name"), SAMPLES, ids=IDS)
def test_two_results_are_taken_as_they_come(agent: str, name: str) -> None:
    bad, good = (re.sub(rb"\bses_\w+", b"ses_1", data) for data in (raw(agent, name), success(agent)))  # one session
    assert read(agent, bad, good).report.failure is None
    after = read(agent, good, bad)
    assert after.kind == read(agent, bad).kind
    total, once = after.report.usage.input_tokens or 0, read(agent, good).report.usage.input_tokens or 0
    assert 0 <= total <= 2 * once + (read(agent, bad).report.usage.input_tokens or 0)
