"""The plain reader and the schema agree: what the first accepts, the second accepts, with the same plan."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.plan.model import Plan
from ralph.stores import prd, prd_schema

ODD = st.sampled_from([None, True, 0, -1, 1.5, "", "x", "a b", "US-002", [], ["x"], [1], {}, {"a": 1}, "x\n"])
GATE = {"name": "t", "command": "t", "passed": True, "seconds": 1}
RESULT = {"completedAt": "t", "commit": "c", "summary": "s", "verify": [GATE]}
FINDING = {"severity": "major", "file": "a.py", "line": 3, "problem": "p", "remedy": "r"}
STORY = {
    "id": "US-001",
    "title": "One",
    "description": "d",
    "acceptanceCriteria": ["c"],
    "tags": ["ui"],
    "priority": 1,
    "dependsOn": [],
    "passes": False,
    "retries": 0,
    "blocked": False,
    "lastResult": RESULT,
    "notes": "",
    "reviewRounds": 1,
    "findings": [FINDING],
    "attempts": 1,
    "baseCommit": "abc",
}
REVIEW = {"attempts": 1, "failures": 0, "notes": "", "verifiedAt": "", "verifiedCommit": ""}
RUN = {"startedAt": None, "currentStoryId": None, "learnings": ["l"], "verification": REVIEW}
DOCUMENT = {
    "schemaVersion": 2,
    "project": "p",
    "branchName": "ralph/auth",
    "description": "d",
    "run": RUN,
    "userStories": [STORY, {"id": "US-002", "title": "Two"}],
}
PLACES: list[tuple[str | int, ...]] = [
    *[(key,) for key in DOCUMENT],
    *[("run", key) for key in RUN],
    *[("run", "verification", key) for key in REVIEW],
    *[("userStories", 0, key) for key in STORY],
    *[("userStories", 0, "findings", 0, key) for key in FINDING],
    *[("userStories", 0, "lastResult", key) for key in RESULT],
    *[("userStories", 0, "lastResult", "verify", 0, key) for key in GATE],
    ("userStories", 1),
]


def changed(place: tuple[str | int, ...], value: Any) -> bytes:
    document = json.loads(json.dumps(DOCUMENT))
    parent = document
    for part in place[:-1]:
        parent = parent[part]
    if value == "absent" and isinstance(parent, dict):
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return json.dumps(document).encode()


def read(data: bytes) -> Plan | None:
    try:
        return prd.read(data, "auth", name="prd.json")[1]
    except RalphError:
        return None


def accepted_by_schema(data: bytes) -> bool:
    try:
        prd_schema.parse(data, name="prd.json")
    except RalphError:
        return False
    return True


@given(place=st.sampled_from(PLACES), value=st.one_of(ODD, st.just("absent")))
def test_whatever_one_field_becomes_both_say_the_same(place: tuple[str | int, ...], value: Any) -> None:
    data = changed(place, value)
    assert (read(data) is not None) == accepted_by_schema(data)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_plan_read_with_the_schema_is_the_plan_read_plainly(place: tuple[str | int, ...]) -> None:
    data = changed(place, "absent")
    if accepted_by_schema(data):
        assert prd._read_with_schema(data, "auth", "prd.json")[1] == read(data)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"a": NaN}', b"\xff", b"[" * 100_000, "\ufeff{}".encode("utf-16")])
def test_what_is_no_json_object_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(RalphError):
        prd.read(data, "auth", name="prd.json")
