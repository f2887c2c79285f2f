"""Whose work is whose while specs are built: a person's is sacred, what passed is kept, what is forged is undone."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.specs import (
    BRANCH,
    Json,
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
from tests.conftest import VERIFIED, Project, does

A1, A2, B1 = builds("a-1", "one.txt", "one\n"), builds("a-2", "two.txt", "two\n"), builds("b-1", "three.txt")
DONE = {"a": "completed", "a-1": "completed", "a-2": "completed"}


@pytest.fixture
def ready(project: Project) -> Project:
    """One spec of two tasks, committed with the configuration."""
    project.config("true", maxRetries=2)
    write_plan(project, spec("a", task("a-1"), task("a-2")))
    project.script(A1, A2)
    return project


@pytest.fixture
def half(ready: Project) -> Project:
    """The first task has passed; its work waits for the second."""
    ready.ralph("start", "build", "--once")
    assert waits(ready) == ["one.txt"]
    assert "one.txt" in ready.files_in("refs/ralph/attempts/specs/a-1/1")
    is_left_alone(ready)
    return ready


def finished(project: Project, *files: str) -> str:
    """The spec's one commit, which holds these files; nothing is left over."""
    assert statuses(project) == DONE
    assert subjects(project).count("feat: A") == 1
    commit = commit_of(project, "feat: A")
    assert made(project, commit) == sorted(files)
    assert waits(project) == []
    assert list(project.path.glob(".ralph/run/*/*.attempt.json")) == []
    assert project.git("worktree", "list").count("\n") == 0, "nothing holds the branch any more"
    return commit


# A person's files


def test_a_persons_changes_stay_as_they_are_and_are_no_part_of_what_is_built(ready: Project) -> None:
    ready.write("app.txt", "mine\n")
    ready.write("new.txt", "staged\n")
    ready.git("add", "new.txt")

    ready.ralph("start", "build")

    commit = finished(ready, "one.txt", "two.txt")
    assert ready.landed("app.txt", commit) == "app", "it works on what is committed"
    is_left_alone(ready, "M app.txt", "A  new.txt")
    assert ready.read("app.txt") == "mine\n"


def test_untracked_files_of_a_person_are_neither_committed_nor_lost(ready: Project) -> None:
    for name in ("notes.txt", "sp ace.txt", "dir/inner.txt"):
        ready.write(name, "mine\n")
    swept = "git add -A; git commit -qm swept; git clean -ffdxq"
    ready.script({**A1, "run": ["git add -A; git commit -qm 'feat: all of it'"]}, {**A2, "run": [swept]})

    ready.ralph("start", "build")

    finished(ready, "one.txt", "two.txt")
    assert ready.calls() == 2
    for name in ("notes.txt", "sp ace.txt", "dir/inner.txt"):
        assert ready.read(name) == "mine\n"
    is_left_alone(ready, "?? dir/", "?? notes.txt", '?? "sp ace.txt"')


# A spec that is half built


def test_a_person_commits_another_file_and_the_work_is_kept_on_top(half: Project) -> None:
    commits(half, "Mine", mine__txt="mine\n")

    half.ralph("start", "build")

    commit = finished(half, "one.txt", "two.txt")
    assert subjects(half)[:2] == ["feat: A", "Mine"]
    assert half.landed("mine.txt", commit) == "mine"
    assert half.calls() == 2, "what had passed is not done again"


def test_a_person_commits_the_same_file_and_an_agent_merges_both_versions(half: Project) -> None:
    commits(half, "Better", one__txt="better\n")
    merge = {
        "match": "(?s)# Fix: A.*with conflict markers",
        "write": {"one.txt": "better one\n"},
        "then": ["<TASK_DONE>"],
    }
    half.script(A2, merge)

    half.ralph("start", "build")

    commit = finished(half, "one.txt", "two.txt")
    assert half.landed("one.txt", commit) == "better one"
    assert half.landed("one.txt", "refs/ralph/attempts/specs/a-1/1") == "one", "the one that had passed is kept"


def test_a_person_commits_all_of_the_waiting_work_themselves(half: Project) -> None:
    commits(half, "I could not wait", one__txt="one\n")

    half.ralph("start", "build")

    finished(half, "two.txt")


def test_waiting_work_that_is_red_together_with_a_persons_commit_is_mended_before_it_is_committed(
    half: Project,
) -> None:
    half.config("! test -f one.txt || ! test -f mine.txt || test -f mended.txt", maxRetries=2)
    commits(half, "Mine", mine__txt="mine\n")
    half.script({**A2, "times": 1}, builds("a-2", "mended.txt"))

    half.ralph("start", "build")

    finished(half, "mended.txt", "one.txt", "two.txt")


