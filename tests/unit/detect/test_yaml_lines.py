"""The part of YAML that CI files are written in."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.detect.yaml_lines import loads

CASES: dict[str, tuple[str, object]] = {
    "table": ("a: 1\nb:\n  c: x y # why\n", {"a": "1", "b": {"c": "x y"}}),
    "list under a key at the same column": ("on:\n- push\n- pull_request\n", {"on": ["push", "pull_request"]}),
    "list of tables": ("- name: A\n  run: b\n-\n  run: c\n", [{"name": "A", "run": "b"}, {"run": "c"}]),
    "literal block": ("run: |\n  one\n\n    two\nend: x\n", {"run": "one\n\n  two", "end": "x"}),
    "folded block": ("run: >-\n  one\n  two\n", {"run": "one two"}),
    "quotes": ("a: 'it''s # no comment'\nb: \"say \\\"x\\\"\" # why\n", {"a": "it's # no comment", "b": 'say "x"'}),
    "flow list": ("on: [push, 'pull_request']\n", {"on": ["push", "pull_request"]}),
    "continued plain text": ("run: one\n  two\nb: c\n", {"run": "one two", "b": "c"}),
    "continued quoted text": ('a: "one\n  two"\nb: c\n', {"a": "one two", "b": "c"}),
    "a colon inside": ("run: npm run a:b\n- x\n", {"run": "npm run a:b"}),
    "empty": ("# nothing\n---\n", None),
    "nested lists": ("- - a\n  - b\n- c\n", [["a", "b"], "c"]),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    text, value = CASES[name]
    assert loads(text) == value


def test_what_belongs_to_nothing_and_deep_nesting_are_refused() -> None:
    for text in ("a:\n  b:\n    c: 1\n   d: 2\n", "\n".join(" " * n + "a:" for n in range(99))):
        with pytest.raises(ValueError, match=r"nothing|deeply"):
            loads(text)


@given(st.text(alphabet="ab:-'\"|>[]{}#, \n", max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ValueError):
        loads(text)
