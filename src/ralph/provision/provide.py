"""Provides a working copy with what a clean checkout lacks; does nothing if it is already there."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git.files import is_behind_link
from ralph.process.spawn import in_thread
from ralph.provision import commands, discover, python_env, stamp
from ralph.provision.destination import Destination, is_own
from ralph.provision.discover import Dependency
from ralph.provision.put import PutResult, put, take_out
from ralph.provision.relocate import Relocation
from ralph.provision.stamp import OURS, Method, ProvidedPath, Stamp

SETTINGS = ("link", "copy")
CORRECT = "Fix worktrees.{key} in ralph.config.json."


class ProvisionResult(Frozen):
    """What a working copy has been given."""

    paths: frozenset[str]  # git paths below its top: never part of an agent's work
    variables: Mapping[str, str]  # for everything that runs in it
    notes: tuple[str, ...] = ()  # what was done this time, for the person
    found: Dependency = field(default_factory=Dependency)  # the dependency folders of the person's checkout


class ProvisionRequest(Frozen):
    """One path that a working copy should have."""

    path: str
    how: Method
    key: str = ""  # the setting that names it; "": Ralph found it


async def provide(copy: Destination, known: Dependency | None = None) -> ProvisionResult:
    """Add dependency folders, links and files to a working copy and set it up; only do what has changed.

    `known`: what was found for another copy of the same checkout.
    """
    old = read_stamp(copy)
    found = await _found(copy, known or Dependency(paths=old.found, watched=old.watched, seen=old.seen))
    wanted = {want.path: want for want in await _wanted(copy, found)}
    notes: list[str] = []
    items = await _put_all(copy, old, wanted, found, notes)
    new = old.model_copy(update={"found": found.paths, "watched": found.watched, "seen": found.seen, "items": items})
    new = await _set_up(copy, old, new, notes)
    if new != old:
        await in_thread(_note, copy, old, new)
    return ProvisionResult(paths=_paths(new), variables=_variables(copy, new), notes=tuple(notes), found=found)


def provided_so_far(copy: Destination) -> frozenset[str]:
    """Return what an earlier run put into a working copy."""
    return _paths(read_stamp(copy)) if copy.top.is_dir() else frozenset()


def forget(copy: Destination) -> None:
    """Remove Ralph's notes about a deleted working copy."""
    safe_files.remove_all(copy.records)


def read_stamp(copy: Destination) -> Stamp:
    """Return the record of what Ralph has put into this working copy."""
    return stamp.read(copy.records, (str(copy.source), _identity(copy.top)))


def kept(new: Stamp) -> tuple[str, ...]:
    """Return the paths that `restore` watches: copies, and dependency folders that commands made."""
    items = [path for path, item in new.items.items() if item.how in (Method.COPIED, Method.MADE)]
    return (*items, *(path for path in new.made if path.rpartition("/")[2] in discover.BY_NAME))


async def _found(copy: Destination, before: Dependency) -> Dependency:
    if not copy.settings.auto:
        return Dependency(watched=tuple(sorted({"", copy.prefix})))
    return await discover.discover(copy, before)


async def _wanted(copy: Destination, found: Dependency) -> list[ProvisionRequest]:
    """Return everything that the copy should have; settings override what Ralph finds."""
    settings = copy.settings
    named = [
        ProvisionRequest(path=_literal(copy, path, "link"), how=Method.LINKED, key="link") for path in settings.link
    ]
    named += [
        ProvisionRequest(path=path, how=Method.COPIED, key="copy")
        for text in settings.copy_
        for path in _matches(copy, text)
    ]
    by_itself = [path for path in found.paths if (copy.top / path).parent.is_dir()]
    included = await discover.included(copy)
    for path in (*by_itself, *included):
        if not any(_overlap(path, want.path) for want in named):
            named.append(
                ProvisionRequest(path=path, how=Method.COPIED, key="" if path in by_itself else discover.INCLUDE)
            )
    return named


