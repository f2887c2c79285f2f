"""Merges an agent's plan with the existing one: done or tried work is never lost. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ralph.frozen import Frozen
from ralph.stores.task_codec import entries
from ralph.validation import Json, nearest
from ralph.workflows.formats import SPEC, SPEC_TASK, SPECS
from ralph.workflows.specs.covers import kept, named, numbers, same, texts
from ralph.workflows.specs.spec_files import SpecFile

TASK_STATE, SPEC_STATE = SPECS.codec.owned(SPEC_TASK), SPECS.codec.owned(SPEC)
CLOSED = ("completed", "blocked")


class MergeResult(Frozen):
    """The merged document, the answer's mistakes, and the changes."""

    document: Json
    mistakes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    added_criteria: int = 0


def merge(answer: Json, old: Json, specs: list[SpecFile]) -> MergeResult:
    """The answer's content with Ralph's state; ids and files come from the specs on disk."""
    merging = _MergeState(
        known={_text(task, "id"): task for spec in _specs(old) for task in _tasks(spec)},
        names={_text(spec, "id") for spec in _specs(old)},
    )
    given: dict[str, Json] = {}
    for entry in _specs(answer):
        file = _file_of(entry, specs)
        if file in given:
            merging.mistakes.append(f"{file}: the plan has two specs for this file; merge them")
        given[file] = entry
    before = merging.by_file(_specs(old), specs)
    joined: list[Json] = []
    for number, spec in enumerate(specs, 1):
        was, says_now = before.get(spec.file, {}), given.get(spec.file)
        if says_now is None:
            if was or any(not task.done for task in spec.tasks) or not spec.tasks:
                merging.mistakes.append(f"{spec.file}: the plan has no spec for this file; add it with id {spec.id!r}")
            continue
        joined.append(merging.spec(spec, says_now, was, number))
    on_disk = {spec.file for spec in specs}
    for file in given:
        if file not in on_disk and file not in before:
            merging.mistakes.append(f"{file or 'a spec without a file'}: there is no such spec file")
    for file, was in before.items():
        if file not in on_disk:
            joined += merging.spec_without_file(was)
    merging.resolve(joined, specs)
    document = {**old, "version": 1, "specs": joined}
    return MergeResult(
        document=document,
        mistakes=tuple(merging.mistakes),
        changes=tuple(merging.changes),
        added_criteria=merging.added_criteria,
    )


