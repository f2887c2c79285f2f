"""Finds and removes what runs leave behind: working copies, logs, screenshots and attempts."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import field, replace
from fnmatch import fnmatch
from pathlib import Path

from ralph import safe_files
from ralph.checkout.kept_work import PEOPLES, KeptWork
from ralph.checkout.own_files import OwnFiles
from ralph.checkout.worktrees import Judge, Worktree, remove, size_of
from ralph.config import NAME
from ralph.frozen import Frozen
from ralph.git.read import ATTEMPTS
from ralph.git.repo import Repo
from ralph.journal import reader
from ralph.stores import last_run, records
from ralph.workspace import IGNORED, Workspace

OWN_REFS = "refs/ralph"
NOWHERE_ELSE = "its work is kept nowhere else"
REMADE = (*IGNORED, NAME, ".gitignore", "*.schema.json")
"""Files that runs write for themselves and that `ralph init` recreates."""


class Leftover(Frozen):
    """Something that can be removed, or the reason why it stays."""

    kind: str  # working copy, log, screenshot, attempt, ref, file
    name: str
    bytes: int = 0
    stays: str = ""
    path: Path | None = None
    ref: str = ""
    repo: Repo | None = None  # the repository with the ref, or with the working copy's work
    worktree: Worktree | None = None


class PruneRequest(Frozen):
    """What the person wants to remove."""

    unfinished: frozenset[str]  # targets of which everything stays
    only: str = ""  # only this target
    older: float = 0.0  # the minimum age in seconds
    now: float = field(default_factory=time.time)

    def has(self, target: str, when: float) -> bool:
        return (not self.only or target == self.only) and when <= self.now - self.older

    def stays(self, target: str) -> str:
        return f"{target} is not finished" if target in self.unfinished else ""


async def leftovers(workspace: Workspace, repos: list[Repo], wanted: PruneRequest) -> list[Leftover]:
    """Return the leftovers of finished targets; of others, only the working copies, which the next run recreates."""
    copies = await _copies(workspace, repos, lambda one: wanted.has(one.target, one.used))
    found = [*copies, *_logs(workspace, wanted), *_screenshots(workspace, wanted)]
    for repo in repos:
        found += await _attempts(workspace, repo, wanted)
    return found


async def _copies(workspace: Workspace, repos: list[Repo], wanted: Callable[[Worktree], bool]) -> list[Leftover]:
    judge = Judge(workspace, repos)
    return [
        Leftover(
            kind="working copy",
            name=one.name,
            bytes=one.size,
            stays=one.stays,
            worktree=one,
            repo=judge.repo_of(one),
        )
        for one in await judge.all()
        if wanted(one)
    ]


def _logs(workspace: Workspace, wanted: PruneRequest) -> Iterator[Leftover]:
    for run in reader.runs(workspace.logs):
        target = next((entry.target for entry in reader.events(run, "run_started")), "")
        if wanted.has(target, run.stat().st_mtime):
            name = f"{run.name} {target}".strip()
            yield Leftover(kind="log", name=name, bytes=size_of(run), stays=wanted.stays(target), path=run)


def _screenshots(workspace: Workspace, wanted: PruneRequest) -> Iterator[Leftover]:
    """Return screenshots; each belongs to the target whose journal names it, or to none if that journal is gone."""
    folder = workspace.ralph / "screenshots"
    if not folder.is_dir() or folder.is_symlink():
        return
    shown = {name: target for target in _targets(workspace) for name in _shown(workspace, target)}
    for path in sorted(folder.iterdir()):
        target = shown.get(path.name, "")
        if path.name != ".gitignore" and wanted.has(target, path.lstat().st_mtime):
            stays = wanted.stays(target)
            yield Leftover(kind="screenshot", name=path.name, bytes=size_of(path), stays=stays, path=path)


def _targets(workspace: Workspace) -> set[str]:
    runs = reader.runs(workspace.logs)
    return {entry.target for run in runs for entry in reader.events(run, "run_started")}


def _shown(workspace: Workspace, target: str) -> set[str]:
    pages = reader.seen_pages(workspace.logs, target)
    return {Path(page.screenshot).name for seen in pages.values() for page in seen if page.screenshot}


async def _attempts(workspace: Workspace, repo: Repo, wanted: PruneRequest) -> list[Leftover]:
    form = "--format=%(refname) %(committerdate:unix)"
    lines = (await repo.git("for-each-ref", form, ATTEMPTS)).splitlines()
    made = {ref.removeprefix(f"{ATTEMPTS}/"): float(when) for ref, when in (line.split(" ") for line in lines)}
    chosen = [name for name, when in made.items() if wanted.has(name.split("/", 1)[0], when)]
    elsewhere = await (await _kept(workspace, repo)).superseded() if chosen else frozenset[str]()
    return [
        Leftover(
            kind="attempt",
            name=name,
            ref=f"{ATTEMPTS}/{name}",
            repo=repo,
            stays=wanted.stays(name.split("/", 1)[0]) or ("" if name in elsewhere else NOWHERE_ELSE),
        )
        for name in chosen
    ]


async def _kept(workspace: Workspace, repo: Repo) -> KeptWork:
    return await KeptWork.read(repo, OwnFiles(prefix=repo.prefix, names=workspace.own_files))


async def everything(workspace: Workspace, repos: list[Repo], *, force: bool = False) -> list[Leftover]:
    """Return everything that Ralph made here, except commits on branches and tracked files.

    `force`: include the only copy of any work.
    """
    found = await _copies(workspace, repos, lambda _: True)
    used = any(one.stays for one in found) and not force
    skipped = (workspace.lock, *((workspace.worktrees,) if used else ()))
    for repo in repos:
        found += await _refs(workspace, repo)
    found += [one async for one in _files(workspace, repos) if one.path not in skipped]
    found += _notes(workspace)
    if force:
        return [replace(one, stays="") for one in found]
    return found


async def _refs(workspace: Workspace, repo: Repo) -> list[Leftover]:
    """Return Ralph's refs; those can go whose files are in people's own commits."""
    refs = await repo.refs(OWN_REFS)
    kept = await _kept(workspace, repo)
    elsewhere = await kept.superseded()
    found = []
    for ref, commit in refs.items():
        tree = await repo.tree_of(commit)
        safe = ref.removeprefix(f"{ATTEMPTS}/") in elsewhere or not await kept.missing(tree, *PEOPLES)
        found.append(Leftover(kind="ref", name=ref, ref=ref, repo=repo, stays="" if safe else NOWHERE_ELSE))
    return found


async def _files(workspace: Workspace, repos: list[Repo]) -> AsyncIterator[Leftover]:
    """Return Ralph's files that git does not track; a plan can go only if some commit has any version of it."""
    own = (workspace.root / name.rstrip("/") for name in workspace.own_files)
    here = sorted(workspace.ralph.iterdir()) if workspace.ralph.is_dir() and not workspace.ralph.is_symlink() else []
    paths = [path for path in (*here, *own, workspace.root / NAME) if os.path.lexists(path)]
    repo = repos[0] if repos and workspace.root.resolve().is_relative_to(repos[0].top.resolve()) else None
    in_head = await _known(repo, ("ls-tree", "-r", "-z", "--name-only", "HEAD"), paths)
    in_any = await _known(repo, ("log", "-z", "-m", "--format=", "--name-only", *PEOPLES), paths)
    for path in paths:
        name = str(path.relative_to(workspace.root))
        if path in in_head:
            continue
        size = size_of(path) if path != workspace.worktrees else 0  # its contents are listed separately
        stays = ""
        if path == workspace.records and records.load(workspace.records):
            stays = "an attempt was interrupted; the next run resumes it"
        elif not _is_remade(path.name) and path not in in_any:
            stays = "no commit contains it"
        yield Leftover(kind="file", name=name, bytes=size, path=path, stays=stays)


