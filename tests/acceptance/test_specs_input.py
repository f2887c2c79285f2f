"""Bad input to the specs workflow: each its own clear message and exit code, nothing lost or changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.specs import Json, builds, plan, progress, spec, statuses, subjects, task, tasks, write_plan
from tests.conftest import Project

ONE = spec("avatar", task("avatar-1"))


def written(*specs: Json, **more: Any) -> str:
    return json.dumps({"version": 1, "specs": list(specs), **more})


BAD_PLANS = {
    "empty": (written(), "Nothing is planned yet: implementation.json has no specs."),
    "a spec without tasks": (written(spec("avatar")), "specs[0].tasks: 'avatar' has no tasks; run"),
    "two specs with one id": (
        written(ONE, {**spec("avatar", task("b")), "file": "specs/b.md"}),
        "specs[1].id: 'avatar' is already specs[0]",
    ),
    "two tasks with one id": (written(spec("avatar", task("a"), task("a"))), "specs[0].tasks[1].id: 'a' is already"),
    "a task with a spec's id": (written(spec("avatar", task("avatar"))), "'avatar' is the id of a spec"),
    "an unknown status": (
        written(spec("avatar", task("avatar-1", status="done"))),
        "specs[0].tasks[0].status: expected 'pending', 'in_progress', 'completed' or 'blocked', found text 'done'",
    ),
    "a newer version": (
        written(ONE, version=2),
        "implementation.json has version 2, but this Ralph supports only version 1.",
    ),
    "no version": (json.dumps({"specs": [ONE]}), "version: missing, and required"),
    "a spec outside of the project": (
        written({**ONE, "file": "../secret.md"}),
        "specs[0].file: '../secret.md' is not inside the project",
    ),
    "a spec file that is gone": (
        written(ONE, {**spec("login", task("login-1")), "file": "specs/gone.md"}),
        "implementation.json refers to spec files that do not exist:",
    ),
    "not JSON": ("{'version': 1}", "not valid JSON: "),
    "not an object": ("[1]", "expected an object at the top, found a list of 1"),
}


@pytest.mark.parametrize("what", BAD_PLANS)
def test_a_plan_that_cannot_be_built_is_explained_and_left_as_it_is(project: Project, what: str) -> None:
    text, message = BAD_PLANS[what]
    project.config("true")
    project.script({"exit": 1})
    write_plan(project, ONE)
    project.write("implementation.json", text)

    said = project.ralph("start", "build", code=1).stderr

    assert message in said
    assert said.startswith("ralph: ") and "\n→ " in said, "and what to do"
    assert project.calls() == 0
    assert project.read("implementation.json") == text
    assert [line for line in project.status() if line != "?? .ralph/"] == ["M implementation.json"]
    if what in ("an unknown status", "a newer version", "not JSON"):
        assert message in project.ralph("validate", "specs", code=1).stdout


def test_a_spec_whose_file_is_gone_names_it_until_it_is_planned_anew(project: Project) -> None:
    project.config("true")
    write_plan(project, ONE, spec("login", task("login-1"), priority=2))
    project.git("rm", "-q", "specs/login.md")
    project.git("commit", "-qm", "No login")

    assert "specs/login.md" in project.ralph("start", "build", code=1).stderr
    for command in ("doctor", "validate"):
        assert "specs/login.md is in the plan but does not exist" in project.ralph(command, code=1).stdout

    project.script({"match": "# From Specs to Tasks", "answer": json.loads(written(ONE))}, builds("avatar-1", "1.txt"))
    project.ralph("start", "plan")
    project.ralph("start", "build")
    assert statuses(project) == {"avatar": "completed", "avatar-1": "completed"}


def test_without_a_plan_every_command_says_how_to_get_one(project: Project) -> None:
    project.config("true")
    how = "→ Write specs/NAME.md, then run `ralph plan --from specs/`."

    for command in (["start", "build"], ["status", "specs"], ["retry", "specs"], ["attempts", "specs"]):
        said = project.ralph(*command, code=1).stderr
        assert "There is no plan from specs: implementation.json does not exist." in said, command
        assert how in said, command


BAD_CONFIGS = {
    "two gates of one name": (
        {"gates": [{"name": "test", "command": "true"}, {"name": "test", "command": "false"}]},
        "gates[1].name: 'test' is used twice",
    ),
    "a gate without a command": ({"gates": [{"name": "test"}]}, "gates[0].command: missing, and required"),
    "a key that is almost right": (
        {"gates": [{"name": "a", "command": "b", "require": False}]},
        "gates[0].require: unknown key; did you mean 'required'?",
    ),
    "a time limit of nothing": (
        {"gates": [{"name": "a", "command": "b", "timeout": 0}]},
        "gates[0].timeout: expected greater than 0",
    ),
    "neither gates nor verify": ({}, "verify: missing, and required (or gates instead)"),
}


@pytest.mark.parametrize("what", BAD_CONFIGS)
def test_gates_that_cannot_be_meant_so_are_refused(project: Project, what: str) -> None:
    more, message = BAD_CONFIGS[what]
    write_plan(project, ONE)
    project.write("ralph.config.json", json.dumps({"provider": {"command": "true"}, **more}))

    said = project.ralph("start", "build", code=1).stderr

    assert message in said
    assert "→ `ralph schema config` describes every key." in said


def test_with_optional_gates_only_everything_says_unverified(project: Project) -> None:
    project.config(gates=[{"name": "lint", "command": "echo ugly; false", "required": False}])
    write_plan(project, ONE)
    project.script(builds("avatar-1", "1.txt"))

    done = project.ralph("start", "build", code=3)

    assert "! No gate is required: nothing will be verified." in done.stdout
    assert "specs: all passed, UNVERIFIED · no gate is required, so nothing was verified" in done.stdout
    assert "all gates green" not in done.stdout
    assert "✗ lint (optional) (none required: UNVERIFIED)" in progress(project)
    assert "UNVERIFIED: no required gates" in project.ralph("status").stdout
    assert json.loads(project.ralph("status", "specs", "--json").stdout)[0]["verified"] is False
    assert "no gate is required: nothing will be verified" in project.ralph("doctor").stdout
    checked = project.ralph("verify", "specs", code=3).stdout
    assert "All gates are green." not in checked
    assert "nothing was verified" in checked


def test_gates_beside_verify_default_are_run_in_its_place_and_that_is_said(project: Project) -> None:
    project.config("false", gates=[{"name": "real", "command": "test -f 1.txt"}])
    write_plan(project, ONE)
    project.script(builds("avatar-1", "1.txt"))

    done = project.ralph("start", "build")

    assert "! `gates` is set, so Ralph does not run verify.default: `false`." in done.stdout
    assert [gate["name"] for gate in tasks(project)["avatar-1"]["result"]["gates"]] == ["real"]
    assert "`gates` is set, so verify.default is not run: false" in project.ralph("doctor").stdout


def test_gates_alone_are_enough(project: Project) -> None:
    project.config()
    config = json.loads(project.read("ralph.config.json"))
    config["gates"] = [{"name": "real", "command": "test -f 1.txt"}]
    del config["verify"]
    project.write("ralph.config.json", json.dumps(config))
    write_plan(project, ONE)
    project.script(builds("avatar-1", "1.txt"))

    assert "✓ ralph.config.json" in project.ralph("validate").stdout
    assert "specs: complete · all gates green" in project.ralph("start", "build").stdout
    assert "real: `test -f 1.txt`" in project.prompts()[0]


def test_a_blocked_marker_may_have_no_reason_or_any_quotes_and_the_next_task_comes(project: Project) -> None:
    said = {
        "a-1": ("<TASK_BLOCKED>", "it gave no reason."),
        "a-2": ('<TASK_BLOCKED reason="">', "it gave no reason."),
        "a-3": ('<TASK_BLOCKED reason="the "S3" key, and it\'s > 5 & <old>">', 'the "S3" key, and it\'s > 5 & <old>'),
        "a-4": ("<TASK_BLOCKED reason='no &quot;key&quot;' />", 'no "key"'),
        "a-5": ("<TASK_BLOCKED reason=plain words>", "plain words"),
    }
    project.config("true")
    write_plan(project, spec("a", *map(task, said), task("a-6")))
    turns = [{"match": rf"# Task: Do {name}\n", "then": [words]} for name, (words, _) in said.items()]
    project.script(*turns, builds("a-6", "6.txt"))

    done = project.ralph("start", "build", code=3)

    assert project.calls() == 6
    assert {name: one["notes"] for name, one in tasks(project).items() if one["status"] == "blocked"} == {
        name: f"The agent says that it cannot be done: {reason}" for name, (_, reason) in said.items()
    }
    assert 'a-3 cannot continue: The agent says that it cannot be done: the "S3" key' in done.stdout
    assert subjects(project)[0] == "feat: A (partial)"
    assert plan(project)["specs"][0]["notes"] == "blocked: a-1, a-2, a-3, a-4, a-5"


def test_init_for_specs_names_the_agent_that_is_configured(project: Project) -> None:
    project.config("true", provider={"command": "my-agent", "args": []})
    done = project.ralph("init", "--specs")
    assert "my-agent is not installed." in done.stdout and "claude" not in done.stdout
