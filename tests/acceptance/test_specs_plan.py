"""R1.2: plan mode asks until nothing is forgotten, and never loses what was done or what a person wrote."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.acceptance.specs import BRANCH, Json, builds, is_left_alone, plan, spec, statuses, task, tasks, write_plan
from tests.conftest import Project, processes_in, wait_for

PLANNING = "# From Specs to Tasks"
LISTED = "# Avatar\n\nPictures.\n\n## Tasks\n- [ ] Do avatar-1\n- [ ] Do avatar-2\n"
AVATAR = f"{LISTED}\n## Acceptance Criteria\n- [ ] It is round\n"
LOGIN = "# Login\n\n## Tasks\n- [ ] Do login-1\n"
BOTH = (spec("avatar", task("avatar-1"), task("avatar-2")), spec("login", task("login-1"), priority=2))


def answers(*specs: Json, **more: Any) -> Json:
    """A turn that gives a plan."""
    return {"match": PLANNING, "answer": {"version": 1, "specs": list(specs)}, **more}


@pytest.fixture
def ready(project: Project) -> Project:
    """Two specs and nothing planned."""
    project.config("true")
    project.write("specs/avatar.md", AVATAR)
    project.write("specs/login.md", LOGIN)
    project.git("add", "-A")
    project.git("commit", "-qm", "Specs")
    return project


@pytest.fixture
def planned(project: Project) -> Project:
    """A plan on its way: something completed, something blocked, something not begun, a field of a person's."""
    project.config("true")
    done = task("avatar-1", status="completed", attempts=1, result={"completedAt": "2026-01-01", "commit": "abc"})
    stuck = task("avatar-2", status="blocked", notes="nobody knows", attempts=3, retries=3, mine="kept")
    write_plan(project, spec("avatar", done, stuck, task("avatar-3")), spec("login", task("login-1"), priority=2))
    return project


def test_what_a_plan_forgets_is_named_with_its_line_and_asked_for_again(ready: Project) -> None:
    forgetful = spec("avatar", task("avatar-1"))
    ready.script(
        {"match": PLANNING, "times": 1, "say": ["Here is the plan!"], "answer": "1. Do avatar-1\n2. Do the rest\n"},
        answers(forgetful, times=1),
        answers(*BOTH),
    )

    done = ready.ralph("start", "plan")

    first, second, third = ready.prompts()
    assert "Could Not Be Used" not in first
    assert "specs/avatar.md" in first and "Do avatar-2" in first
    assert "not valid JSON" in second
    assert "specs/avatar.md:7: no task covers 'Do avatar-2'" in third
    assert "specs/login.md: the plan has no spec for this file; add it with id 'login'" in third
    assert "The answer cannot be used: specs/login.md: the plan has no spec for this file" in done.stdout
    assert "(and 1 more)" in done.stdout
    assert [one["id"] for one in plan(ready)["specs"]] == ["avatar", "login"]
    assert plan(ready)["specs"][0]["acceptanceCriteria"] == ["It is round"], "a criterion it left out is added"
    assert "added 1 criterion from the specs" in done.stdout
    assert "wrote implementation.json: 2 specs, 3 tasks" in done.stdout
    assert "→ Read it, edit it if you like, then run `ralph run specs`." in done.stdout
    assert [event["reason"].splitlines()[0][:25] for event in ready.events("step_retried")] == [
        "The answer cannot be used"
    ] * 2
    (ended,) = ready.events("attempt_ended")
    assert (ended["verdict"], ended["usage"]["calls"]) == ("passed", 3), "one question is one attempt, of three calls"
    assert ready.git("log", "--format=%s") == "Specs\nA project", "planning commits nothing"


@pytest.mark.parametrize("before", ["a plan", "no plan"])
def test_after_three_bad_answers_everything_is_as_it_was(planned: Project, before: str) -> None:
    if before == "no plan":
        planned.git("rm", "-q", "implementation.json")
        planned.git("commit", "-qm", "No plan")
    forged = json.dumps({"version": 1, "specs": [spec("avatar", task("x"))]})
    helpful = {"write": {"implementation.json": forged}} if before == "no plan" else {}
    path = planned.path / "implementation.json"
    old = path.read_bytes() if path.exists() else None
    planned.script(answers(spec("avatar", task("avatar-1")), **helpful))

    said = planned.ralph("start", "plan", code=1).stderr

    assert planned.calls() == 3
    assert "The agent gave no usable answer in 3 tries" in said
    assert "Nothing was changed." in said
    assert (path.read_bytes() if path.exists() else None) == old, "an agent that writes the plan itself is undone"
    assert [line for line in planned.status() if line != "?? .ralph/"] == []


