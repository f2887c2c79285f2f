"""A working copy, the source of its provided files, and git commands in either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from ralph.config import Worktrees
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.process.enclosure import Enclosure
from ralph.process.environment import for_git
from ralph.process.redaction import Secrets
from ralph.process.spawn import ProgramOutput, capture

MAX_BYTES = 2 * 1024**3
"""The size in bytes above which Ralph does not copy a dependency folder by itself."""

OWN = frozenset((".git", ".ralph"))


class Destination(Frozen):
    """A clean checkout of one commit (`top`), and the person's checkout (`source`) that provides its files."""

    settings: Worktrees
    source: Path
    top: Path
    owner: str
    log: Path
    env: Mapping[str, str] = field(repr=False)
    prefix: str = ""  # the project root below `top`, "" or "sub/folder/"
    largest: int = MAX_BYTES
    secrets: Secrets = field(default_factory=Secrets, repr=False)  # not for its logs
    within: Enclosure | None = None  # the sandbox around set-up commands and package managers

    @property
    def records(self) -> Path:
        """The folder for Ralph's notes and for copies in progress: beside the copy, so that git does not see it."""
        return self.top.with_name(f"{self.top.name}.provided")

    async def git(self, folder: Path, *args: str, stdin: bytes = b"", may_fail: bool = False) -> tuple[str, ...]:
        """Run a git command that prints NUL-terminated paths."""
        env = {**for_git(self.env), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
        done = await capture(["git", *args], cwd=folder, env=env, stdin=stdin, owner=self.owner)
        if done.code and not may_fail:
            raise _git_failed(args[0], folder, done)
        return tuple(filter(None, done.out.decode(errors="surrogateescape").split("\0")))


def is_own(path: str) -> bool:
    """Return whether a path belongs to git or Ralph."""
    return not OWN.isdisjoint(path.split("/"))


def _git_failed(verb: str, folder: Path, done: ProgramOutput) -> RalphError:
    lines = done.err.decode(errors="replace").strip().splitlines() or ["no message"]
    return RalphError(f"git {verb} failed in {folder}: {lines[0]}", details=tuple(lines[1:6]))