def _notes(workspace: Workspace) -> Iterator[Leftover]:
    """Return what Ralph noted of each plan's last run; without it, the gates prove again what the plan says."""
    folder = last_run.folder(workspace)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        yield Leftover(kind="file", name=f"{folder.name}/{path.name}", bytes=size_of(path), path=path)


def _is_remade(name: str) -> bool:
    return any(fnmatch(name, pattern.rstrip("/")) for pattern in REMADE)


async def _known(repo: Repo | None, args: tuple[str, ...], paths: Iterable[Path]) -> set[Path]:
    """Return which of these paths are, or contain, files that git lists."""
    if repo is None or not await repo.head():
        return set()
    top = repo.top.resolve()
    names = {str((path.parent.resolve() / path.name).relative_to(top)): path for path in paths}
    if not names:
        return set()
    listed = (await repo.ask(*args, "--", *names)).out.decode(errors="surrogateescape").split("\0")
    found = {line.strip("\n") for line in listed}
    return {path for name, path in names.items() if any(one == name or one.startswith(f"{name}/") for one in found)}


async def clear_away(found: Iterable[Leftover]) -> None:
    """Remove everything that need not stay."""
    refs: dict[Path, tuple[Repo, list[tuple[str, str, str | None]]]] = {}
    for one in found:
        if one.stays:
            continue
        if one.worktree:
            await remove(one.worktree, one.repo)
        elif one.ref and one.repo:
            refs.setdefault(one.repo.git_dir, (one.repo, []))[1].append((one.ref, "", None))
        elif one.path:
            _remove(one.path)
    for repo, moves in refs.values():
        await repo.move(*moves)
        await repo.ask("worktree", "prune")


def remove_empty(workspace: Workspace, repos: Iterable[Repo]) -> None:
    """Remove folders that are now empty. The caller must have released the lock, which is a file in one of them."""
    in_git = (repo.git_dir / name for repo in repos for name in ("ralph/locks", "ralph"))
    for folder in (workspace.ralph, *in_git):
        with suppress(OSError):  # the folder is not empty
            folder.rmdir()


def _remove(path: Path) -> None:
    safe_files.remove_all(path)
    with suppress(OSError):  # the folder is not empty
        path.parent.rmdir()
