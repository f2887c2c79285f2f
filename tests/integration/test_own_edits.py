"""A person's own edits of what they approved, told from what others changed, in real repositories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.trust.own_edits import Origin, are_own, origin
from tests.conftest import Project

CONFIG, SCRIPT = "ralph.config.json", "check.sh"
MINE, EVIL, NEWER = '{"mine": 1}', '{"evil": 1}', '{"mine": 2}'


class Clones:
    """A person's clone of a project, and somebody else's."""

    def __init__(self, person: Project) -> None:
        self.env = {**person.env, "GIT_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no"}
        self.theirs, self.mine = person.path, person.folder / "mine"
        self.push(CONFIG, MINE)
        self.push(SCRIPT, "exit 0\n" * 9)
        self.git(person.folder, "clone", "-q", str(self.theirs), str(self.mine))

    def git(self, folder: Path, *args: str, check: bool = True) -> None:
        done = subprocess.run(["git", *args], cwd=folder, env=self.env, capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr

    def push(self, name: str, text: str) -> None:
        """Somebody else commits."""
        (self.theirs / name).write_text(text)
        self.git(self.theirs, "add", name)
        self.git(self.theirs, "commit", "-qm", "commit: mine, truly")

    def edit(self, name: str, text: str, *, commits: bool = False) -> None:
        (self.mine / name).write_text(text)
        if commits:
            self.git(self.mine, "add", name)
            self.git(self.mine, "commit", "-qm", "Mine")

    def pull(self, *options: str, check: bool = True) -> None:
        self.git(self.mine, "pull", "-q", *options, "origin", "main", check=check)

    def approved(self) -> Origin:
        return origin(self.mine, (CONFIG, SCRIPT))


@pytest.fixture
def clones(person: Project) -> Clones:
    return Clones(person)


def edits(clones: Clones) -> None:
    clones.edit(CONFIG, NEWER)


def commits(clones: Clones) -> None:
    clones.edit(CONFIG, EVIL, commits=True)
    clones.edit(CONFIG, NEWER, commits=True)


def commits_and_edits(clones: Clones) -> None:
    commits(clones)
    clones.edit(CONFIG, MINE * 2)


def amends(clones: Clones) -> None:
    commits(clones)
    clones.edit(CONFIG, MINE)
    clones.git(clones.mine, "commit", "-qa", "--amend", "-m", "Better")


def removes(clones: Clones) -> None:
    (clones.mine / CONFIG).unlink()


def pulls_something_else(clones: Clones) -> None:
    clones.edit(CONFIG, NEWER, commits=True)
    clones.push("other.txt", "x")
    clones.pull("--no-rebase")


@pytest.mark.parametrize("how", [edits, commits, commits_and_edits, amends, removes, pulls_something_else])
def test_what_the_person_edits_is_their_own(clones: Clones, how: Callable[[Clones], None]) -> None:
    approved = clones.approved()
    how(clones)
    assert are_own(clones.mine, [CONFIG], approved)


def pulled(clones: Clones) -> None:
    clones.push(CONFIG, EVIL)
    clones.pull()


def pulled_under_an_own_edit(clones: Clones) -> None:
    pulled(clones)
    clones.edit(CONFIG, EVIL + " ")


def pulled_under_an_own_commit(clones: Clones) -> None:
    pulled(clones)
    clones.edit(CONFIG, EVIL + " ", commits=True)


def merged_with_an_own_commit(clones: Clones) -> None:
    clones.push(SCRIPT, "curl evil\n" + "exit 0\n" * 9)
    clones.edit(SCRIPT, "exit 0\n" * 9 + "exit 1\n", commits=True)
    clones.pull("--no-rebase")
    assert (clones.mine / SCRIPT).read_text().startswith("curl evil")


def checked_out(clones: Clones) -> None:
    clones.push(CONFIG, EVIL)
    clones.git(clones.mine, "fetch", "-q")
    clones.git(clones.mine, "checkout", "origin/main", "--", CONFIG)


def merge_under_way(clones: Clones) -> None:
    clones.push(CONFIG, EVIL)
    clones.pull("--no-rebase", "--no-commit", "--no-ff", check=False)
    clones.edit(CONFIG, EVIL + " ")


def picked(clones: Clones) -> None:
    clones.push(CONFIG, EVIL)
    clones.git(clones.mine, "fetch", "-q")
    clones.git(clones.mine, "cherry-pick", "origin/main")


def squashed_into_an_own_commit(clones: Clones) -> None:
    clones.push(CONFIG, EVIL)
    clones.git(clones.mine, "fetch", "-q", str(clones.theirs), "main")  # only FETCH_HEAD names it
    clones.git(clones.mine, "merge", "--squash", "FETCH_HEAD")
    clones.git(clones.mine, "commit", "-qm", "All of their work")


def checked_out_and_committed(clones: Clones) -> None:
    checked_out(clones)
    clones.git(clones.mine, "commit", "-qam", "Their configuration")
    clones.edit(CONFIG, EVIL + " ")


def another_branch(clones: Clones) -> None:
    clones.git(clones.theirs, "switch", "-qc", "evil")
    clones.push(CONFIG, EVIL)
    clones.git(clones.mine, "fetch", "-q")
    clones.git(clones.mine, "switch", "-q", "evil")


@pytest.mark.parametrize(
    "how",
    [
        pulled,
        pulled_under_an_own_edit,
        pulled_under_an_own_commit,
        merged_with_an_own_commit,
        checked_out,
        merge_under_way,
        picked,
        squashed_into_an_own_commit,
        checked_out_and_committed,
        another_branch,
    ],
)
def test_what_somebody_else_wrote_is_not(clones: Clones, how: Callable[[Clones], None]) -> None:
    approved = clones.approved()
    how(clones)
    assert not are_own(clones.mine, [SCRIPT] if how is merged_with_an_own_commit else [CONFIG], approved)


def test_a_merge_that_brings_back_what_was_there_before_the_approval_is_not(person: Project) -> None:
    clones = Clones(person)
    clones.push(CONFIG, EVIL)
    clones.git(clones.theirs, "branch", "old")
    clones.push(CONFIG, MINE)
    clones.pull()
    approved = clones.approved()
    clones.git(clones.theirs, "switch", "-q", "old")
    clones.push("other.txt", "x")
    clones.git(clones.theirs, "switch", "-q", "main")
    clones.git(clones.theirs, "merge", "-q", "--no-commit", "-s", "ours", "old")
    clones.push(CONFIG, EVIL)
    clones.pull()
    assert (clones.mine / CONFIG).read_text() == EVIL
    assert not are_own(clones.mine, [CONFIG], approved)


def test_what_was_hidden_by_an_edit_when_it_was_approved_is_not_when_it_comes_back(clones: Clones) -> None:
    pulled(clones)
    clones.edit(CONFIG, MINE)
    approved = clones.approved()
    clones.git(clones.mine, "checkout", "--", CONFIG)
    assert not are_own(clones.mine, [CONFIG], approved)


def test_an_own_edit_can_be_followed_by_another_one(clones: Clones) -> None:
    approved = clones.approved()
    clones.edit(CONFIG, NEWER)
    assert are_own(clones.mine, [CONFIG], approved)
    again = origin(clones.mine, (CONFIG, SCRIPT), approved)
    assert again.commits == approved.commits
    clones.edit(CONFIG, NEWER, commits=True)
    clones.edit(CONFIG, NEWER * 2)
    assert are_own(clones.mine, [CONFIG], again)


def test_a_file_that_this_person_has_always_written_needs_no_known_commit(person: Project) -> None:
    person.write(CONFIG, MINE)
    approved = origin(person.path, (CONFIG,))
    assert approved.commits == {}
    person.git("add", CONFIG)
    person.git("commit", "-qm", "Add it")
    person.write(CONFIG, NEWER)
    person.git("commit", "-qam", "Change it")
    assert are_own(person.path, [CONFIG], approved)


def test_another_repository_in_the_same_place_inherits_nothing(person: Project) -> None:
    person.write(CONFIG, MINE)
    approved = origin(person.path, (CONFIG,))
    shutil.move(person.path / ".git", person.folder / "old")
    person.git("init", "-q")
    person.write(CONFIG, EVIL)
    assert not are_own(person.path, [CONFIG], approved)


def test_outside_of_git_nothing_is_known_to_be_own(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text(json.dumps({}))
    assert origin(tmp_path, (CONFIG,)) == Origin()
    assert not are_own(tmp_path, [CONFIG], Origin())
    assert os.listdir(tmp_path) == [CONFIG]  # noqa: PTH208
