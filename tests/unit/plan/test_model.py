"""Plans: found by name, changed one task at a time, and learnings kept once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.model import MAX_LEARNING, Plan, Task, TaskState, learn

PLAN = Plan(
    target="auth",
    tasks=(
        Task(id="a", title="A", state=TaskState.PASSED),
        Task(id="b", title="B"),
        Task(id="c", title="C", state=TaskState.BLOCKED),
        Task(id="d", title="D"),
    ),
)


def test_tasks_are_found_by_their_whole_id() -> None:
    assert PLAN.find("b") == Task(id="b", title="B")
    assert PLAN.find("B") is None
    assert PLAN.find("") is None


def test_tasks_are_counted_by_where_they_stand() -> None:
    counts = [PLAN.count(state) for state in (TaskState.PENDING, TaskState.PASSED, TaskState.BLOCKED)]
    assert counts == [2, 1, 1]


def test_a_plan_gives_its_tasks_in_order() -> None:
    assert [task.id for task in PLAN] == ["a", "b", "c", "d"]


def test_changing_one_task_leaves_the_others_and_the_old_plan_alone() -> None:
    changed = PLAN.change("b", lambda task: replace(task, notes="n"))
    assert [task.notes for task in changed] == ["", "n", "", ""]
    assert all(new is old for new, old in zip(changed, PLAN, strict=True) if new.id != "b")
    assert [task.notes for task in PLAN] == ["", "", "", ""]


def test_changing_a_task_that_is_not_there_changes_nothing() -> None:
    assert PLAN.change("zzz", lambda task: replace(task, notes="n")) == PLAN


@pytest.mark.parametrize("again", ["Use make.", "use make", "USE  MAKE", " use\tmake \n", "use make!", "Use make..."])
def test_the_same_learning_in_other_words_of_case_and_spacing_is_kept_once(again: str) -> None:
    assert learn(("Use make",), (again,)) == ("Use make",)


def test_a_learning_becomes_one_line_of_sensible_length() -> None:
    assert learn((), ("a\n b\t c",)) == ("a b c",)
    assert learn((), ("x" * 10_000,)) == ("x" * MAX_LEARNING,)


@pytest.mark.parametrize("empty", ["", "  ", "\n\t"])
def test_nothing_is_learned_from_nothing(empty: str) -> None:
    assert learn(("a",), (empty,)) == ("a",)


LEARNINGS = st.lists(st.text("aAbB .!\n", max_size=6) | st.text(max_size=10), max_size=8).map(tuple)


@given(LEARNINGS, LEARNINGS)
def test_what_is_known_stays_and_learning_it_again_adds_nothing(known: tuple[str, ...], new: tuple[str, ...]) -> None:
    once = learn(known, new)
    assert once[: len(known)] == known
    assert learn(once, new) == once
    assert len(once) <= len(known) + len(new)
    assert all(text.strip() for text in once[len(known) :])


@given(LEARNINGS)
def test_no_learning_is_kept_twice(new: tuple[str, ...]) -> None:
    kept = learn((), new)
    assert len({text.casefold().rstrip(".!") for text in kept}) == len(kept)
