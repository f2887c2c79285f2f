"""Reads git without an event loop, for commands that only read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.frozen import Frozen
from ralph.process.blocking import OpenProgram, capture_now
from ralph.process.environment import for_git

if TYPE_CHECKING:
    from ralph.git.objects import Tree


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


class Moment(Frozen):
    """What git has answered so far, and the git that reads objects in each folder."""

    answers: dict[tuple[Path, tuple[str, ...]], tuple[int, bytes]] = field(default_factory=dict)
    objects: dict[tuple[Path, str], tuple[str, str, bytes]] = field(default_factory=dict)
    readers: dict[Path, OpenProgram] = field(default_factory=dict)


_moment: ContextVar[Moment | None] = ContextVar("_moment", default=None)
NOTHING = ("", "", b"")
ATTEMPTS = "refs/ralph/attempts"
NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@contextmanager
def one_moment() -> Iterator[Moment]:
    """Ask git each question only once in this block: for a command that reads several plans of one repository."""
    outer = _moment.get()
    if outer is not None:
        yield outer
        return
    moment = Moment()
    token = _moment.set(moment)
    try:
        yield moment
    finally:
        _moment.reset(token)
        for reader in moment.readers.values():
            reader.close()


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
    _, kind, data = _object(folder, f"{revision}:./{path}")
    return data if kind == "blob" else None


def names_at(folder: Path, revision: str, path: str) -> list[str]:
    """Return the names in a folder of a revision."""
    return list(_tree(folder, f"{revision}:./{path}"))


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
    with one_moment():
        plain = {
            name: one.name for name, one in _tree(folder, f"{revision}:./{path}").items() if one.mode.startswith("100")
        }
        return {name: _object(folder, oid)[2] for name, oid in plain.items()}


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


def outside(own: Iterable[str]) -> tuple[str, ...]:
    """Return a pathspec for everything in a folder except these files and folders."""
    return (".", *(f":(exclude){name}" for name in own))


def show(folder: Path, *args: str) -> str:
    """Return the output of a read-only git command, for a person."""
    _, out = _git(folder, *args)
    return out.decode(errors="replace")


def _git(folder: Path, *args: str) -> tuple[int, bytes]:
    with one_moment() as moment:
        if (folder, args) not in moment.answers:
            moment.answers[folder, args] = capture_now(["git", *args], cwd=folder, env=for_git(os.environ))
        return moment.answers[folder, args]


def _tree(folder: Path, name: str) -> Tree:
    from ralph.git.objects import parse_tree

    oid, kind, data = _object(folder, name)
    return parse_tree(data, len(oid) // 2) if kind == "tree" else {}


def _object(folder: Path, name: str) -> tuple[str, str, bytes]:
    """Return the id, the kind and the data of an object; all empty if there is none."""
    with one_moment() as moment:
        if (folder, name) not in moment.objects:
            moment.objects[folder, name] = _read_object(moment, folder, name)
        return moment.objects[folder, name]


def _read_object(moment: Moment, folder: Path, name: str) -> tuple[str, str, bytes]:
    if folder not in moment.readers:
        try:
            moment.readers[folder] = OpenProgram(["git", "cat-file", "--batch"], cwd=folder, env=for_git(os.environ))
        except OSError:
            return NOTHING
    if "\n" in name:  # it would be two questions
        return NOTHING
    answer = moment.readers[folder].ask(os.fsencode(name))
    head = answer.readline().decode(errors="replace").split()
    if len(head) != 3 or not head[2].isdecimal():
        return NOTHING
    oid, kind, size = head
    data = answer.read(int(size) + 1)
    return (oid, kind, data[:-1]) if len(data) == int(size) + 1 else NOTHING
