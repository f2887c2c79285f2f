"""Which budgets can be held with which agents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph import config
from ralph.agent.costs import refuse_unknown_costs, why_no_cost, why_no_tokens
from ralph.agent.dialects import AGENTS
from ralph.agent.installed import provider_of
from ralph.config import Allowance, Budget, Config, Provider
from ralph.errors import RalphError

DOLLARS, TOKENS = Budget(usd=5), Budget(task=Allowance(tokens=1000))


def settings(name: str, model: str | None = None) -> Config:
    agent = AGENTS[name]
    provider = Provider(command=agent.command, args=agent.args, model=model)
    return config.Config(provider=provider, verify=config.Verify(default=("true",)))


@pytest.mark.parametrize("name", ["claude", "opencode", "pi", "gemini", "qwen"])
def test_agents_that_report_a_cost_or_a_model_can_be_held_to_money(name: str) -> None:
    refuse_unknown_costs(settings(name), DOLLARS)
    refuse_unknown_costs(settings(name), TOKENS)


@pytest.mark.parametrize("name", ["codex", "goose"])
def test_agents_that_name_no_model_need_one_in_the_configuration(name: str) -> None:
    with pytest.raises(RalphError, match="Set `model` in its provider"):
        refuse_unknown_costs(settings(name), DOLLARS)
    refuse_unknown_costs(settings(name, "gpt-5"), DOLLARS)
    refuse_unknown_costs(settings(name), TOKENS)
    with pytest.raises(RalphError, match="no price for the model"):
        refuse_unknown_costs(settings(name, "somebodys-own-model"), DOLLARS)


@pytest.mark.parametrize("name", ["copilot", "aider", "mini", "amp", "cursor", "droid", "kimi", "scripted"])
@pytest.mark.parametrize("budget", [DOLLARS, TOKENS], ids=["money", "tokens"])
def test_agents_that_report_nothing_can_only_be_held_to_time_and_attempts(name: str, budget: Budget) -> None:
    with pytest.raises(RalphError) as caught:
        refuse_unknown_costs(settings(name), budget)
    assert "Limit hours or attempts instead" in caught.value.remedy
    refuse_unknown_costs(settings(name), Budget(hours=8, attempts=20))


def test_every_agent_that_may_be_called_counts() -> None:
    two = replace(
        settings("claude"),
        providers={"cheap": provider_of(AGENTS["amp"])},
        roles={"executor": config.RoleSettings(providers=("claude", "cheap"))},
    )
    with pytest.raises(RalphError, match="amp"):
        refuse_unknown_costs(two, DOLLARS)


def test_plain_text_has_no_costs_whatever_the_program() -> None:
    plain = Provider(command="claude", args=("-p",))
    assert "plain text" in why_no_tokens(plain)
    assert why_no_cost(provider_of(AGENTS["claude"])) == ""
