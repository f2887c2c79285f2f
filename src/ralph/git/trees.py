"""Trees, compared and changed without a process for each: what Ralph wrote lately has files of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ralph.git.objects import Entry, Tree, parse_tree, read_object, tree_object, write_object
from ralph.git.parse import Change, parse_raw

if TYPE_CHECKING:
    from ralph.git.repo import Repo

NOTHING = "000000"


async def changes_between(repo: Repo, old: str, new: str) -> tuple[Change, ...]:
    """Every file that differs between two trees."""
    found: list[Change] = []
    if old != new and not _compare(repo, old, new, "", found):
        args = ("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", old, new)
        return parse_raw(await repo.git(*args))
    return tuple(found)


def _compare(repo: Repo, old: str, new: str, below: str, found: list[Change]) -> bool:
    """Add what differs to `found`; False if git has to be asked."""
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


def _change(repo: Repo, path: str, before: Entry | None, after: Entry | None) -> Change:
    return Change(
        path=path,
        old_mode=before.mode if before else NOTHING,
        new_mode=after.mode if after else NOTHING,
        old=before.name if before else repo.zero,
    )


async def files_below(repo: Repo, commit: str, *paths: str) -> list[str]:
    """The files of a commit at or below some paths."""
    tree, found = await repo.tree_of(commit), list[str]()
    if all(_collect(repo, tree, path.split("/"), "", found) for path in paths):
        return found
    return await repo.paths_in(commit, *paths)


def _collect(repo: Repo, tree: str, path: list[str], below: str, found: list[str]) -> bool:
    """Add what lies at a path of a tree to `found`; False if git has to be asked."""
    entries = _tree(repo, tree)
    if entries is None:
        return False
    for name in path[:1] or sorted(entries):
        entry = entries.get(name)
        if entry and entry.is_tree:
            if not _collect(repo, entry.name, path[1:], f"{below}{name}/", found):
                return False
        elif entry and len(path) < 2:
            found.append(f"{below}{name}")
    return True


def with_files(repo: Repo, tree: str, files: Mapping[str, bytes | None]) -> str | None:
    """A tree with these files, None for those that go; no tree at all if git has to be asked."""
    return _with(repo, tree, {tuple(path.split("/")): data for path, data in files.items()})


def _with(repo: Repo, tree: str, files: Mapping[tuple[str, ...], bytes | None]) -> str | None:
    entries = _tree(repo, tree) if tree else {}
    if entries is None:
        return None
    folders: dict[str, dict[tuple[str, ...], bytes | None]] = {}
    for (first, *rest), data in files.items():
        if rest:
            folders.setdefault(first, {})[tuple(rest)] = data
        elif data is None:
            entries.pop(first, None)
        else:
            known = entries.get(first)
            mode = known.mode if known and known.mode.startswith("100") else "100644"
            entries[first] = Entry(mode, write_object(repo.git_dir, "blob", data, repo.algorithm))
    for name, inside in folders.items():
        known = entries.get(name)
        made = _with(repo, known.name if known and known.is_tree else "", inside)
        if made is None:
            return None
        if made:
            entries[name] = Entry("040000", made)
        elif known and known.is_tree:
            del entries[name]
    return write_object(repo.git_dir, "tree", tree_object(entries), repo.algorithm) if entries else ""


def _tree(repo: Repo, name: str) -> Tree | None:
    data = read_object(repo.git_dir, name)
    return None if data is None else parse_tree(data, len(repo.zero) // 2)
