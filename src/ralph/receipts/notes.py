"""Writes `refs/notes/ralph`: git's own format for notes, without starting a process for each."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.git.objects import TreeEntry, write_object
from ralph.git.repo import Repo
from ralph.git.trees import changes_between, entries_at, with_entries

REF = "refs/notes/ralph"
Move = tuple[str, str, str | None]


def note_path(name: str) -> str:
    """Return the path of an object's note in the tree of notes, as Ralph writes it; git reads any depth."""
    return f"{name[:2]}/{name[2:]}"


async def tip(repo: Repo) -> str:
    """Return the newest commit of the notes; "" if there are none."""
    return await repo.tip(REF)


async def has_note(repo: Repo, name: str) -> bool:
    found = await tip(repo)
    path = note_path(name)
    return bool(found) and (await entries_at(repo, await repo.tree_of(found), [path]))[path] is not None


async def added(repo: Repo, names: Iterable[str], text: bytes, message: str) -> Move:
    """Write notes with the same text for these objects; return the move of the ref that makes them known.

    Nothing refers to the new objects before that move. It fails if another process has moved the ref meanwhile.
    """
    old = await tip(repo)
    entry = TreeEntry("100644", write_object(repo.git_dir, "blob", text, repo.algorithm))
    base = await repo.tree_of(old) if old else write_object(repo.git_dir, "tree", b"", repo.algorithm)
    tree = await with_entries(repo, base, {note_path(name): entry for name in names})
    return REF, repo.write_commit(tree, (old,) if old else (), message), old


async def again(repo: Repo, move: Move) -> Move | None:
    """Return the same move on top of what another process has written meanwhile; None if nobody has."""
    ref, new, old = move
    there = await tip(repo)
    if there == (old or ""):
        return None
    before = await repo.tree_of(old) if old else write_object(repo.git_dir, "tree", b"", repo.algorithm)
    mine = await repo.tree_of(new)
    entries = await entries_at(repo, mine, [one.path for one in await changes_between(repo, before, mine)])
    base = await repo.tree_of(there) if there else write_object(repo.git_dir, "tree", b"", repo.algorithm)
    tree = await with_entries(repo, base, entries)
    return ref, repo.write_commit(tree, (there,) if there else (), "Ralph's receipt"), there
