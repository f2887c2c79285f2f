"""Reading git without an event loop, for commands that only look."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ralph.git.objects import batched
from ralph.process.blocking import capture_now
from ralph.process.environment import for_git


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


def is_bare(folder: Path) -> bool:
    """Whether `folder` is in a repository without a work tree."""
    code, out = _git(folder, "rev-parse", "--is-bare-repository")
    return code == 0 and out.strip() == b"true"


def file_at(folder: Path, revision: str, path: str) -> bytes | None:
    """A file's bytes in a revision; `path` is relative to `folder`."""
    code, out = _git(folder, "cat-file", "blob", f"{revision}:./{path}")
    return out if code == 0 else None


def names_at(folder: Path, revision: str, path: str) -> list[str]:
    """The names in a folder of a revision."""
    code, out = _git(folder, "ls-tree", "--name-only", "-z", revision, f"{path}/")
    return [Path(name).name for name in out.decode(errors="surrogateescape").split("\0") if name] if code == 0 else []


def head(folder: Path, revision: str) -> str:
    """The commit that a revision names; empty if there is none."""
    code, out = _git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return out.decode().strip() if code == 0 else ""


def time_of(folder: Path, revision: str) -> float:
    """When a commit was made, in seconds."""
    code, out = _git(folder, "log", "-1", "--format=%ct", revision)
    return float(out.decode().strip() or 0) if code == 0 else 0.0


def files_in(folder: Path, revision: str, path: str) -> dict[str, bytes]:
    """The plain files in a folder of a revision, by name."""
    code, out = _git(folder, "ls-tree", "-z", revision, f"{path}/")
    listed = [entry.partition(b"\t") for entry in out.split(b"\0") if entry] if code == 0 else []
    plain = [(head.split()[2], Path(os.fsdecode(name)).name) for head, _, name in listed if head.startswith(b"100")]
    _, answer = capture_now(
        ["git", "cat-file", "--batch"], cwd=folder, env=for_git(os.environ), stdin=b"\n".join(oid for oid, _ in plain)
    )
    return {name: data or b"" for (_, name), (_, data) in zip(plain, batched(answer), strict=True)}


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
