"""Reads receipts from an untrusted source: every mistake is a word, and nothing is believed beyond what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ralph.frozen import Frozen
from ralph.receipts import dsse
from ralph.receipts.dsse import Envelope, UnreadableReceipt
from ralph.receipts.statement import (
    ATTEMPT,
    GATES_PASSED,
    STATE,
    STATEMENT,
    SUMMARY,
    TEST_RESULT,
    Subject,
    sha256,
)

MAX_LINES = 1_000
NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
RESULTS = ("PASSED", "WARNED", "FAILED")


class ReadStatement(Frozen):
    """One statement, with the envelope that it came in."""

    kind: str
    subject: Subject
    predicate: dict[str, Any]
    envelope: Envelope


class ReadReceipt(Frozen):
    """The statements about one commit."""

    subject: Subject
    statements: tuple[ReadStatement, ...]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [one.predicate for one in self.statements if one.kind == kind]

    @property
    def base(self) -> Subject | None:
        """The commit with the same code, if this one changes only Ralph's own files."""
        if self.of_kind(SUMMARY):
            return None
        base = self.of_kind(STATE)[0]["base"]
        return Subject(branch=self.subject.branch, commit=base["gitCommit"], tree=base["gitTree"])

    @property
    def properties(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.of_kind(SUMMARY) for name in one["properties"]))


def read_receipts(text: bytes) -> tuple[ReadReceipt, ...]:
    """Parse a note or a file; raise `UnreadableReceipt` if anything in it is no receipt, or does not hold together.

    There can be several receipts in it: git joins the notes of a tree that two people have verified.
    """
    lines = text.split(b"\n", MAX_LINES + 1)
    if len(lines) > MAX_LINES:
        raise UnreadableReceipt(f"it has more than {MAX_LINES} lines")
    found: dict[tuple[str, str], list[ReadStatement]] = {}
    seen: set[bytes] = set()
    for number, line in enumerate(lines, 1):
        if line.strip() and line not in seen:  # joined notes can have a line twice, and each costs a check
            seen.add(line)
            try:
                statement = _statement(dsse.parse(line))
            except UnreadableReceipt as error:
                raise UnreadableReceipt(f"line {number}: {error}") from None
            found.setdefault((statement.subject.commit, statement.subject.tree), []).append(statement)
    if not found:
        raise UnreadableReceipt("it is empty")
    receipts = tuple(ReadReceipt(subject=all_of[0].subject, statements=tuple(all_of)) for all_of in found.values())
    for receipt in receipts:
        _check_whole(receipt)
    return receipts


def _check_whole(receipt: ReadReceipt) -> None:
    """Check that nothing was taken out or added: a summary names all other statements by their digests."""
    summaries = receipt.of_kind(SUMMARY)
    if not summaries:
        if not receipt.of_kind(STATE):
            raise UnreadableReceipt("it has no verification summary")
        return
    named = {digest for summary in summaries for digest in _inputs(summary)}
    others = (one for one in receipt.statements if one.kind in (TEST_RESULT, ATTEMPT))
    there = {sha256(one.envelope.payload) for one in others}
    if named - there:
        raise UnreadableReceipt("a statement that its summary names is missing")
    if there - named:
        raise UnreadableReceipt("its summary does not name all of its statements")
    tests = receipt.of_kind(TEST_RESULT)
    failed = next((one["configuration"][0]["name"] for one in tests if one["result"] == "FAILED"), None)
    if failed is not None:
        raise UnreadableReceipt(f"it says itself that the gate {failed!r} failed")
    if GATES_PASSED in receipt.properties and not any(one["result"] == "PASSED" for one in tests):
        raise UnreadableReceipt("it says that gates passed, but has no result of a gate")


def _inputs(summary: dict[str, Any]) -> Iterator[str]:
    for one in summary["inputAttestations"]:
        yield one["digest"]["sha256"]


def _statement(envelope: Envelope) -> ReadStatement:
    document = dsse.parse_json(envelope.payload)
    if not isinstance(document, dict) or document.get("_type") != STATEMENT:
        raise UnreadableReceipt("its payload is not an in-toto statement")
    subjects, kind, predicate = (document.get(name) for name in ("subject", "predicateType", "predicate"))
    match subjects:
        case [{"digest": {"gitCommit": commit, "gitTree": tree}} as subject] if _are_names(commit, tree):
            name = subject.get("name")
            about = Subject(branch=name if isinstance(name, str) else "", commit=commit, tree=tree)
        case _:
            raise UnreadableReceipt("it names no git commit and tree")
    if not isinstance(kind, str) or not isinstance(predicate, dict) or not _is_well_formed(kind, predicate):
        raise UnreadableReceipt("fields of its predicate are missing or wrong")
    return ReadStatement(kind=kind, subject=about, predicate=predicate, envelope=envelope)


def _is_well_formed(kind: str, predicate: dict[str, Any]) -> bool:
    """Return whether a predicate has the fields that are read later; kinds of other programs need none."""
    match kind, predicate:
        case str(), {"result": result, "configuration": [{"name": str()}, *_]} if kind == TEST_RESULT:
            return result in RESULTS
        case str(), {"properties": list(names), "inputAttestations": list(inputs)} if kind == SUMMARY:
            return all(isinstance(name, str) for name in names) and all(map(_is_input, inputs))
        case str(), {"base": {"gitCommit": commit, "gitTree": tree}} if kind == STATE:
            return _are_names(commit, tree)
        case str(), {"work": str(), "kind": str(), "evidence": str()} if kind == ATTEMPT:
            return True
        case _:
            return kind not in (TEST_RESULT, SUMMARY, STATE, ATTEMPT)


def _are_names(*values: object) -> bool:
    """Return whether these are names of git objects; git is asked about them."""
    return all(isinstance(value, str) and NAME.fullmatch(value) for value in values)


def _is_input(entry: object) -> bool:
    match entry:
        case {"digest": {"sha256": str()}}:
            return True
        case _:
            return False
