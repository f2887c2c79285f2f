"""Races of real processes: the loser's process tree ends, its work is kept, and a kill of Ralph loses nothing."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.acceptance import requirements, specs
from tests.conftest import Project, processes_in, wait_for

AGENT = r"""
prompt=$(cat)
case "$prompt" in *"Final Verification"*) echo '<ralph>VERIFIED</ralph>'; exit ;; esac
echo "$1" > "$1.txt"
setsid sh -c "touch $2/$1.began; exec sleep 300" &
while ! test -e "$2/$1.go"; do sleep 0.02; done
echo '<ralph>DONE</ralph>'
"""


def racers(project: Project, gate: str = "true", **more: Any) -> None:
    """Two agents that each leave a daemon behind, and finish when they are told to."""
    agent = project.folder / "agent.sh"
    agent.write_text(AGENT)
    args = {name: [str(agent), name, str(project.folder)] for name in ("one", "two")}
    providers = {name: {"command": "/bin/sh", "args": args[name]} for name in args}
    project.config(gate, provider=providers["one"], providers=providers, **more)
    project.stories("One")


def let(project: Project, *names: str) -> None:
    for name in names:
        (project.folder / f"{name}.go").touch()


def began(project: Project) -> bool:
    return all((project.folder / f"{name}.began").exists() for name in ("one", "two"))


def landings(project: Project) -> list[str]:
    return [
        line
        for line in project.git("log", "--format=%B", "ralph/auth").splitlines()
        if line.startswith("Ralph-Attempt")
    ]


def test_the_loser_is_ended_with_all_it_started_and_its_work_is_kept(project: Project) -> None:
    racers(project)
    run = project.start("run", "auth", "--no-baseline", "--race", "one,two")
    wait_for(lambda: began(project))
    let(project, "two")
    said = run.communicate(timeout=60)[0]

    assert run.returncode == 0, said
    assert processes_in(project.folder) == [], "the daemon of the loser has ended too"
    assert "US-001 one │ ‖ US-001 interrupted: The work of two landed first." in said
    assert "US-001 two │ ✓ US-001 passed" in said and "race of one, two" in said
    assert project.landed("one.txt", "refs/ralph/attempts/auth/US-001/1") == "one"
    assert landings(project) == ["Ralph-Attempt: auth/US-001/2"]
    story = project.story()
    assert (story["lastResult"]["agent"], story["retries"], story["attempts"]) == ("two", 0, 2)
    rows = {row["attempt"]: row for row in json.loads(project.ralph("attempts", "auth", "--json").stdout)}
    assert (rows["US-001/1"]["agent"], rows["US-001/1"]["outcome"]) == ("one", "interrupted")
    assert (rows["US-001/2"]["agent"], rows["US-001/2"]["outcome"]) == ("two", "passed")


@pytest.mark.parametrize("moment", ["both at work", "one in its gates"])
def test_killed_in_the_middle_of_a_race_the_next_run_lands_it_once(project: Project, moment: str) -> None:
    racers(project, gate="test -e $HOME/../go || { touch $HOME/../gate; sleep 60; }")
    run = project.start("run", "auth", "--no-baseline", "--race", "one,two")
    wait_for(lambda: began(project))
    if moment == "one in its gates":
        let(project, "two")
        wait_for((project.folder / "gate").exists)
    run.send_signal(signal.SIGKILL)
    run.communicate()

    let(project, "one", "two")
    (project.folder / "go").touch()
    project.ralph("run", "auth", "--no-baseline", "--race", "one,two")

    assert processes_in(project.folder) == []
    assert len(landings(project)) == 1
    assert project.landed("one.txt", "refs/ralph/attempts/auth/US-001/1") == "one", "what it had made is kept"
    assert "two.txt" in project.files_in("refs/ralph/attempts/auth/US-001/2")
    if moment == "one in its gates":
        assert landings(project) == ["Ralph-Attempt: auth/US-001/2"], "finished work is not done again"
    story = project.story()
    assert (story["passes"], story["retries"]) == (True, 0)
    assert list(project.path.glob(".ralph/run/*/*.attempt.json")) == []


def test_races_that_cannot_be_run_are_refused_with_a_remedy(project: Project) -> None:
    racers(project)
    cases = {
        "one,tow": "'tow' is not among providers; did you mean 'two'?",
        "one": "a race needs two agents or more, but only 'one' is named.",
        ",": "it names no agent.",
    }
    for names, message in cases.items():
        refused = project.ralph("run", "auth", "--race", names, code=1)
        assert f"--race {names}: " in refused.stderr and f"{message}\n" in refused.stderr
        assert "Name two or more of one, two, default, sh." in refused.stderr
    project.stories({"title": "One", "race": ["one", "other"]})
    assert "The race of US-001: 'other' is not among" in project.ralph("run", "auth", code=1).stderr
    document = json.loads(project.read("ralph.config.json"))
    document["providers"]["gone"] = {"command": "no-such-agent"}
    project.write("ralph.config.json", json.dumps(document))
    project.stories("One")
    assert "no-such-agent" in project.ralph("run", "auth", "--race", "one,gone", code=1).stderr
    session = project.ralph("session", "A thing", "--race", "one,two", code=1)
    assert "--race does not apply to the session workflow, only to request, requirements, specs and feature" in (
        session.stderr
    )
    project.config("true", race={"agents": ["default", "nobody"]})
    assert "race.agents: 'nobody' is not among providers" in project.ralph("validate", code=1).stdout


SLOW = {"slow": {"command": "/bin/sh", "args": ["-c", "touch slow.txt; exec sleep 300"]}}


def test_tasks_of_a_spec_race_and_the_spec_is_one_commit(project: Project) -> None:
    project.config("true", providers=SLOW, race={"agents": ["slow", "default"]})
    specs.write_plan(project, specs.spec("a", specs.task("a-1"), specs.task("a-2")))
    project.script(specs.builds("a-1", "one.txt"), specs.builds("a-2", "two.txt"))

    project.ralph("run", "specs", "--no-baseline")

    assert specs.statuses(project) == {"a": "completed", "a-1": "completed", "a-2": "completed"}
    assert specs.made(project, specs.commit_of(project, "feat: A")) == ["one.txt", "two.txt"]
    assert "slow.txt" not in project.files_in(specs.BRANCH)
    assert [specs.tasks(project)[name]["attempts"] for name in ("a-1", "a-2")] == [2, 2]


def test_tasks_from_requirements_race(founded: requirements.Founded) -> None:
    document = json.loads(founded.read("ralph.config.json"))
    founded.write("ralph.config.json", json.dumps({**document, "providers": SLOW}))
    founded.script(requirements.does("T-001", "one.txt"), requirements.does("T-002", "two.txt"))

    said = founded.ralph("run", "--no-baseline", "--race", "slow,default").stdout

    assert "T-001 slow │ ‖ T-001 interrupted: The work of ralph landed first." in said
    assert {"one.txt", "two.txt"} <= set(founded.files_in(requirements.BRANCH))
    assert "slow.txt" not in founded.files_in(requirements.BRANCH)
    assert [task["status"] for task in founded.plan()["tasks"]] == ["done"] * len(founded.plan()["tasks"])
