"""One working copy, where what it needs comes from, and how Ralph asks git about either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ralph.config import Worktrees
from ralph.errors import RalphError
from ralph.process.environment import for_git
from ralph.process.spawn import Captured, capture

MAX_BYTES = 2 * 1024**3
"""Bytes: Ralph copies no larger dependency folder by itself."""

OWN = frozenset((".git", ".ralph"))


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A clean checkout of one commit (`top`), and the person's checkout (`source`) that it is provided from."""

    settings: Worktrees
    source: Path
    top: Path
    owner: str
    log: Path
    env: Mapping[str, str] = field(repr=False)
    prefix: str = ""  # the project's root below `top`, "" or "sub/folder/"
    largest: int = MAX_BYTES

    @property
    def records(self) -> Path:
        """Ralph's notes about the copy, and what is being copied: beside it, so that nobody's git sees them."""
        return self.top.with_name(f"{self.top.name}.provided")

    async def git(self, folder: Path, *args: str, stdin: bytes = b"", may_fail: bool = False) -> tuple[str, ...]:
        """Run a git command that answers with paths, each ended by a NUL."""
        env = {**for_git(self.env), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
        done = await capture(["git", *args], cwd=folder, env=env, stdin=stdin, owner=self.owner)
        if done.code and not may_fail:
            raise _git_failed(args[0], folder, done)
        return tuple(filter(None, done.out.decode(errors="surrogateescape").split("\0")))


def is_own(path: str) -> bool:
    """Whether a path is git's or Ralph's."""
    return not OWN.isdisjoint(path.split("/"))


def _git_failed(verb: str, folder: Path, done: Captured) -> RalphError:
    lines = done.err.decode(errors="replace").strip().splitlines() or ["no message"]
    return RalphError(f"git {verb} failed in {folder}: {lines[0]}", details=tuple(lines[1:6]))
