"""The four formats by their tables: the plain reader and the schema agree, and nothing that a file holds is lost."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.plan.model import Acceptance, Finding, GateResult, Plan, Severity, Spec, Task, TaskResult, TaskState
from ralph.plan.usage import Usage
from ralph.stores import atomic
from ralph.stores.fields import TEXT, Part, own
from ralph.stores.task_codec import Codec, Format
from ralph.workflows import formats
from ralph.workflows.feature.store import PrdStore
from ralph.workflows.request.store import RequestStore, load
from ralph.workflows.requirements.store import TasksStore
from ralph.workflows.specs.store import ImplementationStore

Json = dict[str, Any]
Path_ = tuple[str | int, ...]
NOWHERE = Path("nowhere")
STAMPS = ("updatedAt", "updated_at")
WORDS_AND_NUMBERS = (None, True, 0, -1, 1.5, 10**30, "", " ", "x", "a b", "US-002", "done", "x\n", "a.lock", "\x1c")
ODD = st.sampled_from((*WORDS_AND_NUMBERS, "x" * 2500, "absent", [], ["x"], [1], {}, {"a": 1}))
GATE = {"name": "t", "command": "t", "passed": True, "seconds": 1}
WARNING = {**GATE, "required": False}
BY_ANN = {"by": "Ann", "why": "w"}
FINDING = {"severity": "major", "file": "a.py", "line": 3, "problem": "p", "remedy": "r"}
TRIED = {"notes": "", "tried": ["a"], "findings": [FINDING], "attempts": 1}
SPENT = {"seconds": 1.5, "usage": {"calls": 1, "model": "m", "unpriced": 0, "estimated": 0}}
STORY = {
    **{"id": "US-001", "title": "One", "description": "d", "acceptanceCriteria": ["c"], "tags": ["ui"], "priority": 1},
    **{"dependsOn": [], "passes": False, "retries": 0, "blocked": False, **TRIED, "reviewRounds": 1, "baseCommit": "a"},
    "resets": 1,
    "lastResult": {"completedAt": "t", "commit": "c", "summary": "s", "accepted": BY_ANN, "verify": [WARNING]},
}
VERIFICATION = {"attempts": 1, "failures": 0, "notes": "", "verifiedAt": "", "verifiedCommit": ""}
PRD = {
    **{"schemaVersion": 2, "project": "p", "branchName": "ralph/auth", "description": "d", "prdHash": "h"},
    "run": {"startedAt": None, "currentStoryId": None, "learnings": ["l"], "verification": VERIFICATION},
    "userStories": [STORY, {"id": "US-002", "title": "Two"}],
}
TASK = {
    **{"id": "T-1", "title": "One", "description": "d", "acceptance_criteria": ["c"], "depends_on": []},
    **{"status": "in_progress", **TRIED, "review_rounds": 1, "loops": 1, "idle_loops": 0, "base_commit": "b"},
    "result": {"completed_at": "t", "commit": "c", "summary": "s", "accepted": BY_ANN, "verify": [WARNING]},
}
TASKS = {
    **{"version": 1, "project": "p", "app": "", "description": "d", "started_at": None},
    "setup": {"attempts": 0, "failures": 0, "notes": ""},
    "tasks": [TASK, {"id": "T-2", "title": "Two", "depends_on": ["T-1"], "status": "todo"}],
}
SPEC_TASK = {
    **{"id": "a-1", "description": "One", "status": "in_progress", "acceptanceCriteria": ["c"], "covers": ["a.1"]},
    **{**TRIED, "reviewRounds": 0, "retries": 1, "baseCommit": "b", **SPENT},
    "result": {"completedAt": "t", "commit": "c", "summary": "s", "accepted": BY_ANN, "gates": [WARNING]},
}
SPEC = {
    **{"id": "a", "file": "specs/a.md", "name": "A", "priority": 1, "status": "pending", "context": "c"},
    **{"acceptanceCriteria": ["x"], "notes": "", "attempts": 0, "failures": 0, "result": None},
    "tasks": [SPEC_TASK, {"id": "a-2", "description": "Two"}],
}
SPECS = {
    **{"version": 1, "updatedAt": "t", "updatedBy": "plan-mode", "startedAt": None, "learnings": ["l"]},
    "specs": [SPEC, {"id": "b", "file": "specs/b.md", "name": "B", "tasks": [{"id": "b-1", "description": "Three"}]}],
}
FILE = {
    **{"id": "t-1", "title": "One", "description": "d", "acceptance_criteria": ["c"], "dependencies": []},
    **{**TRIED, "retries": 0, "review_rounds": 0, "base_commit": "b", **SPENT},
    "result": {"completed_at": "t", "commit": "c", "summary": "s", "accepted": BY_ANN, "gates": [GATE]},
}
FAILURE = {"task_id": "t-1", "task_title": "x", "error_message": "e", "failed_at": "t", "log_file": "l"}
STATE = {
    **{"version": "1.0", "created_at": "t", "updated_at": "t", "phase": "executing", "original_request": "do it"},
    **{"task_order": ["t-1", "t-2"], "task_statuses": {"t-1": "in_progress"}, "last_failure": FAILURE},
    **{"summary": "s", "started_at": "t", "branch": "ralph/x", "learnings": ["l"]},
}
REQUEST = {"state": STATE, "tasks": {"t-1": FILE, "t-2": {"id": "t-2", "title": "Two", "dependencies": ["t-1"]}}}


@dataclass(frozen=True)
class Kind:
    """One format: a document with all of its fields, and how it is read and written."""

    name: str
    document: Json
    format: Format[Plan] | None = None

    def read(self, content: Any, *, checked: bool = False) -> Plan:
        if self.format is None:
            files = {f"{name}.json": raw(task) for name, task in content["tasks"].items()}
            read = load(raw(content["state"]), files, name="x")
            return Plan(target="", tasks=tuple(read.tasks.values()), failure=read.state.failure)
        return (self.format.check if checked else self.format.load)(raw(content), name="x")[1]

    def saved(self, content: Json, change: Plan | None = None, root: Path = NOWHERE) -> tuple[Plan, Json]:
        """The plan that was read, and the document after it, or `change`, was written."""
        if self.format is None:
            files = {"state.json": content["state"], **{f"tasks/{n}.json": t for n, t in content["tasks"].items()}}
            for name, document in files.items():
                atomic.write(root / ".ralph" / name, raw(document))
            request = RequestStore(root)
            plan = request.load()
            request.save(change or plan)
            after = {name: json.loads((root / ".ralph" / name).read_bytes()) for name in files}
            tasks = {name: after[f"tasks/{name}.json"] for name in content["tasks"]}
            return plan, {"state": after["state.json"], "tasks": tasks}
        store = {
            "prd": lambda: PrdStore(NOWHERE, "t"),
            "tasks": lambda: TasksStore(NOWHERE, "t", NOWHERE),
            "specs": lambda: ImplementationStore(NOWHERE),
        }[self.name]()
        plan = store.load(raw(content))
        return plan, json.loads(store.render(change or plan))


KINDS = [
    Kind("prd", PRD, formats.PRD),
    Kind("tasks", TASKS, formats.TASKS),
    Kind("specs", SPECS, formats.SPECS),
    Kind("request", REQUEST),
]
EACH = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def raw(content: object) -> bytes:
    return json.dumps(content).encode()


def places(value: object, path: Path_ = ()) -> Iterator[Path_]:
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def at(content: Any, path: Path_) -> Any:
    for part in path:
        content = content[part]
    return content


def changed(content: Json, path: Path_, value: Any) -> Json:
    made = copy.deepcopy(content)
    parent = at(made, path[:-1])
    if value != "absent":
        parent[path[-1]] = value
    elif isinstance(parent, dict):
        del parent[path[-1]]
    return made


def accepted(kind: Kind, content: Any, *, checked: bool) -> Plan | None:
    try:
        return kind.read(content, checked=checked)
    except RalphError:
        return None


@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind.name)
@given(data=st.data())
def test_whatever_one_field_becomes_the_reader_and_the_schema_say_the_same(kind: Kind, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(places(kind.document))))
    content = changed(kind.document, path, data.draw(ODD))
    assert accepted(kind, content, checked=False) == accepted(kind, content, checked=True)


@given(path=st.sampled_from([path for path in places(REQUEST) if len(path) > 1 and path[:2] != ("tasks",)]), value=ODD)
def test_so_do_they_of_a_request_whose_files_an_escape_makes_unusual(path: Path_, value: Any) -> None:
    """A letter that JSON writes as a surrogate pair sends the same files to the schema."""
    kind = KINDS[3]
    content = changed(kind.document, path, value)
    if not isinstance(content["state"], dict) or any(not isinstance(task, dict) for task in content["tasks"].values()):
        return
    escaped = copy.deepcopy(content)
    escaped["state"]["unknown"] = "\U0001f600"
    assert accepted(kind, content, checked=False) == accepted(kind, escaped, checked=False)


WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
UNKNOWN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)


def objects(kind: Kind, content: Json) -> list[Path_]:
    """Where a field of anybody's can be added; the two tables of a request hold names, and nothing else."""
    found = [path for path in ((), *places(content)) if isinstance(at(content, path), dict)]
    tables = [(), ("tasks",), ("state", "task_statuses")] if kind.name == "request" else []
    return [path for path in found if path not in tables]


