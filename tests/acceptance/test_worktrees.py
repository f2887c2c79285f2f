"""RX.2: `ralph worktrees` lists what runs side by side leave, and removes only what is kept elsewhere."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import VERIFIED, Project, does, wait_for


def listed(project: Project, *options: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(project.ralph("worktrees", "--json", *options).stdout)}


def worked(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.script(does("US-001", "1.txt"), does("US-002", "2.txt"), VERIFIED)
    project.ralph("run", "auth", "--jobs", "2")


def test_what_a_run_left_is_listed_and_goes_when_asked(project: Project) -> None:
    assert "There are no worktrees" in project.ralph("worktrees").stdout
    worked(project)
    tip = project.git("rev-parse", "ralph/auth")

    found = listed(project)

    assert list(found) == ["auth", "slot 1", "slot 2"]
    assert found["auth"]["commit"] == tip
    assert all(row["reachable"] and not row["uncommitted"] and not row["stays"] for row in found.values())
    assert "all that is committed is kept elsewhere" in project.ralph("worktrees").stdout
    assert all(row["removed"] for row in listed(project, "--prune").values())
    assert not project.exists(".ralph/worktrees/auth")
    assert len(project.git("worktree", "list").splitlines()) == 1
    assert project.git("rev-parse", "ralph/auth") == tip
    project.stories("One", "Two", "Three", feature="more")
    project.script(*(does(f"US-00{n}", f"{n}.txt") for n in (1, 2, 3)), VERIFIED)
    project.ralph("run", "more", "--jobs", "3")
    assert list(listed(project)) == ["more", "slot 1", "slot 2", "slot 3"]


def test_what_would_be_lost_is_kept_or_stays(project: Project) -> None:
    worked(project)
    project.write(".ralph/worktrees/.slots/1/notes.txt", "a person's\n")
    project.write(".ralph/worktrees/.slots/1/app.txt", "changed\n")
    slot = str(project.path / ".ralph/worktrees/.slots/2")
    project.git("-C", slot, "commit", "-q", "--allow-empty", "-m", "On no branch")
    project.git("init", "-q", str(project.path / ".ralph/worktrees/auth/inner"))
    project.git("-C", str(project.path / ".ralph/worktrees/auth/inner"), "commit", "-q", "--allow-empty", "-m", "x")

    done = project.ralph("worktrees", "--prune").stdout

    assert "2 uncommitted files, kept in refs/ralph/strays/" in done
    assert "is on no branch" in done
    assert "it holds another repository: inner/" in done
    found = listed(project)
    assert list(found) == ["auth", "slot 2"]
    assert not found["slot 2"]["reachable"]
    stray = project.git("for-each-ref", "--format=%(refname)", "refs/ralph/strays")
    assert project.git("show", f"{stray}:notes.txt") == "a person's"
    assert project.git("show", f"{stray}:app.txt") == "changed"
    project.git("-C", slot, "branch", "kept")
    assert listed(project, "--prune")["slot 2"]["removed"]


def test_what_a_killed_run_left_stays_until_it_went_on_and_a_living_one_is_not_disturbed(project: Project) -> None:
    project.config("true")
    project.stories("One")
    half = {"match": "ID:.. US-001", "times": 1, "write": {"half.txt": "x"}, "run": ["touch $RALPH_ROOT/../begun"]}
    project.script({**half, "sleep": 60}, does("US-001", "1.txt"), VERIFIED)
    run = project.start("run", "auth", "--jobs", "1")
    wait_for((project.folder / "begun").exists)
    assert "Another run is at work here" in project.ralph("worktrees", "--prune", code=5).stderr
    assert list(listed(project)) == ["auth", "slot 1"]
    run.kill()
    run.communicate()

    found = listed(project, "--prune")

    assert "US-001 was cut short here" in found["slot 1"]["stays"]
    assert project.exists(".ralph/worktrees/.slots/1/half.txt")
    project.ralph("run", "auth", "--jobs", "1")
    assert {"half.txt", "1.txt"} <= set(project.files_in("ralph/auth"))
    assert listed(project, "--prune")["slot 1"]["removed"]
