"""Held-out files in a run: read once when it starts, and in a clean copy only while their gate runs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.audit.files import matches
from ralph.errors import RalphError
from ralph.git.objects import blob_id
from ralph.git.repo import Repo
from ralph.journal.events import Confided
from ralph.plan.model import Gate
from ralph.stores.held_out import HeldOutFile, HeldOutStore, changed, lay, lift

if TYPE_CHECKING:
    from ralph.checkout.working_copy import WorkingCopy
    from ralph.engine.run import Run
    from ralph.verify.held_out import LaidFiles

MAX_NAMED = 5


async def load_held_out(run: Run, repo: Repo) -> None:
    """Read the held-out files, and refuse those that agents can see; tell the person what they can still find."""
    store = HeldOutStore.of(run.workspace, run.config.held_out.folder)
    if run.config.acceptance.enabled:
        safe_files.remove_all(run.workspace.tester_copies)  # a killed run left them
        _remove_left(run, store)
    if not any(gate.held_out for gate in run.workflow.gates(None)):
        return
    store.check_outside(repo.top)
    _remove_left(run, store)
    run.held_out = store.load()
    for gate in run.workflow.gates(None):
        if gate.held_out and not _needed(run, gate):
            which = f"no held-out file matches {', '.join(gate.held_out.files)}" if run.held_out else "there are none"
            raise RalphError(
                f"The gate {gate.held_out.name} needs held-out files, but {which}.",
                remedy=f"Add them with `ralph hold-out add PATH`. They are kept in {store.folder}.",
            )
    tracked = set(await repo.paths_in(await repo.head()))
    seen = [file.path for file in run.held_out if f"{repo.prefix}{file.path}" in tracked]
    if seen:
        raise RalphError(
            f"Git tracks {_listed(seen)}, so agents see what is held out.",
            remedy=f"Commit the removal: git rm --cached {_listed(seen)} && git commit. Or rename the held-out file.",
        )
    known = await _known_to_git(repo, run.held_out)
    if known:
        text = f"Git still has the content of {_listed(known)}, in an old commit or its index. Agents can find it there"
        run.emit(Confided(text=f"! {text} (see docs/guides/held-out.md)."))


@asynccontextmanager
async def laid(
    run: Run, copy: WorkingCopy, gate: Gate, fresh: Callable[[], Awaitable[object]]
) -> AsyncIterator[LaidFiles]:
    """Lay a gate's held-out files into a clean copy; afterwards remove them and everything that the gate left."""
    from ralph.verify.held_out import LaidFiles  # only a run with held-out gates needs it

    store = HeldOutStore.of(run.workspace, run.config.held_out.folder)
    files, logs = _needed(run, gate), store.new_logs(run.id)
    mark = store.marks / copy.folder.name
    with safe_files.open_new(mark) as file:
        file.write(os.fsencode(copy.folder))
    try:
        lay(files, copy.root)
        paths = tuple(file.path for file in files)
        yield LaidFiles(logs=logs, paths=paths, changed=partial(changed, files, copy.root))
    finally:
        lift(files, copy.root)
        await copy.clean()
        await fresh()
        await run.restore_provided(copy)
        safe_files.remove_all(mark)


def _needed(run: Run, gate: Gate) -> tuple[HeldOutFile, ...]:
    if gate.held_out and gate.held_out.tests_of:
        return run.acceptance.files_of(gate.held_out.tests_of)
    wanted = gate.held_out.files if gate.held_out else ()
    return tuple(file for file in run.held_out if not wanted or matches(file.path, wanted))


def _remove_left(run: Run, store: HeldOutStore) -> None:
    """Remove the clean copies in which a killed run left held-out files."""
    for mark in sorted(store.marks.iterdir()) if store.marks.is_dir() else ():
        safe_files.remove_all(run.workspace.clean_copies / mark.name)
        safe_files.remove_all(mark)


async def _known_to_git(repo: Repo, files: tuple[HeldOutFile, ...]) -> list[str]:
    """Return the files whose exact content is an object of the repository: agents borrow all of its objects."""
    names = [blob_id(file.data, repo.algorithm) for file in files]
    done = await repo.ask("cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in names).encode())
    lines = done.out.decode(errors="replace").splitlines()
    return [file.path for file, line in zip(files, lines, strict=False) if file.data and " blob " in line]


def _listed(names: list[str]) -> str:
    return " ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if names[MAX_NAMED:] else "")
