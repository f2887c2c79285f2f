"""Specs side by side: each on a line of its own, its tasks in their order, one commit for each."""

from __future__ import annotations

import pytest

from tests.acceptance.specs import (
    BRANCH,
    builds,
    commit_of,
    is_left_alone,
    made,
    plan,
    spec,
    statuses,
    subjects,
    task,
    tasks,
    write_plan,
)
from tests.conftest import Project
from tests.instants import resumed, states

LINES = "refs/ralph/lines"


def free(name: str, *names: str, needs: tuple[str, ...] = (), priority: int = 1) -> dict[str, object]:
    """A spec that says what it depends on."""
    return spec(name, *map(task, names), dependsOn=list(needs), priority=priority)


def meets(count: int) -> str:
    """A command that waits until so many agents are at work at the same time; run in a slot."""
    file = "../../../../../together"
    return f"echo x >> {file}; while [ $(wc -l < {file}) -lt {count} ]; do sleep 0.02; done"


def test_independent_specs_are_built_at_the_same_time_and_each_commit_has_only_its_own_work(project: Project) -> None:
    project.config("true")
    write_plan(project, free("a", "a-1", "a-2"), free("b", "b-1", "b-2", priority=2))
    project.script(
        builds("a-1", "a1.txt", run=[meets(2)]),
        builds("b-1", "b1.txt", run=[meets(2)]),
        builds("a-2", "a2.txt", run=["test -f a1.txt && test ! -f b1.txt || rm a1.txt"]),
        builds("b-2", "b2.txt", run=["test -f b1.txt && test ! -f a1.txt || rm b1.txt"]),
    )

    done = project.ralph("run", "specs", "--jobs", "2")

    assert project.calls() == 4, done.stdout
    assert sorted(subjects(project)[:2]) == ["feat: A", "feat: B"]
    assert made(project, commit_of(project, "feat: A")) == ["a1.txt", "a2.txt"], "each builds on its own spec only"
    assert made(project, commit_of(project, "feat: B")) == ["b1.txt", "b2.txt"]
    assert set(statuses(project).values()) == {"completed"}
    assert {one["result"]["commit"] for one in tasks(project).values()} == {
        commit_of(project, "feat: A"),
        commit_of(project, "feat: B"),
    }
    assert project.git("for-each-ref", LINES, "refs/ralph/pending") == "", "nothing is left over"
    is_left_alone(project)


def test_a_spec_waits_for_those_it_depends_on_and_sees_their_work(project: Project) -> None:
    project.config("true")
    write_plan(project, free("a", "a-1"), free("b", "b-1"), free("c", "c-1", needs=("a",), priority=0))
    project.script(
        builds("a-1", "a.txt", run=[meets(2)]),
        builds("b-1", "b.txt", run=[meets(2)]),
        builds("c-1", "c.txt", run=["test -f a.txt || rm -f c.txt"]),
    )

    project.ralph("run", "specs", "--jobs", "3")

    assert "c.txt" in project.files_in(BRANCH)
    log = subjects(project)
    assert log.index("feat: C") < log.index("feat: A")


def test_what_depends_on_a_blocked_spec_is_not_built_also_without_jobs(project: Project) -> None:
    project.config("true")
    write_plan(project, free("a", "a-1"), free("b", "b-1", needs=("a",)))
    project.script({"match": "# Task: Do a-1", "then": ['<TASK_BLOCKED reason="no">']})

    done = project.ralph("run", "specs", code=3)

    assert "waiting for them: b-1" in done.stdout
    assert statuses(project)["b"] == "pending"


