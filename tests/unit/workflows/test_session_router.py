"""The session's router: its state from the marks, line by line, and the next call from the state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.workflows.session.router import (
    PLANNING_TASKS,
    Mark,
    Mode,
    ProgressItem,
    RoleCall,
    SessionState,
    Stuck,
    execute,
    infer,
    last_iteration,
    last_report,
    next_iteration,
    report_name,
    review_name,
    route,
)

TASKS = ("task-1", "task-2", "task-10", "task-1.1", "task-api-report", "task-1-r2")
SIGNS = {mark.value: mark for mark in Mark}
ITEMS = st.lists(
    st.builds(
        ProgressItem,
        id=st.sampled_from((*PLANNING_TASKS, *TASKS, "plan-other", "chore-1")),
        mark=st.sampled_from(Mark),
        line=st.integers(1, 99),
    ),
    max_size=8,
    unique_by=lambda item: item.id,
).map(tuple)
NAMES = st.lists(
    st.builds(report_name, st.sampled_from(TASKS), st.integers(1, 12))
    | st.builds(review_name, st.integers(1, 12))
    | st.sampled_from(("plan.md", "tasks.task-1-report-rX.md", "progress.review.md", "tasks.-report.md"))
    | st.text(max_size=12),
    max_size=10,
)


def items(text: str) -> tuple[ProgressItem, ...]:
    """`x plan-init` and so on, with commas between; an underscore is the open mark."""
    found = [part.split() for part in text.split(",") if part.strip()]
    return tuple(ProgressItem(id=name, mark=SIGNS[sign.replace("_", " ")]) for sign, name in found)


@pytest.mark.parametrize(
    ("marks", "state"),
    [
        ("P task-1", SessionState.REVIEWING),
        ("_ plan-breakdown, _ task-1, P task-2", SessionState.REVIEWING),
        ("x task-1, P plan-research", SessionState.REVIEWING),
        ("x plan-init, _ plan-brainstorm", SessionState.PLANNING),
        ("x plan-init, / plan-research, / task-1", SessionState.PLANNING),
        ("_ plan-unknown, x task-1", SessionState.PLANNING),
        ("x plan-init, _ task-1", SessionState.EXECUTING),
        ("x plan-init, x task-1, / task-2", SessionState.EXECUTING),
        ("x plan-init, x task-1", SessionState.COMPLETE),
        ("x plan-init", SessionState.COMPLETE),
        ("", SessionState.COMPLETE),
        ("x task-1, _ chore-1", SessionState.EXECUTING),
    ],
)
def test_the_state_is_inferred_from_the_marks_in_the_order_of_the_rules(marks: str, state: SessionState) -> None:
    assert infer(items(marks)) is state


def test_without_progress_there_is_no_session_yet() -> None:
    assert infer(None) is SessionState.INITIALIZING
    assert route(None, ["plan.md"]) == RoleCall(mode=Mode.INITIALIZE, task="plan-init")


@given(ITEMS)
def test_inference_is_total_and_an_earlier_rule_comes_before_a_later_one(found: tuple[ProgressItem, ...]) -> None:
    todo = (Mark.TODO, Mark.BEGUN)
    rules = [
        (SessionState.REVIEWING, any(item.mark is Mark.TO_REVIEW for item in found)),
        (SessionState.PLANNING, any(item.id.startswith("plan-") and item.mark in todo for item in found)),
        (SessionState.EXECUTING, any(item.id.startswith("task-") and item.mark in todo for item in found)),
        (SessionState.COMPLETE, {item.mark for item in found} <= {Mark.DONE}),
        (SessionState.EXECUTING, True),
    ]
    assert infer(found) is next(state for state, holds in rules if holds)


@given(ITEMS)
def test_neither_the_order_nor_the_titles_of_the_items_matter_to_the_state(found: tuple[ProgressItem, ...]) -> None:
    assert infer(tuple(reversed(found))) is infer(found)


@given(st.none() | ITEMS, NAMES, st.integers(0, 9))
def test_there_is_always_a_call_that_fits_the_state_or_a_reason_why_not(
    found: tuple[ProgressItem, ...] | None, names: list[str], cycles: int
) -> None:
    following = route(found, names, cycles=cycles)
    if isinstance(following, Stuck):
        assert following.reason.startswith("progress.md")
        return
    fitting = {
        SessionState.INITIALIZING: {Mode.INITIALIZE},
        SessionState.PLANNING: {Mode.BRAINSTORM, Mode.RESEARCH, Mode.TASK_BREAKDOWN},
        SessionState.EXECUTING: {Mode.EXECUTE},
        SessionState.REVIEWING: {Mode.TASK_REVIEW},
        SessionState.COMPLETE: {Mode.SESSION_REVIEW},
    }
    assert following.mode in fitting[infer(found)]
    assert following.role in ("planner", "questioner", "executor", "reviewer")
    named = {item.id: item for item in found or ()}
    if following.task and found is not None:
        assert named[following.task].mark is not Mark.DONE, "nobody is called for what is done"


@given(ITEMS, NAMES)
def test_only_what_is_planned_is_executed_and_only_what_waits_for_it_is_reviewed(
    found: tuple[ProgressItem, ...], names: list[str]
) -> None:
    following = route(found, names)
    if isinstance(following, RoleCall) and following.mode in (Mode.EXECUTE, Mode.TASK_REVIEW):
        assert following.task.startswith("task-")
        marks = {item.id: item.mark for item in found}
        assert (marks[following.task] is Mark.TO_REVIEW) == (following.mode is Mode.TASK_REVIEW)


@given(st.sampled_from(TASKS), NAMES)
def test_a_new_attempt_has_a_report_of_its_own(task: str, names: list[str]) -> None:
    call = execute(task, names)
    assert report_name(task, call.number) not in names
    assert call.number >= 1
    assert last_report(task, [*names, report_name(task, call.number)]) == call.number


@given(st.sampled_from(TASKS), st.integers(1, 200), st.sampled_from(TASKS))
def test_a_report_belongs_to_one_task_and_one_attempt(task: str, number: int, other: str) -> None:
    name = report_name(task, number)
    assert last_report(task, [name]) == number
    if other != task:
        assert last_report(other, [name]) == 0


@given(NAMES)
def test_a_new_session_review_has_a_file_of_its_own(names: list[str]) -> None:
    assert review_name(next_iteration(names)) not in names


def test_reports_are_numbered_as_they_are_named() -> None:
    assert report_name("task-1", 1) == "tasks.task-1-report.md"
    assert report_name("task-1", 3) == "tasks.task-1-report-r3.md"
    names = ["tasks.task-10-report-r7.md", "tasks.task-1-report.md", "progress.review2.md", "progress.review[3].md"]
    assert last_report("task-1", names) == 1, "task-1 is not task-10"
    assert last_report("task-10", names) == 7
    assert last_iteration(names) == 3


@pytest.mark.parametrize(
    ("marks", "cycles", "call"),
    [
        ("_ plan-brainstorm, _ plan-research", 0, RoleCall(mode=Mode.BRAINSTORM, task="plan-brainstorm", number=1)),
        ("_ plan-brainstorm, x plan-research", 2, RoleCall(mode=Mode.BRAINSTORM, task="plan-brainstorm", number=3)),
        ("x plan-brainstorm, _ plan-research", 1, RoleCall(mode=Mode.RESEARCH, task="plan-research", number=1)),
        ("x plan-brainstorm, / plan-research", 4, RoleCall(mode=Mode.RESEARCH, task="plan-research", number=4)),
        ("x plan-brainstorm, _ plan-research", 0, RoleCall(mode=Mode.RESEARCH, task="plan-research", number=1)),
        ("x plan-research, _ plan-breakdown, _ task-1", 1, RoleCall(mode=Mode.TASK_BREAKDOWN, task="plan-breakdown")),
    ],
)  # fmt: skip
def test_research_works_on_the_cycle_that_brainstorm_opened(marks: str, cycles: int, call: RoleCall) -> None:
    assert route(items(marks), (), cycles=cycles) == call


def test_a_task_that_was_begun_is_taken_up_again() -> None:
    assert route(items("x task-1, / task-2, _ task-3"), ["tasks.task-2-report.md"]) == RoleCall(
        mode=Mode.EXECUTE, task="task-2", number=2
    )


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ("_ plan-init", "plan-init is open, but progress.md already exists"),
        ("_ plan-more", "plan-more is not a planning task"),
        ("P plan-research", "plan-research is marked [P]"),
        ("_ chore-1", "chore-1 is neither plan-… nor task-…"),
    ],
)
def test_what_nobody_can_be_called_for_is_told_by_its_line(marks: str, why: str) -> None:
    found = tuple(ProgressItem(id=item.id, mark=item.mark, line=7) for item in items(marks))
    stuck = route(found, ())
    assert isinstance(stuck, Stuck)
    assert why in stuck.reason and "line 7" in stuck.reason
