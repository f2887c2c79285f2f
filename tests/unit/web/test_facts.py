"""What the pages show, without a server: each page's data comes from one pure function."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.budget import AmountSpent
from ralph.plan.model import Need, NeedKind, Plan, Task, TaskState
from ralph.plan.usage import Usage
from ralph.report.facts import PlanReport, TaskFacts
from ralph.web import graph
from ralph.web.actions import ACTIONS, RUN_ACTIONS, offered
from ralph.web.board import PAGE, Column, board
from ralph.web.diff import MAX_LINES, MAX_WIDTH, parse
from ralph.web.overview import figures, segments
from ralph.web.spending import each_verified, spending
from tests.unit.report.build import attempt, of, passed_task, report

RUN = "20260101-000000-00000000"


def columns(found: PlanReport, **options: str) -> dict[str, list[str]]:
    return {part.column.value: [card.id for card in part.cards] for part in board(found, **options)}


def blocked(name: str, kind: NeedKind | None = NeedKind.BLOCKED, **more: bool) -> Task:
    need = Need(kind=kind, why="no account") if kind else None
    return Task(id=name, title=name, state=TaskState.BLOCKED, need=need, **more)


def test_each_task_is_in_the_column_that_the_facts_say() -> None:
    tried = of(Task(id="working", title=""), attempt("working", run=RUN, verdict="", now="tests"))
    killed = of(Task(id="killed", title=""), attempt("killed", run="20250101-000000-00000000", verdict="", now="x"))
    found = report(
        tried, killed, Task(id="waiting", title=""), passed_task("passed"), blocked("need"), blocked("stuck", None),
        blocked("left", left_out=True), running=RUN,
    )  # fmt: skip
    assert columns(found) == {
        "Waiting": ["killed", "waiting"],
        "Working": ["working"],
        "Needs you": ["need", "stuck"],
        "Done": ["left", "passed"],
    }
    assert columns(replace(found, running=""))["Working"] == []
    (card,) = next(part.cards for part in board(found, said={"working": "hm"}) if part.column is Column.WORKING)
    assert (card.state, card.remark, card.said) == ("working", "tests", "hm")


def test_a_long_column_is_shown_in_part_and_a_search_finds_the_rest() -> None:
    found = report(*(Task(id=f"T-{number}", title=f"Task {number}") for number in range(PAGE + 5)))
    waiting = board(found)[0]
    assert (len(waiting.cards), waiting.total, waiting.left) == (PAGE, PAGE + 5, 5)
    assert board(found, whole=Column.WAITING.key)[0].left == 0
    assert columns(found, search=f"task {PAGE + 4}")["Waiting"] == [f"T-{PAGE + 4}"]


def test_a_card_says_what_its_task_waits_for_and_what_it_took() -> None:
    usage = Usage(cost_usd=0.5, calls=1)
    done = replace(of(passed_task("A"), attempt("A")), spent=AmountSpent(usage=usage, attempts=1, seconds=2.0))
    found = report(done, Task(id="B", title="", depends_on=("A", "C")), Task(id="C", title=""))
    cards = {card.id: card for part in board(found) for card in part.cards}
    assert cards["B"].chips == ("after C",)
    assert cards["A"].chips == ("proven", "2.0 s", "$0.50")


@given(st.lists(st.sets(st.integers(0, 12), max_size=4), max_size=12))
def test_every_task_stands_to_the_right_of_what_it_needs_and_on_no_other(needs: list[set[int]]) -> None:
    plan = Plan(
        target="auth",
        tasks=tuple(
            Task(id=str(index), title="", depends_on=tuple(str(one) for one in sorted(before) if one < index))
            for index, before in enumerate(needs)
        ),
    )
    found = {place.task.id: place for place in graph.places(plan)}
    assert len(found) == len(plan.tasks)
    for task in plan:
        assert all(found[one].layer < found[task.id].layer for one in task.depends_on)
    assert len({(place.layer, place.row) for place in found.values()}) == len(found)


def test_a_circle_and_a_missing_task_are_drawn_too() -> None:
    tasks = (Task(id="a", title="", depends_on=("b", "gone")), Task(id="b", title="", depends_on=("a",)))
    drawn = graph.draw(Plan(target="auth", tasks=tasks), {"a"}, lambda task: f"/x?<{task.id}>")
    assert drawn.count("<rect") == 4 and "node working" in drawn and "/x?&lt;a&gt;" in drawn
    assert graph.draw(Plan(target="auth"), set(), str) == ""


DIFF = """diff --git a/one.py b/one.py
index 1..2 100644
--- a/one.py
+++ b/one.py
@@ -1,3 +1,3 @@ def one():
 same
