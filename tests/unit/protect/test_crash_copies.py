"""Copies of Ralph's files: what a killed run's agent changed comes back, and nothing that a power cut tore."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ralph.plan.attempt import Record
from ralph.plan.work import WorkKind
from ralph.protect import crash_copies
from ralph.stores import records
from ralph.workspace import Workspace

PLAN = json.dumps({"userStories": ["one"]})


@pytest.fixture
def killed(tmp_path: Path) -> Workspace:
    """A project whose run was killed while its agent was at work."""
    workspace = Workspace(root=tmp_path / "project")
    plan = plan_of(workspace)
    plan.parent.mkdir(parents=True)
    plan.write_text(PLAN)
    crash_copies.keep(workspace, "auth", [plan, plan.with_name("later.json")])
    record = Record(
        run="20260101-000000-00000000", target="auth", kind=WorkKind.TASK, work="US-001", number=1, base="", branch="b",
        began=0.0, agent_at_work=True,
    )  # fmt: skip
    records.save(workspace.records, record)
    return workspace


def plan_of(workspace: Workspace) -> Path:
    return workspace.ralph / "2026-01-01-auth" / "prd.json"


def copy_of(workspace: Workspace, path: Path) -> Path:
    return workspace.records / "auth" / crash_copies.FOLDER / hashlib.sha256(bytes(path)).hexdigest()[:32]


def test_what_the_agent_changed_comes_back_and_what_it_made_goes(killed: Workspace) -> None:
    plan = plan_of(killed)
    plan.write_text("forged")
    plan.with_name("later.json").write_text("planted")
    assert sorted(crash_copies.put_back(killed)) == ["later.json", "prd.json"]
    assert plan.read_text() == PLAN
    assert not plan.with_name("later.json").exists()


@pytest.mark.parametrize("left", [b"", b"\0" * 80, "half", b"not a copy of anything"])
def test_a_copy_that_is_not_whole_is_never_put_back(killed: Workspace, left: bytes | str) -> None:
    copy = copy_of(killed, plan_of(killed))
    whole = copy.read_bytes()
    copy.write_bytes(whole[: len(whole) - 3] if isinstance(left, str) else left)
    assert crash_copies.put_back(killed) == []
    assert plan_of(killed).read_text() == PLAN


def test_a_copy_that_is_not_whole_is_made_anew(killed: Workspace) -> None:
    plan = plan_of(killed)
    copy = copy_of(killed, plan)
    whole = copy.read_bytes()
    copy.write_bytes(b"")
    crash_copies.keep(killed, "auth", [plan])
    assert copy.read_bytes() == whole


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
