"""The requirements workflow: what comes next, what an agent may claim, what it is told, and how plans grow."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph import config
from ralph.engine.settle import Policy
from ralph.plan.model import Plan, SetupState, Task, TaskState
from ralph.plan.prompting import PlanClaims, PromptRequest, ReviewAssignment
from ralph.plan.work import Ending, Finished, Verdict, Work, WorkKind
from ralph.steps import pipeline
from ralph.validation import Mistakes
from ralph.workflows.formats import TASKS
from ralph.workflows.requirements.answers import NewTaskEntry
from ralph.workflows.requirements.planning import Archive, extended, next_id, numbered
from ralph.workflows.requirements.workflow import (
    LEARNINGS,
    MAX_CONTEXT,
    REQUIREMENTS,
    RequirementsWorkflow,
    claimed,
    listed,
    prompt_name,
)
from ralph.workspace import Workspace

Json = dict[str, Any]
CONFIG = config.parse(b'{"provider": {"command": "nobody"}, "verify": {"default": ["make test"], "ui": ["make ui"]}}')
SETUP = {"name": "setup", "type": "agent", "config": {"marker_file": ".ralph/.setup_done"}}
INSTALL = {"name": "install", "type": "command", "config": {"command": "make", "marker_file": ".ralph/.installed"}}
LOOP = [{"name": "work", "type": "agent"}, {"type": "verify"}, {"type": "review"}, {"type": "git-commit"}]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project for properties: each example writes over what the one before left."""
    return tmp_path_factory.mktemp("project")


def workflow(root: Path, *steps: Json, **more: Any) -> RequirementsWorkflow:
    content = json.dumps({"steps": list(steps) or [SETUP, INSTALL, *LOOP], **more}).encode()
    made = pipeline.parse(content, name="default.json", variables={})
    return RequirementsWorkflow(Workspace(root=root), CONFIG, made, root / "app")


def task(name: str, state: TaskState = TaskState.PENDING, **more: Any) -> Task:
    return Task(id=name, title=f"Title {name}", state=state, **more)


def plan(*tasks: Task, done: tuple[str, ...] = ("setup", "install"), **more: Any) -> Plan:
    setup = SetupState(done=frozenset(done), **more.pop("setup", {}))
    return Plan(target="requirements", tasks=tasks, setup=setup, **more)


def next_work(root: Path, plan: Plan) -> Work:
    work = workflow(root).next(plan)
    assert isinstance(work, Work)
    return work


def end(root: Path, plan: Plan) -> Finished:
    finished = workflow(root).next(plan)
    assert isinstance(finished, Finished)
    return finished


PASSED, BLOCKED = TaskState.PASSED, TaskState.BLOCKED


# what comes next


def test_steps_that_run_once_come_before_any_task_one_after_the_other(tmp_path: Path) -> None:
    first = next_work(tmp_path, plan(task("T-1"), done=()))
    assert (first.kind, first.id) == (WorkKind.SETUP, "setup")
    second = next_work(tmp_path, plan(task("T-1"), done=("setup",)))
    assert (second.kind, second.id) == (WorkKind.SETUP, "install")
    third = next_work(tmp_path, plan(task("T-1")))
    assert (third.kind, third.id) == (WorkKind.TASK, "T-1")


def test_what_a_step_that_runs_once_leaves_is_committed_and_no_claim_is_asked_for(tmp_path: Path) -> None:
    work = next_work(tmp_path, plan(task("T-1"), done=()))
    assert [spec.label for spec in work.steps] == ["setup", "git-commit"]
    assert work.claims == frozenset()
    assert work.claimable == ""
    assert work.writable == (LEARNINGS,)


def test_a_task_has_the_steps_of_every_loop_and_may_be_claimed_in_the_plan(tmp_path: Path) -> None:
    work = next_work(tmp_path, plan(task("T-1")))
    assert [spec.label for spec in work.steps] == ["work", "verify", "review", "git-commit"]
    assert (work.title, work.claims, work.unclaimed) == ("Title T-1", frozenset({"DONE"}), Verdict.UNFINISHED)
    assert (work.claimable, work.writable) == (".ralph/prd.json", (LEARNINGS,))


