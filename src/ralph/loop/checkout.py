"""Getting a place to work in: this checkout on its branch, or a worktree beside it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from ralph.errors import RalphError
from ralph.git.repo import FAST, OWN, Repo, open_repo
from ralph.git.shield import lower
from ralph.loop import home
from ralph.loop import record as records
from ralph.loop.ownership import bring_back, claim
from ralph.loop.place import Place
from ralph.loop.recover import rescue
from ralph.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which branch a target's work belongs on, and where it is to be done."""

    target: str
    branch: str = ""  # empty: the one that is checked out
    worktree: bool = False
    carry: tuple[str, ...] = ()  # files that come along into a new worktree, relative to the project's root
    lands: bool = False  # tasks are done side by side, and land here one by one
    holds: bool = False  # what passes stays uncommitted until its spec is complete
    passed: frozenset[str] = frozenset()  # the tasks that have passed, where work is held
    home: str = ""  # the worktree's name; empty: the target's
    folder: str = ""  # where the work is done, relative to the project's root; it may be a repository of its own


async def open_place(workspace: Workspace, wanted: Wanted) -> Place:
    """A checkout on the wanted branch with nobody else's uncommitted work in the way."""
    repo = await open_repo(workspace.root / wanted.folder)
    if not (await repo.status()).head:
        raise RalphError("This repository has no commits yet.", remedy="Make the first one: git add . && git commit")
    lower(repo.common_dir)
    repo.sweep()
    await repo.release_lock()
    if wanted.worktree:
        return await _in_worktree(workspace, repo, wanted)
    return await _in_checkout(workspace, repo, wanted)


async def _in_checkout(workspace: Workspace, repo: Repo, wanted: Wanted) -> Place:
    status = await repo.status()
    if not wanted.branch and not status.branch:
        raise RalphError("No branch is checked out.", remedy="Check one out: git switch BRANCH")
    place = Place(
        repo=repo,
        branch=status.branch,
        root=workspace.root / wanted.folder,
        records=workspace.records,
        project=workspace.root,
        own_files=workspace.own_files,
        holds=wanted.holds,
    )
    await _claim(place, workspace, wanted.target)
    if wanted.branch and status.branch != wanted.branch:
        await _let_go(workspace, wanted)
        await _switch(repo, wanted.branch)
        place.branch = wanted.branch
    await bring_back(place, wanted.target, wanted.passed)
    return place


async def _let_go(workspace: Workspace, wanted: Wanted) -> None:
    """A killed run's worktree may still have the branch."""
    folder = workspace.worktrees / wanted.target
    if (folder / ".git").exists():
        await home.let_go_if_clean(await open_repo(folder), wanted.branch)


async def _claim(place: Place, workspace: Workspace, target: str) -> None:
    """First rescue what killed attempts left on this branch, then see whose the rest is."""
    for record in records.load(workspace.records):
        if record.is_of(place.branch, place.root) and record.agent_at_work:
            await rescue(place, record)
    await claim(place, target)


async def _switch(repo: Repo, branch: str) -> None:
    exists = await repo.has_branch(branch)
    try:
        await repo.switch(branch, create=not exists)
    except RalphError as error:
        if "already checked out" in error.what or "already used by worktree" in error.what:
            raise RalphError(
                f"The branch {branch} is checked out in another worktree.",
                remedy="Go on there with --worktree, or with --jobs if that is how it began.",
            ) from None
        raise RalphError(
            f"The branch {branch} could not be checked out.",
            details=(error.what, *error.details),
            remedy="Move the files that are in the way, or run with --worktree.",
        ) from None


async def _in_worktree(workspace: Workspace, repo: Repo, wanted: Wanted) -> Place:
    folder = workspace.worktrees / (wanted.home or wanted.target)
    option = "--jobs" if wanted.lands else "--worktree"
    was_there, is_new = (folder / ".git").exists(), False
    if not was_there:
        is_new = await _add_worktree(repo, folder, wanted.branch, option)
    inside = await open_repo(folder)
    inside.identity = repo.identity
    inside.prefix = repo.prefix
    root = folder / repo.prefix
    place = Place(
        repo=inside,
        branch=wanted.branch,
        root=root,
        records=workspace.records / "in-worktree",
        own_files=workspace.own_files,
    )
    if was_there and wanted.lands:  # what is here was on its way to the branch, or is nobody's
        await home.tidy(place)
    if was_there:
        await home.take(inside, repo, wanted.branch, option)
    if not inside.is_on(wanted.branch):
        raise RalphError(
            f"The worktree {folder} is not on {wanted.branch} but on {(await inside.status()).branch}.",
            remedy=f"Put it back: git -C {folder} switch {wanted.branch}",
        )
    await inside.fill_submodules()
    await _claim(place, workspace, wanted.target)
    await bring_back(place, wanted.target)
    _carry(workspace.root, root, wanted.carry, anew=is_new)
    return place


async def _add_worktree(repo: Repo, folder: Path, branch: str, option: str) -> bool:
    """Make it; says whether the branch is new as well."""
    if folder.exists():
        shutil.rmtree(folder)  # the rest of one that could not be made
    folder.parent.mkdir(parents=True, exist_ok=True)
    await repo.git("worktree", "prune")
    exists = await repo.has_branch(branch)
    name = (branch,) if exists else ("-b", branch)
    tail = () if not exists else name
    head = name if not exists else ()
    try:
        await repo.git(*OWN, *FAST, "worktree", "add", "--quiet", *head, str(folder), *tail)
    except RalphError as error:
        raise home.elsewhere(error, branch, option) or await home.not_made(repo, folder, error) from None
    return not exists


def _carry(source: Path, target: Path, paths: tuple[str, ...], *, anew: bool) -> None:
    """Files of a plan that is to live there; onto a new branch as they are here, also if that has older ones."""
    for path in paths:
        if (source / path).is_file() and (anew or not (target / path).exists()):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / path, target / path)
