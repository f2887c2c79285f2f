"""R0.8 and R0.9: a request's tasks one by one and side by side; the first failure halts, and it goes on from there."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.requests import TASKS, at, builds, load, task, work, write_plan
from tests.conftest import Project, wait_for

ROOT = "../../../.."  # from a slot's worktree
BOTH = (task("Model"), task("Server"))


@pytest.fixture
def ready(project: Project) -> Project:
    project.config("test ! -f bad.txt", maxRetries=1)
    return project


def test_tasks_one_by_one_in_order_with_a_commit_and_a_result_for_each(ready: Project) -> None:
    write_plan(ready, *TASKS)
    learns = {"then": ["<ralph>LEARNING:the server is plain</ralph>"]}
    ready.script(builds(1, **learns), builds(2), builds(3))

    done = ready.ralph("start")

    assert "request: complete · all gates green" in done.stdout
    assert ready.git("branch", "--show-current") == "main"
    assert work(ready) == ["feat: task-001 - Model", "feat: task-002 - Server", "feat: task-003 - Endpoint"]
    state = load(ready)
    assert (state["phase"], set(state["task_statuses"].values())) == ("completed", {"completed"})
    result = load(ready, "results/task-001.json")
    assert (result["status"], result["attempts"], result["gates"][0]["passed"]) == ("completed", 1, True)
    assert ready.git("show", "--format=%s", "--name-only", result["commit"]).split() == [
        *["feat:", "task-001", "-", "Model"],
        "1.txt",
    ]
    told = next(text for text in ready.prompts() if "# Task task-003" in text)
    assert "Users over HTTP, in one file." in told and "- task-001 Model: feat: task-001 - Model (" in told
    assert "Do not commit: Ralph commits your work" in told and "the server is plain" in told
    log = ready.read(".ralph/logs/execution.log")
    assert "task-003 attempt 1 passed" in log and "3 of 3 tasks passed" in log
    assert not ready.exists(".ralph/logs/errors.log")
    assert ready.status() == []
    assert "the server is plain" in ready.ralph("learnings", "request").stdout
    assert "All gates are green" in ready.ralph("verify", "request", "--task", "task-001").stdout


def test_the_first_failure_halts_and_starting_again_goes_on_from_there(ready: Project) -> None:
    write_plan(ready, *TASKS)
    ready.script(builds(1), builds(2, "bad.txt", times=1), builds(2), builds(3))

    done = ready.ralph("start", code=3)

    assert "request: halted · task-002 failed: The gate `test ! -f bad.txt` failed" in done.stdout
    assert "`ralph start` goes on from there" in done.stdout
    state = load(ready)
    assert (state["phase"], state["task_statuses"]["task-002"]) == ("failed", "failed")
    failure = state["last_failure"]
    assert (failure["task_id"], failure["task_title"]) == ("task-002", "Server")
    assert "exit code 1" in failure["error_message"] and failure["failed_at"]
    assert "task-002 attempt 1 failed" in ready.read(failure["log_file"])
    assert load(ready, "results/task-002.json")["status"] == "failed"
    assert not ready.exists("bad.txt"), "the project is as the last good task left it"
    assert "halted, because task-002 failed" in ready.ralph("next", "request").stdout
    assert "halted: task-002 failed" in ready.ralph("status", "request").stdout
    assert ready.events("run_ended")[-1]["ending"] == "halted"

    ready.ralph("start")
    state = load(ready)
    assert (state["phase"], state["last_failure"]) == ("completed", None)
    assert work(ready) == ["feat: task-001 - Model", "feat: task-002 - Server", "feat: task-003 - Endpoint"]
    assert "What was tried so far" in next(text for text in reversed(ready.prompts()) if "# Task task-002" in text)


def test_a_person_may_vouch_for_what_failed(ready: Project) -> None:
    write_plan(ready, task("Model"))
    ready.script(builds(1, "bad.txt"))
    ready.ralph("start", "-q", code=3)
    ready.ralph("accept", "request", "task-001", "--why", "not wanted")
    assert (load(ready)["phase"], load(ready)["last_failure"]) == ("completed", None)
    ready.ralph("retry", "request", "task-001")
    assert load(ready)["phase"] == "executing"
    assert ready.status() == [], "it is committed as Ralph does"


def test_side_by_side_on_a_branch_of_its_own_where_the_plan_lives_from_then_on(ready: Project) -> None:
    write_plan(ready, *TASKS)
    ready.git("branch", "ralph/request", "HEAD~1")  # somebody else's, of another time
    meet = f"echo x >> {ROOT}/met; while [ $(wc -l < {ROOT}/met) -lt 2 ]; do sleep 0.02; done"
    ready.script(builds(1, run=[meet]), builds(2, run=[meet]), builds(3))
    before = ready.git("rev-parse", "HEAD")

    done = ready.ralph("start", "--jobs", "3")

    assert "branch    ralph/request-2" in done.stdout
    assert ready.git("rev-parse", "HEAD") == before and load(ready)["phase"] == "planning_complete"
    there = at(ready, "ralph/request-2")
    assert (there["phase"], there["branch"]) == ("completed", "ralph/request-2")
    assert len(work(ready, "ralph/request-2")) == 3
    for line in ready.git("log", "--format=%H", "--grep", "Ralph-Attempt", "ralph/request-2").splitlines():
        names = ready.git("show", "--format=", "--name-only", line).splitlines()
        assert {".ralph/state.json", f"{names[-1][0]}.txt"} <= set(names), "code and state are one commit"
    for folder in (ready.path, ready.path / ".ralph/worktrees/request-2"):
        assert "3/3 passed" in ready.ralph("-C", str(folder), "status", "request").stdout
    ready.git("worktree", "remove", "--force", ".ralph/worktrees/request-2")
    assert "3/3 passed" in ready.ralph("status").stdout, "also if it is checked out nowhere"
    assert "request: nothing left to do" in ready.ralph("next").stdout
    ready.git("merge", "-q", "ralph/request-2")
    assert load(ready)["phase"] == "completed"


@pytest.mark.parametrize("how", ["wait", "stop"])
def test_neighbours_of_a_failure_end_or_are_stopped(ready: Project, how: str) -> None:
    write_plan(ready, *BOTH, task("Endpoint", "task-001"), task("Docs"))
    fails = builds(1, "bad.txt", run=[f"while [ ! -f {ROOT}/began ]; do sleep 0.02; done"], times=1)
    if how == "wait":
        ends = f"touch {ROOT}/began; while [ ! -f {ROOT}/.ralph/logs/errors.log ]; do sleep 0.02; done"
    else:
        ends = f"touch {ROOT}/began; sleep 60"
    mends = builds(1, delete=["bad.txt"])
    ready.script(fails, builds(2, run=[ends], times=1), mends, *(builds(number) for number in (2, 3, 4)))

    ready.ralph("start", "--jobs", "2", "--on-failure", how, code=3)

    state = at(ready)
    assert (state["phase"], state["last_failure"]["task_id"]) == ("failed", "task-001")
    assert state["task_statuses"]["task-002"] == ("completed" if how == "wait" else "pending")
    assert state["task_statuses"]["task-004"] == "pending", "nothing is begun after a failure"
    assert ready.events("run_ended")[-1]["ending"] == "halted"
    assert at(ready, name="tasks/task-002.json")["retries"] == 0, "it costs nothing"
    assert ready.git("show", "refs/ralph/attempts/request/task-002/1:2.txt") == "x", "its work is kept"

    done = ready.ralph("start")
    assert "branch ralph/request" in done.stdout, "it goes on where the plan lives"
    assert set(at(ready)["task_statuses"].values()) == {"completed"}
    assert sorted(work(ready, "ralph/request")) == [
        "feat: task-001 - Model",
        "feat: task-002 - Server",
        "feat: task-003 - Endpoint",
        "feat: task-004 - Docs",
    ]


@pytest.mark.parametrize("jobs", [(), ("--jobs", "2")])
def test_after_a_kill_each_task_lands_exactly_once(ready: Project, jobs: tuple[str, ...]) -> None:
    write_plan(ready, *TASKS)
    hangs = f"touch {ready.folder}/hangs; sleep 60"
    ready.script(builds(1), builds(2, run=[hangs], times=1), builds(2), builds(3))
    run = ready.start("start", *jobs)
    wait_for((ready.folder / "hangs").exists)
    if jobs:
        wait_for(lambda: any(event["event"] == "landed" for event in ready.events()))
    assert "task-002   Server  (now)" in ready.ralph("status", "request").stdout
    run.kill()
    run.communicate()

    ready.ralph("start", *jobs)

    branch = "ralph/request" if jobs else "HEAD"
    assert sorted(work(ready, branch)) == [
        "feat: task-001 - Model",
        "feat: task-002 - Server",
        "feat: task-003 - Endpoint",
    ]
    state = at(ready, branch)
    assert (state["phase"], set(state["task_statuses"].values())) == ("completed", {"completed"})
    assert at(ready, branch, "tasks/task-002.json")["retries"] == 0


def test_what_a_killed_run_left_is_not_taken_for_another_request(ready: Project) -> None:
    write_plan(ready, task("Model"))
    ready.script(builds(1, run=[f"touch {ready.folder}/hangs; sleep 60"], times=1), builds(1, "other.txt"))
    run = ready.start("start")
    wait_for((ready.folder / "hangs").exists)
    run.kill()
    run.communicate()
    ready.ralph("plan", "--discard")
    assert next(ready.path.glob(".ralph/archive/*/run/request/*.json"))
    (ready.path / "1.txt").unlink()

    write_plan(ready, task("Another"))
    state = load(ready)
    ready.write(".ralph/state.json", json.dumps({**state, "created_at": "2026-02-02T00:00:00Z"}))
    ready.ralph("start", "-q")
    assert ready.git("show", "--format=", "--name-only", load(ready, "results/task-001.json")["commit"]) == "other.txt"


def test_what_an_agent_writes_into_the_plan_counts_for_nothing(ready: Project) -> None:
    write_plan(ready, task("Model"))
    cheat = 'sed -i \'s/"pending"/"completed"/; s/"in_progress"/"completed"/\' .ralph/state.json'
    ready.script(builds(1, run=[cheat]))
    done = ready.ralph("start", code=3)
    assert "undone: the agent changed .ralph/state.json" in done.stdout
    assert load(ready)["task_statuses"] == {"task-001": "failed"}


def test_jobs_need_state_commits_and_a_branch_that_is_free(ready: Project) -> None:
    write_plan(ready, *BOTH)
    ready.script(builds(1), builds(2))
    ready.config("true", commits={"prdChanges": False})
    assert "--jobs needs commits.prdChanges" in ready.ralph("start", "--jobs", "2", code=1).stderr
    ready.config("true")
    ready.git("commit", "-qam", "Config")
    ready.ralph("start", "--jobs", "2", "--once", "-q")
    ready.git("worktree", "remove", "--force", ".ralph/worktrees/request")
    ready.git("switch", "-q", "ralph/request")
    assert "is checked out here" in ready.ralph("start", "--jobs", "2", code=1).stderr
    ready.ralph("start", "-q")
    assert load(ready)["phase"] == "completed"
