"""Reads the journals of earlier runs."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.journal.decode import JournalEntry, decode
from ralph.journal.encode import MAX_LINE
from ralph.journal.events import AgentStarted, AttemptEnded, GateEnded, PageChecked, Reviewed, RunEnded, RunStarted
from ralph.plan.model import Finding, Plan, TaskResult, TaskState, is_in_place
from ralph.plan.usage import Usage
from ralph.plan.work import Verdict, WorkKind

FILE = "journal.jsonl"
JUDGED = (Verdict.PASSED, Verdict.FAILED, Verdict.UNFINISHED, Verdict.BLOCKED, Verdict.HELD, Verdict.REOPENED)
"""The other verdicts say nothing about the work."""
GREEN = (Verdict.PASSED, Verdict.HELD, Verdict.REOPENED)  # a review follows only green gates
REFUSED = tuple(verdict.value for verdict in (Verdict.FAILED, Verdict.UNFINISHED, Verdict.BLOCKED))
RUN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
COMMIT = re.compile(r"[0-9a-f]{40,64}")
NEWEST = 100
"""How many of a gate's answers show whether it is flaky."""


class PastAttempt(Frozen):
    """What the journal says about a finished attempt."""

    run: str
    target: str
    work: str
    number: int
    verdict: str
    reason: str
    base: str
    commit: str
    seconds: float
    usage: Usage
    agent: str  # its name in the configuration; "" in journals of older versions
    at: str
    in_place: bool = False  # its gates ran in the agent's working copy
    evidence: str = ""  # what shows that its work does what it should; empty: not known
    proven_by: tuple[str, ...] = ()  # tests or gates that fail without its work
    no_page: str = ""  # why no page was opened, although it was UI work
    findings: tuple[Finding, ...] = ()  # of its review


def runs(logs: Path) -> list[Path]:
    """Return the folders of all runs, oldest first; only those with a run's name, and no links."""
    if not _is_folder(logs):
        return []
    found = (path for path in logs.iterdir() if RUN.fullmatch(path.name) and _is_folder(path))
    return sorted(path for path in found if safe_files.is_file(path / FILE))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


@dataclass
class Lines:
    """Decodes the lines of one journal in order and counts those that are not events."""

    run: str
    skipped: int = 0
    is_old: bool = False  # an older Ralph wrote it
    _target: str = ""
    _count: int = field(default=0, repr=False)

    def restart(self) -> None:
        """Prepare to read the same journal from its start again."""
        self.skipped = self._count = 0

    def read(self, line: bytes) -> JournalEntry | None:
        entry = decode(line)
        self._count += 1
        if entry is None:
            self.skipped += 1
            return None
        self._target = entry.target or self._target
        if not entry.is_old:
            return entry
        self.is_old = True  # derive the envelope from the position of the line
        return replace(entry, seq=self._count, run=entry.run or self.run, target=self._target)


