"""How checks are printed: a mark, what was checked, and what to do about it."""

from __future__ import annotations

from ralph.views.lines import say, styled
from ralph.workflows.checks import Check

MARKS = {"good": ("✓", "green"), "note": ("!", "yellow"), "bad": ("✗", "red")}


def show(check: Check) -> None:
    mark, colour = MARKS[check.state]
    say(
        styled(mark, fg=colour),
        " " + check.what.replace("\n", "\n    "),
        f"\n    → {check.remedy}" if check.remedy else "",
    )
