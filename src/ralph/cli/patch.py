"""A patch: in colours for a person, and exactly as it is for a program."""

from __future__ import annotations

from typing import Any

from ralph.views.lines import is_coloured, say, say_exactly

STYLES: dict[str, dict[str, Any]] = {
    "+++": {"bold": True},
    "---": {"bold": True},
    "diff ": {"bold": True},
    "@@": {"fg": "cyan"},
    "+": {"fg": "green"},
    "-": {"fg": "red"},
}


def show(text: str) -> None:
    """Print a patch."""
    if not is_coloured():
        say_exactly(f"{text}\n")
        return
    for line in text.split("\n"):
        found = next((style for mark, style in STYLES.items() if line.startswith(mark)), {})
        say(line, hang=0, **found)
