"""Whether the cost and the tokens of an agent can be known: a budget that cannot be held is refused at the start."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from ralph.agent.dialects import dialect_of, known
from ralph.agent.prices import how_to_get, is_priced
from ralph.config import ROLES, Budget, Config, Provider
from ralph.errors import RalphError


def refuse_unknown_costs(config: Config, budget: Budget, race: Iterable[str] = ()) -> None:
    """Raise an error if a budget of money or tokens names what an agent does not report.

    `race` names agents that race for single tasks, beside those in the configuration.
    """
    allowances = (budget, budget.target, budget.task)
    in_dollars = any(one.usd is not None for one in allowances)
    in_tokens = any(one.tokens is not None for one in allowances)
    if not in_dollars and not in_tokens:
        return
    agents = [agent for role in ROLES for agent in config.agents_for(role)]
    agents += map(config.executor, (*config.race.agents, *race))
    for provider in {agent.provider: None for agent in agents}:
        reason = why_no_tokens(provider) or (why_no_cost(provider) if in_dollars else "")
        if reason:
            raise RalphError(
                f"The budget cannot be enforced: {reason}",
                remedy="Limit hours or attempts instead, or use an agent whose cost is known (docs/guides/agents.md).",
            )


def why_no_tokens(provider: Provider) -> str:
    """Return why the tokens of an agent's calls are unknown; "" if they are known."""
    agent, name = known(provider), PurePath(provider.command).name
    if provider.protocol == "acp":
        return ""  # it differs from program to program: the first call shows it
    if not dialect_of(provider).is_structured:
        return f"Ralph reads the output of {name} as plain text, which has no token counts."
    return f"{name} does not report its tokens." if agent and not agent.tokens else ""


def why_no_cost(provider: Provider) -> str:
    """Return why the cost of an agent's calls is unknown; "" if it is reported or can be estimated."""
    agent, name = known(provider), PurePath(provider.command).name
    if provider.protocol == "acp" or agent is None or agent.cost == "reported":
        return ""
    if command := how_to_get():
        return f"{name} reports no cost, and the price list to estimate it is not installed (`{command}`)."
    if provider.model:
        return "" if is_priced(provider.model) else f"Ralph has no price for the model {provider.model} of {name}."
    return "" if agent.names_model else f"{name} reports neither a cost nor a model. Set `model` in its provider."
