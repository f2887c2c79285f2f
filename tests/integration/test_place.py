"""In a checkout it stays known whose files are whose: an agent's wrongs are put right, nobody's work is lost."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from ralph.errors import RalphError
from ralph.git.look import attempt_ref
from ralph.git.repo import open_repo
from ralph.loop.ownership import bring_back, claim
from ralph.loop.place import STRAYS, Changes, Left, Place, Tip
from ralph.workspace import Workspace
from tests.conftest import Project
from tests.integration.conftest import ODD_NAMES, add_submodule, executable

T = TypeVar("T")
REF = attempt_ref("auth", "US-001", 1)


def do(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


class Checkout:
    """A project on its branch, with a place that has looked at it as before an agent's call."""

    def __init__(self, project: Project, folder: str = "") -> None:
        self.project = project
        self.git, self.write, self.read = project.git, project.write, project.read
        self.exists, self.status, self.files_in = project.exists, project.status, project.files_in
        self.root = project.path / folder
        self.root.mkdir(exist_ok=True)
        self.workspace = Workspace(root=self.root)
        self.workspace.keep_out_of_git()
        self.git("add", "-f", f"{folder}/.ralph/.gitignore".lstrip("/"))
        self.git("commit", "-q", "-m", "with Ralph")
        self.git("switch", "-q", "-c", "ralph/auth")
        self.place = self.look()

    def look(self) -> Place:
        """As the next run finds it."""
        repo = do(open_repo(self.root))
        place = Place(repo=repo, branch="ralph/auth", root=self.root, records=self.workspace.records)
        self.base = do(place.look())
        return place

    def agent(self, script: str) -> None:
        """What an agent does in its shell."""
        done = subprocess.run(["/bin/sh", "-ec", script], cwd=self.root, env=self.project.env, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()

    def straighten(self) -> Tip:
        return do(self.place.straighten(self.base))

    def changes(self) -> Changes:
        return do(self.place.changes(self.base, self.straighten()))

    def keep(self) -> str:
        changes = self.changes()

        async def keep() -> str:
            commit = await self.place.keep(REF, changes, "US-001, attempt 1")
            await self.place.kept()
            return commit

        return do(keep())

    def leave(self, script: str, target: str = "auth") -> Left:
        """An attempt that ends with its work uncommitted; what is on disk afterwards is known as left."""
        self.agent(script)
        changes = self.changes()
        commit = do(self.place.keep(attempt_ref(target, "US-001", 1), changes, "left"))
        left = Left(target=target, commit=commit, parent=changes.head)
        self.place.remember_left(left)
        return left

    def strays(self) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname)", STRAYS).splitlines()

    def committed(self, name: str, text: str) -> None:
        self.write(name, text)
        self.git("add", "--", name)
        self.git("commit", "-q", "-m", f"with {name.strip()}")
        self.base = self.git("rev-parse", "HEAD")

    def refused(self, target: str = "auth") -> tuple[str, ...]:
        """The files for whose sake a run does not begin."""
        with pytest.raises(RalphError, match="uncommitted changes that are not Ralph's") as error:
            do(claim(self.look(), target))
        assert "--worktree" in error.value.remedy
        return tuple(line.strip() for line in error.value.details)


@pytest.fixture
def checkout(person: Project) -> Checkout:
    return Checkout(person)


# an agent that stays where it belongs


def test_an_agent_that_did_nothing_changed_nothing(checkout: Checkout) -> None:
    checkout.write("notes.txt", "a person's\n")
    checkout.place = checkout.look()

    changes = checkout.changes()

    assert not changes.any
    assert (changes.head, changes.commits, changes.wrongs) == (checkout.base, (), ())
    assert checkout.keep() == checkout.base
    assert checkout.strays() == []


def test_what_an_agent_committed_and_what_it_left_are_told_apart(checkout: Checkout) -> None:
    checkout.write("notes.txt", "a person's\n")
    checkout.place = checkout.look()
    checkout.agent("""
        echo one > one.txt; git add one.txt; git commit -qm 'feat: one'
        echo two > two.txt; git add two.txt; git commit -qm 'feat: two'
        echo changed > app.txt; echo three > three.txt
    """)

    changes = checkout.changes()

    assert [commit.subject for commit in changes.commits] == ["feat: two", "feat: one"]
    assert changes.committed == ("one.txt", "two.txt")
    assert changes.left == ("app.txt", "three.txt")
    assert changes.wrongs == ()


