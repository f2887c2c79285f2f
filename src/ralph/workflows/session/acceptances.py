"""A session's accepted.json: the tasks that a person accepted, with who and why. Only Ralph writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ralph.plan.model import Acceptance, TaskResult

ACCEPTED = "accepted.json"


def read(text: str) -> dict[str, TaskResult]:
    """The results by task; an entry that is not one is left out: it only says how a task came to be done."""
    try:
        entries = json.loads(text or "{}")
    except ValueError:
        return {}
    return {name: _result(entry) for name, entry in entries.items() if _is_entry(entry)} if _is_object(entries) else {}


def text_of(accepted: Mapping[str, TaskResult]) -> str:
    """The file's text."""
    return json.dumps({name: _entry(result) for name, result in accepted.items()}, indent=2, ensure_ascii=False) + "\n"


def _entry(result: TaskResult) -> dict[str, str]:
    assert result.accepted, "a person accepted it"
    return {
        "by": result.accepted.by,
        "why": result.accepted.why,
        "at": result.completed_at,
        "commit": result.commit,
    }


def _result(entry: Mapping[str, str]) -> TaskResult:
    why = entry["why"]
    return TaskResult(
        completed_at=entry.get("at", ""),
        commit=entry.get("commit", ""),
        summary=f"Accepted by a person: {why}",
        accepted=Acceptance(by=entry.get("by", ""), why=why),
    )


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and "why" in value and all(isinstance(one, str) for one in value.values())