def events(run: Path, *names: str, lines: Lines | None = None) -> Iterator[JournalEntry]:
    """Yield a run's events of these kinds, or all of them; `lines` then has the number of skipped lines."""
    lines = lines or Lines(run.name)
    wanted = [f'"event": "{name}"'.encode() for name in (*names, *(["run_started"] if names else []))]
    with safe_files.open_old(run / FILE) as file:
        for line in bounded_lines(file):
            if not wanted or any(mark in line for mark in wanted):
                entry = lines.read(line)
                if entry and (not names or entry.name in names):
                    yield entry


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; one that is too long is truncated, and so not an event."""
    while line := file.readline(MAX_LINE + 1):
        yield line
        while line and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE)


def past_attempts(logs: Path, target: str) -> dict[tuple[str, int], PastAttempt]:
    """Return every finished attempt of a target, by task and number.

    The number of an attempt whose work is kept is never reused. So if journals disagree, an agent has forged one of
    them, and a refused attempt stays refused.
    """
    found: dict[tuple[str, int], PastAttempt] = {}
    reviews: dict[tuple[str, int], Reviewed] = {}  # the attempt may have ended in a later run
    for run in runs(logs):
        for entry in events(run, "reviewed", "attempt_ended"):
            event = entry.event
            if entry.target != target:
                continue
            if isinstance(event, Reviewed):
                reviews[event.work, event.attempt] = event
            elif isinstance(event, AttemptEnded):
                key = event.work, event.attempt
                if not _contradicts(found.get(key), event):
                    review = reviews.get(key)
                    attempt = _attempt(run.name, entry, event)
                    found[key] = replace(attempt, findings=review.findings if review else ())
    return found


def last_end(logs: Path, target: str) -> RunEnded | None:
    """Return how the newest run of a target ended; None if it is active, was killed, or never existed."""
    for run in reversed(runs(logs)):
        found = [entry for entry in events(run, "run_started", "run_ended") if entry.target == target]
        if any(isinstance(entry.event, RunStarted) for entry in found):
            return next((entry.event for entry in found if isinstance(entry.event, RunEnded)), None)
    return None


def _contradicts(known: PastAttempt | None, event: AttemptEnded) -> bool:
    return bool(known and known.commit and known.verdict in REFUSED and event.verdict in GREEN)


def flaky_gates(logs: Path) -> dict[str, int]:
    """Return how many of each gate's last answers were flaky, over all runs of the project; gates without are absent.

    A gate that was repaired leaves the list in time, because only its newest answers count.
    """
    answers: dict[str, deque[bool]] = {}
    known = runs(logs)
    if not any(_says(run, b'"flaky": true') for run in known):
        return {}
    for run in known:
        for entry in events(run, "gate_ended"):
            if isinstance(entry.event, GateEnded) and not entry.event.result.not_run:
                result = entry.event.result
                answers.setdefault(result.name, deque(maxlen=NEWEST)).append(result.flaky)
    return {name: sum(flaky) for name, flaky in answers.items() if any(flaky)}


def _says(run: Path, mark: bytes) -> bool:
    with safe_files.open_old(run / FILE) as file:
        return any(mark in line for line in bounded_lines(file))


class SeenPage(Frozen):
    """What the journal says about a page that was opened after an attempt."""

    number: int  # of the attempt
    page: str
    screenshot: str
    findings: tuple[str, ...]  # kind and text


def seen_pages(logs: Path, target: str) -> dict[str, list[SeenPage]]:
    """Return every opened page of a target, by task, in the order of attempts."""
    found: dict[str, list[SeenPage]] = {}
    for run in runs(logs):
        for entry in events(run, "page_checked"):
            if entry.target == target and isinstance(entry.event, PageChecked):
                found.setdefault(entry.event.work, []).append(_seen(entry.event))
    return found


def with_results(plan: Plan, logs: Path) -> Plan:
    """Return the plan with what the journals say about passed tasks whose result its own files do not tell."""
    wanted = {task.id for task in plan if task.state is TaskState.PASSED and task.result is None}
    found: dict[str, AttemptEnded] = {}
    for run in runs(logs) if wanted else ():
        for entry in events(run, "attempt_ended"):
            event = entry.event
            if entry.target == plan.target and isinstance(event, AttemptEnded) and event.verdict is Verdict.PASSED:
                found[event.work] = event
    for name in wanted.intersection(found):
        plan = plan.change(name, lambda task: replace(task, result=_result(found[task.id], task.title)))
    return plan


def _result(event: AttemptEnded, title: str) -> TaskResult:
    return TaskResult(
        completed_at="",
        commit=event.commit,
        summary=title,
        gates=event.gates,
        agent=event.agent,
        usage=event.usage,
        evidence=event.evidence,
        proven_by=event.proven_by,
        concerns=event.concerns,
    )


class Figures(Frozen):
    """How well a target's tasks went: prompt sizes, and how often the first attempt was green."""

    prompts: tuple[int, ...]  # characters of each prompt
    tasks: int  # tasks that were tried
    at_first: int  # those with green gates at the first attempt


def figures(logs: Path, target: str) -> Figures:
    """Compute the figures from all journals of a target."""
    prompts: list[int] = []
    first: dict[str, tuple[int, bool]] = {}
    for run in runs(logs):
        for entry in events(run, "agent_started", "attempt_ended"):
            event = entry.event
            if entry.target != target:
                continue
            if isinstance(event, AgentStarted):
                prompts.append(event.prompt_chars)
            elif isinstance(event, AttemptEnded) and event.kind is WorkKind.TASK and event.verdict in JUDGED:
                if event.verdict in GREEN and not event.gates:
                    continue  # no gate judged it
                before, good = first.get(event.work, (event.attempt + 1, True))
                if event.attempt <= before:
                    first[event.work] = event.attempt, event.verdict in GREEN and (good or event.attempt < before)
    return Figures(prompts=tuple(prompts), tasks=len(first), at_first=sum(passed for _, passed in first.values()))


def _seen(event: PageChecked) -> SeenPage:
    return SeenPage(
        number=event.attempt,
        page=event.result.page,
        screenshot=event.result.screenshot,
        findings=tuple(f"{one.kind}: {one.text}" for one in event.result.findings),
    )


def _attempt(run: str, entry: JournalEntry, event: AttemptEnded) -> PastAttempt:
    return PastAttempt(
        run=run,
        target=entry.target,
        work=event.work,
        number=event.attempt,
        verdict=event.verdict.value,
        reason=event.reason,
        base=event.base if COMMIT.fullmatch(event.base) else "",
        commit=event.commit,
        seconds=event.seconds,
        usage=event.usage,
        agent=event.agent,
        at=entry.at,
        in_place=is_in_place(event.gates),
        evidence=event.evidence.value if event.evidence else "",
        proven_by=event.proven_by,
        no_page=event.no_page,
    )
