"""R0.8 and R0.9: a request's tasks one by one and side by side; the first failure halts, and it goes on from there."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.requests import TASKS, builds, in_checkout, load, task, work, write_plan
from tests.conftest import VERIFIED, Project, does, wait_for

ROOT = "../../../.."  # from a slot
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
    assert in_checkout(ready)["phase"] == "planning_complete" and not ready.exists("1.txt")
    assert ready.git("worktree", "list").count("\n") == 0, "the branch is the person's again"
    assert work(ready) == ["feat: task-001 - Model", "feat: task-002 - Server", "feat: task-003 - Endpoint"]
    state = load(ready)
    assert (state["phase"], set(state["task_statuses"].values())) == ("completed", {"completed"})
    result = load(ready, "results/task-001.json")
    assert (result["status"], result["attempts"], result["gates"][0]["passed"]) == ("completed", 1, True)
    message, _, names = ready.git("show", "--format=%B%x00", "--name-only", result["commit"]).partition("\0")
    assert message.startswith("feat: task-001 - Model\n") and "Ralph-Attempt: request/task-001/1" in message
    assert {"1.txt", ".ralph/state.json", ".ralph/results/task-001.json"} < set(names.split())
    assert not {"2.txt", "3.txt"} & set(names.split())
    assert ready.git("merge-base", "ralph/request", result["commit"]) == result["commit"], "it is on the branch"
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
    ready.script(builds(1), builds(2, "bad.txt", times=1), builds(2, delete=["bad.txt"]), builds(3))

    done = ready.ralph("start", code=3)

    assert "request: halted · task-002 failed: The gate `test ! -f bad.txt` failed" in done.stdout
    assert "run `ralph run request` to continue" in done.stdout
    state = load(ready)
    assert (state["phase"], state["task_statuses"]["task-002"]) == ("failed", "failed")
    failure = state["last_failure"]
    assert (failure["task_id"], failure["task_title"]) == ("task-002", "Server")
    assert "exit code 1" in failure["error_message"] and failure["failed_at"]
    assert "task-002 attempt 1 failed" in ready.read(failure["log_file"])
    assert load(ready, "results/task-002.json")["status"] == "failed"
    assert {"1.txt"} == set(ready.files_in("ralph/request")) & {"1.txt", "bad.txt"}, "only good work is on the branch"
    assert ready.git("show", "refs/ralph/attempts/request/task-002/1:bad.txt") == "x", "what failed is kept"
    assert ready.status() == []
    assert "halted: task-002 failed" in ready.ralph("next", "request").stdout
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
    ready.ralph("accept", "request", "task-001", "--why", "not wanted", "--yes")
    assert (load(ready)["phase"], load(ready)["last_failure"]) == ("completed", None)
    ready.ralph("retry", "request", "task-001")
    assert load(ready)["phase"] == "executing"
    assert ready.subjects("ralph/request").count("chore: update state.json") == 3, "each is committed there"
    assert (ready.git("log", "-1", "--format=%s"), ready.status()) == ("Plan", []), "and nothing here"


def test_side_by_side_on_a_branch_of_its_own_where_the_plan_lives_from_then_on(ready: Project) -> None:
    write_plan(ready, *TASKS)
    ready.git("branch", "ralph/request", "HEAD~1")  # somebody else's, of another time
    meet = f"echo x >> {ROOT}/met; while [ $(wc -l < {ROOT}/met) -lt 2 ]; do sleep 0.02; done"
    ready.script(builds(1, run=[meet]), builds(2, run=[meet]), builds(3))
    before = ready.git("rev-parse", "HEAD")

    done = ready.ralph("start", "--jobs", "3")

    assert "branch    ralph/request-2" in done.stdout
    assert ready.git("rev-parse", "HEAD") == before and in_checkout(ready)["phase"] == "planning_complete"
    there = load(ready, branch="ralph/request-2")
    assert (there["phase"], there["branch"]) == ("completed", "ralph/request-2")
    assert len(work(ready, "ralph/request-2")) == 3
    for line in ready.git("log", "--format=%H", "--grep", "Ralph-Attempt", "ralph/request-2").splitlines():
        names = ready.git("show", "--format=", "--name-only", line).splitlines()
        assert {".ralph/state.json", f"{names[-1][0]}.txt"} <= set(names), "code and state are one commit"
    assert not ready.exists(".ralph/worktrees/request-2") and ready.git("worktree", "list").count("\n") == 0
    assert "3/3 passed" in ready.ralph("status").stdout, "though it is checked out nowhere"
    assert "request: nothing left to do" in ready.ralph("next").stdout
    ready.git("merge", "-q", "ralph/request-2")
    assert in_checkout(ready)["phase"] == "completed"


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

    state = load(ready)
    assert (state["phase"], state["last_failure"]["task_id"]) == ("failed", "task-001")
    assert state["task_statuses"]["task-002"] == ("completed" if how == "wait" else "pending")
    assert state["task_statuses"]["task-004"] == "pending", "nothing is begun after a failure"
    assert ready.events("run_ended")[-1]["ending"] == "halted"
    assert load(ready, "tasks/task-002.json")["retries"] == 0, "it costs nothing"
    assert ready.git("show", "refs/ralph/attempts/request/task-002/1:2.txt") == "x", "its work is kept"

    done = ready.ralph("start")
    assert "branch ralph/request" in done.stdout, "it goes on where the plan lives"
    assert set(load(ready)["task_statuses"].values()) == {"completed"}
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

    assert sorted(work(ready)) == [
        "feat: task-001 - Model",
        "feat: task-002 - Server",
        "feat: task-003 - Endpoint",
    ]
    state = load(ready)
    assert (state["phase"], set(state["task_statuses"].values())) == ("completed", {"completed"})
    assert load(ready, "tasks/task-002.json")["retries"] == 0
    assert ready.git("show", "refs/ralph/attempts/request/task-002/1:2.txt") == "x", "what was cut short is kept"
    assert (ready.git("branch", "--show-current"), ready.status()) == ("main", [])


def test_what_a_killed_run_left_is_not_taken_for_another_request(ready: Project) -> None:
    write_plan(ready, task("Model"))
    ready.script(builds(1, run=[f"touch {ready.folder}/hangs; sleep 60"], times=1), builds(1, "other.txt"))
    run = ready.start("start")
    wait_for((ready.folder / "hangs").exists)
    run.kill()
    run.communicate()
    ready.ralph("plan", "--discard")
    assert next(ready.path.glob(".ralph/archive/*/run/request/*.json"))
    assert ready.git("worktree", "list").count("\n") == 0, "the branch is the person's"

    write_plan(ready, task("Another"))
    state = in_checkout(ready)
    ready.write(".ralph/state.json", json.dumps({**state, "created_at": "2026-02-02T00:00:00Z"}))
    ready.ralph("start", "-q")
    assert work(ready, "ralph/request-2") == ["feat: task-001 - Another"]
    made = ready.git("diff", "--name-only", "main", "ralph/request-2", "--", ":!.ralph")
    assert made == "other.txt"
    assert load(ready, branch="ralph/request-2")["created_at"] == "2026-02-02T00:00:00Z", "the plan is the new one"


def test_a_killed_run_s_work_is_safe_from_the_runs_of_other_plans(ready: Project) -> None:
    write_plan(ready, task("Model"))
    ready.stories("Login")
    hangs = [f"touch {ready.folder}/hangs; sleep 60"]
    half = {"match": r"\*\*ID:\*\* US-001", "write": {"half.txt": "half"}, "run": hangs, "times": 1}
    ready.script(half, does("US-001", "login.txt"), VERIFIED, builds(1))
    run = ready.start("run", "auth")
    wait_for((ready.folder / "hangs").exists)
    run.kill()
    run.communicate()

    ready.ralph("start", "-q")
    ready.ralph("run", "auth", "-q")

    made = [
        ready.git("diff", "--name-only", "main", branch, "--", ":!.ralph") for branch in ("ralph/request", "ralph/auth")
    ]
    assert made == ["1.txt", "half.txt\nlogin.txt"], "each has its own work, and all of it"


def test_what_an_agent_writes_into_the_plan_counts_for_nothing(ready: Project) -> None:
    write_plan(ready, task("Model"))
    cheat = 'sed -i \'s/"pending"/"completed"/; s/"in_progress"/"completed"/\' .ralph/state.json'
    ready.script(builds(1, run=[cheat]))
    done = ready.ralph("start", code=3)
    assert "undone: the agent changed .ralph/state.json" in done.stdout
    assert load(ready)["task_statuses"] == {"task-001": "failed"}
    assert "1.txt" not in ready.files_in("ralph/request")


def test_a_plan_that_is_not_to_be_committed_stays_in_the_plan_s_worktree(ready: Project) -> None:
    ready.config("test ! -f bad.txt", maxRetries=1, commits={"prdChanges": False})
    write_plan(ready, *TASKS, task("Docs", "task-003"))
    mends = builds(2, delete=["bad.txt"])
    ready.script(builds(1), builds(2, "bad.txt", times=1), mends, builds(3))
    before = ready.git("rev-parse", "HEAD"), in_checkout(ready)

    ready.ralph("start", "--jobs", "2", "-q", code=3)

    assert ready.exists(".ralph/worktrees/request/.ralph/state.json")
    assert load(ready)["task_statuses"]["task-002"] == "failed"
    shown = ready.ralph("status", "request").stdout
    assert "1/4 passed, 1 blocked" in shown and "halted: task-002 failed" in shown
    ready.git("switch", "-q", "ralph/request")
    assert "so no work can land on it" in ready.ralph("start", code=1).stderr
    ready.git("switch", "-q", "main")

    ready.ralph("accept", "request", "task-004", "--why", "not wanted", "--yes")
    done = ready.ralph("start", "--jobs", "2")

    assert "request: 4 tasks, 1 passed, 1 accepted manually" in done.stdout, "it goes on with what is on disk"
    assert "3/4 passed, 1 accepted" in ready.ralph("status", "request").stdout
    assert (load(ready)["phase"], load(ready)["branch"]) == ("completed", "ralph/request")
    assert work(ready) == ["feat: task-001 - Model", "feat: task-002 - Server", "feat: task-003 - Endpoint"]
    assert len(ready.subjects("ralph/request")) == 5, "no commit is about state"
    names = ready.git("diff", "--name-only", "main", "ralph/request").splitlines()
    assert names == ["1.txt", "2.txt", "3.txt"], "nor is state in any of them"
    assert (ready.git("rev-parse", "HEAD"), in_checkout(ready), ready.status()) == (*before, [])

    ready.config("true")
    ready.ralph("retry", "request", "task-004")
    assert list(load(ready)["task_statuses"].values()) == ["completed"] * 3 + ["pending"], "now it is committed"
    assert not ready.exists(".ralph/worktrees/request")


def test_nothing_lands_on_a_branch_that_the_person_has_checked_out(ready: Project) -> None:
    write_plan(ready, *BOTH)
    ready.script(builds(1), builds(2))
    ready.ralph("start", "--once", "-q")
    ready.git("switch", "-q", "ralph/request")
    before = ready.git("rev-parse", "HEAD")
    for args in (("start",), ("start", "--jobs", "2"), ("retry", "request", "task-001")):
        said = ready.ralph(*args, code=1).stderr
        assert f"The branch ralph/request is checked out in {ready.path}, so no work can land on it." in said
        assert f"git -C {ready.path} switch -" in said
    assert (ready.git("rev-parse", "HEAD"), ready.status(), ready.calls()) == (before, [], 1)

    ready.git("switch", "-q", "-")
    ready.ralph("start", "-q")
    assert load(ready)["phase"] == "completed"


def test_what_a_working_copy_was_given_is_there_in_the_next_run(ready: Project) -> None:
    ready.write(".gitignore", "installed/\n")
    set_up = f"echo x >> {ready.folder}/setups; mkdir -p installed; touch installed/it"
    ready.config("test -f installed/it", worktrees={"setup": [set_up]})
    write_plan(ready, *BOTH)
    ready.script(builds(1), builds(2))

    for _ in range(2):
        ready.ralph("start", "--once", "-q")

    assert len((ready.folder / "setups").read_text().split()) == 2, "once where agents work, once where gates run"
    assert load(ready)["phase"] == "completed"


def test_what_a_person_changes_later_counts_where_the_plan_lives(ready: Project) -> None:
    write_plan(ready, *TASKS)
    ready.script(builds(1), builds(2))
    ready.ralph("start", "--once", "-q")
    change = ready.folder / "editor.sh"
    change.write_text('#!/bin/sh\nsed -i s/Server/Service/ "$3"\nrm "$4"\n')
    change.chmod(0o755)
    before = ready.git("rev-parse", "HEAD")

    ready.ralph("plan", "--edit", env={"EDITOR": str(change)})

    assert ready.subjects("ralph/request")[0] == "chore: update the plan of request"
    assert ".ralph/tasks/task-003.json" not in ready.files_in("ralph/request")
    assert (ready.git("rev-parse", "HEAD"), ready.status()) == (before, [])
    ready.ralph("start", "-q")
    assert work(ready) == ["feat: task-001 - Model", "feat: task-002 - Service"]
    assert load(ready)["phase"] == "completed"


@pytest.mark.parametrize("tasks", [2, 60])
def test_a_state_commit_of_many_files_asks_git_no_more_often_than_one_of_few(project: Project, tasks: int) -> None:
    project.config("true")
    project.script(builds(1))
    write_plan(project, *(task(f"Part {number}") for number in range(1, tasks + 1)))
    state = json.loads(project.read(".ralph/state.json"))
    state["task_statuses"] |= dict.fromkeys(state["task_order"][1:], "completed")
    project.write(".ralph/state.json", json.dumps(state))
    project.git("add", "--all")
    project.git("commit", "-qm", "plan")
    project.git("gc", "-q")  # every tree is packed: reading one is a question to git
    with project.counting_git() as count:
        project.ralph("start")
    changed = project.git("diff", "--name-only", "main", "ralph/request", "--", ".ralph").splitlines()
    assert len(changed) >= 2 * tasks
    assert count() <= 40
