"""Puts a run's programs into a sandbox: which folders an agent may write, and what the person learns about it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.agent.state import every_state, state_of
from ralph.journal.events import HostRefused, SandboxChosen

if TYPE_CHECKING:
    from ralph.config import Provider
    from ralph.engine.run import Run
    from ralph.process.enclosure import Enclosure


def check_sandbox(run: Run) -> None:
    """Refuse a run whose sandbox cannot be had, before it changes anything."""
    if run.config.wants_sandbox:
        from ralph.sandbox.sandbox import prepared

        prepared(run.config, run.workspace, ())


@asynccontextmanager
async def contained(run: Run) -> AsyncIterator[None]:
    """Open the run's sandbox, and say which one it is."""
    from ralph.sandbox.backends import NONE, asked_for  # a run of a complete plan needs none
    from ralph.sandbox.sandbox import opened

    settings = run.config.sandboxing

    def refused(setting: str, host: str) -> None:
        run.emit(HostRefused(host=host, setting=setting))

    async with opened(run.config, run.workspace, every_state(os.environ), refused) as sandbox:
        run.sandbox = sandbox
        if run.browser:
            run.browser.enclose = sandbox.around_browser
        network = settings.network if isinstance(settings.network, str) else ", ".join(settings.network)
        backend = sandbox.backend
        run.emit(
            SandboxChosen(
                kind=backend.name if backend else NONE,
                about=backend.about if backend else "",
                network=network if backend else "full",
                wanted=asked_for(settings.use),
            )
        )
        try:
            yield
        finally:
            run.sandbox = None


def is_contained(run: Run) -> bool:
    """Return whether agents, gates and hooks write nothing but what Ralph gives them."""
    return run.sandbox is not None and run.sandbox.backend is not None


def around_agent(
    run: Run,
    provider: Provider,
    folder: Path,
    outside: tuple[Path, ...],
    temporary: Path,
    private: Path,
    shown: tuple[Path, ...] = (),
) -> Enclosure | None:
    """Enclose an agent: it writes its working copy, its state, and files of the plan that are outside of the copy."""
    if run.sandbox is None or run.sandbox.backend is None:
        return None
    state, outside = state_of(provider, os.environ), in_their_places(outside, run.workspace.root)
    # programs replace a file by a new one, so they need its folder
    folders = {path.parent for path in outside} if run.sandbox.has_exceptions else set()
    return run.sandbox.around_agent(
        folder,
        private,
        *outside,
        *folders,
        temporary=temporary,
        state=state.writable,
        shown=shown,
        read_only=(*state.fixed, *_beside(outside, folders)),
    )


def in_their_places(files: tuple[Path, ...], root: Path) -> tuple[Path, ...]:
    """Return the files that no link leads to: a link could make anything writable, and an agent can leave one here."""
    real = root.resolve()
    return tuple(path for path in files if path.resolve() == real / path.relative_to(root))


def _beside(files: tuple[Path, ...], folders: set[Path]) -> Iterator[Path]:
    """Yield what is in these folders besides the files."""
    needed = {*files, *folders, *(above for folder in folders for above in folder.parents)}
    for folder in folders:
        if folder.is_dir():
            yield from (path for path in folder.iterdir() if path not in needed)


def around_gate(run: Run, *paths: Path, temporary: Path, services: Iterable[int] = ()) -> Enclosure | None:
    """Enclose a gate or a hook, which may write these paths and reaches these ports of services."""
    return run.sandbox.around_gate(*paths, temporary=temporary, services=services) if run.sandbox else None


def around_setup(run: Run, *paths: Path, temporary: Path | None = None) -> Enclosure | None:
    """Enclose a set-up command or a service, which may write these paths."""
    return run.sandbox.around_setup(*paths, temporary=temporary) if run.sandbox else None
