"""Which of the tasks that a spec lists are in its plan: they have numbers, and sets of numbers are compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.validation import Json
from ralph.workflows.specs.spec_files import Listed, SpecFile


def numbers(spec: SpecFile) -> dict[str, Listed]:
    """`avatar.1`, `avatar.2`, … : the spec's id, and the place in its lists."""
    return {f"{spec.id}.{place}": listed for place, listed in enumerate(spec.tasks, 1)}


def named(spec: SpecFile, covers: Iterable[str]) -> list[str]:
    """What an answer names, as numbers: they are meant word for word as well. What nobody listed stays as it is."""
    by_text = {same(listed.text): number for number, listed in reversed(numbers(spec).items())}
    return list(dict.fromkeys(by_text.get(same(name), name) for name in covers))


def kept(spec: SpecFile, was: Json, covers: Iterable[str]) -> list[str]:
    """What a task of the plan so far covers, by the numbers of today: lines may have come, gone or moved since."""
    then = texts(was, "listed")
    before = {f"{spec.id}.{place}": text for place, text in enumerate(_told_apart(then), 1)}
    now = dict(zip(_told_apart(listed.text for listed in spec.tasks), numbers(spec), strict=True))
    today = [now.get(before[name], "") if name in before else named(spec, [name])[0] for name in covers]
    return [name for name in today if name in now.values()]


def missing(spec: SpecFile, tasks: Iterable[Json]) -> dict[str, Listed]:
    """What is listed and not ticked, and no task covers; one that says the same word for word does."""
    covered = {name for task in tasks for name in named(spec, [str(task["description"]), *texts(task, "covers")])}
    return {name: listed for name, listed in numbers(spec).items() if not listed.done and name not in covered}


def same(text: str) -> str:
    """Equal texts: spaces, case and a full stop make no difference."""
    return " ".join(text.split()).casefold().rstrip(".")


def _told_apart(listed: Iterable[str]) -> list[tuple[str, int]]:
    """Texts that are there twice differ by how often they were there before."""
    seen: list[str] = []
    found = []
    for text in map(same, listed):
        found.append((text, seen.count(text)))
        seen.append(text)
    return found


def texts(entry: Json, key: str) -> list[str]:
    value = entry.get(key)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
