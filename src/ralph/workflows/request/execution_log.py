"""A request's run as plain lines: `logs/execution.log` has everything, `logs/errors.log` the failures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ralph import safe_files
from ralph.engine.settle import UNSUCCESSFUL
from ralph.errors import RalphError
from ralph.journal import events as e
from ralph.journal.decode import decode
from ralph.journal.events import Event
from ralph.plan.model import GateResult, is_in_place
from ralph.plan.work import Ending, Verdict
from ralph.text import one_line
from ralph.views import words
from ralph.views.lines import indented
from ralph.workflows.request.files import ERRORS, EXECUTION


class ExecutionLog:
    """Listens to a run and writes its events as lines, without secrets, like the journal."""

    def __init__(self, root: Path) -> None:
        self._execution = root / EXECUTION
        self._errors = root / ERRORS

    def __call__(self, _: Event, line: str) -> None:
        entry = decode(line) if line else None
        if entry is None:
            return
        text = _line_about(entry.event)
        if text:
            _append(self._execution, f"{entry.at} {one_line(text)}\n")
        error = _error_of(entry.event)
        if error:
            _append(self._errors, f"{entry.at} {indented(error).strip()}\n\n")


def _line_about(event: Event) -> str:
    """An event in one line; empty if it needs none."""
    match event:
        case e.RunStarted():
            return f"run {event.run} started: {_passed(event)}, {event.branch}"
        case e.AttemptStarted():
            return f"{event.work} attempt {event.attempt} started: {event.title}"
        case e.GateEnded():
            gate = event.result
            how = "green" if gate.passed else f"red, {gate.reason}"
            how = gate.reason if gate.flaky else f"{gate.how_missed}, {gate.reason}" if gate.not_run else how
            return f"{event.work or 'baseline'} gate {gate.name}: {how}{_where((gate,))}"
        case e.AttemptEnded():
            commit = f", commit {event.commit[:10]}" if event.commit and event.verdict is Verdict.PASSED else ""
            how = f"{event.verdict.value}{_where(event.gates)}{commit}{_because(event.reason)}"
            return f"{event.work} attempt {event.attempt} {how}"
        case e.Reviewed():
            summary = words.cut(words.first_line(event.summary), 300)
            return f"{event.work} review {event.verdict}, {words.count(len(event.findings), 'finding')}: {summary}"
        case e.Landed():
            return f"{event.work} landed as {event.commit[:10]}"
        case e.Noted():
            return f"note: {event.text}"
        case e.Waited():
            who = f" for {event.agent}" if event.agent else ""
            return f"waiting {event.seconds:.0f} s{who}: {words.first_line(event.reason)}"
        case e.RunEnded():
            return f"run {event.run} {event.ending.value}, {_passed(event)}{_because(event.reason)}"
        case _:
            return ""


def _because(reason: str) -> str:
    brief = words.cut(words.first_line(reason), 300)
    return f": {brief}" if brief else ""


def _passed(event: e.RunStarted | e.RunEnded) -> str:
    accepted = f", {event.accepted} accepted" if event.accepted else ""
    return f"{event.passed} of {event.tasks} tasks passed{accepted}"


def _where(gates: Iterable[GateResult]) -> str:
    """Whether gates ran where the agent worked."""
    return f", {words.IN_PLACE}" if is_in_place(gates) else ""


def _error_of(event: Event) -> str:
    """A failure, with all its details."""
    match event:
        case e.AttemptEnded() if event.verdict in UNSUCCESSFUL:
            return f"{event.work} attempt {event.attempt} {event.verdict.value}\n{event.reason.strip()}"
        case e.RunEnded() if event.ending in (Ending.HALTED, Ending.STOPPED):
            return f"run {event.run} {event.ending.value}: {event.reason.strip()}"
        case _:
            return ""


def _append(path: Path, text: str) -> None:
    try:
        with os.fdopen(safe_files.open_append(path), "wb") as file:
            file.write(text.encode(errors="replace"))
    except OSError as error:
        raise RalphError(
            f"{path} could not be written: {error.strerror}.",
            remedy="Free some space, then run the command again. Ralph's state is intact.",
        ) from None
