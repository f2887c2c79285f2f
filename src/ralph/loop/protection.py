"""What an agent may not touch, from before its call to after it: noticed, undone, and told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph.config import NAME
from ralph.loop.place import Place
from ralph.loop.run import Run
from ralph.loop.site import Site
from ralph.plan.work import Work
from ralph.process.spawn import to_the_end
from ralph.verify.guard import Guard


@dataclass(frozen=True, kw_only=True)
class Wrongs:
    """What had to be undone."""

    paths: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    kept_in: Path = field(default_factory=Path)
    claimed: bytes | None = None  # not a wrong: what the agent wrote where it may claim something

    def reason(self, who: str) -> str:
        """Why the attempt does not count; empty if nothing was wrong."""
        return f"{who} did what it must not: {'; '.join(self.texts)}. This was undone." if self.texts else ""


@dataclass
class Protection:
    """Ralph's own files by their bytes, a person's `protect` globs by git."""

    watching: set[Guard]
    guard: Guard
    roots: tuple[Path, ...]
    place: Place | None
    base: str
    globs: tuple[str, ...]
    untracked: frozenset[str]
    wrongs: Wrongs = field(default_factory=Wrongs)

    @classmethod
    @asynccontextmanager
    async def around(cls, run: Run, site: Site, work: Work, base: str, keep_in: Path) -> AsyncIterator[Protection]:
        """Guard what runs inside the block, also if it is cut short: gates, commands and hooks run agents' code."""
        protection = await cls.begin(run, site, replace(work, claimable=""), base)
        try:
            yield protection
        finally:
            await to_the_end(protection._end(keep_in))

    async def _end(self, keep_in: Path) -> None:
        self.wrongs = await self.end(keep_in)

    @classmethod
    async def begin(cls, run: Run, site: Site, work: Work, base: str) -> Protection:
        place, globs = site.place, run.config.protect
        prefix = place.repo.prefix if place else ""
        globs = tuple(prefix + glob for glob in globs)
        untracked = frozenset(await place.repo.untracked_matching(globs)) if place and globs else frozenset()
        roots = tuple(dict.fromkeys((site.cwd, run.workspace.root)))
        guarded = [run.workspace.root / path for path in run.workflow.guarded]
        unknown_to_git = [place.repo.top / path for path in sorted(untracked)] if place else []
        guard = Guard(
            roots=roots,
            files=tuple(dict.fromkeys((NAME, *run.workspace.own_files, *run.workflow.plan_paths))),
            writable=frozenset(run.workspace.root / path for path in work.writable),
            claimable=run.workspace.root / work.claimable if work.claimable else None,
            extra=(*guarded, *unknown_to_git),
        )
        guard.remember()
        run.guards.add(guard)
        return cls(
            watching=run.guards, guard=guard, roots=roots, place=place, base=base, globs=globs, untracked=untracked
        )

    async def end(self, keep_in: Path) -> Wrongs:
        self.watching.discard(self.guard)
        undone = self.guard.undo(keep_in)
        own = [self._name(path) for path in undone if not self.guard.is_extra(path)]
        protected = [self._name(path) for path in undone if self.guard.is_extra(path)]
        by_git = await self._undo_protected()
        await self._commit_undone([*undone, *self.guard.claims()], by_git)
        protected += [name for name in by_git if name not in protected]
        texts = []
        if own:
            texts.append(f"it changed Ralph's own files ({', '.join(own)})")
        if protected:
            texts.append(f"it changed protected files ({', '.join(protected)})")
        return Wrongs(paths=tuple(own + protected), texts=tuple(texts), kept_in=keep_in, claimed=self.guard.claimed)

    def _name(self, path: Path) -> str:
        return next((str(path.relative_to(root)) for root in self.roots if root in path.parents), str(path))

    async def _undo_protected(self) -> list[str]:
        if not self.place or not self.globs:
            return []
        repo = self.place.repo
        hidden = await repo.tampered_since(self.base, self.globs)
        changed = {*hidden, *await repo.changed_since(self.base, *self.globs)}
        await repo.reveal(hidden)
        added = set(await repo.untracked_matching(self.globs)) - self.untracked
        found = sorted({*changed, *added})
        await repo.lay(self.base, found, stage=False)
        return found

    async def _commit_undone(self, own: list[Path], protected: list[str]) -> None:
        """If the agent committed what it must not, the branch gets the right files back as well."""
        if not self.place or not (own or protected):
            return
        repo, top = self.place.repo, self.place.repo.top.resolve()
        names = {str(path.relative_to(top)) for path in map(_real, own) if path.is_relative_to(top)}
        wrong = sorted({*names, *protected}.intersection(await repo.between(self.base, "HEAD")))
        if wrong:
            await repo.commit_own(wrong, "chore: undo changes to protected files")


def _real(path: Path) -> Path:
    """Where a file lies; the file itself may be a link."""
    return path.parent.resolve() / path.name
