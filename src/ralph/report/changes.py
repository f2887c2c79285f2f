"""What landed, from git: files, lines, and the tests that were added, changed or removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from ralph.audit.absorbed import compare
from ralph.audit.conventions import is_test_file
from ralph.audit.files import ChangedFile, Tree
from ralph.audit.found import FoundTest
from ralph.audit.languages import may_have_tests
from ralph.git import read as git
from ralph.report.facts import Change, ChangedTests, TaskFacts

COMMIT = re.compile(r"[0-9a-f]{40,64}")
MAX_TEST_FILES = 200
"""Test files of one change that are compared; a change with more is a rewrite that no list of names explains."""


def between(folder: Path, base: str, commit: str, own: Iterable[str], *, tests: bool = True) -> Change | None:
    """Return the difference between two commits; None if git does not have both."""
    base, commit = git.head(folder, base), git.head(folder, commit)
    if not base or not commit:
        return None
    out = git.show(
        folder, "diff", "--relative", "--no-renames", "--numstat", "-z", base, commit, "--", *git.outside(own)
    )
    rows = [row.split("\t", 2) for row in out.split("\0") if row.count("\t") >= 2]
    paths = [path for _, _, path in rows]
    return Change(
        base=base,
        commit=commit,
        files=len(rows),
        added=sum(int(added) for added, _, _ in rows if added.isdecimal()),
        removed=sum(int(removed) for _, removed, _ in rows if removed.isdecimal()),
        tests=_tests(folder, base, commit, paths) if tests else ChangedTests(),
    )


def of_task(
    folder: Path, facts: TaskFacts, *, is_shared: bool, own: Iterable[str], tests: bool = True
) -> Change | None:
    """Return what a task's work changed; `is_shared`: its commit has the work of other tasks too."""
    landed = facts.task.result.commit if facts.task.result else ""
    if COMMIT.fullmatch(landed) and not is_shared:
        return between(folder, f"{landed}^", landed, own, tests=tests)
    passed = next((one for one in reversed(facts.attempts) if one.verdict == "passed" and one.commit), None)
    return between(folder, passed.base, passed.commit, own, tests=tests) if passed and passed.base else None


def of_branch(folder: Path, branch: str, bases: Iterable[str], own: Iterable[str]) -> tuple[Change | None, int]:
    """Return what a branch has changed since its first attempt began, and in how many commits."""
    tip = git.head(folder, f"refs/heads/{branch}")
    base = tip and _begin(folder, tip, bases)
    if not base:
        return None, 0
    count = git.show(folder, "rev-list", "--count", "--first-parent", f"{base}..{tip}").strip()
    return between(folder, base, tip, own, tests=False), int(count or 0)


def _begin(folder: Path, tip: str, bases: Iterable[str]) -> str:
    """The oldest base of an attempt that the branch is built on; without any, where it left the person's branch."""
    known = (base for base in dict.fromkeys(bases) if COMMIT.fullmatch(base))
    found = next((base for base in known if git.show(folder, "merge-base", tip, base).strip() == base), "")
    return found or git.show(folder, "merge-base", tip, "HEAD").strip()


def is_merged(folder: Path, branch: str) -> bool:
    """Return whether the person's branch has all of it."""
    tip = git.head(folder, f"refs/heads/{branch}")
    return bool(tip) and git.show(folder, "merge-base", tip, "HEAD").strip() == tip


def _tests(folder: Path, base: str, commit: str, paths: list[str]) -> ChangedTests:
    files = [path for path in paths if may_have_tests(path) and is_test_file(path)]
    if not files or len(files) > MAX_TEST_FILES:
        return ChangedTests()
    read = _reader(folder, base)
    changes = [ChangedFile(path=path, before=read(path), after=git.file_at(folder, commit, path)) for path in files]
    found = compare(changes, is_test_file, Tree(read, lambda: files))
    changed = [pair.after for pair in found.pairs if pair.before.text != pair.after.text]
    return ChangedTests(added=_names(found.new), changed=_names(changed), removed=_names(found.gone))


def _reader(folder: Path, commit: str) -> Callable[[str], bytes | None]:
    return lambda path: git.file_at(folder, commit, path)


def _names(tests: Iterable[FoundTest]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{test.path}: {test.name}" for test in tests))
