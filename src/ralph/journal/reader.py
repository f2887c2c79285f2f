"""Reading journals back: what earlier runs did."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ralph.plan.model import Finding, Severity

FILE = "journal.jsonl"
JUDGED = ("passed", "failed", "unfinished", "blocked", "reopened")  # the others say nothing about the work
GREEN = ("passed", "reopened")  # a review comes only after green gates
COMMIT = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True, kw_only=True)
class PastAttempt:
    """What the journal says of an ended attempt."""

    run: str
    target: str
    work: str
    number: int
    verdict: str
    reason: str
    base: str
    seconds: float
    cost_usd: float | None
    at: str
    findings: tuple[Finding, ...] = ()  # of its review


def runs(logs: Path) -> list[Path]:
    """The folders of all runs, oldest first."""
    if not logs.is_dir():
        return []
    return sorted(path for path in logs.iterdir() if (path / FILE).is_file())


def events(run: Path, *names: str) -> Iterator[dict[str, object]]:
    """A run's events of these kinds; lines that a crash cut are passed over."""
    wanted = tuple(f'"event": "{name}"' for name in names)
    with (run / FILE).open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not wanted or any(line.startswith(mark, 1) for mark in wanted):
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                if isinstance(found, dict):
                    yield found


def past_attempts(logs: Path, target: str) -> dict[tuple[str, int], PastAttempt]:
    """Every ended attempt of a target, by task and number."""
    found: dict[tuple[str, int], PastAttempt] = {}
    reviews: dict[tuple[object, object], dict[str, object]] = {}  # the attempt may have ended in a later run
    for run in runs(logs):
        for event in events(run, "reviewed", "attempt_ended"):
            if event.get("target") != target:
                continue
            if event["event"] == "reviewed":
                reviews[event.get("work"), event.get("number")] = event
            else:
                attempt = _attempt(run.name, event)
                review = reviews.get((attempt.work, attempt.number), {})
                found[attempt.work, attempt.number] = replace(attempt, findings=_findings(review))
    return found


@dataclass(frozen=True, kw_only=True)
class SeenPage:
    """What the journal says of a page that was looked at after an attempt."""

    number: int  # of the attempt
    page: str
    screenshot: str
    findings: tuple[str, ...]  # kind and text


def seen_pages(logs: Path, target: str) -> dict[str, list[SeenPage]]:
    """Every page of a target that was looked at, by task, attempt after attempt."""
    found: dict[str, list[SeenPage]] = {}
    for run in runs(logs):
        ours = False
        for event in events(run, "run_started", "page_checked"):
            if event["event"] == "run_started":
                ours = event.get("target") == target
            elif ours:
                found.setdefault(str(event.get("work")), []).append(_seen(event))
    return found


@dataclass(frozen=True, kw_only=True)
class Figures:
    """How well a target's tasks went: how much agents had to read, and how often the first attempt was good."""

    prompts: tuple[int, ...]  # characters of each prompt
    tasks: int  # that were tried
    at_first: int  # of them, those whose gates were green at the first attempt


def figures(logs: Path, target: str) -> Figures:
    """From all journals of a target."""
    prompts: list[int] = []
    first: dict[str, tuple[int, bool]] = {}
    for run in runs(logs):
        ours = False
        for event in events(run, "run_started", "agent_started", "attempt_ended"):
            ours = event.get("target") == target if event["event"] == "run_started" else ours
            size, number = event.get("prompt_chars"), event.get("number")
            if ours and isinstance(size, int):
                prompts.append(size)
            elif ours and event.get("kind") == "task" and event.get("verdict") in JUDGED and isinstance(number, int):
                work = str(event.get("work"))
                if number < first.get(work, (number + 1, False))[0]:
                    first[work] = number, event["verdict"] in GREEN
    return Figures(prompts=tuple(prompts), tasks=len(first), at_first=sum(passed for _, passed in first.values()))


def _findings(review: dict[str, object]) -> tuple[Finding, ...]:
    listed = review.get("findings")
    return tuple(_finding(entry) for entry in listed if isinstance(entry, dict)) if isinstance(listed, list) else ()


def _finding(entry: dict[str, object]) -> Finding:
    severity = next((one for one in Severity if one.value == entry.get("severity")), Severity.MINOR)
    line = entry.get("line")
    file, problem, remedy = (str(entry.get(key) or "") for key in ("file", "problem", "remedy"))
    line = line if isinstance(line, int) else None
    return Finding(severity=severity, file=file, line=line, problem=problem, remedy=remedy)


def _seen(event: dict[str, object]) -> SeenPage:
    number, result = event.get("number"), event.get("result")
    told = result if isinstance(result, dict) else {}
    return SeenPage(
        number=number if isinstance(number, int) else 0,
        page=str(told.get("page", "")),
        screenshot=str(told.get("screenshot", "")),
        findings=tuple(f"{one.get('kind')}: {one.get('text')}" for one in told.get("findings", ())),
    )


def _attempt(run: str, event: dict[str, object]) -> PastAttempt:
    usage = event.get("usage")
    cost = usage.get("cost_usd") if isinstance(usage, dict) else None
    number, seconds = event.get("number"), event.get("seconds")
    return PastAttempt(
        run=run,
        target=str(event.get("target", "")),
        work=str(event.get("work", "")),
        number=number if isinstance(number, int) else 0,
        verdict=str(event.get("verdict", "")),
        reason=str(event.get("reason", "")),
        base=str(event.get("base", "")) if COMMIT.fullmatch(str(event.get("base", ""))) else "",
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
        at=str(event.get("at", "")),
    )
