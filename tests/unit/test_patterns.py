"""A pattern that is compiled at its first use finds what a compiled one finds."""

from __future__ import annotations

import re

import pytest

from ralph.patterns import lazy


def test_it_behaves_like_a_compiled_pattern() -> None:
    wanted, made = re.compile(r"(?P<word>[a-z]+)", re.IGNORECASE), lazy(r"(?P<word>[a-z]+)", re.IGNORECASE)
    for _ in range(2):
        assert made.findall("One, two") == wanted.findall("One, two") == ["One", "two"]
        assert made.sub("x", "One, two") == "x, x"
    assert (made.pattern, made.flags, made.groupindex["word"]) == (wanted.pattern, wanted.flags, 1)
    found = lazy(rb"\d").search(b"a1")
    assert found and found[0] == b"1"


def test_a_mistake_in_it_is_found_when_it_is_used() -> None:
    broken = lazy("(")
    with pytest.raises(re.error):
        broken.search("x")