def test_set_up_that_failed_too_often_ends_the_run_and_says_why(tmp_path: Path) -> None:
    most = Policy().max_setup_failures
    again = plan(task("T-1"), done=(), setup={"failures": most - 1, "notes": "no network"})
    assert next_work(tmp_path, again).id == "setup"
    over = plan(task("T-1"), done=(), setup={"failures": most, "notes": "no network"})
    assert end(tmp_path, over) == Finished(ending=Ending.BLOCKED, reason="setup failed: no network")


def test_tasks_come_as_listed_and_the_one_that_was_begun_before_all_others(tmp_path: Path) -> None:
    tasks = task("T-1", PASSED), task("T-2"), task("T-3"), task("T-0")
    assert next_work(tmp_path, plan(*tasks)).id == "T-2"
    assert next_work(tmp_path, plan(*tasks, current="T-0")).id == "T-0"
    assert next_work(tmp_path, plan(*tasks, current="T-1")).id == "T-2"


def test_a_task_waits_for_all_that_it_depends_on(tmp_path: Path) -> None:
    waiting = task("T-1", depends_on=("T-2", "T-3"))
    assert next_work(tmp_path, plan(waiting, task("T-2"), task("T-3"))).id == "T-2"
    assert next_work(tmp_path, plan(waiting, task("T-2", PASSED), task("T-3"))).id == "T-3"
    assert next_work(tmp_path, plan(waiting, task("T-2", PASSED), task("T-3", PASSED))).id == "T-1"


def test_a_task_that_failed_does_not_keep_others_from_their_turn(tmp_path: Path) -> None:
    assert next_work(tmp_path, plan(task("T-1", BLOCKED), task("T-2"))).id == "T-2"


def test_a_plan_is_done_when_every_task_is(tmp_path: Path) -> None:
    assert end(tmp_path, plan(task("T-1", PASSED), task("T-2", PASSED))) == Finished(ending=Ending.DONE)


def test_a_plan_that_cannot_go_on_names_what_failed_what_is_stuck_and_what_waits(tmp_path: Path) -> None:
    tasks = (
        task("T-1", PASSED),
        task("T-2", BLOCKED, notes="The agent says that it cannot be done: Stuck in the mud"),
        task("T-3", BLOCKED, notes="Stuck: 3 attempts in a row changed nothing. The last attempt: …"),
        task("T-4", depends_on=("T-2",)),
        task("T-5", depends_on=("T-4",)),
    )
    assert end(tmp_path, plan(*tasks)) == Finished(
        ending=Ending.BLOCKED, reason="failed: T-2, T-3 (stuck); waiting for them: T-4, T-5"
    )
    assert end(tmp_path, plan(*tasks[:2])).reason == "failed: T-2"


STATES = st.lists(st.tuples(st.sampled_from(TaskState), st.sets(st.integers(0, 4), max_size=2)), max_size=5)


@given(STATES, st.sampled_from([None, "T-0", "T-3"]))
def test_what_comes_next_is_ready_and_nothing_ready_is_left_at_the_end(
    root: Path, states: list[tuple[TaskState, set[int]]], current: str | None
) -> None:
    tasks = tuple(
        task(f"T-{number}", state, depends_on=tuple(f"T-{other}" for other in sorted(needs) if other < number))
        for number, (state, needs) in enumerate(states)
    )
    passed = {one.id for one in tasks if one.state is PASSED}
    ready = [one.id for one in tasks if one.state is TaskState.PENDING and set(one.depends_on) <= passed]
    found = workflow(root).next(plan(*tasks, current=current))
    if ready:
        assert isinstance(found, Work)
        assert found.id == (current if current in ready else ready[0])
    else:
        assert isinstance(found, Finished)
        assert (found.ending is Ending.DONE) is all(one.state is PASSED for one in tasks)


def test_the_work_of_an_earlier_run_is_found_again_if_it_still_exists(tmp_path: Path) -> None:
    made, begun = workflow(tmp_path), plan(task("T-1"), done=())
    assert made.work(begun, WorkKind.SETUP, "setup") == made.next(begun)
    assert made.work(begun, WorkKind.SETUP, "gone") is None
    assert made.work(begun, WorkKind.TASK, "T-1") == made.next(plan(task("T-1")))
    assert made.work(begun, WorkKind.TASK, "T-9") is None


def test_how_many_loops_a_task_may_take_is_the_pipelines_word(tmp_path: Path) -> None:
    made = workflow(tmp_path, *LOOP, max_loops_per_task=7, stuck_after=2)
    assert (made.policy.max_failures, made.policy.max_idle) == (7, 2)


