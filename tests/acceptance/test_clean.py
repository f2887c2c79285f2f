"""`ralph clean` removes what finished work leaves behind, and never what is kept nowhere else."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

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
    assert "remove    working copy" in tried
    assert sorted(refs(project)) == before
    assert project.exists(".ralph/worktrees/.slots/1")

    done = project.ralph("clean").stdout

    assert "auth/US-001/1: its work is kept nowhere else" in done
    assert "refs/ralph/attempts/auth/US-001/1" in refs(project)
    assert "refs/ralph/attempts/auth/US-001/2" not in refs(project), "it is on the branch"
    assert [path.name for path in (project.path / ".ralph/worktrees").iterdir()] == [".gitignore"]
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

    done = project.ralph("clean", "--all", "--yes").stdout

    assert "refs/ralph/attempts/auth/US-001/1: its work is kept nowhere else" in done
    assert "`ralph clean --all --force` also removes what stays" in done
    assert refs(project) == ["refs/ralph/attempts/auth/US-001/1"]
    project.ralph("clean", "--all", "--yes", "--force")
    assert refs(project) == []
    assert not (project.path / ".git/ralph").exists()
    assert project.git("rev-parse", "ralph/auth") == tip
    assert project.git("status", "--porcelain") == "", "what is committed stays"
    left = {path.name for path in (project.path / ".ralph").iterdir()}
    assert not left & {"worktrees", "logs", "run", "screenshots"}


def test_an_age_is_about_everything_and_nothing_younger_goes(project: Project) -> None:
    finished(project)
    before = refs(project)
    copy = project.path / ".ralph/worktrees/.slots/1"
    for path in (copy, copy.with_name("1.index")):
        os.utime(path, (1, 1))

    found = rows(project, "--older", "30d")

    assert set(found) == {"slot 1"}, "only that is so old"
    assert not copy.exists() and refs(project) == before
    assert {row["kind"] for row in rows(project, "--older", "0.001s").values()} == {"working copy", "log", "attempt"}


def test_bad_ages_and_combinations_are_refused(project: Project) -> None:
    project.config("true")
    assert "is not an age" in project.ralph("clean", "--older", "soon", code=1).stderr
    assert "--all cannot be combined" in project.ralph("clean", "auth", "--all", code=1).stderr
    assert "--force needs --all" in project.ralph("clean", "--force", code=1).stderr
    assert "There is no plan 'nobody'" in project.ralph("clean", "nobody", code=1).stderr


def rows(project: Project, *args: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(project.ralph("clean", *args, "--json").stdout)}


def merge_by_squash(project: Project) -> None:
    """As a person does it: one commit on a branch that has gone on, and the other branch is gone."""
    project.write("theirs.txt", "a person's\n")
    project.git("add", "theirs.txt")
    project.git("commit", "-qm", "Theirs")
    project.git("merge", "-q", "--squash", "ralph/auth")
    project.git("commit", "-qm", "Auth")
    project.git("branch", "-qD", "ralph/auth")


def two_stories(project: Project) -> None:
    """The second changes what the first one made: a squash merge has only the last version."""
    project.config("true")
    project.stories("One", "Two")
    project.git("add", "-A")
    project.git("commit", "-qm", "A plan")
    project.script(does("US-001", "one.txt", "first\n"), does("US-002", "one.txt", "second\n"), VERIFIED)
    project.ralph("run", "auth")


def test_a_branch_that_was_merged_by_squash_counts_as_kept(project: Project) -> None:
    two_stories(project)
    merge_by_squash(project)

    done = rows(project, "auth")

    assert done["auth/US-001/1"]["removed"] and done["auth/US-002/1"]["removed"]
    assert not any(row["stays"] for row in done.values())
    assert refs(project) == []


def test_a_branch_that_is_gone_without_having_been_merged_does_not(project: Project) -> None:
    two_stories(project)
    project.git("merge", "-q", "--ff-only", "ralph/auth")
    plan = project.read(".ralph/2026-01-01-auth/prd.json")
    project.git("reset", "-q", "--hard", "HEAD~4")
    project.git("branch", "-qD", "ralph/auth")
    project.write(".ralph/2026-01-01-auth/prd.json", plan)

    done = rows(project, "auth")

    assert done["auth/US-002/1"]["stays"] == "its work is kept nowhere else"
    assert "refs/ralph/attempts/auth/US-001/1" in refs(project)


def test_only_what_is_old_enough_and_of_the_target_goes(project: Project) -> None:
    finished(project)
    project.stories("One", feature="more")
    project.script(does("US-001", "more.txt"), VERIFIED)
    project.ralph("run", "more", "--jobs", "2")

    assert rows(project, "--older", "1d") == {}
    assert set(rows(project, "auth", "--dry-run")) == {"auth/US-001/1", "auth/US-001/2", "auth/final/1"} | {
        name for name in rows(project, "--dry-run") if name.endswith(" auth")
    }
    assert rows(project, "more", "--older", "0s")["slot 1"]["removed"]
    assert not any(name.startswith("more/") for name in rows(project, "more", "--dry-run"))
    assert "refs/ralph/attempts/auth/US-001/2" in refs(project)


def test_what_a_plan_that_is_gone_left_can_go(project: Project) -> None:
    two_stories(project)
    merge_by_squash(project)
    project.git("rm", "-qr", ".ralph/2026-01-01-auth")
    project.git("commit", "-qm", "No plan any more")

    assert rows(project, "auth")["auth/US-002/1"]["removed"]


def test_all_removes_what_init_made_and_leaves_a_plan_that_is_in_no_commit(project: Project) -> None:
    project.ralph("init", "--provider", "scripted", "--verify", "true")
    project.ralph("clean", "--all", "--yes")
    assert project.git("status", "--porcelain", "--ignored") == ""
    assert not project.exists(".ralph") and not project.exists(".git/ralph")

    project.ralph("init", "--provider", "scripted", "--verify", "true")
    project.stories("One")
    found = rows(project, "--all", "--dry-run")
    assert found[".ralph/2026-01-01-auth"]["stays"] == "no commit contains it"
    asked = project.ralph("clean", "--all", "--json", stdin="y\n")

    assert "Remove all of this?" in asked.stderr
    assert {row["name"] for row in json.loads(asked.stdout) if row["removed"]} > {"ralph.config.json"}
    assert project.git("status", "--porcelain", "-uall") == "?? .ralph/2026-01-01-auth/prd.json"


@pytest.mark.parametrize("answer", ["", "n\n"])
def test_all_without_a_yes_removes_nothing_and_says_so(project: Project, answer: str) -> None:
    project.ralph("init", "--provider", "scripted", "--verify", "true")
    refused = project.ralph("clean", "--all", stdin=answer, code=1)

    assert "nothing was removed" in refused.stderr.lower() and "--yes" in refused.stderr
    assert project.exists("ralph.config.json") and project.exists(".ralph")


def test_all_leaves_what_somebody_put_into_a_slot(project: Project) -> None:
    two_stories(project)
    project.write(".ralph/worktrees/.slots/1/notes.txt", "a person's\n")

    assert rows(project, "--all", "--yes")["slot 1"]["stays"] == "notes.txt is kept nowhere else"
    assert project.read(".ralph/worktrees/.slots/1/notes.txt") == "a person's\n"