@pytest.mark.parametrize("how", ["git clean -ffdxq", "git stash -qu", "git reset -q --hard"])
def test_whatever_is_done_to_the_checkout_the_waiting_work_waits(half: Project, how: str) -> None:
    half.git(*how.split()[1:])

    assert statuses(half)["a-1"] == "completed"
    half.ralph("start", "build")

    finished(half, "one.txt", "two.txt")
    assert half.calls() == 2


def test_waiting_work_whose_task_is_open_again_is_taken_out_and_its_next_attempt_shows_its_own(half: Project) -> None:
    """Otherwise an agent that finds it done could never show any work of its own."""
    first = half.git("rev-parse", "refs/ralph/attempts/specs/a-1/1")
    half.ralph("retry", "specs", "a-1")
    assert tasks(half)["a-1"].get("result") is None

    done = half.ralph("start", "build")

    assert "A task with pending work is open again" in done.stdout
    finished(half, "one.txt", "two.txt")
    assert half.git("rev-parse", "refs/ralph/attempts/specs/a-1/1") == first, "a number is never used twice"
    assert half.git("rev-parse", "refs/ralph/attempts/specs/a-1/2") != ""


def test_waiting_work_whose_task_is_tried_again_and_blocked_is_not_committed(half: Project) -> None:
    half.ralph("retry", "specs", "a-1")
    half.script({**A1, "then": ["<TASK_BLOCKED>"]}, A2)

    half.ralph("start", "build", code=3)

    assert statuses(half) == {"a": "blocked", "a-1": "blocked", "a-2": "completed"}
    assert made(half, commit_of(half, r"feat: A \(partial\)")) == ["two.txt"]
    assert "one.txt" not in half.files_in(BRANCH)
    assert half.landed("one.txt", "refs/ralph/attempts/specs/a-1/1") == "one", "it is kept"


def test_waiting_work_of_later_tasks_stays_when_an_earlier_one_is_open_again(project: Project) -> None:
    project.config("true")
    write_plan(project, spec("a", task("a-1"), task("a-2"), task("a-3")))
    builds_on = builds("a-2", "two.txt", append={"one.txt": "more\n"})
    project.script(A1, builds_on, builds("a-3", "three.txt"))
    for _ in (1, 2):
        project.ralph("start", "build", "--once")
    project.ralph("retry", "specs", "a-1")
    project.script(builds("a-1", "four.txt"), builds("a-3", "three.txt"))

    project.ralph("start", "build")

    commit = commit_of(project, "feat: A")
    assert made(project, commit) == ["four.txt", "one.txt", "three.txt", "two.txt"]
    assert project.landed("one.txt", commit) == "one\nmore", "what later work is built on stays below it"


def test_a_feature_in_between_does_not_get_the_waiting_work(half: Project) -> None:
    half.stories("One")
    half.script(does("US-001", "feature.txt"), VERIFIED)

    half.ralph("run", "auth")

    assert not {"one.txt", "two.txt"} & set(half.files_in("ralph/auth"))
    half.script(A2)
    half.ralph("start", "build")
    finished(half, "one.txt", "two.txt")
    assert half.calls() == 1, "what had passed is not done again"
    assert "feature.txt" not in half.files_in(BRANCH)


def test_a_spec_planned_in_between_waits_until_the_one_that_was_begun_is_committed(half: Project) -> None:
    half.write("specs/b.md", "# B\n\n- [ ] Do b-1\n")
    both = [spec("b", task("b-1"), priority=-1), spec("a", task("a-1"), task("a-2"))]
    half.script({"match": "# From Specs to Tasks", "answer": {"version": 1, "specs": both}}, A2, B1)
    half.ralph("start", "plan")
    assert waits(half) == ["one.txt"]
    is_left_alone(half, "?? specs/b.md")

    assert "specs: a-2 Do a-2 (A)" in half.ralph("next", "specs").stdout
    half.ralph("start", "build")

    assert subjects(half)[:2] == ["feat: B", "feat: A"]
    assert made(half, commit_of(half, "feat: B")) == ["three.txt"]


# What an agent must not do


MARK = """sed -i 's/"id":/"status": "completed", "id":/' implementation.json"""
FORGED = {
    "marks everything as completed": MARK,
    "writes the progress": "echo '## A: completed' > PROGRESS.md",
    "changes a spec": "echo '# A' > specs/a.md",
    "removes the specs": "rm -r specs",
    "weakens the gates": "sed -i 's/maxRetries/gates/' ralph.config.json",
    "commits what it forged": f"{MARK}; git commit -qam forged",
}


