"""Probes the agents of a run whose configuration is new."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ralph.agent.call import check_installed
from ralph.agent.costs import refuse_unknown_costs
from ralph.agent.dialects import known
from ralph.agent.probe.remembered import digest_of, is_probed, is_remembered, remember
from ralph.cli.running_options import RunFlags
from ralph.config import Config, Provider
from ralph.errors import RalphError
from ralph.stores import lock
from ralph.views.lines import say
from ralph.workflows.registry import WorkflowType
from ralph.workspace import Workspace

ONLY_READS = "verifier"


def probe_new(workspace: Workspace, config: Config, kind: WorkflowType, flags: RunFlags) -> None:
    """Probe each agent of a run whose configuration is new; raise an error if one cannot work.

    A budget that cannot be held is refused first, because a probe costs money too.
    """
    refuse_unknown_costs(config, flags.options().budget or config.budget)
    if flags.no_probe or os.environ.get("RALPH_NO_PROBE", "0") != "0" or lock.holder(workspace.lock):
        return  # another run is active, so this one will be refused
    config, is_silent = config.with_model("executor", flags.model), flags.quiet or flags.as_json
    roles = (*config.working_roles, *kind.more_roles)
    writers = config.providers_for(role for role in roles if role != ONLY_READS)
    for provider in dict.fromkeys((*writers, *config.providers_for(roles))):
        if known(provider) is None or not is_probed(provider):
            continue  # nobody knows how it should behave
        program, must_write = workspace.root / check_installed(provider, workspace.root), provider in writers
        digest = digest_of(provider, program, must_write=must_write)
        if is_remembered(digest):
            continue
        from ralph.cli.probing import works  # few runs have an agent that is new

        try:
            can_work = works(provider, workspace, config, must_write=must_write, is_silent=is_silent)
        except RalphError as error:
            if _is_alone(config, roles, provider):
                raise
            say(f"! {error.what.rstrip('.')}. Another agent works instead.", fg="yellow", err=True)
            continue
        if can_work:
            remember(digest)


def _is_alone(config: Config, roles: Iterable[str], provider: Provider) -> bool:
    """Return whether a role has no other agent."""
    return any([agent.provider for agent in config.agents_for(role)] == [provider] for role in roles)
