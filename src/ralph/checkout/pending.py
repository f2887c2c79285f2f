"""Rebuilds pending commits when the branch has moved below them, or when one of their tasks is open again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from ralph.checkout.branch import TargetBranch
from ralph.checkout.own_files import OwnFiles
from ralph.frozen import Frozen
from ralph.git.repo import Repo


class RebuiltCommits(Frozen):
    """Pending commits, rebuilt on top of another commit."""

    tip: str
    left_out: tuple[str, ...] = ()  # the ids of dropped commits
    conflicts: tuple[str, ...] = ()  # files that keep the other commit's version


async def follow(branch: TargetBranch, own: OwnFiles) -> None:
    """Rebase pending lines onto newer commits of the branch, except where both changed the same lines of a file.

    Such a line is merged when it ends, and an agent resolves the conflicts.
    """
    lines = await branch.lines()
    base = await branch.tip() if lines else ""
    for ref, tip in lines.items():
        if not await branch.repo.is_ancestor(base, tip):
            fork = await branch.repo.merge_base(base, tip)
            made = await _remade(branch.repo, own, (fork, tip), base, lambda _: False)
            if not made.conflicts:
                await branch.repo.move((ref, made.tip, tip))


async def leave_out(branch: TargetBranch, own: OwnFiles, is_open: Callable[[str], bool]) -> tuple[str, ...]:
    """Drop pending commits by their messages, unless later work conflicts with that; return the dropped ids."""
    left_out: tuple[str, ...] = ()
    for ref, tip in (await branch.lines()).items():
        fork = await branch.repo.merge_base(await branch.tip(), tip)
        made = await _remade(branch.repo, own, (fork, tip), fork, is_open)
        if made.left_out and not made.conflicts:
            await branch.repo.move((ref, made.tip if made.tip != fork else "", tip))
            left_out += made.left_out
    return left_out


async def _remade(
    repo: Repo, own: OwnFiles, line: tuple[str, str], base: str, is_open: Callable[[str], bool]
) -> RebuiltCommits:
    """Write the commits between the two ends of a line again, on top of `base`."""
    new, left_out, conflicts = base, list[str](), list[str]()
    for commit, parent, message in await _chain(repo, *line):
        if is_open(message):
            left_out.append(commit)
            continue
        tree, found = await _onto(repo, new, commit, parent)
        code = [path for path in found if path not in own]
        tree = await _with(repo, tree, new, code) if code else tree
        state = [path for path in await repo.between(tree, commit) if path in own]
        tree = await _with(repo, tree, commit, state) if state else tree
        conflicts += code
        new = repo.write_commit(tree, (new,), message)
    return RebuiltCommits(tip=new, left_out=tuple(left_out), conflicts=tuple(dict.fromkeys(conflicts)))


async def _chain(repo: Repo, base: str, pending: str) -> list[tuple[str, str, str]]:
    """Return the pending commits, oldest first, each with its parent and message."""
    out = await repo.git("log", "-z", "--reverse", "--format=%H%n%P%n%B", f"{base}..{pending}")
    entries = [entry.split("\n", 2) for entry in out.split("\0") if entry]
    return [(commit, parents.split(" ", 1)[0], message) for commit, parents, message in entries]


async def _onto(repo: Repo, new: str, commit: str, parent: str) -> tuple[str, tuple[str, ...]]:
    """Apply the changes of `commit` on top of `new`; the merge uses the commit's parent as its base."""
    ours = repo.write_commit(await repo.tree_of(new), (parent,), "Ours")
    theirs = repo.write_commit(await repo.tree_of(commit), (parent,), "Theirs")
    return await repo.merged(ours, theirs)


async def _with(repo: Repo, tree: str, source: str, paths: Iterable[str]) -> str:
    """Return a tree with these paths as in `source`; paths that are missing there are removed."""
    listed = await repo.git("ls-tree", "-r", "-z", "--full-tree", source)
    entries = {line.partition("\t")[2]: line for line in listed.split("\0") if line}
    info = "".join(f"{entries.get(path) or f'0 {repo.zero}{chr(9)}{path}'}\0" for path in paths)
    index = repo.git_dir / f"ralph-pending-{os.getpid()}"
    try:
        await repo.git("read-tree", tree, index=index)
        await repo.git("update-index", "-z", "--index-info", stdin=os.fsencode(info), index=index)
        return (await repo.git("write-tree", index=index)).strip()
    finally:
        index.unlink(missing_ok=True)
