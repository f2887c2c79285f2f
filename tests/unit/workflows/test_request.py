"""The request workflow: what comes next, halting, and what an agent is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ralph import config
from ralph.plan.model import Failure, Plan, TaskResult, TaskState
from ralph.plan.prompting import PromptRequest
from ralph.plan.work import Ending, Finished, StepSpec, Waiting, Work
from ralph.validation import Mistakes
from ralph.workflows.request.answers import RequestTaskAnswer
from ralph.workflows.request.planning import numbered
from ralph.workflows.request.workflow import RequestWorkflow

CONFIG = config.parse(json.dumps({"provider": {"command": "x"}, "verify": {"default": ["make test"]}}).encode())
FAILURE = Failure(task="a", title="A", message="got 404", at="now")


@pytest.fixture
def workflow(tmp_path: Path) -> RequestWorkflow:
    (tmp_path / ".ralph/tasks").mkdir(parents=True)
    order = {"a": [], "b": [], "c": ["a", "b"]}
    for name, needs in order.items():
        task = {"id": name, "title": name.upper(), "dependencies": needs, "acceptance_criteria": [f"{name} works"]}
        (tmp_path / f".ralph/tasks/{name}.json").write_text(json.dumps(task))
    state = {
        "version": "1.0",
        "created_at": "t",
        "updated_at": "t",
        "phase": "planning_complete",
        "original_request": "Build\nit",
        "task_order": ["b", "a", "c"],
        "task_statuses": {},
        "last_failure": None,
    }
    (tmp_path / ".ralph/state.json").write_text(json.dumps(state))
    (tmp_path / ".ralph/prd.md").write_text("# PRD\n\nAll about it.\n")
    return RequestWorkflow(CONFIG, tmp_path)


def passed(plan: Plan, *names: str) -> Plan:
    result = TaskResult(completed_at="now", commit="c0ffee0000ff", summary="feat: done")
    for name in names:
        plan = plan.change(name, lambda task: replace(task, state=TaskState.PASSED, result=result))
    return plan


def upcoming(workflow: RequestWorkflow, plan: Plan, *running: str) -> object:
    found = workflow.next(plan, frozenset(running))
    return found.id if isinstance(found, Work) else found


def test_dependencies_come_first_then_the_listed_order(workflow: RequestWorkflow) -> None:
    plan = workflow.store.load()
    assert upcoming(workflow, plan) == "b"
    assert upcoming(workflow, plan, "b") == "a"
    assert upcoming(workflow, plan, "a", "b") == Waiting()
    assert upcoming(workflow, passed(plan, "b")) == "a"
    assert upcoming(workflow, passed(plan, "a", "b")) == "c"
    assert upcoming(workflow, passed(plan, "a", "b", "c")) == Finished(ending=Ending.DONE)


def test_after_a_failure_nothing_is_begun(workflow: RequestWorkflow) -> None:
    plan = workflow.store.load().change("a", lambda task: replace(task, state=TaskState.BLOCKED))
    halted = replace(plan, failure=FAILURE)
    assert upcoming(workflow, halted, "b") == Waiting()
    assert upcoming(workflow, halted) == Finished(ending=Ending.HALTED, reason="a failed: got 404")
    left = upcoming(workflow, passed(plan, "b"))
    assert left == Finished(ending=Ending.BLOCKED, reason="failed: a; waiting for them: c")


def test_an_agent_is_told_its_task_what_it_belongs_to_and_what_it_builds_on(workflow: RequestWorkflow) -> None:
    plan = passed(workflow.store.load(), "a", "b").change(
        "c", lambda task: replace(task, notes="It was red", tried=("Attempt 1: red",))
    )
    work = workflow.next(plan)
    assert isinstance(work, Work)
    text = workflow.prompt(PromptRequest(plan=plan, work=work, step=StepSpec(type="agent"), number=2, earlier=())).text
    for part in (
        "# Task c: C",
        "- c works",
        "> Build it",
        "All about it.",
        "- a A: feat: done (c0ffee0000)",
        "This is attempt 2.",
        "It was red",
        "- Attempt 1: red",
        "- `make test`",
        "<ralph>DONE</ralph>",
        "Do not commit",
    ):
        assert part in text, part
    assert workflow.commit_message(plan, work) == "feat: c - C"


def test_ids_that_are_missing_are_numbered_and_none_is_used_twice() -> None:
    tasks = [
        RequestTaskAnswer(title="x"),
        RequestTaskAnswer(title="y", id="task-001"),
        RequestTaskAnswer(title="z", dependencies=["task-001"]),
    ]
    assert [task["id"] for task in numbered(tasks)] == ["task-002", "task-001", "task-003"]
    with pytest.raises(Mistakes) as found:
        numbered([RequestTaskAnswer(title="x", id="a"), RequestTaskAnswer(title="y", id="a", dependencies=["a"])])
    assert found.value.mistakes == [
        "tasks[1].id: 'a' is already tasks[0]",
        "tasks: dependencies form a cycle: a → a",
    ]
