"""A person steers a run with the installed command: in each workflow, in a terminal of its own, and across a kill."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import requests, sessions, specs
from tests.acceptance.requirements import COMMIT, VERIFY, WORK, Founded
from tests.conftest import VERIFIED, Project, does, kill_with_warden, wait_for
from tests.instants import resumed, states

INSIDE = "Only a person can do this, but a run called it."
Start = Callable[..., Any]


def waits(project: Project) -> str:
    """A command of an agent that goes on when `go` is there."""
    folder = project.folder
    return f"touch {folder}/here; for i in $(seq 600); do test -e {folder}/go && break; sleep 0.05; done"


def here(project: Project) -> None:
    wait_for((project.folder / "here").exists, what="the agent is at work")


def go(project: Project) -> None:
    (project.folder / "go").touch()


def ends(run: subprocess.Popen[str], code: int = 0) -> str:
    out, _ = run.communicate(timeout=60)
    assert run.returncode == code, out
    return str(out)


@pytest.fixture
def two(project: Project) -> Project:
    """Two stories; the agent of the first one waits."""
    project.config("true", maxRetries=2)
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt", run=[waits(project)]), does("US-002", "two.txt"), VERIFIED)
    return project


def test_a_run_is_paused_told_something_and_goes_on(two: Project) -> None:
    run = two.start("run", "auth")
    here(two)

    assert "nothing starts after US-001" in two.ralph("pause").stdout
    said = two.ralph("note", "auth", "US-002", "use <, not <=").stdout
    assert said.strip().endswith("The run that is under way goes on with it.")
    assert "is paused for" in two.ralph("status").stdout
    status = json.loads(two.ralph("status", "auth", "--json").stdout)[0]
    assert (status["paused"]["now"], status["needs"][0]["kind"]) == (False, "paused")
    assert status["needs"][0]["answers"] == ["ralph resume auth", "ralph stop auth"]
    go(two)
    wait_for(lambda: two.events("attempt_ended"))
    assert two.story("US-002")["attempts"] == 0
    answer = json.loads(two.ralph("resume", "auth", "--json").stdout)
    assert answer == {
        "target": "auth",
        "said": "The run goes on.",
        "byRun": True,
        "pending": False,
        "run": None,
        "approved": [],
    }
    shown = ends(run)

    assert "» pause · Paused" in shown
    assert "» note US-002 “use <, not <=”" in shown
    assert [event["command"] for event in two.events("steered")] == ["pause", "note", "resume"]
    assert "use <, not <=" in two.prompts()[1]
    assert two.story("US-002")["passes"]
    assert json.loads(two.ralph("status", "auth", "--json").stdout)[0]["paused"] is None


def test_a_task_is_left_out_and_its_agent_ends(two: Project) -> None:
    run = two.start("run", "auth")
    here(two)
    assert "US-001 is left out" in two.ralph("skip", "auth", "US-001").stdout
    shown = ends(run, 3)
    assert "A person ended this attempt (skip)" in shown
    assert (two.story()["leftOut"], two.story()["retries"], two.story("US-002")["passes"]) == (True, 0, True)
    assert "US-001" not in two.ralph("status").stdout.partition("auth  ")[0], "it needs nobody"


@pytest.mark.parametrize("now", [False, True])
def test_a_run_is_stopped_and_continued(two: Project, now: bool) -> None:
    run = two.start("run", "auth")
    here(two)
    assert "run" in two.ralph("stop", *(["--now"] if now else [])).stdout
    go(two)
    assert "run the same command again to resume" in ends(run, 130)
    assert two.story()["passes"] != now
    two.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    two.ralph("run", "auth")
    assert two.story()["passes"]
    assert two.story()["retries"] == 0


def test_a_blocked_task_is_retried_with_a_note_during_the_run(project: Project) -> None:
    project.config("! test -f bad.txt", maxRetries=1)
    project.stories("One", "Two")
    project.script(
        does("US-001", "one.txt", run=[waits(project)]),
        {"match": "the key is in .env", "run": ["rm bad.txt"], "write": {"two.txt": "x"}, "done": True},
        does("US-002", "bad.txt"),
        VERIFIED,
    )
    run = project.start("run", "auth", "--jobs", "2")
    here(project)
    wait_for(lambda: project.events("task_blocked"))
    found = json.loads(project.ralph("next", "auth", "--json").stdout)[0]["needs"]
    assert [(item["id"], item["kind"]) for item in found] == [("US-002", "out-of-attempts")]
    project.ralph("retry", "auth", "US-002", "--note", "the key is in .env")
    wait_for(lambda: project.story("US-002")["passes"])
    go(project)
    ends(run)


def test_what_a_task_asks_for_is_edited_during_the_run_and_before_it(two: Project) -> None:
    edit = two.folder / "edit"
    edit.write_text('#!/bin/sh\nsed -i \'s/"title": ".*"/"title": "Uno"/\' "$1"\n')
    edit.chmod(0o755)
    env = {"EDITOR": str(edit)}
    assert "asks for something else" in two.ralph("edit", "auth", "US-002", env=env).stdout
    run = two.start("run", "auth")
    here(two)
    assert "Nothing changed." in two.ralph("edit", "auth", "US-002", env=env).stdout
    assert "--now would end it" in two.ralph("edit", "auth", "US-001", env=env).stdout
    edit.write_text('#!/bin/sh\necho \'{"title": "", "criteria": [1], "more": 2}\' > "$1"\n')
    refused = two.ralph("edit", "auth", "US-002", env=env, code=1).stderr
    assert [word in refused for word in ("title: it is empty", "criteria: expected", "more: there is no")] == [True] * 3
    text = json.dumps({"title": "Dos", "description": "", "criteria": []})
    edit.write_text(f'#!/bin/sh\ngrep -q more "$1" && echo \'{text}\' > "$1"\n')
    assert "Continuing your last edit" in two.ralph("edit", "auth", "US-002", env=env).stderr
    go(two)
    ends(run)
    assert (two.story()["title"], two.story("US-002")["title"]) == ("Uno", "Dos")


def test_held_work_waits_until_it_is_approved_and_lands_without_an_agent(project: Project) -> None:
    project.config("true", land="review")
    project.stories("One", {"title": "Two", "dependsOn": ["US-001"]})
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    shown = project.ralph("run", "auth", code=3).stdout
    assert "US-001 is held" in shown
    assert "→ ralph approve auth US-001, or ralph decide auth US-001 --note" in shown.replace("\n", " ")
    assert "one.txt" not in project.files_in("ralph/auth")
    assert project.calls() == 1

    assert "US-001 is approved" in project.ralph("approve", "auth", "US-001", "--yes").stdout
    project.ralph("run", "auth", code=3)
    assert project.landed("one.txt") == "x"
    assert project.calls() == 2, "only US-002 has called its agent"
    project.ralph("approve", "auth", "US-002", "--yes")
    project.ralph("run", "auth")
    assert project.story("US-002")["passes"]


def test_without_a_run_only_what_changes_the_plan_works(two: Project) -> None:
    assert "No run is under way here." in two.ralph("pause", code=1).stderr
    assert "No run of auth is under way" in two.ralph("resume", "auth", code=1).stderr
    assert "has no task 'US-009'" in two.ralph("skip", "auth", "US-009", code=1).stderr
    assert "Run `ralph run auth`" in two.ralph("note", "auth", "US-001", "gently").stdout
    assert "left out" in two.ralph("skip", "auth", "US-002").stdout
    assert "is left out already" in two.ralph("skip", "auth", "US-002", code=1).stderr
    assert two.story()["decisions"] == ["gently"]


def test_no_agent_can_steer(two: Project) -> None:
    commands = ("pause", "stop --now", "skip auth US-001", "note auth US-001 x", "retry auth US-001", "resume")
    naked = 'env -i PATH="$PATH" HOME="$HOME"'
    tries = "; ".join(f"{how} ralph {command}" for command in commands for how in ("", naked))
    two.write("sly.sh", f"{{ {tries}; }} > {two.folder}/said 2>&1; echo over >> {two.folder}/said\n")
    wait = f"until grep -q over {two.folder}/said; do sleep 0.05; done"
    sly = f'(cd "$RALPH_ROOT" && {naked} setsid sh {two.path}/sly.sh &); {wait}'
    two.script(does("US-001", "one.txt", run=[sly]), does("US-002", "two.txt"), VERIFIED)
    two.ralph("run", "auth")
    assert (two.folder / "said").read_text().count(INSIDE) == 2 * len(commands)
    assert two.events("steered") == []


def test_a_plan_file_that_a_person_edits_in_the_plans_worktree_is_theirs(two: Project) -> None:
    run = two.start("run", "auth")
    here(two)
    two.ralph("pause")
    go(two)
    wait_for(lambda: two.events("attempt_ended"))
    (path,) = two.path.glob(".ralph/worktrees/auth/.ralph/*/prd.json")
    path.write_text(path.read_text().replace('"Two"', '"Zwei"'))
    wait_for(lambda: [event for event in two.events("steered") if event["command"] == "edit"])
    two.ralph("resume")
    ends(run)
    assert two.story("US-002")["title"] == "Zwei"
    assert two.events("undone") == []


# The other workflows


def test_a_request_is_steered(project: Project) -> None:
    project.config("true")
    requests.write_plan(project, requests.task("Model"), requests.task("Server"))
    project.script(requests.builds(1, run=[waits(project)]), requests.builds(2))
    run = project.start("run", "request")
    here(project)
    project.ralph("note", "request", "task-002", "gently")
    project.ralph("skip", "request", "task-001")
    ends(run, 3)
    assert "gently" in project.prompts()[-1]
    assert json.loads(project.ralph("status", "request", "--json").stdout)[0]["tasks"][0]["state"] == "left out"
    project.ralph("retry", "request", "task-001", "--note", "again")
    project.script(requests.builds(1))
    project.ralph("run", "request")
    assert "again" in project.prompts()[-1]


def test_specs_are_steered(project: Project) -> None:
    project.config("true")
    specs.write_plan(project, specs.spec("a", specs.task("a-1"), specs.task("a-2")))
    project.script(specs.builds("a-1", "1.txt", run=[waits(project)]), specs.builds("a-2", "2.txt"))
    run = project.start("run", "specs")
    here(project)
    project.ralph("note", "specs", "a-2", "gently")
    project.ralph("skip", "specs", "a-1")
    ends(run, 3)
    assert "gently" in project.prompts()[-1]
    assert specs.statuses(project) == {"a": "blocked", "a-1": "blocked", "a-2": "completed"}


def test_requirements_are_steered(founded: Founded) -> None:
    founded.steps(WORK, VERIFY, COMMIT)
    names = [task["id"] for task in json.loads(founded.kept(".ralph/prd.json"))["tasks"]]
    founded.script({"run": [waits(founded)], "write": {"a.txt": "x"}, "done": True})
    run = founded.start("run", "requirements")
    here(founded)
    for name in names[1:]:
        founded.ralph("skip", "requirements", name)
    founded.ralph("note", "requirements", names[0], "gently", "--now")
    go(founded)
    ends(run, 3 if names[1:] else 0)
    assert "gently" in founded.prompts()[-1]


def test_a_session_is_paused_and_stopped_and_its_tasks_are_its_roles(project: Project) -> None:
    sessions.plays(project, "'execute task-1 1') touch $AT/here; until test -e $AT/go; do sleep 0.05; done; usual ;;")
    run = project.start("session", sessions.REQUEST, "--id", sessions.ID)
    here(project)
    assert "Only the session's roles" in project.ralph("skip", sessions.ID, "task-1", code=1).stderr
    assert "Paused" in project.ralph("pause").stdout
    go(project)
    wait_for(lambda: "is paused for" in project.ralph("status").stdout)
    assert "The run ends" in project.ralph("stop").stdout
    ends(run, 130)
    project.ralph("run", sessions.ID)
    project.config("true", land="review")
    assert "land" in project.ralph("session", "More", code=1).stderr


def test_a_person_accepts_a_task_of_a_session_while_its_executor_works(project: Project) -> None:
    sessions.plays(project, "'execute task-1 1') touch $AT/here; until test -e $AT/go; do sleep 0.05; done; usual ;;")
    run = project.start("session", sessions.REQUEST, "--id", sessions.ID)
    here(project)
    assert "accepted" in project.ralph("accept", sessions.ID, "task-1", "--why", "it is there", "--yes").stdout
    shown = ends(run)
    assert "A person ended this attempt (accept)" in shown
    assert project.events("undone") == []
    status = json.loads(project.ralph("status", sessions.ID, "--json").stdout)[0]
    assert [task["state"] for task in status["tasks"]] == ["accepted", "passed"]


# Kills

POST = """
import sys
from pathlib import Path
from ralph.plan.instruction import Command, Instruction
from ralph.stores import instructions
from ralph.workspace import Workspace