def test_ralph_s_own_files_are_no_work_of_an_agent(checkout: Checkout) -> None:
    checkout.committed(".ralph/2026-01-01-auth/prd.json", "{}\n")
    checkout.agent("echo '{ }' > .ralph/2026-01-01-auth/prd.json; echo x > .ralph/2026-01-01-auth/more.md")

    assert not checkout.changes().any
    assert not do(checkout.place.changed_beside_own(checkout.base))


def test_what_an_agent_left_is_kept_and_stays_where_it_is(checkout: Checkout) -> None:
    checkout.committed("old.txt", "old\n")
    checkout.committed("removed.txt", "removed\n")
    checkout.agent("""
        echo committed > one.txt; git add one.txt; git commit -qm one
        echo changed > app.txt; git mv old.txt moved.txt; git rm -q removed.txt
        echo staged > staged.txt; git add staged.txt; mkdir deep; echo new > deep/new.txt
        echo gone > gone.txt; git add gone.txt; rm gone.txt
    """)
    before = checkout.status()

    kept = checkout.keep()

    assert checkout.git("rev-parse", REF) == kept
    assert checkout.files_in(kept) == [
        ".ralph/.gitignore", "app.txt", "deep/new.txt", "moved.txt", "one.txt", "staged.txt",
    ]  # fmt: skip
    assert checkout.git("show", f"{kept}:app.txt") == "changed"
    assert checkout.status() == before
    assert checkout.git("rev-parse", "HEAD~1") == checkout.base


def test_odd_names_are_kept_committed_and_restored_like_any_other(checkout: Checkout) -> None:
    for name in ODD_NAMES[::2]:
        checkout.committed(name, "before\n")
    checkout.place = checkout.look()
    for name in ODD_NAMES:
        checkout.write(name, "by the agent\n")

    kept = checkout.keep()
    assert set(checkout.changes().left) == set(ODD_NAMES)
    _, paths = do(checkout.place.to_commit())
    assert do(checkout.place.commit_left(paths, "feat: odd")).code == 0
    assert checkout.status() == []
    assert do(checkout.place.repo.between(kept, "HEAD")) == ()

    do(checkout.place.restore(checkout.base, "revert: odd", "auth"))
    assert do(checkout.place.repo.between(checkout.base, "HEAD")) == ()
    assert [checkout.exists(name) for name in ODD_NAMES] == [True, False] * 7


def test_what_is_left_is_committed_without_a_person_s_files(checkout: Checkout) -> None:
    checkout.write("notes.txt", "a person's\n")
    checkout.place = checkout.look()
    checkout.agent("echo x > new.txt; echo changed > app.txt")
    checkout.changes()
    checkout.write("report.xml", "made by a gate\n")

    _, paths = do(checkout.place.to_commit())
    assert paths == ("app.txt", "new.txt")
    assert do(checkout.place.commit_left(paths, "feat: US-001")).code == 0

    assert checkout.status() == ["?? notes.txt", "?? report.xml"]
    assert do(checkout.place.last_subject()) == "feat: US-001"
    assert not checkout.place.made


def test_a_hook_that_refuses_leaves_the_work_known_as_the_agent_s(checkout: Checkout) -> None:
    executable(checkout.root / ".git" / "hooks" / "pre-commit", "#!/bin/sh\necho too long >&2; exit 1\n")
    checkout.agent("echo x > new.txt")
    checkout.changes()

    done = do(checkout.place.commit_left(["new.txt"], "feat: US-001"))

    assert done.code == 1
    assert b"too long" in done.err
    assert checkout.place.made == {"new.txt"}
    assert checkout.read("new.txt") == "x\n"


def test_the_last_subject_is_not_one_of_ralph_s_own(checkout: Checkout) -> None:
    checkout.committed("work.txt", "x\n")
    checkout.committed(".ralph/2026-01-01-auth/prd.json", "{}\n")

    assert do(checkout.place.last_subject()) == "with work.txt"


