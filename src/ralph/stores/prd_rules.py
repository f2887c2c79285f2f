"""What the shape of prd.json alone cannot say: unique ids, known dependencies, names that git allows."""

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
    stories = document.get("userStories")
    stories = [s if isinstance(s, dict) else {} for s in stories] if isinstance(stories, list) else []
    first: dict[str, int] = {}
    for index, story in enumerate(stories):
        story_id = story.get("id")
        if isinstance(story_id, str):
            if story_id in first:
                yield f"userStories[{index}].id: {story_id!r} is already userStories[{first[story_id]}]"
            first.setdefault(story_id, index)
            if story_id.endswith(".lock") or story_id == RESERVED:
                yield f"userStories[{index}].id: {story_id!r} is a reserved name"
        if story.get("passes") is True and story.get("blocked") is True:
            yield f"userStories[{index}]: passes and blocked are both true"
    yield from _dependency_rules(stories, first)
    run = document.get("run")
    current = run.get("currentStoryId") if isinstance(run, dict) else None
    if isinstance(current, str) and current not in first:
        yield f"run.currentStoryId: there is no story {current!r}{validation.nearest(current, first)}"
    branch = document.get("branchName")
    if isinstance(branch, str) and re.search(r"\.lock(/|$)", branch):
        yield "branchName: git does not allow names that end in .lock"


def _dependency_rules(stories: list[Json], known: dict[str, int]) -> Iterable[str]:
    graph: dict[str, tuple[str, ...]] = {}
    for index, story in enumerate(stories):
        wanted = story.get("dependsOn")
        names = tuple(name for name in wanted if isinstance(name, str)) if isinstance(wanted, list) else ()
        for name in names:
            if name not in known:
                yield f"userStories[{index}].dependsOn: no story {name!r}{validation.nearest(name, known)}"
        graph[str(story.get("id"))] = names
    found = cycle(graph)
    if found:
        yield f"userStories: dependencies run in a circle: {' → '.join(found)}"