for number, command, task in ((1, Command.NOTE, "US-001"), (2, Command.RETRY, "US-002"), (3, Command.PAUSE, "")):
    tasks = (task,) if task else ()
    more = {"tasks": tasks, "text": f"words {number}"}
    about = Instruction(id=f"{number}-x", command=command, target="auth", run="old", **more)
    instructions.post(Workspace(root=Path.cwd()), about)
"""


def left(project: Project) -> list[Path]:
    return list((project.folder / "home").glob(".local/share/ralph/instructions/*/auth/*.asked"))


@pytest.mark.long
def test_what_was_asked_happens_once_wherever_the_run_is_killed(project: Project) -> None:
    """`kill -9` between the file and its acknowledgement, between the acknowledgement and its end, and everywhere."""
    project.config("true", maxRetries=2)
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    done = subprocess.run([sys.executable, "-c", POST], cwd=project.path, env=project.env, check=False)
    assert done.returncode == 0
    assert len(left(project)) == 3

    count = 0
    for _ in states(project, "run", "auth", least=30):
        if resumed(project, "run", "auth", may_repeat=("US-001", "US-002")) is None:
            continue
        count += 1
        assert project.story()["decisions"] == ["words 1"]
        assert project.story("US-002")["decisions"] == ["words 2"]
        assert project.story("US-002")["passes"]
        assert left(project) == []
    assert count


def test_what_a_killed_run_was_asked_is_done_by_the_next_command_once(two: Project) -> None:
    run = two.start("run", "auth")
    here(two)
    kill_with_warden(run)
    subprocess.run([sys.executable, "-c", POST], cwd=two.path, env=two.env, check=True)
    two.ralph("note", "auth", "US-001", "more")
    assert two.story()["decisions"] == ["words 1", "more"]
    assert two.story("US-002")["decisions"] == ["words 2"]
    assert left(two) == []
    go(two)
    two.ralph("run", "auth")
    assert two.story()["decisions"] == ["words 1", "more"]
