"""R1.8, RX.6: what has passed and waits for its spec's commit is neither lost, nor taken, nor taken back."""

from __future__ import annotations

import pytest

from tests.acceptance.specs import (
    BRANCH,
    PENDING,
    builds,
    commit_of,
    commits,
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

TWO = (task("a-1"), task("a-2"))


def test_what_passed_waits_with_its_state_and_becomes_one_commit_when_its_spec_is_done(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt"))

    project.ralph("start", "build", "--once")

    assert waits(project) == ["one.txt"]
    assert subjects(project) == ["Specs and plan", "A project"], "nothing of it is on the branch"
    assert statuses(project) == {"a": "in_progress", "a-1": "completed", "a-2": "pending"}
    assert tasks(project)["a-1"]["result"]["commit"] in ("", None), "it has no commit yet that will stay"

    project.ralph("start", "build")

    commit = commit_of(project, "feat: A")
    assert subjects(project) == ["feat: A", "Specs and plan", "A project"]
    assert made(project, commit) == ["one.txt", "two.txt"]
    assert project.git("log", "-1", "--format=%(trailers:key=Ralph-Spec,valueonly)", commit).strip() == "a"
    assert [one["result"]["commit"] for one in tasks(project).values()] == [commit] * 2
    assert project.git("for-each-ref", PENDING) == ""
    assert "implementation.json" in project.git("show", "--format=", "--name-only", commit).splitlines()
    is_left_alone(project)


@pytest.mark.parametrize(
    "tidies",
    [
        "git clean -ffdxq",
        "git stash -qu",
        "git checkout -q .",
        "git reset -q --hard",
        "git add -A; git commit -qm 'feat: mine'; git update-ref -d HEAD",
    ],
)
def test_an_agent_that_tidies_up_or_commits_changes_nothing_for_what_earlier_tasks_made(
    project: Project, tidies: str
) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt", run=[tidies, "echo x > two.txt"]))

    project.ralph("start", "build")

    assert project.calls() == 2
    assert made(project, commit_of(project, "feat: A")) == ["one.txt", "two.txt"]
    assert project.git("stash", "list") == ""
    assert "feat: mine" not in project.git("log", "--all", "--format=%s").splitlines()


def hook(project: Project, text: str) -> None:
    path = project.write(".git/hooks/pre-commit", f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_hook_that_refuses_the_specs_commit_is_mended_by_an_agent_and_no_task_is_taken_back(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    staged = project.folder / "staged"
    refuse = "test -f licence.txt || { echo 'no licence'; exit 1; }"
    hook(project, f"git diff --cached --name-only > {staged}; {refuse}")
    mend = {"match": "(?s)# Fix: A.*no licence", "write": {"licence.txt": "x"}, "then": ["<TASK_DONE>"]}
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt"), mend)

    done = project.ralph("start", "build")

    assert "The commit failed in a git hook" in done.stdout and "no licence" in done.stdout
    assert project.calls() == 3
    assert subjects(project)[0] == "feat: A"
    assert made(project, commit_of(project, "feat: A")) == ["licence.txt", "one.txt", "two.txt"]
    judged = set(staged.read_text().splitlines())
    assert {"licence.txt", "one.txt", "two.txt"} <= judged, "the hook judges all that the commit will hold"


def test_a_hook_that_changes_the_specs_commit_is_followed_and_the_gates_see_it(project: Project) -> None:
    project.config("! grep -qs bad one.txt", maxRetries=1)
    write_plan(project, spec("a", task("a-1")))
    hook(project, "echo formatted >> one.txt; git add one.txt")
    project.script(builds("a-1", "one.txt"))

    project.ralph("start", "build")

    assert project.landed("one.txt", BRANCH) == "x\nformatted"


def test_a_hook_that_always_refuses_ends_the_run_and_the_work_still_waits(project: Project) -> None:
    project.config("true", maxRetries=2)
    write_plan(project, spec("a", *TWO))
    hook(project, "echo never; exit 1")
    mend = {"match": "# Fix: A", "run": ["date +%N > mend.txt"], "then": ["<TASK_DONE>"]}
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt"), mend)

    done = project.ralph("start", "build", code=3)

    assert "a cannot be committed: The commit failed in a git hook" in done.stdout
    assert project.calls() == 3
    assert statuses(project) == {"a": "in_progress", "a-1": "completed", "a-2": "completed"}
    assert waits(project) == ["one.txt", "two.txt"]
    (project.path / ".git/hooks/pre-commit").unlink()
    project.ralph("retry", "specs")
    project.ralph("start", "build")
    assert subjects(project)[0] == "feat: A"
    assert made(project, commit_of(project, "feat: A")) == ["one.txt", "two.txt"]
    assert project.calls() == 3, "nothing was made again"


def test_a_person_commits_in_their_checkout_while_an_agent_works_and_it_stays_there(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    person = "env -i HOME=$HOME PATH=$PATH"  # as from a terminal of theirs
    theirs = f"cd {project.path} && echo n > notes.txt && {person} git add notes.txt && {person} git commit -qm mine"
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt", run=[theirs]))

    project.ralph("start", "build")

    assert project.subjects("main")[0] == "mine"
    assert subjects(project)[:2] == ["feat: A", "Specs and plan"]
    assert made(project, commit_of(project, "feat: A")) == ["one.txt", "two.txt"]
    is_left_alone(project)


def test_whoever_moves_the_branch_below_waiting_work_during_a_run_is_undone_and_it_is_kept(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    stray = f"cd {project.path} && git update-ref refs/heads/{BRANCH} $(git commit-tree -m stray main~1^{{tree}})"
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt", run=[stray]))

    done = project.ralph("start", "build")

    assert f"Another process moved {BRANCH}" in done.stdout
    assert subjects(project) == ["feat: A", "Specs and plan", "A project"]
    kept = project.git("for-each-ref", "--format=%(refname)", "refs/ralph/strays")
    assert project.git("log", "-1", "--format=%s", kept) == "stray"


def test_what_was_committed_long_ago_is_never_taken_back_by_a_later_failure(project: Project) -> None:
    project.config("test ! -f red.txt", maxRetries=1)
    write_plan(project, spec("a", *TWO), spec("b", task("b-1"), priority=2))
    blocked = {"match": "# Task: Do a-2", "then": ['<TASK_BLOCKED reason="later">']}
    project.script(builds("a-1", "one.txt"), blocked, builds("b-1", "three.txt"))
    project.ralph("start", "build", code=3)
    commits(project, "mine", user__txt="mine\n", red__txt="outside\n")

    project.ralph("retry", "specs")
    project.ralph("start", "build", code=3)

    assert {"one.txt", "three.txt", "user.txt"} <= set(project.files_in(BRANCH))
    assert subjects(project)[:3] == ["mine", "feat: B", "feat: A (partial)"]


def test_a_spec_without_new_work_keeps_the_commit_that_it_has(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    blocked = {"match": "# Task: Do a-2", "then": ['<TASK_BLOCKED reason="later">']}
    project.script(builds("a-1", "one.txt"), blocked)
    project.ralph("start", "build", code=3)
    first = plan(project)["specs"][0]["result"]["commit"]
    assert first == commit_of(project, r"feat: A \(partial\)")
    commits(project, "mine", user__txt="mine\n")

    project.ralph("accept", "specs", "a-2", "--why", "not wanted", "--yes")
    project.ralph("start", "build")

    assert plan(project)["specs"][0]["result"]["commit"] == first
    assert subjects(project)[:2] == ["mine", "feat: A (partial)"], "there was nothing to commit"
    assert "## A: completed" in progress(project).rpartition("## A: partial")[2]


def test_a_spec_whose_file_goes_while_it_is_half_built_is_committed_all_the_same(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    project.script(builds("a-1", "one.txt"))
    project.ralph("start", "build", "--once")
    (project.path / "specs/a.md").unlink()
    project.write("specs/b.md", "# B\n- [ ] Do b-1\n")
    project.git("add", "specs")
    project.git("commit", "-qm", "another spec")
    project.script(
        {"match": "# From Specs to Tasks", "answer": {"version": 1, "specs": [spec("b", task("b-1"))]}},
        builds("b-1", "b.txt"),
    )

    project.ralph("start", "plan")
    assert waits(project) == ["one.txt"], "a plan made anew leaves it where it is"
    project.ralph("start", "build")

    assert subjects(project)[:2] == ["feat: B", "feat: A"]
    assert made(project, commit_of(project, "feat: A")) == ["one.txt"]
    assert statuses(project) == {"a": "completed", "a-1": "completed", "b": "completed", "b-1": "completed"}


def test_no_agent_adds_a_spec(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", task("a-1")))
    project.script(builds("a-1", "specs/evil.md", times=1), builds("a-1", "one.txt"))

    project.ralph("start", "build")

    assert not project.exists("specs/evil.md")
    assert "specs/evil.md" not in project.files_in(BRANCH)
