"""What a repository has of some files: in one commit, or spread over several, as after a squash merge or a rebase."""

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
GONE = "000000"
HEADS = "refs/heads"


@dataclass(frozen=True)
class KeptWork:
    """What branches, tags and remotes of one repository have, and the attempts that Ralph keeps beside them."""

    repo: Repo
    own: OwnFiles  # Ralph's own files are no work
    tips: dict[str, str]  # the newest commits of branches, by their refs
    landed: dict[str, str]  # the commits in which attempts have landed, by their names: the id, and a ref that has it
    attempts: dict[str, str]  # the commits of all attempts, by their names

    @classmethod
    async def look(cls, repo: Repo, own: OwnFiles) -> KeptWork:
        landed: dict[str, str] = {}
        form = f"--format=%h (%S)%x00%(trailers:key={TRAILER},valueonly,separator=%x00)"
        for line in (await repo.git("log", form, *PEOPLES)).splitlines() if await repo.head() else ():
            commit, *names = line.split("\0")
            landed.update((name, commit) for name in names if name)
        attempts = {ref.removeprefix(f"{ATTEMPTS}/"): commit for ref, commit in (await repo.refs(ATTEMPTS)).items()}
        tips = {ref.removeprefix(f"{HEADS}/"): commit for ref, commit in (await repo.refs(HEADS)).items()}
        return cls(repo, own, tips, landed, attempts)

    async def where(self, tree: str) -> tuple[str, tuple[str, ...]]:
        """Why nothing is lost with a copy of these files, in words; or the files that would be lost."""
        branch = await self._same(tree, self.tips)
        if branch:
            return f"its files are those of commit {self.tips[branch][:7]} ({branch})", ()
        name = await self._same(tree, self.attempts)
        if name in self.landed:
            return f"its work landed as commit {self.landed[name]}", ()
        if name:
            return f"its work is kept in {ATTEMPTS}/{name}", ()
        lost = await self.missing(tree, *ANYWHERE)
        return "" if lost else "every file in it is in a commit, as after a squash merge or a rebase", lost

    async def _same(self, tree: str, commits: Mapping[str, str]) -> str:
        """The name of a commit that has these files, but for Ralph's own; empty if none has."""
        for name, commit in commits.items():
            changes = await changes_between(self.repo, tree, await self.repo.tree_of(commit))
            if all(change.path in self.own for change in changes):
                return name
        return ""

    async def missing(self, tree: str, *refs: str) -> tuple[str, ...]:
        """The files of a tree that no commit of some refs has just so."""
        head = await self.repo.head()
        out = await self.repo.git("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", head, tree)
        wanted = {(path, blob) for mode, blob, path in RAW.findall(out) if mode != GONE and path not in self.own}
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
        """The attempts whose work people's own commits have: landed there, or with all of their files.

        Where an attempt's files are all there, so is what had landed before it: it was built on that.
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