# an agent that strays


STRAYING = {
    "switched to a branch": "git switch -q -c elsewhere; echo x > work.txt; git add work.txt; git commit -qm work",
    "detached its head": "git checkout -q --detach; echo x > work.txt; git add work.txt; git commit -qm work",
    "amended": "echo x > work.txt; git add work.txt; git commit -q --amend -m work",
    "reset its history": "git reset -q --hard HEAD~1; echo x > work.txt; git add work.txt; git commit -qm work",
    "renamed its branch": "echo x > work.txt; git add work.txt; git commit -qm work; git branch -m mine",
    "deleted its branch": "git checkout -q --detach; git branch -qD ralph/auth; echo x > work.txt",
    "committed to the person's branch": "git switch -q main; echo x > work.txt; git add -A; git commit -qm work",
    "left all of it uncommitted elsewhere": "git switch -q -c elsewhere; echo x > work.txt; git add work.txt",
}


@pytest.mark.parametrize("script", STRAYING.values(), ids=STRAYING.keys())
def test_the_branch_of_a_stray_agent_is_as_it_was_and_its_work_is_kept(checkout: Checkout, script: str) -> None:
    checkout.committed("second.txt", "second\n")
    checkout.write("notes.txt", "a person's\n")
    checkout.write(".git/info/exclude", "/notes.txt\n")  # as the shield does it
    checkout.place = checkout.look()
    checkout.place.foreign.add("notes.txt")

    checkout.agent(f"{script}; echo more > more.txt; echo changed > app.txt")
    tip = checkout.straighten()

    assert len(tip.wrongs) == 1
    assert tip.commits == ()
    assert checkout.git("symbolic-ref", "HEAD") == "refs/heads/ralph/auth"
    assert checkout.git("rev-parse", "HEAD") == tip.status.head == checkout.base
    assert checkout.files_in("HEAD") == [".ralph/.gitignore", "app.txt", "second.txt"]
    assert tip.status.changed == ()
    assert checkout.read("app.txt") == "app\n"
    assert checkout.read("second.txt") == "second\n"
    assert checkout.read("notes.txt") == "a person's\n"
    assert not checkout.exists("more.txt")
    (stray,) = checkout.strays()
    assert checkout.git("show", f"{stray}:work.txt") == "x"
    assert checkout.git("show", f"{stray}:more.txt") == "more"
    assert checkout.git("show", f"{stray}:app.txt") == "changed"
    assert "notes.txt" not in checkout.files_in(stray)


def test_what_a_stray_agent_did_wrong_is_told(checkout: Checkout) -> None:
    checkout.agent("git switch -q -c elsewhere")
    assert checkout.straighten().wrongs == ("it moved from the branch ralph/auth to elsewhere",)

    checkout.agent("git checkout -q --detach")
    assert checkout.straighten().wrongs == ("it moved from the branch ralph/auth to a detached HEAD",)

    checkout.agent("git commit -q --amend -m other")
    assert checkout.straighten().wrongs == ("it rewrote the history of its branch",)


def test_a_stray_agent_s_own_branches_stay(checkout: Checkout) -> None:
    checkout.agent("git switch -q -c elsewhere; echo x > work.txt; git add work.txt; git commit -qm work")
    checkout.straighten()

    assert "work.txt" in checkout.files_in("elsewhere")


def test_an_agent_that_went_away_and_came_back_did_no_wrong(checkout: Checkout) -> None:
    checkout.agent("""
        git switch -q -c side; echo x > work.txt; git add work.txt; git commit -qm work
        git switch -q ralph/auth; git merge -q --no-ff -m merged side
    """)

    changes = checkout.changes()

    assert changes.wrongs == ()
    assert changes.committed == ("work.txt",)
    assert [commit.subject for commit in changes.commits] == ["merged", "work"]


