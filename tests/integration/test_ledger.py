"""The ledger: what a person commits while an agent works stays, also in the instant in which Ralph reads it."""

from __future__ import annotations

import asyncio
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from ralph.git.repo import open_repo
from ralph.protect.git_trace import Trace
from ralph.protect.ledger import AGENT_EMAIL, LEFT, Ledger, LedgerResult
from ralph.protect.protection import violation_text
from ralph.protect.repository_snapshot import RepositorySnapshot
from tests.conftest import Project

AGENT = ("-c", f"user.email={AGENT_EMAIL}", "-c", "user.name=agent")


class Person:
    """Somebody at work in their own checkout, with an agent elsewhere."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.branch = project.git("symbolic-ref", "HEAD")
        self.repo = asyncio.run(open_repo(project.path))
        self.own = project.path / ".ralph/worktrees"
        self.ledger = Ledger.of(self.repo, Trace(project.folder / "trace"), self.own)

    def commit(self, message: str, *options: str) -> str:
        self.project.git(*options, "commit", "-q", "--allow-empty", "-m", message)
        return self.tip()

    def tip(self) -> str:
        return self.project.git("rev-parse", self.branch)

    def write_ref(self, commit: str) -> None:
        """The file of the branch, without git."""
        Path(self.repo.git_dir, self.branch).write_text(f"{commit}\n")

    def settle(self) -> LedgerResult:
        return asyncio.run(self.ledger.settle(self.project.folder / "kept"))


@pytest.fixture
def person(project: Project) -> Person:
    return Person(project)


def test_commits_in_a_row_stay_whichever_of_them_the_branch_shows(person: Person) -> None:
    first = person.commit("One")
    person.commit("Two")
    person.write_ref(first)  # as it is when git has written the reflog, and not yet the branch

    assert person.settle() == LedgerResult()
    assert person.tip() == first


def test_a_branch_that_no_git_moved_is_put_back(person: Person) -> None:
    before = person.tip()
    person.write_ref(person.project.git("commit-tree", f"{before}^{{tree}}", "-m", "Forged"))

    (text,) = person.settle().undone
    assert text.startswith("it moved")
    assert person.tip() == before


def test_a_branch_that_was_put_back_to_an_older_commit_without_git_is_restored(project: Project) -> None:
    older = project.git("rev-parse", "HEAD")
    project.git("commit", "-q", "--allow-empty", "-m", "Newer")
    person = Person(project)
    newer = person.tip()
    person.write_ref(older)

    assert person.settle().undone
    assert person.tip() == newer


def test_what_a_person_commits_on_top_of_an_agents_commit_is_never_taken_away(person: Person) -> None:
    person.commit("Agent", *AGENT)
    seen = RepositorySnapshot.of(person.repo.git_dir, person.own)
    theirs = person.commit("Person")

    (text,), left = asyncio.run(person.ledger._settle_refs(seen, []))
    assert text.endswith(LEFT)
    assert "undid" not in violation_text("The agent broke the rules", (text,))
    assert left == ()
    assert person.tip() == theirs


@pytest.mark.parametrize(
    "name", ["info/attributes", "info/grafts", "config.worktree", "hooks/pre-commit", "info/exclude"]
)
def test_a_pipe_for_which_the_persons_git_would_wait_is_taken_away(person: Person, name: str) -> None:
    path = person.repo.git_dir / name
    before = path.read_bytes() if path.exists() else None
    path.unlink(missing_ok=True)
    os.mkfifo(path)

    (text,) = person.settle().undone
    assert text.startswith(f"it changed .git/{name}")
    assert (path.read_bytes() if os.path.lexists(path) else None) == before
    person.commit("Git works")


def test_packed_refs_that_became_a_pipe_come_back(project: Project) -> None:
    project.git("branch", "other")
    project.git("pack-refs", "--all")
    person = Person(project)
    packed = person.repo.git_dir / "packed-refs"
    packed.unlink()
    os.mkfifo(packed)

    assert person.settle().undone == ("it made .git/packed-refs unreadable",)
    assert project.git("branch", "--list", "other").strip() == "other"


def test_a_huge_configuration_is_taken_away_unread(person: Person) -> None:
    """Only the agent's own lines at its end would matter, and nothing of it is read into memory."""
    path = person.repo.git_dir / "config.worktree"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n[core]\n\thooksPath = /tmp/planted\n")

    tracemalloc.start()
    (text,) = person.settle().undone
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert text.startswith("it changed .git/config.worktree")
    assert not path.exists()
    assert peak < 100 << 20


def test_a_file_of_the_repository_is_replaced_at_once(person: Person) -> None:
    """A kill in between must not leave the person's repository without its configuration."""
    path = person.repo.git_dir / "config"
    whole = path.read_bytes()
    path.write_bytes(whole + b"[core]\n\thooksPath = /tmp/planted\n")
    missing: list[str] = []
    watching = [True]  # an audit hook cannot be removed

    def watch(event: str, args: tuple[object, ...]) -> None:
        if watching and event in ("os.rename", "os.chmod", "open") and not path.exists():
            missing.append(event)

    sys.addaudithook(watch)
    assert person.settle().undone
    watching.clear()
    assert path.read_bytes() == whole
    assert missing == []
