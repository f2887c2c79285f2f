"""What git answers, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Status:
    """A checkout at one moment; paths are relative to the top of the work tree."""

    head: str  # empty: no commit yet
    branch: str  # empty: HEAD is detached
    changed: tuple[str, ...]  # tracked paths that differ from HEAD, in the index or on disk
    untracked: tuple[str, ...]
    unmerged: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit on the way from one commit to another."""

    id: str
    parents: tuple[str, ...]
    subject: str
    paths: tuple[str, ...] = ()  # what it touched


def parse_status(text: str) -> Status:
    """`git status --porcelain=v2 --branch -z`."""
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


def parse_log(text: str, border: str) -> tuple[Commit, ...] | None:
    """`git log` in the form that `commits_since` asks for; None if a commit is on the wrong side."""
    commits = []
    fields = text.split(border)[1:]
    for head, subject, names in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        if head[0] == "<":
            return None
        commit, *parents = head[1:].split()
        paths = tuple(name for name in names.replace("\n", "", 1).split("\0") if name)
        commits.append(Commit(id=commit, parents=tuple(parents), subject=subject, paths=paths))
    return tuple(commits)
