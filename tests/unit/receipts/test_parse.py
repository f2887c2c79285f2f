"""Receipts from anywhere: each that does not hold together is refused with a word, and none breaks the reader."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.receipts.dsse import PAYLOAD_TYPE, Envelope, Signature, UnreadableReceipt, pae, parse
from ralph.receipts.parse import MAX_LINES, read_receipts
from ralph.receipts.statement import Subject, state_payload, work_payloads
from tests.unit.receipts.test_statement import FACTS, SUBJECT


def test_the_signed_bytes_are_those_of_the_specification() -> None:
    """The example of the DSSE specification."""
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("", b"") == b"DSSEv1 0  0 "
    assert Envelope(payload=b"x").signed_bytes == b"DSSEv1 28 application/vnd.in-toto+json 1 x"


@given(st.binary(), st.lists(st.tuples(st.text(), st.binary()), max_size=3))
def test_an_envelope_is_read_back_as_it_was(payload: bytes, signatures: list[tuple[str, bytes]]) -> None:
    made = Envelope(payload=payload, signatures=tuple(Signature(keyid=key, data=data) for key, data in signatures))
    assert b"\n" not in made.encode()
    assert parse(made.encode()) == made


def receipt(*payloads: bytes) -> bytes:
    return b"".join(Envelope(payload=payload).encode() + b"\n" for payload in payloads)


WHOLE = work_payloads(SUBJECT, FACTS)
STATE_ONLY = state_payload(
    SUBJECT, base=Subject(branch="b", commit="a" * 40, tree="e" * 40), paths=["x"], at="2026-01-01"
)


def test_a_whole_receipt_is_read() -> None:
    [read] = read_receipts(receipt(*WHOLE))
    assert (read.subject.commit, read.subject.tree) == (SUBJECT.commit, SUBJECT.tree)
    assert "RALPH_GATES_PASSED" in read.properties
    assert read.base is None
    below = read_receipts(receipt(STATE_ONLY))[0].base
    assert below and below.commit == "a" * 40


def test_receipts_that_git_has_joined_are_told_apart() -> None:
    other = work_payloads(replace(SUBJECT, commit="f" * 40), FACTS)
    lines = sorted(receipt(*WHOLE, *other).splitlines(keepends=True))  # as `git notes merge -s cat_sort_uniq` does
    found = read_receipts(b"".join(lines))
    assert {one.subject.commit for one in found} == {SUBJECT.commit, "f" * 40}
    assert all("RALPH_GATES_PASSED" in one.properties for one in found)


def test_a_line_that_is_there_twice_counts_once() -> None:
    [once], [twice] = read_receipts(receipt(*WHOLE)), read_receipts(receipt(*WHOLE) * 5)
    assert len(twice.statements) == len(once.statements) == len(WHOLE)


def changed(payload: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(payload)
    change(document)
    return json.dumps(document).encode()


def line(**fields: object) -> bytes:
    whole = {"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(WHOLE[0]).decode(), "signatures": []}
    return json.dumps(whole | fields).encode()


REFUSED = {
    "nothing": (b"", "it is empty"),
    "no JSON": (b"\x00\xff\n", "line 1: it is not valid JSON"),
    "half a line": (receipt(*WHOLE)[:-300], "it is not valid JSON"),
    "deep": (b"[" * 500_000, "line 1: it is not valid JSON"),
    "a huge number": (b'{"payload": ' + b"9" * 10_000 + b"}", "line 1: it is not valid JSON"),
    "no number": (b'{"payload": NaN}', "line 1: it is not valid JSON"),
    "a name for git": (
        receipt(changed(WHOLE[0], lambda d: d["subject"][0]["digest"].update(gitCommit="HEAD\nHEAD"))),
        "it names no git commit and tree",
    ),
    "a base for git": (
        receipt(changed(STATE_ONLY, lambda d: d["predicate"]["base"].update(gitTree="refs/heads/main"))),
        "fields of its predicate are missing or wrong",
    ),
    "another document": (b'["payload"]', "line 1: it is not a DSSE envelope"),
    "another type": (line(payloadType="text/plain"), "is not of the type application/vnd.in-toto+json"),
    "no Base64": (line(payload="%%%"), "invalid Base64"),
    "no signatures": (line(signatures=None), "signatures are not a list"),
    "many signatures": (line(signatures=[{"sig": ""}] * 5), "signatures are not a list of at most 4"),
    "an odd signature": (line(signatures=["x"]), "one of its signatures has no `sig`"),
    "no statement": (receipt(b"{}"), "its payload is not an in-toto statement"),
    "no subject": (receipt(changed(WHOLE[0], lambda d: d.pop("subject"))), "it names no git commit and tree"),
    "two subjects": (receipt(changed(WHOLE[0], lambda d: d["subject"].append({}))), "it names no git commit and tree"),
    "no predicate": (receipt(changed(WHOLE[0], lambda d: d.pop("predicate"))), "fields of its predicate are missing"),
    "an odd result": (
        receipt(changed(WHOLE[0], lambda d: d["predicate"].update(result="FINE"))),
        "fields of its predicate are missing or wrong",
    ),
    "odd properties": (
        receipt(changed(WHOLE[-1], lambda d: d["predicate"].update(properties=[[]]))),
        "fields of its predicate are missing or wrong",
    ),
    "no summary": (receipt(*WHOLE[:-1]), "it has no verification summary"),
    "a gate is gone": (receipt(*WHOLE[1:]), "a statement that its summary names is missing"),
    "a gate is new": (
        receipt(*WHOLE, changed(WHOLE[0], lambda d: d["predicate"].update(url="x"))),
        "its summary does not name all of its statements",
    ),
    "a changed result": (
        receipt(changed(WHOLE[1], lambda d: d["predicate"].update(result="PASSED")), WHOLE[0], *WHOLE[2:]),
        "a statement that its summary names is missing",
    ),
    "two commits": (
        receipt(changed(WHOLE[0], lambda d: d["subject"][0]["digest"].update(gitCommit="f" * 40)), *WHOLE[1:]),
        "it has no verification summary",
    ),
    "too many lines": (b"\n" * (MAX_LINES + 1), f"more than {MAX_LINES} lines"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_hold_together_is_refused_with_a_word(what: str) -> None:
    text, words = REFUSED[what]
    with pytest.raises(UnreadableReceipt) as error:
        read_receipts(text)
    assert words in str(error.value)


def test_a_receipt_that_says_itself_that_a_gate_failed_is_refused() -> None:
    red = replace(FACTS, gates=(replace(FACTS.gates[0], passed=False),))
    with pytest.raises(UnreadableReceipt, match="it says itself that the gate 'test' failed"):
        read_receipts(receipt(*work_payloads(SUBJECT, red)))


@given(
    st.binary(max_size=200) | st.recursive(st.none() | st.text(), lambda a: st.lists(a) | st.dictionaries(st.text(), a))
)
def test_whatever_is_in_a_statement_it_is_read_or_refused(content: object) -> None:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    for tried in (text, receipt(text), receipt(changed(WHOLE[-1], lambda d: d.update(predicate=str(content))))):
        with pytest.raises(UnreadableReceipt):
            read_receipts(tried)
