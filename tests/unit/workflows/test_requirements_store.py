"""The requirements' prd.json: what Ralph does not know survives, notes of agents are theirs, mistakes have places."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph import limits
from ralph.errors import RalphError
from ralph.plan.model import Finding, GateResult, Plan, SetupState, Severity, Task, TaskResult, TaskState
from ralph.validation import Mistakes
from ralph.workflows.formats import TASKS
from ralph.workflows.requirements import answers as tasks_answers
from ralph.workflows.requirements.store import TasksStore, notes

Json = dict[str, Any]
OWNED = {"status", "notes", "tried", "loops", "idle_loops", "attempts", "base_commit", "result"} | {
    *("review_rounds", "findings")
}
SCHEMA = jsonschema.Draft202012Validator(json.loads(TASKS.schema_text()))
NOWHERE = Path("/nowhere/at/all")
VERIFY = [{"name": "t", "command": "make", "passed": True, "seconds": 2.5}]
RESULT = {"completed_at": "then", "commit": "c1", "summary": "s", "verify": VERIFY}


def document(*tasks: Json, **more: Any) -> Json:
    full = [{"title": "T", **task} for task in tasks] or [{"id": "T-001", "title": "One"}]
    return {"version": 1, "tasks": full, **more}


def store(content: Json) -> tuple[TasksStore, Plan]:
    made = TasksStore(NOWHERE / "prd.json", "requirements", NOWHERE / "learnings.md")
    return made, made.load(json.dumps(content).encode())


def saved(content: Json, change: Callable[[Plan], Plan] = lambda plan: plan) -> Json:
    made, plan = store(content)
    return json.loads(made.render(change(plan)))


def mistakes(content: object) -> list[str]:
    with pytest.raises(Mistakes) as found:
        TASKS.check(json.dumps(content).encode(), name="prd.json")
    return found.value.mistakes


# what is read, what is written


def test_a_task_is_read_with_all_that_it_says() -> None:
    full = {
        "id": "T-002",
        "title": "Two",
        "description": "d",
        "acceptance_criteria": ["works"],
        "depends_on": ["T-001"],
        "status": "done",
        "notes": "n",
        "loops": 3,
        "idle_loops": 1,
        "attempts": 5,
        "base_commit": "b0",
        "result": RESULT,
    }
    setup = {"attempts": 2, "failures": 1, "notes": "sn"}
    _, plan = store(document({"id": "T-001"}, full, description="D", started_at="s", setup=setup))
    assert plan.tasks[1] == Task(
        id="T-002",
        title="Two",
        description="d",
        criteria=("works",),
        depends_on=("T-001",),
        state=TaskState.PASSED,
        notes="n",
        failures=3,
        idle=1,
        attempts=5,
        base="b0",
        result=TaskResult(
            completed_at="then",
            commit="c1",
            summary="s",
            gates=(GateResult(name="t", command="make", passed=True, seconds=2.5),),
        ),
    )
    assert (plan.target, plan.description, plan.started_at) == ("requirements", "D", "s")
    assert plan.setup == SetupState(attempts=2, failures=1, notes="sn")


def test_the_smallest_file_is_a_plan_with_nothing_done() -> None:
    _, plan = store(document())
    assert plan == Plan(target="requirements", tasks=(Task(id="T-001", title="One", in_order=True),))


@pytest.mark.parametrize(
    ("said", "needs", "in_order"),
    [({}, (), True), ({"depends_on": None}, (), True), ({"depends_on": []}, (), False)],
)
def test_only_a_task_that_says_so_is_independent(said: Json, needs: tuple[str, ...], in_order: bool) -> None:
    found = document()
    found["tasks"][0] |= said
    _, plan = store(found)
    assert (plan.tasks[0].depends_on, plan.tasks[0].in_order) == (needs, in_order)


@pytest.mark.parametrize(
    ("status", "state", "again"),
    [
        ("todo", TaskState.PENDING, "todo"),
        ("in_progress", TaskState.PENDING, "in_progress"),
        ("done", TaskState.PASSED, "done"),
        ("failed", TaskState.BLOCKED, "failed"),
    ],
)
def test_every_status_is_a_state_and_comes_back_as_it_was(status: str, state: TaskState, again: str) -> None:
    content = document({"id": "a", "status": status}, {"id": "b"})
    _, plan = store(content)
    assert plan.tasks[0].state is state
    assert plan.current == ("a" if status == "in_progress" else None)
    assert [task["status"] for task in saved(content)["tasks"]] == [again, "todo"]


def test_only_one_task_is_in_progress_however_many_say_so() -> None:
    content = document({"id": "a"}, {"id": "b", "status": "in_progress"}, {"id": "c", "status": "in_progress"})
    assert store(content)[1].current == "b"
    assert [task["status"] for task in saved(content)["tasks"]] == ["todo", "in_progress", "todo"]


def test_the_task_that_is_begun_is_in_progress_and_a_finished_one_is_not() -> None:
    content = document({"id": "a"}, {"id": "b", "status": "done"})
    begun = saved(content, lambda plan: replace(plan, current="a", started_at="now"))
    assert [task["status"] for task in begun["tasks"]] == ["in_progress", "done"]
    assert begun["started_at"] == "now"
    still_done = saved(content, lambda plan: replace(plan, current="b"))
    assert [task["status"] for task in still_done["tasks"]] == ["todo", "done"]


ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.text("xyzXYZ_é0", min_size=1, max_size=5).map(lambda name: f"x{name}")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(ANY, max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(ANY, max_size=4), inner, max_size=3),
    max_leaves=5,
)
UNKNOWN = st.dictionaries(NAMES, JSON, max_size=3)
TEXT = st.text(ANY, max_size=6)
COUNT = st.integers(0, 9)
SECONDS = st.integers(0, 10**6).map(lambda thousandths: thousandths / 1000)
STATUSES = st.sampled_from(["todo", "in_progress", "done", "failed"])


@st.composite
def shuffled(draw: st.DrawFn, content: Json) -> Json:
    return dict(draw(st.permutations(list({**content, **draw(UNKNOWN)}.items()))))


@st.composite
def documents(draw: st.DrawFn) -> Json:
    """A file as a person may have left it: anything that may be left out sometimes is."""
    tasks = []
    for number in range(draw(st.integers(1, 3))):
        task: Json = {"id": f"T-{number}", "title": draw(st.text(ANY, min_size=1, max_size=8))}
        more = {
            "description": draw(TEXT),
            "acceptance_criteria": draw(st.lists(TEXT, max_size=2)),
            "depends_on": [f"T-{draw(st.integers(0, number - 1))}"] if number else [],
            "status": draw(STATUSES),
            "notes": draw(TEXT),
            "loops": draw(COUNT),
            "idle_loops": draw(COUNT),
            "attempts": draw(COUNT),
            "base_commit": draw(TEXT),
            "result": draw(st.none() | st.just(RESULT)),
        }
        task |= {key: value for key, value in more.items() if draw(st.booleans())}
        tasks.append(draw(shuffled(task)))
    content: Json = {"version": 1, "tasks": tasks}
    more = {
        "project": draw(TEXT),
        "app": "greeter",
        "description": draw(TEXT),
        "started_at": draw(st.none() | TEXT),
        "setup": {"attempts": draw(COUNT), "failures": draw(COUNT), "notes": draw(TEXT)},
    }
    content |= {key: value for key, value in more.items() if draw(st.booleans())}
    return draw(shuffled(content))


RESULTS = st.builds(
    TaskResult,
    completed_at=TEXT,
    commit=TEXT,
    summary=TEXT,
    gates=st.lists(
        st.builds(GateResult, name=TEXT, command=TEXT, passed=st.booleans(), seconds=SECONDS), max_size=2
    ).map(tuple),
)


FINDINGS = st.lists(
    st.builds(
        Finding,
        severity=st.sampled_from(Severity),
        file=st.sampled_from(["", "a.py"]),
        line=st.none() | st.integers(1, 9),
        problem=st.just("p"),
    ),
    max_size=2,
).map(tuple)


@st.composite
def worked_on(draw: st.DrawFn, plan: Plan) -> Plan:
    """The same plan after anything that a run can do to it."""
    tasks = tuple(
        replace(
            task,
            state=draw(st.sampled_from(TaskState)),
            failures=draw(COUNT),
            idle=draw(COUNT),
            attempts=draw(COUNT),
            base=draw(TEXT),
            notes=draw(TEXT),
            rounds=draw(COUNT),
            findings=draw(FINDINGS),
            result=draw(st.none() | RESULTS),
        )
        for task in plan.tasks
    )
    pending = [task.id for task in tasks if task.state is TaskState.PENDING]
    setup = SetupState(attempts=draw(st.integers(1, 9)), failures=draw(COUNT), notes=draw(TEXT))
    return replace(
        plan,
        tasks=tasks,
        current=draw(st.sampled_from([None, *pending])),
        started_at=draw(TEXT),
        setup=draw(st.sampled_from([plan.setup, setup])),
    )


def same(old: object, new: object) -> bool:
    """Equal in values, in types and in the order of keys."""
    return json.dumps(old) == json.dumps(new)


@given(st.data(), documents())
def test_what_is_saved_is_what_is_read_again(data: st.DataObject, content: Json) -> None:
    made, plan = store(content)
    changed = data.draw(worked_on(plan))
    again = made.render(changed)
    assert store(json.loads(again))[1] == changed
    assert made.render(changed) == again
    assert again.endswith(b"}\n")


@given(st.data(), documents())
def test_saving_changes_only_what_is_ralphs_own(data: st.DataObject, content: Json) -> None:
    made, plan = store(content)
    new = json.loads(made.render(data.draw(worked_on(plan))))
    for before, after in zip(content["tasks"], new["tasks"], strict=True):
        assert [key for key in after if key in before] == list(before)
        assert all(same(after[key], before[key]) for key in before if key not in OWNED)
        assert set(after) == set(before) | OWNED
    assert [key for key in new if key in content] == list(content)
    assert all(same(new[key], content[key]) for key in content if key not in {"tasks", "started_at", "setup"})


@pytest.mark.parametrize(
    "path",
    [(), ("tasks", 0), ("setup",), ("tasks", 0, "result"), ("tasks", 0, "result", "verify", 0)],
    ids=lambda path: ".".join(map(str, path)) or "top",
)
def test_a_field_that_ralph_does_not_know_survives_at_every_level(path: tuple[str | int, ...]) -> None:
    content = document({"id": "a", "status": "done", "result": RESULT}, {"id": "b"}, setup={"attempts": 1})
    content = copy.deepcopy(content)
    at(content, path)["ours"] = {"deep": [1, None]}
    worked = saved(content, lambda plan: replace(plan, current="b", started_at="now"))
    assert at(worked, path).get("ours") == {"deep": [1, None]}


def at(content: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def test_set_up_is_written_only_where_there_was_some() -> None:
    assert "setup" not in saved(document())
    assert saved(document(), lambda plan: replace(plan, setup=SetupState(attempts=1, notes="n")))["setup"] == {
        "attempts": 1,
        "failures": 0,
        "notes": "n",
    }


def test_a_plan_that_never_began_has_no_time_of_its_beginning() -> None:
    assert saved(document())["started_at"] is None
    assert saved(document(started_at="then"))["started_at"] == "then"


def test_what_a_gate_took_is_saved_to_the_millisecond() -> None:
    gate = GateResult(name="t", command="make", passed=True, seconds=1.23456)
    result = TaskResult(completed_at="t", commit="c", summary="s", gates=(gate,))
    content = saved(document(), lambda plan: plan.change("T-001", lambda task: replace(task, result=result)))
    assert content["tasks"][0]["result"]["verify"] == [
        {"name": "t", "command": "make", "passed": True, "seconds": 1.235}
    ]


# files


class Project:
    """A `.ralph/` folder with a plan in it."""

    def __init__(self, root: Path, content: Json) -> None:
        self.plan = root / "prd.json"
        self.learnings = root / "learnings.md"
        self.markers = {"setup": root / "marks" / ".setup_done", "install": root / ".installed"}
        self.plan.write_text(json.dumps(content))

    def store(self) -> TasksStore:
        return TasksStore(self.plan, "requirements", self.learnings, self.markers)

    def learn(self, *texts: str) -> None:
        """A run that begins, learns something, and ends."""
        made = self.store()
        plan = made.load()
        made.save(replace(plan, learnings=(*plan.learnings, *texts)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For properties: each example writes over what the one before left."""
    return tmp_path_factory.mktemp("notes")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, document({"id": "T-001", "title": "Größe"}, {"id": "T-002"}))


