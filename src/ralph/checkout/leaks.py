"""Keeps secrets out of the commits that Ralph makes: known values in the files that an agent or a hook changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator

from ralph.frozen import Frozen
from ralph.git.objects import GITLINK, TreeEntry, write_object
from ralph.git.parse import TreeChange
from ralph.git.repo import Repo
from ralph.git.trees import NOTHING, blobs, with_entries
from ralph.process.secret_values import is_ordinary

MAX_NAMED = 10
BATCH = 64
"""How many files are read at once."""

Places = list[tuple[int, int]]


class Leak(Frozen):
    """A changed file with known values in it or in its name."""

    change: TreeChange
    data: bytes
    values: dict[str, Places]  # where each value is
    in_name: frozenset[str] = frozenset()

    def without(self, allowed: frozenset[str]) -> Leak | None:
        """Return the leak without these values; None if nothing is left."""
        values = {value: places for value, places in self.values.items() if value not in allowed}
        in_name = self.in_name - allowed
        if not values and not in_name:
            return None
        return Leak(change=self.change, data=self.data, values=values, in_name=in_name)

    def told(self, repo: Repo) -> str:
        """Say which file it is, and which variables' values are where; never a value."""
        lines = ((self.data.count(b"\n", 0, places[0][0]) + 1, value) for value, places in self.values.items())
        texts = [f"line {number} has the value of {repo.secrets.name_of(value)}" for number, value in sorted(lines)]
        texts += [f"its name has the value of {repo.secrets.name_of(value)}" for value in sorted(self.in_name)]
        return f"{repo.secrets.text(self.change.path)}: {', '.join(texts)}"


async def without_secrets(
    repo: Repo, base: str, tree: str, changes: Iterable[TreeChange]
) -> tuple[str, tuple[str, ...]]:
    """Return the tree with `[secret]` in place of known values, and where they were.

    Values that the base contains, and values made of a few plain words, are no news to anyone who reads the project.
    """
    wanted = [one for one in changes if one.new_mode not in (NOTHING, GITLINK)] if repo.secrets.names else []
    found: list[Leak] = []
    for at in range(0, len(wanted), BATCH):
        some = wanted[at : at + BATCH]
        contents = await blobs(repo, [one.new for one in some])
        found += await asyncio.to_thread(lambda s=some, c=contents: list(_search(repo, s, c)))  # type: ignore[misc]
    if not found:
        return tree, ()
    values = {value for leak in found for value in (*leak.values, *leak.in_name)}
    allowed = frozenset([value for value in values if await _has(repo, base, value)])
    leaks = [left for leak in found if (left := leak.without(allowed))]
    if not leaks:
        return tree, ()
    tree = await with_entries(repo, tree, {leak.change.path: _clean_entry(repo, leak) for leak in leaks})
    texts = sorted(leak.told(repo) for leak in leaks)
    more = len(texts) - MAX_NAMED
    return tree, tuple(texts if more <= 0 else [*texts[:MAX_NAMED], f"and {more} more files"])


def told(leaks: tuple[str, ...]) -> str:
    """Say what was wrong about files with secrets, and what to do instead."""
    where = "; ".join(leaks)
    return f"secrets into files ({where}). Each is now `[secret]`: the program must read it from its variable instead"


def _search(repo: Repo, changes: list[TreeChange], contents: dict[str, bytes]) -> Iterator[Leak]:
    for change in changes:
        data = contents.get(change.new, b"")
        values = {value: at for value, at in repo.secrets.values_in(data).items() if not is_ordinary(value)}
        in_name = repo.secrets.values_in(os.fsencode(change.path))
        if values or in_name:
            yield Leak(
                change=change,
                data=data,
                values=values,
                in_name=frozenset(value for value in in_name if not is_ordinary(value)),
            )


def _clean_entry(repo: Repo, leak: Leak) -> TreeEntry | None:
    """Return the file without the values; None for a file that a name or a link's target gives away."""
    mode = leak.change.new_mode
    if leak.in_name or not mode.startswith("100"):
        return None
    data = repo.secrets.without(leak.data, [place for places in leak.values.values() for place in places])
    return TreeEntry(mode, write_object(repo.git_dir, "blob", data, repo.algorithm))


async def _has(repo: Repo, base: str, value: str) -> bool:
    """Return whether a file of the base contains a value; git reads it from its input, where no one else sees it."""
    lines = [line for line in value.splitlines() if line.strip()]
    args = ("grep", "-q", "-F", "-f", "-", await repo.tree_of(base))
    return all([(await repo.ask(*args, stdin=os.fsencode(line) + b"\n")).code == 0 for line in lines])