-old
+new
diff --git a/dead.py b/dead.py
deleted file mode 100644
--- a/dead.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/pic.png b/pic.png
new file mode 100644
Binary files /dev/null and b/pic.png differ
"""


def test_a_difference_is_read_into_files_and_numbered_lines() -> None:
    one, dead, picture = parse(DIFF).files
    assert (one.path, one.added, one.removed) == ("one.py", 1, 1)
    assert [(line.kind, line.old, line.new, line.text) for line in one.lines] == [
        ("hunk", 0, 0, "def one():"), ("same", 1, 1, "same"), ("remove", 2, 0, "old"), ("add", 0, 2, "new"),
    ]  # fmt: skip
    assert (dead.path, dead.about) == ("dead.py", "deleted")
    assert (picture.path, picture.about, picture.lines) == ("pic.png", "new file", ())


@given(st.text())
def test_any_text_can_be_read_as_a_difference(text: str) -> None:
    parse(text)
    (only,) = parse(f"diff --git a/x b/x\n+++ b/x\n@@ -1 +1 @@\n+{text}").files
    assert only.path == "x"


def test_a_huge_difference_is_cut() -> None:
    found = parse("diff --git a/x b/x\n@@ -1 +1 @@\n" + f"+{'w' * 5_000}\n" * (MAX_LINES + 10))
    assert found.is_cut and len(found.files[0].lines) <= MAX_LINES
    assert max(len(line.text) for line in found.files[0].lines) == MAX_WIDTH + 1


def priced(name: str, number: int, cost: float | None, at: float) -> TaskFacts:
    usage = Usage(cost_usd=cost, input_tokens=1000, calls=1, unpriced=int(cost is None))
    tried = attempt(name, number, usage=usage, begin=at, end=at + 1)
    return replace(of(passed_task(name), tried), spent=AmountSpent(usage=usage, attempts=1, seconds=1.0))


def test_cost_is_told_for_each_task_and_for_each_verified_one() -> None:
    tasks = (priced("A", 1, 1.0, 10.0), priced("B", 1, 3.0, 20.0))
    total = sum((one.spent for one in tasks), AmountSpent())
    found = spending(report(*tasks, spent=total))
    assert [(row.id, row.cost, row.share) for row in found.rows] == [("B", "$3.00", 100), ("A", "$1.00", 33)]
    assert found.each == "$2.00" and "<svg" in found.money and "<svg" in found.tokens


def test_unknown_cost_is_never_zero() -> None:
    task = priced("A", 1, None, 10.0)
    found = report(task, spent=task.spent)
    assert each_verified(found) == "" and spending(found).money == ""
    assert {name: value for name, value, _ in figures(found)}["cost"] == "unknown"
    partly = replace(found, spent=task.spent + priced("B", 1, 1.0, 0.0).spent)
    assert each_verified(partly) == "at least $1.00"


def test_a_progress_bar_has_every_task() -> None:
    plan = report(passed_task("A"), blocked("B"), Task(id="C", title=""), Task(id="D", title="")).plan
    found = segments(plan, {"C"})
    assert [(one.kind, one.count) for one in found] == [("passed", 1), ("working", 1), ("needs", 1), ("waiting", 1)]
    assert sum(one.width for one in found) == pytest.approx(1000)


@pytest.mark.parametrize(
    ("task", "keys"),
    [
        (Task(id="a", title=""), ["tell", "leave-out"]),
        (passed_task("a"), ["again"]),
        (blocked("a", None), ["again", "retry", "leave-out"]),
        (blocked("a", None, left_out=True), ["retry"]),
        (blocked("a", NeedKind.BLOCKED), ["note", "skip", "retry"]),
        (blocked("a", NeedKind.APPROVAL), ["approve", "note", "retry"]),
    ],
)
def test_only_what_fits_is_offered(task: Task, keys: list[str]) -> None:
    assert [action.key for action in offered(task, in_session=False)] == keys
    assert offered(task, in_session=True) == ()


def test_an_action_is_a_command_in_which_a_name_or_a_note_is_never_an_option() -> None:
    for action in (*ACTIONS.values(), *RUN_ACTIONS.values()):
        words = action.command("-target", "--task", "--yes; rm")
        options, names = words[: words.index("--")], words[words.index("--") + 1 :]
        assert names in (("-target",), ("-target", "--task"), ("-target", "--task", "--yes; rm")), action.key
        assert [word for word in options if "rm" in word] in ([], ["--note=--yes; rm"])
