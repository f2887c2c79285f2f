"""Reading git without an event loop, for commands that only look."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ralph.process.environment import for_git
from ralph.process.now import capture_now


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A branch, where it points, and where it is checked out."""

    name: str
    commit: str
    worktree: Path | None


@dataclass(frozen=True, kw_only=True)
class AttemptRef:
    """A kept attempt: `refs/ralph/attempts/<target>/<task>/<number>`."""

    target: str
    task: str
    number: int
    commit: str
    date: str
    subject: str

    @property
    def name(self) -> str:
        return attempt_ref(self.target, self.task, self.number)


ATTEMPTS = "refs/ralph/attempts"
NUMBER = re.compile(r"[1-9][0-9]{0,8}")


def attempt_ref(target: str, task: str, number: int) -> str:
    return f"{ATTEMPTS}/{target}/{task}/{number}"


def branches(folder: Path) -> dict[str, Branch]:
    """Every branch of the repository that `folder` is in; empty outside of one."""
    form = "%(refname:short)%00%(objectname)%00%(worktreepath)"
    _, out = _git(folder, "for-each-ref", f"--format={form}", "refs/heads")
    found = {}
    for line in out.decode(errors="surrogateescape").split("\n"):
        if not line:
            continue
        name, commit, worktree = line.split("\0")
        found[name] = Branch(name=name, commit=commit, worktree=Path(worktree) if worktree else None)
    return found


def top(folder: Path) -> Path | None:
    """The top folder of the work tree that `folder` is in."""
    code, out = _git(folder, "rev-parse", "--show-toplevel")
    return Path(out.decode(errors="surrogateescape").rstrip("\n")) if code == 0 else None


def file_at(folder: Path, revision: str, path: str) -> bytes | None:
    """A file's bytes in a revision; `path` is relative to `folder`."""
    code, out = _git(folder, "cat-file", "blob", f"{revision}:./{path}")
    return out if code == 0 else None


def names_at(folder: Path, revision: str, path: str) -> list[str]:
    """The names in a folder of a revision."""
    code, out = _git(folder, "ls-tree", "--name-only", "-z", revision, f"{path}/")
    return [Path(name).name for name in out.decode(errors="surrogateescape").split("\0") if name] if code == 0 else []


def attempts(folder: Path, target: str) -> list[AttemptRef]:
    """The kept attempts of a target, oldest first."""
    form = "%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(subject)"
    _, out = _git(folder, "for-each-ref", f"--format={form}", f"{ATTEMPTS}/{target}")
    found = []
    for line in out.decode(errors="replace").split("\n"):
        if not line:
            continue
        name, commit, date, subject = line.split("\0", 3)
        task, _, number = name.removeprefix(f"{ATTEMPTS}/{target}/").rpartition("/")
        if NUMBER.fullmatch(number):
            found.append(
                AttemptRef(target=target, task=task, number=int(number), commit=commit, date=date, subject=subject)
            )
    return sorted(found, key=lambda ref: (ref.task, ref.number))


def show(folder: Path, *args: str) -> str:
    """The output of a git command that only reads, for a person."""
    _, out = _git(folder, *args)
    return out.decode(errors="replace")


def _git(folder: Path, *args: str) -> tuple[int, bytes]:
    return capture_now(["git", *args], cwd=folder, env=for_git(os.environ))
