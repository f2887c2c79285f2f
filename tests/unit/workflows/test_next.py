"""What comes next in a feature, in specs and in a session, without a process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ralph import config
from ralph.plan.model import FinalReview, Plan, Spec, Task, TaskState
from ralph.plan.work import Ending, Finished, Waiting, Work, WorkKind
from ralph.workflows.feature.workflow import FeatureWorkflow
from ralph.workflows.session.workflow import SessionWorkflow
from ralph.workflows.specs.workflow import SpecsWorkflow
from ralph.workspace import Feature
from tests.unit.workflows.test_session_contracts import ALL, PLAN, QUALIFIED, REPORT, TASKS, planning

CONFIG = config.parse(json.dumps({"provider": {"command": "x"}, "verify": {"default": ["make test"]}}).encode())
PENDING, PASSED, BLOCKED = TaskState.PENDING, TaskState.PASSED, TaskState.BLOCKED


def task(name: str, state: TaskState = PENDING, *, after: str = "", priority: int = 1, spec: str = "") -> Task:
    needs = (after,) if after else ()
    return Task(id=name, title=name, state=state, depends_on=needs, priority=priority, spec=spec)


def answer(found: object) -> object:
    """What a test compares: the work's kind and id, or how the run ends."""
    match found:
        case Work():
            return found.kind, found.id
        case Finished():
            return found.ending
        case _:
            return type(found)


# features

FEATURE = [
    ("the lowest priority number first", [task("a", priority=2), task("b")], (), (WorkKind.TASK, "b")),
    ("what a task needs first", [task("a", after="b"), task("b", priority=9)], (), (WorkKind.TASK, "b")),
    ("another one while one runs", [task("a"), task("b")], ("a",), (WorkKind.TASK, "b")),
    ("nothing while what it needs runs", [task("a"), task("b", after="a")], ("a",), Waiting),
    ("what needs a blocked task is blocked", [task("a", BLOCKED), task("b", after="a")], (), Ending.BLOCKED),
    ("others continue beside a blocked task", [task("a", BLOCKED), task("b")], (), (WorkKind.TASK, "b")),
]


@pytest.mark.parametrize(
    ("tasks", "running", "expected"), [row[1:] for row in FEATURE], ids=[row[0] for row in FEATURE]
)
def test_a_feature_s_next_task(tmp_path: Path, tasks: list[Task], running: tuple[str, ...], expected: object) -> None:
    workflow = FeatureWorkflow(Feature(name="auth", date="2026-01-01"), CONFIG, tmp_path)
    assert answer(workflow.next(Plan(target="auth", tasks=tuple(tasks)), frozenset(running))) == expected


REVIEWS = [
    ("all passed: the final verification", FinalReview(), WorkKind.REVIEW),
    ("it agreed: done", FinalReview(verified_at="now"), Ending.DONE),
    ("it failed too often: unverified", FinalReview(failures=3, notes="no verdict"), Ending.UNVERIFIED),
    ("it failed once: again", FinalReview(failures=1), WorkKind.REVIEW),
]


@pytest.mark.parametrize(("review", "expected"), [row[1:] for row in REVIEWS], ids=[row[0] for row in REVIEWS])
def test_a_feature_s_end(tmp_path: Path, review: FinalReview, expected: object) -> None:
    workflow = FeatureWorkflow(Feature(name="auth", date="2026-01-01"), CONFIG, tmp_path)
    plan = Plan(target="auth", tasks=(task("a", PASSED),), review=review)
    found = workflow.next(plan)
    assert (found.kind if isinstance(found, Work) else answer(found)) == expected


# specs

A, B = Spec(id="a", name="A", priority=1), Spec(id="b", name="B", priority=2)
SPECS = [
    ("a task of the first spec", [A, B], [task("a1", spec="a"), task("b1", spec="b")], (WorkKind.TASK, "a1")),
    (
        "a spec is committed when its tasks passed",
        [A, B],
        [task("a1", PASSED, spec="a"), task("b1", spec="b")],
        (WorkKind.FINISH, "a"),
    ),
    (
        "what passed is committed although a task is blocked",
        [A],
        [task("a1", PASSED, spec="a"), task("a2", BLOCKED, spec="a")],
        (WorkKind.FINISH, "a"),
    ),
    (
        "the next spec follows",
        [replace(A, state=PASSED), B],
        [task("a1", PASSED, spec="a"), task("b1", spec="b")],
        (WorkKind.TASK, "b1"),
    ),
    (
        "a spec that cannot be committed blocks",
        [replace(A, failures=3)],
        [task("a1", PASSED, spec="a")],
        Ending.BLOCKED,
    ),
    ("all committed: done", [replace(A, state=PASSED)], [task("a1", PASSED, spec="a")], Ending.DONE),
    (
        "the end with a blocked task",
        [replace(A, state=BLOCKED)],
        [task("a1", PASSED, spec="a"), task("a2", BLOCKED, spec="a")],
        Ending.BLOCKED,
    ),
]


@pytest.mark.parametrize(("specs", "tasks", "expected"), [row[1:] for row in SPECS], ids=[row[0] for row in SPECS])
def test_what_is_next_in_specs(tmp_path: Path, specs: list[Spec], tasks: list[Task], expected: object) -> None:
    plan = Plan(target="specs", specs=tuple(specs), tasks=tuple(tasks))
    assert answer(SpecsWorkflow(CONFIG, tmp_path).next(plan)) == expected


# sessions

BEGUN = {"plan.md": PLAN, "tasks.md": TASKS}
SESSION = [
    (
        "planning goes step by step",
        {**BEGUN, "progress.md": planning("init")},
        (WorkKind.SETUP, "plan-brainstorm", "questioner"),
    ),
    (
        "a planned task is carried out",
        {**BEGUN, "progress.md": planning(*ALL, task_1=" ", task_2=" ")},
        (WorkKind.TASK, "task-1", "executor"),
    ),
    (
        "finished work is verified and reviewed, not made again",
        {**BEGUN, "progress.md": planning(*ALL, task_1="P", task_2=" "), "tasks.task-1-report.md": REPORT},
        (WorkKind.TASK, "task-1", "verify"),
    ),
    (
        "what depends on a finished task follows",
        {**BEGUN, "progress.md": planning(*ALL, task_1="x", task_2=" "), "tasks.task-1-report.md": QUALIFIED},
        (WorkKind.TASK, "task-2", "executor"),
    ),
]


@pytest.mark.parametrize(("files", "expected"), [row[1:] for row in SESSION], ids=[row[0] for row in SESSION])
def test_what_is_next_in_a_session(tmp_path: Path, files: dict[str, str], expected: object) -> None:
    folder = tmp_path / ".ralph-sessions/weather"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    workflow = SessionWorkflow(CONFIG, tmp_path, "weather", request="Build it")
    found = workflow.next(workflow.store.load())
    assert isinstance(found, Work)
    assert (found.kind, found.id, found.steps[0].label) == expected
