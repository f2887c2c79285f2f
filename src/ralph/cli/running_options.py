"""The options of every command that runs a plan: defined once, parsed into one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from ralph.cli.budget_option import parse_budget
from ralph.cli.running import ViewOptions
from ralph.cli.trusting import trust_option
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.workflows.registry import WORKFLOWS, WorkflowType

OPTIONS = (
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(1, 64),
        metavar="N",
        help="Run N independent tasks (of specs: specs) in parallel.",
    ),
    click.option(
        "--on-failure",
        type=click.Choice(["wait", "stop"]),
        help="When a task of a request fails: wait for the running tasks (the default), or stop them.",
    ),
    click.option(
        "--race",
        metavar="AGENTS",
        help="Let several agents attempt each task, such as claude,codex; the first whose work passes wins.",
    ),
    click.option("--once", is_flag=True, help="Make one attempt, then stop."),
    click.option("--no-baseline", is_flag=True, help="Do not run the gates before the first attempt."),
    click.option("--keep-going", is_flag=True, help="Continue even if a gate cannot run at all."),
    click.option(
        "--no-probe",
        is_flag=True,
        help="Do not try out a new agent configuration with one short call first (or set RALPH_NO_PROBE=1).",
    ),
    click.option("--model", default="", help="The model to pass to the agent."),
    click.option("--no-wait", is_flag=True, help="Stop at a usage limit instead of waiting until it resets."),
    click.option("--try-now", is_flag=True, help="Try agents at once that were limited in the last run."),
    click.option(
        "--budget",
        metavar="LIMITS",
        help="What this run may spend, such as usd=20,hours=8; also tokens, attempts, task.usd, target.usd, hard.",
    ),
    click.option(
        "--record",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Record every agent call in the new folder DIR, without secrets; `ralph scripted --replay DIR` plays it.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print only warnings and the summary."),
)

SUPPORTED: dict[str, Callable[[WorkflowType], object]] = {
    "jobs": lambda kind: not kind.one_at_a_time,
    "on_failure": lambda kind: kind.can_halt,
    "race": lambda kind: kind.can_race,
    "config": lambda kind: kind.default_config,
}
"""Options that only some workflows support."""


class RunFlags(Frozen):
    """The options from the command line."""

    jobs: int | None = None
    on_failure: str | None = None
    race: str | None = None
    once: bool = False
    no_baseline: bool = False
    keep_going: bool = False
    no_probe: bool = False
    model: str = ""
    no_wait: bool = False
    try_now: bool = False
    budget: str | None = None
    record: Path | None = None
    quiet: bool = False
    as_json: bool = False

    @property
    def watching(self) -> ViewOptions:
        return ViewOptions(quiet=self.quiet, as_json=self.as_json)

    def options(self, config: str = "") -> Options:
        return Options(
            once=self.once,
            jobs=self.jobs or 1,
            abrupt=self.on_failure == "stop",
            baseline=not self.no_baseline,
            keep_going=self.keep_going,
            model=self.model,
            wait=not self.no_wait,
            try_now=self.try_now,
            budget=parse_budget(self.budget) if self.budget else None,
            config=config,
            record=self.record,
        )

    def check(self, kind: WorkflowType, config: str = "") -> None:
        """Refuse options that this workflow does not support."""
        given = {"jobs": (self.jobs or 1) > 1, "on_failure": self.on_failure, "race": self.race is not None}
        for name, is_given in (given | {"config": config}).items():
            if is_given and not SUPPORTED[name](kind):
                raise _not_for(kind, name)


NAMES = tuple(one.name for one in fields(RunFlags))


def _not_for(kind: WorkflowType, name: str) -> RalphError:
    option = f"--{name.replace('_', '-')}"
    *others, last = (one.name for one in WORKFLOWS.values() if SUPPORTED[name](one))
    those = " and ".join(filter(None, (", ".join(others), last)))
    why = f" {kind.one_at_a_time}" if name == "jobs" else ""
    return RalphError(
        f"{option} does not apply to the {kind.name} workflow, only to {those}.{why}", remedy=f"Leave {option} out."
    )


def running_options(
    help_json: str = "Print events as JSON Lines.", kind: WorkflowType | None = None
) -> Callable[[Any], Any]:
    """Adds the options to a command, which gets them as `flags`.

    `kind`: the command runs only this workflow, so its help does not show what the workflow does not support.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def collected(**given: Any) -> int:
            flags = RunFlags(**{name: given.pop(name) for name in NAMES})
            return command(flags=flags, **given)

        decorated: Callable[..., int] = collected
        for option in reversed(
            (*OPTIONS, trust_option, click.option("--json", "as_json", is_flag=True, help=help_json))
        ):
            decorated = option(decorated)
        parameters: list[click.Option] = getattr(decorated, "__click_params__", [])
        for one in parameters:
            one.hidden = bool(kind and one.name in SUPPORTED and not SUPPORTED[one.name](kind))
        return decorated

    return decorate
