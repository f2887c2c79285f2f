"""Rules that the shape of a plan's file cannot express: unique ids, known dependencies, names that git allows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ralph import validation
from ralph.errors import RalphError
from ralph.plan.select import cycle
from ralph.validation import Json
from ralph.workflows.request.phases import UNPLANNED
from ralph.workspace import is_inside

STORY_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$"
BRANCH = r"^[A-Za-z0-9][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*$"
MAX_ID, MAX_BRANCH, MAX_WHY = 80, 200, 2000
RESERVED = "final"
SPECS_VERSION, REQUEST_VERSION = 1, "1.0"
STATE, TASKS = "state.json", "tasks"


def of_stories(document: Json) -> Iterable[str]:
    """Rules that the shape cannot express. Checks only values that have the right shape."""
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
    """Rules for a list of tasks under `where`, whose dependencies are under `dependencies`."""
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
    yield from _dependency_rules(tasks, where, dependencies)


def _dependency_rules(listed: list[Json], where: str, dependencies: str) -> Iterator[str]:
    known = dict.fromkeys(str(one["id"]) for one in listed if isinstance(one.get("id"), str))
    graph: dict[str, tuple[str, ...]] = {}
    for index, one in enumerate(listed):
        wanted = one.get(dependencies)
        names = tuple(name for name in wanted if isinstance(name, str)) if isinstance(wanted, list) else ()
        for name in names:
            if name not in known:
                yield f"{where}[{index}].{dependencies}: there is no {name!r}{validation.nearest(name, known)}"
        graph[str(one.get("id"))] = names
    found = cycle(graph)
    if found:
        yield f"{where}: dependencies form a cycle: {' → '.join(found)}"


def of_tasks(document: Json) -> Iterable[str]:
    yield from task_rules(document.get("tasks"), "tasks", "depends_on")
    app = document.get("app")
    if isinstance(app, str) and not is_inside(app):
        yield f"app: {app!r} is not inside the project"


def of_specs(document: Json) -> Iterable[str]:
    """Rules that the shape cannot express. Checks only values that have the right shape."""
    if document.get("version") is True:
        yield "version: expected 1, found true"  # Python considers 1 and true equal
    specs = _objects(document.get("specs"))
    tasks = [
        (f"specs[{number}].tasks[{index}]", task)
        for number, spec in enumerate(specs)
        for index, task in enumerate(_objects(spec.get("tasks")))
    ]
    yield from _repeated((f"specs[{number}]", spec) for number, spec in enumerate(specs))
    yield from _repeated(tasks)
    yield from _same_files(specs)
    yield from _dependency_rules(specs, "specs", "dependsOn")
    ids = {str(spec.get("id")) for spec in specs}
    for place, task in tasks:
        if isinstance(task.get("id"), str) and task["id"] in ids:
            yield f"{place}.id: {task['id']!r} is the id of a spec"
    for number, spec in enumerate(specs):
        if spec.get("tasks") == []:
            yield f"specs[{number}].tasks: {spec.get('id')!r} has no tasks; run `ralph plan --from specs/`"
        file = spec.get("file")
        if isinstance(file, str) and not is_inside(file):
            yield f"specs[{number}].file: {file!r} is not inside the project"


def _same_files(specs: list[Json]) -> Iterator[str]:
    first: dict[str, int] = {}
    for number, spec in enumerate(specs):
        file = spec.get("file")
        if isinstance(file, str) and first.setdefault(file, number) != number:
            yield f"specs[{number}].file: {file!r} is already used by specs[{first[file]}]; merge the two"


def _repeated(entries: Iterable[tuple[str, Json]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for place, entry in entries:
        name = entry.get("id")
        if isinstance(name, str):
            if name in first:
                yield f"{place}.id: {name!r} is already {first[name]}"
            if name.endswith(".lock"):
                yield f"{place}.id: {name!r} is a reserved name"
            first.setdefault(name, place)


def of_request(state: Json, entries: list[tuple[str, Json]]) -> Iterable[str]:
    """Rules that the shapes cannot express. Checks only values that have the right shape."""
    yield from task_rules([entry for _, entry in entries], TASKS, "dependencies")
    for file, entry in entries:
        if isinstance(entry.get("id"), str) and f"{entry['id']}.json" != file:
            yield f"{TASKS}/{file}: its id is {entry['id']!r}, which belongs in {TASKS}/{entry['id']}.json"
    listed = state.get("task_order")
    order = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    there = [file.removesuffix(".json") for file, _ in entries]
    for number, name in enumerate(order):
        if name in order[:number]:
            yield f"{STATE}: task_order[{number}]: {name!r} is listed twice"
        elif name not in there:
            near = validation.nearest(name, there)
            yield f"{STATE}: task_order[{number}]: there is no file {TASKS}/{name}.json{near}"
    is_planned = state.get("phase") not in [phase.value for phase in UNPLANNED]
    for name in there if is_planned else ():
        if name not in order:
            yield f"{TASKS}/{name}.json: it is not in task_order; add it there, or move the file"
    if is_planned and listed == []:
        yield f"{STATE}: task_order: there are no tasks, though the phase is {state.get('phase')!r}"
    statuses = state.get("task_statuses")
    for name in statuses if isinstance(statuses, dict) else ():
        if name not in order:
            yield f"{STATE}: task_statuses: {name!r} is not in task_order{validation.nearest(str(name), order)}"


def refuse_newer_specs(document: Json, name: str) -> None:
    version = document.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > SPECS_VERSION:
        raise RalphError(
            f"{name} has version {version}, but this Ralph supports only version {SPECS_VERSION}.",
            remedy="A newer Ralph wrote it. `ralph upgrade` shows how to get one. The file was not changed.",
        )


def refuse_other_request(document: Json, name: str) -> None:
    version = document.get("version")
    if isinstance(version, str) and version != REQUEST_VERSION:
        raise RalphError(
            f"{name} has version {version!r}, but this Ralph supports only version {REQUEST_VERSION!r}.",
            remedy="Another Ralph wrote it. `ralph upgrade` shows how to get a newer one. The file was not changed.",
        )


def _objects(listed: object) -> list[Json]:
    return [item if isinstance(item, dict) else {} for item in listed] if isinstance(listed, list) else []
