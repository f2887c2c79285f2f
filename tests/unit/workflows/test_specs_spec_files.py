"""Specs as people write them: which lines are tasks, which are criteria, and what is no spec."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.validation import Mistakes
from ralph.workflows.plan_rules import MAX_ID, STORY_ID
from ralph.workflows.specs.spec_files import FOLDER, ListEntry, SpecFile, parse, read_all
from ralph.workflows.specs.spec_headings import HeadingRole, role_of

SPEC = """# Password reset

## Why

As a customer I want a new password without calling anyone.

## How it should feel

1. Ask for a link
2. Open it

## Proposal

### 1. One table

```markdown
## Tasks

- [ ] {shown.as.an.example}
```

> - [ ] quoted

## Tasks

- [x] Add a `reset_tokens` table, see [the schema](db/schema.sql)
- [ ] Send the link
      by **mail**
- [ ] Answer `<EXPIRED>` after an hour <!-- see #12 -->

## Acceptance Criteria

- [ ] Given a link that was used, when it is opened again, then it is refused
- Given an unknown address, then nobody learns that it is unknown

## Success Metrics

- Fewer calls

## Testing Requirements

- [ ] Unit tests for tokens

## Notes

- Links live for an hour
"""


def texts(listed: tuple[ListEntry, ...]) -> list[str]:
    return [item.text for item in listed]


def tasks(text: str) -> list[str]:
    return texts(parse(text, "specs/a.md").tasks)


def criteria(text: str) -> list[str]:
    return texts(parse(text, "specs/a.md").criteria)


def test_a_spec_is_read_as_a_person_reads_it() -> None:
    spec = parse(SPEC, "specs/password-reset.md")
    assert (spec.file, spec.id, spec.name) == ("specs/password-reset.md", "password-reset", "Password reset")
    assert spec.tasks == (
        ListEntry(text="Add a reset_tokens table, see the schema", line=26, done=True),
        ListEntry(text="Send the link by mail", line=27, done=False),
        ListEntry(text="Answer <EXPIRED> after an hour", line=29, done=False),
    )
    assert spec.criteria == (
        ListEntry(text="Given a link that was used, when it is opened again, then it is refused", line=33, done=False),
        ListEntry(text="Given an unknown address, then nobody learns that it is unknown", line=34, done=False),
    )
    assert spec.text == SPEC


@pytest.mark.parametrize(
    ("heading", "role"),
    [
        *(
            (words, HeadingRole.TASKS)
            for words in ("Tasks", "TASKS:", "3. Tasks", "3.2) Tasks", "IV. Tasks", "✅ Task list")
        ),
        *(
            (words, HeadingRole.TASKS)
            for words in ("Implementation tasks", "To do", "TODO", "To-Do list", "Backend tasks")
        ),
        *(
            (words, HeadingRole.TASKS)
            for words in ("Tasks (in this order)", "Phase 2: Tasks", "Tasks for the first version")
        ),
        *((words, HeadingRole.TASKS) for words in ("Task breakdown", "Implementation steps", "Tasks / to do")),
        *((words, HeadingRole.STEPS) for words in ("Steps", "2. Steps:")),
        *(
            (words, HeadingRole.CRITERIA)
            for words in ("Acceptance criteria", "Acceptance", "Done when:", "ACCEPTANCE TESTS")
        ),
        *(
            (words, HeadingRole.CRITERIA)
            for words in ("Definition of Done", "Definition of done (DoD)", "4. Success criteria")
        ),
        *((words, HeadingRole.ASIDE) for words in ("Testing Requirements", "Notes", "Open questions", "Test steps")),
        *((words, HeadingRole.ASIDE) for words in ("Out of scope", "Non-goals", "Success Metrics", "Future work")),
        *((words, None) for words in ("Problem", "Background tasks", "Tasks API", "Todo model", "Task 1: Add a table")),
        *((words, None) for words in ("Search criteria", "Next steps", "Phase 2: tests", "", "  ", "任务")),
    ],
)
def test_what_a_heading_says(heading: str, role: HeadingRole | None) -> None:
    assert role_of(heading) is role


def test_every_kind_of_bullet_and_box_counts_below_tasks() -> None:
    text = "## Tasks\n\n- [ ] a\n- [x] b\n- [X] c\n- [] d\n- e\n\n* f\n\n+ [ ] g\n\n1. h\n2. [x] i\n\n3) j\n"
    assert tasks(text) == list("abcdefghij")
    assert [item.text for item in parse(text, "specs/a.md").tasks if item.done] == ["b", "c", "i"]


@pytest.mark.parametrize("item", ["\\[ ] a", "[x](u) a", "[ ]a", "**[ ]** a"])
def test_what_only_looks_like_a_box_is_none(item: str) -> None:
    assert tasks(f"- {item}") == []


def test_a_link_with_the_name_of_a_box_does_not_hide_it() -> None:
    assert tasks("- [x] a\n\n[x]: https://example.org\n") == ["a"]


def test_a_nested_item_is_a_task_of_its_own_only_with_a_box() -> None:
    assert tasks("## Tasks\n- [ ] a\n  - [ ] b\n    1. [x] c\n  - detail\n- d\n  - detail\n") == list("abcd")


def test_an_item_that_only_names_a_group_of_boxes_is_no_task() -> None:
    assert tasks("## Tasks\n- Backend\n  - [ ] a\n- Frontend\n  - [ ] b\n- c\n") == list("abc")


def test_an_item_has_its_first_paragraph_and_no_marks() -> None:
    text = "## Tasks\n- [ ] Use ~~S3~~ `a  b`,\n  *then*\n  \\*stars\\* &amp; ![an image](x.png)\n\n  More about it.\n"
    assert tasks(text) == ["Use a b, then *stars* & an image"]


def test_what_is_struck_out_quoted_commented_or_shown_as_code_is_no_item() -> None:
    text = (
        "## Tasks\n- [ ] ~~gone~~\n- [ ]\n-\n\n> - [ ] quoted\n\n<!--\n- [ ] hidden\n-->\n\n~~~\n- [ ] code\n~~~\n\n"
        "- [ ] a\n  > - [ ] quoted in it\n"
    )
    assert tasks(text) == ["a"]


def test_the_line_is_where_the_first_word_is() -> None:
    spec = parse("# T\n\n## Tasks\n-\n  one\n- [ ]\n  two\n- [x] ~~no\n  no~~\n  three\n", "specs/a.md")
    assert [(item.text, item.line) for item in spec.tasks] == [("one", 5), ("two", 7), ("three", 10)]


def test_a_section_ends_at_a_heading_that_is_not_below_it() -> None:
    assert tasks("## Tasks\n- a\n### Backend\n- b\n# Other\n- c\n") == ["a", "b"]


def test_sections_below_tasks() -> None:
    text = "## Tasks\n### One\n- a\n#### Acceptance criteria\n- b\n### Tests\n- [ ] c\n### Notes\n- d\n"
    assert tasks(text) == ["a", "c"]
    assert criteria(text) == ["b"]


def test_without_tasks_steps_are_tasks_and_with_them_they_are_not() -> None:
    steps = "## Page\n### Steps\n1. a\n2. b\n"
    assert tasks(steps) == ["a", "b"]
    assert tasks(f"{steps}## Tasks\n- c\n") == ["c"]
    assert tasks("## Testing\n### Steps\n- [ ] a\n") == []


def test_without_either_every_box_counts_that_is_not_said_to_be_something_else() -> None:
    text = (
        "# A\n- [ ] a\n## Phase 1: tests\n- [ ] b\n- c\n## Acceptance\n- [ ] d\n## Notes\n- [ ] e\n## 任务\n- [x] f\n"
    )
    assert tasks(text) == ["a", "b", "f"]
    assert criteria(text) == ["d"]


def test_lines_that_stand_for_headings() -> None:
    text = (
        "## Part one\n**Tasks**\n\n- a\n\n**Acceptance criteria:**\n\n- b\n\nTODO:\n- c\n\nThat is all.\n\n- d\n\n"
        "## Tasks\nIn this order:\n1. e\n"
    )
    assert tasks(text) == ["a", "c", "e"]
    assert criteria(text) == ["b", "d"]


@pytest.mark.parametrize("title", ["# Notes app", "# Tests for everything", "# Tasks", "Todo\n==="])
def test_a_title_says_nothing_about_the_lists(title: str) -> None:
    assert tasks(f"{title}\n- plain\n## Work\n- [ ] a\n") == ["a"]


def test_a_heading_that_is_alone_or_one_of_many_is_no_title() -> None:
    assert tasks("# Tasks\n- a\n") == ["a"]
    assert tasks("# Tasks\n- a\n# Acceptance\n- b\n") == ["a"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("## Before\n# The *one* `x`\n# Two\n", "The one x"),
        ("text\n\n### First\n## Second\n", "First"),
        ("> # Quoted\n\n**Bold**\n", "Log in v2"),
        ("#\n\n<!-- # hidden -->\n", "Log in v2"),
        ("---\ntitle: x\ntags: [a]\n---\n# Real\n", "Real"),
        ("---\ntitle: x\n---\ntext", "Log in v2"),
        ("Under\nlined\n====\n", "Under lined"),
        ("", "Log in v2"),
    ],
)
def test_the_name(text: str, name: str) -> None:
    assert parse(text, "specs/log-in_v2.md").name == name


def test_settings_at_the_top_are_no_list_and_lines_still_count() -> None:
    spec = parse("---\ntasks:\n- x\n---\n## Tasks\n- a\n", "specs/a.md")
    assert spec.tasks == (ListEntry(text="a", line=6, done=False),)


@pytest.mark.parametrize(
    ("file", "spec_id"),
    [
        ("specs/User Avatar_Upload.md", "user-avatar-upload"),
        ("specs/001.specs.md", "001-specs"),
        ("specs/Über-uns!.MD", "uber-uns"),
        (f"specs/{'long-' * 40}.md", ("long-" * 14) + "lo"),
        ("specs/要件.md", "spec-55f1af66"),
    ],
)
def test_the_id(file: str, spec_id: str) -> None:
    assert parse("", file).id == spec_id


WORDS = st.from_regex(r"[a-z]{2,8}", fullmatch=True)
BULLETS = st.sampled_from(["- ", "* ", "+ ", "1. ", "- [ ] ", "* [x] ", "2) [X] ", "  - [ ] ", "- [ ]\n  ", "-\n  "])
LINES = st.tuples(BULLETS, st.lists(WORDS, min_size=1, max_size=5), st.sampled_from(["\n", "\n\n", "\n  lazy\n"]))
PIECES = st.sampled_from(
    [
        "# ",
        "## Tasks\n",
        "## Notes\n",
        "\n",
        "\n\n",
        "- [ ] ",
        "  - ",
        "> ",
        "```\n",
        "<!-- ",
        "-->",
        "---\n",
        "**",
        "~~",
    ]
)
MARKDOWN = st.lists(PIECES | st.text(st.characters(), max_size=8), max_size=30).map("".join)


@given(MARKDOWN, st.text(st.characters(exclude_characters="/\0"), max_size=100))
def test_any_text_can_be_read(text: str, stem: str) -> None:
    spec = parse(text, f"specs/{stem}.md")
    assert re.fullmatch(STORY_ID, spec.id)
    assert re.fullmatch(r"[a-z0-9-]+", spec.id)
    assert len(spec.id) < MAX_ID
    assert all(item.text == " ".join(item.text.split()) != "" for item in (*spec.tasks, *spec.criteria))


@given(MARKDOWN)
def test_line_ends_and_a_byte_order_mark_make_no_difference(text: str) -> None:
    text = text.replace("\r", "").removeprefix("\ufeff")
    spec = parse(text, "specs/a.md")
    assert parse("\ufeff" + text.replace("\n", "\r\n"), "specs/a.md") == spec
    assert parse(text.replace("\n", "\r"), "specs/a.md") == spec


@given(st.sampled_from(["## Tasks\n\n", "# A\n## TODO:\ntext\n\n", "---\na: b\n---\n## Tasks\n"]), st.lists(LINES))
def test_each_item_is_on_its_line_and_in_order(head: str, lines: list[tuple[str, list[str], str]]) -> None:
    text = head + "".join(bullet + " ".join(words) + end for bullet, words, end in lines)
    found = parse(text, "specs/a.md").tasks
    assert all(item.text.split()[0] in text.split("\n")[item.line - 1] for item in found)
    assert [item.line for item in found] == sorted({item.line for item in found})


@pytest.mark.parametrize("mark", ["![", "*", "[", "`", "> ", "- ", "<!--", "_a"])
def test_marks_without_end_do_no_harm(mark: str) -> None:
    assert parse(f"## Tasks\n- [ ] {mark * 3000}a", "specs/a.md").file == "specs/a.md"


def write(root: Path, **files: str | bytes) -> None:
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / f"{name}.md").write_bytes(data)


def read_wrong(root: Path) -> RalphError:
    with pytest.raises(RalphError) as caught:
        read_all(root)
    assert caught.value.remedy
    return caught.value


def test_every_spec_is_read_by_file_name(tmp_path: Path) -> None:
    write(tmp_path, b="# B", a="\ufeff# A\r\n", README="# R", Readme="# R", **{".hidden": "# H", "c d": "# C"})
    (tmp_path / FOLDER / "notes.txt").write_text("x")
    (tmp_path / FOLDER / "deeper.md").mkdir()
    (tmp_path / FOLDER / "deeper.md" / "e.md").write_text("# E")
    found = read_all(tmp_path)
    assert [(spec.file, spec.id, spec.name) for spec in found] == [
        ("specs/a.md", "a", "A"),
        ("specs/b.md", "b", "B"),
        ("specs/c d.md", "c-d", "C"),
    ]
    assert isinstance(found[0], SpecFile)


def test_no_folder_and_no_spec_say_how_to_write_one(tmp_path: Path) -> None:
    assert "There is no folder" in read_wrong(tmp_path).what
    write(tmp_path, README="# R")
    error = read_wrong(tmp_path)
    assert "There are no specs in" in error.what
    assert "specs/user-login.md" in error.remedy


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    write(tmp_path, bad=b"fine\n\xff\xfe", empty="\ufeff \r\n", huge="x" * ((1 << 20) + 1), fine="# F")
    assert read_wrong(tmp_path).details == (
        "specs/bad.md: not UTF-8 text (line 2); save it as UTF-8",
        "specs/empty.md: empty; describe what you want, or remove it",
        "specs/huge.md: larger than 1 MiB (1,048,577 bytes); split it into several specs",
    )


def test_two_files_with_one_id_are_both_named(tmp_path: Path) -> None:
    write(tmp_path, **{"log-in": "# A", "log_in": "# B"})
    (detail,) = read_wrong(tmp_path).details
    assert detail == "specs/log-in.md and specs/log_in.md would both have the id 'log-in'; rename one"


def test_a_link_may_lead_about_the_project_but_not_out_of_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "common.md").write_text("# Shared")
    (tmp_path / "secret.md").write_text("# Secret")
    write(project, a="# A")
    (project / FOLDER / "inner.md").symlink_to("../common.md")
    assert [spec.name for spec in read_all(project)] == ["A", "Shared"]
    (project / FOLDER / "outer.md").symlink_to("../../secret.md")
    (project / FOLDER / "nothing.md").symlink_to("missing.md")
    (project / FOLDER / "round.md").symlink_to("round.md")
    os.mkfifo(project / FOLDER / "pipe.md")
    details = read_wrong(project).details
    assert [detail.partition(":")[0] for detail in details] == [
        f"specs/{name}.md" for name in ("nothing", "outer", "pipe", "round")
    ]
    assert "outside the project" in details[1]


def test_a_folder_that_leads_out_of_the_project_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    write(tmp_path, a="# A")
    (project / FOLDER).symlink_to(tmp_path / FOLDER)
    assert "outside the project" in read_wrong(project).details[0]


def test_the_markdown_library_is_loaded_only_to_read_a_spec() -> None:
    code = "import sys, ralph.workflows.specs.spec_files, ralph.cli.status; sys.exit('markdown_it' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_spec_whose_name_is_no_text_is_to_be_renamed(tmp_path: Path) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("# Caf\u00e9\n")
    with pytest.raises(Mistakes) as found:
        read_all(tmp_path)
    assert found.value.mistakes == ["specs/caf?.md: the file name is not UTF-8; rename it"]
