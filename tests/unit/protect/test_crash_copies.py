"""Copies of Ralph's files: what a killed run's agent changed comes back, and nothing that a power cut tore."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.plan.attempt import Record
from ralph.plan.work import WorkKind
from ralph.protect import crash_copies
from ralph.stores import atomic, crash_file, records
from ralph.stores.crash_file import Copies
from ralph.workspace import Workspace

PLAN = json.dumps({"userStories": ["one"]})


@pytest.fixture
def killed(tmp_path: Path) -> Workspace:
    """A project whose run was killed while its agent was at work."""
    workspace = Workspace(root=tmp_path / "project")
    plan = plan_of(workspace)
    plan.parent.mkdir(parents=True)
    plan.write_text(PLAN)
    crash_copies.keep(workspace, "auth", [plan, plan.with_name("later.json")], tip="abc")
    record = Record(
        run="20260101-000000-00000000", target="auth", kind=WorkKind.TASK, work="US-001", number=1, base="", branch="b",
        began=0.0, agent_at_work=True,
    )  # fmt: skip
    records.save(workspace.records, record)
    return workspace


def plan_of(workspace: Workspace) -> Path:
    return workspace.ralph / "2026-01-01-auth" / "prd.json"


def copies_of(workspace: Workspace) -> Path:
    return crash_file.file_of(workspace, "auth")


def test_what_the_agent_changed_comes_back_and_what_it_made_goes(killed: Workspace) -> None:
    plan = plan_of(killed)
    plan.write_text("forged")
    plan.with_name("later.json").write_text("planted")
    assert sorted(crash_copies.put_back(killed)) == ["later.json", "prd.json"]
    assert plan.read_text() == PLAN
    assert not plan.with_name("later.json").exists()


@pytest.mark.parametrize("left", [b"", b"\0" * 80, "half", b"not a copy of anything"])
def test_copies_that_are_not_whole_are_never_put_back(killed: Workspace, left: bytes | str) -> None:
    copies = copies_of(killed)
    whole = copies.read_bytes()
    copies.write_bytes(whole[: len(whole) - 3] if isinstance(left, str) else left)
    plan_of(killed).write_text("newer")
    assert crash_copies.put_back(killed) == []
    assert plan_of(killed).read_text() == "newer"
    assert crash_file.tip_of(killed, "auth") == ""


def test_copies_that_are_not_whole_are_made_anew(killed: Workspace) -> None:
    plan, copies = plan_of(killed), copies_of(killed)
    whole = copies.read_bytes()
    copies.write_bytes(b"")
    crash_copies.keep(killed, "auth", [plan, plan.with_name("later.json")], tip="abc")
    assert copies.read_bytes() == whole


def test_copies_are_all_of_one_moment(killed: Workspace) -> None:
    """However many files a plan has, what a killed writer leaves is all of the old plan or all of the new one."""
    plan = plan_of(killed)
    other = plan.with_name("other.json")
    other.write_text("old")
    crash_copies.keep(killed, "auth", [plan, other], tip="old")
    before = copies_of(killed).stat().st_ino
    plan.write_text("new")
    other.write_text("new")
    crash_copies.keep(killed, "auth", [plan, other], tip="new")
    assert copies_of(killed).stat().st_ino != before, "replaced, not changed"
    names = {path.name for path in copies_of(killed).parent.iterdir()}
    assert names == {crash_file.FILE, "US-001.1.attempt.json"}, "nothing of it lies anywhere else"


def test_the_same_plan_is_not_written_again(killed: Workspace) -> None:
    plan = plan_of(killed)
    before = copies_of(killed).stat()
    crash_copies.keep(killed, "auth", [plan, plan.with_name("later.json")], tip="abc")
    after = copies_of(killed).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_of_a_file_that_a_link_replaced_the_last_copy_stays(killed: Workspace) -> None:
    plan = plan_of(killed)
    plan.unlink()
    plan.symlink_to("/etc/passwd")
    crash_copies.keep(killed, "auth", [plan], tip="abc")
    assert crash_copies.put_back(killed) == ["prd.json"]
    assert plan.read_text() == PLAN and not plan.is_symlink()


def move_away_and_link(plan: Path) -> None:
    away = plan.parents[3] / "away"
    plan.parent.rename(away)
    plan.parent.symlink_to(away)


def move_away_forge_and_link(plan: Path) -> None:
    move_away_and_link(plan)
    plan.write_text("forged")


def put_a_file_in_place_of_the_folder(plan: Path) -> None:
    shutil.rmtree(plan.parent)
    plan.parent.write_text("no folder")


def put_a_folder_in_place(plan: Path) -> None:
    plan.unlink()
    (plan / "inner").mkdir(parents=True)
    os.mkfifo(plan / "pipe")


def put_a_pipe_in_place(plan: Path) -> None:
    plan.unlink()
    os.mkfifo(plan)


@pytest.mark.parametrize(
    "harm",
    [
        move_away_and_link,
        move_away_forge_and_link,
        put_a_file_in_place_of_the_folder,
        put_a_folder_in_place,
        put_a_pipe_in_place,
    ],
)
def test_whatever_is_in_the_way_of_a_plan_it_comes_back(killed: Workspace, harm: Callable[[Path], None]) -> None:
    plan = plan_of(killed)
    harm(plan)
    assert "prd.json" in crash_copies.put_back(killed)
    assert plan.read_text() == PLAN
    assert not plan.parent.is_symlink() and not plan.is_symlink()
    assert crash_copies.put_back(killed) == []


def test_a_plan_behind_a_link_of_a_persons_is_not_copied_and_the_link_stays(killed: Workspace, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "prd.json").write_text("a person's")
    linked = killed.ralph / "2026-01-02-shared"
    linked.symlink_to(shared)
    crash_copies.keep(killed, "shared", [linked / "prd.json"])
    (shared / "prd.json").write_text("changed by its owner")
    assert crash_copies.put_back(killed) == []
    assert linked.is_symlink() and (linked / "prd.json").read_text() == "changed by its owner"


def test_a_ralph_folder_that_became_a_link_is_a_persons_to_judge(killed: Workspace, tmp_path: Path) -> None:
    killed.ralph.rename(tmp_path / "elsewhere")
    killed.ralph.symlink_to(tmp_path / "elsewhere")
    plan_of(killed).write_text("forged")
    assert crash_copies.put_back(killed) == []
    assert killed.ralph.is_symlink() and plan_of(killed).read_text() == "forged"


def test_what_a_run_has_forgotten_is_not_put_back(killed: Workspace) -> None:
    crash_copies.forget(killed, "auth")
    plan_of(killed).write_text("a person's")
    assert crash_copies.put_back(killed) == []
    assert plan_of(killed).read_text() == "a person's"
    assert crash_file.tip_of(killed, "auth") == ""


def test_copies_of_the_project_itself_are_none_of_ours(killed: Workspace) -> None:
    atomic.write(copies_of(killed), crash_file.sealed(Copies(files={killed.root: None, killed.root / "..": b""})))
    assert crash_copies.put_back(killed) == []
    assert killed.root.is_dir()


def test_an_empty_file_comes_back_empty(killed: Workspace) -> None:
    notes = killed.ralph / "notes.md"
    notes.parent.mkdir(exist_ok=True)
    notes.touch()
    crash_copies.keep(killed, "auth", [notes])
    notes.write_text("forged")
    assert crash_copies.put_back(killed) == ["notes.md"]
    assert notes.read_bytes() == b""


def test_a_planted_copy_reaches_nothing_outside_of_the_project(killed: Workspace, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.txt", tmp_path / "other.txt"
    mine.write_text("a person's")
    crash_copies.keep(killed, "auth", [mine, other])
    mine.write_text("changed by its owner")
    other.write_text("a person's")
    assert crash_copies.put_back(killed) == []
    assert mine.read_text() == "changed by its owner"
    assert other.exists()


@pytest.mark.parametrize("name", ["app.txt", ".git/hooks/post-checkout", "src/.ralph/x"])
def test_a_planted_copy_reaches_no_file_of_the_person_s(killed: Workspace, name: str) -> None:
    mine = killed.root / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("planted")
    crash_copies.keep(killed, "auth", [mine])
    mine.write_text("a person's")

    assert crash_copies.put_back(killed) == []
    assert mine.read_text() == "a person's"
