"""Passed work is held back, uncommitted, until its spec is complete: nobody's work is lost or mixed up meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph.errors import RalphError
from ralph.git.look import attempt_ref
from ralph.git.repo import open_repo
from ralph.loop.ownership import bring_back, claim
from ralph.loop.place import AGENT_EMAIL, STRAYS, Place, Tip
from tests.conftest import Project
from tests.integration.conftest import ODD_NAMES
from tests.integration.test_place import Checkout, do

RAW = os.fsdecode(b"caf\xe9.txt")
STATE = ("implementation.json", "PROGRESS.md")


class Building(Checkout):
    """A checkout in which one task after another is built and held."""

    number = 0

    def look(self) -> Place:
        repo = do(open_repo(self.root))
        records = self.workspace.records
        place = Place(repo=repo, branch="ralph/auth", root=self.root, records=records, own_files=STATE, holds=True)
        self.base = do(place.look())
        return place

    def again(self, target: str = "specs") -> Place:
        """As the next run finds it."""
        self.place = self.look()
        do(claim(self.place, target))
        do(bring_back(self.place, target, frozenset(f"a-{n}" for n in range(1, self.number + 1))))
        return self.place

    def passes(self, script: str) -> str:
        """A task that an agent did and whose gates were green."""
        self.attempt(script)
        commit = do(self.place.hold(self.ref, "passed", "specs", f"a-{self.number}"))
        assert self.git("rev-parse", self.ref) == commit
        return commit

    def attempt(self, script: str) -> Tip:
        """An agent's work, looked at and kept as after every call; nothing is said yet about whether it passes."""
        self.number += 1
        self.base = do(self.place.look())
        self.agent(f"export GIT_COMMITTER_EMAIL={AGENT_EMAIL}; {script}")
        tip = do(self.place.straighten(self.base, self.ground))
        changes = do(self.place.changes(self.base, tip))

        async def keep() -> str:
            commit = await self.place.keep(self.ref, changes, "attempt")
            await self.place.kept()
            return commit

        self.kept = do(keep())
        if changes.left:
            self.place.remember_left(self.place.left("specs", self.kept, changes.head))
        return tip

    def commit(self) -> list[str]:
        """The spec's commit, and what is in it."""
        _, paths = do(self.place.to_commit())
        assert do(self.place.commit_left(paths, "feat: Spec")).code == 0
        self.place.forget_left("specs")
        return self.git("show", "--format=", "--name-status", "HEAD").splitlines()

    def block(self, base: str) -> None:
        do(self.place.restore(base, "blocked", "specs"))

    @property
    def ground(self) -> str:
        return self.place.held or self.base

    @property
    def ref(self) -> str:
        return attempt_ref("specs", f"a-{self.number}", 1)


@pytest.fixture
def building(person: Project) -> Building:
    made = Building(person)
    for name in ("old.txt", "moved.txt"):
        made.committed(name, f"{name}\n")
    made.again()
    return made


# held, and what comes next


def test_what_passed_is_kept_under_its_ref_and_stays_uncommitted(building: Building) -> None:
    before = building.git("rev-parse", "HEAD")
    held = building.passes("echo one > one.txt; echo more >> app.txt; rm old.txt")
    assert building.git("rev-parse", "HEAD") == before
    assert building.status() == ["M app.txt", " D old.txt", "?? one.txt"]
    assert building.place.held == held
    assert building.git("show", f"{held}:one.txt") == "one"
    assert building.git("rev-parse", f"{held}^") == before


def test_a_task_that_left_nothing_holds_nothing(building: Building) -> None:
    assert building.passes("true") == building.git("rev-parse", "HEAD")
    assert building.place.held == ""
    assert building.place.lefts() == []


def test_the_next_task_stands_on_it_and_all_of_it_is_one_commit(building: Building) -> None:
    building.passes("echo one > one.txt")
    second = building.passes("echo two > two.txt; echo more >> one.txt")
    assert building.git("show", f"{second}:one.txt") == "one\nmore"
    assert building.commit() == ["A\tone.txt", "A\ttwo.txt"]
    assert building.status() == []
    assert building.place.held == ""


def test_what_is_blocked_goes_back_to_what_had_passed(building: Building) -> None:
    held = building.passes("echo one > one.txt; rm old.txt; git mv moved.txt there.txt; echo more >> app.txt")
    building.attempt(
        "echo spoiled > one.txt; rm there.txt; echo x > old.txt; echo y > new.txt; git checkout -q app.txt"
    )
    building.block(held)
    assert building.read("one.txt") == "one\n"
    assert building.read("there.txt") == "moved.txt\n"
    assert building.read("app.txt") == "app\nmore\n"
    assert not building.exists("old.txt")
    assert not building.exists("new.txt")
    assert building.place.held == held
    assert building.git("show", f"{building.kept}:new.txt") == "y", "what was refused is kept"
    assert sorted(building.commit()) == ["A\tone.txt", "D\told.txt", "M\tapp.txt", "R100\tmoved.txt\tthere.txt"]


