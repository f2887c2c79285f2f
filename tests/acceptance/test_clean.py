"""`ralph clean` removes what finished work leaves behind, and never what is kept nowhere else."""

from __future__ import annotations

import json

from tests.conftest import VERIFIED, Project, does


def refs(project: Project) -> list[str]:
    return project.git("for-each-ref", "--format=%(refname)", "refs/ralph").splitlines()


def finished(project: Project) -> None:
    project.config("! test -f bad.txt")
    project.stories("One")
    project.git("add", "-A")
    project.git("commit", "-qm", "A plan")
    bad = {"match": "ID:.. US-001", "times": 1, "write": {"bad.txt": "x", "idea.txt": "x"}, "done": True}
    project.script(bad, does("US-001", "one.txt", run=["rm bad.txt"]), VERIFIED)
    project.ralph("run", "auth")


def test_what_a_finished_plan_left_goes_but_for_work_that_is_kept_nowhere_else(project: Project) -> None:
    finished(project)
    before = sorted(refs(project))
    tried = project.ralph("clean", "--dry-run").stdout
    assert "would go  working copy" in tried
    assert sorted(refs(project)) == before
    assert project.exists(".ralph/worktrees/.slots/1")

    done = project.ralph("clean").stdout

    assert "auth/US-001/1: its work is kept nowhere else" in done
    assert "refs/ralph/attempts/auth/US-001/1" in refs(project)
    assert "refs/ralph/attempts/auth/US-001/2" not in refs(project), "it is on the branch"
    assert list((project.path / ".ralph/worktrees/.slots").iterdir()) == []
    assert not list((project.path / ".ralph/logs").glob("*/journal.jsonl"))
    assert "1/1 passed" in project.ralph("status", "auth").stdout


def test_a_plan_that_is_not_finished_keeps_its_logs_and_attempts(project: Project) -> None:
    project.config("false", maxRetries=1)
    project.stories("One")
    project.script(does("US-001", "one.txt"))
    project.ralph("run", "auth", "--no-baseline", code=3)

    rows = json.loads(project.ralph("clean", "--json").stdout)

    assert {row["kind"] for row in rows if row["stays"]} == {"log", "attempt"}
    assert all(row["stays"] == "auth is not finished" for row in rows if row["stays"])
    assert "refs/ralph/attempts/auth/US-001/1" in refs(project)


def test_all_leaves_the_project_as_it_was_but_for_its_commits(project: Project) -> None:
    finished(project)
    tip = project.git("rev-parse", "ralph/auth")

    project.ralph("clean", "--all", "--yes")

    assert refs(project) == []
    assert not (project.path / ".git/ralph").exists()
    assert project.git("rev-parse", "ralph/auth") == tip
    assert project.git("status", "--porcelain") == "", "what is committed stays"
    left = {path.name for path in (project.path / ".ralph").iterdir()}
    assert not left & {"worktrees", "logs", "run", "screenshots"}


def test_an_age_is_about_logs_and_screenshots_and_nothing_else_goes(project: Project) -> None:
    finished(project)
    before = refs(project)

    assert json.loads(project.ralph("clean", "--older", "30d", "--json").stdout) == []
    rows = json.loads(project.ralph("clean", "--older", "0.001s", "--json").stdout)

    assert {row["kind"] for row in rows} == {"log"}
    assert refs(project) == before
    assert project.exists(".ralph/worktrees/.slots/1")


def test_bad_ages_and_combinations_are_refused(project: Project) -> None:
    project.config("true")
    assert "is no age" in project.ralph("clean", "--older", "soon", code=1).stderr
    assert "--all goes with neither" in project.ralph("clean", "auth", "--all", code=1).stderr
