"""What finished work leaves behind: working copies, logs, screenshots, and attempts that are kept elsewhere too."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ralph.git.look import ATTEMPTS
from ralph.git.repo import Repo
from ralph.journal import reader
from ralph.loop.message import TRAILER
from ralph.loop.worktrees import Worktree, remove, size_of, worktrees
from ralph.workspace import RALPH, Workspace

OWN_REFS = "refs/ralph"


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """One thing that can go, or the reason why it stays."""

    kind: str  # working copy, log, screenshots, attempt, file
    name: str
    bytes: int = 0
    stays: str = ""
    path: Path | None = None
    ref: str = ""
    worktree: Worktree | None = None


async def leftovers(
    workspace: Workspace, repo: Repo | None, finished: frozenset[str], *, older: float = 0.0, only: str = ""
) -> list[Leftover]:
    """What runs of finished targets left; `only`: of this one; `older`: logs and screenshots of so many seconds."""
    border = time.time() - older
    found = [*_copies(workspace)] if not only and not older else []
    found += _logs(workspace, finished, only, border)
    if repo and not older:
        found += await _attempts(repo, finished, only)
    return found


def _copies(workspace: Workspace) -> Iterator[Leftover]:
    for one in worktrees(workspace):
        yield Leftover(kind="working copy", name=one.name, bytes=one.size, stays=one.stays, worktree=one)


def _logs(workspace: Workspace, finished: frozenset[str], only: str, border: float) -> Iterator[Leftover]:
    for run in reader.runs(workspace.logs):
        target = next((str(event.get("target", "")) for event in reader.events(run, "run_started")), "")
        if run.stat().st_mtime > border or (only and target != only):
            continue
        stays = "" if not target or target in finished else f"{target} is not finished"
        yield Leftover(kind="log", name=f"{run.name} {target}".strip(), bytes=size_of(run), stays=stays, path=run)
    shots = workspace.ralph / "screenshots"
    if shots.is_dir() and not shots.is_symlink() and not only:
        for path in sorted(shots.iterdir()):
            if path.stat().st_mtime <= border:
                size = size_of(path) if path.is_dir() else path.stat().st_size
                yield Leftover(kind="screenshots", name=path.name, bytes=size, path=path)


async def _attempts(repo: Repo, finished: frozenset[str], only: str) -> list[Leftover]:
    refs = await repo.refs(ATTEMPTS)
    if not refs:
        return []
    landed, trees = await _kept(repo)
    found = []
    for ref, commit in refs.items():
        name = ref.removeprefix(f"{ATTEMPTS}/")
        target = name.split("/", 1)[0]
        if only and target != only:
            continue
        elsewhere = name in landed or await repo.tree_of(commit) in trees
        stays = "" if elsewhere else "its work is kept nowhere else"
        if target not in finished:
            stays = f"{target} is not finished"
        found.append(Leftover(kind="attempt", name=name, ref=ref, stays=stays))
    return found


async def _kept(repo: Repo) -> tuple[set[str], set[str]]:
    """The attempts and trees that branches, tags and remotes have, also after a squash merge."""
    form = f"--format=%T%x00%(trailers:key={TRAILER},valueonly,separator=%x00)"
    out = await repo.git("log", form, "--branches", "--tags", "--remotes")
    landed: set[str] = set()
    trees: set[str] = set()
    for line in out.split("\n"):
        tree, *attempts = line.split("\0")
        trees.add(tree)
        landed.update(filter(None, attempts))
    return landed, trees


async def clear_away(repo: Repo | None, found: Iterable[Leftover]) -> None:
    """Remove what does not stay."""
    refs: list[tuple[str, str, str | None]] = []
    for one in found:
        if one.stays:
            continue
        if one.worktree:
            await remove(one.worktree, repo)
        elif one.ref:
            refs.append((one.ref, "", None))
        elif one.path:
            _remove(one.path)
    if repo and refs:
        await repo.move(*refs)
    if repo:
        await repo.ask("worktree", "prune")


async def everything(workspace: Workspace, repo: Repo | None) -> list[Leftover]:
    """All that Ralph ever made here but commits on branches, and files that are under version control."""
    found = [
        Leftover(kind="file", name=name, bytes=size_of(path) if path.is_dir() else 0, path=path)
        for name in (*_names(workspace), "ralph.config.json")
        if (path := workspace.root / name).exists() and not await _is_tracked(repo, path)
    ]
    if repo:
        found += [Leftover(kind="ref", name=ref, ref=ref) for ref in await repo.refs(OWN_REFS)]
        own = repo.git_dir / "ralph"
        found += [Leftover(kind="file", name=".git/ralph", path=own)] if own.exists() else []
    return found


def _names(workspace: Workspace) -> list[str]:
    if not workspace.ralph.is_dir() or workspace.ralph.is_symlink():
        return []
    return [f"{RALPH}/{path.name}" for path in sorted(workspace.ralph.iterdir())]


async def _is_tracked(repo: Repo | None, path: Path) -> bool:
    if repo is None:
        return False
    top = repo.top.resolve()
    name = str(path.resolve().relative_to(top))
    return (
        bool((await repo.ask("ls-tree", "-r", "--name-only", "HEAD", "--", name)).out) if await repo.head() else False
    )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
