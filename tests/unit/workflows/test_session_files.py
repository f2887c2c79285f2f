"""A session's Markdown as people and agents really write it: understood, or refused by its line."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.validation import Mistakes
from ralph.workflows.session.files import (
    TaskEntry,
    decode,
    findings,
    mentions,
    read_cycles,
    read_progress,
    read_tasks,
    read_verdict,
    review_part,
)
from ralph.workflows.session.router import Mark, ProgressItem


def marks(text: str) -> list[tuple[str, str]]:
    return [(item.id, item.mark.value) for item in read_progress(text)]


def refused(read: Callable[[str], object], text: str) -> str:
    with pytest.raises(Mistakes) as error:
        read(text)
    return "\n".join(error.value.details)


# progress.md


@pytest.mark.parametrize(
    ("line", "mark", "title"),
    [
        ("- [ ] task-1: Celsius", " ", "Celsius"),
        ("* [/] task-1: Celsius", "/", "Celsius"),
        ("+ [P] task-1 Celsius", "P", "Celsius"),
        ("1. [p] task-1 - Celsius", "P", "Celsius"),
        ("2) [X] task-1 — Celsius", "x", "Celsius"),
        ("-   [x]   task-1:   Celsius   and   more  ", "x", "Celsius and more"),
        ("\t- [ ] task-1: Celsius", " ", "Celsius"),
        ("- [] task-1: Celsius", " ", "Celsius"),
        ("- [ x ] task-1: Celsius", "x", "Celsius"),
        ("- [x] **task-1**: Celsius", "x", "Celsius"),
        ("- [x] **task-1: Celsius**", "x", "Celsius"),
        ("- [x] **task-1:** Celsius", "x", "Celsius"),
        ("- [x] `task-1` Celsius", "x", "Celsius"),
        ("- [x] ~~task-1~~: Celsius", "x", "Celsius"),
        ("- [x] [task-1]: Celsius", "x", "Celsius"),
        ("- [x] task-1: Celsius (see [plan](plan.md))", "x", "Celsius (see [plan](plan.md))"),
        ("- [x] task-1: `weather.py` says **how** warm", "x", "`weather.py` says **how** warm"),
        ("- [x] task-1: __init__ is empty", "x", "__init__ is empty"),
        ("- [x] task-1", "x", ""),
        ("-[x] task-1: Celsius", "x", "Celsius"),
        ("- [x]task-1: Celsius", "x", "Celsius"),
        ("[x] task-1: Celsius", "x", "Celsius"),
        ("### [x] task-1: Celsius", "x", "Celsius"),
    ],
)  # fmt: skip
def test_an_item_is_understood_in_many_spellings(line: str, mark: str, title: str) -> None:
    (item,) = read_progress(f"# Progress\n\n{line}\n")
    assert (item.id, item.mark.value, item.title, item.line) == ("task-1", mark, title, 3)


def test_a_file_of_many_shapes_is_read_in_order() -> None:
    text = (
        "# Progress of [weather](plan.md)\r\n\r\nMarks: `[ ]` to do, `[x]` done.\r\n\r\n"
        "## Planning\r\n- [x] plan-init: Begin\r\n"
        "## Implementation\r\n"
        "- [x] task-1: First\r\n\t- [x] write it\r\n\t- [ ] test it\r\n\t\t* [?] whatever\r\n"
        "- [link](http://example.com) and [another](http://example.com)\r\n"
        "    - [ ] task-1.1: Nested\r\n"
        "* [/] task-2: Second\r\n"
        "- not a box\r\n"
    )
    assert marks(decode(b"\xef\xbb\xbf" + text.encode())) == [
        ("plan-init", "x"),
        ("task-1", "x"),
        ("task-1.1", " "),
        ("task-2", "/"),
    ]


@pytest.mark.parametrize(
    "code",
    [
        "```\n- [ ] task-9: Example\n```",
        "~~~~ markdown\n- [ ] task-9: Example\n~~~\n- [ ] task-8: Example\n~~~~",
        "    ```\n    - [ ] task-9: Example\n    ```",
    ],
)
def test_what_stands_in_a_code_block_is_an_example(code: str) -> None:
    assert marks(f"- [ ] task-1: One\n{code}\n- [ ] task-2: Two\n") == [("task-1", " "), ("task-2", " ")]


def test_code_in_a_line_opens_no_block() -> None:
    assert marks("```task-0``` is an example\n- [ ] task-1: One\n") == [("task-1", " ")]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("- [ ] task-1: A\n\n- [x] task-1: B\n", "line 3: task-1 already has a mark in line 1"),
        ("- [?] task-1: A\n", "line 1: [?] is not a mark"),
        ("- [done] task-1: A\n", "line 1: [done] is not a mark"),
        ("x\n- [ ] Do something\n", "line 2: no id such as"),
        ("- [ ] Task 1: A\n", "line 1: no id such as"),
        ("- [ ] task-1: A\n- [ ] and the docs\n", "line 2: no id such as"),
        ("- [ ] task-1: A\n```\n- [ ] task-2: B\n", "line 2: this code block has no end"),
        ("", "no item has a mark"),
        ("# Progress\n\n- task-1: no mark\n", "no item has a mark"),
        ("\0\0\0", "no item has a mark"),
    ],
)
def test_nonsense_is_refused_by_its_line(text: str, wrong: str) -> None:
    assert wrong in refused(read_progress, text)


def test_all_mistakes_are_told_at_once() -> None:
    told = refused(read_progress, "- [?] task-1: A\n- [ ] task-2: B\n- [ ] task-2: C\n- [ ] D\n")
    assert [re.match(r"line \d", line)[0] for line in told.split("\n")] == ["line 1", "line 3", "line 4"]  # type: ignore[index]


IDS = st.from_regex(r"(?:plan|task)-[a-z0-9]{1,4}(?:[._-][A-Za-z0-9]{1,3})?", fullmatch=True)
TITLES = st.from_regex(r"(?:[A-Z][a-z]{0,5}(?: [a-z0-9,()°]{1,6}){0,3})?", fullmatch=True)
WANTED = st.lists(st.tuples(IDS, st.sampled_from(Mark), TITLES), min_size=1, max_size=6, unique_by=lambda one: one[0])
NOISE = (
    "",
    "## Notes",
    "Some text: task-1 is hard.",
    "- a plain item",
    "```\n- [ ] task-0: example\n```",
    "> [x] quoted",
)


@given(WANTED, st.data())
def test_items_written_in_any_style_are_read_back(wanted: list[tuple[str, Mark, str]], data: st.DataObject) -> None:
    lines: list[str] = []
    for name, mark, title in wanted:
        sign = data.draw(st.sampled_from((mark.value, mark.value.upper(), mark.value.lower())))
        bullet = data.draw(st.sampled_from(("-", "*", "+", "1.", "23)")))
        around = data.draw(st.sampled_from(("", "**", "`", "_")))
        between = data.draw(st.sampled_from((": ", " - ", " — ", " ", ":  "))) if title else ""
        indent = data.draw(st.sampled_from(("", "  ", "\t", "    ")))
        lines.append(f"{indent}{bullet} [{sign}] {around}{name}{around}{between}{title}")
        if data.draw(st.booleans()):
            lines.append(f"{indent}      - [{data.draw(st.sampled_from(' xX'))}] a small step")
        lines.append(data.draw(st.sampled_from(NOISE)))
    text = data.draw(st.sampled_from(("\n", "\r\n"))).join(lines)
    assert [(item.id, item.mark, item.title) for item in read_progress(decode(text.encode()))] == wanted


@given(
    st.text() | st.lists(st.sampled_from(("- [ ] task-1: a", "  - [x] b", "```", "[", "- [", "#", "\t"))).map("\n".join)
)
def test_any_text_is_understood_or_refused(text: str) -> None:
    for read in (read_progress, read_tasks):
        try:
            read(text)
        except Mistakes as error:
            assert error.details
    read_cycles(text), read_verdict(text), findings(text), review_part(text)


# tasks.md


def inherited(text: str) -> dict[str, tuple[str, ...]]:
    return {entry.id: entry.inherits for entry in read_tasks(text)}


@pytest.mark.parametrize(
    "line",
    [
        "    - **Inherits From**: task-1, task-2",
        "    - **Inherits From:** task-1 and task-2",
        "  * Inherits from: `task-1`, `task-2`",
        "    **Inherits-From**: [task-1, task-2]",
        "    - _Inherits From_ : task-1; task-2 (the names they chose)",
        "    - **Inherits From**:\n        - task-1\n        - task-2: its interface",
        "    - **Inherits From**:\n\n        * **task-1**\n        * task-2",
        "\t- **Inherits From**: task-1, task-2\n\t\t- for their names",
    ],
)
def test_inheritance_is_on_the_line_or_listed_below_it(line: str) -> None:
    text = (
        f"- plan-init: Begin\n- task-1: A\n- task-2: B\n- task-3: C\n    - **Objective**: all\n{line}\n- task-10: D\n"
    )
    assert inherited(text) == {
        "plan-init": (),
        "task-1": (),
        "task-2": (),
        "task-3": ("task-1", "task-2"),
        "task-10": (),
    }


@pytest.mark.parametrize(
    "lines",
    [
        "**Inherits From**: task-1, task-2\n- **Objective**: all of it",
        "**Inherits From**:\n- task-1\n- task-2\n\n**Objective**: all of it",
        "- **Inherits From**:\n  - task-1\n  - task-2\n- **Objective**: all of it",
        "#### Inherits From\n\n- task-1\n- task-2\n\n#### Objective\n\nAll of it.",
    ],
)
def test_tasks_may_be_headings_with_lists_of_their_own(lines: str) -> None:
    text = (
        "# Tasks\n\n- plan-init: Begin\n\n## Implementation\n\n### task-1: A\n- small steps\n- task-1 is easy\n\n"
        f"### `task-2` - B\n\n### [ ] task-3: C\n{lines}\n"
    )
    assert inherited(text) == {"plan-init": (), "task-1": (), "task-2": (), "task-3": ("task-1", "task-2")}
    assert [entry.title for entry in read_tasks(text)] == ["Begin", "A", "B", "C"]


@pytest.mark.parametrize(
    "nobody", ["none", "None.", "n/a", "-", "—", "", "(none)", "`none`", "nothing", "None (the first one)", "[]"]
)
def test_a_task_may_inherit_from_nobody(nobody: str) -> None:
    assert inherited(f"- task-1: A\n    - **Inherits From**: {nobody}\n    - **Objective**: x\n") == {"task-1": ()}


def test_a_task_has_its_whole_text_and_its_line() -> None:
    text = "# Tasks\n\n- task-1: A\n    - one\n    - task-2 comes later\n\n- task-2: B\n"
    first, second = read_tasks(text)
    assert first == TaskEntry(id="task-1", title="A", line=3, text="- task-1: A\n    - one\n    - task-2 comes later")
    assert second.line == 7


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("- task-1: A\n- task-2: B\n- task-1: C\n", "line 3: task-1 is listed twice"),
        ("- task-1: A\n    - Inherits From: task-7\n", "line 1: task-1 inherits from task-7, which is not in tasks.md"),
        ("- task-10: A\n- task-2: B\n    - Inherits From: task-1\n", "line 2: task-2 inherits from task-1"),
        ("- task-1: A\n    - Inherits From: task-1\n", "in a cycle: task-1 → task-1"),
        (
            "- task-1: A\n    - Inherits From: task-2\n- task-2: B\n    - Inherits From: task-1\n",
            "in a cycle: task-1 → task-2 → task-1",
        ),
        ("- task-1: A\n    - Inherits From: the one before\n", "cannot read what it inherits from: 'the one before'"),
        ("- task-1: A\n    - Inherits From:\n        - the one before\n", "cannot read what it inherits from"),
        ("- task-1: A\n~~~\nmore\n", "line 2: this code block has no end"),
    ],
)  # fmt: skip
def test_wrong_tasks_are_refused(text: str, wrong: str) -> None:
    assert wrong in refused(read_tasks, text)


# plan.questions.md and reviews


def test_cycles_are_counted_by_their_headings() -> None:
    text = (
        "# Questions\n\n## Cycle 1\n\n1. How exact?\n\n## Cycle 2: prices\n### Money\n- what?\n```\n## Cycle 9\n```\n"
    )
    assert read_cycles(text) == {1: "1. How exact?", 2: "### Money\n- what?"}
    assert read_cycles("") == {}
    assert read_cycles(f"## Cycle {'9' * 5000}\n") == {}, "no number anybody meant"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("**Verdict**: Qualified", "qualified"),
        ("**Verdict:** Qualified", "qualified"),
        ("Verdict: **FAILED**", "failed"),
        ("## Verdict: Failed", "failed"),
        ("- verdict = `complete`", "complete"),
        ("> Verdict - Gaps (two of them)", "gaps"),
        ("**Verdict**: Complete, no gaps", "complete"),
        ("**Verdict**: Failed\n…\n**Verdict**: Qualified", "qualified"),
        ("It is fine.", ""),
        ("My verdict: Qualified", ""),
        ("**Verdict**:", ""),
        ("**Verdict**: Qualified | Failed", ""),
        ("**Verdict**: Qualified or Failed", ""),
        ("**Verdict**: **Complete** / **Gaps**", ""),
        ("```\n**Verdict**: Qualified\n```", ""),
    ],
)
def test_a_verdict_is_found_in_several_spellings_or_not_at_all(text: str, verdict: str) -> None:
    assert read_verdict(f"## Review\n\n{text}\n") == verdict


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## Review\n**Verdict**: Failed\n- too long\n* too  short\n", ("too long", "too short")),
        ("## Review\r\n**Verdict**: Failed\r\n\r\nIt does not work.\r\n", ("It does not work.",)),
        ("## Review\n- **Verdict**: Failed\n- why\n", ("why",)),
        ("## Review\n**Verdict**: Failed\n", ()),
    ],
)
def test_findings_are_the_lists_points_or_else_the_text(text: str, found: tuple[str, ...]) -> None:
    assert findings(text) == found


def test_a_review_is_what_stands_below_the_last_heading_of_that_name() -> None:
    report = "# task-1\n## Review\nmy own\n\n## Review\n**Verdict**: Failed\n- why\n"
    assert review_part(report) == "## Review\n**Verdict**: Failed\n- why"
    assert review_part("# task-1\n") == ""


def test_one_task_is_not_another_whose_id_begins_alike() -> None:
    assert mentions("task-1, task-2.", "task-2") and mentions("**task-1**: good", "task-1")
    assert not mentions("task-10, task-1.1, task-1-b, my-task-1", "task-1")


def test_items_are_values() -> None:
    assert read_progress("- [ ] task-1: A\n") == (ProgressItem(id="task-1", mark=Mark.TODO, title="A", line=1),)


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_line_of_many_blanks_takes_no_time(blank: str) -> None:
    began = time.monotonic()
    items = read_progress(f"{blank * 120_000}\n- [ ] task-1: One\n{blank * 120_000}x\n")
    assert [item.id for item in items] == ["task-1"]
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "line", ["[ ]task-1: One", "#[x] task-1: One", "- [ ] task-1: One", "  [ ]  **task-1** One", "2.[ ] task-1"]
)
def test_a_box_that_is_written_loosely_is_a_box(line: str) -> None:
    assert [item.id for item in read_progress(line)] == ["task-1"]
