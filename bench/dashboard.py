"""How soon a browser shows what a run writes into its journal, and how soon it shows a large plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.measure import CannotRun, folder
from bench.table import Row
from ralph import config
from ralph.errors import RalphError
from ralph.journal.events import AttemptEnded, AttemptStarted, Noted, StepStarted
from ralph.journal.writer import Journal
from ralph.plan.work import Verdict, WorkKind
from ralph.verify.browser import check_installed

SEEN, LIMIT_MS = 25, 200
TASKS, EVENTS, LIMIT_PAINT_MS = 1_000, 50_000, 2_000
RUN = "20260101-000000-00000000"
PAINTED = """new Promise((resolve) => new PerformanceObserver((list) => {
  const found = list.getEntriesByName("first-contentful-paint")[0];
  if (found) resolve(found.startTime);
}).observe({ type: "paint", buffered: true }))"""


@dataclass(frozen=True)
class _Seen:
    """Milliseconds from an event to the browser, and from it to the page with its effect."""

    told: float
    shown: float


def rows() -> list[Row]:
    try:
        browser = check_installed(config.BrowserSettings())
    except RalphError as error:
        raise CannotRun(error.what) from None
    with folder() as small, folder() as large:
        return [_live(small, browser), _first_paint(large, browser)]


def _live(place: Path, browser: str) -> Row:
    logs = _project(place, 20)
    with Journal(logs, target="auth") as journal:
        journal.emit(Noted(text="it begins"))
        with _opened(place, browser) as page:
            page.evaluate("document.addEventListener('ralph:event', (event) => { window.heard = event.detail.seq; })")
            samples = [_sample(page, journal, number) for number in range(2, SEEN + 2)]
    return Row(
        group="dashboard",
        what="dashboard: from an event to the browser",
        measured=median(one.told for one in samples),
        unit="ms",
        limit=LIMIT_MS,
        parts={"to the page with its effect": median(one.shown for one in samples)},
    )


def _sample(page: Any, journal: Journal, number: int) -> _Seen:
    time.sleep(0.3)  # the page rests
    journal.emit(Noted(text=f"note {number}"))
    begun = time.perf_counter()
    page.wait_for_selector(f"#ticker[data-place='{RUN}:{number}']", state="attached")
    told = time.perf_counter()
    page.wait_for_selector(f".events li[data-key='{RUN}-{number}']")
    return _Seen(told=(told - begun) * 1000, shown=(time.perf_counter() - begun) * 1000)


def _first_paint(place: Path, browser: str) -> Row:
    logs = _project(place, TASKS)
    with Journal(logs, target="auth") as journal:
        for number in range(EVENTS // 10):
            work, attempt = f"US-{number % TASKS + 1:04}", number // TASKS + 1
            started = AttemptStarted(
                work=work, attempt=attempt, kind=WorkKind.TASK, title="x", failures=0, max_failures=3, base=""
            )
            ended = AttemptEnded(
                work=work, attempt=attempt, kind=WorkKind.TASK, verdict=Verdict.FAILED, reason="red", base="",
                commit="", ref="", seconds=1.0,
            )  # fmt: skip
            for event in (started, *(StepStarted(work=work, attempt=attempt, step="agent") for _ in range(8)), ended):
                journal.emit(event)
    with _opened(place, browser, "/p/0/auth") as page:
        painted = float(page.evaluate(PAINTED))
    what = f"dashboard: first paint of {TASKS:,} tasks and {EVENTS:,} events"
    return Row(group="dashboard", what=what, measured=painted, unit="ms", limit=LIMIT_PAINT_MS, parts={})


def _project(place: Path, tasks: int) -> Path:
    """A project with a plan; the folder of its one run is returned."""
    plan = place / ".ralph/2026-01-01-auth/prd.json"
    plan.parent.mkdir(parents=True)
    stories = [
        {"id": f"US-{number:04}", "title": f"Task {number}", "priority": number, "acceptanceCriteria": ["It works"]}
        for number in range(1, tasks + 1)
    ]
    document = {"schemaVersion": 2, "branchName": "ralph/auth", "description": "d", "userStories": stories}
    plan.write_text(json.dumps(document))
    return place / ".ralph/logs" / RUN


@contextmanager
def _opened(place: Path, browser: str, path: str = "/p/0/auth/activity") -> Iterator[Any]:
    """A page of the dashboard of a project, in a warm browser."""
    from playwright.sync_api import sync_playwright

    environment = {**os.environ, "XDG_DATA_HOME": str(place / "data")}
    command = [sys.executable, "-m", "ralph", "-C", str(place), "ui", "--no-open", "--json"]
    with (
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process,
        sync_playwright() as playwright,
    ):
        assert process.stdout
        link = str(json.loads(process.stdout.readline())["url"])
        opened = playwright.chromium.launch(executable_path=browser, chromium_sandbox=False)
        context = opened.new_context()
        warm = context.new_page()
        warm.goto(f"{link.partition('/in/')[0]}/static/icon.svg")
        context.request.get(link, max_redirects=0)  # signs in, and asks for no page yet
        page = context.new_page()
        page.goto(f"{link.partition('/in/')[0]}{path}")
        page.wait_for_selector("#live[data-state=on]")
        yield page
        opened.close()
        process.terminate()