def test_a_plan_is_saved_to_its_file_as_text_that_a_person_can_read(project: Project) -> None:
    made = project.store()
    plan = made.load()
    made.save(replace(plan, current="T-001"))
    text = project.plan.read_text()
    assert "Größe" in text
    assert text.count("\n") > 10
    assert project.store().load() == replace(plan, current="T-001")
    assert [path.name for path in project.plan.parent.iterdir()] == ["prd.json"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match=r"prd\.json does not exist"):
        TasksStore(tmp_path / "prd.json", "requirements", tmp_path / "learnings.md").load()


def test_a_step_that_has_run_leaves_a_marker_and_is_known_by_it(project: Project) -> None:
    made = project.store()
    plan = made.load()
    assert plan.setup.done == frozenset()
    made.save(replace(plan, setup=SetupState(attempts=1, done=frozenset({"setup"}))))
    assert project.markers["setup"].is_file()
    assert not project.markers["install"].exists()
    assert project.store().load().setup == SetupState(attempts=1, done=frozenset({"setup"}))


def test_a_marker_is_written_once(project: Project) -> None:
    marker = project.markers["install"]
    marker.write_text("a person was here\n")
    made = project.store()
    plan = made.load()
    assert plan.setup.done == {"install"}
    made.save(replace(plan, current="T-001"))
    assert marker.read_text() == "a person was here\n"


