"""Builds the in-toto statements of a receipt from plain data. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ralph.frozen import Frozen
from ralph.plan.evidence import Evidence
from ralph.plan.model import GateResult
from ralph.plan.usage import Usage

STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
SUMMARY = "https://in-toto.io/attestation/svr/v0.2"
ATTEMPT = "urn:ralph-run:attestation:attempt:v1"
STATE = "urn:ralph-run:attestation:state:v1"
VERIFIER = "urn:ralph-run:verifier:v1"

GATES_PASSED = "RALPH_GATES_PASSED"
CLEAN_CHECKOUT = "RALPH_CLEAN_CHECKOUT"
RED_TO_GREEN = "RALPH_RED_TO_GREEN"
REVERIFIED = "RALPH_REVERIFIED_AFTER_MERGE"
PROTECTED_UNCHANGED = "RALPH_PROTECTED_UNCHANGED"
REVIEWED = "RALPH_REVIEWED"
REVIEWED_BY_OTHER = "RALPH_REVIEWED_BY_OTHER_MODEL"
PROPERTIES = {
    GATES_PASSED: "required gates passed",
    CLEAN_CHECKOUT: "on a clean checkout",
    RED_TO_GREEN: "proven: red before, green after",
    REVERIFIED: "re-verified after a merge",
    PROTECTED_UNCHANGED: "protected files unchanged",
    REVIEWED: "reviewed",
    REVIEWED_BY_OTHER: "reviewed by another model",
}
"""What a verification summary can say, in words."""

MAX_COMMAND = 500
MAX_LISTED = 100
Statement = dict[str, Any]


class Subject(Frozen):
    """The commit that a statement is about."""

    branch: str
    commit: str
    tree: str


class TestNames(Frozen):
    """The tests of one gate by name, one on each line: so they are cleaned of secrets in one go."""

    __test__ = False  # pytest must not take it for a test

    passed: str = ""
    failed: str = ""


class AttemptFacts(Frozen):
    """What is known about the attempt that made a commit. What is not known is left out."""

    work: str
    kind: str
    number: int = 0
    run: str = ""
    agent: str = ""
    model: str = ""
    tester: str = ""  # the agent that wrote the acceptance tests
    prompt: str = ""  # sha256 of the agent's last prompt
    usage: Usage = field(default_factory=Usage)
    evidence: Evidence = Evidence.UNVERIFIED
    proven_by: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()  # what the work may have weakened about the checks
    base: str = ""
    ref: str = ""
    journal: tuple[str, int] = ("", 0)  # sha256 of the journal's first bytes, and how many
    accepted_by: str = ""
    why: str = ""


class WorkFacts(Frozen):
    """Everything that a receipt says about landed work."""

    gates: tuple[GateResult, ...]
    tests: Mapping[str, TestNames] = field(default_factory=dict)  # by gate, if it has a report that is small enough
    attempts: tuple[AttemptFacts, ...]
    policies: Mapping[str, bytes] = field(default_factory=dict)
    at: str
    ralph: str
    reverified: bool = False  # the gates ran again after it was merged with newer work
    protected_unchanged: bool = False
    reviewed: bool = False
    reviewed_by_other: bool = False

    @property
    def properties(self) -> tuple[str, ...]:
        required = [gate for gate in self.gates if gate.required]
        passed = bool(required) and all(gate.passed for gate in required)
        evidence = [attempt.evidence for attempt in self.attempts]
        holds = {
            GATES_PASSED: passed,
            CLEAN_CHECKOUT: passed and not any(gate.in_place for gate in self.gates),
            RED_TO_GREEN: bool(evidence) and all(one is Evidence.PROVEN for one in evidence),
            REVERIFIED: passed and self.reverified,
            PROTECTED_UNCHANGED: self.protected_unchanged,
            REVIEWED: self.reviewed,
            REVIEWED_BY_OTHER: self.reviewed_by_other,
        }
        return tuple(name for name, is_so in holds.items() if is_so)


def work_payloads(subject: Subject, facts: WorkFacts) -> tuple[bytes, ...]:
    """Return the statements about landed work, each serialized; the summary is the last and names all others."""
    tests = [(gate.name, serialize(_test_result(subject, gate, facts.tests.get(gate.name)))) for gate in facts.gates]
    attempts = [(one.work, serialize(_attempt(subject, one))) for one in facts.attempts]
    inputs = [{"name": name, "digest": {"sha256": sha256(data)}} for name, data in (*tests, *attempts)]
    payloads = (data for _, data in (*tests, *attempts))
    return (*payloads, serialize(_summary(subject, facts, inputs)))


def state_payload(subject: Subject, *, base: Subject, paths: Iterable[str], at: str) -> bytes:
    """Return the statement about a commit that changes only Ralph's own files."""
    predicate = {
        "base": {"gitCommit": base.commit, "gitTree": base.tree},
        "paths": sorted(paths),
        "timeCreated": at,
    }
    return serialize(_statement(subject, STATE, predicate))


