"""Whose work is whose while specs are built: a person's is sacred, what passed is kept, what is forged is undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.specs import Json, builds, plan, spec, statuses, subjects, task, tasks, write_plan
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
    """The first task has passed; its work is in the checkout, uncommitted."""
    ready.ralph("start", "build", "--once")
    assert ready.status() == ["M implementation.json", "?? .ralph/", "?? one.txt"]
    assert "one.txt" in ready.files_in("refs/ralph/attempts/specs/a-1/1")
    return ready


def finished(project: Project, *files: str) -> str:
    """The spec's one commit, which holds these files; nothing is left over."""
    assert statuses(project) == DONE
    assert subjects(project).count("feat: A") == 1
    commit = project.git("log", "-1", "--format=%H", "--grep", "^feat: A$")
    assert project.git("show", "--format=", "--name-only", commit).splitlines() == sorted(files)
    assert list(project.path.glob(".ralph/run/left-*.json")) == []
    assert list(project.path.glob(".ralph/run/*/attempt.json")) == []
    assert "ralph" not in (project.path / ".git/info/exclude").read_text(), "the shield is down again"
    return commit


# A person's files


def test_a_persons_changes_stop_the_build_and_stay_as_they_are(ready: Project) -> None:
    ready.write("app.txt", "mine\n")
    ready.write("new.txt", "staged\n")
    ready.git("add", "new.txt")

    said = ready.ralph("start", "build", code=1).stderr

    assert "There are uncommitted changes that are not Ralph's:" in said
    assert "app.txt" in said and "new.txt" in said
    assert "→ Commit or stash them" in said
    assert ready.calls() == 0
    assert [line for line in ready.status() if line != "?? .ralph/"] == ["M app.txt", "A  new.txt"]
    assert ready.read("app.txt") == "mine\n"


def test_untracked_files_of_a_person_are_neither_committed_nor_lost(ready: Project) -> None:
    for name in ("notes.txt", "sp ace.txt", "dir/inner.txt"):
        ready.write(name, "mine\n")
    forced = "git add -f notes.txt one.txt; git commit -qm swept"
    ready.script({**A1, "run": ["git add -A; git commit -qm 'feat: all of it'"]}, {**A2, "run": [forced]}, A2)

    done = ready.ralph("start", "build", code=None)

    finished(ready, "one.txt", "two.txt")
    assert "It committed, which is Ralph's to do here: its commits are kept in refs/ralph/strays/" in done.stdout
    assert "feat: all of it" not in ready.subjects("HEAD") and "swept" not in ready.subjects("HEAD")
    for name in ("notes.txt", "sp ace.txt", "dir/inner.txt"):
        assert ready.read(name) == "mine\n"
    assert ready.status() == ["?? .ralph/", "?? dir/", "?? notes.txt", '?? "sp ace.txt"']


# A spec that is half built


def test_a_person_commits_another_file_and_the_work_is_kept_on_top(half: Project) -> None:
    half.write("mine.txt", "mine\n")
    half.git("add", "mine.txt")
    half.git("commit", "-qm", "Mine")

    half.ralph("start", "build")

    finished(half, "one.txt", "two.txt")
    assert subjects(half)[:2] == ["feat: A", "Mine"]


def test_a_person_commits_the_same_file_and_their_version_wins(half: Project) -> None:
    half.write("one.txt", "better\n")
    half.git("add", "one.txt")
    half.git("commit", "-qm", "Better")

    done = half.ralph("start", "build")

    assert "Passed work and newer commits both changed one.txt: the commits' version stays" in done.stdout
    assert half.read("one.txt") == "better\n"
    finished(half, "two.txt")
    assert half.git("show", "refs/ralph/attempts/specs/a-1/1:one.txt") == "one", "the other one is kept"


def test_a_person_commits_all_of_the_held_work_themselves(half: Project) -> None:
    half.git("add", "one.txt")
    half.git("commit", "-qm", "I could not wait")

    half.ralph("start", "build")

    finished(half, "two.txt")


def test_a_person_edits_a_held_file_and_is_asked_to_decide(half: Project) -> None:
    half.write("one.txt", "mine\n")

    said = half.ralph("start", "build", code=1).stderr

    assert "uncommitted changes that are not Ralph's" in said and "one.txt" in said
    assert half.read("one.txt") == "mine\n"
    half.write("one.txt", "one\n")
    half.ralph("start", "build")
    finished(half, "one.txt", "two.txt")


@pytest.mark.parametrize(
    "how", ["rm one.txt", "git stash -qu -- one.txt", "git reset -q --hard; git clean -qf one.txt"]
)
def test_held_work_that_was_put_away_comes_back(half: Project, how: str) -> None:
    state = half.read("implementation.json")
    for command in how.split("; "):
        half.git(*command.split()[1:]) if command.startswith("git") else (half.path / "one.txt").unlink()
    assert not half.exists("one.txt")
    half.write("implementation.json", state)

    half.ralph("start", "build")

    finished(half, "one.txt", "two.txt")


