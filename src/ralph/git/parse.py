"""Parses git's output into values."""

from __future__ import annotations

import re

from ralph.frozen import Frozen

GLOB_SIGNS = re.compile(r"[*?\[\]\\]")


class Status(Frozen):
    """A checkout at one moment; paths are relative to the top of the work tree."""

    head: str  # empty: no commit yet
    branch: str  # empty: HEAD is detached
    changed: tuple[str, ...]  # tracked paths that differ from HEAD, in the index or on disk
    untracked: tuple[str, ...]
    unmerged: tuple[str, ...] = ()


class TreeChange(Frozen):
    """One path that differs between two trees, or between a tree and the files on disk."""

    path: str
    old_mode: str
    new_mode: str
    old: str  # the object's id before; zeros: it did not exist
    new: str  # the same after; zeros: it does not exist, or git has not read it


def parse_status(text: str) -> Status:
    """Parse `git status --porcelain=v2 --branch -z`."""
    head = branch = ""
    changed: list[str] = []
    untracked: list[str] = []
    unmerged: list[str] = []
    items = iter(text.split("\0"))
    for item in items:
        kind, _, rest = item.partition(" ")
        if kind == "#":
            key, _, value = rest.partition(" ")
            if key == "branch.oid":
                head = "" if value == "(initial)" else value
            elif key == "branch.head":
                branch = "" if value == "(detached)" else value
        elif kind == "1":
            changed.append(rest.split(" ", 7)[7])
        elif kind == "2":
            changed += [rest.split(" ", 8)[8], next(items)]
        elif kind == "u":
            unmerged.append(rest.split(" ", 9)[9])
        elif kind == "?":
            untracked.append(rest)
    return Status(
        head=head,
        branch=branch,
        changed=tuple(changed),
        untracked=tuple(untracked),
        unmerged=tuple(unmerged),
    )


def parse_raw(text: str) -> tuple[TreeChange, ...]:
    """Parse `git diff-index --raw -z` without renames."""
    items = iter(text.split("\0"))
    changes = []
    for head in items:
        if not head:
            continue
        old_mode, new_mode, old, new, *_ = head.removeprefix(":").split(" ")
        changes.append(TreeChange(path=next(items), old_mode=old_mode, new_mode=new_mode, old=old, new=new))
    return tuple(changes)


def parse_scoped(text: str) -> list[tuple[str, str, str]]:
    """Parse `git config --list -z --show-scope` into scope, key and value; an entry without a value is true."""
    items = text.split("\0")
    entries = ((scope, *entry.partition("\n")) for scope, entry in zip(items[::2], items[1::2], strict=False))
    return [(scope, key, value if equals else "true") for scope, key, equals, value in entries]


def literal(path: str) -> str:
    """Return a glob that matches exactly this path."""
    return GLOB_SIGNS.sub(r"\\\g<0>", path)
