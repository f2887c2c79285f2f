"""The agents of races, checked before a run starts: known by name, two or more, installed, and within the budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ralph.agent.call import check_installed
from ralph.agent.costs import refuse_unknown_costs
from ralph.config import Budget, Config, RaceSettings
from ralph.config_rules import race_mistakes
from ralph.errors import RalphError
from ralph.plan.model import Plan, TaskState


def with_race(config: Config, names: str) -> Config:
    """Return the configuration with the race of the command line, which is on from the first attempt."""
    agents = tuple(name.strip() for name in names.split(",") if name.strip())
    mistakes = list(race_mistakes(agents, config.agent_names)) if agents else ["it names no agent"]
    if mistakes:
        raise _refusal(f"--race {names}", mistakes, config)
    return replace(config, race=RaceSettings(agents=agents))


def check_races(config: Config, plan: Plan | None, root: Path, budget: Budget) -> None:
    """Refuse races that cannot be run, before anything starts."""
    for task in plan or ():
        mistakes = list(race_mistakes(task.race, config.agent_names))
        if mistakes:
            raise _refusal(f"The race of {task.id}", mistakes, config)
    own = [name for task in plan or () if task.state is TaskState.PENDING for name in task.race]
    refuse_unknown_costs(config, budget, own)
    for name in dict.fromkeys((*config.race.agents, *own)):
        check_installed(config.executor(name).provider, root)


def _refusal(what: str, mistakes: list[str], config: Config) -> RalphError:
    first, *others = (mistake if mistake.endswith("?") else f"{mistake}." for mistake in mistakes)
    names = ", ".join(dict.fromkeys(config.agent_names))
    return RalphError(
        f"{what}: {first}",
        details=tuple(others),
        remedy=f"Name two or more of {names}. More agents go into `providers` in ralph.config.json.",
    )