def test_a_marker_that_was_removed_has_its_step_run_again(project: Project) -> None:
    made = project.store()
    made.save(replace(made.load(), setup=SetupState(attempts=1, done=frozenset({"setup", "install"}))))
    project.markers["setup"].unlink()
    assert project.store().load().setup.done == {"install"}


def test_what_is_learned_is_added_below_what_was_there(project: Project) -> None:
    project.learnings.write_text("# Learnings\n\n- old\n")
    project.learn("new", "newer")
    assert project.learnings.read_text() == "# Learnings\n\n- old\n- new\n- newer\n"
    assert project.store().load().learnings == ("- old", "- new", "- newer")


def test_the_first_thing_that_is_learned_makes_the_file(project: Project) -> None:
    project.learn()
    assert not project.learnings.exists()
    project.learn("first")
    assert project.learnings.read_text() == "- first\n"


def test_a_line_that_was_not_ended_is_ended_first(project: Project) -> None:
    project.learnings.write_text("- old")
    project.learn("new")
    assert project.learnings.read_text() == "- old\n- new\n"


def test_what_is_known_already_is_not_added_again(project: Project) -> None:
    project.learnings.write_text("- Use make test\n")
    project.learn("Use make test")
    project.learn("Use make test")
    assert project.learnings.read_text() == "- Use make test\n"


