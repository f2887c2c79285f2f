"""Gates: the project's own commands, run as the person wrote them. Only their exit codes decide."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field, replace
from pathlib import Path

from ralph import safe_files
from ralph.config import Config
from ralph.frozen import Frozen
from ralph.plan.model import Gate, GateResult
from ralph.process import environment, spawn
from ralph.process.enclosure import Enclosure
from ralph.process.redaction import Secrets
from ralph.process.spawn import ExitKind, Limits, ProcessEnd
from ralph.verify.gate_list import red
from ralph.verify.held_out import LaidFiles, told
from ralph.verify.output import first_failing, in_brief, useful
from ralph.verify.reports import ReportFiles

MAX_COMMAND = 100


class GateRun(Frozen):
    """Where gates run, and the callbacks for their progress."""

    cwd: Path
    logs: Path
    owner: str
    label: str
    environment: Mapping[str, str] = field(repr=False)  # all that a gate sees
    ui_variables: Mapping[str, str] = field(default_factory=dict)  # addresses of services, for the gates that need them
    fresh: Callable[[], Awaitable[object]] | None = None  # restores tracked files before each gate but the first
    in_place: bool = False  # this is the agent's working copy
    started: Callable[[Gate], None]
    ended: Callable[[GateResult], None]
    lay: Callable[[Gate], AbstractAsyncContextManager[LaidFiles]] | None = None  # None: nothing can be held out here
    confide: Callable[[GateResult], None] | None = None  # tells only the person about a held-out gate
    secrets: Secrets = field(repr=False)
    within: Enclosure | None = None  # the sandbox around each gate

    def show(self, gate: Gate) -> Gate:
        """Return a gate for display, with secrets in its command redacted."""
        return self.secrets.clean(gate)


def gate_environment(config: Config, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a gate: the same kind of allow-list as for agents, and no variables of Ralph's."""
    allowed = environment.allowed(os.environ, config.verify.env)
    return {**{name: value for name, value in allowed.items() if not name.startswith("RALPH_")}, **variables}


async def run_all(gates: Iterable[Gate], bench: GateRun, *, first: int = 1) -> tuple[GateResult, ...]:
    """Run every gate, even after a red one, so that the next agent sees all problems."""
    results = []
    for number, gate in enumerate(gates, first):
        if bench.fresh and number > 1:
            await bench.fresh()
        bench.started(bench.show(gate))
        name = f"{bench.label}-gate{number}-{_slug(gate.name)}.log"
        if gate.held_out:
            result = await _run_held_out(gate, bench, name)
        else:
            result = await _run(gate, bench, bench.logs / name)
            bench.ended(result)
        results.append(result)
    return tuple(results)


def explain(results: Iterable[GateResult]) -> str:
    """Describe the failures, for notes and for the next prompt."""
    return "\n\n".join(f"The gate {called(result)} failed: {describe(result)}" for result in red(results))


def called(result: GateResult) -> str:
    """Return a gate's name and command, or only the command if they are equal; long ones are shortened."""
    name, command = (in_brief(text, MAX_COMMAND) for text in (result.name, result.command))
    return f"`{command}`" if result.name == result.command else f"{name} (`{command}`)"


def describe(result: GateResult) -> str:
    """Return why a gate is red; the first line can stand alone."""
    why = first_failing(result.output)
    return f"{result.reason}: {why}\n\n{result.output}" if why else f"{result.reason}."


async def _run_held_out(gate: Gate, bench: GateRun, log: str) -> GateResult:
    """Run a gate with its held-out files and its log elsewhere; the result says no more than agents may learn."""
    assert bench.lay, "held-out gates run only where their files can be laid"
    async with bench.lay(gate) as laid:
        whole = await _run(gate, bench, laid.logs / log)
        if changed := laid.changed():  # the gate runs the agent's code
            whole = replace(
                whole, passed=False, reason=f"held-out files were changed while it ran: {', '.join(changed)}"
            )
    result = told(bench.show(gate), whole, laid.paths)
    bench.ended(result)
    if bench.confide:
        bench.confide(whole)
    return result


async def _run(gate: Gate, bench: GateRun, log: Path) -> GateResult:
    output = bench.secrets.log_stream()
    reports = ReportFiles(gate.report, bench.cwd, pass_with_no_tests=gate.pass_with_no_tests)
    with safe_files.open_new(log, buffering=1 << 16) as file:
        ended = await spawn.run(
            ["/bin/sh", "-c", gate.runs],
            cwd=bench.cwd,
            env=bench.environment,
            owner=bench.owner,
            out=lambda data: file.write(output.feed(data)),
            limits=Limits(total=gate.timeout, grace=2.0),
            within=bench.within,
        )
        file.write(output.flush())
    passed = ended.how is ExitKind.EXITED and ended.code == 0
    found = reports.read(passed=passed)
    show = bench.show(gate)
    shown = show.held_out or show
    result = GateResult(
        name=shown.name,
        command=shown.command,
        passed=passed and not found.problem,
        required=gate.required,
        seconds=ended.seconds,
        code=ended.code,
        log=str(log),
        in_place=bench.in_place,
        tests=found.counts,
        report=found.save(log.with_suffix(".tests.json"), bench.secrets),
    )
    if result.passed:
        return result
    reason = f"{_reason(gate, ended)}, but {found.problem}" if passed else _reason(gate, ended)
    said = "\n\n".join(filter(None, (bench.secrets.text(found.failures), useful(log))))
    return replace(result, reason=reason, output=said)


def _reason(gate: Gate, ended: ProcessEnd) -> str:
    if ended.how is ExitKind.TIMED_OUT:
        return f"it did not finish within its time limit of {gate.timeout:g} s, so Ralph ended its whole process tree"
    if ended.code < 0:
        return f"signal {-ended.code} ended it"
    hint = " (command not found)" if ended.code == 127 else ""
    return f"exit code {ended.code}{hint}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "gate"
