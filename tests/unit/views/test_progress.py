"""PROGRESS.md: what became of a spec, as somebody reads it a year later."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ralph.engine.settle import Policy, accept_manually, settle
from ralph.plan.model import GateResult, Plan, Spec, Task, TaskResult, TaskState
from ralph.plan.usage import Usage
from ralph.plan.work import Outcome, Verdict, Work, WorkKind
from ralph.views.progress import entry

COMMIT = "0123456789abcdef" * 2 + "01234567"
GREEN = GateResult(name="test", command="make test", passed=True, seconds=1)
WARNED = GateResult(name="lint", command="make lint", passed=False, seconds=1, required=False)
FREE = Usage(calls=1, input_tokens=1200, output_tokens=30, cost_usd=0.25)
SPEC = Spec(
    id="avatar",
    name="User  Avatar",
    file="specs/avatar.md",
    state=TaskState.PASSED,
    attempts=1,
    result=TaskResult(
        completed_at="2026-01-17T10:30:00Z", commit=COMMIT, summary="feat: User Avatar", gates=(GREEN, WARNED)
    ),
)


def task(number: int, state: TaskState = TaskState.PASSED, **more: object) -> Task:
    made = Task(id=f"avatar-{number}", title=f"Do part {number}", spec="avatar", state=state, attempts=1, seconds=30)
    return replace(made, **{"usage": FREE, **more})


def told(*tasks: Task, spec: Spec = SPEC) -> str:
    return entry(Plan(target="specs", tasks=tasks, specs=(spec,)), spec)


def test_a_completed_spec_is_told_with_its_tasks_gates_commit_time_and_cost() -> None:
    assert told(task(1), task(2, attempts=3, seconds=65)) == (
        "## User Avatar: completed\n"
        "\n"
        f"<!-- ralph: avatar passed {COMMIT} 4 -->\n"
        "\n"
        "- Spec: `specs/avatar.md`\n"
        "- Closed: 2026-01-17T10:30:00Z\n"
        "- Commit: `0123456789` feat: User Avatar\n"
        "- Attempts: 4 for 2 tasks\n"
        "- Gates: ✓ test, ✗ lint (optional)\n"
        "- Time: 1 m 35 s\n"
        "- Used: 2.4k tokens in, 60 out, $0.50\n"
        "\n"
        "- [x] `avatar-1` Do part 1 (1 attempt, 30 s, $0.25)\n"
        "- [x] `avatar-2` Do part 2 (3 attempts, 1 m 05 s, $0.25)\n"
    )


def test_a_partial_spec_says_how_much_of_it_and_why_not_all() -> None:
    stuck = task(2, TaskState.BLOCKED, notes="The agent says that it cannot be done: no key.\n\nMore words")
    text = told(task(1), stuck, spec=replace(SPEC, state=TaskState.BLOCKED))
    assert text.startswith("## User Avatar: partial, 1 of 2 tasks\n")
    why = "The agent says that it cannot be done: no key."
    assert f"- [ ] `avatar-2` Do part 2 (1 attempt, 30 s, $0.25) **blocked**: {why}\n" in text


def test_a_spec_of_which_nothing_passed_has_no_commit() -> None:
    spec = replace(SPEC, state=TaskState.BLOCKED, result=replace(SPEC.result, commit="", gates=()))
    text = told(task(1, TaskState.BLOCKED), spec=spec)
    assert text.startswith("## User Avatar: blocked\n")
    assert "- Commit: none, nothing passed\n" in text
    assert "<!-- ralph: avatar blocked no commit 1 -->" in text


def test_a_spec_that_could_not_be_closed_in_order_is_told_all_the_same() -> None:
    text = told(task(1, TaskState.BLOCKED), spec=replace(SPEC, state=TaskState.BLOCKED, result=None))
    assert "- Closed: unknown\n" in text


def test_without_a_required_gate_it_says_unverified() -> None:
    def gates(*results: GateResult) -> str:
        text = told(task(1), spec=replace(SPEC, result=replace(SPEC.result, gates=results)))
        return next(line for line in text.splitlines() if line.startswith("- Gates: "))

    assert gates() == "- Gates: none required: UNVERIFIED"
    assert gates(WARNED) == "- Gates: ✗ lint (optional) (none required: UNVERIFIED)"
    assert "UNVERIFIED" not in gates(GREEN)


def test_a_cost_is_known_estimated_or_unknown_and_never_nothing() -> None:
    def used(usage: Usage) -> str:
        return next(line for line in told(task(1, usage=usage)).splitlines() if line.startswith("- Used: "))

    told_nothing = Usage(calls=2, unpriced=2)
    assert used(told_nothing) == "- Used: tokens unknown, cost unknown"
    assert used(replace(FREE, estimated=1)) == "- Used: 1.2k tokens in, 30 out, about $0.25, estimated"
    assert used(FREE + told_nothing) == "- Used: 1.2k tokens in, 30 out, $0.25 (unknown for 2 of 3 calls)"


def test_a_spec_that_a_person_had_closed_anew_is_another_entry() -> None:
    """Nothing new is committed when a person accepts what was blocked; it is to be told nevertheless."""
    finish = Work(kind=WorkKind.FINISH, id="avatar", title="A", steps=())

    def closed(plan: Plan) -> Plan:
        number = plan.specs[0].attempts + 1
        outcome = Outcome(work_id="avatar", number=number, verdict=Verdict.PASSED, at="9", commit=COMMIT)
        return settle(plan, finish, outcome, Policy())

    blank = Spec(id="avatar", name="A", file="specs/avatar.md")
    first = closed(Plan(target="specs", tasks=(task(1), task(2, TaskState.BLOCKED)), specs=(blank,)))
    second = closed(accept_manually(first, "avatar-2", "not wanted", "5", COMMIT))
    texts = [entry(plan, plan.specs[0]) for plan in (first, second)]
    assert [text.splitlines()[0] for text in texts] == ["## A: partial, 1 of 2 tasks", "## A: completed"]
    assert texts[0].splitlines()[2] != texts[1].splitlines()[2]


@given(st.text(max_size=20), st.text(max_size=300), st.text(max_size=300))
def test_names_and_notes_of_any_kind_stay_in_their_lines(name: str, title: str, notes: str) -> None:
    text = told(task(1, TaskState.BLOCKED, title=title, notes=notes), spec=replace(SPEC, name=name))
    lines = text.split("\n")
    assert len(lines) == 14
    assert lines[0].startswith("## ")
    assert lines[2].startswith("<!-- ralph: avatar ")
    assert lines[12].startswith("- [ ] `avatar-1` ")
    assert lines[13] == ""