def test_what_an_agent_wrote_and_took_out_meanwhile_stays_as_it_is(project: Project) -> None:
    project.learnings.write_text("- wrong\n- right\n")
    made = project.store()
    plan = made.load()
    made.save(replace(plan, learnings=(*plan.learnings, "said")))
    project.learnings.write_text("- right\n- mine\n")
    plan = replace(plan, learnings=(*plan.learnings, "said", "said later"))
    made.save(plan)
    assert project.learnings.read_text() == "- right\n- mine\n- said later\n"
    made.save(replace(plan, current="T-001"))
    assert project.learnings.read_text() == "- right\n- mine\n- said later\n"


def test_an_agents_own_edits_survive_a_run_that_learns_nothing(project: Project) -> None:
    made = project.store()
    plan = made.load()
    project.learnings.write_bytes(b"no line end, \xff and odd bytes")
    made.save(replace(plan, current="T-001"))
    assert project.learnings.read_bytes() == b"no line end, \xff and odd bytes"


def test_learnings_that_link_elsewhere_are_not_followed(project: Project, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("- a secret\n")
    project.learnings.symlink_to(secret)
    assert notes(project.learnings) == ""
    assert project.store().load().learnings == ()
    project.learn("new")
    assert secret.read_text() == "- a secret\n"
    assert not project.learnings.is_symlink()
    assert project.learnings.read_text() == "- new\n"


@pytest.mark.parametrize("target", ["gone", "."])
def test_learnings_that_link_to_nothing_of_use_are_none(project: Project, target: str) -> None:
    project.learnings.symlink_to(target)
    assert project.store().load().learnings == ()


def test_a_folder_in_the_place_of_learnings_keeps_no_plan_from_being_saved(project: Project) -> None:
    project.learnings.mkdir()
    assert project.store().load().learnings == ()
    made = project.store()
    plan = replace(made.load(), current="T-001", learnings=("new",))
    made.save(plan)
    assert project.store().load().current == "T-001"


def test_learnings_that_are_no_text_are_read_as_far_as_they_are_and_stay_as_they_are(project: Project) -> None:
    data = b"- caf\xe9 in another encoding\n\x00\xff\xfe\n"
    project.learnings.write_bytes(data)
    assert project.store().load().learnings[0].startswith("- caf")
    project.learn("new")
    assert project.learnings.read_bytes() == data + b"- new\n"


def test_of_learnings_without_end_only_the_newest_are_read_and_nothing_is_lost(project: Project) -> None:
    data = b"- the first\n" + b"- a line of notes\n" * (limits.NOTES // 10)
    project.learnings.write_bytes(data)
    assert limits.NOTES - 100 < len(notes(project.learnings)) <= limits.NOTES
    assert set(notes(project.learnings).splitlines()) == {"- a line of notes"}
    project.learn("new")
    assert project.learnings.read_bytes() == data + b"- new\n"


@given(st.lists(st.binary(max_size=30), max_size=3).map(b"\n".join))
def test_whatever_an_agent_wrote_down_can_be_read(folder: Path, data: bytes) -> None:
    path = folder / "learnings.md"
    path.write_bytes(data)
    assert notes(path) == data.decode(errors="replace")


# mistakes


def test_all_mistakes_are_told_at_once_with_their_places() -> None:
    found = mistakes(
        {
            "version": 2,
            "app": "../elsewhere",
            "setup": {"attempts": -1},
            "tasks": [
                {"id": "T 1", "title": ""},
                {"title": "T", "status": "passed"},
                {"id": "T-3", "title": "T", "loops": -1, "depends_on": ["T-4"]},
                "task",
                {"id": "T-5", "title": "T", "result": {"commit": 1, "verify": [{"name": "n"}]}},
                {"id": "T-3", "title": "T"},
            ],
        }
    )
    assert [line.split(":")[0] for line in found] == [
        "version",
        "setup.attempts",
        "tasks[0].id",
        "tasks[0].title",
        "tasks[1].id",
        "tasks[1].status",
        "tasks[2].loops",
        "tasks[3]",
        "tasks[4].result.completed_at",
        "tasks[4].result.commit",
        "tasks[4].result.summary",
        "tasks[4].result.verify[0].command",
        "tasks[4].result.verify[0].passed",
        "tasks[5].id",
        "tasks[2].depends_on",
        "app",
    ]


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        (document(tasks=[]), "tasks: "),
        (document({"id": "a"}, {"id": "b"}, {"id": "a"}), "tasks[2].id: 'a' is already tasks[0]"),
        (document({"id": "final"}), "tasks[0].id: 'final' is a reserved name"),
        (document({"id": "x.lock"}), "tasks[0].id: 'x.lock' is a reserved name"),
        (
            document({"id": "T-001"}, {"id": "b", "depends_on": ["T-01"]}),
            "tasks[1].depends_on: there is no 'T-01'; did you mean 'T-001'?",
        ),
        (
            document({"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}),
            "tasks: dependencies form a cycle: a → b → a",
        ),
        (document(app="/tmp"), "app: '/tmp' is not inside the project"),
        (document(app="a/../../b"), "app: 'a/../../b' is not inside the project"),
    ],
)
def test_what_the_shape_alone_cannot_say_is_checked(content: Json, mistake: str) -> None:
    found = mistakes(content)
    assert len(found) == 1
    assert found[0].startswith(mistake)


@pytest.mark.parametrize("app", ["", "greeter", "apps/greeter", "./greeter"])
def test_the_application_may_be_the_root_or_any_folder_below_it(app: str) -> None:
    assert TASKS.check(json.dumps(document(app=app)).encode(), name="x")[0]["app"] == app


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"\x00" * 100, b'{"version": 1, "tasks": [{}'])
def test_a_file_that_is_no_json_object_is_one_mistake(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "prd.json"
    path.write_bytes(data)
    with pytest.raises(Mistakes, match="1 mistake"):
        TasksStore(path, "requirements", tmp_path / "learnings.md").load()


FULL = document(
    {
        "id": "a",
        "title": "t",
        "description": "d",
        "acceptance_criteria": ["x"],
        "depends_on": ["b"],
        "status": "done",
        "notes": "n",
        "loops": 0,
        "idle_loops": 0,
        "attempts": 1,
        "base_commit": "c",
        "result": RESULT,
    },
    {"id": "b", "title": "t"},
    project="p",
    app="app",
    description="d",
    started_at=None,
    setup={"attempts": 1, "failures": 0, "notes": ""},
)


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


BY_RULES = ("is already", "reserved name", "there is no", "run in a circle", "does not lie inside")
VALUES = (None, True, 0, -1, 1.5, 10**30, "", "x", "a b", "a" * 81, "2", [], ["x"], [1], {}, {"a": 1}, ...)


@pytest.mark.parametrize("path", list(places(FULL)), ids=lambda path: ".".join(map(str, path)))
def test_the_published_schema_takes_exactly_what_ralph_takes_and_such_a_plan_can_be_saved(
    path: tuple[str | int, ...],
) -> None:
    for value in VALUES:
        if path == ("version",) and value is True:
            continue  # to pydantic true is 1
        content = copy.deepcopy(FULL)
        parent = at(content, path[:-1])
        if value is ...:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
        data = json.dumps(content).encode()
        try:
            TASKS.check(data, name="prd.json")
        except Mistakes as error:
            by_rules_alone = all(any(words in line for words in BY_RULES) for line in error.mistakes)
            assert SCHEMA.is_valid(content) is by_rules_alone, (value, error.mistakes)
            with pytest.raises(Mistakes):
                store(content)
        else:
            SCHEMA.validate(content)
            made, plan = store(content)
            assert store(json.loads(made.render(plan)))[1] == plan


@given(documents())
def test_the_published_schema_takes_any_plan_that_is_right(content: Json) -> None:
    SCHEMA.validate(content)
    TASKS.check(json.dumps(content).encode(), name="prd.json")


# proposals


def test_a_proposal_needs_only_titles() -> None:
    proposal = tasks_answers.parse_proposal(b'{"tasks": [{"title": "One"}, {"id": "T-9", "title": "Two"}]}')
    assert [(task.id, task.title) for task in proposal.tasks] == [(None, "One"), ("T-9", "Two")]


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"tasks": []},
        {"tasks": [{"title": ""}]},
        {"tasks": [{"id": "../x", "title": "T"}]},
        {"tasks": [{"title": "T", "depends_on": "T-1"}]},
        {"tasks": [{"title": "T"}] * 501},
        {"tasks": "one"},
    ],
    ids=lambda content: str(content)[:40],
)
def test_a_proposal_that_cannot_become_tasks_is_refused(content: Json) -> None:
    with pytest.raises(Mistakes):
        tasks_answers.parse_proposal(json.dumps(content).encode())
