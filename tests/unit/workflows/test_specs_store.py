"""implementation.json: what Ralph does not know survives, mistakes have places, progress is told once."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.plan.model import Finding, GateResult, Plan, Severity, Spec, Task, TaskResult, TaskState
from ralph.plan.usage import Usage
from ralph.validation import Mistakes
from ralph.workflows.formats import SPECS
from ralph.workflows.specs.store import ImplementationStore

Json = dict[str, Any]
SCHEMA = jsonschema.Draft202012Validator(json.loads(SPECS.schema_text()))
OF_A_TASK = {"status", "notes", "tried", "retries", "attempts", "baseCommit", "seconds", "usage", "result"} | {
    *("reviewRounds", "findings")
}
FINDING = {"severity": "major", "file": "a.py", "line": 3, "problem": "p", "remedy": "r"}
OF_A_SPEC = {"status", "notes", "attempts", "failures", "result"}
OF_THE_FILE = {"updatedAt", "updatedBy", "startedAt", "learnings"}
GATE = {"name": "t", "command": "make", "passed": True, "required": False, "seconds": 2.5}
RESULT = {"completedAt": "then", "commit": "c1", "summary": "s", "gates": [GATE]}


def task(name: str, **more: Any) -> Json:
    return {"id": name, "description": f"Do {name}", **more}


def spec(name: str, *tasks: Json, **more: Any) -> Json:
    return {"id": name, "file": f"specs/{name}.md", "name": name.title(), "tasks": list(tasks), **more}


def document(*specs: Json, **more: Any) -> Json:
    return {"version": 1, "specs": list(specs or [spec("a", task("a-1"))]), **more}


def store(content: Json) -> tuple[ImplementationStore, Plan]:
    made = ImplementationStore(Path("/nowhere/at/all"))
    return made, made.load(json.dumps(content).encode())


def saved(content: Json) -> Json:
    made, plan = store(content)
    return json.loads(made.render(plan))


def mistakes(content: object) -> list[str]:
    with pytest.raises(Mistakes) as found:
        SPECS.check(json.dumps(content).encode(), name="implementation.json")
    assert "ralph schema implementation" in found.value.remedy
    return found.value.mistakes


# what is read, what is written


def test_a_file_is_read_with_all_that_it_says() -> None:
    used = {"calls": 2, "inputTokens": 10, "outputTokens": 0, "costUsd": 0.5, "unpriced": 1, "model": "m"}
    full = task(
        "a-1",
        status="completed",
        acceptanceCriteria=["works"],
        covers=["and this"],
        notes="n",
        tried=["Attempt 1: no."],
        reviewRounds=2,
        findings=[FINDING],
        retries=1,
        attempts=2,
        baseCommit="b0",
        seconds=12.5,
        usage=used,
        result=RESULT,
    )
    entry = spec("a", full, priority=3, context="c", acceptanceCriteria=["all of it"], status="completed")
    _, plan = store(document({**entry, "attempts": 1, "notes": "sn", "result": RESULT}, startedAt="s", learnings=["l"]))
    gates = (GateResult(name="t", command="make", passed=True, required=False, seconds=2.5),)
    result = TaskResult(completed_at="then", commit="c1", summary="s", gates=gates)
    usage = Usage(calls=2, input_tokens=10, output_tokens=0, cost_usd=0.5, unpriced=1, model="m")
    assert plan == Plan(
        target="specs",
        started_at="s",
        learnings=("l",),
        tasks=(
            Task(
                id="a-1",
                title="Do a-1",
                criteria=("works",),
                state=TaskState.PASSED,
                notes="n",
                tried=("Attempt 1: no.",),
                rounds=2,
                findings=(Finding(severity=Severity.MAJOR, file="a.py", line=3, problem="p", remedy="r"),),
                failures=1,
                attempts=2,
                base="b0",
                seconds=12.5,
                usage=usage,
                result=result,
                spec="a",
            ),
        ),
        specs=(
            Spec(
                id="a",
                name="A",
                file="specs/a.md",
                priority=3,
                context="c",
                in_order=True,
                criteria=("all of it",),
                state=TaskState.PASSED,
                attempts=1,
                notes="sn",
                result=result,
            ),
        ),
    )


@pytest.mark.parametrize("status", ["pending", "in_progress", "completed", "blocked"])
def test_every_status_of_a_task_comes_back_as_it_was(status: str) -> None:
    written = saved(document(spec("a", task("a-1", status=status), task("a-2"))))
    assert [entry["status"] for entry in written["specs"][0]["tasks"]] == [status, "pending"]


def test_what_is_under_way_is_known_again_and_makes_its_spec_one_in_progress() -> None:
    made, plan = store(document(spec("a", task("a-1"), task("a-2", status="in_progress"))))
    assert plan.current == "a-2"
    assert json.loads(made.render(plan))["specs"][0]["status"] == "in_progress"


def test_a_spec_that_was_tried_is_in_progress_until_it_is_closed() -> None:
    assert saved(document(spec("a", task("a-1", attempts=1))))["specs"][0]["status"] == "in_progress"
    assert saved(document(spec("a", task("a-1"))))["specs"][0]["status"] == "pending"


@pytest.mark.parametrize("status", ["completed", "blocked"])
def test_a_closed_spec_of_which_a_person_opened_a_task_is_open(status: str) -> None:
    _, plan = store(document(spec("a", task("a-1", status="completed"), task("a-2"), status=status)))
    assert plan.specs[0].state is TaskState.PENDING


def test_saving_says_when_and_by_whom(tmp_path: Path) -> None:
    made = ImplementationStore(tmp_path)
    made.path.write_text(json.dumps(document(updatedBy="plan-mode", updatedAt="then")))
    made.save(made.load())
    written = json.loads(made.path.read_bytes())
    assert written["updatedBy"] == "build-mode"
    assert written["updatedAt"] > "2026"


def test_a_mark_that_some_editors_put_in_front_does_no_harm() -> None:
    made = ImplementationStore(Path("/nowhere"))
    assert made.load(b"\xef\xbb\xbf" + json.dumps(document()).encode()).tasks[0].id == "a-1"


# round trips

WORDS = st.text("ab é\n\"'<", max_size=8)
NAMED = WORDS.filter(str.strip)
COUNTS = st.integers(0, 9)
MONEY = st.none() | st.floats(0, 1e6, allow_nan=False)
TIMES = st.integers(0, 10**9).map(lambda thousandths: thousandths / 1000)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
UNKNOWN = st.dictionaries(st.text("xyz", min_size=1, max_size=3).map("x{}".format), VALUES, max_size=2)
GATES = st.fixed_dictionaries(
    {"name": WORDS, "command": WORDS, "passed": st.booleans()}, optional={"required": st.booleans(), "seconds": TIMES}
)
RESULTS = st.none() | st.fixed_dictionaries(
    {"completedAt": WORDS, "commit": WORDS}, optional={"summary": WORDS, "gates": st.lists(GATES, max_size=2)}
)
USED = st.fixed_dictionaries(
    {},
    optional={
        "calls": COUNTS,
        "inputTokens": st.none() | COUNTS,
        "cacheReadTokens": st.none() | COUNTS,
        "costUsd": MONEY,
        "unpriced": COUNTS,
        "estimated": COUNTS,
        "model": WORDS,
    },
)
STATUSES = st.sampled_from(["pending", "in_progress", "completed", "blocked"])


@st.composite
def tasks(draw: st.DrawFn, name: str) -> Json:
    known = st.fixed_dictionaries(
        {"description": NAMED},
        optional={
            "status": STATUSES,
            "acceptanceCriteria": st.lists(WORDS, max_size=2),
            "covers": st.lists(WORDS, max_size=2),
            "notes": WORDS,
            "tried": st.lists(WORDS, max_size=2),
            "reviewRounds": COUNTS,
            "findings": st.lists(st.just(FINDING).map(dict), max_size=2),
            "retries": COUNTS,
            "attempts": COUNTS,
            "baseCommit": WORDS,
            "seconds": TIMES,
            "usage": st.builds(lambda used, more: {**more, **used}, USED, UNKNOWN),
            "result": RESULTS,
        },
    )
    return {**draw(UNKNOWN), "id": name, **draw(known)}


@st.composite
def specs(draw: st.DrawFn, name: str) -> Json:
    known = st.fixed_dictionaries(
        {"name": NAMED},
        optional={
            "priority": st.integers(-3, 9),
            "status": STATUSES,
            "context": WORDS,
            "acceptanceCriteria": st.lists(WORDS, max_size=2),
            "notes": WORDS,
            "attempts": COUNTS,
            "result": RESULTS,
            "specHash": WORDS,
        },
    )
    inside = [draw(tasks(f"{name}-{number}")) for number in range(1, draw(st.integers(1, 3)) + 1)]
    return {**draw(UNKNOWN), "id": name, "file": f"specs/{name}.md", "tasks": inside, **draw(known)}


@st.composite
def documents(draw: st.DrawFn) -> Json:
    known = st.fixed_dictionaries(
        {"version": st.just(1)},
        optional={
            "updatedAt": WORDS,
            "updatedBy": st.sampled_from(["plan-mode", "build-mode"]),
            "startedAt": st.none() | WORDS,
            "learnings": st.lists(WORDS, max_size=2),
        },
    )
    listed = [draw(specs(name)) for name in "ab"[: draw(st.integers(0, 2))]]
    return {**draw(UNKNOWN), **draw(known), "specs": listed}


@given(documents())
def test_a_plan_that_was_saved_is_read_as_the_same_plan(content: Json) -> None:
    made, plan = store(content)
    once = made.render(plan)
    again = ImplementationStore(Path("/nowhere"))
    assert again.load(once) == plan
    assert {**json.loads(again.render(plan)), "updatedAt": ""} == {**json.loads(once), "updatedAt": ""}


@given(documents())
def test_saving_changes_nothing_but_what_is_ralph_s(content: Json) -> None:
    written = saved(content)
    assert others(written, OF_THE_FILE) == others(content, OF_THE_FILE)
    for before, after in zip(content["specs"], written["specs"], strict=True):
        assert others(after, OF_A_SPEC) == others(before, OF_A_SPEC)
        for old, new in zip(before["tasks"], after["tasks"], strict=True):
            assert others(new, OF_A_TASK) == others(old, OF_A_TASK)


def others(entry: Json, owned: set[str]) -> Json:
    return {key: value for key, value in entry.items() if key not in (*owned, "specs", "tasks")}


@given(documents(), st.data())
def test_fields_that_ralph_does_not_know_survive_at_every_level(content: Json, data: st.DataObject) -> None:
    places = list(objects(content))
    for entry in places:
        entry["mine"] = data.draw(VALUES)
    written = list(objects(saved(content)))
    assert [entry.get("mine") for entry in written if "mine" in entry] == [entry["mine"] for entry in places]


def objects(content: Json) -> Iterator[Json]:
    """The file, and every part of it that Ralph reads."""
    yield content
    for entry in content["specs"]:
        yield from (entry, *inside(entry))
        for one in entry["tasks"]:
            yield from (one, *([one["usage"]] if "usage" in one else []), *inside(one))


def inside(entry: Json) -> list[Json]:
    result = entry.get("result")
    return [result, *result.get("gates", [])] if result else []


@given(documents(), st.sampled_from(TaskState), COUNTS, st.lists(WORDS, max_size=3))
def test_what_a_run_changed_is_what_the_next_one_reads(
    content: Json, state: TaskState, number: int, tried: list[str]
) -> None:
    made, plan = store(content)
    result = TaskResult(completed_at="now", commit="c9", summary="s") if state is TaskState.PASSED else None
    changed = tuple(
        replace(
            one,
            state=state,
            attempts=number,
            rounds=number,
            tried=tuple(tried),
            result=result,
            usage=one.usage + Usage(calls=1),
        )
        for one in plan.tasks
    )
    closed = () if state is TaskState.PENDING else plan.specs
    plan = replace(plan, tasks=changed, current=None, started_at="s", learnings=(*plan.learnings, "new"))
    for entry in closed:
        plan = plan.change_spec(entry.id, lambda old: replace(old, state=state, result=result, attempts=number))
    again = ImplementationStore(Path("/nowhere")).load(made.render(plan))
    assert again == (plan if closed else replace(plan, specs=again.specs))
    assert closed or all(entry.state is TaskState.PENDING for entry in again.specs)


# mistakes, each with its place


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        (document(spec("a", task("a-1")), spec("a", task("a-2"), file="b.md")), "specs[1].id: 'a' is already specs[0]"),
        (
            document(spec("a", task("a-1"), task("a-1"))),
            "specs[0].tasks[1].id: 'a-1' is already specs[0].tasks[0]",
        ),
        (
            document(spec("a", task("a-1")), spec("b", task("a-1"))),
            "specs[1].tasks[0].id: 'a-1' is already specs[0].tasks[0]",
        ),
        (document(spec("a", task("b")), spec("b", task("b-1"))), "specs[0].tasks[0].id: 'b' is the id of a spec"),
        (
            document(spec("a", task("a-1")), spec("b", task("b-1"), file="specs/a.md")),
            "specs[1].file: 'specs/a.md' is already used by specs[0]; merge the two",
        ),
        (document(spec("a", task("a.lock"))), "specs[0].tasks[0].id: 'a.lock' is a reserved name"),
        (
            document(spec("a")),
            "specs[0].tasks: 'a' has no tasks; run `ralph plan --from specs/`",
        ),
        (
            document(spec("a", task("a-1"), file="../elsewhere.md")),
            "specs[0].file: '../elsewhere.md' is not inside the project",
        ),
        (
            document(spec("a", task("a-1"), file="/etc/x.md")),
            "specs[0].file: '/etc/x.md' is not inside the project",
        ),
        (
            document(spec("a", task("a-1", status="done"))),
            "specs[0].tasks[0].status: expected 'pending', 'in_progress', 'completed' or 'blocked', found text 'done'",
        ),
        (
            document(spec("a", task("a-1"), status="failed")),
            "specs[0].status: expected 'pending', 'in_progress', 'completed' or 'blocked', found text 'failed'",
        ),
        ({"specs": []}, "version: missing, and required"),
        ({"version": 1}, "specs: missing, and required"),
        (document(version="1"), "version: expected 1, found text '1'"),
        (document(version=True), "version: expected 1, found true"),
        (document(version=0), "version: expected 1, found number 0"),
        (document(version=None), "version: expected 1, found null"),
        (document({"id": "a", "name": "A", "file": "a.md"}), "specs[0].tasks: missing, and required"),
        (document({"id": "a", "name": "A", "tasks": [task("a-1")]}), "specs[0].file: missing, and required"),
        (document(spec("a", {"id": "a-1"})), "specs[0].tasks[0].description: missing, and required"),
        (document(spec("a", {"description": "d"})), "specs[0].tasks[0].id: missing, and required"),
        (
            document(spec("a", task("a-1", retries=-1))),
            "specs[0].tasks[0].retries: expected greater than or equal to 0, found number -1",
        ),
        (document(updatedBy="me"), "updatedBy: expected 'plan-mode' or 'build-mode', found text 'me'"),
    ],
)
def test_every_mistake_is_told_with_its_place(content: Json, mistake: str) -> None:
    assert mistakes(content) == [mistake]


@pytest.mark.parametrize("name", ["", "a b", "../a", "a/b", "-a", ".a", "a.", "a..b", "ä", "x" * 81])
def test_ids_are_names_that_git_and_files_can_have(name: str) -> None:
    [mistake] = mistakes(document(spec("s", task(name))))
    assert mistake.startswith("specs[0].tasks[0].id: ")


def test_all_mistakes_are_told_at_once() -> None:
    found = mistakes(document(spec("a", task("a-1", status="x"), task("a-1")), spec("a"), version="1"))
    assert len(found) == 6


def test_a_file_of_a_newer_version_is_left_as_it_is(tmp_path: Path) -> None:
    made = ImplementationStore(tmp_path)
    made.path.write_text('{"version": 2, "phases": []}')
    with pytest.raises(RalphError, match="has version 2, but this Ralph supports only version 1") as error:
        made.load()
    assert "ralph upgrade" in error.value.remedy
    assert made.path.read_text() == '{"version": 2, "phases": []}'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"# Plan\n", "not valid JSON"),
        (b'{"version": NaN}', "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"[]", "expected an object at the top, found a list of 0"),
        (b"null", "expected an object at the top, found null"),
        (b'"plan"', "expected an object at the top, found text 'plan'"),
    ],
)
def test_what_is_no_plan_at_all_is_told_as_such(data: bytes, message: str) -> None:
    with pytest.raises(Mistakes) as found:
        ImplementationStore(Path("/nowhere")).load(data)
    assert "implementation.json has 1 mistake" in found.value.what
    [mistake] = found.value.mistakes
    assert mistake.startswith(message)


def test_a_file_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match=r"implementation\.json does not exist"):
        ImplementationStore(tmp_path).load()


# the schema for editors


def accepted(content: object) -> bool:
    try:
        SPECS.check(json.dumps(content).encode(), name="implementation.json")
    except RalphError:
        return False
    return True


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)


@given(documents())
def test_the_schema_takes_what_ralph_takes_and_what_it_writes(content: Json) -> None:
    assert accepted(content)
    SCHEMA.validate(content)
    SCHEMA.validate(saved(content))


ANYTHING = st.sampled_from(
    [None, True, False, 0, 1, -1, 2, 1.5, "", "x", "a b", " ", [], ["x"], [1], [[]], {}, {"id": "x"}]
)


@given(documents().filter(lambda content: content["specs"]), st.data())
def test_the_schema_refuses_the_shapes_that_ralph_refuses_and_no_others(content: Json, data: st.DataObject) -> None:
    """One thing anywhere is replaced by anything, or is missing."""
    content = copy.deepcopy(content)
    entry = data.draw(st.sampled_from(list(objects(content))))
    key = data.draw(st.sampled_from(sorted(key for key in entry if not key.startswith("x")) or ["mine"]))
    if data.draw(st.booleans()):
        entry.pop(key, None)
    else:
        entry[key] = data.draw(ANYTHING)
    assert accepted(content) == SCHEMA.is_valid(content)


# what PROGRESS.md says of it


class Project:
    """A plan on disk whose only spec can be closed, and what is told of it."""

    def __init__(self, folder: Path) -> None:
        self.progress = folder / "PROGRESS.md"
        self.store = ImplementationStore(folder, tell=lambda plan, spec: f"## {spec.id}\n\n{mark(spec)}\n\ndone\n")
        self.store.path.write_text(json.dumps(document(spec("a", task("a-1", status="completed")))))
        self.plan = self.store.load()

    def close(self, attempts: int = 1) -> None:
        result = TaskResult(completed_at="now", commit="c1", summary="s")
        self.plan = self.plan.change_spec(
            "a", lambda old: replace(old, state=TaskState.PASSED, attempts=attempts, result=result)
        )
        self.store.save(self.plan)

    def open(self) -> None:
        self.plan = self.plan.change_spec("a", lambda old: replace(old, state=TaskState.PENDING))
        self.store.save(self.plan)


def mark(spec: Spec) -> str:
    return f"<!-- ralph: {spec.id} {spec.attempts} -->"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


ENTRY = "## a\n\n<!-- ralph: a 1 -->\n\ndone\n"


def test_a_spec_that_is_closed_is_told_once(project: Project) -> None:
    project.store.save(project.plan)
    assert not project.progress.exists()
    project.close()
    project.store.save(replace(project.plan, started_at="later"))
    assert project.progress.read_text() == f"# Progress\n\n{ENTRY}"


def test_a_run_that_was_killed_between_the_two_files_does_not_tell_it_again(project: Project) -> None:
    before = project.store.path.read_bytes()
    project.close()
    project.store.path.write_bytes(before)
    project.plan = project.store.load()
    project.close()
    assert project.progress.read_text().count("## a") == 1


def test_a_plan_that_is_only_read_again_tells_nothing(project: Project) -> None:
    project.close()
    project.progress.unlink()
    project.store.save(project.store.load())
    assert not project.progress.exists()


def test_a_spec_that_is_closed_a_second_time_is_told_a_second_time(project: Project) -> None:
    project.close()
    project.open()
    project.close(attempts=2)
    assert project.progress.read_text() == f"# Progress\n\n{ENTRY}\n{ENTRY.replace('a 1', 'a 2')}"


@pytest.mark.parametrize("text", ["# What I did\n\nEverything.\n", "no line end", "caf\u00e9\r\n", "\n\n\nodd\n\n\n"])
def test_what_a_person_wrote_stays_in_front(project: Project, text: str) -> None:
    project.progress.write_bytes(text.encode())
    project.close()
    kept = text.encode().rstrip(b"\n")
    assert project.progress.read_bytes() == kept + b"\n\n" + ENTRY.encode()


def test_bytes_that_are_no_text_stay_in_front_too(project: Project) -> None:
    project.progress.write_bytes(b"caf\xe9 \xff\n")
    project.close()
    assert project.progress.read_bytes() == b"caf\xe9 \xff\n\n" + ENTRY.encode()