@pytest.mark.parametrize("what", FORGED)
def test_an_agent_that_forges_is_undone_and_it_costs_the_attempt(ready: Project, what: str) -> None:
    before = {name: ready.landed(name, "main") for name in ("specs/a.md", "ralph.config.json")}
    ready.script({**A1, "times": 1, "run": [FORGED[what]]}, A1, A2)

    done = ready.ralph("start", "build")

    assert "The agent broke the rules: it changed " in done.stdout
    assert tasks(ready)["a-1"]["retries"] == 1
    assert any("The agent broke the rules" in prompt for prompt in ready.prompts())
    assert ready.calls() == 3
    assert {name: ready.landed(name, BRANCH) for name in before} == before
    is_left_alone(ready)
    assert progress(ready).count("## A: completed") == 1
    finished(ready, "one.txt", "two.txt")


@pytest.mark.parametrize(
    "stray",
    [
        "git checkout -q -b mine",
        "git checkout -q --detach",
        "git commit -q --amend -m rewritten",
        "git reset -q --soft HEAD~1",
        "git merge -q --no-commit --strategy=ours HEAD~1; git config core.bare true",
        "rm -rf .git .ralph",
    ],
)
def test_an_agent_that_leaves_its_branch_or_rewrites_it_has_no_effect_but_its_files(half: Project, stray: str) -> None:
    refs = half.git("for-each-ref", "refs/heads", "--format=%(refname) %(objectname)")
    half.script({**A2, "run": [f"git add two.txt; {stray}; git add -A; git commit -q -m stray; true"]})

    half.ralph("start", "build")

    commit = finished(half, "one.txt", "two.txt")
    assert half.calls() == 1
    assert half.landed("one.txt", commit) == "one", "what had passed is as it was"
    now = half.git("for-each-ref", "refs/heads", "--format=%(refname) %(objectname)").splitlines()
    assert [line for line in now if BRANCH not in line] == [line for line in refs.splitlines() if BRANCH not in line]
    assert half.git("log", "-1", "--format=%s", f"{commit}^") == "Specs and plan"
    assert half.git("config", "--get", "core.bare") == "false"
    is_left_alone(half)


# Passing, failing, blocking


def test_done_without_any_change_fails_and_after_the_last_retry_the_task_is_blocked(ready: Project) -> None:
    ready.script(A1, {**A2, "write": {}})

    done = ready.ralph("start", "build", code=3)

    assert "The agent said that it was done, but changed nothing." in done.stdout
    assert ready.calls() == 3, "maxRetries is 2"
    assert statuses(ready) == {"a": "blocked", "a-1": "completed", "a-2": "blocked"}
    assert subjects(ready)[0] == "feat: A (partial)"
    assert "Blocked:\n- a-2: Do a-2" in ready.git("log", "-1", "--format=%b", commit_of(ready, r"feat: A \(partial\)"))
    ready.ralph("start", "build", code=3)
    assert ready.calls() == 3, "nothing is tried again by itself"


def test_a_blocked_task_takes_its_files_with_it_and_they_are_kept(half: Project) -> None:
    wrong = {"write": {"two.txt": "half\n", "one.txt": "spoiled\n"}, "delete": ["app.txt"]}
    half.script({**A2, **wrong, "then": ['<TASK_BLOCKED reason="no key">']})

    half.ralph("start", "build", code=3)

    partial = commit_of(half, r"feat: A \(partial\)")
    assert made(half, partial) == ["one.txt"]
    assert half.landed("one.txt", partial) == "one"
    assert half.landed("app.txt", partial) == "app"
    kept = "refs/ralph/attempts/specs/a-2/1"
    assert half.git("show", f"{kept}:two.txt") == "half"
    assert half.git("show", f"{kept}:one.txt") == "spoiled"
    assert "app.txt" not in half.files_in(kept)
    assert waits(half) == []
    is_left_alone(half)


def test_a_closed_spec_is_committed_again_after_retry_and_accept(ready: Project) -> None:
    ready.script(A1, {"match": "Do a-2", "then": ["<TASK_BLOCKED>"]})
    ready.ralph("start", "build", code=3)
    ready.script(A2)

    assert "Reset a-2. Run `ralph run specs` to retry." in ready.ralph("retry", "specs").stdout
    ready.ralph("start", "build")

    assert [subject for subject in subjects(ready) if "feat" in subject] == ["feat: A", "feat: A (partial)"]
    assert statuses(ready) == DONE
    assert progress(ready).index("## A: partial") < progress(ready).index("## A: completed")

    ready.script({**A2, "write": {"two.txt": "again\n"}, "then": ["<TASK_BLOCKED>"]})
    ready.ralph("retry", "specs", "a-2")
    ready.ralph("start", "build", code=3)
    assert ready.landed("two.txt", BRANCH) == "two", "what was committed stays"
    assert statuses(ready) == {"a": "blocked", "a-1": "completed", "a-2": "blocked"}

    ready.ralph("accept", "specs", "a-2", "--why", "it is there", "--yes")
    done = ready.ralph("start", "build")
    assert statuses(ready) == DONE
    assert "specs: complete" in done.stdout
    assert [subject for subject in subjects(ready) if "feat" in subject] == ["feat: A", "feat: A (partial)"]
    is_left_alone(ready)