def _literal(copy: Destination, text: str, key: str) -> str:
    """Return a path from the settings, relative to the copy's top."""
    path = os.path.normpath(f"{copy.prefix}{text}")
    if not os.path.lexists(copy.source / path):
        raise RalphError(f"worktrees.{key}: {text} does not exist in {copy.source}.", remedy=CORRECT.format(key=key))
    if is_behind_link(copy.source, path):
        raise RalphError(f"worktrees.{key}: {text} leads through a link.", remedy=CORRECT.format(key=key))
    return path


def _matches(copy: Destination, text: str) -> list[str]:
    if not glob.has_magic(text):
        return [_literal(copy, text, "copy")]
    names = glob.glob(text, root_dir=copy.source / copy.prefix, include_hidden=True)  # noqa: PTH207 - hidden files
    paths = [path for path in (os.path.normpath(f"{copy.prefix}{name}") for name in sorted(names)) if not is_own(path)]
    if not paths:
        raise RalphError(f"worktrees.copy: nothing matches {text}.", remedy=CORRECT.format(key="copy"))
    return [path for path in paths if not is_behind_link(copy.source, path)]


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


async def _put_all(
    copy: Destination, old: Stamp, wanted: Mapping[str, ProvisionRequest], found: Dependency, notes: list[str]
) -> dict[str, ProvidedPath]:
    """Add what is missing or out of date and remove what is no longer wanted."""
    locks = discover.lock_digest(copy.source, found.watched) if any(map(discover.is_built, wanted)) else ""
    states = {path: _state(copy, want, locks) for path, want in wanted.items()}
    items = {path: item for path, item in old.items.items() if _is_right(copy, path, item, states.get(path))}
    missing = [want for path, want in wanted.items() if path not in items]
    for path in old.items.keys() - wanted.keys():
        _remove_provided(copy, path, old.items[path])
    for want in missing:
        # after a kill, the rest counts as missing
        stamp.write(copy.records, old.model_copy(update={"items": items, "setup": ()}))
        items[want.path] = await _put_one(copy, want, states[want.path], old.model_copy(update={"items": items}), notes)
    notes += await _remarks(copy, found, [want.path for want in missing if items[want.path].how in OURS])
    return items


async def _put_one(
    copy: Destination, want: ProvisionRequest, state: str, so_far: Stamp, notes: list[str]
) -> ProvidedPath:
    why = await _obstacle(copy, want.path)
    if why and want.key in SETTINGS:
        raise RalphError(f"worktrees.{want.key}: {want.path} {why}.", remedy=CORRECT.format(key=want.key))
    if why:
        done = PutResult(how=Method.TRACKED, note=f"skipped {want.path}: it {why}")
    else:
        done = await put(copy, want.path, want.how, explicit=bool(want.key), variables=_variables(copy, so_far))
    notes += filter(None, [done.note])
    return ProvidedPath(how=done.how, state=state, mark=stamp.mark(copy.top / want.path), when=time.time_ns())


async def _obstacle(copy: Destination, path: str) -> str:
    """Return why nothing may be put at a path: the commit has something there."""
    if is_behind_link(copy.top, path):
        return "leads through a link in the commit"
    return "is tracked by git" if await discover.tracked_in(copy, [path]) else ""


def _remove_provided(copy: Destination, path: str, item: ProvidedPath) -> None:
    """Remove a path that is no longer wanted, if it is still what Ralph put there."""
    if item.how in OURS and stamp.mark(copy.top / path) == item.mark:
        take_out(copy, path)


async def _remarks(copy: Destination, found: Dependency, put_now: list[str]) -> list[str]:
    """Return notes for the person about what was added."""
    remarks = [
        f"git does not ignore {path} here, so `git add --all` would add it: list it in .gitignore"
        for path in await discover.visible_in(copy, put_now)
    ]
    dependencies = put_now and any(path in found.paths for path in put_now) and not copy.settings.setup
    if dependencies and _locks(copy.source, found) != _locks(copy.top, found):
        remarks.append(
            "the lock files of this commit differ from those in your checkout: worktrees.setup can install them"
        )
    return remarks


def _locks(top: Path, found: Dependency) -> str:
    return discover.lock_digest(top, found.watched)


