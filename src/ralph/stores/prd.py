"""The feature workflow's file: `.ralph/<date>-<feature>/prd.json`, read into a plan and written back.

Reading is plain and strict: a file that is in any way unusual goes to `prd_schema`, which knows all about it
and explains every mistake. Looking at a plan so costs no more than reading its JSON.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ralph import validation
from ralph.plan.model import Finding, GateResult, Plan, Result, Review, Severity, Task, TaskState
from ralph.stores import atomic
from ralph.stores.document import update
from ralph.stores.findings import LONGEST_FILE, LONGEST_TEXT, finding_entries
from ralph.stores.prd_rules import BRANCH, LONGEST_BRANCH, LONGEST_ID, STORY_ID, broken_rules
from ralph.validation import Json

SEVERITIES = tuple(severity.value for severity in Severity)


class PrdStore:
    """One prd.json: reads it into a plan, writes a plan back, keeps all it does not know."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self.target = target
        self._document: Json = {}
        self._saved: tuple[Task, ...] = ()

    def load(self, data: bytes | None = None) -> Plan:
        data = validation.read(self.path) if data is None else data
        self._document, plan = read(data, self.target, name=str(self.path))
        self._saved = plan.tasks
        return plan

    @property
    def document(self) -> Json:
        return self._document

    def render(self, plan: Plan) -> bytes:
        """The plan as the file's bytes; only what changed is written into the document."""
        stories = self._document["userStories"]
        assert isinstance(stories, list), "load has checked"
        for position, task in enumerate(plan.tasks):
            if task is not self._saved[position]:
                update(stories[position], _story(task))
        self._saved = plan.tasks
        run = self._document.setdefault("run", {})
        assert isinstance(run, dict), "load has checked"
        update(run, _run(plan, "verification" in run))
        from pydantic_core import to_json

        return to_json(self._document, indent=2) + b"\n"

    def save(self, plan: Plan) -> None:
        atomic.write(self.path, self.render(plan))


class _Unusual(Exception):
    """Not what is usual; perhaps right all the same, perhaps not: the schema knows."""


def read(data: bytes, target: str, *, name: str) -> tuple[Json, Plan]:
    """The document and its plan, or an error with all of its mistakes."""
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_finite)
        odd = b"\\ud" in data.lower() or validation.NUL in data
        if odd or not isinstance(document, dict) or any(True for _ in broken_rules(document)):
            raise _Unusual
        return document, _plan(document, target)
    except (_Unusual, ValueError, RecursionError):
        return _read_with_schema(data, target, name)


def _read_with_schema(data: bytes, target: str, name: str) -> tuple[Json, Plan]:
    from ralph.stores import prd_schema

    checked = prd_schema.parse(data, name=name)
    try:
        json.loads(data.decode("utf-8-sig"), parse_float=_finite)
    except _Unusual:
        raise validation.Mistakes(name, ["a number is larger than any computer's"]) from None
    usual = checked.model_dump(by_alias=True)
    return validation.parse_object(data, name=name), _plan(usual, target)


def _refuse(constant: str) -> object:
    raise _Unusual(constant)


def _finite(number: str) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise _Unusual(number)
    return value


def _plan(document: Json, target: str) -> Plan:
    run = _object(document, "run")
    review = _object(run, "verification")
    stories = document.get("userStories")
    if document.get("schemaVersion") != 2 or type(stories) is not list or not stories:
        raise _Unusual
    for key in ("project", "prdHash"):
        _text(document, key)
    return Plan(
        target=target,
        branch=_name(document, "branchName", BRANCH, LONGEST_BRANCH),
        description=_text(document, "description"),
        tasks=tuple(_task(story) for story in stories),
        current=_text_or_none(run, "currentStoryId") or None,
        started_at=_text_or_none(run, "startedAt"),
        learnings=_texts(run, "learnings"),
        review=Review(
            attempts=_count(review, "attempts"),
            failures=_count(review, "failures"),
            notes=_text(review, "notes"),
            verified_at=_text(review, "verifiedAt"),
            verified_commit=_text(review, "verifiedCommit"),
        ),
    )


def _task(story: object) -> Task:
    if type(story) is not dict:
        raise _Unusual
    passes, blocked = _flag(story, "passes"), _flag(story, "blocked")
    title = _text(story, "title")
    if not title:
        raise _Unusual
    return Task(
        id=_name(story, "id", STORY_ID, LONGEST_ID),
        title=title,
        description=_text(story, "description"),
        criteria=_texts(story, "acceptanceCriteria"),
        tags=frozenset(_texts(story, "tags")),
        priority=_whole(story, "priority"),
        depends_on=_texts(story, "dependsOn"),
        state=TaskState.PASSED if passes else TaskState.BLOCKED if blocked else TaskState.PENDING,
        failures=_count(story, "retries"),
        attempts=_count(story, "attempts"),
        base=_text(story, "baseCommit"),
        notes=_text(story, "notes"),
        tried=_texts(story, "tried"),
        rounds=_count(story, "reviewRounds"),
        findings=tuple(_finding(entry) for entry in _list(story, "findings")),
        result=_result(story.get("lastResult")),
    )