# Commits


def test_an_attempt_is_shown_and_restored_without_ralphs_own_files(half: Project) -> None:
    half.ralph("retry", "specs", "a-2")
    half.ralph("start", "build")
    state = half.read("implementation.json")

    assert "implementation.json" not in half.ralph("attempts", "specs", "a-2/1", "--diff").stdout
    assert "1 file changed" in half.ralph("attempts", "specs", "a-2").stdout
    assert "Restored 1 file of a-2/1" in half.ralph("attempts", "specs", "a-2/1", "--restore").stdout

    assert half.read("two.txt") == "two\n"
    assert half.read("implementation.json") == state
    is_left_alone(half, "?? two.txt")


def test_state_is_committed_with_the_spec_and_once_more_with_the_commits_name(ready: Project) -> None:
    ready.ralph("start", "build")
    assert ready.subjects(BRANCH)[:2] == ["chore: update implementation.json", "feat: A"]
    spec_commit, last = commit_of(ready, "feat: A"), ready.git("show", "--format=", "--name-only", BRANCH)
    assert json.loads(ready.landed("implementation.json", spec_commit))["specs"][0]["status"] == "completed"
    assert last.splitlines() == ["PROGRESS.md", "implementation.json"]
    assert json.loads(ready.landed("implementation.json", BRANCH)) == plan(ready)
    assert plan(ready)["specs"][0]["result"]["commit"] == spec_commit
    ready.ralph("start", "build")
    assert ready.subjects(BRANCH)[:2] == ["chore: update implementation.json", "feat: A"], "nothing is left to say"


def test_state_commits_can_be_switched_off(ready: Project) -> None:
    ready.config("true", commits={"prdChanges": False})
    ready.git("commit", "-qam", "Configure")

    ready.ralph("start", "build")

    assert ready.subjects(BRANCH)[:2] == ["feat: A", "Configure"]
    assert ready.git("show", "--format=", "--name-only", BRANCH).splitlines() == ["one.txt", "two.txt"]
    assert statuses(ready) == DONE
    is_left_alone(ready)
    assert "specs: complete" in ready.ralph("start", "build").stdout
    assert ready.calls() == 2


def test_a_project_in_a_subfolder_of_the_repository_works(project: Project) -> None:
    inner = Project.__new__(Project)
    inner.__dict__.update(project.__dict__)
    inner.path = project.path / "packages/web"
    inner.path.mkdir(parents=True)
    inner.config("test -f one.txt")
    write_plan(inner, spec("a", task("a-1"), task("a-2")))
    forge: Json = {**A1, "times": 1, "run": ["rm implementation.json; echo > specs/a.md; echo x > ../../app.txt"]}
    inner.script(forge, A1, {**A2, "then": ["<TASK_BLOCKED>"]})

    done = inner.ralph("start", "build", code=3)

    assert "it changed Ralph's own files (implementation.json); it changed protected files (specs/a.md)" in done.stdout
    partial = project.git("log", "-1", "--format=%H", "--grep", "partial", BRANCH)
    assert made(project, partial) == ["app.txt", "packages/web/one.txt"]
    assert "## A: partial" in project.landed("packages/web/PROGRESS.md", BRANCH)
    assert project.status() == [], "nor is anything of Ralph's shown"


def test_without_a_branch_checked_out_it_builds_all_the_same_and_leaves_it_so(ready: Project) -> None:
    ready.git("checkout", "-q", "--detach")
    head = ready.git("rev-parse", "HEAD")

    ready.ralph("start", "build")

    finished(ready, "one.txt", "two.txt")
    assert (ready.git("branch", "--show-current"), ready.git("rev-parse", "HEAD")) == ("", head)


def test_the_branch_that_is_checked_out_is_not_built_on(ready: Project) -> None:
    ready.git("switch", "-q", "-c", BRANCH)

    said = ready.ralph("start", "build", code=1).stderr

    assert f"The branch {BRANCH} is checked out in" in said and "switch -" in said
    assert ready.calls() == 0
