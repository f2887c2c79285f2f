"""Tells a person's own edits from what came with a clone, a pull or a merge, by git's own records.

A commit was made here if a reflog of this clone says that `git commit` or Ralph made it; nobody can send a reflog.
Content was written here if git has never had it. In doubt it is nobody's own edit, and the person is asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.process.blocking import capture_now
from ralph.process.environment import for_git
from ralph.workspace import common_git_dir

MADE_HERE = re.compile(r"commit( \((initial|amend|merge)\))?: |(pull|merge) [^()]*: Merge made by the '")
"""A merge that git made here by itself adds nothing to what its sides have changed, and their commits count too."""
UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer")


class Origin(Frozen):
    """Where approved files came from."""

    repository: str = ""
    commits: Mapping[str, str] = field(default_factory=dict)  # the commit that had a file as it was approved, by path


class _UnknownAnswer(Exception):
    """Git does not say, for whatever reason."""


def origin(root: Path, paths: Iterable[str], before: Origin | None = None) -> Origin:
    """Return where these files come from; a file with own edits keeps the commit that it had `before`."""
    try:
        repository, head = _repository(root), git_read.head(root, "HEAD")
        known = before.commits if before and before.repository == repository else {}
        found = {path: head if _blob(root, path) == _blob_in(root, path) else known.get(path, "") for path in paths}
    except _UnknownAnswer:
        return Origin()
    return Origin(repository=repository, commits={path: commit for path, commit in found.items() if commit})


def are_own(root: Path, paths: Iterable[str], since: Origin) -> bool:
    """Return whether the person made all changes to these files since they were approved."""
    try:
        if not since.repository or since.repository != _repository(root) or _is_under_way(root):
            return False
        here = _made_here(root)
        return all(_is_own(root, path, since.commits.get(path, ""), here) for path in paths)
    except _UnknownAnswer:
        return False


def _is_own(root: Path, path: str, since: str, here: set[str]) -> bool:
    """Return whether a file is as HEAD has it or as git has never had it, and all of its commits were made here."""
    blob, committed = _blob(root, path), _blob_in(root, path)
    is_known = blob not in ("", committed) and not _is_new(root, blob)
    return not is_known and _commits(root, path, since) | _writers(root, path, committed, since) <= here


def _is_new(root: Path, blob: str) -> bool:
    return _ask(root, "cat-file", "--batch-check", stdin=blob).endswith(" missing")


def _repository(root: Path) -> str:
    """Return what distinguishes this repository from a later one in the same place."""
    folder = common_git_dir(root)
    if folder is None:
        return ""
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}"


def _is_under_way(root: Path) -> bool:
    names = _ask(root, "rev-parse", *(word for name in UNDER_WAY for word in ("--git-path", name)))
    return any((root / line).exists() for line in names.splitlines())


def _commits(root: Path, path: str, since: str) -> set[str]:
    """Return every commit in which a file differs from any parent's, after `since` if that is known.

    A merge counts too, even if it only takes one side: somebody else's can bring back what was there long ago.
    """
    if not git_read.head(root, "HEAD"):
        return set()
    revisions = f"{since}..HEAD" if since and git_read.head(root, since) else "HEAD"
    how = ("--full-history", "--sparse", "-m", "--name-only", "--no-renames", "--format=%x00%H")
    entries = _ask(root, "log", *how, revisions, "--", f":(literal){path}").split("\0")
    return {commit for commit, _, names in (entry.partition("\n") for entry in entries) if names.strip()}


def _writers(root: Path, path: str, blob: str, since: str) -> set[str]:
    """Return every commit that gave a file this content, besides those up to `since`.

    The person may have committed what somebody else had written, as after `git merge --squash`.
    """
    if not blob:
        return set()
    fetched = ["FETCH_HEAD"] if git_read.head(root, "FETCH_HEAD") else []
    before = [f"^{since}"] if since and git_read.head(root, since) else []
    where = ("--exclude=refs/ralph/*", "--all", "--reflog", *fetched, *before)
    listed = _ask(
        root,
        "log",
        "--format=%H",
        "-m",
        "--raw",
        "--no-abbrev",
        f"--find-object={blob}",
        *where,
        "--",
        f":(literal){path}",
    )
    entries = re.split(r"^(?=[0-9a-f]{40,64}$)", listed, flags=re.MULTILINE)
    return {
        commit
        for commit, _, changes in (entry.partition("\n") for entry in entries)
        if f" {blob} A\t" in changes or f" {blob} M\t" in changes
    }


def _made_here(root: Path) -> set[str]:
    """Return the commits that the person made in this clone, or that Ralph landed in it: their gates have run here."""
    lines = _ask(root, "reflog", "show", "--all", "--format=%H %gD %gs").splitlines()
    entries = (line.split(" ", 2) for line in lines)
    return {commit for commit, where, what in entries if _is_made_here(where, what)}


def _is_made_here(where: str, what: str) -> bool:
    is_landing = where.startswith("refs/heads/ralph/") and not what
    return is_landing or (where.startswith("HEAD@") and bool(MADE_HERE.match(what)))


def _blob(root: Path, path: str) -> str:
    """Return git's name for what is in a file; "" if there is no file."""
    return _ask(root, "hash-object", "--no-filters", "--", path) if (root / path).exists() else ""


def _blob_in(root: Path, path: str) -> str:
    """Return git's name for what HEAD has in a file; "" if it has none."""
    if not git_read.head(root, "HEAD"):
        return ""
    return _ask(root, "ls-tree", "--format=%(objectname)", "HEAD", "--", f":(literal){path}")


def _ask(root: Path, *args: str, stdin: str = "") -> str:
    code, out = capture_now(["git", *args], cwd=root, env=for_git(os.environ), stdin=stdin.encode())
    if code:
        raise _UnknownAnswer
    return out.decode(errors="replace").strip()