def test_planning_again_keeps_what_was_done_or_tried_and_says_what_changed(planned: Project) -> None:
    planned.write("specs/avatar.md", "# Avatar\n\n## Tasks\n- [x] Do avatar-1\n- [ ] Do avatar-4\n")
    (planned.path / "specs/login.md").unlink()
    planned.write("specs/search.md", "# Search\n\nFind things, quickly.\n")
    forgets_history = spec("avatar", task("avatar-1", status="pending"), task("avatar-4"))
    planned.script(answers(forgets_history, spec("search", task("search-1"), priority=3)))
    old = tasks(planned)

    done = planned.ralph("start", "plan")

    assert statuses(planned) == {
        "avatar": "in_progress", "avatar-1": "completed", "avatar-2": "blocked", "avatar-4": "pending",
        "search": "pending", "search-1": "pending",
    }  # fmt: skip
    assert {name: tasks(planned)[name] for name in ("avatar-1", "avatar-2")} == {
        name: old[name] for name in ("avatar-1", "avatar-2")
    }, "attempts, results, notes and a person's fields stay"
    for change in (
        "new task avatar-4: Do avatar-4",
        "removed avatar-3",
        "specs/login.md no longer exists: removed login-1",
        "new spec search",
    ):
        assert f"  {change}\n" in done.stdout.partition("What changed:\n")[2], change
    assert "`avatar-2` (blocked, spec `avatar`): Do avatar-2" in planned.prompts()[0]

    planned.script(answers(*plan(planned)["specs"]))
    again = planned.ralph("start", "plan")

    assert "Nothing changed." in again.stdout
    assert {name: one["status"] for name, one in tasks(planned).items()}["avatar-2"] == "blocked"


def test_the_id_of_a_task_that_was_tried_cannot_be_taken_for_other_work(planned: Project) -> None:
    other = spec("avatar", task("avatar-1"), task("avatar-2", "Paint the fence green"), task("avatar-3"))
    planned.write("specs/avatar.md", "# Avatar\n\n## Tasks\n- [ ] Do avatar-1\n- [ ] Do avatar-3\n")
    planned.script(answers(other, plan(planned)["specs"][1]))

    said = planned.ralph("start", "plan", code=1).stderr

    taken = "the task id 'avatar-2' is taken: it is blocked and says 'Do avatar-2'"
    assert f"{taken}; keep its text or what it covers, or use another id" in said


@pytest.mark.parametrize("what", ["the plan", "the configuration"])
def test_an_agent_that_changes_files_while_it_plans_is_undone_and_asked_again(planned: Project, what: str) -> None:
    file, wrong = {
        "the plan": ("implementation.json", "sed -i s/blocked/completed/ implementation.json"),
        "the configuration": ("ralph.config.json", "echo '{}' > ralph.config.json"),
    }[what]
    before = planned.read(file)
    whole = answers(*plan(planned)["specs"])
    planned.script({**whole, "run": [wrong], "times": 1}, whole)

    done = planned.ralph("start", "plan")

    assert "The agent broke the rules: it changed" in done.stdout
    assert file in planned.prompts()[1]
    assert statuses(planned)["avatar-2"] == "blocked"
    if what != "the plan":
        assert planned.read(file) == before


def test_an_agent_that_makes_a_spec_shorter_while_it_plans_has_no_less_to_do(ready: Project) -> None:
    """It works in a copy that is thrown away; the plan is checked against the text it was asked for."""
    shorter = AVATAR.replace("- [ ] Do avatar-2\n", "")
    only = spec("avatar", task("avatar-1"))
    ready.script(answers(only, BOTH[1], times=1, write={"specs/avatar.md": shorter}), answers(*BOTH))

    done = ready.ralph("start", "plan")

    assert "no task covers 'Do avatar-2'" in done.stdout
    assert set(tasks(ready)) == {"avatar-1", "avatar-2", "login-1"}
    assert ready.read("specs/avatar.md") == AVATAR
    is_left_alone(ready, "?? implementation.json")


def test_a_spec_that_a_person_changes_while_the_agent_plans_counts_as_not_planned(ready: Project) -> None:
    shorter = AVATAR.replace("- [ ] Do avatar-2\n", "")
    (ready.folder / "shorter.md").write_text(shorter)
    person = f"cp {ready.folder}/shorter.md {ready.path}/specs/avatar.md"
    ready.script(answers(*BOTH, run=[person]))

    done = ready.ralph("start", "plan")

    assert set(tasks(ready)) == {"avatar-1", "avatar-2", "login-1"}
    assert "! specs/avatar.md has changed since it was planned. Run `ralph plan --from specs/`." in done.stderr
    assert ready.read("specs/avatar.md") == shorter
    ready.script(builds("avatar-1", "1.txt"), builds("avatar-2", "2.txt"), builds("login-1", "3.txt"))
    assert "! specs/avatar.md has changed since it was planned" in ready.ralph("start", "build").stderr
    assert ready.landed("specs/avatar.md", BRANCH) == AVATAR.strip(), "what is not committed stays where it is"
    is_left_alone(ready, "M specs/avatar.md", "?? implementation.json")