def test_a_merge_that_was_left_half_done_is_ended_and_its_files_are_kept(checkout: Checkout) -> None:
    checkout.agent("""
        git switch -q -c other; echo theirs > app.txt; echo t > theirs.txt; git add -A; git commit -qm theirs
        git switch -q ralph/auth; echo ours > app.txt; git commit -qam ours
        git merge -q other || true
    """)

    changes = checkout.changes()

    assert changes.wrongs == ("it left a merge or rebase half done",)
    assert [commit.subject for commit in changes.commits] == ["ours"]
    assert changes.left == ("app.txt", "theirs.txt")
    assert not checkout.exists(".git/MERGE_HEAD")
    assert "<<<<<<<" in checkout.git("show", f"{checkout.keep()}:app.txt")
    checkout.write(".ralph/prd.json", "{}\n")
    assert do(checkout.place.repo.commit_own([".ralph/prd.json"], "state")), "the branch takes commits again"


# a person's untracked files


def test_a_person_s_file_that_an_agent_committed_leaves_the_branch_and_stays_on_disk(checkout: Checkout) -> None:
    checkout.write("secrets.env", "TOKEN=a person's\n")
    checkout.write("drafts/two words.txt", "a person's\n")
    checkout.place = checkout.look()
    checkout.agent("echo x > work.txt; git add -f work.txt secrets.env drafts; git commit -qm 'feat: all of it'")

    changes = checkout.changes()

    assert changes.wrongs == ("it committed files that are not its own: drafts/two words.txt, secrets.env",)
    assert changes.committed == ("work.txt",)
    assert checkout.files_in("HEAD") == [".ralph/.gitignore", "app.txt", "work.txt"]
    assert checkout.read("secrets.env") == "TOKEN=a person's\n"
    assert checkout.read("drafts/two words.txt") == "a person's\n"
    assert changes.head == checkout.git("rev-parse", "HEAD")
    assert checkout.status() == ["?? drafts/", "?? secrets.env"]
    assert "secrets.env" not in checkout.files_in(checkout.keep())


def test_what_was_untracked_before_the_agent_is_a_person_s(checkout: Checkout) -> None:
    checkout.write("before.txt", "x\n")
    checkout.place.seen = False
    do(checkout.place.look())
    checkout.agent("echo x > after.txt")

    assert checkout.changes().left == ("after.txt",)
    checkout.place.seen = False
    do(checkout.place.look())
    assert checkout.place.foreign == {"before.txt"}
    assert checkout.place.made == {"after.txt"}


# work that is not wanted


def test_unwanted_work_is_undone_by_a_forward_commit(checkout: Checkout) -> None:
    checkout.committed("old.txt", "old\n")
    checkout.write("notes.txt", "a person's\n")
    checkout.place = checkout.look()
    checkout.agent("""
        echo changed > app.txt; echo x > new.txt; git rm -q old.txt; git add -A app.txt new.txt; git commit -qm work
        echo more >> app.txt; mkdir deep; echo left > deep/left.txt
    """)
    kept = checkout.keep()
    checkout.write(".ralph/2026-01-01-auth/prd.json", "state\n")
    do(checkout.place.repo.commit_own([".ralph/2026-01-01-auth/prd.json"], "state"))

    do(checkout.place.restore(checkout.base, "revert: US-001 is blocked", "auth"))

    assert checkout.git("log", "--format=%s", f"{checkout.base}..HEAD").splitlines() == [
        "revert: US-001 is blocked", "state", "work",
    ]  # fmt: skip
    assert do(checkout.place.repo.between(checkout.base, "HEAD")) == (".ralph/2026-01-01-auth/prd.json",)
    assert checkout.status() == ["?? notes.txt"]
    assert (checkout.read("app.txt"), checkout.read("old.txt")) == ("app\n", "old\n")
    assert not checkout.exists("deep")
    assert checkout.git("show", f"{kept}:deep/left.txt") == "left"


def test_restoring_where_nothing_changed_makes_no_commit(checkout: Checkout) -> None:
    checkout.agent("echo x > left.txt")
    checkout.keep()

    do(checkout.place.restore(checkout.base, "revert", "auth"))

    assert checkout.git("rev-parse", "HEAD") == checkout.base
    assert checkout.status() == []


def test_unwanted_work_is_undone_without_hooks(checkout: Checkout) -> None:
    checkout.agent("echo changed > app.txt; git commit -qam work")
    executable(checkout.root / ".git" / "hooks" / "pre-commit", "#!/bin/sh\nexit 1\n")

    do(checkout.place.restore(checkout.base, "revert", "auth"))

    assert checkout.read("app.txt") == "app\n"
    assert checkout.git("log", "-1", "--format=%s") == "revert"