def test_what_is_blocked_before_anything_passed_leaves_the_checkout_clean(building: Building) -> None:
    building.attempt("echo one > one.txt; rm old.txt; mkdir -p deep/er; echo x > deep/er/x.txt")
    building.block(building.base)
    assert building.status() == []
    assert building.place.lefts() == []
    assert not building.exists("deep")


@pytest.mark.parametrize("name", [*ODD_NAMES, RAW])
def test_odd_names_are_held_given_back_and_known_again(building: Building, name: str) -> None:
    building.write(name, "first\n")
    held = building.passes("true")
    building.write(name, "spoiled\n")
    building.attempt("true")
    building.block(held)
    assert building.read(name) == "first\n"
    assert building.again().made == {name}
    assert building.place.held == held
    building.commit()
    assert building.status() == []


def test_modes_and_links_are_held_and_given_back(building: Building) -> None:
    held = building.passes("echo x > run.sh; chmod +x run.sh; ln -s run.sh link; ln -s nowhere lost; chmod +x app.txt")
    building.attempt("chmod -x run.sh app.txt; rm link lost; echo file > link; mkdir lost; echo x > lost/x.txt")
    building.block(held)
    assert os.access(building.root / "run.sh", os.X_OK)
    assert os.access(building.root / "app.txt", os.X_OK)
    assert Path(building.root / "link").readlink() == Path("run.sh")
    assert Path(building.root / "lost").readlink() == Path("nowhere")
    building.again()
    assert building.place.held == held
    building.commit()
    modes = {line.split("\t")[1]: line[:6] for line in building.git("ls-tree", "HEAD").splitlines()}
    assert [modes[name] for name in ("run.sh", "link", "lost", "app.txt")] == ["100755", "120000", "120000", "100755"]


def test_a_person_s_untracked_file_is_never_held_or_given_back(building: Building) -> None:
    building.write("notes.txt", "a person's\n")
    building.again()
    held = building.passes("echo one > one.txt")
    assert "notes.txt" not in building.files_in(held)
    building.write("notes.txt", "a person's, later\n")
    building.attempt("echo two > two.txt")
    building.block(held)
    assert building.read("notes.txt") == "a person's, later\n"
    assert building.commit() == ["A\tone.txt"]


# an agent that does what is not its to do


def test_commits_of_an_agent_are_taken_off_and_kept_and_their_files_stay(building: Building) -> None:
    held = building.passes("echo one > one.txt")
    tip = building.attempt(
        "echo two > two.txt; git add -A; git commit -qm two; echo three > three.txt; git add -A; git commit -qm three"
    )
    assert (tip.wrongs, tip.commits) == ((), ())
    assert building.git("rev-parse", "HEAD") == building.base
    assert building.git("log", "--format=%s", f"{building.base}..{tip.undone}").splitlines() == ["three", "two"]
    assert [building.read(f"{name}.txt") for name in ("one", "two", "three")] == ["one\n", "two\n", "three\n"]
    assert building.place.held == held
    do(building.place.hold(building.ref, "passed", "specs", "a-1"))
    assert building.commit() == ["A\tone.txt", "A\tthree.txt", "A\ttwo.txt"]


def test_commits_of_an_agent_that_left_a_merge_half_done_are_taken_off_too(building: Building) -> None:
    tip = building.attempt("""
        git switch -q -c side; echo theirs > app.txt; git commit -qam theirs; git switch -q ralph/auth
        echo mine > app.txt; git commit -qam mine; git merge side >/dev/null || true
    """)
    assert tip.wrongs == ("it left a merge or rebase half done",)
    assert building.git("rev-parse", "HEAD") == building.base
    assert building.git("log", "-1", "--format=%s", tip.undone) == "mine"
    assert not building.exists(".git/MERGE_HEAD")


@pytest.mark.parametrize(
    "script",
    [
        "git switch -q -c elsewhere; git add -A; git commit -qm work",
        "git checkout -q --detach; git add -A; git commit -qm work",
        "git add -A; git commit -q --amend -m rewritten",
        "git reset -q --hard HEAD~1; git clean -qfd -e .ralph",
        "git switch -q -c elsewhere; rm one.txt; git checkout -q app.txt",
        "git stash -qu; git switch -q -c elsewhere",
    ],
)
def test_after_an_agent_that_strayed_what_had_passed_is_all_there(building: Building, script: str) -> None:
    held = building.passes("echo one > one.txt; echo more >> app.txt; rm old.txt")
    tip = building.attempt(f"echo two > two.txt; {script}; echo three > three.txt")
    assert len(tip.wrongs) == 1
    assert building.git("symbolic-ref", "--short", "HEAD") == "ralph/auth"
    assert building.git("rev-parse", "HEAD") == building.base
    assert building.git("for-each-ref", STRAYS), "what it made is kept"
    assert do(building.place.freeze("now")) and not do(building.place.changed_beside_own(held))
    assert building.commit() == ["M\tapp.txt", "D\told.txt", "A\tone.txt"]


