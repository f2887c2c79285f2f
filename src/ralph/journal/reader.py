"""Reading journals back: what earlier runs did."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ralph import inside
from ralph.plan.model import Finding, Severity

FILE = "journal.jsonl"
JUDGED = ("passed", "failed", "unfinished", "blocked", "reopened")  # the others say nothing about the work
GREEN = ("passed", "reopened")  # a review comes only after green gates
REFUSED = ("failed", "unfinished", "blocked")
RUN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
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
    commit: str
    seconds: float
    cost_usd: float | None
    at: str
    in_place: bool = False  # its gates ran where the agent worked
    findings: tuple[Finding, ...] = ()  # of its review


def runs(logs: Path) -> list[Path]:
    """The folders of all runs, oldest first; nothing that is not called as Ralph calls them, and no link."""
    if not _is_folder(logs):
        return []
    found = (path for path in logs.iterdir() if RUN.fullmatch(path.name) and _is_folder(path))
    return sorted(path for path in found if inside.is_file(path / FILE))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def events(run: Path, *names: str) -> Iterator[dict[str, object]]:
    """A run's events of these kinds; lines that a crash cut are passed over."""
    wanted = tuple(f'"event": "{name}"' for name in names)
    with io.TextIOWrapper(inside.open_old(run / FILE), encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not wanted or any(line.startswith(mark, 1) for mark in wanted):
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(found, dict):
                    yield found


def past_attempts(logs: Path, target: str) -> dict[tuple[str, int], PastAttempt]:
    """Every ended attempt of a target, by task and number.

    An attempt whose work is kept has a number that no later one gets. So where journals disagree, an agent has
    written one of them, and a refused attempt stays refused.
    """
    found: dict[tuple[str, int], PastAttempt] = {}
    reviews: dict[tuple[str, int], dict[str, object]] = {}  # the attempt may have ended in a later run
    for run in runs(logs):
        for event in events(run, "reviewed", "attempt_ended"):
            if event.get("target") != target:
                continue
            if event["event"] == "reviewed":
                reviews[_key(event)] = event
            elif not _contradicts(found.get(_key(event)), event):
                attempt = _attempt(run.name, event)
                found[_key(event)] = replace(attempt, findings=_findings(reviews.get(_key(event), {})))
    return found


def _key(event: dict[str, object]) -> tuple[str, int]:
    return str(event.get("work", "")), _whole(event.get("number"))


def _contradicts(known: PastAttempt | None, event: dict[str, object]) -> bool:
    return bool(known and known.commit and known.verdict in REFUSED and event.get("verdict") in GREEN)


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
                before, good = first.get(work, (number + 1, True))
                if number <= before:
                    first[work] = number, event["verdict"] in GREEN and (good or number < before)
    return Figures(prompts=tuple(prompts), tasks=len(first), at_first=sum(passed for _, passed in first.values()))


def _findings(review: dict[str, object]) -> tuple[Finding, ...]:
    return tuple(_finding(entry) for entry in _objects(review.get("findings")))


def _objects(value: object) -> list[dict[str, object]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


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
        number=_whole(number),
        page=str(told.get("page", "")),
        screenshot=str(told.get("screenshot", "")),
        findings=tuple(f"{one.get('kind')}: {one.get('text')}" for one in _objects(told.get("findings"))),
    )


def _attempt(run: str, event: dict[str, object]) -> PastAttempt:
    usage = event.get("usage")
    cost = usage.get("cost_usd") if isinstance(usage, dict) else None
    base, commit = (str(event.get(key, "")) for key in ("base", "commit"))
    return PastAttempt(
        run=run,
        target=str(event.get("target", "")),
        work=str(event.get("work", "")),
        number=_whole(event.get("number")),
        verdict=str(event.get("verdict", "")),
        reason=str(event.get("reason", "")),
        base=base if COMMIT.fullmatch(base) else "",
        commit=commit,
        seconds=_number(event.get("seconds")) or 0.0,
        cost_usd=_number(cost),
        at=str(event.get("at", "")),
        in_place=any(gate.get("in_place") for gate in _objects(event.get("gates"))),
    )