@pytest.mark.parametrize("how", ["git reset -q --hard", "ralph retry specs a-1"])
def test_held_work_whose_task_is_open_again_is_work_that_its_next_attempt_goes_on_with(half: Project, how: str) -> None:
    """Otherwise an agent that finds it done could never show any work of its own."""
    first = half.git("rev-parse", "refs/ralph/attempts/specs/a-1/1")
    half.ralph(*how.split()[1:]) if how.startswith("ralph") else half.git(*how.split()[1:])
    assert "result" not in tasks(half)["a-1"] or tasks(half)["a-1"]["result"] is None

    half.ralph("start", "build")

    finished(half, "one.txt", "two.txt")
    assert half.git("rev-parse", "refs/ralph/attempts/specs/a-1/1") == first, "a number is never used twice"
    assert half.git("rev-parse", "refs/ralph/attempts/specs/a-1/2") != ""


def test_a_feature_in_between_does_not_get_the_held_work_and_gives_it_back(half: Project) -> None:
    half.stories("One")
    half.script(does("US-001", "feature.txt"), VERIFIED)

    half.ralph("run", "auth")

    assert not {"one.txt", "two.txt"} & set(half.files_in("ralph/auth"))
    assert not half.exists("one.txt"), "it made room"
    half.git("switch", "-q", "main")
    half.script(A2)
    half.ralph("start", "build")
    finished(half, "one.txt", "two.txt")
    assert half.calls() == 1, "what had passed is not done again"


def test_a_spec_planned_in_between_waits_until_the_one_that_was_begun_is_committed(half: Project) -> None:
    more = plan(half)
    more["specs"].insert(0, spec("b", task("b-1"), priority=-1))
    half.write("specs/b.md", "# B\n")
    half.git("add", "specs")
    half.git("commit", "-qm", "More")
    half.write("implementation.json", json.dumps(more))
    half.script(A2, B1)

    assert "specs: a-2 Do a-2 (A)" in half.ralph("next", "specs").stdout
    half.ralph("start", "build")

    assert subjects(half)[:2] == ["feat: B", "feat: A"]
    assert half.git("show", "--format=", "--name-only", "HEAD~1").splitlines() == ["three.txt"]


# What an agent must not do


FORGED = {
    "marks everything as completed": "sed -i 's/pending/completed/; s/in_progress/completed/' implementation.json",
    "writes the progress": "echo '## A: completed' > PROGRESS.md",
    "changes a spec": "echo '# A' > specs/a.md",
    "removes the specs": "rm -r specs",
    "weakens the gates": "sed -i 's/maxRetries/gates/' ralph.config.json",
    "sweeps Ralph's folder away": "rm -rf .ralph",
    "commits what it forged": "sed -i s/pending/completed/ implementation.json; git commit -qam forged",
}


@pytest.mark.parametrize("what", FORGED)
def test_an_agent_that_forges_is_undone_and_it_costs_the_attempt(ready: Project, what: str) -> None:
    before = {name: ready.read(name) for name in ("specs/a.md", "ralph.config.json")}
    ready.script({**A1, "times": 1, "run": [FORGED[what]]}, A1, A2)

    done = ready.ralph("start", "build")

    assert "The agent did what it must not: it changed " in done.stdout
    assert tasks(ready)["a-1"]["retries"] == 1
    assert any("The agent did what it must not" in prompt for prompt in ready.prompts())
    assert ready.calls() == 3
    assert {name: ready.read(name) for name in before} == before
    assert ready.read("PROGRESS.md").count("## A: completed") == 1
    finished(ready, "one.txt", "two.txt")


@pytest.mark.parametrize(
    "stray",
    [
        "git checkout -q -b mine",
        "git checkout -q --detach",
        "git commit -q --amend -m rewritten",
        "git reset -q --hard HEAD~1",
    ],
)
def test_an_agent_that_leaves_its_branch_or_rewrites_it_is_put_back(half: Project, stray: str) -> None:
    head = half.git("rev-parse", "main")
    wrong = f"git add two.txt; {stray}; git commit -q -m stray; echo bad > one.txt"
    half.script({**A2, "times": 1, "run": [wrong]}, A2)

    done = half.ralph("start", "build")

    assert "The agent did what it must not" in done.stdout
    assert half.git("branch", "--show-current") == "main"
    commit = finished(half, "one.txt", "two.txt")
    assert half.git("show", f"{commit}:one.txt") == "one", "what had passed is as it was"
    assert half.git("merge-base", "main", head) == head
    assert half.git("for-each-ref", "refs/ralph/strays") != "", "what it made is kept"


# Passing, failing, blocking


def test_done_without_any_change_fails_and_after_the_last_retry_the_task_is_blocked(ready: Project) -> None:
    ready.script(A1, {**A2, "write": {}})

    done = ready.ralph("start", "build", code=3)

    assert "The agent said that it was done, but changed nothing." in done.stdout
    assert ready.calls() == 3, "maxRetries is 2"
    assert statuses(ready) == {"a": "blocked", "a-1": "completed", "a-2": "blocked"}
    assert subjects(ready)[0] == "feat: A (partial)"
    assert "Blocked:\n- a-2: Do a-2" in ready.git("log", "-1", "--format=%b", "HEAD~1")
    ready.ralph("start", "build", code=3)
    assert ready.calls() == 3, "nothing is tried again by itself"