# a run later


def test_the_next_run_knows_it_by_its_content(building: Building) -> None:
    held = building.passes("echo one > one.txt; echo more >> app.txt")
    place = building.again()
    assert (place.held, place.made, place.collided) == (held, {"one.txt"}, ())
    assert building.commit() == ["M\tapp.txt", "A\tone.txt"]


@pytest.mark.parametrize("name", ["one.txt", "app.txt"])
def test_held_work_that_a_person_changed_is_neither_lost_nor_taken(building: Building, name: str) -> None:
    building.passes("echo one > one.txt; echo more >> app.txt")
    building.write(name, "a person's\n")
    building.place = building.look()
    with pytest.raises(RalphError, match="not Ralph's") as error:
        do(claim(building.place, "specs"))
    assert [line.strip() for line in error.value.details] == [name]
    assert building.read(name) == "a person's\n"


def test_a_person_s_commit_beside_it_keeps_both(building: Building) -> None:
    building.passes("echo one > one.txt; echo more >> app.txt")
    building.committed("theirs.txt", "a person's\n")
    place = building.again()
    assert building.git("rev-parse", f"{place.held}^") == building.base
    assert building.git("show", f"{place.held}:theirs.txt") == "a person's"
    assert building.git("show", f"{place.held}:one.txt") == "one"
    assert place.collided == ()
    assert building.commit() == ["M\tapp.txt", "A\tone.txt"]


def test_where_a_person_committed_the_same_file_theirs_stays_and_is_told(building: Building) -> None:
    held = building.passes("echo one > one.txt; echo more >> app.txt")
    building.git("checkout", "-q", "app.txt")
    building.committed("app.txt", "a person's\n")
    place = building.again()
    assert place.collided == ("app.txt",)
    assert building.read("app.txt") == "a person's\n"
    assert building.git("show", f"{held}:app.txt") == "app\nmore", "the other one is kept"
    assert building.commit() == ["A\tone.txt"]


def test_a_person_who_committed_the_held_work_itself_collides_with_nobody(building: Building) -> None:
    building.passes("echo one > one.txt; echo more >> app.txt")
    building.git("add", "-A")
    building.git("commit", "-qm", "all of it")
    place = building.again()
    assert (place.collided, place.made) == ((), set())
    assert not do(place.changed_beside_own("HEAD"))


def test_what_is_blocked_after_a_person_s_commit_does_not_take_that_back(building: Building) -> None:
    first = building.passes("echo one > one.txt")
    building.attempt("echo two > two.txt")
    building.committed("theirs.txt", "a person's\n")
    building.committed("app.txt", "a person's too\n")
    building.again()
    building.block(first)
    assert building.read("theirs.txt") == "a person's\n"
    assert building.read("app.txt") == "a person's too\n"
    assert building.status() == ["?? one.txt"]
    building.again()
    assert building.commit() == ["A\tone.txt"]


def test_what_is_blocked_after_its_spec_was_committed_in_part_takes_nothing_back(building: Building) -> None:
    began = building.base
    building.passes("echo one > one.txt")
    building.commit()
    building.again()
    building.block(began)
    assert building.status() == []
    assert building.read("one.txt") == "one\n"


def test_another_target_s_run_in_between_gets_it_out_of_its_way_and_it_comes_back(building: Building) -> None:
    building.passes("echo one > one.txt; echo more >> app.txt; rm old.txt")
    other = building.look()
    do(claim(other, "billing"))
    do(bring_back(other, "billing"))
    assert building.status() == []
    assert other.held == ""
    building.committed("billing.txt", "another target's\n")
    place = building.again()
    assert building.status() == ["M app.txt", " D old.txt", "?? one.txt"]
    assert place.made == {"one.txt"}
    assert building.commit() == ["M\tapp.txt", "D\told.txt", "A\tone.txt"]


def test_what_a_failed_attempt_left_on_top_of_it_is_told_apart_from_it(building: Building) -> None:
    held = building.passes("echo one > one.txt")
    building.attempt("echo half > two.txt; echo worse > one.txt")
    place = building.again()
    assert place.held == held
    assert place.made == {"one.txt", "two.txt"}
    building.block(held)
    assert building.commit() == ["A\tone.txt"]


def test_killed_while_files_go_back_the_next_run_still_knows_them(building: Building) -> None:
    held = building.passes("echo one > one.txt; echo more >> app.txt")
    building.attempt("echo worse > one.txt; echo two > two.txt; echo worse > app.txt")
    do(building.place._begin_return(held, "specs"))
    building.write("one.txt", "one\n")  # one of three was brought back
    place = building.again()
    assert place.held == held
    building.block(held)
    assert building.commit() == ["M\tapp.txt", "A\tone.txt"]