def hold(project: Project, *more: str) -> Any:
    """A planning run whose agent has written the plan it must not write, and hangs."""
    forged = json.dumps({"version": 1, "specs": [spec("avatar", task("avatar-1", status="completed"))]})
    hang = f"setsid sleep 300 & touch {project.folder}/begun; sleep 300"
    project.script({**answers(*BOTH), "write": {"implementation.json": forged}, "run": [hang]})
    run = project.start("start", "plan", *more)
    wait_for((project.folder / "begun").exists)
    return run


@pytest.mark.parametrize("before", ["a plan", "no plan"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_ended_while_it_plans_nothing_is_different_and_it_can_be_run_again(
    ready: Project, name: str, before: str
) -> None:
    if before == "a plan":
        write_plan(ready, *BOTH)
        ready.write("specs/avatar.md", AVATAR)
        ready.git("commit", "-qam", "As it was")
    path = ready.path / "implementation.json"
    old = path.read_bytes() if path.exists() else None
    run = hold(ready)
    run.send_signal(getattr(signal, name))
    out, _ = run.communicate(timeout=20)

    assert (path.read_bytes() if path.exists() else None) == old
    is_left_alone(ready)
    if name == "SIGKILL":
        assert run.returncode == -signal.SIGKILL
        ready.script({"exit": 1})
        said = ready.ralph("start", "build", "--once", code=3 if old else 1)
        assert "avatar-1 failed" in said.stdout if old else "There is no plan from specs" in said.stderr
    else:
        assert run.returncode == 130, out
        assert "Interrupted." in out and "Nothing was changed. Run the command again." in out
        assert processes_in(ready.folder) == []
    ready.script(answers(*BOTH))
    ready.ralph("start", "plan")
    assert "completed" not in statuses(ready).values(), "nobody has done anything"
    assert set(tasks(ready)) == {"avatar-1", "avatar-2", "login-1"}
    assert processes_in(ready.folder) == []


def test_json_quiet_and_model_do_what_they_say(ready: Project) -> None:
    ready.config(
        "true",
        provider={"modelArgs": ["--", "{model}"], "command": "/bin/sh", "args": [str(ready.folder / "agent.sh")]},
    )
    ready.git("commit", "-qam", "Another agent")
    answer = json.dumps({"version": 1, "specs": BOTH})
    to = "$(grep -o 'to the file `[^`]*`' | tail -1 | cut -d'`' -f2)"
    (ready.folder / "agent.sh").write_text(f'echo "$@" > {ready.folder}/model; cat > "{to}" << END\n{answer}\nEND\n')

    told = json.loads(ready.ralph("start", "plan", "--json", "--model", "wise").stdout)

    assert told["implementation"] == plan(ready)
    assert told["changes"] == [
        "new spec avatar", "new task avatar-1: Do avatar-1", "new task avatar-2: Do avatar-2",
        "new spec login", "new task login-1: Do login-1",
    ]  # fmt: skip
    assert (ready.folder / "model").read_text() == "-- wise\n"
    assert ready.ralph("start", "plan", "-q").stdout.startswith(
        "\n1. Avatar (specs/avatar.md)\n   · avatar-1  Do avatar-1"
    )
    refused = ready.ralph("start", "plan", "--once", code=1).stderr
    assert "`ralph start plan` takes only --model, --quiet and --json." in refused


BAD = {
    "no folder": ({}, "There is no folder"),
    "an empty folder": ({"README.md": b"# How to write specs\n", "notes.txt": b"x"}, "There are no specs in"),
    "an empty spec": ({"a.md": b" \n\n"}, "specs/a.md: empty; describe what you want, or remove it"),
    "not UTF-8": ({"a.md": b"# A\n\ncaf\xe9\n"}, "specs/a.md: not UTF-8 text (line 3); save it as UTF-8"),
    "two files with one id": (
        {"User Login.md": b"# A\n", "user-login.md": b"# B\n"},
        "specs/User Login.md and specs/user-login.md would both have the id 'user-login'; rename one",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_specs_that_cannot_be_planned_are_named_before_any_agent_is_asked(project: Project, what: str) -> None:
    files, message = BAD[what]
    project.config("true")
    project.script({"exit": 1})
    for name, data in files.items():
        project.write(f"specs/{name}", "").write_bytes(data)

    said = project.ralph("start", "plan", code=1).stderr

    assert message in said
    assert said.startswith("ralph: ") and "\n→ " in said
    assert project.calls() == 0
    assert not project.exists("implementation.json")


def test_a_spec_without_any_list_is_the_agents_to_divide(project: Project) -> None:
    project.config("true")
    project.write("specs/search.md", "Find things, and quickly.\n")
    project.script(answers({"id": "search", "tasks": []}, times=1), answers({"id": "search", "tasks": [task("s-1")]}))

    done = project.ralph("start", "plan")

    assert "specs[0].tasks: 'search' has no tasks" in done.stdout
    made = plan(project)["specs"][0]
    assert (made["id"], made["file"], made["name"], made["priority"]) == ("search", "specs/search.md", "Search", 1)
