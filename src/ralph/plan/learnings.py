"""What agents wrote down for the next ones, and which of it fits into a prompt. Pure."""

from __future__ import annotations

import re

from ralph.plan.wording import significant

BULLET = re.compile(r"\s{0,3}(?:[-*+]|\d+[.)])\s+")


def entries(text: str) -> list[str]:
    """The notes one by one, oldest first: a bullet with what hangs on it, or a paragraph. Headings are left out."""
    found: list[list[str]] = []
    fresh = True
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            fresh = True
            continue
        if fresh or BULLET.match(line):
            found.append([])
        found[-1].append(line.rstrip())
        fresh = False
    return ["\n".join(lines) for lines in found]


def choose(text: str, about: str, limit: int) -> str:
    """The notes that help most with `about`, best first, in at most `limit` characters; cut only at line ends.

    A note that shares words with the task comes before one that does not; among equals, the newer one.
    """
    wanted = significant(about)
    ranked = sorted(
        enumerate(entries(text)), key=lambda item: (len(wanted & significant(item[1])), item[0]), reverse=True
    )
    lines: list[str] = []
    left = limit
    for _, entry in ranked:
        for line in entry.splitlines():
            if len(line) + 1 > left:
                break
            lines.append(line)
            left -= len(line) + 1
    return "\n".join(lines)