def test_specs_that_say_nothing_of_their_dependencies_are_built_one_after_another(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", task("a-1")), spec("b", task("b-1"), priority=2))
    project.script(
        builds("a-1", "a.txt", run=["sleep 0.3"]), builds("b-1", "b.txt", run=["test -f a.txt || rm -f b.txt"])
    )

    done = project.ralph("run", "specs", "--jobs", "2")

    assert "No two tasks of this plan can run at the same time" in done.stderr
    assert "add `dependsOn` to them" in done.stderr
    assert subjects(project)[:2] == ["feat: B", "feat: A"]
    assert "b.txt" in project.files_in(BRANCH)


def until(what: str) -> str:
    """A command that waits until git knows something in the person's repository."""
    return f"until git -C ../../../.. {what} >/dev/null 2>&1; do sleep 0.02; done"


def test_two_specs_that_conflict_are_merged_by_an_agent_and_no_task_is_built_again(project: Project) -> None:
    project.config("! grep -qs '<<<<' same.txt", maxRetries=1)
    write_plan(project, free("a", "a-1"), free("b", "b-1", "b-2", priority=2))
    project.script(
        builds("a-1", "same.txt", "a\n", run=[until(f"rev-parse --verify {LINES}/specs/b")]),
        builds("b-1", "same.txt", "b\n"),
        builds("b-2", "b2.txt", run=[until(f"cat-file -e {BRANCH}:same.txt")]),
        {"match": "# Fix: B", "run": ["printf 'a\\nb\\n' > same.txt"], "then": ["<TASK_DONE>"]},
    )

    project.ralph("run", "specs", "--jobs", "2")

    assert project.calls() == 4
    asked = project.prompts()[-1]
    assert "It conflicts with work that landed after this attempt began, in same.txt" in asked
    assert "Both versions are in same.txt, with conflict markers" in asked
    assert project.git("show", f"{BRANCH}:same.txt") == "a\nb"
    assert made(project, commit_of(project, "feat: B")) == ["b2.txt", "same.txt"]
    assert [one["failures"] for one in plan(project)["specs"]] == [0, 0], "a conflict is free"
    assert subjects(project)[:2] == ["feat: B", "feat: A"]


def test_a_spec_that_cannot_be_committed_stops_only_what_comes_after_it(project: Project) -> None:
    project.config("true", maxRetries=1)
    write_plan(project, free("a", "a-1"), free("b", "b-1", priority=2), spec("c", task("c-1"), priority=3))
    hook = project.write(
        ".git/hooks/pre-commit", "#!/bin/sh\ngit diff --cached --name-only | grep -q a.txt && exit 1 || :\n"
    )
    hook.chmod(0o755)
    project.script(builds("a-1", "a.txt"), builds("b-1", "b.txt"), builds("c-1", "c.txt"))

    done = project.ralph("run", "specs", code=3)

    assert "a cannot be committed" in done.stdout
    assert statuses(project) == {
        "a": "in_progress", "a-1": "completed", "b": "completed", "b-1": "completed", "c": "pending", "c-1": "pending",
    }  # fmt: skip
    assert project.git("for-each-ref", "--format=%(refname)", LINES) == f"{LINES}/specs/a"
    hook.unlink()
    project.ralph("retry", "specs")
    project.ralph("run", "specs")
    assert project.calls() == 3, "nothing is built again"
    assert made(project, commit_of(project, "feat: A")) == ["a.txt"]


def test_stopped_in_the_middle_of_two_specs_the_plan_and_the_work_are_both_there(project: Project) -> None:
    project.config("true")
    write_plan(project, free("a", "a-1", "a-2"), free("b", "b-1", "b-2", priority=2))
    stop = "kill -INT $(grep -o '\"pid\": *[0-9]*' ../../../ralph.lock | grep -o '[0-9]*' | head -1); sleep 20"
    project.script(
        builds("a-1", "a1.txt"),
        builds("b-1", "b1.txt"),
        builds("a-2", "a2.txt", run=[meets(2)], times=1),
        builds("b-2", "b2.txt", run=[meets(2), stop], times=1),
        builds("a-2", "a2.txt"),
        builds("b-2", "b2.txt"),
    )

    project.ralph("run", "specs", "--jobs", "2", code=130)

    assert [statuses(project)[name] for name in ("a-1", "b-1")] == ["completed"] * 2
    assert subjects(project)[0] == "Specs and plan", "no spec is complete"
    assert len(project.git("for-each-ref", LINES).splitlines()) == 2
    project.ralph("run", "specs")

    assert made(project, commit_of(project, "feat: A")) == ["a1.txt", "a2.txt"]
    assert made(project, commit_of(project, "feat: B")) == ["b1.txt", "b2.txt"]


AGENT = r"""
case "$(cat)" in
*"# Task: Do a-1"*) echo a >> same.txt; sort -u -o same.txt same.txt; sed -i '/[<=>]/d' same.txt ;;
*"# Task: Do b-1"*) echo b >> same.txt; sed -i '/[<=>]/d' same.txt; sort -u -o same.txt same.txt ;;
*"# Task: Do b-2"*) echo b > b2.txt ;;
*"# Fix: "*) sed -i '/[<=>]/d' same.txt; sort -u -o same.txt same.txt ;;
esac
echo '<TASK_DONE>'
"""


@pytest.mark.long
def test_killed_at_any_instant_both_specs_are_committed_once_and_whole(project: Project) -> None:
    agent = project.folder / "agent.sh"
    agent.write_text(AGENT)
    project.config("! grep -qs '<<<<' same.txt", maxRetries=2, provider={"command": "/bin/sh", "args": [str(agent)]})
    write_plan(project, free("a", "a-1"), free("b", "b-1", "b-2", priority=2))
    for _ in states(project, "run", "specs", "--jobs", "2", least=60):
        if not resumed(project, "run", "specs", "--jobs", "2"):
            continue
        assert sorted(subjects(project)) == ["A project", "Specs and plan", "feat: A", "feat: B"]
        assert set(statuses(project).values()) == {"completed"}
        assert {"b2.txt", "same.txt"} <= set(project.files_in(BRANCH))
        assert project.git("show", f"{BRANCH}:same.txt") == "a\nb"
        assert made(project, commit_of(project, "feat: A")) == ["same.txt"]
        assert made(project, commit_of(project, "feat: B")) == ["b2.txt", "same.txt"]
        assert project.git("for-each-ref", LINES, "refs/ralph/pending") == ""
        is_left_alone(project)
