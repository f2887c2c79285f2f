"""JSON Lines: objects come out whole, whatever else is in the stream."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ralph.agent.dialects.lines import MAX_LINE_BYTES, JsonLines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)
GARBAGE = st.sampled_from(
    [b"", b"   ", b"{", b"}", b"[1, 2]", b'"text"', b"null", b"3", b'{"a": }', b"Warning: {}", b"\xff{}", b'{"a"'],
)


def objects(*pieces: bytes) -> list[dict[str, object]]:
    lines = JsonLines()
    found = [item for piece in pieces for item in lines.feed(piece)]
    return [*found, *lines.close()]


@given(st.lists(OBJECTS | GARBAGE, max_size=8), st.lists(st.integers(0, 400), max_size=8), st.booleans())
def test_objects_survive_garbage_and_any_cut(items: list[object], cuts: list[int], ended: bool) -> None:
    data = b"\n".join(item if isinstance(item, bytes) else json.dumps(item).encode() for item in items)
    data += b"\n" if ended else b""
    borders = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(borders)]
    assert objects(*pieces) == [item for item in items if isinstance(item, dict)]


def test_a_line_too_deep_for_any_parser_is_passed_over() -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    assert objects(deep + b'\n{"b": 1}\n') == [{"b": 1}]


def test_a_line_too_long_to_be_of_interest_is_passed_over_and_not_kept() -> None:
    lines = JsonLines()
    piece = b"x" * (1 << 20)
    assert list(lines.feed(b'{"a": "')) == []
    for _ in range((MAX_LINE_BYTES >> 20) + 1):
        assert list(lines.feed(piece)) == []
    assert len(pickle.dumps(vars(lines))) < 1000
    assert list(lines.feed(b'"}\n{"b": 1}\n')) == [{"b": 1}]


def test_the_beginning_of_a_line_too_long_is_reported_once() -> None:
    beginnings: list[bytes] = []
    lines = JsonLines(beginnings.append)
    for piece in (b'{"a"', b': "', *[b"x" * (1 << 20)] * 10, b'"}\n{"b": 1}\n'):
        assert list(lines.feed(piece)) == ([{"b": 1}] if piece.endswith(b"\n") else [])
    assert [beginning[:9] for beginning in beginnings] == [b'{"a": "xx']


def test_half_a_character_does_not_lose_the_event() -> None:
    assert objects(b'{"a": "caf\xc3", "b": 1}\n') == [{"a": "caf\ufffd", "b": 1}]


def test_two_objects_on_a_line_are_not_one() -> None:
    assert objects(b'{"a": 1} {"b": 2}\n{"c": 3}  \r\n') == [{"c": 3}]
