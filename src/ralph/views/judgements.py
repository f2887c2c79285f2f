"""What a run says about how work is judged, besides its gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ralph.journal import events as e
from ralph.views import words

MAX_NAMES = 5
Line = Callable[..., None]
"""Prints a line."""


def _coupled(line: Line, event: e.Coupled) -> None:
    """Say what the gates run on, and why they run again."""
    more = f" and {len(event.ahead) - MAX_NAMES} more" if event.ahead[MAX_NAMES:] else ""
    together = f" together with {', '.join(event.ahead[:MAX_NAMES])}{more}" if event.ahead else ""
    if event.again:
        line(f"    ↺ what lands before it has changed: its gates run again{together}", dim=True)
    else:
        line(f"    its gates run{together}, which should land first", dim=True)


def _audited(line: Line, event: e.Audited) -> None:
    for text in event.failed:
        line(f"    ✗ weakens the checks: {words.cut(text, 200)}", fg="red")
    for text in event.held:
        line(f"    ! needs approval: {words.cut(text, 200)}", fg="yellow")
    for text in event.told:
        line(f"    note: {words.cut(text, 200)}", dim=True)


def _acceptance_ready(line: Line, event: e.AcceptanceReady) -> None:
    text = words.cut(words.acceptance(event.files, event.red, event.agent, is_new=event.is_new), 300)
    line(f"    ✓ {text}", fg="green")


def _ruled(line: Line, event: e.Ruled) -> None:
    line(f"    ↺ the acceptance tests are {event.tests}: {words.cut(event.reason, 200)}", fg="yellow")


def _reviewed(line: Line, event: e.Reviewed) -> None:
    good = event.verdict == "qualified"
    mark, colour = ("✓", "green") if good else ("↺", "yellow")
    line(f"    {mark} review: {event.verdict} · {words.cut(words.first_line(event.summary), 200)}", fg=colour)
    for finding in event.findings:
        line(f"        {words.cut(str(finding), 300)}", fg=words.SEVERITY_COLOURS[finding.severity])


SHOWN: Mapping[type[e.Event], Callable[[Line, Any], None]] = {  # Any: each takes its own kind of event
    e.Coupled: _coupled,
    e.Audited: _audited,
    e.AcceptanceReady: _acceptance_ready,
    e.Ruled: _ruled,
    e.Reviewed: _reviewed,
}
"""How each of these events is shown."""
