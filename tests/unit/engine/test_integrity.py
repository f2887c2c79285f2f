"""Which changed files the audit reads."""

from __future__ import annotations

from ralph.engine.integrity import MAX_FILES, worth_reading
from ralph.git.parse import TreeChange
from ralph.git.trees import NOTHING
from ralph.plan.evidence import ConcernKind


def change(path: str, old_mode: str = NOTHING) -> TreeChange:
    return TreeChange(path=path, old_mode=old_mode, new_mode="100644", old="0", new="1")


def test_new_files_cannot_hide_what_was_changed() -> None:
    many = [change(f"a/{number:05}.txt") for number in range(MAX_FILES)]
    changed = [*many, change("tests/test_a.py", "100644"), change("tests/test_b.py"), change("z.py", "100644")]

    read, left = worth_reading(changed)

    assert [one.path for one in read[:3]] == ["tests/test_a.py", "z.py", "tests/test_b.py"]
    assert len(read) == MAX_FILES
    [concern] = left
    assert concern.kind is ConcernKind.DEFINITIONS, "a person looks at it"
    assert concern.text == "3 of 5,003 changed files were not looked at"


def test_ordinary_work_is_read_as_it_is() -> None:
    changed = [change("b.py"), change("a.py", "100644")]
    assert worth_reading(changed) == (changed, ())
