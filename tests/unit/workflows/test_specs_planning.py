"""Every task that a spec lists is covered by one of the plan; what is forgotten is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.errors import RalphError
from ralph.plan.model import TaskState
from ralph.validation import Mistakes
from ralph.workflows.specs.freshness import fingerprint, gone, outdated
from ralph.workflows.specs.planning import check, existing
from ralph.workflows.specs.spec_files import SpecFile, parse
from ralph.workflows.specs.store import ImplementationStore

Json = dict[str, Any]
AVATAR = parse(
    """# Avatar

## Tasks
- [ ] Add an avatarUrl field to the User schema
- [ ] Create the S3 upload endpoint
- [x] Choose a bucket name

## Acceptance criteria
- [ ] Users can upload JPG up to 5 MB
""",
    "specs/avatar.md",
)


def answer(*descriptions: str, **more: Any) -> Json:
    tasks = [{"id": f"avatar-{number}", "description": text} for number, text in enumerate(descriptions, 1)]
    return {"version": 1, "specs": [{"id": "avatar", "file": "specs/avatar.md", "tasks": tasks, **more}]}


def mistakes(given: Json, *specs: SpecFile, old: Json | None = None) -> list[str]:
    with pytest.raises(Mistakes) as found:
        check(given, old or {}, list(specs) or [AVATAR])
    return found.value.mistakes


def test_a_plan_that_does_all_that_is_listed_is_taken() -> None:
    merged = check(answer("Add an avatarUrl field to the User schema", "Create the S3 upload endpoint"), {}, [AVATAR])
    assert merged.added_criteria == 1
    assert merged.document["specs"][0]["acceptanceCriteria"] == ["Users can upload JPG up to 5 MB"]


def test_a_listed_task_that_was_forgotten_is_named_with_its_line() -> None:
    assert mistakes(answer("Add an avatarUrl field to the User schema")) == [
        "specs/avatar.md:5: no task covers 'Create the S3 upload endpoint'; add one, "
        "or name 'avatar.2' in \"covers\" of the task that covers it"
    ]


def test_every_listed_task_that_was_forgotten_is_named() -> None:
    found = mistakes(answer("Write some documentation"))
    assert [mistake.split(": ", 1)[0] for mistake in found] == ["specs/avatar.md:4", "specs/avatar.md:5"]


@pytest.mark.parametrize("covers", [["avatar.1", "avatar.2"], [listed.text for listed in AVATAR.tasks[:2]]])
def test_a_task_says_which_listed_ones_it_covers(covers: list[str]) -> None:
    given = answer("Build the whole of it")
    given["specs"][0]["tasks"][0]["covers"] = covers
    merged = check(given, {}, [AVATAR])
    assert merged.document["specs"][0]["tasks"][0]["covers"] == ["avatar.1", "avatar.2"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [("Delete account endpoint", "Add endpoint to create account"), ("Test the shopping cart", "Test the cart")],
)
def test_words_that_look_alike_are_not_enough_and_a_number_is(spec: str, said: str) -> None:
    shop = parse(f"# Shop\n\n## Tasks\n- {spec}\n", "specs/shop.md")
    task: Json = {"id": "shop-1", "description": said}
    given = {"specs": [{"id": "shop", "tasks": [task]}]}
    assert mistakes(given, shop)[0].startswith(f"specs/shop.md:4: no task covers {spec!r}")
    task["covers"] = ["shop.1"]
    assert check(given, {}, [shop]).mistakes == ()


@pytest.mark.parametrize(
    ("name", "hint"), [("avatar.9", "; did you mean 'avatar."), ("x", "; it lists avatar.1, avatar.2")]
)
def test_a_number_that_nobody_listed_is_a_mistake(name: str, hint: str) -> None:
    given = answer(*(listed.text for listed in AVATAR.tasks[:2]))
    given["specs"][0]["tasks"][0]["covers"] = [name]
    [mistake] = mistakes(given)
    assert mistake.startswith(f"avatar-1: covers: specs/avatar.md lists no {name!r}{hint}")


def test_what_was_planned_keeps_what_it_covers_when_the_spec_s_lines_move() -> None:
    before = parse("# A\n\n## Tasks\n- One\n- Two\n- Two\n- Three\n", "specs/a.md")
    tasks = [{"id": f"a-{n}", "description": f"Part {n}", "covers": [f"a.{n}"]} for n in range(1, 5)]
    old = check({"specs": [{"id": "a", "tasks": tasks}]}, {}, [before]).document
    for task in old["specs"][0]["tasks"]:
        task["status"] = "completed"
    after = parse("# A\n\n## Tasks\n- New\n- Two\n- two.\n- One\n- Four\n", "specs/a.md")
    assert [
        mistake.split(": ", 1)[0] for mistake in mistakes({"specs": [{"id": "a", "tasks": []}]}, after, old=old)
    ] == [
        "specs/a.md:4",
        "specs/a.md:8",
    ]
    new = [{"id": "a-5", "description": "More", "covers": ["a.1", "a.5"]}]
    merged = check({"specs": [{"id": "a", "tasks": new}]}, old, [after]).document["specs"][0]["tasks"]
    assert {task["id"]: task["covers"] for task in merged} == {
        "a-1": ["a.4"],
        "a-2": ["a.2"],
        "a-3": ["a.3"],
        "a-4": [],
        "a-5": ["a.1", "a.5"],
    }


def test_what_is_ticked_in_the_spec_is_not_asked_for() -> None:
    ticked = parse("# B\n\n## Tasks\n- [x] Done long ago\n- [ ] Do this now\n", "specs/b.md")
    entry = {"id": "b", "tasks": [{"id": "b-1", "description": "Do this now"}]}
    assert check({"specs": [entry]}, {}, [ticked]).mistakes == ()


def test_a_spec_without_any_list_takes_whatever_the_agent_makes_of_it() -> None:
    prose = parse("# Dark mode\n\nThe page should be readable at night.\n", "specs/dark-mode.md")
    entry = {"id": "dark-mode", "tasks": [{"id": "dark-mode-1", "description": "Add a dark theme"}]}
    assert check({"specs": [entry]}, {}, [prose]).changes[0] == "new spec dark-mode"


def test_a_spec_without_tasks_is_a_mistake_that_says_so() -> None:
    prose = parse("# Dark mode\n\nAt night.\n", "specs/dark-mode.md")
    [mistake] = mistakes({"specs": [{"id": "dark-mode", "tasks": []}]}, prose)
    assert mistake.startswith("specs[0].tasks: 'dark-mode' has no tasks")


def test_mistakes_of_the_answer_s_shape_are_told_beside_what_it_forgot() -> None:
    other = parse("# B\n\nText.\n", "specs/b.md")
    found = mistakes(answer("Add an avatarUrl field", priority="high"), AVATAR, other)
    assert found[0] == "specs/b.md: the plan has no spec for this file; add it with id 'b'"
    assert found[1].startswith("specs[0].priority: ")


def test_a_task_that_was_completed_counts_as_planned_though_the_answer_leaves_it_out() -> None:
    listed = [task.text for task in AVATAR.tasks]
    old = check(answer(*listed[:2]), {}, [AVATAR]).document
    old["specs"][0]["tasks"][0]["status"] = "completed"
    second = answer("", listed[1])
    del second["specs"][0]["tasks"][0]
    merged = check(second, old, [AVATAR])
    assert [task["status"] for task in merged.document["specs"][0]["tasks"]] == ["completed", "pending"]


# a plan and its specs on disk


def project(folder: Path, text: str = "# A\n\nText.\n", **more: Any) -> Path:
    (folder / "specs").mkdir()
    (folder / "specs" / "a.md").write_text(text)
    entry = {"id": "a", "file": "specs/a.md", "name": "A", "tasks": [{"id": "a-1", "description": "d"}], **more}
    (folder / "implementation.json").write_text(json.dumps({"version": 1, "specs": [entry]}))
    return folder


def test_without_a_plan_there_is_nothing_to_join_with(tmp_path: Path) -> None:
    assert existing(tmp_path) == {}


def test_a_broken_plan_is_told_before_anybody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "implementation.json").write_text('{"version": 1}')
    with pytest.raises(Mistakes):
        existing(tmp_path)
    (tmp_path / "implementation.json").write_text('{"version": 9}')
    with pytest.raises(RalphError, match="has version 9"):
        existing(tmp_path)


def stale(root: Path) -> list[str]:
    return list(outdated(root, (root / "implementation.json").read_bytes()))


def test_a_spec_that_was_planned_as_it_stands_is_up_to_date(tmp_path: Path) -> None:
    assert list(stale(project(tmp_path, specHash=fingerprint(b"# A\n\nText.\n")))) == []


def test_specs_that_are_new_or_have_changed_since_are_named(tmp_path: Path) -> None:
    root = project(tmp_path, specHash=fingerprint(b"something else"))
    (root / "specs" / "b.md").write_text("# B\n")
    assert list(stale(root)) == ["specs/a.md has changed since it was planned", "specs/b.md is not in the plan yet"]


def test_a_spec_that_cannot_be_read_is_no_reason_to_fail(tmp_path: Path) -> None:
    root = project(tmp_path, specHash=fingerprint(b"# A\n\nText.\n"))
    (root / "specs" / "a.md").unlink()
    (root / "specs" / "a.md").symlink_to("nowhere")
    assert list(stale(root)) == ["specs/a.md has changed since it was planned"]


@pytest.mark.parametrize(("status", "missing"), [("pending", ["specs/a.md"]), ("completed", [])])
def test_a_spec_file_that_is_gone_is_missed_as_long_as_there_is_work_for_it(
    tmp_path: Path, status: str, missing: list[str]
) -> None:
    root = project(tmp_path, tasks=[{"id": "a-1", "description": "d", "status": status}])
    (root / "specs" / "a.md").unlink()
    plan = ImplementationStore(root).load()
    assert plan.specs[0].state is TaskState.PENDING
    assert gone(root, plan) == missing