def test_a_blocked_task_takes_its_files_with_it_and_they_are_kept(half: Project) -> None:
    wrong = {"write": {"two.txt": "half\n", "one.txt": "spoiled\n"}, "delete": ["app.txt"]}
    half.script({**A2, **wrong, "then": ['<TASK_BLOCKED reason="no key">']})

    half.ralph("start", "build", code=3)

    assert half.read("one.txt") == "one\n"
    assert half.read("app.txt") == "app\n"
    assert not half.exists("two.txt")
    kept = "refs/ralph/attempts/specs/a-2/1"
    assert half.git("show", f"{kept}:two.txt") == "half"
    assert half.git("show", f"{kept}:one.txt") == "spoiled"
    assert "app.txt" not in half.files_in(kept)
    partial = half.git("log", "-1", "--format=%H", "--grep", "partial")
    assert half.git("show", "--format=", "--name-only", partial).splitlines() == ["one.txt"]
    assert half.status() == ["?? .ralph/"]


def test_a_closed_spec_is_committed_again_after_retry_and_accept(ready: Project) -> None:
    ready.script(A1, {"match": "Do a-2", "then": ["<TASK_BLOCKED>"]})
    ready.ralph("start", "build", code=3)
    ready.script(A2)

    assert "a-2: to be tried again. `ralph start build` does it." in ready.ralph("retry", "specs").stdout
    ready.ralph("start", "build")

    assert [subject for subject in subjects(ready) if "feat" in subject] == ["feat: A", "feat: A (partial)"]
    assert statuses(ready) == DONE
    assert ready.read("PROGRESS.md").index("## A: partial") < ready.read("PROGRESS.md").index("## A: completed")

    ready.script({**A2, "write": {"two.txt": "again\n"}, "then": ["<TASK_BLOCKED>"]})
    ready.ralph("retry", "specs", "a-2")
    ready.ralph("start", "build", code=3)
    assert ready.read("two.txt") == "two\n", "it goes back to what was committed"
    assert statuses(ready) == {"a": "blocked", "a-1": "completed", "a-2": "blocked"}

    ready.ralph("accept", "specs", "a-2", "--why", "it is there")
    done = ready.ralph("start", "build")
    assert statuses(ready) == DONE
    assert "specs: complete" in done.stdout
    assert ready.status() == ["?? .ralph/"]


# Commits


def hook(project: Project, text: str) -> None:
    path = project.path / ".git/hooks/pre-commit"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_an_attempt_is_shown_and_restored_without_ralphs_own_files(half: Project) -> None:
    half.ralph("retry", "specs", "a-2")
    half.ralph("start", "build")
    state = half.read("implementation.json")
    half.git("rm", "-q", "two.txt")
    half.git("commit", "-qm", "Not like this")

    assert "implementation.json" not in half.ralph("attempts", "specs", "a-2/1", "--diff").stdout
    assert "1 file changed" in half.ralph("attempts", "specs", "a-2").stdout
    assert "Restored 1 file of a-2/1" in half.ralph("attempts", "specs", "a-2/1", "--restore").stdout

    assert half.read("two.txt") == "two\n"
    assert half.read("implementation.json") == state


def test_state_is_committed_with_the_spec_or_not_at_all(ready: Project) -> None:
    ready.ralph("start", "build")
    assert ready.subjects("HEAD")[:2] == ["chore: update implementation.json", "feat: A"]
    assert ready.git("show", "--format=", "--name-only", "HEAD").splitlines() == ["PROGRESS.md", "implementation.json"]
    assert json.loads(ready.git("show", "HEAD:implementation.json")) == plan(ready)


def test_state_commits_can_be_switched_off(ready: Project) -> None:
    ready.config("true", commits={"prdChanges": False})
    ready.git("commit", "-qam", "Configure")

    ready.ralph("start", "build")

    assert ready.subjects("HEAD")[:2] == ["feat: A", "Configure"]
    assert ready.status() == ["M implementation.json", "?? .ralph/", "?? PROGRESS.md"]
    ready.ralph("start", "build")


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
    partial = project.git("log", "-1", "--format=%H", "--grep", "partial")
    assert project.git("show", "--format=", "--name-only", partial).splitlines() == ["app.txt", "packages/web/one.txt"]
    assert Path(inner.path / "PROGRESS.md").is_file()
    assert project.status() == ["?? packages/web/.ralph/"]


def test_without_a_branch_nothing_is_begun(ready: Project) -> None:
    ready.git("checkout", "-q", "--detach")

    said = ready.ralph("start", "build", code=1).stderr

    assert "No branch is checked out." in said and "git switch" in said
    assert ready.calls() == 0
