"""Finds out which files of a tree are in commits: in one, or in several, as after a squash merge or a rebase."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ralph.checkout.commit_message import TRAILER
from ralph.checkout.own_files import OwnFiles
from ralph.git.read import ATTEMPTS
from ralph.git.repo import Repo
from ralph.git.trees import changes_between

PEOPLES = ("--branches", "--tags", "--remotes")
ANYWHERE = (*PEOPLES, "--glob=refs/ralph")
RAW = re.compile(r":\d{6} (\d{6}) [0-9a-f]+ ([0-9a-f]+) [A-Z]\d*\0([^\0]*)\0")
DELETED = "000000"
HEADS = "refs/heads"


@dataclass(frozen=True)
class KeptWork:
    """The work in one repository's branches, tags and remotes, and the attempts that Ralph keeps."""

    repo: Repo
    own: OwnFiles  # Ralph's own files do not count as work
    tips: dict[str, str]  # the commits of branches, by name
    landed: dict[str, str]  # by attempt: the commit in which it landed, as "id (ref)"
    attempts: dict[str, str]  # the commits of all attempts, by name

    @classmethod
    async def read(cls, repo: Repo, own: OwnFiles) -> KeptWork:
        landed: dict[str, str] = {}
        form = f"--format=%h (%S)%x00%(trailers:key={TRAILER},valueonly,separator=%x00)"
        for line in (await repo.git("log", form, *PEOPLES)).splitlines() if await repo.head() else ():
            commit, *names = line.split("\0")
            landed.update((name, commit) for name in names if name)
        attempts = {ref.removeprefix(f"{ATTEMPTS}/"): commit for ref, commit in (await repo.refs(ATTEMPTS)).items()}
        tips = {ref.removeprefix(f"{HEADS}/"): commit for ref, commit in (await repo.refs(HEADS)).items()}
        return cls(repo, own, tips, landed, attempts)

    async def where(self, tree: str) -> tuple[str, tuple[str, ...]]:
        """Return why removing a copy of these files loses nothing, or the files that would be lost."""
        branch = await self._same(tree, self.tips)
        if branch:
            return f"its files match commit {self.tips[branch][:7]} ({branch})", ()
        name = await self._same(tree, self.attempts)
        if name in self.landed:
            return f"its work landed as commit {self.landed[name]}", ()
        if name:
            return f"its work is kept in {ATTEMPTS}/{name}", ()
        lost = await self.missing(tree, *ANYWHERE)
        return "" if lost else "commits contain all of its files, for example after a squash merge or a rebase", lost

    async def _same(self, tree: str, commits: Mapping[str, str]) -> str:
        """Return the name of a commit with these files, apart from Ralph's own; "" if there is none."""
        for name, commit in commits.items():
            changes = await changes_between(self.repo, tree, await self.repo.tree_of(commit))
            if all(change.path in self.own for change in changes):
                return name
        return ""

    async def missing(self, tree: str, *refs: str) -> tuple[str, ...]:
        """Return the files of a tree whose exact content is in no commit of these refs."""
        head = await self.repo.head()
        out = await self.repo.git("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", head, tree)
        wanted = {(path, blob) for mode, blob, path in RAW.findall(out) if mode != DELETED and path not in self.own}
        paths = sorted({path for path, _ in wanted})
        if not paths:
            return ()
        found = await self.repo.git(
            "log", "--format=", "--raw", "-z", "--no-abbrev", "--no-renames", "--full-history", "-m", *refs, "--stdin",
            stdin=os.fsencode("\n".join(("--", *paths)) + "\n"),
        )  # fmt: skip
        known = {(path, blob) for _, blob, path in RAW.findall(found)}
        return tuple(sorted({path for path, _ in wanted - known}))

    async def superseded(self) -> frozenset[str]:
        """Return the attempts whose work is in people's own commits: landed there, or with all of their files.

        If all files of an attempt are there, so is the work that had landed before it, because it was built on that.
        """
        kept = set(self.landed)
        for name, commit in self.attempts.items():
            if name in kept:
                continue
            if not await self.missing(await self.repo.tree_of(commit), *PEOPLES):
                form = f"--format=%(trailers:key={TRAILER},valueonly)"
                below = await self.repo.git("log", form, commit, "--not", *PEOPLES)
                kept.update((name, *filter(None, below.split("\n"))))
        return frozenset(kept)
