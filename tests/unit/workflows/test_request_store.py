"""A request's files: what Ralph does not know survives, and every mistake has its file and its words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ralph.engine.settle import Policy, is_settled, settle
from ralph.errors import RalphError
from ralph.plan.model import Failure, Finding, GateResult, Plan, Severity, TaskResult, TaskState
from ralph.plan.work import Outcome, Verdict, Work, WorkKind
from ralph.validation import Mistakes
from ralph.workflows.formats import REQUEST_TASK, STATE
from ralph.workflows.request import answers
from ralph.workflows.request.files import FilesOnDisk, all_paths
from ralph.workflows.request.store import RequestStore

Json = dict[str, Any]
GATES = (GateResult(name="t", command="make", passed=True, seconds=2.5),)


def state(*order: str, **more: Any) -> Json:
    return {
        "version": "1.0",
        "created_at": "2026-01-27T12:34:56Z",
        "updated_at": "2026-01-27T12:34:56Z",
        "phase": "planning_complete",
        "original_request": "Build a REST API",
        "task_order": list(order),
        "task_statuses": dict.fromkeys(order, "pending"),
        "last_failure": None,
        **more,
    }


def task(name: str, *needs: str, **more: Any) -> Json:
    return {"id": name, "title": f"Do {name}", "dependencies": list(needs), **more}


def written(root: Path, document: Json, *tasks: Json) -> RequestStore:
    (root / ".ralph/tasks").mkdir(parents=True)
    (root / ".ralph/state.json").write_text(json.dumps(document))
    for entry in tasks:
        (root / f".ralph/tasks/{entry['id']}.json").write_text(json.dumps(entry))
    return RequestStore(root)


def read(root: Path, name: str) -> Json:
    return json.loads((root / ".ralph" / name).read_text())


def mistakes(root: Path, document: Json, *tasks: Json) -> list[str]:
    with pytest.raises(Mistakes) as found:
        written(root, document, *tasks).load()
    return found.value.mistakes


def test_a_plan_comes_back_as_it_was_saved_and_unknown_fields_survive(tmp_path: Path) -> None:
    document = state("t-1", "t-2", team="blue", task_statuses={"t-1": "in_progress"})
    store = written(tmp_path, document, task("t-1", colour="red"), task("t-2", "t-1"))
    plan = store.load()
    assert (plan.current, plan.description, plan.find("t-2").depends_on) == ("t-1", "Build a REST API", ("t-1",))  # type: ignore[union-attr]

    result = TaskResult(completed_at="now", commit="c1", summary="s", gates=GATES)
    changed = replace(
        plan.change("t-1", lambda one: replace(one, state=TaskState.PASSED, attempts=1, result=result, seconds=2.0)),
        current=None,
        started_at="then",
        learnings=("l",),
    )
    store.save(changed)

    assert RequestStore(tmp_path).load() == changed
    saved = read(tmp_path, "state.json")
    assert (saved["phase"], saved["team"], saved["version"]) == ("executing", "blue", "1.0")
    assert saved["updated_at"] > document["updated_at"]
    assert saved["task_statuses"] == {"t-1": "completed", "t-2": "pending"}
    assert read(tmp_path, "tasks/t-1.json")["colour"] == "red"
    told = read(tmp_path, "results/t-1.json")
    assert (told["task_id"], told["status"], told["commit"], told["attempts"]) == ("t-1", "completed", "c1", 1)
    assert told["gates"][0]["passed"] and told["seconds"] == 2.0 and told["usage"]["cost_usd"] is None
    assert not (tmp_path / ".ralph/results/t-2.json").exists()
    jsonschema.validate(saved, json.loads(STATE.schema_text()))
    jsonschema.validate(read(tmp_path, "tasks/t-1.json"), json.loads(REQUEST_TASK.schema_text()))


def test_a_failure_is_told_completely_and_taken_back(tmp_path: Path) -> None:
    store = written(tmp_path, state("t-1", phase="executing", started_at="then"), task("t-1"))
    plan = store.load()
    failed = plan.change("t-1", lambda one: replace(one, state=TaskState.BLOCKED, notes="got 404", failures=3))
    store.save(replace(failed, failure=Failure(task="t-1", title="Do t-1", message="got 404", at="now")))
    saved = read(tmp_path, "state.json")
    assert saved["phase"] == "failed"
    assert saved["last_failure"] == {
        "task_id": "t-1",
        "task_title": "Do t-1",
        "error_message": "got 404",
        "failed_at": "now",
        "log_file": ".ralph/logs/errors.log",
    }
    assert read(tmp_path, "results/t-1.json")["status"] == "failed"
    again = RequestStore(tmp_path)
    assert again.load().failure == Failure(task="t-1", title="Do t-1", message="got 404", at="now")
    again.save(replace(plan, failure=None))
    assert (read(tmp_path, "state.json")["phase"], read(tmp_path, "state.json")["last_failure"]) == ("executing", None)


def test_a_crash_between_two_files_of_one_save_is_settled_again(tmp_path: Path) -> None:
    store = written(tmp_path, state("t-1", phase="executing", started_at="then"), task("t-1"))
    plan = store.load()
    store.save(plan)
    before = (tmp_path / ".ralph/tasks/t-1.json").read_bytes()
    work = Work(kind=WorkKind.TASK, id="t-1", title="T", steps=())
    outcome = Outcome(work_id="t-1", number=1, verdict=Verdict.PASSED, at="now", commit="c1", summary="s", seconds=1.0)
    settled = settle(plan, work, outcome, Policy(halts=True))
    store.save(settled)
    (tmp_path / ".ralph/tasks/t-1.json").write_bytes(before)  # the last file never was written

    again = RequestStore(tmp_path).load()
    assert not is_settled(again, work, 1)
    assert settle(again, work, outcome, Policy(halts=True)) == settled


def test_only_what_has_changed_is_written(tmp_path: Path) -> None:
    store = written(tmp_path, state("t-1", "t-2"), task("t-1"), task("t-2"))
    plan = store.load()
    store.save(plan)
    before = (tmp_path / ".ralph/tasks/t-2.json").stat()
    store.save(plan.change("t-1", lambda one: replace(one, notes="n")))
    assert (tmp_path / ".ralph/tasks/t-2.json").stat().st_ino == before.st_ino


def test_all_mistakes_are_told_at_once_with_their_files(tmp_path: Path) -> None:
    document = state("t-1", "t-2", "t-2", "t-9", phase="thinking", task_statuses={"t-8": "pending"})
    found = mistakes(tmp_path, document, task("t-1", "t-2"), task("t-2", "t-1", "t-3"), {"id": "t-4", "title": ""})
    assert any(line.startswith("state.json: phase: expected 'research', 'decisions'") for line in found)
    assert "state.json: task_order[2]: 't-2' is listed twice" in found
    assert any(line.startswith("state.json: task_order[3]: there is no file tasks/t-9.json") for line in found)
    assert any(line.startswith("state.json: task_statuses: 't-8' is not in task_order") for line in found)
    assert any("there is no 't-3'" in line for line in found)
    assert "tasks: dependencies form a cycle: t-1 → t-2 → t-1" in found
    assert any(line.startswith("tasks/t-4.json: title") for line in found)
    assert "tasks/t-4.json: it is not in task_order; add it there, or move the file" in found


def test_two_tasks_with_one_id_and_a_file_that_is_no_json(tmp_path: Path) -> None:
    store = written(tmp_path, state("t-1"), task("t-1"))
    (tmp_path / ".ralph/tasks/t-2.json").write_text(json.dumps(task("t-1")))
    (tmp_path / ".ralph/tasks/t-3.json").write_text("{")
    with pytest.raises(Mistakes) as found:
        store.load()
    assert "tasks[1].id: 't-1' is already tasks[0]" in found.value.mistakes
    assert "tasks/t-2.json: its id is 't-1', which belongs in tasks/t-1.json" in found.value.mistakes
    assert any(line.startswith("tasks/t-3.json: not valid JSON") for line in found.value.mistakes)


def test_a_plan_without_tasks_is_fine_only_while_it_is_made(tmp_path: Path) -> None:
    assert written(tmp_path, state(phase="decisions")).load() == Plan(target="request", description="Build a REST API")
    (tmp_path / ".ralph/state.json").write_text(json.dumps(state()))
    with pytest.raises(Mistakes, match="1 mistake") as found:
        RequestStore(tmp_path).load()
    assert found.value.mistakes == [
        "state.json: task_order: there are no tasks, though the phase is 'planning_complete'"
    ]


def test_another_version_and_no_state_at_all(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match=r"state\.json does not exist"):
        RequestStore(tmp_path).load()
    with pytest.raises(RalphError, match=r"has version '2\.0', but this Ralph supports only version '1\.0'"):
        written(tmp_path, state("t-1", version="2.0"), task("t-1")).load()


def test_every_file_of_a_request_is_named(tmp_path: Path) -> None:
    written(tmp_path, state("t-1"), task("t-1"))
    named = [path.removeprefix(".ralph/") for path in all_paths(FilesOnDisk(tmp_path))]
    assert named == [
        "state.json",
        "research.json",
        "decisions.json",
        "prd.md",
        "tasks/t-1.json",
        "results/t-1.json",
    ]


SOURCE = {"title": "RFC", "url": "https://example.com/rfc"}
OPTIONS = [{"option": "A", "consequence": "fast"}, {"option": "B", "consequence": "slow"}]
DECISION = {"id": "db", "question": "Which?", "options": OPTIONS, "recommendation": "A"}


@pytest.mark.parametrize(
    ("parse", "document", "mistake"),
    [
        (answers.parse_research, {"findings": [{"topic": "t", "finding": "f"}]}, "sources: must not be empty"),
        (
            answers.parse_research,
            {"findings": [{"topic": "t", "finding": "f", "sources": ["https://a.b/c"]}], "sources": [SOURCE]},
            "findings[0].sources: 'https://a.b/c' is not among the sources",
        ),
        (
            lambda data: answers.parse_research(data, needed=True),
            {"needed": False, "reason": "small"},
            "needed: must be true, because the person asked for research",
        ),
        (
            answers.parse_decisions,
            {"decisions": [DECISION, {**DECISION, "recommendation": "C"}]},
            "decisions[1].recommendation: 'C' is not one of the options",
        ),
        (answers.parse_decisions, {"decisions": [DECISION, DECISION]}, "decisions[1].id: 'db' is used twice"),
        (
            answers.parse_proposal,
            {"prd": "x" * 50, "summary": "s", "tasks": [{"title": "t"}]},
            "prd: has no headings; write it in Markdown",
        ),
    ],
)
def test_answers_of_agents_are_checked(parse: Callable[[bytes], object], document: Json, mistake: str) -> None:
    with pytest.raises(Mistakes) as found:
        parse(json.dumps(document).encode())
    assert mistake in found.value.mistakes


def test_good_answers_of_agents_are_taken() -> None:
    assert not answers.parse_research(b'{"needed": false, "reason": "small"}').needed
    found = [{"topic": "t", "finding": "f", "sources": [SOURCE["url"]]}]
    answers.parse_research(json.dumps({"findings": found, "sources": [SOURCE]}).encode(), needed=True)
    assert answers.parse_decisions(json.dumps({"decisions": [DECISION]}).encode()).decisions[0].answer is None
    for text in (answers.research_schema(), answers.decisions_schema()):
        jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_rounds_and_findings_survive_a_save(tmp_path: Path) -> None:
    store = written(tmp_path, state("task-001"), task("task-001"))
    found = Finding(severity=Severity.CRITICAL, file="a.py", line=3, problem="p", remedy="r")
    plan = store.load().change("task-001", lambda one: replace(one, rounds=2, findings=(found,)))
    store.save(plan)
    assert RequestStore(tmp_path).load().tasks[0] == plan.tasks[0]
    jsonschema.validate(read(tmp_path, "tasks/task-001.json"), json.loads(REQUEST_TASK.schema_text()))
