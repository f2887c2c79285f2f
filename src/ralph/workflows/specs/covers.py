"""Which of a spec's listed tasks are in its plan: tasks have numbers, and sets of numbers are compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.validation import Json
from ralph.workflows.specs.spec_files import ListEntry, SpecFile


def numbers(spec: SpecFile) -> dict[str, ListEntry]:
    """`avatar.1`, `avatar.2`, … : the spec's id, and the position in its lists."""
    return {f"{spec.id}.{position}": listed for position, listed in enumerate(spec.tasks, 1)}


def named(spec: SpecFile, covers: Iterable[str]) -> list[str]:
    """What an answer names, as numbers. Exact texts count too; unknown names stay unchanged."""
    by_text = {same(listed.text): number for number, listed in reversed(numbers(spec).items())}
    return list(dict.fromkeys(by_text.get(same(name), name) for name in covers))


def kept(spec: SpecFile, was: Json, covers: Iterable[str]) -> list[str]:
    """What a task of the old plan covers, in today's numbers: lines may have been added, removed or moved."""
    then = texts(was, "listed")
    before = {f"{spec.id}.{position}": text for position, text in enumerate(_numbered_duplicates(then), 1)}
    now = dict(zip(_numbered_duplicates(listed.text for listed in spec.tasks), numbers(spec), strict=True))
    today = [now.get(before[name], "") if name in before else named(spec, [name])[0] for name in covers]
    return [name for name in today if name in now.values()]


def missing(spec: SpecFile, tasks: Iterable[Json]) -> dict[str, ListEntry]:
    """Listed tasks that are not ticked and that no task covers. A task with the same text covers it."""
    covered = {name for task in tasks for name in named(spec, [str(task["description"]), *texts(task, "covers")])}
    return {name: listed for name, listed in numbers(spec).items() if not listed.done and name not in covered}


def same(text: str) -> str:
    """A text in a form for comparison: without differences in spaces, case and a final full stop."""
    return " ".join(text.split()).casefold().rstrip(".")


def _numbered_duplicates(listed: Iterable[str]) -> list[tuple[str, int]]:
    """Makes repeated texts distinct by counting earlier occurrences."""
    seen: list[str] = []
    found = []
    for text in map(same, listed):
        found.append((text, seen.count(text)))
        seen.append(text)
    return found


def texts(entry: Json, key: str) -> list[str]:
    value = entry.get(key)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
