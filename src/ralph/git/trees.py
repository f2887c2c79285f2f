"""Compares and changes trees without a process for each; recent trees are loose objects that Ralph can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ralph.errors import RalphError
from ralph.git.objects import Tree, TreeEntry, batched, loose_tree, parse_tree, read_object, tree_object, write_object
from ralph.git.parse import TreeChange, parse_raw
from ralph.git.repo import Repo, failed

NOTHING = "000000"
FOLDER = "040000"
LINK = "120000"
EXECUTABLE = "100755"


async def changes_between(repo: Repo, old: str, new: str) -> tuple[TreeChange, ...]:
    """Return every file that differs between two trees."""
    found: list[TreeChange] = []
    if old != new and not _compare(repo, old, new, "", found):
        args = ("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", old, new)
        return parse_raw(await repo.git(*args))
    return tuple(found)


async def changed_since(repo: Repo, commit: str, now: str) -> tuple[str, ...] | None:
    """Return the paths that differ between a commit and `now`; None if the commit does not exist any more."""
    old, new = (loose_tree(repo.git_dir, one, repo.algorithm) for one in (commit, now))
    if old and new:
        return tuple(change.path for change in await changes_between(repo, old, new))
    try:
        return await repo.between(f"{commit}^{{commit}}", now)
    except RalphError:
        return None


def _compare(repo: Repo, old: str, new: str, below: str, found: list[TreeChange]) -> bool:
    """Add the differences to `found`; return False if git must be asked."""
    before, after = (_tree(repo, name) if name else {} for name in (old, new))
    if before is None or after is None:
        return False
    for name in sorted({*before, *after}):
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        was, now = (entry.name if entry and entry.is_tree else "" for entry in (one, other))
        if (was or now) and not _compare(repo, was, now, f"{below}{name}/", found):
            return False
        old_file, new_file = None if was else one, None if now else other
        if old_file or new_file:
            found.append(_change(repo, f"{below}{name}", old_file, new_file))
    return True


def _change(repo: Repo, path: str, before: TreeEntry | None, after: TreeEntry | None) -> TreeChange:
    return TreeChange(
        path=path,
        old_mode=before.mode if before else NOTHING,
        new_mode=after.mode if after else NOTHING,
        old=before.name if before else repo.zero,
        new=after.name if after else repo.zero,
    )


async def files_below(repo: Repo, commit: str, paths: Iterable[str]) -> dict[str, TreeEntry]:
    """Return a commit's files at and below these paths, which contain no patterns."""
    wanted = [path.split("/") for path in paths]
    known = loose_files(repo, loose_tree(repo.git_dir, commit, repo.algorithm), wanted)
    if known is not None or not wanted:
        return known or {}
    listed = await repo.git("ls-tree", "-r", "-z", "--full-tree", commit, "--", *map("/".join, wanted))
    lines = (line.partition("\t") for line in listed.split("\0") if line)
    return {path: TreeEntry(mode=head.split(" ")[0], name=head.split(" ")[2]) for head, _, path in lines}


def loose_files(
    repo: Repo, tree: str, wanted: Sequence[Sequence[str]] = ((),), below: str = ""
) -> dict[str, TreeEntry] | None:
    """Return the files of a tree at and below some paths, split at slashes; None if git must be asked."""
    entries = _tree(repo, tree) if tree else None
    if entries is None:
        return None
    found: dict[str, TreeEntry] = {}
    for name, entry in entries.items():
        rest = [path[1:] for path in wanted if not path or path[0] == name]
        if rest and entry.is_tree:
            inside = loose_files(repo, entry.name, rest, f"{below}{name}/")
            if inside is None:
                return None
            found |= inside
        elif not all(rest):
            found[f"{below}{name}"] = entry
    return found


async def blobs(repo: Repo, names: Iterable[str]) -> dict[str, bytes]:
    """Return the content of blobs; git is asked once about all that are packed."""
    found = {name: read_object(repo.git_dir, name) for name in names}
    packed = [name for name, data in found.items() if data is None]
    if packed:
        done = await repo.ask("cat-file", "--batch", stdin="".join(f"{name}\n" for name in packed).encode())
        found |= {name: data for name, (_, data) in zip(packed, batched(done.out), strict=False)}
    missing = [name for name, data in found.items() if data is None]
    if missing:
        raise RalphError(f"The repository lacks the object {missing[0]}.", remedy="Check it: git fsck")
    return {name: data for name, data in found.items() if data is not None}


async def entries_at(repo: Repo, tree: str, paths: Iterable[str]) -> dict[str, TreeEntry | None]:
    """Return a tree's entry at each path; each folder is read once."""
    known: dict[str, Tree] = {}
    entries: dict[str, TreeEntry | None] = {}
    for path in paths:
        found: TreeEntry | None = TreeEntry(FOLDER, tree)
        for name in path.split("/"):
            if found and found.is_tree and found.name not in known:
                known[found.name] = await _read(repo, repo.git_dir, found.name)
            found = known[found.name].get(name) if found and found.is_tree else None
        entries[path] = found
    return entries


async def with_entries(
    repo: Repo, tree: str, entries: Mapping[str, TreeEntry | None], *, store: Path | None = None
) -> str:
    """Return a tree with these entries at their paths; None removes an entry.

    `store`: a repository that borrows this one's objects, for objects that should exist only there.
    """
    store = store or repo.git_dir
    made = await _with(repo, store, tree, {tuple(path.split("/")): entry for path, entry in entries.items()})
    made = made or write_object(store, "tree", b"", repo.algorithm)
    repo.trees[made] = made  # a tree's tree is itself, so git need not be asked
    return made


async def _with(repo: Repo, store: Path, tree: str, wanted: Mapping[tuple[str, ...], TreeEntry | None]) -> str:
    """Do the same for one folder; return "" if nothing is left, because git has no empty folders."""
    entries = await _read(repo, store, tree) if tree else {}
    folders: dict[str, dict[tuple[str, ...], TreeEntry | None]] = {}
    for (first, *rest), entry in wanted.items():
        if rest:
            folders.setdefault(first, {})[tuple(rest)] = entry
        elif entry is None:
            entries.pop(first, None)
        else:
            entries[first] = entry
    for name, inside in folders.items():
        known = entries.get(name)
        made = await _with(repo, store, known.name if known and known.is_tree else "", inside)
        if made:
            entries[name] = TreeEntry(FOLDER, made)
        elif known and known.is_tree:
            del entries[name]
    return write_object(store, "tree", tree_object(entries), repo.algorithm) if entries else ""


def file_entry(repo: Repo, path: Path, *, store: Path | None = None) -> TreeEntry | None:
    """Return the tree entry for a file or link on disk; None if it is neither."""
    store = store or repo.git_dir
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return TreeEntry(LINK, write_object(store, "blob", os.fsencode(path.readlink()), repo.algorithm))
        if not stat.S_ISREG(mode):
            return None
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return TreeEntry(EXECUTABLE if mode & stat.S_IXUSR else "100644", write_object(store, "blob", data, repo.algorithm))


async def _read(repo: Repo, store: Path, name: str) -> Tree:
    """Read a tree; ask git if it is packed."""
    data = read_object(store, name) or read_object(repo.git_dir, name)
    if data is None:
        done = await repo.ask("cat-file", "tree", name)
        if done.code:
            raise failed(("cat-file",), repo.git_dir, done)
        data = done.out
    return parse_tree(data, len(repo.zero) // 2)


def _tree(repo: Repo, name: str) -> Tree | None:
    data = read_object(repo.git_dir, name)
    return None if data is None else parse_tree(data, len(repo.zero) // 2)