# whose are the uncommitted files


def test_a_person_s_uncommitted_changes_stop_a_run(checkout: Checkout) -> None:
    for name in ("staged.txt", "deleted.txt"):
        checkout.committed(name, "x\n")
    checkout.write("app.txt", "a person's\n")
    checkout.write("staged.txt", "a person's\n")
    checkout.git("add", "staged.txt")
    checkout.write("added.txt", "a person's\n")
    checkout.git("add", "added.txt")
    (checkout.root / "deleted.txt").unlink()
    checkout.write("untracked.txt", "a person's, and in nobody's way\n")
    before = checkout.status()

    assert checkout.refused() == ("added.txt", "app.txt", "deleted.txt", "staged.txt")

    assert checkout.status() == before
    assert checkout.read("app.txt") == "a person's\n"


def test_many_uncommitted_changes_are_told_in_short(checkout: Checkout) -> None:
    for number in range(13):
        checkout.write(f"file{number:02}.txt", "a person's\n")
    checkout.git("add", "-A")

    told = checkout.refused()

    assert len(told) == 11
    assert told[-1] == "… and 3 more"


def test_a_person_s_half_done_merge_stops_a_run(checkout: Checkout) -> None:
    checkout.agent("""
        git switch -q -c other; echo theirs > app.txt; git commit -qam theirs
        git switch -q ralph/auth; echo ours > app.txt; git commit -qam ours
        git merge -q other || true
    """)

    assert checkout.refused() == ("app.txt",)
    assert checkout.exists(".git/MERGE_HEAD")


def test_ralph_s_own_files_and_untracked_ones_stop_nobody(checkout: Checkout) -> None:
    checkout.committed(".ralph/2026-01-01-auth/prd.json", "{}\n")
    checkout.write(".ralph/2026-01-01-auth/prd.json", "by hand\n")
    checkout.write("notes.txt", "a person's\n")
    place = checkout.look()

    do(claim(place, "auth"))

    assert place.foreign == {"notes.txt"}
    assert place.made == set()


def test_what_an_attempt_left_is_known_again(checkout: Checkout) -> None:
    checkout.write("notes.txt", "a person's\n")
    checkout.place = checkout.look()
    checkout.committed("old.txt", "old\n")
    checkout.leave("echo changed > app.txt; rm old.txt; echo new > new.txt")
    place = checkout.look()

    do(claim(place, "auth"))
    do(bring_back(place, "auth"))

    assert place.made == {"new.txt"}
    assert place.foreign == {"notes.txt"}
    assert checkout.status() == ["M app.txt", " D old.txt", "?? new.txt", "?? notes.txt"]


def test_odd_names_are_known_again_too(checkout: Checkout) -> None:
    for name in ODD_NAMES[::2]:
        checkout.committed(name, "before\n")
    checkout.place = checkout.look()
    for name in ODD_NAMES:
        checkout.write(name, "by the agent\n")
    checkout.leave("true")
    place = checkout.look()

    do(claim(place, "auth"))

    assert place.made == set(ODD_NAMES[1::2])
    assert place.foreign == set()


def test_what_a_person_changed_in_left_work_is_theirs(checkout: Checkout) -> None:
    checkout.leave("echo changed > app.txt; echo new > new.txt")
    checkout.write("app.txt", "changed, and corrected by a person\n")

    assert checkout.refused() == ("app.txt",)
    assert checkout.read("app.txt") == "changed, and corrected by a person\n"
    assert checkout.read("new.txt") == "new\n"


def test_another_target_s_left_work_makes_room_and_comes_back(checkout: Checkout) -> None:
    checkout.committed("old.txt", "old\n")
    checkout.write("notes.txt", "a person's\n")
    checkout.place = checkout.look()
    left = checkout.leave("echo changed > app.txt; rm old.txt; mkdir deep; echo new > deep/new.txt; git add deep")

    other = checkout.look()
    do(claim(other, "billing"))
    assert checkout.status() == ["?? notes.txt"]
    assert (checkout.read("app.txt"), checkout.read("old.txt")) == ("app\n", "old\n")
    assert (other.made, other.foreign) == (set(), {"notes.txt"})
    assert other.lefts() == [left]

    again = checkout.look()
    do(claim(again, "auth"))
    do(bring_back(again, "auth"))
    assert checkout.status() == ["M app.txt", " D old.txt", "?? deep/", "?? notes.txt"]
    assert checkout.read("deep/new.txt") == "new\n"
    assert (again.made, again.foreign) == ({"deep/new.txt"}, {"notes.txt"})


