"""Gathers what needs a person, from every plan of a project and from the project itself, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from ralph.errors import RalphError
from ralph.journal.reader import flaky_gates
from ralph.plan.model import Plan, TaskState
from ralph.views import inbox
from ralph.views.inbox import InboxItem
from ralph.workflows.target import Target
from ralph.workspace import Workspace


def gathered(workspace: Workspace, plans: Iterable[tuple[Target, Plan | None]]) -> tuple[InboxItem, ...]:
    """Return what needs a person about these plans, and about the agents and gates that they share."""
    found: list[InboxItem] = []
    command = ""
    for target, plan in plans:
        if plan:
            found += of_target(workspace, target, plan)
            is_open = any(task.state is TaskState.PENDING for task in plan)
            command = command or (target.command if is_open else "")
    if command:
        found += inbox.of_agents(workspace, command)
    return inbox.in_order((*found, *inbox.of_gates(_proposals(workspace))))


def of_target(workspace: Workspace, target: Target, plan: Plan) -> tuple[InboxItem, ...]:
    """Return what needs a person about one plan."""
    of_plan = inbox.of_plan(target.name, plan, target.command, by_roles=bool(target.marked_by))
    return inbox.in_order((*of_plan, *inbox.of_run(workspace, target.name, plan, target.command)))


def _proposals(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the required gates that give different answers on the same files, and what Ralph proposes."""
    counts = flaky_gates(workspace.logs)
    if not counts:
        return
    from ralph import config as configuration
    from ralph.verify.gate_list import default_gates, quarantine

    with suppress(RalphError):
        config = configuration.load(workspace.root)
        required = {gate.name for gate in default_gates(config) if gate.required}.union(config.verify.ui)
        for name in sorted(required.intersection(counts)):
            if text := quarantine(name, counts[name]):
                yield name, text
