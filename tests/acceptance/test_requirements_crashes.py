"""R4.8, R4.12: killed with `kill -9` at any instant, a run of the requirements' plan goes on; nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Project, processes_in
from tests.instants import killed_at, resumed, states

AGENT = r"""
prompt=$(cat)
case "$prompt" in
*"# Ralph Setup"*)
    echo "# Readme" > README.md ;;
*"ID:** T-001"*"What Went Wrong"*)
    rm -f bad.txt; sed -i 's/"in_progress"/"done"/' .ralph/prd.json ;;
*"ID:** T-001"*)
    echo one > one.txt; echo bad > bad.txt; echo '<ralph>DONE</ralph>' ;;
*"ID:** T-002"*)
    echo half > two.txt; echo spoiled > one.txt; rm README.md; echo bad > bad.txt
    git add two.txt; git commit -qm "half of it"
    echo '<ralph>DONE</ralph>' ;;
*"ID:** T-003"*)
    test -e "$0.three" || { touch "$0.three"; echo three >> three.txt; }
    echo "- three" >> .ralph/learnings.md
    echo '<ralph>DONE</ralph>' ;;
esac
"""
STEPS = {
    "max_loops_per_task": 2,
    "steps": [
        {"name": "setup", "type": "agent", "config": {"marker_file": ".ralph/.setup_done"}},
        {"name": "work", "type": "agent"},
        {"type": "verify"},
        {"type": "git-commit"},
    ],
}
BRANCH = "ralph/requirements"


def prepare(project: Project) -> None:
    """A set-up, a task that fails once, one that fails for good with half of its work committed, one that passes."""
    agent = project.folder / "agent.sh"
    agent.write_text(AGENT)
    project.config("! test -f bad.txt", provider={"command": "/bin/sh", "args": [str(agent)]})
    tasks = [{"id": f"T-00{n}", "title": f"Task {n}"} for n in (1, 2, 3)]
    project.write(".ralph/prd.json", json.dumps({"version": 1, "tasks": tasks}))
    project.write(".ralph/requirements.md", "# All of it\n")
    project.write(".ralph/configs/default.json", json.dumps(STEPS))
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Plan")
    project.write("notes.txt", "a person's\n")


def check(project: Project) -> None:
    plan = json.loads(project.landed(".ralph/prd.json", BRANCH))
    assert [task["status"] for task in plan["tasks"]] == ["done", "failed", "done"]
    files = {name: project.landed(name, BRANCH) for name in ("README.md", "one.txt", "three.txt")}
    assert files == {"README.md": "# Readme", "one.txt": "one", "three.txt": "three"}, "done once, whatever happened"
    assert not {"two.txt", "bad.txt"} & set(project.files_in(BRANCH))
    subjects = project.subjects(BRANCH)
    assert [subjects.count(name) for name in ("feat: T-001 - Task 1", "feat: T-003 - Task 3")] == [1, 1]
    assert "chore: Set-up: setup" in subjects and ".ralph/.setup_done" in project.files_in(BRANCH)
    assert project.landed(".ralph/learnings.md", BRANCH) == "- three", "noted once"
    project.ralph("attest", "verify", f"main..{BRANCH}")
    assert project.git("branch", "--show-current") == "main"
    assert project.subjects("main") == ["Plan", "A project"], "the checkout is as it was left"
    assert [line for line in project.status() if "?? .ralph/" not in line] == ["?? notes.txt"]
    assert project.read("notes.txt") == "a person's\n"
    assert "ralph" not in (project.path / ".git/info/exclude").read_text()
    assert project.exists(".ralph/aggregate.json")
    assert json.loads(project.read(".ralph/run_state.json"))["status"] == "failed"
    assert processes_in(project.folder) == []
    assert list((project.path / ".ralph/run").glob("*/*.attempt.json")) == []


@pytest.mark.long
def test_killed_at_any_instant_the_next_run_goes_on_and_nothing_is_lost(project: Project) -> None:
    prepare(project)
    for _ in states(project, "run", least=80):
        if resumed(project, "run", code=3):
            check(project)


@pytest.mark.long
def test_killed_for_real_what_still_runs_does_no_harm(tmp_path: Path) -> None:
    for instant in range(9, 3000, 83):
        (tmp_path / str(instant)).mkdir()
        project = Project(tmp_path / str(instant))
        prepare(project)
        if killed_at(project, instant, "run"):
            assert instant > 300, "the run has many instants"
            return
        project.ralph("run", code=3)
        check(project)
    raise AssertionError("the run never came to its end")
