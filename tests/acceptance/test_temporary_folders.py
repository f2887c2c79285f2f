"""TMPDIR is a new folder for each use: nobody can take it away from somebody else, or leave anything in it."""

from __future__ import annotations

from tests.conftest import VERIFIED, Project, does


def test_whoever_removes_it_removes_only_his_own(project: Project) -> None:
    project.config('test -d "$TMPDIR" && rm -rf "$TMPDIR"')
    project.stories("One", "Two")
    removes = ['rm -rf "$TMPDIR"']
    project.script(
        does("US-001", "one.txt", run=removes), does("US-002", "two.txt", run=["mktemp", *removes]), VERIFIED
    )

    project.ralph("run", "auth")

    assert [story["retries"] for story in project.plan()["userStories"]] == [0, 0]


def test_a_link_that_is_left_in_it_makes_no_later_gate_green(project: Project) -> None:
    project.config('test -e "$TMPDIR/warm/ok" || sh x', maxRetries=2)
    project.stories("One")
    warm = "mkdir -p $HOME/w; touch $HOME/w/ok; ln -s $HOME/w $TMPDIR/warm; exit 1\n"
    project.script(does("US-001", "x", warm, times=1), does("US-001", "x", "exit 1 # still\n"))

    project.ralph("run", "auth", "--no-baseline", code=3)

    assert not project.story()["passes"]


def test_each_use_has_its_own_and_none_is_left(project: Project) -> None:
    note = 'echo "$TMPDIR" >> "$HOME/../seen"'
    project.config(note)
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt", run=[note]), does("US-002", "two.txt", run=[note]), VERIFIED)

    project.ralph("run", "auth", "--no-baseline")

    seen = (project.folder / "seen").read_text().splitlines()
    assert len(seen) == len(set(seen)) == 6, "two agents, and the gate for each, for the base and for the whole"
    assert [path.name for path in project.folder.glob("ralph-*")] == []
