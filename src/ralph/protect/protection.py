"""Protection around an agent's call: detects, undoes and reports changes to what the agent must not touch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ralph.checkout.working_copy import TakenWork, WorkingCopy
from ralph.config import NAME
from ralph.frozen import Frozen
from ralph.git.repo import Repo
from ralph.git.trees import entries_at
from ralph.journal.events import Event, Noted
from ralph.plan.work import Work
from ralph.process.spawn import to_the_end
from ralph.protect.git_trace import Trace
from ralph.protect.guard import Guard
from ralph.protect.ledger import LEFT, Ledger, LedgerResult
from ralph.protect.snapshot import copy_aside
from ralph.workspace import RALPH, Workspace


class Violations(Frozen):
    """The violations that were undone."""

    paths: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    kept_in: Path = field(default_factory=Path)
    claimed: bytes | None = None  # not a violation: what the agent wrote to the file that takes claims

    def reason(self, who: str) -> str:
        """Return why the attempt does not count; "" if there were no violations."""
        return violation_text(f"{who} broke the rules", self.texts) if self.texts else ""


def violation_text(what: str, texts: tuple[str, ...]) -> str:
    """Describe violations and whether they were undone; some only the person can undo."""
    left = sum(LEFT in text for text in texts)
    end = " Ralph undid this." if not left else " Ralph undid the rest." if left < len(texts) else ""
    return f"{what}: {'; '.join(texts)}.{end}"


class ProtectionScope(Frozen):
    """Where an agent, a gate or a hook is about to run, and what must not change there."""

    workspace: Workspace
    project: Path  # the folder with Ralph's own files, as the program that runs here sees them
    plan: tuple[Path, ...]  # the plan's files
    plan_paths: tuple[str, ...]  # the same, relative to the project root
    guarded: tuple[str, ...]  # the workflow's other protected files and folders
    guards: set[Guard]  # all active guards of this run; Ralph announces its own writes to them
    trace: Trace
    emit: Callable[[Event], None]
    repo: Repo | None = None  # the person's repository; None: there is none
    branch: str = ""  # the ref that only Ralph moves
    copy: WorkingCopy | None = None

    @property
    def roots(self) -> tuple[Path, ...]:
        root = self.workspace.root
        return (self.project,) if self.project != root or self.copy else (root,)


@dataclass
class Protection:
    """Protects Ralph's own files by their content, and the person's repository by its ledger."""

    scope: ProtectionScope
    guard: Guard
    ledger: Ledger | None = None
    violations: Violations = field(default_factory=Violations)

    @classmethod
    def begin(cls, scope: ProtectionScope, work: Work) -> Protection:
        records = scope.workspace.records
        guard = Guard(
            roots=scope.roots,
            files=tuple(dict.fromkeys((NAME, *scope.workspace.own_files, *scope.plan_paths))),
            writable=frozenset(scope.project / path for path in work.writable),
            claimable=scope.project / work.claimable if work.claimable else None,
            extra=(
                *(scope.project / path for path in scope.guarded),
                *_outside(scope.roots, records, *scope.plan),
            ),
        )
        guard.remember()
        if not scope.guards:  # no other agent is running, so the old trace is not needed
            scope.trace.file.unlink(missing_ok=True)
        scope.guards.add(guard)
        ledger = _ledger(scope)
        return cls(scope=scope, guard=guard, ledger=ledger)

    @asynccontextmanager
    async def until_end(self, keep_in: Path) -> AsyncIterator[Protection]:
        """Watch what runs inside the block, even if it is cancelled: gates, commands and hooks run agents' code."""
        try:
            yield self
        finally:
            await to_the_end(self._end(keep_in))

    async def _end(self, keep_in: Path) -> None:
        self.violations = await self.end(keep_in)

    async def end(self, keep_in: Path) -> Violations:
        self.scope.guards.discard(self.guard)
        if self.scope.copy:
            self.scope.copy.check_folder()
        undone = self.guard.undo(keep_in)
        own = [self._name(path) for path in undone if not self._is_source(path)]
        sources = [self._name(path) for path in undone if self._is_source(path)]
        texts = await self._settle(keep_in)
        if own:
            texts.append(f"it changed Ralph's own files ({', '.join(own)})")
        if sources:
            texts.append(f"it changed protected files ({', '.join(sources)})")
        return Violations(paths=tuple(own + sources), texts=tuple(texts), kept_in=keep_in, claimed=self.guard.claimed)

    async def _settle(self, keep_in: Path) -> list[str]:
        """Return violations in the person's repository; with other agents running, only report them, without blame."""
        settled = await self.ledger.settle(keep_in) if self.ledger else LedgerResult()
        found = list(settled.undone)
        for text in settled.left:
            self.scope.emit(Noted(text=f"During this attempt, {text}."))
        for text in found:
            if LEFT in text:  # in full, because only the person can fix it
                self.scope.emit(Noted(text=f"Code that Ralph ran changed your repository: {text}.", warning=True))
        if not found or not self.scope.guards:
            return found
        self.scope.emit(
            Noted(text=violation_text("Code that Ralph ran changed your repository", settled.undone), warning=True)
        )
        return []

    def _is_source(self, path: Path) -> bool:
        return self.guard.is_extra(path) and RALPH not in Path(self._name(path)).parts

    def _name(self, path: Path) -> str:
        return next(
            (
                str(path.relative_to(root))
                for root in (*self.scope.roots, self.scope.workspace.root)
                if root in path.parents
            ),
            str(path),
        )


