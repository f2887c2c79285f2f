"""`ralph run --dry-run` shows what a run would do, and does none of it; `ralph config` shows what is in force."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance import requests, sessions, specs
from tests.conftest import VERIFIED, Project, does


def everything(project: Project) -> dict[str, tuple[int, int]]:
    """Every file and folder of the project and the person's home, with its size and time."""
    found = {}
    for top in (project.path, project.home):
        for path in top.rglob("*"):
            status = path.lstat()
            found[str(path)] = (status.st_size, status.st_mtime_ns)
    return found


@pytest.fixture
def planned(project: Project) -> Project:
    project.config("true", "test -f app.txt", review={})
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), does("US-003", "three.txt"), VERIFIED)
    stories: list[dict[str, Any]] = [
        {"title": "One", "dependsOn": []},
        {"title": "Two", "dependsOn": []},
        {"title": "Three", "dependsOn": ["US-001"]},
    ]
    project.stories(*stories)
    return project


def test_it_shows_order_waves_prompts_gates_and_agents_and_touches_nothing(planned: Project) -> None:
    del planned.env["RALPH_TRUST"]  # it starts nothing, so it needs no approval
    planned.ralph("run", "auth", "--dry-run")
    before = everything(planned)

    said = planned.ralph("run", "auth", "--dry-run").stdout

    assert everything(planned) == before and planned.prompts() == []
    assert "Nothing is called or changed." in said
    assert "  1. US-001 One · wave 1 · agent, " in said and "  3. US-003 Three · wave 2" in said
    assert "4. final Final verification" in said
    assert "  true\n" in said and "  test -f app.txt\n" in said
    assert "reviewer: ralph" in said and "executor: ralph" in said and "verifier: ralph" in said
    assert "Prompt run: " in said and said.count("Prompt ") == 2
    assert "No estimate: too few tasks have passed in this project." in said


def test_with_prompts_it_prints_what_the_agents_would_read(planned: Project) -> None:
    planned.write(".ralph/prompts/run.md", "Do {{ storyId }}: {{ storyTitle }}.\n")

    said = planned.ralph("run", "--dry-run", "--prompts").stdout

    assert "Do US-001: One." in said and "Do US-003: Three." in said
    assert "Prompt run: .ralph/prompts/run.md" in said
    assert "--prompts needs --dry-run" in planned.ralph("run", "--prompts", code=1).stderr


def test_what_has_passed_is_the_basis_of_the_estimate(planned: Project) -> None:
    planned.config("true")
    planned.ralph("run", "auth")
    plan = planned.plan()
    planned.stories(*[{"title": f"More {number}", "dependsOn": []} for number in range(4)], feature="more")
    assert plan["userStories"][0]["passes"]

    seen = json.loads(planned.ralph("run", "more", "--dry-run", "--json", "--jobs", "2").stdout)

    assert seen["ready"] and seen["problem"] is None
    assert seen["waves"] == [["US-001", "US-002", "US-003", "US-004"]]
    assert [one["id"] for one in seen["order"]] == ["US-001", "US-002", "US-003", "US-004", "final"]
    assert (seen["estimate"]["basis"], seen["estimate"]["tasks"]) == (3, 4)
    assert seen["estimate"]["usd"] is None and seen["estimate"]["seconds"] > 0
    said = planned.ralph("run", "more", "--dry-run").stdout
    assert "Estimate for 4 tasks: about " in said and "from 3 tasks that passed in this project" in said
    assert planned.ralph("run", "auth", "--dry-run").stdout.endswith("Nothing is left to do.\n")


def test_what_keeps_a_run_from_starting_is_said_after_the_rest(planned: Project) -> None:
    planned.config("true", provider={"command": "no-such-agent"})

    done = planned.ralph("run", "auth", "--dry-run", code=1)

    assert "1. US-001 One" in done.stdout
    assert "no-such-agent" in done.stderr
    planned.ralph("run", "auth", "--dry-run", "--on-failure", "stop", code=1)


def test_every_workflow_has_a_preview(project: Project) -> None:
    project.config("true")
    project.script(*requests.usual())
    project.ralph("plan", requests.REQUEST, "--yes")
    calls = len(project.prompts())
    assert "1. task-001" in project.ralph("run", "request", "--dry-run", "--prompts").stdout
    assert len(project.prompts()) == calls
    sessions.plays(project)
    project.ralph("plan", sessions.ID, sessions.REQUEST, "--style", "roles")
    done = project.ralph("run", sessions.ID, "--dry-run").stdout
    assert "  1. plan-init Initialize the session · planner\n" in done
    assert sessions.calls(project) == []


def test_a_spec_ends_with_its_commit(project: Project) -> None:
    project.config("true")
    specs.write_plan(project, specs.spec("a", specs.task("a-1"), specs.task("a-2")))
    said = project.ralph("run", "specs", "--dry-run", "--prompts").stdout
    assert [line.split()[1] for line in said.splitlines() if line.startswith("  ") and ". " in line[:6]][:3] == [
        "a-1",
        "a-2",
        "a",
    ]


def test_config_shows_each_value_and_where_it_comes_from(project: Project) -> None:
    project.config("true", verify={"default": ["true"], "timeout": 30}, review={}, sandbox="auto")
    del project.env["RALPH_SANDBOX"]

    said = project.ralph("config").stdout
    rows = json.loads(project.ralph("config", "--json").stdout)

    assert "verify.timeout          30.0  (ralph.config.json)" in said
    assert rows["verify.rerun"] == {"value": 1, "from": "default"}
    assert rows["review.enabled"] == {"value": True, "from": "ralph.config.json"}
    assert rows["review.rounds"] == {"value": 2, "from": "default"}
    assert rows["sandbox.use"] == {"value": "auto", "from": "ralph.config.json"}
    assert rows["sandbox.network"]["from"] == "default"
    forced = project.ralph("config", "sandbox.use", "--json", env={"RALPH_SANDBOX": "none"}).stdout
    assert json.loads(forced)["sandbox.use"] == {"value": "none", "from": "the variable RALPH_SANDBOX"}


def test_config_shows_one_setting_or_section_and_its_meaning(project: Project) -> None:
    project.config("true", providers={"fast.one": {"command": "amp", "env": ["X"]}})

    assert "Time limit of each command, in seconds." in project.ralph("config", "verify.timeout").stdout
    section = project.ralph("config", "commits").stdout
    assert section.count("commits.") == 5
    assert '"amp"  (ralph.config.json)' in project.ralph("config", "providers").stdout
    refused = project.ralph("config", "verify.timeuot", code=1).stderr
    assert "did you mean 'verify.timeout'?" in refused
    project.write("ralph.config.json", "{")
    assert "not valid JSON" in project.ralph("config", code=1).stderr