def test_odd_names_make_room_and_come_back_too(checkout: Checkout) -> None:
    for name in ODD_NAMES[::2]:
        checkout.committed(name, "before\n")
    checkout.place = checkout.look()
    for name in ODD_NAMES:
        checkout.write(name, "by the agent\n")
    checkout.leave("true")

    do(claim(checkout.look(), "billing"))
    assert checkout.status() == []
    place = checkout.look()
    do(claim(place, "auth"))
    do(bring_back(place, "auth"))

    assert {checkout.read(name) for name in ODD_NAMES} == {"by the agent\n"}
    assert place.made == set(ODD_NAMES[1::2])


def test_left_work_does_not_come_back_onto_something_newer(checkout: Checkout) -> None:
    left = checkout.leave("echo changed > app.txt; echo new > new.txt")
    do(claim(checkout.look(), "billing"))
    checkout.committed("other.txt", "built since\n")
    place = checkout.look()

    do(claim(place, "auth"))
    do(bring_back(place, "auth"))

    assert checkout.status() == []
    assert place.lefts() == []
    assert checkout.git("show", f"{REF}:app.txt") == "changed"
    assert left.commit == checkout.git("rev-parse", REF)


def test_left_work_comes_back_when_only_ralph_s_own_files_are_newer(checkout: Checkout) -> None:
    checkout.leave("echo new > new.txt")
    do(claim(checkout.look(), "billing"))
    checkout.committed(".ralph/2026-01-01-auth/prd.json", "{}\n")
    place = checkout.look()

    do(claim(place, "auth"))
    do(bring_back(place, "auth"))

    assert checkout.read("new.txt") == "new\n"


def test_left_work_of_several_targets_is_told_apart(checkout: Checkout) -> None:
    checkout.leave("echo a > auth.txt", "auth")
    do(claim(checkout.look(), "billing"))
    checkout.place = checkout.look()
    checkout.leave("echo b > billing.txt", "billing")

    place = checkout.look()
    do(claim(place, "auth"))
    do(bring_back(place, "auth"))
    assert (checkout.exists("auth.txt"), checkout.exists("billing.txt")) == (True, False)

    place = checkout.look()
    do(claim(place, "billing"))
    do(bring_back(place, "billing"))
    assert (checkout.exists("auth.txt"), checkout.exists("billing.txt")) == (False, True)


def test_left_work_that_is_forgotten_or_lost_stops_nobody(checkout: Checkout) -> None:
    checkout.place.remember_left(Left(target="auth", commit="0" * 40, parent=checkout.base))
    (checkout.workspace.records / "left-broken.json").write_text("{")
    checkout.place.remember_left(Left(target="billing", commit=checkout.base, parent=checkout.base))
    checkout.place.forget_left("billing")
    place = checkout.look()

    do(claim(place, "auth"))
    do(bring_back(place, "auth"))

    assert place.lefts() == []
    assert checkout.status() == []


# other shapes of a repository


def test_a_submodule_that_an_agent_moved_on_is_its_work(person: Project) -> None:
    add_submodule(person)
    checkout = Checkout(person)
    checkout.agent("""
        cd lib; echo more >> file.txt; git commit -qam 'more in the library'; cd ..
        git add lib; git commit -qm 'feat: a newer library'
    """)

    changes = checkout.changes()

    assert changes.wrongs == ()
    assert changes.committed == ("lib",)
    assert changes.left == ()


