"""Puts one path into a working copy: all or nothing, and never through a link that leads out of it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.git.files import is_behind_link
from ralph.process.spawn import ExitKind as Exit
from ralph.process.spawn import in_thread
from ralph.provision import commands, stamp
from ralph.provision.destination import Destination
from ralph.provision.discover import is_built
from ralph.provision.relocate import Relocation, redirect, relocate
from ralph.provision.stamp import Method

OFFLINE = (
    (".venv", "uv.lock", "uv sync --frozen --offline"),
    ("node_modules", "pnpm-lock.yaml", "pnpm install --frozen-lockfile --offline"),
    ("node_modules", "package-lock.json", "npm ci --offline --no-audit --no-fund"),
)
"""Folders that a package manager can create from a lock file and its own cache."""


class PutResult(Frozen):
    """How a path came into the copy, and a note for the person."""

    how: Method
    note: str = ""


async def put(copy: Destination, path: str, how: Method, *, explicit: bool, variables: Mapping[str, str]) -> PutResult:
    """Put one path into the copy; a folder that is too large and that no setting names is made or linked instead."""
    source = copy.source / path
    if how is Method.LINKED:
        return _linked(copy, path)
    if source.is_symlink():
        return _same_link(copy, path, explicit=explicit)
    size = await asyncio.to_thread(size_of, source)
    if not explicit and size > copy.largest:
        return await _too_large(copy, path, size, variables)
    await _copied(copy, path)
    return PutResult(how=Method.COPIED, note=f"copied {path} ({amount(size)})" if source.is_dir() else "")


def take_out(copy: Destination, path: str) -> None:
    """Remove what Ralph put there; it is moved away first, so that a kill leaves nothing that looks complete."""
    target = copy.top / path
    if is_behind_link(copy.top, path) or not os.path.lexists(target):
        return
    away = _fresh(copy, "old")
    safe_files.make_accessible(target)  # a folder without write permission cannot be moved
    target.rename(away)
    safe_files.remove_all(away)


def size_of(path: Path) -> int:
    """Return the bytes at and below a path."""
    return sum(size for _, size, *_ in stamp.manifest(path).values())


def amount(size: int) -> str:
    """Format a size for a person."""
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{max(size / 1e3, 1):.0f} kB"


async def _copied(copy: Destination, path: str) -> None:
    source, new = copy.source / path, _fresh(copy, "new")
    if source.is_dir():
        await commands.clone(copy, source, new)
        await in_thread(relocate, new, Relocation(copy.source, copy.top))
    else:
        shutil.copy2(source, new)
    _swap(copy, path, new)


def _linked(copy: Destination, path: str) -> PutResult:
    new = _fresh(copy, "new")
    new.symlink_to(copy.source / path)
    _swap(copy, path, new)
    return PutResult(how=Method.LINKED)


def _same_link(copy: Destination, path: str, *, explicit: bool) -> PutResult:
    """Recreate the person's link, with the same target; a target inside the checkout becomes the copy's own."""
    if copy.settings.setup and not explicit:
        take_out(copy, path)  # a set-up would write to its target
        return PutResult(how=Method.LEFT, note=f"{path} is a link in your checkout: worktrees.setup must create it")
    new, target = _fresh(copy, "new"), copy.source / path
    new.symlink_to(os.path.normpath(target.parent / target.readlink()))
    redirect(new, Relocation(copy.source, copy.top))
    _swap(copy, path, new)
    return PutResult(how=Method.LINKED, note=f"{path} is a link in your checkout: the working copy has the same link")


async def _too_large(copy: Destination, path: str, size: int, variables: Mapping[str, str]) -> PutResult:
    large = f"{path} ({amount(size)}) is too large to copy"
    take_out(copy, path)
    if is_built(path):
        return PutResult(how=Method.LEFT, note=f"{large}: the build creates its own")
    if copy.settings.setup:
        return PutResult(how=Method.LEFT, note=f"{large}: worktrees.setup must create it")
    command = _offline_command(copy, path)
    if command and await _made(copy, path, command, variables):
        return PutResult(how=Method.MADE, note=f"{large}: created with `{command}`")
    return PutResult(
        how=_linked(copy, path).how, note=f"{large}: linked to yours, so programs in the working copy can change it"
    )


def _offline_command(copy: Destination, path: str) -> str:
    folder, name = (copy.top / path).parent, path.rpartition("/")[2]
    usable = (
        command
        for made, lock, command in OFFLINE
        if made == name and (folder / lock).is_file() and shutil.which(command.split()[0], path=copy.env.get("PATH"))
    )
    return next(usable, "")


async def _made(copy: Destination, path: str, command: str, variables: Mapping[str, str]) -> bool:
    target = copy.top / path
    ended, _ = await commands.run(copy, command.split(), target.parent, variables, title=command, within=copy.within)
    if ended.how is Exit.EXITED and ended.code == 0 and target.is_dir():
        return True
    take_out(copy, path)
    return False


def _fresh(copy: Destination, name: str) -> Path:
    """Return an unused path beside the copy; remove what a killed run left there."""
    path = copy.records / name
    path.parent.mkdir(parents=True, exist_ok=True)
    safe_files.remove_all(path)
    return path


def _swap(copy: Destination, path: str, new: Path) -> None:
    take_out(copy, path)
    target = copy.top / path
    target.parent.mkdir(parents=True, exist_ok=True)
    new.rename(target)
