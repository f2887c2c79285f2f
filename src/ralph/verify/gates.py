"""Gates: the project's own commands, run as the person wrote them. Their exit codes decide, nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph import safe_files
from ralph.config import Config
from ralph.plan.model import Gate, GateResult
from ralph.process import environment, spawn
from ralph.process.spawn import ExitKind, Limits, ProcessEnd
from ralph.verify.output import first_failing, in_brief, useful

MAX_COMMAND = 100


@dataclass(frozen=True, kw_only=True)
class GateRun:
    """Where gates are run and who hears of them."""

    cwd: Path
    logs: Path
    owner: str
    label: str
    environment: Mapping[str, str] = field(repr=False)  # all that a gate sees
    ui_variables: Mapping[str, str] = field(default_factory=dict)  # where services are, for the gates that need them
    fresh: Callable[[], Awaitable[object]] | None = None  # brings tracked files back before each gate but the first
    in_place: bool = False  # this is where an agent worked
    started: Callable[[Gate], None]
    ended: Callable[[GateResult], None]
    secrets: tuple[str, ...] = field(default_factory=lambda: environment.secrets_in(os.environ), repr=False)

    def show(self, gate: Gate) -> Gate:
        """A gate as it may be told: a secret that was put into its command is not."""
        secrets = environment.Redactor(self.secrets)
        return replace(gate, name=secrets.text(gate.name), command=secrets.text(gate.command))


def gate_environment(config: Config, variables: Mapping[str, str]) -> dict[str, str]:
    """What a gate sees of a person's environment: the same allow-list as an agent, and nothing of Ralph's."""
    allowed = environment.allowed(os.environ, config.verify.env)
    return {**{name: value for name, value in allowed.items() if not name.startswith("RALPH_")}, **variables}


def default_gates(config: Config) -> tuple[Gate, ...]:
    """The gates of every task: `gates`, or else the commands of `verify.default`."""
    if config.gates is None:
        return simple_gates(config.verify.default, config)
    return tuple(
        Gate(
            name=gate.name,
            command=gate.command,
            required=gate.required,
            timeout=gate.timeout or config.verify.timeout,
        )
        for gate in config.gates
    )


def simple_gates(commands: Iterable[str], config: Config) -> tuple[Gate, ...]:
    """Commands as gates that are called as they are written."""
    return tuple(Gate(name=command, command=command, timeout=config.verify.timeout) for command in commands)


async def run_all(gates: Iterable[Gate], bench: GateRun, *, first: int = 1) -> tuple[GateResult, ...]:
    """Run every gate, also after a red one: whoever mends it should see all that is wrong."""
    results = []
    for number, gate in enumerate(gates, first):
        if bench.fresh and number > 1:
            await bench.fresh()
        bench.started(bench.show(gate))
        result = await _run(gate, bench, bench.logs / f"{bench.label}-gate{number}-{_slug(gate.name)}.log")
        bench.ended(result)
        results.append(result)
    return tuple(results)


def red(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """The required gates that did not pass."""
    return tuple(result for result in results if result.required and not result.passed)


def explain(results: Iterable[GateResult]) -> str:
    """What is wrong, for notes and for the next prompt."""
    return "\n\n".join(f"The gate {called(result)} failed: {describe(result)}" for result in red(results))


def called(result: GateResult) -> str:
    """A gate by its name and its command, which may be the same; a very long command leaves room for the reason."""
    name, command = (in_brief(text, MAX_COMMAND) for text in (result.name, result.command))
    return f"`{command}`" if result.name == result.command else f"{name} (`{command}`)"


def describe(result: GateResult) -> str:
    """Why it is red; its first line can stand alone."""
    why = first_failing(result.output)
    return f"{result.reason}: {why}\n\n{result.output}" if why else f"{result.reason}."


async def _run(gate: Gate, bench: GateRun, log: Path) -> GateResult:
    secrets = environment.Redactor(bench.secrets)
    with safe_files.open_new(log, buffering=1 << 16) as file:
        ended = await spawn.run(
            ["/bin/sh", "-c", gate.command],
            cwd=bench.cwd,
            env=bench.environment,
            owner=bench.owner,
            out=lambda data: file.write(secrets.feed(data)),
            limits=Limits(total=gate.timeout, grace=2.0),
        )
        file.write(secrets.flush())
    passed = ended.how is ExitKind.EXITED and ended.code == 0
    shown = bench.show(gate)
    result = GateResult(
        name=shown.name,
        command=shown.command,
        passed=passed,
        required=gate.required,
        seconds=ended.seconds,
        code=ended.code,
        log=str(log),
        in_place=bench.in_place,
    )
    return result if passed else replace(result, reason=_reason(gate, ended), output=useful(log))


def _reason(gate: Gate, ended: ProcessEnd) -> str:
    if ended.how is ExitKind.TIMED_OUT:
        return f"it did not end within its time limit of {gate.timeout:g} s, so its whole process tree was ended"
    if ended.code < 0:
        return f"it was ended by signal {-ended.code}"
    hint = " (command not found)" if ended.code == 127 else ""
    return f"exit code {ended.code}{hint}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "gate"
