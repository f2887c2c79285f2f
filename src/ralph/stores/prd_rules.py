"""What the shape of a plan's file alone cannot say: unique ids, known dependencies, names that git allows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ralph import validation
from ralph.plan.select import cycle
from ralph.validation import Json

STORY_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$"
BRANCH = r"^[A-Za-z0-9][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*$"
LONGEST_ID, LONGEST_BRANCH = 80, 200
RESERVED = "final"


def broken_rules(document: Json) -> Iterable[str]:
    """What the shape alone cannot say; looks only at what has the right shape."""
    yield from task_rules(document.get("userStories"), "userStories", "dependsOn")
    stories = _objects(document.get("userStories"))
    for index, story in enumerate(stories):
        if story.get("passes") is True and story.get("blocked") is True:
            yield f"userStories[{index}]: passes and blocked are both true"
    run = document.get("run")
    current = run.get("currentStoryId") if isinstance(run, dict) else None
    known = [str(story.get("id")) for story in stories] if isinstance(current, str) else []
    if isinstance(current, str) and current not in known:
        yield f"run.currentStoryId: there is no story {current!r}{validation.nearest(current, known)}"
    branch = document.get("branchName")
    if isinstance(branch, str) and re.search(r"\.lock(/|$)", branch):
        yield "branchName: git does not allow names that end in .lock"


def task_rules(listed: object, where: str, dependencies: str) -> Iterable[str]:
    """Rules about a list of tasks that lies under `where` and names what each needs under `dependencies`."""
    tasks = _objects(listed)
    first: dict[str, int] = {}
    for index, task in enumerate(tasks):
        task_id = task.get("id")
        if isinstance(task_id, str):
            if task_id in first:
                yield f"{where}[{index}].id: {task_id!r} is already {where}[{first[task_id]}]"
            first.setdefault(task_id, index)
            if task_id.endswith(".lock") or task_id == RESERVED:
                yield f"{where}[{index}].id: {task_id!r} is a reserved name"
    graph: dict[str, tuple[str, ...]] = {}
    for index, task in enumerate(tasks):
        wanted = task.get(dependencies)
        names = tuple(name for name in wanted if isinstance(name, str)) if isinstance(wanted, list) else ()
        for name in names:
            if name not in first:
                yield f"{where}[{index}].{dependencies}: there is no {name!r}{validation.nearest(name, first)}"
        graph[str(task.get("id"))] = names
    found = cycle(graph)
    if found:
        yield f"{where}: dependencies run in a circle: {' → '.join(found)}"


def _objects(listed: object) -> list[Json]:
    return [item if isinstance(item, dict) else {} for item in listed] if isinstance(listed, list) else []