@dataclass
class _MergeState:
    """State kept while specs are merged one after another."""

    known: dict[str, Json]  # the tasks of the old plan, by id
    names: set[str]  # the ids of its specs
    mistakes: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    added_criteria: int = 0

    def by_file(self, entries: list[Json], specs: list[SpecFile]) -> dict[str, Json]:
        """The old plan's specs by their present files: one may have been renamed."""
        found = {_text(entry, "file"): entry for entry in entries}
        on_disk = {spec.file for spec in specs}
        lost = {_text(entry, "id"): file for file, entry in found.items() if file not in on_disk}
        for spec in specs:
            if spec.id in lost and spec.file not in found:
                self.changes.append(f"{lost[spec.id]} is now {spec.file}")
                found[spec.file] = found.pop(lost[spec.id])
        return found

    def spec(self, spec: SpecFile, given: Json, was: Json, number: int) -> Json:
        own = {key: value for key, value in given.items() if key not in SPEC_STATE}
        content = {
            **was,
            **own,
            "id": was.get("id") or self._free(spec.id),
            "file": spec.file,
            "name": own.get("name") or spec.name,
            "priority": own.get("priority", was.get("priority", number)),
        }
        if not was:
            self.changes.append(f"new spec {content['id']}")
        tasks = self._tasks(spec, given, was)
        content["tasks"] = tasks
        content["listed"] = [listed.text for listed in spec.tasks]
        content["acceptanceCriteria"] = self._criteria(spec, given, tasks)
        return {**content, "status": _spec_status(was, tasks)}

    def spec_without_file(self, was: Json) -> list[Json]:
        """Its file is gone: settled tasks stay on record and will be committed; the others are dropped."""
        settled = [task for task in _tasks(was) if task.get("status") in CLOSED]
        dropped = [_text(task, "id") for task in _tasks(was) if task not in settled]
        if dropped:
            self.changes.append(f"{was.get('file')} no longer exists: removed {', '.join(dropped)}")
        status = was["status"] if was.get("status") in CLOSED else "in_progress"
        return [{**was, "tasks": settled, "status": status}] if settled else []

    def resolve(self, joined: list[Json], specs: list[SpecFile]) -> None:
        """Let dependencies name specs by the ids they have now, and drop those on specs that the plan has lost."""
        now = {_text(entry, "id") for entry in joined}
        by_file = {_text(entry, "file"): _text(entry, "id") for entry in joined}
        ids = {spec.id: by_file.get(spec.file, spec.id) for spec in specs}
        for entry in joined:
            if isinstance(wanted := entry.get("dependsOn"), list):
                names = [ids.get(name, name) if isinstance(name, str) else name for name in wanted]
                entry["dependsOn"] = [name for name in names if name in now or name not in self.names]

    def _free(self, name: str) -> str:
        """A new spec's id, which no task or other spec may have."""
        return f"{name}-spec" if name in self.known or name in self.names else name

    def _tasks(self, spec: SpecFile, given: Json, was: Json) -> list[object]:
        listed = given.get("tasks")
        before = [_covering(task, kept(spec, was, texts(task, "covers"))) for task in _tasks(was)]
        if not isinstance(listed, list):
            return list(before)
        joined: list[object] = [self._task(spec, task, before) for task in listed]
        ids = {_text(task, "id") for task in joined if isinstance(task, dict)}
        missing = [task for task in before if task.get("id") not in ids]
        tried = [task for task in missing if _was_tried(task)]
        gone = [_text(task, "id") for task in missing if task not in tried]
        if gone:
            self.changes.append(f"removed {', '.join(gone)}")
        return _in_place(joined, tried, before)

    def _task(self, spec: SpecFile, task: object, here: list[Json]) -> object:
        if not isinstance(task, dict):
            return task
        own = {key: value for key, value in task.items() if key not in TASK_STATE}
        if isinstance(own.get("covers"), list):
            own["covers"] = self._covers(spec, task)
        name = _text(task, "id")
        if name not in self.known:
            self.changes.append(f"new task {name}: {_text(task, 'description')}")
            return {**own, "status": "pending"}
        before = next((other for other in here if other.get("id") == name), None)
        if before is None:
            self.mistakes.append(f"the task id {name!r} belongs to another spec; give this one another id")
            return {**own, **_state(self.known[name])}
        old, new = _text(before, "description"), _text(own, "description")
        is_same = _is_same(spec, before, own)
        if before.get("status") == "completed" and is_same:
            return {**before, **{key: own[key] for key in ("covers",) if key in own}}
        if _was_tried(before) and not is_same:
            what = f"it is {before.get('status')} and says {old!r}"
            self.mistakes.append(
                f"the task id {name!r} is taken: {what}; keep its text or what it covers, or use another id"
            )
        elif new != old:
            self.changes.append(f"{name} now says: {new}")
        return {**before, **own, **_state(before)}

    def _covers(self, spec: SpecFile, task: Json) -> list[str]:
        covers, known = named(spec, texts(task, "covers")), numbers(spec)
        wanted = [number for number, listed in known.items() if not listed.done]
        for name in covers:
            if name not in known:
                hint = nearest(name, wanted) or f"; it lists {', '.join(wanted) or 'no tasks'}"
                self.mistakes.append(f"{_text(task, 'id')}: covers: {spec.file} lists no {name!r}{hint}")
        return covers

    def _criteria(self, spec: SpecFile, given: Json, tasks: Iterable[object]) -> object:
        """The spec's criteria, and those that the file lists but the answer does not have."""
        listed = given.get("acceptanceCriteria", [])
        if not isinstance(listed, list):
            return listed
        theirs = [text for task in tasks if isinstance(task, dict) for text in texts(task, "acceptanceCriteria")]
        known = [*(text for text in listed if isinstance(text, str)), *theirs]
        there = set(map(same, known))
        missing = [item.text for item in spec.criteria if same(item.text) not in there]
        self.added_criteria += len(missing)
        return [*listed, *missing]


def _in_place(joined: list[object], kept: list[Json], order: list[Json]) -> list[object]:
    """Put tasks that the answer left out back where they were: after their predecessor."""
    result = list(joined)
    for task in kept:
        before = [_text(other, "id") for other in order[: order.index(task)]]
        places = [n for n, other in enumerate(result) if isinstance(other, dict) and other.get("id") in before]
        result.insert(max(places, default=-1) + 1, task)
    return result


def _file_of(entry: Json, specs: list[SpecFile]) -> str:
    """The file that an entry means, by its path or else by its id."""
    file = _text(entry, "file").removeprefix("./")
    if file in (spec.file for spec in specs):
        return file
    return next((spec.file for spec in specs if spec.id == _text(entry, "id")), file)


def _state(task: Json) -> Json:
    return {"status": "pending", **{key: task[key] for key in TASK_STATE if key in task}}


def _covering(task: Json, covers: list[str]) -> Json:
    return {**task, "covers": covers} if "covers" in task else task


def _is_same(spec: SpecFile, before: Json, now: Json) -> bool:
    """Whether an id still means the same: by its text, or by what it covers of a spec that has lists."""
    if same(_text(before, "description")) == same(_text(now, "description")):
        return True
    if not spec.tasks:
        return before.get("status") != "completed"
    return bool(set(texts(before, "covers")) & set(texts(now, "covers")))


def _was_tried(task: Json) -> bool:
    return task.get("status", "pending") != "pending" or bool(task.get("attempts"))


def _spec_status(was: Json, tasks: Iterable[object]) -> str:
    states = [task.get("status", "pending") for task in tasks if isinstance(task, dict)]
    settled = all(state in CLOSED for state in states)
    if settled and was.get("status") in CLOSED:
        return str(was["status"])
    return "in_progress" if any(state != "pending" for state in states) else "pending"


def _specs(document: Json) -> list[Json]:
    return entries(document, "specs")


def _tasks(spec: Json) -> list[Json]:
    return entries(spec, "tasks")


def _text(entry: Json, key: str) -> str:
    value = entry.get(key, "")
    return value if isinstance(value, str) else ""
