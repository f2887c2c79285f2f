"""Runs gates once on the last commit, in a clean copy, before there is any plan: what `ralph init` has found."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing

from ralph.checkout.branch import TargetBranch
from ralph.checkout.own_files import OwnFiles
from ralph.config import Config
from ralph.engine.containment import contained
from ralph.engine.interrupt import Interrupt
from ralph.engine.run import Run
from ralph.engine.ticking import Tick, ticking
from ralph.errors import EXIT_INTERRUPTED, RalphError
from ralph.git.repo import open_repo
from ralph.journal.writer import Journal, Listener, new_run_id
from ralph.plan.model import GateResult, Plan
from ralph.process.redaction import Secrets
from ralph.process.warden import guarding
from ralph.stores import lock
from ralph.verify.gate_list import default_gates
from ralph.workflows.planning import PlanningWorkflow
from ralph.workspace import Workspace

TARGET = "init"


def run_once(
    workspace: Workspace, config: Config, listener: Listener, tick: Tick | None = None
) -> tuple[GateResult, ...]:
    """Return the results of a configuration's gates on the last commit."""
    return asyncio.run(_run(workspace, config, listener, tick))


async def _run(workspace: Workspace, config: Config, listener: Listener, tick: Tick | None) -> tuple[GateResult, ...]:
    repo = await open_repo(workspace.root)
    head = await repo.head()
    if not head:
        raise RalphError("The repository has no commits yet.", remedy="git add . && git commit")
    run_id, interrupt = new_run_id(), Interrupt()
    owner = lock.me(run_id, TARGET)
    secrets = Secrets.of(os.environ, workspace.root)
    with (
        guarding(run_id),
        secrets.in_errors(),
        interrupt.on_signals(),
        lock.hold(workspace.lock, owner),
        Journal(workspace.logs / run_id, secrets.text, TARGET) as journal,
    ):
        journal.listen(listener)
        run = Run(
            id=run_id,
            workspace=workspace,
            config=config,
            workflow=PlanningWorkflow(TARGET, workspace.root),
            plan=Plan(target=TARGET),
            journal=journal,
            owner=owner,
            secrets=secrets,
            branch=TargetBranch(repo=repo, name="main", target=TARGET),
            own=OwnFiles(prefix=repo.prefix, names=workspace.own_files),
            interrupt=interrupt,
        )
        try:
            async with aclosing(run), contained(run), ticking(tick):
                checked = await interrupt.interruptible(run.verifier.check(head, default_gates(config), TARGET))
        finally:
            run.remove_temporary()
    if checked is None:
        raise RalphError("Interrupted.", remedy="Nothing was written.", code=EXIT_INTERRUPTED)
    return checked.results
