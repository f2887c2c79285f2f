"""Integrity: audits the difference between an attempt's base and its work for what weakens the checks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ralph.audit.audit import audit
from ralph.audit.conventions import belongs_to_tests
from ralph.audit.files import MAX_SIZE, ChangedFile
from ralph.audit.lines import shown
from ralph.audit.observed import Observed
from ralph.engine.observed import observe
from ralph.git.objects import batched, read_object
from ralph.git.parse import TreeChange
from ralph.git.repo import Repo
from ralph.git.trees import EXECUTABLE, LINK, NOTHING, changes_between, entries_at
from ralph.plan.acceptance_tests import AcceptanceFile
from ralph.plan.attempt import Attempt
from ralph.plan.evidence import Concern, ConcernKind
from ralph.plan.model import Gate
from ralph.steps.host import Verified

if TYPE_CHECKING:
    from ralph.engine.run import Run

SUBMODULE = "160000"
MAX_FILES = 5_000
"""Changed files that are read; work that changes more is generated, and a person looks at it."""


async def concerns(run: Run, attempt: Attempt, commit: str, verified: Verified) -> tuple[Concern, ...]:
    """Return what the work may have weakened about the checks, in the project's own paths."""
    assert run.branch, "what is verified is on a branch"
    repo = run.branch.repo
    begun = attempt.acceptance.commit if attempt.acceptance else attempt.base
    base, work = await repo.tree_of(begun), await repo.tree_of(commit)
    every = [one for one in await changes_between(repo, base, work) if one.path not in run.own]
    changed, left = worth_reading(every)
    if not changed:
        return ()
    after = await entries_at(repo, work, (one.path for one in changed if _is_file(one.new_mode)))
    blobs = {path: entry.name for path, entry in after.items() if entry}
    observed = await observe(run, attempt, verified)
    reader = _BaseReader(repo, base)
    found = await asyncio.to_thread(_audit, reader, changed, blobs, attempt, observed)
    return (*found, *left)


def worth_reading(changed: list[TreeChange]) -> tuple[list[TreeChange], tuple[Concern, ...]]:
    """Choose the files that are read: what was there before anything new, so that new files can hide nothing."""
    if len(changed) <= MAX_FILES:
        return changed, ()
    first = sorted(changed, key=lambda one: (one.old_mode == NOTHING, not belongs_to_tests(one.path), one.path))
    text = f"{len(changed) - MAX_FILES:,} of {len(changed):,} changed files were not looked at"
    concern = Concern(kind=ConcernKind.DEFINITIONS, path=first[MAX_FILES].path, text=text)
    return first[:MAX_FILES], (concern,)


def _audit(
    reader: _BaseReader, changed: list[TreeChange], blobs: dict[str, str], attempt: Attempt, observed: Observed
) -> tuple[Concern, ...]:
    """Read the files and compare them; this may ask git, so it runs beside the event loop."""
    old = {one.path: one.old for one in changed if _is_file(one.old_mode)}
    contents = reader.contents([*old.values(), *blobs.values()])
    files = [
        ChangedFile(
            path=reader.name(one.path),
            before=contents.get(old.get(one.path, "")),
            after=contents.get(blobs.get(one.path, "")),
            stopped_running=one.old_mode == EXECUTABLE and one.new_mode not in (NOTHING, EXECUTABLE),
        )
        for one in changed
    ]
    own = [gate for gate in attempt.gates if not (gate.held_out and gate.held_out.tests_of)]  # others do the same
    gates = [replace(gate, command=gate.runs) for gate in own]
    may = attempt.task.may if attempt.task else ()
    found = audit(
        files,
        gates,
        read_base=reader.read,
        list_base=reader.paths,
        read_all=reader.read_all,
        may=may,
        observed=observed,
    )
    return tuple(_without_held_out(concern, own) for concern in found)


def _without_held_out(concern: Concern, gates: Sequence[Gate]) -> Concern:
    """Name a held-out gate instead of its command, which agents may not learn."""
    for gate in gates:
        if gate.held_out:
            concern = replace(concern, text=concern.text.replace(shown(gate.runs), gate.name))
    return concern


async def weakened_by(run: Run, attempt: Attempt, files: Iterable[AcceptanceFile]) -> tuple[Concern, ...]:
    """Return the tests of the base that a tester's files remove or skip."""
    assert run.branch, "what is verified is on a branch"
    repo = run.branch.repo
    reader = _BaseReader(repo, await repo.tree_of(attempt.base))

    def found() -> tuple[Concern, ...]:
        old = {file.path: reader.read(file.path) if file.before else None for file in files}
        changed = [ChangedFile(path=file.path, before=old[file.path], after=file.text.encode()) for file in files]
        return audit(changed, attempt.gates, read_base=reader.read, list_base=reader.paths, read_all=reader.read_all)

    weaker = (ConcernKind.VANISHED, ConcernKind.SKIPPED)
    return tuple(concern for concern in await asyncio.to_thread(found) if concern.kind in weaker)


def _is_file(mode: str) -> bool:
    return mode not in (NOTHING, LINK, SUBMODULE)


class _BaseReader:
    """The files of a tree, read from loose objects or by one question to git for many."""

    def __init__(self, repo: Repo, tree: str) -> None:
        self._repo = repo
        self._tree = tree
        self._blobs: dict[str, str] | None = None
        self._loop = asyncio.get_running_loop()  # which starts all processes

    def name(self, path: str) -> str:
        """Return a path of the repository as the project names it."""
        return path.removeprefix(self._repo.prefix)

    def paths(self) -> list[str]:
        return list(self._listed())

    def read(self, path: str) -> bytes | None:
        blob = self._listed().get(path)
        return self.contents([blob]).get(blob) if blob else None

    def read_all(self, paths: Sequence[str]) -> dict[str, bytes]:
        blobs = {path: blob for path in paths if (blob := self._listed().get(path))}
        contents = self.contents(list(blobs.values()))
        return {path: contents[blob] for path, blob in blobs.items() if blob in contents}

    def contents(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return the blobs by name, without those that are too large to be read."""
        found = {name: data for name in names if (data := read_object(self._repo.git_dir, name)) is not None}
        missing = list(dict.fromkeys(name for name in names if name not in found))
        if missing:
            out = self._git("cat-file", "--batch", given="".join(f"{name}\n" for name in missing).encode())
            pairs = zip(missing, (data for _, data in batched(out)), strict=False)
            found |= {name: data for name, data in pairs if data is not None}
        return {name: data for name, data in found.items() if len(data) <= MAX_SIZE}

    def _listed(self) -> dict[str, str]:
        if self._blobs is None:
            lines = self._git("ls-tree", "-r", "-z", "--full-tree", self._tree).decode(errors="surrogateescape")
            heads = (line.partition("\t") for line in lines.split("\0") if "\t" in line)
            self._blobs = {self.name(path): head.split(" ")[2] for head, _, path in heads if _is_file(head[:6])}
        return self._blobs

    def _git(self, *args: str, given: bytes = b"") -> bytes:
        done = asyncio.run_coroutine_threadsafe(self._repo.ask(*args, stdin=given), self._loop).result()
        return done.out if done.code == 0 else b""