def test_without_a_verify_step_there_are_no_gates(tmp_path: Path) -> None:
    assert [gate.command for gate in workflow(tmp_path).gates(task("T-1"))] == ["make test"]
    off = workflow(tmp_path, LOOP[0], {"type": "verify", "enabled": False})
    assert off.gates(task("T-1")) == off.gates(None) == off.ui_gates(None) == ()


# claims

WORK = Work(kind=WorkKind.TASK, id="T-002", title="Two", steps=(), claims=frozenset({"DONE"}))
KNOWN = plan(task("T-001", PASSED), task("T-002"), task("T-003"))


def written(*entries: Any, **more: Any) -> PlanClaims:
    return claimed(KNOWN, WORK, json.dumps({"version": 1, "tasks": list(entries), **more}).encode())


ONE, TWO, THREE = (
    {"id": "T-001", "status": "done"},
    {"id": "T-002", "status": "in_progress"},
    {"id": "T-003", "status": "todo"},
)


def test_a_task_that_is_marked_done_is_claimed() -> None:
    assert written(ONE, {**TWO, "status": "done"}, THREE) == PlanClaims(claims=frozenset({"DONE"}))


def test_a_task_that_is_marked_failed_is_given_up_for_the_reason_in_its_notes() -> None:
    given_up = written(ONE, {**TWO, "status": "failed", "notes": "there is no database"}, THREE)
    assert given_up == PlanClaims(claims=frozenset({"BLOCKED"}), reason="there is no database")
    assert written({**TWO, "status": "failed"}) == PlanClaims(claims=frozenset({"BLOCKED"}))
    assert written({**TWO, "status": "failed", "notes": None}) == PlanClaims(claims=frozenset({"BLOCKED"}))


@pytest.mark.parametrize("status", ["todo", "in_progress", "DONE", "passed", "", None, True, 1, ["done"], {"done": 1}])
def test_any_other_mark_claims_nothing(status: object) -> None:
    assert written(ONE, {**TWO, "status": status}, THREE) == PlanClaims()


@pytest.mark.parametrize("entry", [{"id": "T-002"}, {"status": "done"}, {"id": ["T-002"], "status": "done"}, {}])
def test_a_mark_that_says_not_what_of_which_task_claims_nothing(entry: Json) -> None:
    assert written(entry).claims == frozenset()


def test_a_plan_with_its_own_task_taken_out_claims_nothing() -> None:
    assert written(ONE, THREE) == PlanClaims()


def test_marks_on_other_tasks_count_for_nothing_and_are_told() -> None:
    found = written(ONE, {**TWO, "status": "done"}, {**THREE, "status": "done"}, {"id": "T-004", "title": "New"})
    assert found.claims == {"DONE"}
    assert "T-003, T-004" in found.note
    assert "T-001" not in found.note
    assert "T-002" not in found.note


def test_a_mark_on_another_task_alone_is_no_claim() -> None:
    found = written(ONE, TWO, {**THREE, "status": "done"})
    assert found.claims == frozenset()
    assert "T-003" in found.note


@pytest.mark.parametrize(
    "data", [b"", b"I am done!", b'{"tasks": [', b"\xff\xfe", b"\x00" * 50, b"null", b"[]", b'"done"', b"3"]
)
def test_what_is_no_plan_claims_nothing_and_is_told(data: bytes) -> None:
    found = claimed(KNOWN, WORK, data)
    assert found.claims == frozenset()
    assert "not a JSON object" in found.note


@pytest.mark.parametrize(
    "tasks", [None, {}, "done", 3, ["done"], [None, 3, []], [[{"id": "T-002"}]], {"T-002": "done"}]
)
def test_tasks_of_another_shape_claim_nothing(tasks: object) -> None:
    assert claimed(KNOWN, WORK, json.dumps({"tasks": tasks}).encode()) == PlanClaims()


