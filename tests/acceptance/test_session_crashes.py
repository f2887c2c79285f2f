"""R2, R3.18: a session killed or stopped in each of its states goes on: nothing is lost, half done or done twice."""

from __future__ import annotations

import signal

import pytest

from tests.acceptance.sessions import (
    BRANCH,
    FOLDER,
    GATE,
    ID,
    REQUEST,
    artifact,
    calls,
    is_left_alone,
    made,
    marks,
    names,
    plan,
    plays,
    session,
    work,
)
from tests.conftest import Project, processes_in, wait_for
from tests.instants import cut_short, resumed, states

HALVES = {  # who is at work, and what it has written when it ends
    "INITIALIZE": "initialize; mark plan-research x; echo spoiled > app.txt",
    "brainstorm 1": "brainstorm; mark plan-research x; echo spoiled > new.txt",
    "execute task-1 1": "execute; mark task-2 x; echo spoiled > $S/plan.md; echo half > half.txt",
    "review task-1 1": "accept; mark task-2 x; echo spoiled > app.txt",
    "SESSION_REVIEW 1": "gaps 'a gap' task-9; echo spoiled > app.txt",
}
BUILT = ["execute task-1 1", "review task-1 1", "execute task-2 1", "review task-2 1", "SESSION_REVIEW 1"]
PLANNED = ["INITIALIZE", "brainstorm 1", "research 1", "TASK_BREAKDOWN"]


def stopped(project: Project, name: str, *args: str) -> None:
    run = project.start("session", "--no-baseline", *args)
    wait_for((project.folder / "hangs").exists, what="somebody is at work")
    run.send_signal(getattr(signal, name))
    run.communicate(timeout=60)
    assert run.returncode == (-signal.SIGKILL if name == "SIGKILL" else 130)


def check(project: Project) -> None:
    assert work(project) == ["feat: task-1 - Do task-1", "feat: task-2 - Do task-2"], "each exactly once"
    for task in ("task-1", "task-2"):
        assert set(made(project, f"feat: {task}")) - {"half.txt"} == {f"{task}.txt"}
    assert marks(project) == {"task-1": "x", "task-2": "x"}
    assert names(project) == {
        *("plan.md", "tasks.md", "progress.md", "plan.questions.md", f"{ID}.instructions.md"),
        *("tasks.task-1-report.md", "tasks.task-2-report.md", "progress.review1.md"),
    }
    assert "spoiled" not in artifact(project, "plan.md") and project.landed("app.txt", BRANCH) == "app"
    for task in ("task-1", "task-2"):
        assert artifact(project, f"tasks.{task}-report.md").count("## Review") == 1
    project.ralph("attest", "verify", f"main..{BRANCH}")
    assert artifact(project, "plan.questions.md").count("## Cycle") == 1
    assert project.read("notes.txt") == "a person's\n"
    is_left_alone(project, "?? notes.txt", "?? ralph.config.json")
    assert list((project.path / ".ralph/run").glob("*/*.attempt.json")) == []
    assert processes_in(project.folder) == []


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
@pytest.mark.parametrize("who", HALVES)
def test_stopped_in_any_state_it_goes_on_and_only_whole_calls_count(project: Project, who: str, name: str) -> None:
    planned = who not in PLANNED
    plays(project, f"'{who}'*) test -e \"$AT/hangs\" || {{ {HALVES[who]}; hang; }}; usual ;;")
    if planned:
        plan(project, "task-1", "task-2 task-1")
    project.write("notes.txt", "a person's\n")

    stopped(project, name, *(() if planned else (REQUEST, "--id", ID)))
    session(project)

    everybody = BUILT if planned else [*PLANNED, *BUILT]
    again = everybody.index(who)
    assert calls(project) == [*everybody[: again + 1], *everybody[again:]], "only who was at work is called again"
    check(project)


def test_killed_while_the_gates_run_the_executor_is_not_called_again(project: Project) -> None:
    hangs = project.folder / "hangs"
    plays(project, "", f"{GATE} && (test -e {hangs} || {{ touch {hangs}; sleep 60; }})")
    plan(project, "task-1", "task-2 task-1")
    project.write("notes.txt", "a person's\n")
    stopped(project, "SIGKILL")
    session(project)
    assert calls(project) == BUILT
    check(project)


def test_killed_in_the_rework_it_goes_on_with_the_same_attempt(project: Project) -> None:
    plays(
        project,
        "'review task-1 1') refuse 'too short' ;;\n"
        "'execute task-1 2') test -e \"$AT/hangs\" || { execute; hang; }; execute ;;",
    )
    plan(project, "task-1")
    stopped(project, "SIGKILL")
    session(project)
    assert calls(project)[2:] == ["execute task-1 2", "execute task-1 2", "review task-1 2", "SESSION_REVIEW 1"]
    assert work(project) == ["feat: task-1 - Do task-1"]


def test_a_file_that_a_killed_writer_left_is_none_of_the_session_s(project: Project) -> None:
    plays(project, "'execute task-1 1') test -e \"$AT/hangs\" || hang; usual ;;")
    plan(project, "task-1", "task-2 task-1")
    project.write("notes.txt", "a person's\n")
    stopped(project, "SIGKILL")
    project.write(f".ralph/worktrees/{ID}/{FOLDER}/.progress.md.0a1b2c3d4e5f6071.tmp", "- [x] task-1: Do")
    session(project)
    check(project)


@pytest.mark.long
def test_killed_at_any_instant_it_resumes_and_nothing_is_lost_or_repeated(project: Project) -> None:
    plays(project)
    plan(project, "task-1", "task-2 task-1")
    project.write("notes.txt", "a person's\n")
    for _ in states(project, "session", "--no-baseline", least=60):
        may_repeat, has_ended = cut_short(project), BUILT[-1] in calls(project) and not under_way(project)
        code = 1 if has_ended else 0
        done = resumed(project, "session", "--no-baseline", code=code, may_repeat=may_repeat)
        if done is None:
            assert not has_ended
            continue
        told = done.stdout + done.stderr
        assert ("There is no unfinished session" if has_ended else f"`git merge {BRANCH}`") in told
        assert set(calls(project)) == set(BUILT), "no attempt but the first of each"
        executed = [call.split()[1] for call in calls(project) if call.startswith("execute ")]
        repeated = {task for task in executed if executed.count(task) > 1}
        assert repeated <= may_repeat, "an executor that had finished is not called again"
        check(project)


def under_way(project: Project) -> bool:
    """Whether a killed run had more to do than its last words."""
    return any(project.path.glob(".ralph/run/*/crash-copies"))
