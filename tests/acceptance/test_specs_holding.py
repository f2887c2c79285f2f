"""R1.8, RX.6: what has passed and waits for its spec's commit is neither lost, nor taken, nor taken back."""

from __future__ import annotations

from tests.acceptance.specs import builds, plan, spec, statuses, subjects, task, write_plan
from tests.conftest import Project

TWO = (task("a-1"), task("a-2"))


def test_an_agent_that_tidies_up_with_git_does_not_throw_away_what_earlier_tasks_made(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    tidy = builds("a-2", "two.txt", times=1, run=["git clean -fdq", "echo x > two.txt"])
    stash = builds("a-2", "two.txt", times=1, run=["git stash -qu", "echo x > two.txt"])
    project.script(builds("a-1", "one.txt"), tidy, stash, builds("a-2", "two.txt"))

    done = project.ralph("start", "build")

    assert "it threw away what earlier tasks have made (one.txt)" in done.stdout
    assert project.git("show", "--format=", "--name-only", "HEAD~1").splitlines() == ["one.txt", "two.txt"]
    assert [event["verdict"] for event in project.events("attempt_ended")].count("failed") == 2


def test_a_hook_that_refuses_the_specs_commit_is_mended_by_an_agent_and_no_task_is_taken_back(project: Project) -> None:
    hook = project.write(".git/hooks/pre-commit", "#!/bin/sh\ntest -f licence.txt || { echo 'no licence'; exit 1; }\n")
    hook.chmod(0o755)
    project.config("true")
    write_plan_without_hooks(project)
    mend = {"match": "(?s)# Mend: A.*no licence", "write": {"licence.txt": "x"}, "then": ["<TASK_DONE>"]}
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt"), mend)

    done = project.ralph("start", "build")

    assert "no licence" in done.stdout
    assert subjects(project)[0] == "feat: A"
    assert set(project.git("show", "--format=", "--name-only", "HEAD~1").split()) == {
        "licence.txt",
        "one.txt",
        "two.txt",
    }


def test_a_hook_that_always_refuses_ends_the_run_and_the_work_stays_where_it_is(project: Project) -> None:
    hook = project.write(".git/hooks/pre-commit", "#!/bin/sh\necho never; exit 1\n")
    hook.chmod(0o755)
    project.config("true", maxRetries=2)
    write_plan_without_hooks(project)
    mend = {"match": "# Mend: A", "run": ["date +%N > mend.txt"], "then": ["<TASK_DONE>"]}
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt"), mend)

    done = project.ralph("start", "build", code=3)

    assert "a cannot be committed: A git hook refused the commit" in done.stdout
    assert project.calls() == 3
    assert statuses(project) == {"a": "in_progress", "a-1": "completed", "a-2": "completed"}
    assert project.exists("one.txt") and project.exists("two.txt") and not project.exists("mend.txt")
    hook.unlink()
    project.ralph("retry", "specs")
    project.ralph("start", "build")
    assert subjects(project)[0] == "feat: A"
    assert project.calls() == 3, "nothing was made again"


def test_a_persons_commit_while_an_agent_works_stays_theirs(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    theirs = "env -u GIT_COMMITTER_EMAIL git commit -qm 'mine' -- notes.txt"
    both = ["echo n > notes.txt; git add notes.txt", theirs, "git add two.txt; git commit -qm 'the agent commits'"]
    project.script(builds("a-1", "one.txt"), builds("a-2", "two.txt", run=both))

    project.ralph("start", "build")

    assert subjects(project)[:2] == ["feat: A", "mine"]
    assert project.git("show", "--format=", "--name-only", "HEAD~1").splitlines() == ["one.txt", "two.txt"]


def test_what_was_committed_long_ago_is_never_taken_back_by_a_later_failure(project: Project) -> None:
    project.config("test ! -f red.txt", maxRetries=1)
    write_plan(project, spec("a", *TWO), spec("b", task("b-1"), priority=2))
    blocked = {"match": "# Task: Do a-2", "then": ['<TASK_BLOCKED reason="later">']}
    project.script(builds("a-1", "one.txt"), blocked, builds("b-1", "three.txt"))
    project.ralph("start", "build", code=3)
    project.write("user.txt", "mine\n")
    project.write("red.txt", "outside\n")
    project.git("add", "user.txt", "red.txt")
    project.git("commit", "-qm", "mine")

    project.ralph("retry", "specs")
    project.ralph("start", "build", code=3)

    assert {"one.txt", "three.txt", "user.txt"} <= set(project.files_in("HEAD"))
    assert [line for line in project.status() if line[1] == "D"] == []


def test_a_specs_commit_is_found_by_its_own_line_and_not_by_being_the_last(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", *TWO))
    blocked = {"match": "# Task: Do a-2", "then": ['<TASK_BLOCKED reason="later">']}
    project.script(builds("a-1", "one.txt"), blocked)
    project.ralph("start", "build", code=3)
    first = plan(project)["specs"][0]["result"]["commit"]
    project.write("user.txt", "mine\n")
    project.git("add", "user.txt")
    project.git("commit", "-qm", "mine")

    project.ralph("accept", "specs", "a-2", "--why", "not wanted")
    project.ralph("start", "build")

    assert plan(project)["specs"][0]["result"]["commit"] == first
    assert "## A: completed" in project.read("PROGRESS.md").rpartition("## A: partial")[2]


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
    project.ralph("start", "build")

    assert subjects(project)[:2] == ["feat: B", "feat: A"]
    assert statuses(project) == {"a": "completed", "a-1": "completed", "b": "completed", "b-1": "completed"}


def test_no_agent_adds_a_spec(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", task("a-1")))
    project.script(builds("a-1", "specs/evil.md", times=1), builds("a-1", "one.txt"))

    project.ralph("start", "build")

    assert not project.exists("specs/evil.md")
    assert "specs/evil.md" not in project.files_in("HEAD")


def write_plan_without_hooks(project: Project) -> None:
    project.git("config", "core.hooksPath", "/nowhere")
    write_plan(project, spec("a", *TWO))
    project.git("config", "--unset", "core.hooksPath")