def _ledger(scope: ProtectionScope) -> Ledger | None:
    if scope.repo is None:
        return None
    return Ledger.of(scope.repo, scope.trace, scope.workspace.worktrees, scope.branch)


def _outside(roots: tuple[Path, ...], *paths: Path) -> tuple[Path, ...]:
    """Return the write-ahead records and the plan's files that are not below a guarded root."""
    return tuple(path for path in paths if not any(root in path.parents for root in roots))


async def _are_written_otherwise(repo: Repo, base: str, tree: str, globs: list[str]) -> bool:
    """Return whether changed attributes would write protected files differently, such as their line ends."""

    async def written(revision: str) -> tuple[int, bytes]:
        with tempfile.TemporaryDirectory(prefix="ralph-read-") as scratch:
            attributes = [path for path in await repo.paths_in(revision) if _is_attributes(path)]
            await repo.checkout_paths(revision, attributes, Path(scratch))
            args = ("cat-file", "--batch=%(rest)", "--filters", "-z")
            done = await repo.ask(*args, stdin=asked, work_tree=Path(scratch))
            return done.code, done.out

    protected = await repo.between((await repo.git("mktree")).strip(), base, *globs)
    entries = await entries_at(repo, await repo.tree_of(base), protected)
    files = ((path, entry.name) for path, entry in entries.items() if entry and entry.mode.startswith("100"))
    asked = os.fsencode("".join(f"{name} {path}\0" for path, name in files))
    return await written(base) != await written(tree)


def _is_attributes(path: str) -> bool:
    return path.rpartition("/")[2] == ".gitattributes"


async def undo_protected(
    copy: WorkingCopy, base: str, globs: tuple[str, ...], taken: TakenWork, keep_in: Path
) -> tuple[str, ...]:
    """Undo an agent's changes to the person's `protect` globs in its copy; return the paths."""
    if not globs or not taken.changes:
        return ()
    prefix = copy.repo.prefix
    paths = [prefix + glob for glob in globs]
    found = await copy.repo.between(base, taken.tree, *paths)
    attributes = [path for path in taken.paths if _is_attributes(path)]
    if attributes and await _are_written_otherwise(copy.repo, base, taken.tree, paths):
        found = tuple(sorted({*found, *attributes}))
    for path in found:
        copy_aside(copy.folder / path, keep_in / path)
    await copy.checkout(base, found)
    return found
