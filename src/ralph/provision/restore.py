"""Restores the dependency folders of a working copy to what Ralph provided."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from dataclasses import field
from pathlib import Path

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.git.files import is_behind_link
from ralph.process.spawn import in_thread
from ralph.provision import stamp
from ralph.provision.destination import Destination
from ralph.provision.discover import SCRATCH
from ralph.provision.provide import kept, provide, read_stamp
from ralph.provision.put import take_out
from ralph.provision.relocate import Relocation, embeds_path, redirect, rewrite
from ralph.provision.stamp import Manifest, ManifestEntry, Method, Stamp


class Changes(Frozen):
    """The differences from what was provided; names are relative to the provided path."""

    added: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()  # changed or removed; a folder comes before its contents
    seen: Manifest = field(default_factory=dict)  # unchanged files whose times have changed

    def __bool__(self) -> bool:
        return bool(self.added or self.lost)


async def restore(copy: Destination) -> tuple[str, ...]:
    """Undo every change to what was copied or made; return the changed paths, without caches."""
    noted = read_stamp(copy)
    return await _restore(copy, noted, await asyncio.to_thread(stamp.read_manifests, copy.records))


async def _restore(copy: Destination, noted: Stamp, manifests: dict[str, Manifest]) -> tuple[str, ...]:
    changed: list[str] = []
    noted_anew, again = False, []
    for path in kept(noted):
        known = manifests.setdefault(path, {})
        changes = await asyncio.to_thread(_compare, copy, path, known)
        changed += [f"{path}/{name}".rstrip("/") for name in {*changes.added, *changes.lost} if not _is_cache(name)]
        if changes and not await in_thread(_repaired, copy, noted, path, known, changes):
            again.append(path)
        known.update(changes.seen)
        noted_anew = noted_anew or bool(changes.lost or changes.seen)
    if noted_anew:
        await in_thread(_note, copy, noted, manifests)
    if again:
        await _provide_again(copy, again)
    return tuple(sorted(changed))


def _compare(copy: Destination, path: str, known: Manifest) -> Changes:
    now = {} if is_behind_link(copy.top, path) else stamp.sealed(copy.top / path, known)
    if now == known:
        return Changes()
    added = sorted(name for name, entry in now.items() if name not in known or _kind(entry) != _kind(known[name]))
    lost = sorted(name for name, entry in known.items() if name not in now or not stamp.is_same(entry, now[name]))
    seen = {name: now[name] for name, entry in known.items() if name in now and entry != now[name] and name not in lost}
    return Changes(added=tuple(added), lost=tuple(lost) if known else ("",), seen=seen)


def _kind(entry: ManifestEntry) -> int:
    return stat.S_IFMT(entry[0])


def _is_cache(name: str) -> bool:
    return name.endswith(".pyc") or not SCRATCH.isdisjoint(name.split("/"))


def _repaired(copy: Destination, noted: Stamp, path: str, known: Manifest, changes: Changes) -> bool:
    """Repair the differences file by file; return False if the person's checkout cannot provide the files."""
    item = noted.items.get(path)
    if changes.lost and (not known or item is None or item.how is not Method.COPIED or "" in changes.added):
        return False
    try:
        for name in changes.added:
            _remove(copy.top / path / name)
        return all(_from_source(copy, path, name, known) for name in changes.lost)
    except OSError:
        return False


def _remove(path: Path) -> None:
    if os.path.lexists(path):  # it may already be gone with its folder
        safe_files.remove_all(path)


def _from_source(copy: Destination, path: str, name: str, known: Manifest) -> bool:
    """Copy one file, link or folder from the person's checkout if it is still the one that was copied."""
    source, target = copy.source / path / name, copy.top / path / name
    status = source.lstat()
    expected = known[name]
    if stat.S_IFMT(status.st_mode) != _kind(expected):
        return False
    if stat.S_ISDIR(status.st_mode):
        target.mkdir(exist_ok=True)
        target.chmod(stat.S_IMODE(expected[0]))
        return True
    rewritten = embeds_path(name)
    if stat.S_ISREG(status.st_mode) and not rewritten and stamp.entry(status)[1:3] != expected[1:3]:
        return False
    _bring(source, target, Relocation(copy.source, copy.top), rewritten=rewritten)
    known[name] = stamp.entry(target.lstat())
    return known[name][:2] == expected[:2]


def _bring(source: Path, target: Path, relocation: Relocation, *, rewritten: bool) -> None:
    _remove(target)
    shutil.copy2(source, target, follow_symlinks=False)
    if target.is_symlink():
        redirect(target, relocation)
    elif rewritten:
        rewrite(target, relocation)


def _note(copy: Destination, noted: Stamp, manifests: dict[str, Manifest]) -> None:
    """Save the new state of the repaired files."""
    items = {
        path: item.model_copy(update={"mark": stamp.mark(copy.top / path)}) if path in manifests else item
        for path, item in noted.items.items()
    }
    stamp.write_manifests(copy.records, manifests)
    stamp.write(copy.records, noted.model_copy(update={"items": items}))


async def _provide_again(copy: Destination, paths: list[str]) -> None:
    """Remove what cannot be repaired and provide it again."""
    for path in paths:
        await in_thread(take_out, copy, path)
    await provide(copy)
