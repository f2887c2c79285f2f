"""A request's run as plain lines: `logs/execution.log` for all that happened, `logs/errors.log` for what went wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ralph import inside
from ralph.errors import RalphError
from ralph.journal.events import Event
from ralph.stores.request_files import ERRORS, EXECUTION
from ralph.validation import Json
from ralph.views import words

WRONG = ("failed", "blocked", "unfinished", "conflicted", "reopened")


class ExecutionLog:
    """Listens to a run, and writes down what its journal says: cleaned of secrets, as that is."""

    def __init__(self, root: Path) -> None:
        self._execution = root / EXECUTION
        self._errors = root / ERRORS

    def __call__(self, _: Event, line: str) -> None:
        event: Json = json.loads(line) if line else {}
        text = _told(event)
        if text:
            _append(self._execution, f"{event['at']} {text}\n")
        wrong = _wrong(event)
        if wrong:
            _append(self._errors, f"{event['at']} {wrong}\n\n")


def _told(event: Json) -> str:
    """An event in one line; empty if it is not worth one."""
    match event.get("event"):
        case "run_started":
            return f"run {event['run']} started: {event['passed']} of {event['tasks']} tasks passed, {event['branch']}"
        case "attempt_started":
            return f"{event['work']} attempt {event['number']} started: {event['title']}"
        case "gate_ended" if isinstance(gate := event.get("result"), dict):
            how = "green" if gate["passed"] else f"red, {gate['reason']}"
            return f"{event['work'] or 'baseline'} gate {gate['name']}: {how}{_where([gate])}"
        case "attempt_ended":
            reason = words.cut(words.first_line(str(event["reason"])), 300)
            commit = f", commit {str(event['commit'])[:10]}" if event["commit"] and event["verdict"] == "passed" else ""
            said = f": {reason}" if reason else ""
            where = _where(event.get("gates"))
            return f"{event['work']} attempt {event['number']} {event['verdict']}{where}{commit}{said}"
        case "reviewed" if isinstance(found := event.get("findings"), list):
            summary = words.cut(words.first_line(str(event["summary"])), 300)
            return f"{event['work']} review {event['verdict']}, {words.count(len(found), 'finding')}: {summary}"
        case "landed":
            return f"{event['work']} landed as {str(event['commit'])[:10]}"
        case "noted":
            return f"note: {event['text']}"
        case "waited":
            return f"waiting {event['seconds']:.0f} s: {words.first_line(str(event['reason']))}"
        case "run_ended":
            reason = words.cut(words.first_line(str(event["reason"])), 300)
            said = f": {reason}" if reason else ""
            return f"run {event['run']} {event['ending']}, {event['passed']} of {event['tasks']} tasks passed{said}"
        case _:
            return ""


def _where(gates: object) -> str:
    """Whether gates ran where the agent worked."""
    found = gates if isinstance(gates, list) else []
    return f", {words.IN_PLACE}" if any(isinstance(gate, dict) and gate.get("in_place") for gate in found) else ""


def _wrong(event: Json) -> str:
    """What went wrong, with all that is known of it."""
    match event.get("event"):
        case "attempt_ended" if event["verdict"] in WRONG:
            return f"{event['work']} attempt {event['number']} {event['verdict']}\n{str(event['reason']).strip()}"
        case "run_ended" if event["ending"] in ("halted", "stopped"):
            return f"run {event['run']} {event['ending']}: {str(event['reason']).strip()}"
        case _:
            return ""


def _append(path: Path, text: str) -> None:
    try:
        with os.fdopen(inside.open_append(path), "wb") as file:
            file.write(text.encode(errors="replace"))
    except OSError as error:
        raise RalphError(
            f"{path} could not be written: {error.strerror}.",
            remedy="Free some space, then run again; the state is whole.",
        ) from None
