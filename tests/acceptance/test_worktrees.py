"""RX.2: `ralph worktrees` lists what runs side by side leave, and removes only what is kept elsewhere."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

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
    told = project.ralph("worktrees").stdout
    assert re.search(
        r"slot 1 of auth .* can be removed: its (files match|work landed as) commit \w+ \(ralph/auth\)", told
    )
    assert all(row["target"] == "auth" and row["why"] and row["lastUsed"] for row in found.values())
    assert all(row["removed"] and not row["keptIn"] for row in listed(project, "--prune").values())
    assert listed(project) == {}
    assert [path.name for path in (project.path / ".ralph/worktrees").iterdir()] == [".gitignore"]
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

    held = listed(project)["slot 1"]
    assert held["holds"] == ["app.txt", "notes.txt"]
    assert held["stays"] == "app.txt, notes.txt are kept nowhere else"
    assert project.git("for-each-ref", "refs/ralph/strays") == "", "looking changes nothing"
    done = project.ralph("worktrees", "--prune").stdout

    stray = project.git("for-each-ref", "--format=%(refname)", "refs/ralph/strays")
    assert f"files with no other copy are in {stray}" in done
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
    assert "Another run is active here" in project.ralph("worktrees", "--prune", code=5).stderr
    at_work = listed(project)
    assert at_work["slot 1"]["stays"] == "a run of auth is working on US-001 here"
    assert at_work["auth"]["stays"] == "a run of auth is active"
    run.kill()
    run.communicate()

    found = listed(project, "--prune")

    assert "US-001 was interrupted here" in found["slot 1"]["stays"]
    assert "plan is newer than the branch" in found["auth"]["stays"]
    assert project.exists(".ralph/worktrees/.slots/1/half.txt")
    project.ralph("run", "auth", "--jobs", "1")
    assert {"half.txt", "1.txt"} <= set(project.files_in("ralph/auth"))
    assert listed(project, "--prune")["slot 1"]["removed"]


@pytest.mark.parametrize("how", ["squash", "rebase"])
def test_a_slot_can_go_when_a_person_has_brought_its_work_into_other_commits(project: Project, how: str) -> None:
    worked(project)
    project.git("add", "-A")
    project.git("commit", "-qm", "Settings")
    if how == "squash":
        project.git("merge", "-q", "--squash", "ralph/auth", "-X", "theirs", "--allow-unrelated-histories")
        project.git("commit", "-qm", "Auth")
    else:
        project.git("switch", "-q", "-c", "mine", "ralph/auth")
        project.git("rebase", "-q", "main", "-X", "theirs")
    project.git("branch", "-qD", "ralph/auth")
    for ref in project.git("for-each-ref", "--format=%(refname)", "refs/ralph").splitlines():
        project.git("update-ref", "-d", ref)

    found = listed(project)

    assert found["slot 1"]["why"] == "commits contain all of its files, for example after a squash merge or a rebase"
    assert not any(row["stays"] for row in found.values())


def test_a_slot_stays_when_its_branch_is_gone_and_nobody_merged_it(project: Project) -> None:
    worked(project)
    project.git("branch", "-qD", "ralph/auth")
    for ref in project.git("for-each-ref", "--format=%(refname)", "refs/ralph").splitlines():
        project.git("update-ref", "-d", ref)

    assert "kept nowhere else" in listed(project)["slot 1"]["stays"]


def limited(project: Project, **limits: float) -> None:
    project.config("true", worktrees=limits)
    project.stories("One", "Two")
    project.script(does("US-001", "1.txt"), does("US-002", "2.txt"), VERIFIED)


def test_what_is_over_the_limit_goes_when_a_run_is_over(project: Project) -> None:
    limited(project, maxGb=1e-9)

    told = project.ralph("run", "auth").stdout

    assert re.search(r"Removed working copies \(.*slot 1.*\): .*exceeded worktrees.maxGb \(1e-09\)", told)
    assert listed(project) == {}
    assert len(project.git("worktree", "list").splitlines()) == 1
    assert {"1.txt", "2.txt"} <= set(project.files_in("ralph/auth"))


def test_what_is_kept_nowhere_else_stays_over_any_limit_and_that_is_said(project: Project) -> None:
    limited(project)
    project.ralph("run", "auth", "--jobs", "2")
    project.write(".ralph/worktrees/.slots/2/notes.txt", "a person's\n")
    project.stories("One", feature="more")
    project.script(does("US-001", "3.txt"), VERIFIED)
    project.config("true", worktrees={"maxGb": 1e-9, "keepDays": 1e-9})

    told = project.ralph("run", "more").stdout

    assert "unused for longer than worktrees.keepDays" in told
    assert "more than worktrees.maxGb (1e-09). The rest is in use or holds the only copy" in told
    assert set(listed(project)) == {"slot 2"}
    assert project.read(".ralph/worktrees/.slots/2/notes.txt") == "a person's\n"


def test_the_oldest_go_first_and_a_run_keeps_what_it_will_use(project: Project) -> None:
    limited(project)
    project.ralph("run", "auth", "--jobs", "2")
    for path in project.path.glob(".ralph/worktrees/.*/*"):
        os.utime(path, (1, 1))
    project.stories("One", feature="more")
    project.script(does("US-001", "3.txt"), VERIFIED)

    told = project.ralph("run", "more").stdout

    assert "slot 2" in told and "slot 1" not in told.partition("Removed working copies (")[2].partition(")")[0]
    assert listed(project)["slot 1"]["target"] == "more", "it was used again"


@pytest.mark.parametrize("wrong", [{"maxGb": 0}, {"keepDays": -1}, {"maxGb": "20 GB"}])
def test_limits_that_make_no_sense_are_refused(project: Project, wrong: dict[str, object]) -> None:
    project.config("true", worktrees=wrong)

    assert f"worktrees.{next(iter(wrong))}" in project.ralph("validate", code=1).stdout
