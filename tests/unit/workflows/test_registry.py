"""Which plan a name means, and which one is meant without a name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ralph.errors import RalphError
from ralph.protect import crash_copies
from ralph.workflows.registry import everything, find, find_by_task, only_target, unfinished
from ralph.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return Workspace(root=tmp_path)


def write(workspace: Workspace, name: str, document: Any) -> None:
    path = workspace.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def feature(workspace: Workspace, name: str, *, verified: bool = False, story: str = "US-001") -> None:
    passed = {"passes": True, "lastResult": {"completedAt": "t", "commit": "c" * 40, "summary": "s"}}
    entry = {"id": story, "title": "One", "priority": 1, **(passed if verified else {})}
    run = {"run": {"verification": {"verifiedAt": "2026-01-01T00:00:00Z"}}} if verified else {}
    plan = {"schemaVersion": 2, "branchName": f"ralph/{name}", "description": "d", "userStories": [entry], **run}
    write(workspace, f".ralph/2026-01-01-{name}/prd.json", plan)


def requirements(workspace: Workspace) -> None:
    task = {"id": "T-001", "title": "One", "acceptance_criteria": ["c"], "status": "todo"}
    plan = {"version": 1, "project": "p", "app": "", "description": "d", "tasks": [task]}
    write(workspace, ".ralph/prd.json", plan)


def test_a_project_without_plans_has_none_to_run(workspace: Workspace) -> None:
    assert everything(workspace) == []
    with pytest.raises(RalphError, match="nothing to run yet"):
        only_target(workspace)


def test_the_only_plan_needs_no_name(workspace: Workspace) -> None:
    feature(workspace, "auth")

    assert only_target(workspace).name == "auth"


def test_a_finished_plan_is_not_meant_while_another_is_open(workspace: Workspace) -> None:
    feature(workspace, "auth", verified=True)
    assert only_target(workspace).name == "auth", "there is no other"

    feature(workspace, "billing")

    assert only_target(workspace).name == "billing"


def test_several_open_plans_are_listed(workspace: Workspace) -> None:
    feature(workspace, "auth")
    feature(workspace, "billing")

    with pytest.raises(RalphError, match="Which plan") as caught:
        only_target(workspace)

    assert caught.value.details == ("Existing plans:", "  auth", "  billing")
    assert caught.value.remedy == "For example: ralph run auth"


def test_the_plan_from_requirements_is_meant_whatever_else_there_is(workspace: Workspace) -> None:
    feature(workspace, "auth")
    requirements(workspace)

    assert only_target(workspace).name == "requirements"


def test_an_unknown_name_is_answered_with_the_nearest(workspace: Workspace) -> None:
    feature(workspace, "auth")
    requirements(workspace)

    assert find(workspace, "auth").workflow == "feature"
    with pytest.raises(RalphError, match="There is no plan 'requirement'; did you mean 'requirements'") as caught:
        find(workspace, "requirement")
    assert caught.value.details == ("Existing plans:", "  requirements", "  auth")


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b"])
def test_what_cannot_be_a_name_is_said_to_be_none(workspace: Workspace, name: str) -> None:
    with pytest.raises(RalphError, match="is not a valid feature name"):
        find(workspace, name)


def test_a_task_that_two_plans_have_is_not_guessed(workspace: Workspace) -> None:
    feature(workspace, "auth")
    feature(workspace, "billing", story="US-002")
    assert find_by_task(workspace, "US-002").name == "billing"

    feature(workspace, "third", story="US-002")

    with pytest.raises(RalphError, match="billing, third each have a task US-002"):
        find_by_task(workspace, "US-002")
    with pytest.raises(RalphError, match="No plan has a task US-009"):
        find_by_task(workspace, "US-009")


def test_a_finished_plan_whose_run_was_killed_is_the_one_to_run(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path)
    for name in ("auth", "mail"):
        folder = tmp_path / f".ralph/2026-01-01-{name}"
        folder.mkdir(parents=True)
        story = {"id": "US-001", "title": "One", "priority": 1, "acceptanceCriteria": ["It works"], "passes": True}
        plan = {"schemaVersion": 2, "branchName": f"ralph/{name}", "description": "d", "userStories": [story]}
        plan["run"] = {"verification": {"verifiedAt": "2026-01-01T00:00:00Z"}}
        (folder / "prd.json").write_text(json.dumps(plan))
    assert unfinished(workspace) == []

    crash_copies.keep(workspace, "mail", [], tip="abc")

    assert [target.name for target in unfinished(workspace)] == ["mail"]
    assert only_target(workspace).name == "mail"