def test_json_too_deep_to_be_meant_claims_nothing() -> None:
    deep = b'{"tasks": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert claimed(KNOWN, WORK, deep).claims == frozenset()
    below = json.dumps({"tasks": [{**TWO, "status": "done", "more": json.loads("[" * 100 + "]" * 100)}]}).encode()
    assert claimed(KNOWN, WORK, below).claims == {"DONE"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["T-002", "T-003", "done", "failed", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "status", "notes", "tasks", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_is_in_the_plan_only_a_mark_on_its_own_task_is_a_claim(content: object) -> None:
    found = claimed(KNOWN, WORK, json.dumps(content).encode())
    tasks = content.get("tasks") if isinstance(content, dict) else None
    entries = [one for one in tasks if isinstance(one, dict)] if isinstance(tasks, list) else []
    marks = [one.get("status") for one in entries if one.get("id") == "T-002"]
    assert ("DONE" in found.claims) <= ("done" in marks)
    assert ("BLOCKED" in found.claims) <= ("failed" in marks)
    assert found.claims <= {"DONE", "BLOCKED"}
    if marks == ["done"]:
        assert found.claims == {"DONE"}


@given(st.binary(max_size=60))
def test_any_bytes_in_the_plan_are_harmless(data: bytes) -> None:
    assert claimed(KNOWN, WORK, data).claims == frozenset()


# what an agent is told


def noted(root: Path, text: str) -> None:
    (root / ".ralph").mkdir(exist_ok=True)
    (root / LEARNINGS).write_bytes(text.encode())


def test_the_context_says_where_the_loop_stands_and_what_others_found_out(tmp_path: Path) -> None:
    noted(tmp_path, "# Learnings\n\n- Icons are in assets\n- The login form is in auth.py\n")
    login = task("T-002", attempts=3, description="Write the login form")
    begun = plan(task("T-001", PASSED, attempts=2), login, setup={"attempts": 1}, description="A shop")
    found = re.fullmatch(
        "You work in Ralph's loop number 7 on A shop.\n"
        "Progress: 1 of 2 tasks done.\n"
        "Current task: T-002 Title T-002\n"
        "Write the login form\n"
        "Recent learnings:\n"
        "<(output-[0-9a-f]{16})>\n"
        "- The login form is in auth.py\n"
        "- Icons are in assets\n"
        "</\\1>\n\nText between .*",
        workflow(tmp_path).context(begun, login),
    )
    assert found


def test_without_task_and_learnings_the_context_is_two_lines(tmp_path: Path) -> None:
    assert workflow(tmp_path).context(plan(task("T-001"), done=()), None) == (
        "You work in Ralph's loop number 1 on app.\nProgress: 0 of 1 tasks done."
    )


def test_learnings_that_link_elsewhere_are_not_told(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("- a secret\n")
    (tmp_path / ".ralph").mkdir()
    (tmp_path / LEARNINGS).symlink_to(secret)
    assert "secret" not in workflow(tmp_path).context(plan(task("T-001")), task("T-001"))


WORDS = st.text(st.sampled_from("ab \n-#é…") | st.characters(exclude_categories=["Cs"]), max_size=40)
LONG = WORDS | st.sampled_from(["x" * 3000, "words " * 600, "- a note\n" * 400, f"- {'a note ' * 20}\n" * 30])


@given(title=LONG, description=LONG, criterion=LONG, learnings=LONG, attempts=st.integers(0, 10**6))
def test_a_context_is_never_too_long_and_always_says_loop_progress_and_task(
    root: Path, title: str, description: str, criterion: str, learnings: str, attempts: int
) -> None:
    noted(root, learnings)
    own = Task(id="T-002", title=title, description=description, criteria=(criterion,), attempts=attempts)
    text = workflow(root).context(plan(task("T-001", PASSED), own, description="A shop"), own)
    assert len(text) <= MAX_CONTEXT == 2_500
    assert f"loop number {attempts + 1} on A shop." in text
    assert "Progress: 1 of 2 tasks done." in text
    assert "Current task: T-002 " in text


@pytest.mark.parametrize("part", ["title", "description"])
def test_one_very_long_part_of_a_task_leaves_room_for_learnings(tmp_path: Path, part: str) -> None:
    noted(tmp_path, "- short and sweet\n")
    own = replace(task("T-001"), **{part: "x" * 10_000})
    assert workflow(tmp_path).context(plan(own), own).find("\n- short and sweet\n</output-") > 0


def test_a_very_long_description_of_the_project_does_not_hide_the_task(tmp_path: Path) -> None:
    text = workflow(tmp_path).context(plan(task("T-001"), description="x" * 10_000), task("T-001"))
    assert "Progress: 0 of 1 tasks done." in text
    assert "Current task: T-001" in text


def test_each_step_gets_the_prompt_that_suits_it(tmp_path: Path) -> None:
    made = workflow(tmp_path)
    noted(tmp_path, "- The port is 5433\n")
    (tmp_path / REQUIREMENTS).write_text("It must greet.\n")
    own = task("T-001", notes="the gate was red", criteria=("It greets",))
    setup, work = made.next(plan(own, done=())), made.next(plan(own))
    assert isinstance(setup, Work)
    assert isinstance(work, Work)
    assert prompt_name(setup.kind, setup.steps[0]) == "SETUP_PROMPT"
    assert [prompt_name(work.kind, step) for step in work.steps if step.type in ("agent", "review")] == [
        "LOOP_PROMPT",
        "review",
    ]
    for of, step, wanted in (
        (setup, setup.steps[0], ["It must greet.", "T-001 Title T-001 (to do)"]),
        (work, work.steps[0], ["T-001", "It greets", "the gate was red", "`make test`", "<ralph>DONE</ralph>"]),
        (work, work.steps[2], ["T-001", "It greets", "    git diff a b", "to the file `answer.json`"]),
    ):
        review = ReviewAssignment(answer="answer.json", diff="git diff a b") if step.type == "review" else None
        prompt = made.prompt(PromptRequest(plan=plan(own), work=of, step=step, number=1, earlier=(), review=review))
        assert [text for text in wanted if text not in prompt.text] == []
        assert prompt.context.startswith("You work in Ralph's loop number 1 on app.")
        assert "\n- The port is 5433\n</output-" in prompt.context


def test_paths_in_prompts_are_relative_to_where_the_agent_works(tmp_path: Path) -> None:
    made = workflow(tmp_path)
    work = next_work(tmp_path, plan(task("T-001")))
    text = made.prompt(
        PromptRequest(plan=plan(task("T-001")), work=work, step=work.steps[0], number=1, earlier=())
    ).text
    assert "../.ralph/prd.json" in text
    assert "../.ralph/learnings.md" in text


def test_tasks_are_listed_with_their_state() -> None:
    assert listed(plan(task("T-1", PASSED), task("T-2", BLOCKED), task("T-3"))) == (
        "- T-1 Title T-1 (done)\n- T-2 Title T-2 (failed)\n- T-3 Title T-3 (to do)"
    )


# how a plan grows


def new(name: str | None = None, **more: Any) -> NewTaskEntry:
    return NewTaskEntry(id=name, title="New", **more)


IDS = st.sampled_from(["T-001", "T-1", "T-009", "T-010", "T-999", "US-5", "a.b", "T-x"])


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        (set(), "T-001"),
        ({"T-001", "T-003"}, "T-004"),
        ({"T-7"}, "T-008"),
        ({"T-999"}, "T-1000"),
        ({"US-5", "T-x", "xT-9", "T-9x"}, "T-001"),
    ],
)
def test_the_next_id_comes_after_all_that_were_ever_used(taken: set[str], expected: str) -> None:
    assert next_id(taken) == expected


@given(st.sets(IDS), st.lists(st.none() | IDS, max_size=5, unique_by=lambda name: name or object()))
def test_ids_never_clash(taken: set[str], wanted: list[str | None]) -> None:
    try:
        made = numbered([new(name) for name in wanted], taken)
    except Mistakes as error:
        clashes = [name for name in wanted if name in taken]
        assert len(error.mistakes) == len(clashes) > 0
        assert all(next_id(taken) in line for line in error.mistakes)
        return
    names = [entry["id"] for entry in made]
    assert len(set(names)) == len(names)
    assert not set(names) & taken
    assert all(given is None or given == name for given, name in zip(wanted, names, strict=True))


def test_ids_never_clash_however_large_their_numbers_are() -> None:
    for largest in ("T-999999999", "T-9999999999", f"T-{'9' * 70}"):
        names = [entry["id"] for entry in numbered([new(), new(), new()], {largest})]
        assert len({*names, largest}) == 4


def test_an_agent_says_what_a_task_is_and_ralph_says_where_it_stands() -> None:
    boast = NewTaskEntry.model_validate(
        {"title": "T", "description": "d", "acceptance_criteria": ["c"], "status": "done", "attempts": 9, "x": 1}
    )
    assert numbered([boast], set()) == [
        {
            "id": "T-001",
            "title": "T",
            "description": "d",
            "acceptance_criteria": ["c"],
            "status": "todo",
        }
    ]


def test_what_an_agent_does_not_say_about_dependencies_the_plan_does_not_say_either() -> None:
    silent, free = ({"title": "T"}, {"title": "T", "depends_on": []})
    made = numbered([NewTaskEntry.model_validate(one) for one in (silent, free)], set())
    assert [entry.get("depends_on") for entry in made] == [None, []]


def test_what_is_done_makes_room_and_what_depended_on_it_waits_no_more() -> None:
    document = {
        "version": 1,
        "ours": "kept",
        "tasks": [
            {"id": "T-001", "title": "a", "status": "done"},
            {"id": "T-002", "title": "b", "status": "todo", "depends_on": ["T-001", "T-000", "T-003"], "ours": 1},
            {"id": "T-003", "title": "c", "status": "failed"},
        ],
    }
    before = copy.deepcopy(document)
    grown = extended(document, [{"id": "T-004", "title": "d", "depends_on": ["T-001", "T-002"]}], archived={"T-000"})
    assert grown == {
        "version": 1,
        "ours": "kept",
        "tasks": [
            {"id": "T-002", "title": "b", "status": "todo", "depends_on": ["T-003"], "ours": 1},
            {"id": "T-003", "title": "c", "status": "failed"},
            {"id": "T-004", "title": "d", "depends_on": ["T-002"]},
        ],
    }
    assert document == before


STATUSES = st.sampled_from(["todo", "in_progress", "done", "failed"])


@given(
    st.lists(st.tuples(STATUSES, st.sets(st.integers(0, 9), max_size=3)), min_size=1, max_size=6),
    st.lists(st.sets(st.integers(0, 9), max_size=3), min_size=1, max_size=3),
)
def test_a_plan_that_grew_is_a_plan(tasks: list[tuple[str, set[int]]], more: list[set[int]]) -> None:
    document = {
        "version": 1,
        "tasks": [
            {"id": f"T-{number}", "title": "T", "status": status, "depends_on": [f"T-{n}" for n in needs if n < number]}
            for number, (status, needs) in enumerate(tasks)
        ],
    }
    known = {f"T-{number}" for number in range(len(tasks))}
    wanted = [new(depends_on=[f"T-{number}" for number in needs if f"T-{number}" in known]) for needs in more]
    grown = extended(document, numbered(wanted, known), archived=set())
    _, read = TASKS.check(json.dumps(grown).encode(), name="prd.json")
    open_before = [entry["id"] for entry in document["tasks"] if entry["status"] != "done"]
    assert [one.id for one in read.tasks][: len(open_before)] == open_before
    assert len(read.tasks) == len(open_before) + len(more)
    assert all(one.state is not TaskState.PASSED for one in read)


# the archive


def entry(name: str, **more: Any) -> Json:
    return {"id": name, "title": "T", "status": "done", **more}


def archived(root: Path) -> list[Json]:
    return json.loads((root / ".ralph" / "prd_archive.json").read_text())["tasks"]


def test_what_is_saved_twice_is_in_the_archive_once(tmp_path: Path) -> None:
    archive = Archive.load(tmp_path)
    assert archive.ids == set()
    archive.save([entry("T-001"), entry("T-002")])
    archive.save([entry("T-001"), entry("T-002")])
    assert archived(tmp_path) == [entry("T-001"), entry("T-002")]
    again = Archive.load(tmp_path)
    assert again.ids == {"T-001", "T-002"}
    again.save([entry("T-002"), entry("T-003", result={"commit": "c"})])
    assert archived(tmp_path) == [entry("T-001"), entry("T-002"), entry("T-003", result={"commit": "c"})]


def test_an_archive_with_nothing_to_keep_is_not_made(tmp_path: Path) -> None:
    Archive.load(tmp_path).save([])
    assert list(tmp_path.iterdir()) == []


def test_what_a_person_added_to_the_archive_survives(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    path = tmp_path / ".ralph" / "prd_archive.json"
    path.write_text(json.dumps({"version": 1, "ours": [1], "tasks": [entry("T-001", ours=2)]}))
    Archive.load(tmp_path).save([entry("T-002")])
    assert json.loads(path.read_text()) == {
        "version": 1,
        "ours": [1],
        "tasks": [entry("T-001", ours=2), entry("T-002")],
    }


@pytest.mark.parametrize("text", ["", "[]", "{", '{"tasks": {}}', "{}"])
def test_an_archive_that_cannot_be_read_is_told_and_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / ".ralph").mkdir()
    path = tmp_path / ".ralph" / "prd_archive.json"
    path.write_text(text)
    with pytest.raises(Mistakes, match=r"prd_archive\.json"):
        Archive.load(tmp_path)
    assert path.read_text() == text
