"""`verify.where: "slot"`: gates run where the agent worked, and every view and every receipt says so."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.acceptance import requests, sessions, specs
from tests.acceptance.requirements import Founded
from tests.acceptance.requirements import does as does_task
from tests.conftest import VERIFIED, Project, does, wait_for

GATE = "test -f cache/made"
MAKES = {"run": ["mkdir -p cache; touch cache/made"]}
IN_PLACE = re.compile(r"in place")


@pytest.fixture
def ready(project: Project) -> Project:
    """Gates that need what only an agent makes, and git ignores."""
    project.write(".gitignore", "cache/\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Rules")
    project.config(GATE, verify={"where": "slot"})
    return project


def stories(project: Project, *names: str, jobs: int = 1) -> str:
    project.stories(*names)
    turns = [does(f"US-00{n}", f"{n}.txt", **MAKES) for n in range(1, len(names) + 1)]
    project.script(*turns, VERIFIED)
    return project.ralph("run", "auth", "--jobs", str(jobs)).stdout


def test_a_feature_whose_gates_ran_in_place_says_so_in_every_view(ready: Project) -> None:
    told = stories(ready, "One")

    assert f"✓ {GATE} · in place" in told
    assert "US-001 passed, regression-only, in place · " in told
    assert "auth: complete · all gates green, in place · final verification agreed" in told
    assert "gates ran in place" in ready.ralph("status").stdout
    shown = ready.ralph("status", "auth").stdout
    assert "gates ran in place" in shown and re.search(r"US-001 .*\(regression-only, in place\)", shown)
    one = ready.ralph("status", "auth", "--task", "US-001").stdout
    assert "passed, regression-only, in place" in one and f"✓ {GATE} · in place" in one
    state = json.loads(ready.ralph("status", "auth", "--json").stdout)[0]
    assert state["inPlace"] and state["tasks"][0]["inPlace"]
    assert re.search(r"US-001/1 +passed .*, in place", ready.ralph("attempts", "auth").stdout)
    assert json.loads(ready.ralph("attempts", "auth", "--json").stdout)[0]["inPlace"]
    logs = ready.ralph("logs", "--events").stdout
    assert re.search(r"gate_ended .*in place", logs) and re.search(r"attempt_ended .*in place", logs)
    assert "done, in place" in ready.ralph("logs", "--list").stdout


def test_a_feature_whose_gates_ran_in_place_says_so_in_every_receipt(ready: Project) -> None:
    stories(ready, "One")

    message = ready.git("log", "-1", "--format=%B", "--grep=Ralph-Attempt", "ralph/auth")
    assert f"Gate `{GATE}`: passed, in place" in message
    assert ready.git("log", "-1", "--format=%(trailers:key=Ralph-Verified,valueonly)", "ralph/auth^") == "in place"
    assert ready.story()["lastResult"]["verify"][0]["inPlace"] is True
    assert all(event["result"]["in_place"] for event in ready.events("gate_ended"))
    assert [event["in_place"] for event in ready.events() if event["event"] in ("run_started", "run_ended")] == [
        True,
        True,
    ]


def test_what_was_verified_on_a_clean_checkout_says_nothing_of_it(project: Project) -> None:
    project.config("true")
    told = stories(project, "One")

    views = ("status",), ("status", "auth", "--task", "US-001"), ("attempts", "auth"), ("logs",), ("logs", "--list")
    assert not any(IN_PLACE.search(text) for text in (told, *(project.ralph(*view).stdout for view in views)))
    assert "Ralph-Verified" not in project.git("log", "--format=%B", "ralph/auth")
    assert "inPlace" not in json.dumps(project.plan())


def test_what_meets_on_the_branch_is_verified_in_place_too(ready: Project) -> None:
    """A clean checkout would never be green: not before the first task, and not where two tasks land."""
    told = stories(ready, "One", "Two", jobs=2)

    assert "2 of 2 passed" in told
    labels = [event["result"]["log"] for event in ready.events("gate_ended")]
    assert any("baseline" in label for label in labels) and any("landing" in label for label in labels)
    assert all(event["result"]["in_place"] for event in ready.events("gate_ended"))
    assert not ready.exists(".ralph/worktrees/.verify"), "nothing was checked out for gates"


def test_after_a_kill_what_passed_in_place_is_proved_in_place(ready: Project) -> None:
    ready.stories("One", "Two")
    half = {"match": "ID:.. US-002", "times": 1, "write": {"half.txt": "x"}, "run": ["touch $HOME/../begun"]}
    ready.script(does("US-001", "1.txt", **MAKES), {**half, "sleep": 60}, does("US-002", "2.txt", **MAKES), VERIFIED)
    run = ready.start("run", "auth")
    wait_for((ready.folder / "begun").exists)
    run.kill()
    run.communicate()
    assert ready.story()["passes"] is True and not ready.events("run_ended")

    told = ready.ralph("run", "auth", "--no-baseline").stdout

    assert "Ralph runs the gates again for the tasks that passed in it: US-001" in told
    proof = [event["result"] for event in ready.events("gate_ended") if "proof" in event["result"]["log"]]
    assert [result["in_place"] for result in proof] == [True]
    assert "half.txt" in ready.files_in("ralph/auth"), "the killed agent's work was not lost by that"


def test_ui_gates_run_in_place_and_can_fail(ready: Project) -> None:
    ready.config(
        "true", verify={"where": "slot", "ui": ["test -f cache/seen"]}, maxRetries=1, browser={"enabled": False}
    )
    ready.stories({"title": "One", "tags": ["ui"]})
    ready.script(does("US-001", "1.txt", **MAKES), VERIFIED)

    ready.ralph("run", "auth", code=3)

    assert ready.story()["passes"] is False
    assert [event["result"]["passed"] for event in ready.events("gate_ended")][-2:] == [True, False]


def test_gates_in_place_see_nothing_of_ralphs(ready: Project) -> None:
    ready.config("! env | grep -q ^RALPH_", verify={"where": "slot"})

    assert "complete" in stories(ready, "One")


def test_the_requirements_reports_say_in_place(founded: Founded) -> None:
    founded.config("true", verify={"where": "slot"})
    founded.script(does_task("T-001", "one.txt"), does_task("T-002", "two.txt"))

    founded.ralph("run")

    for name in ("run_state.json", "aggregate.json"):
        assert json.loads(founded.read(f".ralph/{name}"))["in_place"] is True, name
    assert founded.task()["result"]["verify"][0]["in_place"] is True
    assert "(regression-only, in place)" in founded.ralph("status", "requirements").stdout


def test_a_specs_progress_says_in_place(ready: Project) -> None:
    specs.write_plan(ready, specs.spec("avatar", specs.task("avatar-1")))
    ready.script(specs.builds("avatar-1", "1.txt", **MAKES))

    ready.ralph("start", "build")

    assert f"- Gates: ✓ {GATE} (in place)" in specs.progress(ready)
    assert re.search(r"- \[x\] `avatar-1` .*\(regression-only, in place, 1 attempt", specs.progress(ready))
    entry: dict[str, Any] = specs.plan(ready)["specs"][0]
    assert entry["result"]["gates"][0]["inPlace"] and entry["tasks"][0]["result"]["gates"][0]["inPlace"]
    state = json.loads(ready.ralph("status", "specs", "--json").stdout)[0]
    assert state["specs"][0]["inPlace"] and state["tasks"][0]["inPlace"]


def test_a_requests_results_and_logs_say_in_place(ready: Project) -> None:
    requests.write_plan(ready, requests.task("Model"))
    ready.script(requests.builds(1, **MAKES))

    ready.ralph("start")

    assert requests.load(ready, "results/task-001.json")["gates"][0]["in_place"] is True
    log = ready.read(".ralph/logs/execution.log")
    assert f"gate {GATE}: green, in place" in log and "task-001 attempt 1 passed, in place" in log
    assert re.search(r"task-001 .*\(regression-only, in place\)", ready.ralph("plan", "--show").stdout)
    assert json.loads(ready.ralph("plan", "--show", "--json").stdout)["tasks"][0]["in_place"] is True


def test_a_session_says_in_place(project: Project) -> None:
    sessions.plays(project, verify={"where": "slot"})
    sessions.plan(project, "task-1")

    done = sessions.session(project, "--resume", sessions.ID)

    assert "in place" in done.stdout
    assert re.search(r"task-1 .*\(in place\)", project.ralph("session", "show", sessions.ID).stdout)
