"""`ralph next` and `ralph verify` ask the plan's own workflow."""

from __future__ import annotations

import json
from typing import Any

from tests.acceptance import requests, sessions, specs
from tests.acceptance.requirements import COMMIT, SETTING_UP, SETUP, VERIFY, WORK, Founded
from tests.acceptance.requirements import does as does_task
from tests.conftest import VERIFIED, Project, does

OFF = {**VERIFY, "enabled": False}


def following(project: Project, target: str) -> tuple[str, dict[str, Any]]:
    """What `ralph next` says, in words and as JSON."""
    shown = project.ralph("next", target).stdout
    (row,) = json.loads(project.ralph("next", target, "--json").stdout)
    assert row["target"] == target
    return shown.strip(), row


def test_a_halted_request_is_halted_and_a_finished_one_done(project: Project) -> None:
    project.config("! grep -qs bad *.txt", maxRetries=1)
    requests.write_plan(project, requests.task("Model"), requests.task("Server"))
    project.script(requests.builds(1, text="bad\n"), requests.builds(2))
    assert following(project, "request")[1]["next"] == {"id": "task-001", "title": "Model"}
    project.ralph("run", "request", code=3)

    shown, row = following(project, "request")

    first, what, remedy = shown.splitlines()
    assert first == "request: halted: task-001 failed. Run `ralph run request` to retry it"
    assert what.startswith("  request task-001 Model · blocked: The gate")
    assert remedy == '    → ralph retry request task-001, or --note "…", ralph skip request task-001'
    assert (row["state"], row["next"]) == ("halted", None)
    project.script(requests.builds(1), requests.builds(2))
    project.ralph("run")
    shown, row = following(project, "request")
    assert shown == "request: nothing left to do"
    assert (row["state"], row["next"]) == ("done", None)


def test_a_request_that_is_not_planned_says_how_to_continue(project: Project) -> None:
    project.config("true")
    project.script(requests.research(), requests.decisions())
    project.ralph("plan", requests.REQUEST, code=6)

    shown, row = following(project, "request")

    assert shown == "request: not planned yet, phase decisions (ralph plan)"
    assert (row["state"], row["next"]) == ("unplanned", None)


def test_a_session_awaits_its_final_review(project: Project) -> None:
    sessions.plays(project)
    sessions.plan(project, "task-1", mark="x")

    shown, row = following(project, sessions.ID)

    assert shown == "weather: review the whole session (session-review)"
    assert row["state"] == "ready"
    assert row["next"] == {"id": "session-review", "title": "Review the whole session", "kind": "review"}
    project.ralph("run", sessions.ID)
    assert following(project, sessions.ID)[0] == "weather: nothing left to do"


def test_a_session_with_an_open_task_names_that(project: Project) -> None:
    sessions.plays(project)
    sessions.plan(project, "task-1", "task-2 task-1")

    assert following(project, sessions.ID)[0] == "weather: task-1 Do task-1"


def test_requirements_name_the_set_up_until_it_is_done(anywhere: Founded) -> None:
    anywhere.steps(SETUP, WORK, VERIFY, COMMIT)
    anywhere.script({"match": SETTING_UP, "write": {"README.md": "# Shop\n"}}, does_task("T-001", "one.txt"))

    shown, row = following(anywhere, "requirements")

    assert shown == "requirements: set-up: setup (setup)"
    assert row["next"] == {"id": "setup", "title": "Set-up: setup", "kind": "setup"}
    anywhere.ralph("run", "--once")
    shown, row = following(anywhere, "requirements")
    assert shown == "requirements: T-001 One", "the set-up is done, wherever its marker is"
    assert row["next"] == {"id": "T-001", "title": "One"}


def test_requirements_whose_set_up_failed_say_why(founded: Founded) -> None:
    founded.steps(SETUP, WORK, VERIFY, COMMIT)
    founded.script({"match": SETTING_UP, "exit": 7})
    founded.ralph("run", code=3)

    shown, row = following(founded, "requirements")

    first, what, remedy = shown.splitlines()
    assert first.startswith("requirements: cannot continue; setup failed: ")
    assert first.endswith("(ralph retry requirements)")
    assert what.startswith("  requirements · the set-up failed: ")
    assert remedy == "    → ralph retry requirements"
    assert (row["state"], row["next"]) == ("blocked", None)


