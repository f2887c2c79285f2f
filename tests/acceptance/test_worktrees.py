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
    assert "There are no working copies" in project.ralph("worktrees").stdout
    worked(project)
    tip = project.git("rev-parse", "ralph/auth")

    found = listed(project)

    assert {"slot 1", "slot 2", "verification 1"} <= set(found)
    assert all(row["bytes"] > 0 and not row["stays"] for row in found.values())
    assert "can go: everything in it is kept elsewhere" in project.ralph("worktrees").stdout
    assert all(row["removed"] and not row["keptIn"] for row in listed(project, "--prune").values())
    assert listed(project) == {}
    assert [path.name for path in (project.path / ".ralph/worktrees/.slots").iterdir()] == []
    assert len(project.git("worktree", "list").splitlines()) == 1
    assert project.git("rev-parse", "ralph/auth") == tip
    project.stories("One", "Two", "Three", feature="more")
    project.script(*(does(f"US-00{n}", f"{n}.txt") for n in (1, 2, 3)), VERIFIED)
    project.ralph("run", "more", "--jobs", "3")
    assert {"slot 1", "slot 2", "slot 3"} <= set(listed(project))


def test_what_would_be_lost_is_kept(project: Project) -> None:
    worked(project)
    project.write(".ralph/worktrees/.slots/1/notes.txt", "a person's\n")
    project.write(".ralph/worktrees/.slots/1/app.txt", "changed\n")

    done = project.ralph("worktrees", "--prune").stdout

    stray = project.git("for-each-ref", "--format=%(refname)", "refs/ralph/strays")
    assert f"files that were kept nowhere else are in {stray}" in done
    assert project.git("show", f"{stray}:notes.txt") == "a person's"
    assert project.git("show", f"{stray}:app.txt") == "changed"
    assert listed(project) == {}


def test_what_somebody_left_in_a_slot_is_kept_before_the_next_run_uses_it(project: Project) -> None:
    worked(project)
    project.write(".ralph/worktrees/.slots/1/notes.txt", "a person's\n")
    project.stories("One", feature="more")
    project.script(does("US-001", "3.txt"), VERIFIED)

    project.ralph("run", "more")

    stray = project.git("for-each-ref", "--format=%(refname)", "refs/ralph/strays")
    assert project.git("show", f"{stray}:notes.txt") == "a person's"
    assert "notes.txt" not in project.files_in("ralph/more")


def test_what_a_killed_run_left_stays_until_it_went_on_and_a_living_one_is_not_disturbed(project: Project) -> None:
    project.config("true")
    project.stories("One")
    half = {"match": "ID:.. US-001", "times": 1, "write": {"half.txt": "x"}, "run": ["touch $RALPH_ROOT/../begun"]}
    project.script({**half, "sleep": 60}, does("US-001", "1.txt"), VERIFIED)
    run = project.start("run", "auth", "--jobs", "1")
    wait_for((project.folder / "begun").exists)
    assert "Another run is at work here" in project.ralph("worktrees", "--prune", code=5).stderr
    assert {"auth", "slot 1"} <= set(listed(project))
    run.kill()
    run.communicate()

    found = listed(project, "--prune")

    assert "US-001 was cut short here" in found["slot 1"]["stays"]
    assert "a plan that is newer than its branch" in found["auth"]["stays"]
    assert project.exists(".ralph/worktrees/.slots/1/half.txt")
    project.ralph("run", "auth", "--jobs", "1")
    assert {"half.txt", "1.txt"} <= set(project.files_in("ralph/auth"))
    assert listed(project, "--prune")["slot 1"]["removed"]
