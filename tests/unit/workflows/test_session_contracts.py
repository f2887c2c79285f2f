"""What each role of a session owes: kept, and every way to break it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ralph.plan.work import ContractResult, Verdict
from ralph.workflows.session.contracts import artifacts, check_call
from ralph.workflows.session.router import Mode, RoleCall, report_name

FOLDER = ".ralph-sessions/weather"
Files = Mapping[str, str | None]
PLAN = "# Weather\n\n## Goal & Success Criteria\n- it is warm\n"
PLANNING = "- plan-init: Begin\n- plan-brainstorm: Questions\n- plan-research: Answers\n- plan-breakdown: Tasks\n"
TASKS = (
    f"{PLANNING}- task-1: Celsius\n    - **Inherits From**: none\n- task-2: Print\n    - **Inherits From**: task-1\n"
)
REPORT = "# task-1\n\nIt is done.\n"
QUALIFIED = f"{REPORT}\n## Review\n**Verdict**: Qualified\n"
FAILED = f"{REPORT}\n## Review\n**Verdict**: Failed\n- too long\n- too short\n"


def progress(**marks: str) -> str:
    return "".join(f"- [{mark}] {name.replace('_', '-')}: Title\n" for name, mark in marks.items())


def planning(*done: str, **tasks: str) -> str:
    names = ("init", "brainstorm", "research", "breakdown")
    return progress(**{f"plan_{name}": "x" if name in done else " " for name in names}, **tasks)


ALL = ("init", "brainstorm", "research", "breakdown")


def check(call: RoleCall, before: Files, after: Files) -> ContractResult:
    """What comes of a call that found some files and left others; what is not named stays."""
    names = artifacts(call, "weather")
    found, left = {**before}, {**before, **after}
    assert set(left) <= set(names), "nothing else can be written"

    def texts(files: Files) -> dict[str, bytes | None]:
        given = {name: files.get(name) for name in names}
        return {f"{FOLDER}/{name}": None if text is None else text.encode() for name, text in given.items()}

    return check_call(call, FOLDER, "weather", texts(found), texts(left))


def is_kept(kept: ContractResult) -> bool:
    return kept == ContractResult()


def breaks(kept: ContractResult, wrong: str, *restored: str) -> None:
    assert any(wrong in mistake for mistake in kept.mistakes), kept
    assert kept.restore == tuple(f"{FOLDER}/{name}" for name in restored)


# planner

INITIALIZE = RoleCall(mode=Mode.INITIALIZE, task="plan-init")
INITIALIZED = {
    "plan.md": PLAN,
    "tasks.md": PLANNING,
    "progress.md": planning("init"),
    "weather.instructions.md": "Plain Python.\n",
}


def test_initialize_is_kept_by_four_files() -> None:
    assert is_kept(check(INITIALIZE, {}, INITIALIZED))
    goals = "# Weather\n\n### Goals and Success Criteria\n"
    assert is_kept(check(INITIALIZE, {}, {**INITIALIZED, "plan.md": goals}))
    both = {"tasks.md": TASKS, "progress.md": planning("init", task_1=" ", task_2=" ")}
    assert is_kept(check(INITIALIZE, {}, {**INITIALIZED, **both})), "tasks may be there already"


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("plan.md", None, "plan.md was not written"),
        ("plan.md", " \n", "plan.md was not written"),
        ("plan.md", "# Weather\n", "plan.md has no heading `Goal & Success Criteria`"),
        ("tasks.md", None, "tasks.md was not written"),
        ("tasks.md", "- plan-init: Begin\n", "tasks.md: plan-brainstorm is missing"),
        ("tasks.md", TASKS, "progress.md: task-1 is missing, but is in tasks.md"),
        ("tasks.md", f"{PLANNING}- task-1: A\n    - Inherits From: task-9\n", "inherits from task-9, which is not in"),
        ("progress.md", None, "progress.md was not written"),
        ("progress.md", planning(), "plan-init must be marked [x], but it is [ ]"),
        ("progress.md", planning("init", "research"), "plan-research must be marked [ ], but it is [x]"),
        ("progress.md", "- [x] plan-init: Begin\n", "plan-brainstorm must be marked [ ], but it is missing"),
        ("progress.md", planning("init", task_1=" "), "tasks.md: task-1 is missing, but is in progress.md"),
        ("progress.md", "- [?] plan-init: Begin\n", "progress.md: line 1: [?] is not a mark"),
        ("weather.instructions.md", None, "weather.instructions.md was not written"),
    ],
)
def test_initialize_is_broken_by_what_is_missing(name: str, text: str | None, wrong: str) -> None:
    breaks(check(INITIALIZE, {}, {**INITIALIZED, name: text}), wrong)


def test_a_task_that_initialize_makes_is_open() -> None:
    files = {**INITIALIZED, "tasks.md": TASKS, "progress.md": planning("init", task_1="x", task_2=" ")}
    breaks(check(INITIALIZE, {}, files), "task-1 is new, so its mark must be [ ]", "progress.md")


BREAKDOWN = RoleCall(mode=Mode.TASK_BREAKDOWN, task="plan-breakdown")
ASKED = {"plan.md": PLAN, "tasks.md": PLANNING, "progress.md": planning("init", "brainstorm", "research")}
BROKEN_DOWN = {"tasks.md": TASKS, "progress.md": planning(*ALL, task_1=" ", task_2=" ")}


def test_breakdown_is_kept_by_tasks_in_both_files() -> None:
    assert is_kept(check(BREAKDOWN, ASKED, BROKEN_DOWN))
    assert is_kept(check(BREAKDOWN, ASKED, {**BROKEN_DOWN, "plan.md": f"{PLAN}More.\n"}))


@pytest.mark.parametrize(
    ("name", "text", "wrong", "restored"),
    [
        ("progress.md", planning(*ALL), "progress.md: there is no open task-…", ()),
        ("progress.md", planning(*ALL, task_1=" "), "progress.md: task-2 is missing, but is in tasks.md", ()),
        (
            "progress.md",
            planning(*ALL, task_1=" ", task_2=" ", task_3=" "),
            "tasks.md: task-3 is missing, but is in progress.md",
            (),
        ),
        (
            "progress.md",
            planning("init", "brainstorm", "research", task_1=" ", task_2=" "),
            "plan-breakdown must be marked [x]",
            (),
        ),
        (
            "progress.md",
            planning(*ALL, task_1="x", task_2=" "),
            "task-1 is new, so its mark must be [ ]",
            ("progress.md",),
        ),
        (
            "progress.md",
            planning("init", "breakdown", task_1=" ", task_2=" "),
            "you must not change the mark of plan-research",
            ("progress.md",),
        ),
        ("progress.md", progress(plan_breakdown="x", task_1=" ", task_2=" "), "plan-init was", ("progress.md",)),
        ("progress.md", "nonsense", "no item has a mark", ("progress.md",)),
        ("progress.md", None, "progress.md is missing or empty", ("progress.md",)),
        ("tasks.md", "", "tasks.md is missing or empty", ()),
        ("tasks.md", TASKS.replace("none", "task-2"), "in a cycle", ()),
        ("tasks.md", TASKS + "- task-2: Again\n", "task-2 is listed twice", ()),
    ],
)  # fmt: skip
def test_breakdown_is_broken_by_wrong_marks_and_wrong_tasks(
    name: str, text: str | None, wrong: str, restored: tuple[str, ...]
) -> None:
    breaks(check(BREAKDOWN, ASKED, {**BROKEN_DOWN, name: text}), wrong, *restored)


UPDATE = RoleCall(mode=Mode.UPDATE)
BUILT = {**INITIALIZED, "tasks.md": TASKS, "progress.md": planning(*ALL, task_1="x", task_2="x")}
MORE = {
    "plan.md": f"{PLAN}- in Fahrenheit\n",
    "tasks.md": f"{TASKS}- task-3: Fahrenheit\n",
    "progress.md": planning(*ALL, task_1="x", task_2="x", task_3=" "),
}


def test_update_is_kept_by_new_tasks_or_by_planning_anew() -> None:
    assert is_kept(check(UPDATE, BUILT, MORE))
    anew = {"plan.md": MORE["plan.md"], "progress.md": planning("init", task_1="x", task_2="x")}
    assert is_kept(check(UPDATE, BUILT, anew))


@pytest.mark.parametrize(
    ("name", "text", "wrong", "restored"),
    [
        ("plan.md", PLAN, "plan.md was not changed", ()),
        (
            "progress.md",
            planning(*ALL, task_1=" ", task_2="x", task_3=" "),
            "you must not change the mark of task-1",
            ("progress.md",),
        ),
        ("progress.md", planning(*ALL, task_1="x", task_3=" "), "task-2 was removed", ("progress.md",)),
        ("progress.md", BUILT["progress.md"], "no task is open", ()),
        (
            "progress.md",
            planning(*ALL, task_1="x", task_2="x", task_3="x"),
            "task-3 is new, so its mark must be [ ]",
            ("progress.md",),
        ),
        ("tasks.md", TASKS, "tasks.md: task-3 is missing, but is in progress.md", ()),
        ("tasks.md", None, "tasks.md is missing or empty", ()),
        (
            "progress.md",
            planning("init", task_1="x", task_2="x", task_3="x"),
            "task-3 is new, so its mark must be [ ]",
            ("progress.md",),
        ),
    ],
)  # fmt: skip
def test_update_is_broken_by_other_marks_and_by_nothing_new(
    name: str, text: str | None, wrong: str, restored: tuple[str, ...]
) -> None:
    breaks(check(UPDATE, BUILT, {**MORE, name: text}), wrong, *restored)


def test_update_may_open_planning_anew_but_not_close_it() -> None:
    before = {**BUILT, "progress.md": planning("init", task_1="x", task_2="x")}
    after = {**MORE, "progress.md": planning("init", "brainstorm", task_1="x", task_2="x", task_3=" ")}
    breaks(check(UPDATE, before, after), "you must not change the mark of plan-brainstorm", "progress.md")


# questioner

ONE = "# Questions\n\n## Cycle 1\n\n1. How exact?\n"
BRAINSTORM = RoleCall(mode=Mode.BRAINSTORM, task="plan-brainstorm", number=1)
RESEARCH = RoleCall(mode=Mode.RESEARCH, task="plan-research", number=1)


def test_brainstorm_and_research_are_kept_by_their_cycle_and_their_mark() -> None:
    asked = {"plan.questions.md": ONE, "progress.md": planning("init", "brainstorm")}
    assert is_kept(check(BRAINSTORM, {"progress.md": planning("init")}, asked))
    answered = {"plan.questions.md": f"{ONE}   One digit.\n", "progress.md": planning("init", "brainstorm", "research")}
    assert is_kept(check(RESEARCH, asked, answered))
    second = RoleCall(mode=Mode.BRAINSTORM, task="plan-brainstorm", number=2)
    more = {"plan.questions.md": f"{ONE}\n## Cycle 2\n\nWhere?\n", "progress.md": planning("init", "brainstorm")}
    assert is_kept(check(second, {**asked, "progress.md": planning("init")}, more))


@pytest.mark.parametrize(
    ("name", "text", "wrong", "restored"),
    [
        ("plan.questions.md", None, "plan.questions.md was not written", ()),
        ("plan.questions.md", "1. How exact?\n", "no questions below `## Cycle 1`", ()),
        ("plan.questions.md", "## Cycle 1\n\n## Cycle 2\nHow?\n", "no questions below `## Cycle 1`", ()),
        ("progress.md", planning("init"), "plan-brainstorm must be marked [x], but it is [ ]", ()),
        (
            "progress.md",
            planning("init", "brainstorm", "research"),
            "you must not change the mark of plan-research",
            ("progress.md",),
        ),
        (
            "progress.md",
            planning("init", "brainstorm", task_1=" "),
            "you must not add task-1",
            ("progress.md",),
        ),
    ],
)  # fmt: skip
def test_brainstorm_is_broken_without_questions_or_with_marks_of_others(
    name: str, text: str | None, wrong: str, restored: tuple[str, ...]
) -> None:
    asked = {"plan.questions.md": ONE, "progress.md": planning("init", "brainstorm")}
    breaks(check(BRAINSTORM, {"progress.md": planning("init")}, {**asked, name: text}), wrong, *restored)


def test_research_is_broken_without_answers_and_by_a_change_to_an_older_cycle() -> None:
    asked = {"plan.questions.md": ONE, "progress.md": planning("init", "brainstorm")}
    done = planning("init", "brainstorm", "research")
    breaks(check(RESEARCH, asked, {"progress.md": done}), "no answers below `## Cycle 1`")
    second = RoleCall(mode=Mode.RESEARCH, task="plan-research", number=2)
    before = {**asked, "plan.questions.md": f"{ONE}\n## Cycle 2\n\nWhere?\n"}
    after = {"plan.questions.md": "## Cycle 1\n\nx\n\n## Cycle 2\n\nWhere?\nHere.\n", "progress.md": done}
    breaks(check(second, before, after), "cycle 1 is closed", "plan.questions.md")


# executor

EXECUTE = RoleCall(mode=Mode.EXECUTE, task="task-1", number=1)
TO_DO = {"progress.md": planning(*ALL, task_1=" ", task_2=" ")}
DONE = {"tasks.task-1-report.md": REPORT, "progress.md": planning(*ALL, task_1="P", task_2=" ")}


def test_execution_is_kept_by_a_report_and_the_mark_that_asks_for_a_review() -> None:
    assert is_kept(check(EXECUTE, TO_DO, DONE))
    again = RoleCall(mode=Mode.EXECUTE, task="task-1", number=2)
    waiting = {"progress.md": DONE["progress.md"]}
    assert is_kept(check(again, waiting, {report_name("task-1", 2): REPORT})), "a red gate left it as it was"


@pytest.mark.parametrize(
    ("name", "text", "wrong", "restored"),
    [
        ("tasks.task-1-report.md", None, "tasks.task-1-report.md was not written", ()),
        ("tasks.task-1-report.md", "\n", "tasks.task-1-report.md was not written", ()),
        ("progress.md", TO_DO["progress.md"], "task-1 must be marked [P], but it is [ ]", ()),
        ("progress.md", planning(*ALL, task_1="/", task_2=" "), "task-1 must be marked [P], but it is [/]", ()),
        ("progress.md", planning(*ALL, task_1="x", task_2=" "), "task-1 must be marked [P], but it is [x]", ()),
        (
            "progress.md",
            planning(*ALL, task_1="P", task_2="P"),
            "you must not change the mark of task-2; it was [ ], now [P]",
            ("progress.md",),
        ),
        ("progress.md", planning(*ALL, task_1="P"), "task-2 was removed", ("progress.md",)),
        (
            "progress.md",
            planning(*ALL, task_1="P", task_2=" ", task_3=" "),
            "you must not add task-3",
            ("progress.md",),
        ),
        ("progress.md", "- [P] task-1: A\n- [ ] task-1: B\n", "task-1 already has a mark in line 1", ("progress.md",)),
        ("progress.md", None, "progress.md is missing", ("progress.md",)),
    ],
)  # fmt: skip
def test_execution_is_broken_by_a_missing_report_and_by_marks(
    name: str, text: str | None, wrong: str, restored: tuple[str, ...]
) -> None:
    breaks(check(EXECUTE, TO_DO, {**DONE, name: text}), wrong, *restored)


# reviewer

REVIEW = RoleCall(mode=Mode.TASK_REVIEW, task="task-1", number=1)
GOOD = {"tasks.task-1-report.md": QUALIFIED, "progress.md": planning(*ALL, task_1="x", task_2=" ")}
BAD = {"tasks.task-1-report.md": FAILED, "progress.md": TO_DO["progress.md"]}


def test_a_review_is_kept_by_a_verdict_at_the_end_of_the_report_and_its_mark() -> None:
    assert is_kept(check(REVIEW, DONE, GOOD))
    sent_back = check(REVIEW, DONE, BAD)
    assert (sent_back.mistakes, sent_back.restore, sent_back.verdict) == ((), (), Verdict.FAILED)
    assert "- too long\n- too short" in sent_back.reason


@pytest.mark.parametrize(
    ("name", "text", "wrong", "restored"),
    [
        ("tasks.task-1-report.md", REPORT, "there is no verdict", ()),
        ("tasks.task-1-report.md", f"{REPORT}\n## Review\nFine.\n", "there is no verdict", ()),
        ("tasks.task-1-report.md", f"{REPORT}\n## Review\n**Verdict**: Complete\n", "there is no verdict", ()),
        ("tasks.task-1-report.md", f"{REPORT}\n**Verdict**: Qualified\n", "start with the heading `## Review`", ()),
        ("tasks.task-1-report.md", f"{REPORT}\n## Review\n**Verdict**: Failed\n", "must list what is wrong", ()),
        ("tasks.task-1-report.md", FAILED, "task-1 must be marked [ ], but it is [x]", ()),
        (
            "tasks.task-1-report.md",
            "## Review\n**Verdict**: Qualified\n",
            "you may only add to it",
            ("tasks.task-1-report.md",),
        ),
        (
            "tasks.task-1-report.md",
            QUALIFIED.replace("done",
            "poor"), "you may only add to it",
            ("tasks.task-1-report.md",),
        ),
        ("tasks.task-1-report.md", None, "you may only add to it", ("tasks.task-1-report.md",)),
        ("progress.md", DONE["progress.md"], "task-1 must be marked [x], but it is [P]", ()),
        ("progress.md", planning(*ALL, task_1="x", task_2="x"), "must not change the mark of task-2", ("progress.md",)),
        ("progress.md", "", "progress.md is missing or empty", ("progress.md",)),
    ],
)  # fmt: skip
def test_a_review_is_broken_without_a_verdict_or_by_rewriting_the_report(
    name: str, text: str | None, wrong: str, restored: tuple[str, ...]
) -> None:
    breaks(check(REVIEW, DONE, {**GOOD, name: text}), wrong, *restored)


def test_the_executors_own_verdict_is_none() -> None:
    vain = {**DONE, "tasks.task-1-report.md": QUALIFIED}
    breaks(check(REVIEW, vain, {"progress.md": GOOD["progress.md"]}), "there is no verdict")


SESSION = RoleCall(mode=Mode.SESSION_REVIEW, number=1)
OVER = {"tasks.md": TASKS, "progress.md": planning(*ALL, task_1="x", task_2="x")}
COMPLETE = {"progress.review1.md": "task-1 and task-2 are good.\n\n**Verdict**: Complete\n"}
GAPS = {
    "progress.review1.md": "task-1 and task-2 are good.\n\n**Verdict**: Gaps\n- Fahrenheit\n",
    "tasks.md": f"{TASKS}- task-3: Fahrenheit\n    - **Inherits From**: task-1\n",
    "progress.md": planning(*ALL, task_1="x", task_2="x", task_3=" "),
}


def test_a_session_review_is_kept_by_complete_or_by_a_task_for_each_gap() -> None:
    assert is_kept(check(SESSION, OVER, COMPLETE))
    found = check(SESSION, OVER, GAPS)
    assert (found.mistakes, found.restore, found.verdict) == ((), (), Verdict.REOPENED)
    assert found.reason == "The session review found gaps: Fahrenheit"


@pytest.mark.parametrize(
    ("name", "text", "wrong", "restored"),
    [
        ("progress.review1.md", None, "progress.review1.md was not written", ()),
        ("progress.review1.md", "task-1, task-2: good\n", "there is no verdict", ()),
        ("progress.review1.md", "task-1, task-2\n**Verdict**: Qualified\n", "there is no verdict", ()),
        ("progress.review1.md", "task-1\n**Verdict**: Gaps\n- more\n", "it does not mention task-2", ()),
        ("progress.review1.md", "task-1, task-20\n**Verdict**: Gaps\n- more\n", "it does not mention task-2", ()),
        ("progress.review1.md", COMPLETE["progress.review1.md"], "says Complete, but task-3 was added", ()),
        ("progress.md", OVER["progress.md"], "for every gap", ()),
        (
            "progress.md",
            planning(*ALL, task_1="x", task_2="x", task_3="x"),
            "task-3 is new, so its mark must be [ ]",
            ("progress.md",),
        ),
        (
            "progress.md",
            planning(*ALL, task_1=" ", task_2="x", task_3=" "),
            "you must not change the mark of task-1",
            ("progress.md",),
        ),
        ("progress.md", planning(*ALL, task_1="x", task_3=" "), "task-2 was removed", ("progress.md",)),
        ("tasks.md", TASKS, "tasks.md: task-3 is missing, but is in progress.md", ()),
        ("tasks.md", None, "tasks.md is missing or empty", ("tasks.md",)),
        ("tasks.md", GAPS["tasks.md"].replace("Celsius", "Kelvin"), "task-1 must not be changed", ("tasks.md",)),
        ("tasks.md", GAPS["tasks.md"] + "- task-4: More\n", "progress.md: task-4 is missing, but is in tasks.md", ()),
        ("tasks.md", GAPS["tasks.md"].replace("From**: task-1\n", "From**: task-8\n"), "inherits from task-8", ()),
    ],
)  # fmt: skip
def test_a_session_review_is_broken_by_half_a_verdict_and_by_changed_tasks(
    name: str, text: str | None, wrong: str, restored: tuple[str, ...]
) -> None:
    breaks(check(SESSION, OVER, {**GAPS, name: text}), wrong, *restored)


def test_no_mistake_is_told_twice() -> None:
    for call, before, after in (
        (INITIALIZE, {}, {}),
        (UPDATE, BUILT, {"plan.md": None, "progress.md": None, "tasks.md": "- task-1: A\n- task-1: B\n"}),
        (SESSION, OVER, {"progress.md": "- [?] task-1: A\n", "tasks.md": "- task-1: A\n" * 2}),
        (EXECUTE, TO_DO, {"progress.md": None}),
    ):  # fmt: skip
        mistakes = check(call, before, after).mistakes
        assert len(set(mistakes)) == len(mistakes), mistakes