def serialize(statement: Statement) -> bytes:
    return json.dumps(statement, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _statement(subject: Subject, kind: str, predicate: Mapping[str, object]) -> Statement:
    digest = {"gitCommit": subject.commit, "gitTree": subject.tree}
    return {
        "_type": STATEMENT,
        "subject": [{"name": subject.branch, "digest": digest}],
        "predicateType": kind,
        "predicate": predicate,
    }


def _test_result(subject: Subject, gate: GateResult, tests: TestNames | None) -> Statement:
    """An optional gate that failed is a warning; a required one never lands."""
    outcome = "PASSED" if gate.passed else "FAILED" if gate.required else "WARNED"
    configuration = {
        "name": gate.name,
        "digest": {"sha256": sha256(gate.command.encode(errors="replace"))},
        "annotations": {
            "command": gate.command[:MAX_COMMAND],
            "required": gate.required,
            "seconds": round(gate.seconds, 3),
            "inPlace": gate.in_place,
            **({"flaky": True} if gate.flaky else {}),
            **({"notRun": gate.reason[:MAX_COMMAND]} if gate.not_run else {}),
            **({"tests": gate.tests} if gate.tests else {}),
        },
    }
    named = {"passedTests": tests.passed.split("\n"), "failedTests": tests.failed.split("\n")} if tests else {}
    listed = {key: [name for name in names if name] for key, names in named.items()}
    return _statement(subject, TEST_RESULT, {"result": outcome, "configuration": [configuration], **listed})


def _summary(subject: Subject, facts: WorkFacts, inputs: Sequence[Mapping[str, object]]) -> Statement:
    policies = [{"name": name, "digest": {"sha256": sha256(data)}} for name, data in facts.policies.items()]
    predicate = {
        "verifier": {"id": VERIFIER, "version": facts.ralph, "policies": policies},
        "timeCreated": facts.at,
        "properties": list(facts.properties),
        "inputAttestations": list(inputs),
    }
    return _statement(subject, SUMMARY, predicate)


def _attempt(subject: Subject, facts: AttemptFacts) -> Statement:
    usage = facts.usage
    counts = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cacheRead": usage.cache_read_tokens,
        "cacheWrite": usage.cache_write_tokens,
    }
    journal, size = facts.journal
    predicate = {
        "work": facts.work,
        "kind": facts.kind,
        "attempt": facts.number or None,
        "run": facts.run,
        "agent": facts.agent,
        "model": facts.model,
        "tester": facts.tester,
        "prompt": {"sha256": facts.prompt} if facts.prompt else None,
        "tokens": {name: count for name, count in counts.items() if count is not None} or None,
        "cost": _cost(usage) if usage.calls else None,
        "evidence": facts.evidence.value,
        "provenBy": list(facts.proven_by[:MAX_LISTED]) or None,
        "concerns": list(facts.concerns[:MAX_LISTED]) or None,
        "base": {"gitCommit": facts.base} if facts.base else None,
        "ref": facts.ref,
        "journal": {"sha256": journal, "bytes": size} if journal else None,
        "acceptedBy": facts.accepted_by,
        "why": facts.why,
    }
    known = {name: value for name, value in predicate.items() if value not in (None, "")}
    return _statement(subject, ATTEMPT, known)


def _cost(usage: Usage) -> dict[str, object]:
    known = {} if usage.cost_usd is None else {"usd": usage.cost_usd}
    return {**known, "source": usage.cost_source}
