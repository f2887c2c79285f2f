"""The ledger: what a person commits while an agent works stays, also in the instant in which Ralph reads it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ralph.git.repo import open_repo
from ralph.protect.git_trace import Trace
from ralph.protect.ledger import AGENT_EMAIL, Ledger, LedgerResult
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
    assert text.endswith("could not be undone")
    assert left == ()
    assert person.tip() == theirs