def _result(last: object) -> Result | None:
    if last is None:
        return None
    if type(last) is not dict or not {"completedAt", "commit", "summary"} <= last.keys():
        raise _Unusual
    return Result(
        completed_at=_text(last, "completedAt"),
        commit=_text(last, "commit"),
        summary=_text(last, "summary"),
        gates=tuple(_gate(gate) for gate in _list(last, "verify")),
    )


def _finding(entry: object) -> Finding:
    if type(entry) is not dict or entry.get("severity") not in SEVERITIES:
        raise _Unusual
    line = None if entry.get("line") is None else _count(entry, "line")
    file, problem, remedy = (_text(entry, key) for key in ("file", "problem", "remedy"))
    too_long = len(file) > LONGEST_FILE or max(len(problem), len(remedy)) > LONGEST_TEXT
    if line == 0 or not problem.strip() or too_long:
        raise _Unusual
    return Finding(severity=Severity(entry["severity"]), file=file, line=line, problem=problem, remedy=remedy)


def _gate(gate: object) -> GateResult:
    if type(gate) is not dict or not {"name", "command", "passed"} <= gate.keys():
        raise _Unusual
    seconds = gate.get("seconds", 0.0)
    if type(seconds) not in (int, float):
        raise _Unusual
    return GateResult(
        name=_text(gate, "name"),
        command=_text(gate, "command"),
        passed=_flag(gate, "passed"),
        seconds=seconds,
        in_place=_flag(gate, "inPlace"),
    )


def _object(parent: Json, key: str) -> Json:
    value = parent.get(key, {})
    if type(value) is not dict:
        raise _Unusual
    return value


def _list(parent: Json, key: str) -> list[object]:
    value = parent.get(key, [])
    if type(value) is not list:
        raise _Unusual
    return value


def _text(parent: Json, key: str) -> str:
    value = parent.get(key, "")
    if type(value) is not str:
        raise _Unusual
    return value


def _text_or_none(parent: Json, key: str) -> str:
    return "" if parent.get(key) is None else _text(parent, key)


def _name(parent: Json, key: str, pattern: str, longest: int) -> str:
    value = _text(parent, key)
    if len(value) > longest or not re.match(pattern, value) or value.endswith("\n"):
        raise _Unusual
    return value


def _texts(parent: Json, key: str) -> tuple[str, ...]:
    value = _list(parent, key)
    if any(type(item) is not str for item in value):
        raise _Unusual
    return tuple(map(str, value))


def _flag(parent: Json, key: str) -> bool:
    value = parent.get(key, False)
    if type(value) is not bool:
        raise _Unusual
    return value


def _whole(parent: Json, key: str) -> int:
    value = parent.get(key, 0)
    if type(value) is not int:
        raise _Unusual
    return value


def _count(parent: Json, key: str) -> int:
    value = _whole(parent, key)
    if value < 0:
        raise _Unusual
    return value


def _story(task: Task) -> Json:
    """What Ralph owns of a story."""
    return {
        "passes": task.state is TaskState.PASSED,
        "retries": task.failures,
        "blocked": task.state is TaskState.BLOCKED,
        "lastResult": _last_result(task.result),
        "notes": task.notes,
        "tried": list(task.tried),
        "reviewRounds": task.rounds,
        "findings": finding_entries(task.findings),
        "attempts": task.attempts,
        "baseCommit": task.base,
    }


def _last_result(result: Result | None) -> Json | None:
    if result is None:
        return None
    return {
        "completedAt": result.completed_at,
        "commit": result.commit,
        "summary": result.summary,
        "verify": [
            {
                "name": g.name,
                "command": g.command,
                "passed": g.passed,
                "seconds": round(g.seconds, 3),
                **({"inPlace": True} if g.in_place else {}),
            }
            for g in result.gates
        ],
    }


def _run(plan: Plan, reviewed: bool) -> Json:
    review = plan.review
    run: Json = {
        "startedAt": plan.started_at or None,
        "currentStoryId": plan.current,
        "learnings": list(plan.learnings),
    }
    if reviewed or review != Review():
        run["verification"] = {
            "attempts": review.attempts,
            "failures": review.failures,
            "notes": review.notes,
            "verifiedAt": review.verified_at,
            "verifiedCommit": review.verified_commit,
        }
    return run
