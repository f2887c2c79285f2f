"""R0.8, R0.9: killed with `kill -9` at any instant, a request's run is resumed, and each task lands once."""

from __future__ import annotations

import pytest

from tests.acceptance.requests import in_checkout, load, task, work, write_plan
from tests.conftest import Project, processes_in
from tests.instants import cut_short, resumed, states

AGENT = r"""
prompt=$(cat)
echo >> "$0.calls"
case "$prompt" in
*"# Task task-001:"*"What Went Wrong"*)
    rm -f bad.txt; echo one > one.txt; echo '<ralph>DONE</ralph>' ;;
*"# Task task-001:"*)
    echo one > one.txt; echo bad > bad.txt; echo '<ralph>DONE</ralph>' ;;
*"# Task task-002:"*)
    test -e two.txt || echo two >> two.txt
    echo '<ralph>LEARNING:plain files will do</ralph>'; echo '<ralph>DONE</ralph>' ;;
esac
"""

CALLS = 3


def prepare(project: Project) -> None:
    """A task that fails once, and one that needs it."""
    agent = project.folder / "agent.sh"
    agent.write_text(AGENT)
    project.config("! test -f bad.txt", maxRetries=3, provider={"command": "/bin/sh", "args": [str(agent)]})
    write_plan(project, task("Model"), task("Server", "task-001"))
    project.write("notes.txt", "a person's\n")


def check(project: Project) -> None:
    assert work(project) == ["feat: task-001 - Model", "feat: task-002 - Server"], "each once, whatever happened"
    state = load(project)
    assert (state["phase"], state["last_failure"]) == ("completed", None)
    assert set(state["task_statuses"].values()) == {"completed"}
    for name in ("task-001", "task-002"):
        result = load(project, f"results/{name}.json")
        assert result["status"] == "completed"
        assert f"Ralph-Attempt: request/{name}/" in project.git("show", "-s", "--format=%B", result["commit"])
        kept = project.git("for-each-ref", "--format=%(refname)", f"refs/ralph/attempts/request/{name}").splitlines()
        assert 1 <= len(kept) <= load(project, f"tasks/{name}.json")["attempts"], "no attempt is lost"
    project.ralph("attest", "verify", "main..ralph/request")
    assert project.landed("one.txt", "ralph/request") == "one"
    assert project.landed("two.txt", "ralph/request") == "two", "done once"
    assert "bad.txt" not in project.files_in("ralph/request")
    assert in_checkout(project)["phase"] == "planning_complete", "the checkout is as it was left"
    assert (project.git("branch", "--show-current"), project.status()) == ("main", ["?? notes.txt"])
    assert project.git("worktree", "list").count("\n") == 0, "nothing holds the branch any more"
    assert processes_in(project.folder) == []
    assert list((project.path / ".ralph/run").glob("*/*.attempt.json")) == []


@pytest.mark.long
def test_killed_at_any_instant_the_next_start_resumes_and_nothing_is_lost_or_repeated(project: Project) -> None:
    prepare(project)
    for _ in states(project, "start", least=60):
        at_work = cut_short(project)
        if resumed(project, "start", may_repeat=at_work):
            check(project)
            made = len((project.folder / "agent.sh.calls").read_text())
            assert made <= CALLS + len(at_work), "an agent that had finished is not called again"