def test_specs_whose_tasks_are_settled_name_the_commit(project: Project) -> None:
    project.config("true")
    specs.write_plan(project, specs.spec("a", specs.task("a-1")))
    project.script(specs.builds("a-1", "a.txt"))
    project.ralph("run", "specs", "--once")

    shown, row = following(project, "specs")

    assert shown == "specs: the commit of A, whose tasks are all settled"
    assert row["next"] == {"id": "a", "title": "A", "kind": "finish"}
    project.stories("One")
    assert "    specs\n    auth\n" in project.ralph("run", code=1).stderr, "it is not finished before that"
    assert "specs: complete" in project.ralph("run", "specs").stdout
    assert following(project, "specs")[0] == "specs: nothing left to do"


def test_specs_without_a_plan_say_how_to_make_one(project: Project) -> None:
    project.ralph("init", "--specs", "--provider", "scripted")

    assert following(project, "specs")[0] == "specs: nothing is planned yet (ralph plan --from specs/)"


def test_a_feature_names_its_final_verification(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    assert following(project, "auth")[0] == "auth: US-001 One"
    project.ralph("run", "--once")
    project.ralph("run", "--once")

    shown, row = following(project, "auth")

    assert shown == "auth: final verification (final)"
    assert row["next"] == {"id": "final", "title": "Final verification", "kind": "review"}
    project.ralph("run")
    assert following(project, "auth")[0] == "auth: nothing left to do"


def test_a_blocked_story_is_named_and_no_other(project: Project) -> None:
    project.config("! test -f bad.txt", maxRetries=1)
    project.stories(
        {"id": "US-1", "title": "One", "passes": False}, {"id": "US-10", "title": "Ten", "dependsOn": ["US-1"]}
    )
    project.script({"match": "US-1", "write": {"bad.txt": "x"}, "done": True})
    project.ralph("run", "auth", code=3)

    shown, row = following(project, "auth")

    first, what, remedy = shown.splitlines()
    assert first == "auth: cannot continue; blocked: US-1; waiting for them: US-10 (ralph retry auth)"
    assert what == "  auth US-1 One · blocked: The gate `! test -f bad.txt` failed: exit code 1."
    assert remedy == '    → ralph retry auth US-1, or --note "…", ralph skip auth US-1'
    assert row["state"] == "blocked"


def test_a_feature_without_stories_says_how_to_continue(project: Project) -> None:
    project.config("true")
    project.write(".ralph/2026-01-01-auth/prd.md", "# Auth\n")

    assert following(project, "auth")[0] == "auth: PRD drafted, not finalized (ralph plan auth)"


def gates(project: Project, *args: str, code: int = 0) -> list[str]:
    return [gate["name"] for gate in json.loads(project.ralph("verify", *args, "--json", code=code).stdout)["gates"]]


def test_verify_runs_no_gate_where_the_steps_have_none(inside: Founded) -> None:
    inside.config("true", verify={"ui": ["echo ui"]})
    assert gates(inside, "requirements") == ["true", "echo ui"]

    inside.steps(WORK, OFF, COMMIT)

    assert gates(inside, "requirements", code=3) == []
    assert gates(inside, "requirements", "--task", "T-001", code=3) == []
    assert "UNVERIFIED" in inside.ralph("verify", code=3).stdout, "it is what `ralph verify` means here"


def test_verify_uses_the_workflow_of_a_session_and_of_specs(project: Project) -> None:
    sessions.plays(project, "", "true", verify={"ui": ["echo ui"]})
    sessions.plan(project, "task-1")
    specs.write_plan(project, specs.spec("a", specs.task("a-1")))
    project.stories({"title": "One", "tags": ["ui"]}, "Two")

    for target, task in ((sessions.ID, "task-1"), ("specs", "a-1")):
        assert gates(project, target) == ["true", "echo ui"]
        assert gates(project, target, "--task", task) == ["true"], "only stories have the tag `ui`"
    assert gates(project, "auth", "--task", "US-002") == ["true"]
