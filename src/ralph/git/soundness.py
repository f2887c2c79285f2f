"""Checks that objects match their names: git trusts any file with the right name, and agents can write one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from ralph.errors import RalphError
from ralph.git.objects import GITLINK, Tree, batched, digest_of, loose, packs, parse_tree, read_object
from ralph.git.repo import Repo, failed


async def unsound(repo: Repo, old: str, new: str) -> frozenset[str]:
    """Return the objects of the new tree that do not match their names and are not in the old tree.

    If both trees are the same, check all objects: a reviewer changes nothing, and the final verification runs on such a
    tree. Loose objects are checked without a process, and again only if the file has changed. Packed objects were there
    before any agent, unless the packs have changed; then git reads them.
    """
    wrong: set[str] = set()
    _walk(repo, old if old != new else "", new, wrong, set())
    if packs(repo.git_dir) != repo.packs and not wrong:
        wrong |= await _packed(repo, old, new)
    return frozenset(wrong)


def discard(repo: Repo, names: Iterable[str]) -> None:
    """Remove loose objects from the store."""
    for name in names:
        loose(repo.git_dir, name).unlink(missing_ok=True)


def not_sound(repo: Repo, names: Iterable[str]) -> RalphError:
    return RalphError(
        f"Objects in {repo.git_dir / 'objects'} do not match their names: {', '.join(sorted(names))}.",
        remedy="Find their pack with `git fsck --full`, remove it, then run again.",
    )


def _walk(repo: Repo, old: str, tree: str, wrong: set[str], seen: set[str]) -> None:
    """Add invalid objects of a tree that differ from the old tree; a packed tree is skipped."""
    if tree in seen or tree == old or not _is_sound(repo, tree, wrong, seen):
        return
    before, after = (_entries(repo, name) for name in (old, tree))
    for name, entry in after.items():
        known = before.get(name)
        if entry == known:
            continue
        if entry.is_tree:
            _walk(repo, known.name if known and known.is_tree else "", entry.name, wrong, seen)
        elif entry.mode != GITLINK and entry.name not in seen:
            _is_sound(repo, entry.name, wrong, seen)


def _entries(repo: Repo, tree: str) -> Tree:
    return parse_tree(read_object(repo.git_dir, tree) or b"", len(repo.zero) // 2) if tree else {}


def _is_sound(repo: Repo, name: str, wrong: set[str], seen: set[str]) -> bool:
    """Return whether an object is loose and valid."""
    seen.add(name)
    path = loose(repo.git_dir, name)
    try:
        stat = os.lstat(path)
    except OSError:
        return False
    state = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    if repo.proven.get(name) != state:
        if digest_of(path, repo.algorithm) != name:
            wrong.add(name)
            return False
        repo.proven[name] = state
    return True


async def _packed(repo: Repo, old: str, new: str) -> set[str]:
    """Return new objects whose content, as git reads it, does not match their names."""
    listed = await repo.git("diff-tree", "-r", "-t", "--raw", "-z", "--no-abbrev", "--no-renames", old, new)
    heads = [item.split(" ") for item in listed.split("\0")[::2] if item]
    names = {new, *(head[3] for head in heads if head[1] not in ("000000", GITLINK))}
    done = await repo.ask("cat-file", "--batch", stdin="".join(f"{name}\n" for name in sorted(names)).encode())
    if done.code:
        raise failed(("cat-file",), repo.git_dir, done)
    wrong = set()
    for name, (kind, data) in zip(sorted(names), batched(done.out), strict=True):
        if data is None:
            continue  # missing here: the plan's files are only in the copy's own store
        if hashlib.new(repo.algorithm, b"%b %d\0" % (kind, len(data)) + data).hexdigest() != name:
            wrong.add(name)
    return wrong
