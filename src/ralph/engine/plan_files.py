"""Changes a plan outside a run: in the person's checkout before its first run, on its branch afterwards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ralph.checkout.open import CheckoutRequest, OpenCheckout, open_checkout
from ralph.config import Config
from ralph.engine.receipts import writer_for
from ralph.process.redaction import Secrets
from ralph.protect import crash_copies
from ralph.stores import crash_file
from ralph.workspace import Workspace


@contextmanager
def plan_files(
    workspace: Workspace, config: Config, wanted: CheckoutRequest, run_id: str, *, message: str = ""
) -> Iterator[Path]:
    """Yield the project root in which the plan's files can be changed. The caller must hold the lock.

    With a branch, the changes are committed there when the block succeeds. Without one, the plan has not been started:
    it belongs to the person, and nothing is committed.
    """
    if not wanted.branch:
        yield workspace.root
        return
    crash_copies.put_back(workspace, locked=True)
    known = crash_file.tip_of(workspace, wanted.target)
    opened = asyncio.run(
        open_checkout(
            workspace,
            wanted,
            run_id,
            secrets=Secrets.of(os.environ, workspace.root),
            known_tip=known,
            committed=config.commits.prd_changes,
        )
    )
    opened.branch.receipts = writer_for(config, workspace, opened.branch, lambda text: None)
    if known:
        crash_copies.put_back(workspace, locked=True)
    try:
        yield opened.project
        asyncio.run(_commit(opened, config, message or f"chore: update the plan of {wanted.target}"))
    finally:
        asyncio.run(opened.close(committed=config.commits.prd_changes))
        crash_copies.forget(workspace, wanted.target)


async def _commit(opened: OpenCheckout, config: Config, message: str) -> None:
    branch, plans = opened.branch, opened.plans
    if not config.commits.prd_changes or not opened.own.held:
        return
    paths = await _not_ignored(opened)

    async def with_plan(tip: str) -> str:
        known = (
            path.removeprefix(opened.own.prefix) for path in await branch.repo.paths_in(tip, *opened.own.pathspecs)
        )
        return await plans.tree_with(tip, (*known, *paths))

    await branch.land_state(with_plan, message)


async def _not_ignored(opened: OpenCheckout) -> list[str]:
    """Return the plan's files that git does not ignore; this excludes a run's notes."""
    plans = opened.plans
    paths = opened.own.on_disk(plans.root)
    names = b"".join(opened.own.name(path).encode() + b"\0" for path in paths)
    done = await plans.repo.ask(
        "check-ignore", "--no-index", "-z", "--stdin", stdin=names, work_tree=plans.folder, literal=False
    )
    ignored = set(done.out.decode().split("\0"))
    return [path for path in paths if opened.own.name(path) not in ignored]