def worked_on(plan: Plan) -> Plan:
    """As a run leaves it, in every field that Ralph writes."""
    gate = GateResult(name="g", command="c", passed=True, seconds=2.34567, required=False, in_place=True)

    def change(task: Task) -> Task:
        return replace(
            task,
            **{
                "failures": 3,
                "attempts": 9,
                "idle": 1,
                "resets": 2,
                "base": "q",
                "notes": "né\u2028",
                "tried": ("a", "b"),
            },
            **{"state": TaskState.PASSED, "rounds": 2, "seconds": 1.23456, "usage": Usage(calls=2, cost_usd=0.0)},
            findings=(Finding(severity=Severity.MINOR, problem="pp"),),
            result=TaskResult(
                completed_at="z", commit="y", summary="w", gates=(gate,), accepted=Acceptance(by="Bo", why="n")
            ),
        )

    def close(spec: Spec) -> Spec:
        return replace(spec, attempts=4, notes="n")

    for task in plan.tasks[:1]:
        plan = plan.change(task.id, change)
    for spec in plan.specs[:1]:
        plan = plan.change_spec(spec.id, close)
    return replace(plan, learnings=(*plan.learnings, "new"), current=plan.tasks[-1].id, started_at="now")


@EACH
@given(data=st.data())
def test_unknown_fields_survive_at_every_level(
    kind: Kind, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = copy.deepcopy(kind.document)
    marks: list[tuple[Path_, Any]] = []
    for path in data.draw(st.lists(st.sampled_from(objects(kind, content)), min_size=1, max_size=4, unique=True)):
        value = data.draw(UNKNOWN)
        at(content, path)["unknown é"] = value
        marks.append(((*path, "unknown é"), value))
    root = tmp_path_factory.mktemp("request") if kind.name == "request" else NOWHERE
    plan, after = kind.saved(content, root=root)
    assert [at(after, path) for path, _ in marks] == [value for _, value in marks]
    _, later = kind.saved(after, worked_on(plan), root)
    assert [at(later, path) for path, _ in marks] == [value for _, value in marks]
    assert list(after)[: len(content)] == list(content), "in the order in which they stood"


NOT_KEPT = {
    "prd": ("idle", "seconds", "usage"),
    "tasks": ("seconds", "usage", "resets"),
    "specs": ("idle", "resets"),
    "request": ("idle", "resets"),
}


@EACH
def test_what_a_run_changed_is_what_the_next_one_reads(kind: Kind, tmp_path: Path) -> None:
    before, _ = kind.saved(kind.document, root=tmp_path)
    wanted = worked_on(before)
    _, after = kind.saved(kind.document, wanted, tmp_path)
    again, once_more = kind.saved(after, root=tmp_path)
    done, result = wanted.tasks[0], wanted.tasks[0].result
    assert result
    gates = tuple(replace(gate, seconds=round(gate.seconds, 3)) for gate in result.gates)
    fresh = {name: getattr(Task(id="", title=""), name) for name in NOT_KEPT[kind.name]}
    expected = replace(done, seconds=round(done.seconds, 3), result=replace(result, gates=gates))
    assert again.tasks[0] == replace(expected, **fresh)
    assert (again.current, again.started_at) == (wanted.current, "now")
    assert _without(once_more, STAMPS) == _without(after, STAMPS)


def _without(content: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(content, dict):
        return {key: _without(value, keys) for key, value in content.items() if key not in keys}
    return content


@EACH
def test_a_plan_that_nobody_changed_is_written_byte_for_byte(kind: Kind, tmp_path: Path) -> None:
    _, once = kind.saved(kind.document, root=tmp_path)
    _, twice = kind.saved(once, root=tmp_path)
    assert raw(_without(twice, STAMPS)) == raw(_without(once, STAMPS))


@EACH
def test_a_gate_that_is_clean_again_is_no_longer_said_to_have_run_in_place(kind: Kind, tmp_path: Path) -> None:
    before, _ = kind.saved(kind.document, root=tmp_path)
    _, after = kind.saved(kind.document, worked_on(before), tmp_path)
    dirty, _ = kind.saved(after, root=tmp_path)
    result = dirty.tasks[0].result
    assert result and result.in_place
    clean = replace(result, gates=tuple(replace(gate, in_place=False) for gate in result.gates))
    _, last = kind.saved(after, dirty.change(dirty.tasks[0].id, lambda task: replace(task, result=clean)), tmp_path)
    read, _ = kind.saved(last, root=tmp_path)
    assert not read.in_place


@EACH
def test_a_mark_that_some_editors_put_in_front_does_no_harm(kind: Kind, tmp_path: Path) -> None:
    if kind.format:
        assert kind.format.load(b"\xef\xbb\xbf" + raw(kind.document), name="x")[1].tasks
        assert kind.format.check(b"\xef\xbb\xbf" + raw(kind.document), name="x")[1].tasks
    else:
        files = {f"{name}.json": b"\xef\xbb\xbf" + raw(task) for name, task in REQUEST["tasks"].items()}
        assert load(b"\xef\xbb\xbf" + raw(STATE), files, name="x").tasks
        assert load(b"\xef\xbb\xbf" + raw({**STATE, "x": "\U0001f600"}), files, name="x").tasks


@pytest.mark.parametrize("data", [b"", b"[]", b'{"a": NaN}', b"\xff", b"[" * 100_000, "\ufeff{}".encode("utf-16")])
@pytest.mark.parametrize("format", [formats.PRD, formats.TASKS, formats.SPECS], ids=lambda format: format.title)
def test_what_is_no_json_object_is_refused_with_a_reason(format: Format[Plan], data: bytes) -> None:
    with pytest.raises(RalphError):
        format.load(data, name="x")


@EACH
def test_a_number_without_bounds_is_refused(kind: Kind) -> None:
    for document in [kind.document] if kind.format else [STATE, FILE]:
        data = raw({**document, "unknown": 1.5}).replace(b"1.5", b"1e999")
        with pytest.raises(RalphError) as caught:
            if kind.format:
                kind.format.load(data, name="x")
            else:
                files = {"t-1.json": data if document is FILE else raw(FILE), "t-2.json": raw(REQUEST["tasks"]["t-2"])}
                load(raw(STATE) if document is FILE else data, files, name="x")
        assert "too large" in caught.value.details[0]


def test_a_new_field_is_one_line() -> None:
    grown = Part("Story", "", dict, *formats.STORY.fields, own("asked_by", TEXT, about="Who wanted it."))
    codec = Codec(camel=True, states=formats.PRD.codec.states)
    story = codec.read(grown, {"id": "US-001", "title": "One", "askedBy": "Ann"})
    assert story["asked_by"] == "Ann"
    assert codec.owned(grown)[-1] == "askedBy"
    schema = json.loads(Format(codec=codec, part=grown, title="x").schema_text())
    assert schema["properties"]["askedBy"] == {
        "default": "",
        "description": "Who wanted it.",
        "title": "Askedby",
        "type": "string",
    }