def _state(copy: Destination, want: ProvisionRequest, locks: str) -> str:
    """Return the state of a path in the person's checkout, together with how it is wanted."""
    if want.how is Method.LINKED:
        return f"{want.key} linked"
    set_up = "set up " if copy.settings.setup and not want.key else ""  # then nothing is linked instead of copied
    return f"{want.key} {set_up}{discover.fingerprint(copy.source, want.path, locks)}"


def _is_right(copy: Destination, path: str, item: ProvidedPath, state: str | None) -> bool:
    if item.state != state or is_behind_link(copy.top, path):
        return False
    match item.how:
        case Method.LEFT:
            return True
        case Method.TRACKED:
            return os.path.lexists(copy.top / path)
        case _:
            return stamp.mark(copy.top / path) == item.mark


async def _set_up(copy: Destination, old: Stamp, new: Stamp, notes: list[str]) -> Stamp:
    """Run the set-up unless it has already run for these commands, lock files and folders."""
    if not copy.settings.setup:
        return new.model_copy(update={"setup": (), "made": ()})
    there = all(os.path.lexists(copy.top / path) for path in old.made)
    begun = _setup_digest(copy, new)
    if begun in old.setup and there and old.items == new.items:
        return new
    stamp.write(copy.records, new.model_copy(update={"setup": ()}))  # after a kill, it runs again
    before = await discover.made_in(copy)
    await commands.set_up(copy, _variables(copy, new))
    made = await discover.made_in(copy) - before | {path for path in old.made if os.path.lexists(copy.top / path)}
    notes.append(f"set up with {', '.join(f'`{command}`' for command in copy.settings.setup)}")
    notes += await _changed_tracked(copy)
    items = {path: _seen_again(copy, path, item) for path, item in new.items.items()}
    made_now = tuple(path for path in sorted(made) if path not in items)
    return new.model_copy(
        update={
            "items": items,
            "made": made_now,
            "set_up_at": time.time_ns(),
            "setup": (begun, _setup_digest(copy, new)),
        }
    )


def _seen_again(copy: Destination, path: str, item: ProvidedPath) -> ProvidedPath:
    """Update the mark of an item after the set-up, which may have replaced it."""
    return item.model_copy(update={"mark": stamp.mark(copy.top / path)})


async def _changed_tracked(copy: Destination) -> list[str]:
    changed = await copy.git(copy.top, "diff", "--name-only", "-z")
    listed = ", ".join(changed[:5]) + (" …" if len(changed) > 5 else "")
    return [f"the set-up changed tracked files: {listed}"] if changed else []


def _setup_digest(copy: Destination, new: Stamp) -> str:
    return discover.digest([*copy.settings.setup, discover.lock_digest(copy.top, new.watched)])


def _variables(copy: Destination, new: Stamp) -> dict[str, str]:
    copied = [path for path, item in new.items.items() if item.how in (Method.COPIED, Method.MADE)]
    linked = [copy.source / path for path, item in new.items.items() if item.how is Method.LINKED]
    return python_env.variables(copy.env, Relocation(copy.source, copy.top), (*copied, *new.made), linked)


def _paths(new: Stamp) -> frozenset[str]:
    return frozenset((*(path for path, item in new.items.items() if item.how in OURS), *new.made))


def _note(copy: Destination, old: Stamp, new: Stamp) -> None:
    """Save the manifests of everything that was added, then the stamp that says that it is complete."""
    before = stamp.read_manifests(copy.records)
    same = {path for path in kept(new) if path in before and _is_untouched(old, new, path)}
    manifests = {path: before[path] if path in same else stamp.sealed(copy.top / path, {}) for path in kept(new)}
    if manifests or before:
        stamp.write_manifests(copy.records, manifests)
    stamp.write(copy.records, new)


def _is_untouched(old: Stamp, new: Stamp, path: str) -> bool:
    """Return whether neither a copy nor the set-up has changed a path since its manifest was saved."""
    return new.set_up_at == old.set_up_at and old.items.get(path) == new.items.get(path)


def _identity(top: Path) -> str:
    """Return the identity of a checkout; one that was deleted and created again at the same path is different."""
    try:
        return f"{top} {top.stat().st_ino}"
    except OSError:
        raise RalphError(f"{top} is not a working copy.") from None
