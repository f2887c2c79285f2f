"""Reads git without an event loop, for commands that only read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from ralph.frozen import Frozen
from ralph.process.blocking import capture_now
from ralph.process.environment import for_git


class Branch(Frozen):
    """A branch, its commit, and the worktree in which it is checked out."""

    name: str
    commit: str
    worktree: Path | None


class AttemptRef(Frozen):
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


Answers = dict[tuple[Path, tuple[str, ...]], tuple[int, bytes]]
_remembered: ContextVar[Answers | None] = ContextVar("_remembered", default=None)
ATTEMPTS = "refs/ralph/attempts"
NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@contextmanager
def one_moment() -> Iterator[None]:
    """Ask git each question only once in this block: for a command that reads several plans of one repository."""
    outer = _remembered.get()
    token = _remembered.set({} if outer is None else outer)
    try:
        yield
    finally:
        _remembered.reset(token)


def attempt_ref(target: str, task: str, number: int) -> str:
    return f"{ATTEMPTS}/{target}/{task}/{number}"


def branches(folder: Path) -> dict[str, Branch]:
    """Return every branch of the repository that `folder` is in; empty outside a repository."""
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
    """Return the top folder of the work tree that `folder` is in; None if there is none."""
    code, out = _git(folder, "rev-parse", "--show-toplevel")
    return Path(out.decode(errors="surrogateescape").rstrip("\n")) if code == 0 else None


def is_bare(folder: Path) -> bool:
    """Return whether `folder` is in a repository without a work tree."""
    code, out = _git(folder, "rev-parse", "--is-bare-repository")
    return code == 0 and out.strip() == b"true"


def file_at(folder: Path, revision: str, path: str) -> bytes | None:
    """Return a file's bytes in a revision; `path` is relative to `folder`."""
    code, out = _git(folder, "cat-file", "blob", f"{revision}:./{path}")
    return out if code == 0 else None


def names_at(folder: Path, revision: str, path: str) -> list[str]:
    """Return the names in a folder of a revision."""
    code, out = _git(folder, "ls-tree", "--name-only", "-z", revision, f"{path}/")
    return [Path(name).name for name in out.decode(errors="surrogateescape").split("\0") if name] if code == 0 else []


def head(folder: Path, revision: str) -> str:
    """Return the commit that a revision names; "" if there is none."""
    code, out = _git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return out.decode().strip() if code == 0 else ""


def time_of(folder: Path, revision: str) -> float:
    """Return the commit time of a revision, in seconds since 1970."""
    code, out = _git(folder, "log", "-1", "--format=%ct", revision)
    return float(out.decode().strip() or 0) if code == 0 else 0.0


def files_in(folder: Path, revision: str, path: str) -> dict[str, bytes]:
    """Return the regular files in a folder of a revision, by name."""
    code, out = _git(folder, "ls-tree", "-z", revision, f"{path}/")
    listed = [entry.partition(b"\t") for entry in out.split(b"\0") if entry] if code == 0 else []
    plain = [(head.split()[2], Path(os.fsdecode(name)).name) for head, _, name in listed if head.startswith(b"100")]
    from ralph.git.objects import batched

    _, answer = capture_now(
        ["git", "cat-file", "--batch"], cwd=folder, env=for_git(os.environ), stdin=b"\n".join(oid for oid, _ in plain)
    )
    return {name: data or b"" for (_, name), (_, data) in zip(plain, batched(answer), strict=True)}


def attempts(folder: Path, target: str) -> list[AttemptRef]:
    """Return the kept attempts of a target, by task and number."""
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
    """Return the output of a read-only git command, for a person."""
    _, out = _git(folder, *args)
    return out.decode(errors="replace")


def _git(folder: Path, *args: str) -> tuple[int, bytes]:
    known, question = _remembered.get(), (folder, args)
    if known is None:
        return capture_now(["git", *args], cwd=folder, env=for_git(os.environ))
    if question not in known:
        known[question] = capture_now(["git", *args], cwd=folder, env=for_git(os.environ))
    return known[question]
