"""R1.10: the six acceptance criteria of the specs workflow, and what a person sees of it."""

from __future__ import annotations

import json

from tests.acceptance.specs import (
    builds,
    commit_of,
    is_left_alone,
    made,
    plan,
    progress,
    spec,
    statuses,
    subjects,
    task,
    tasks,
    waits,
    write_plan,
)
from tests.conftest import Project


def test_given_a_spec_with_3_tasks_when_running_build_mode_then_ralph_spawns_3_separate_agents(
    project: Project,
) -> None:
    project.config("true")
    write_plan(project, spec("avatar", task("avatar-1"), task("avatar-2"), task("avatar-3")))
    project.script(*(builds(f"avatar-{n}", f"{n}.txt") for n in (1, 2, 3)))

    project.ralph("start", "build")

    assert project.calls() == 3
    assert [event["work"] for event in project.events("agent_started")] == ["avatar-1", "avatar-2", "avatar-3"]
    assert [prompt.splitlines()[0] for prompt in project.prompts()] == [f"# Task: Do avatar-{n}" for n in (1, 2, 3)]


def test_given_a_task_completes_when_quality_gates_pass_then_its_status_is_completed(project: Project) -> None:
    project.config("test -f 1.txt")
    write_plan(project, spec("avatar", task("avatar-1"), task("avatar-2")))
    project.script(builds("avatar-1", "1.txt"))

    project.ralph("start", "build", "--once")

    assert statuses(project) == {"avatar": "in_progress", "avatar-1": "completed", "avatar-2": "pending"}
    assert plan(project)["updatedBy"] == "build-mode"
    assert [gate["passed"] for gate in tasks(project)["avatar-1"]["result"]["gates"]] == [True]


def test_given_quality_gates_fail_when_retries_are_left_then_a_new_agent_gets_the_failure(project: Project) -> None:
    project.config("test -f proof.txt || { echo 'error: no proof'; exit 7; }")
    write_plan(project, spec("avatar", task("avatar-1")))
    project.script(builds("avatar-1", "claim.txt", times=1), builds("avatar-1", "proof.txt"))

    project.ralph("start", "build")

    first, second = project.prompts()
    assert "What Went Wrong Before" not in first
    for part in ("attempt 2", "test -f proof.txt", "exit code 7", "error: no proof", "It changed claim.txt."):
        assert part in second, part
    assert statuses(project)["avatar-1"] == "completed"
    assert tasks(project)["avatar-1"]["retries"] == 1


def test_given_all_tasks_complete_when_build_mode_continues_then_one_commit_with_the_specs_name_and_the_next_spec(
    project: Project,
) -> None:
    project.config("true")
    write_plan(
        project,
        spec("login", task("login-1"), priority=2),
        spec("avatar", task("avatar-1"), task("avatar-2"), priority=1),
    )
    turns = [builds("avatar-1", "1.txt"), builds("avatar-2", "2.txt"), builds("login-1", "3.txt")]
    project.script(*turns)

    project.ralph("start", "build")

    assert subjects(project)[:2] == ["feat: Login", "feat: Avatar"]
    avatar = commit_of(project, "feat: Avatar")
    assert made(project, avatar) == ["1.txt", "2.txt"]
    assert statuses(project)["avatar"] == statuses(project)["login"] == "completed"
    told = progress(project)
    assert told.index("## Avatar: completed") < told.index("## Login: completed")
    for part in ("`specs/avatar.md`", avatar[:10], "Attempts: 2 for 2 tasks", "✓ true", "Time: ", "cost unknown"):
        assert part in told, part
    is_left_alone(project)
    assert waits(project) == []


def test_given_plan_mode_runs_when_specs_exist_then_implementation_json_has_their_tasks(project: Project) -> None:
    project.config("true")
    project.write("specs/avatar.md", "# Avatar\n\n## Tasks\n- [ ] Do avatar-1\n- [ ] Do avatar-2\n")
    whole = spec("avatar", task("avatar-1"), task("avatar-2"), context="Use S3.")
    project.script({"match": "# From Specs to Tasks", "answer": {"version": 1, "specs": [whole]}})

    project.ralph("start", "plan")

    made = plan(project)
    assert (made["version"], made["updatedBy"]) == (1, "plan-mode")
    assert [one["description"] for one in made["specs"][0]["tasks"]] == ["Do avatar-1", "Do avatar-2"]
    assert set(statuses(project).values()) == {"pending"}
    assert made["specs"][0]["context"] == "Use S3."


def test_given_implementation_json_exists_when_build_mode_starts_then_no_model_is_asked_to_read_it(
    project: Project,
) -> None:
    project.config("true")
    write_plan(project, spec("avatar", task("avatar-1", status="completed")))
    project.script({"exit": 1})

    done = project.ralph("start", "build")

    assert project.calls() == 0
    assert "specs: complete" in done.stdout
    next_one = json.loads(project.ralph("next", "specs", "--json").stdout)
    assert next_one == [
        {"target": "specs", "workflow": "specs", "accepted": [], "needs": [], "state": "done", "next": None}
    ]


def test_a_file_whose_name_is_no_text_is_built_retried_and_committed_like_any_other(project: Project) -> None:
    project.config("test -f proof.txt")
    write_plan(project, spec("avatar", task("avatar-1")))
    odd = {"run": [r"printf x > $(printf 'caf\351.txt')"]}
    project.script(builds("avatar-1", "claim.txt", times=1, **odd), builds("avatar-1", "proof.txt"))

    project.ralph("start", "build")

    assert statuses(project)["avatar"] == "completed"
    [line] = tasks(project)["avatar-1"]["tried"]
    assert "caf" in line
    assert r'"caf\351.txt"' in made(project, commit_of(project, "feat: Avatar"))
