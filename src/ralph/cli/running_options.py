"""The options of every command that runs a plan: defined once, parsed into one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from ralph.cli.running import Watching
from ralph.engine.lifecycle import Options
from ralph.errors import RalphError
from ralph.workflows.registry import WORKFLOWS, WorkflowType

OPTIONS = (
    click.option("-j", "--jobs", type=click.IntRange(1, 64), metavar="N", help="Run N independent tasks in parallel."),
    click.option(
        "--on-failure",
        type=click.Choice(["wait", "stop"]),
        help="When a task of a request fails: let the others end (wait, the default), or stop them.",
    ),
    click.option("--once", is_flag=True, help="Make one attempt, then stop."),
    click.option("--no-baseline", is_flag=True, help="Do not run the gates before the first attempt."),
    click.option("--keep-going", is_flag=True, help="Continue although a gate cannot run at all."),
    click.option("--model", default="", help="The model the agent is told to use."),
    click.option("-q", "--quiet", is_flag=True, help="Only warnings and the closing summary."),
)


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """The options from the command line."""

    jobs: int | None = None
    on_failure: str | None = None
    once: bool = False
    no_baseline: bool = False
    keep_going: bool = False
    model: str = ""
    quiet: bool = False
    as_json: bool = False

    @property
    def watching(self) -> Watching:
        return Watching(quiet=self.quiet, as_json=self.as_json)

    def options(self, config: str = "") -> Options:
        return Options(
            once=self.once,
            jobs=self.jobs or 1,
            abrupt=self.on_failure == "stop",
            baseline=not self.no_baseline,
            keep_going=self.keep_going,
            model=self.model,
            config=config,
        )

    def check(self, kind: WorkflowType, config: str = "") -> None:
        """Refuse options that this workflow does not support."""
        if (self.jobs or 1) > 1 and not kind.is_parallel:
            raise _not_for(kind, "--jobs", [one.name for one in WORKFLOWS.values() if one.is_parallel])
        if self.on_failure and not kind.can_halt:
            raise _not_for(kind, "--on-failure", [one.name for one in WORKFLOWS.values() if one.can_halt])
        if config and not kind.default_config:
            raise _not_for(kind, "--config", [one.name for one in WORKFLOWS.values() if one.default_config])


def _not_for(kind: WorkflowType, option: str, names: list[str]) -> RalphError:
    those = " and ".join(names)
    return RalphError(
        f"{option} does not apply to the {kind.name} workflow, only to {those}.", remedy=f"Leave {option} out."
    )


def running_options(help_json: str = "Events as JSON Lines on standard output.") -> Callable[[Any], Any]:
    """Adds the options to a command, which gets them as `flags`."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def collected(
            *,
            jobs: int | None,
            on_failure: str | None,
            once: bool,
            no_baseline: bool,
            keep_going: bool,
            model: str,
            quiet: bool,
            as_json: bool,
            **rest: object,
        ) -> int:
            flags = RunFlags(
                jobs=jobs,
                on_failure=on_failure,
                once=once,
                no_baseline=no_baseline,
                keep_going=keep_going,
                model=model,
                quiet=quiet,
                as_json=as_json,
            )
            return command(flags=flags, **rest)

        decorated: Callable[..., int] = collected
        for option in reversed((*OPTIONS, click.option("--json", "as_json", is_flag=True, help=help_json))):
            decorated = option(decorated)
        return decorated

    return decorate