def test_a_submodule_that_an_agent_left_moved_on_is_kept_and_committed(person: Project) -> None:
    add_submodule(person)
    checkout = Checkout(person)
    checkout.agent("cd lib; echo more >> file.txt; git commit -qam 'more in the library'")
    newer = checkout.git("-C", "lib", "rev-parse", "HEAD")

    kept = checkout.keep()
    assert checkout.git("ls-tree", kept, "lib").split()[2] == newer
    _, paths = do(checkout.place.to_commit())
    assert do(checkout.place.commit_left(paths, "feat: lib")).code == 0

    assert checkout.git("ls-tree", "HEAD", "lib").split()[2] == newer
    assert checkout.status() == []


def test_a_submodule_with_changes_inside_stops_nobody(person: Project) -> None:
    add_submodule(person)
    checkout = Checkout(person)
    checkout.write("lib/file.txt", "a person works in there\n")

    do(claim(checkout.look(), "auth"))

    assert not checkout.changes().any
    assert checkout.read("lib/file.txt") == "a person works in there\n"


def test_a_project_in_a_subfolder_sees_the_whole_repository(person: Project) -> None:
    checkout = Checkout(person, "web")
    checkout.write("notes.txt", "a person's, beside the project\n")
    checkout.place = checkout.look()
    assert checkout.place.own == "web/.ralph/"
    assert checkout.place.is_own("web/.ralph/x")
    assert not checkout.place.is_own(".ralph/x")
    assert checkout.place.in_repo("src/x") == "web/src/x"

    checkout.agent("""
        echo x > main.txt; git add main.txt; git commit -qm work
        echo left > left.txt; echo changed > ../app.txt; echo own > .ralph/more.md
    """)
    changes = checkout.changes()
    assert changes.committed == ("web/main.txt",)
    assert changes.left == ("app.txt", "web/left.txt")
    kept = checkout.keep()
    assert checkout.git("show", f"{kept}:web/left.txt") == "left"
    assert checkout.git("show", f"{kept}:app.txt") == "changed"

    do(checkout.place.restore(checkout.base, "revert", "auth"))
    assert checkout.status() == ["?? notes.txt", "?? web/.ralph/more.md"]
    assert checkout.read("app.txt") == "app\n"
    assert not checkout.exists("web/main.txt")


def test_a_stray_agent_of_a_project_in_a_subfolder_is_brought_back(person: Project) -> None:
    checkout = Checkout(person, "web")
    checkout.agent("git switch -q -c elsewhere; echo x > main.txt; echo changed > ../app.txt; git commit -qam work")

    tip = checkout.straighten()

    assert tip.wrongs == ("it moved from the branch ralph/auth to elsewhere",)
    assert checkout.status() == []
    assert checkout.read("app.txt") == "app\n"
    (stray,) = checkout.strays()
    assert checkout.git("show", f"{stray}:web/main.txt") == "x"


def test_a_person_s_changes_beside_a_project_in_a_subfolder_stop_a_run_too(person: Project) -> None:
    checkout = Checkout(person, "web")
    checkout.write("app.txt", "a person's\n")

    assert checkout.refused() == ("app.txt",)


def test_the_same_holds_in_a_worktree(person: Project) -> None:
    checkout = Checkout(person)
    folder = person.folder / "beside"
    checkout.git("switch", "-q", "main")
    checkout.git("worktree", "add", "-q", str(folder), "ralph/auth")
    checkout.write("app.txt", "a person works here meanwhile\n")
    repo = do(open_repo(folder))
    place = Place(repo=repo, branch="ralph/auth", root=folder, records=person.folder / "records")
    base = do(place.look())

    checkout.agent(f"cd {folder}; git switch -q -c mine; echo x > app.txt; git commit -qam work; echo x > work.txt")
    tip = do(place.straighten(base))

    assert tip.wrongs == ("it moved from the branch ralph/auth to mine",)
    assert tip.status.head == base
    assert (folder / "app.txt").read_text() == "app\n"
    assert not (folder / "work.txt").exists()
    assert checkout.read("app.txt") == "a person works here meanwhile\n"
    assert checkout.git("branch", "--show-current") == "main"


def test_empty_folders_are_left_alone(checkout: Checkout) -> None:
    (checkout.root / "empty" / "folders").mkdir(parents=True)

    assert not checkout.changes().any
    do(checkout.place.restore(checkout.base, "nothing", "auth"))
    assert (checkout.root / "empty" / "folders").is_dir()
