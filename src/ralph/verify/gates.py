"""Gates: the project's own commands, run as the person wrote them. Only their exit codes decide."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from ralph import safe_files
from ralph.config import Config
from ralph.frozen import Frozen
from ralph.plan.model import Gate, GateResult
from ralph.process import environment, spawn
from ralph.process.enclosure import Enclosure
from ralph.process.redaction import Secrets
from ralph.process.spawn import ExitKind, Limits, ProcessEnd
from ralph.verify.gate_list import missed, red
from ralph.verify.held_out import LaidFiles, told
from ralph.verify.output import first_failing, in_brief, useful
from ralph.verify.reports import ReportFiles
from ralph.verify.schedule import Schedule
from ralph.verify.side_by_side import SideBySide

MAX_COMMAND = 100
CANNOT_START = (126, 127)
"""The shell's exit codes for a command that it cannot execute or find."""
LATE = "it did not finish"


class GateRun(Frozen):
    """Where gates run, and the callbacks for their progress."""

    cwd: Path
    logs: Path
    owner: str
    label: str
    environment: Mapping[str, str] = field(repr=False)  # all that a gate sees
    ui_variables: Mapping[str, str] = field(default_factory=dict)  # addresses of services, for the gates that need them
    fresh: Callable[[], Awaitable[object]] | None = None  # restores tracked files before each gate but the first
    renew: Callable[[], Awaitable[object]] | None = None  # makes everything as it was before the first gate
    beside: Callable[[], AbstractAsyncContextManager[GateRun]] | None = None  # the same in another copy of these files
    in_place: bool = False  # this is the agent's working copy
    started: Callable[[Gate], None]
    ended: Callable[[GateResult], None]
    repeated: Callable[[GateResult], None] = lambda result: None  # it was red, and runs again on the same files
    reruns: Callable[[Gate], int] = lambda gate: 0  # how often it may run again, if it is red and can be renewed
    seconds: Callable[[], Mapping[str, float]] = dict  # how long gates took, by name
    fail_fast: bool = False
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


async def run_all(
    gates: Iterable[Gate], bench: GateRun, *, first: int = 1, earlier: Iterable[GateResult] = ()
) -> tuple[GateResult, ...]:
    """Run every gate, even after a red one, so that the next agent sees all problems; the results keep their order.

    `earlier` are the results of gates that ran before: these may need them, and with `fail_fast` a red one ends all.
    """
    return await _Round(tuple(gates), bench, first, tuple(earlier)).run()


class _Round:
    """Gates that run on the same files, each in its turn, and some of them at the same time."""

    def __init__(self, gates: tuple[Gate, ...], bench: GateRun, first: int, earlier: tuple[GateResult, ...]) -> None:
        self._gates, self._bench, self._first = gates, bench, first
        self._results: dict[int, GateResult] = {}
        self._used = first > 1  # a gate may have changed the files of the first copy
        self._schedule = Schedule(
            gates,
            seconds=bench.seconds() if bench.beside and any(gate.parallel for gate in gates) else {},
            beside=bench.beside is not None,
            earlier={result.name: result.passed for result in earlier},
        )
        self._stop_at_red(earlier)

    async def run(self) -> tuple[GateResult, ...]:
        work = SideBySide(self._in_line, self._beside if self._bench.beside else None, self._schedule)
        await work.run()
        for place, gate in enumerate(self._gates):
            if place not in self._results:
                self._miss(place, gate, self._schedule.stopped)
        return tuple(self._results[place] for place in range(len(self._gates)))

    async def _in_line(self, place: int) -> None:
        bench = self._bench
        if self._used and bench.fresh:
            is_own = bench.beside and bench.renew and self._gates[place].parallel
            await (bench.renew() if is_own and bench.renew else bench.fresh())
        self._used = True
        await self._run(place, bench)

    @asynccontextmanager
    async def _beside(self) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
        here = self._bench
        assert here.beside, "there is another copy"
        async with here.beside() as other:
            yield partial(
                self._run,
                bench=replace(
                    other,
                    started=here.started,
                    ended=here.ended,
                    repeated=here.repeated,
                    reruns=here.reruns,
                    confide=here.confide,
                ),
            )

    async def _run(self, place: int, bench: GateRun) -> None:
        gate = self._gates[place]
        began = time.monotonic()
        bench.started(bench.show(gate))
        name = f"{bench.label}-gate{self._first + place}-{_slug(gate.name)}"
        try:
            ran = await _run_until_sure(gate, bench, name)
        except asyncio.CancelledError:
            if self._schedule.stopped:  # by another gate
                self._miss(place, gate, self._schedule.stopped, seconds=time.monotonic() - began)
            raise
        self._end(place, ran.shown)
        if gate.held_out and bench.confide:
            bench.confide(ran.whole)

    def _end(self, place: int, result: GateResult) -> None:
        self._results[place] = result
        self._bench.ended(result)
        self._schedule.finish(place, green=result.passed)
        self._stop_at_red((result,))
        while missed := self._schedule.next_missed():
            other, name = missed
            self._miss(other, self._gates[other], f"it needs {name}, which is not green")

    def _miss(self, place: int, gate: Gate, why: str, seconds: float = 0.0) -> None:
        shown = self._bench.show(gate)
        result = GateResult(
            name=shown.name,
            command=shown.command,
            passed=False,
            required=gate.required,
            seconds=seconds,
            reason=why,
            in_place=self._bench.in_place,
            held_out=gate.held_out is not None,
            not_run=True,
        )
        self._results[place] = result
        self._bench.ended(result)
        self._schedule.finish(place, green=False)

    def _stop_at_red(self, results: Iterable[GateResult]) -> None:
        bad = red(results) if self._bench.fail_fast and not self._schedule.stopped else ()
        if bad:
            self._schedule.stopped = f"{bad[0].name} is red, and verify.failFast is on"


def explain(results: Iterable[GateResult]) -> str:
    """Describe the failures, for notes and for the next prompt."""
    results = tuple(results)
    failed = (f"The gate {called(result)} failed: {describe(result)}" for result in red(results))
    left = (f"The gate {called(result)} {result.how_missed}: {result.reason}." for result in missed(results))
    return "\n\n".join((*failed, *left))


def called(result: GateResult) -> str:
    """Return a gate's name and command, or only the command if they are equal; long ones are shortened."""
    name, command = (in_brief(text, MAX_COMMAND) for text in (result.name, result.command))
    return f"`{command}`" if result.name == result.command else f"{name} (`{command}`)"


def describe(result: GateResult) -> str:
    """Return why a gate is red; the first line can stand alone."""
    why = first_failing(result.output)
    return f"{result.reason}: {why}\n\n{result.output}" if why else f"{result.reason}."


class _Ran(Frozen):
    """What one run of a gate showed."""

    shown: GateResult  # as everyone may read it
    whole: GateResult
    can_differ: bool = True  # another run on the same files may show something else


async def _run_until_sure(gate: Gate, bench: GateRun, name: str) -> _Ran:
    """Run a gate; if it is red and may run again, find out whether it gives another answer on the same files."""
    ran = again = await _run_once(gate, bench, name)
    spent = ran.whole.seconds
    for number in range(1, (bench.reruns(gate) if gate.required and bench.renew else 0) + 1):
        if again.whole.passed or not again.can_differ:
            break
        assert bench.renew, "it is known that the files can be renewed"
        bench.repeated(ran.shown)
        if not gate.held_out:  # its clean copy was renewed when its files were lifted
            await bench.renew()
        again = await _run_once(gate, bench, f"{name}-again{number}")
        spent += again.whole.seconds
    if ran.whole.passed or not again.whole.passed:
        return ran
    how = "" if gate.held_out else f" ({ran.shown.reason})"
    why = f"flaky: it was red{how}, and green when it ran again on the same files"
    shown = replace(again.shown, flaky=True, reason=why, output=ran.shown.output, log=ran.shown.log, seconds=spent)
    return replace(ran, shown=shown)


async def _run_once(gate: Gate, bench: GateRun, name: str) -> _Ran:
    if gate.held_out:
        return await _run_held_out(gate, bench, f"{name}.log")
    result = await _run(gate, bench, bench.logs / f"{name}.log")
    return _Ran(shown=result, whole=result, can_differ=_can_differ(result))


async def _run_held_out(gate: Gate, bench: GateRun, log: str) -> _Ran:
    """Run a gate with its held-out files and its log elsewhere; what is shown says no more than agents may learn."""
    assert bench.lay, "held-out gates run only where their files can be laid"
    async with bench.lay(gate) as laid:
        whole = await _run(gate, bench, laid.logs / log)
        broken = laid.changed()  # the gate runs the agent's code
        if broken:
            whole = replace(
                whole, passed=False, reason=f"held-out files were changed while it ran: {', '.join(broken)}"
            )
    shown = told(bench.show(gate), whole, laid.paths)
    return _Ran(shown=shown, whole=whole, can_differ=not broken and _can_differ(whole))


def _can_differ(result: GateResult) -> bool:
    """Return whether another run could tell more: not of a command that cannot start, or that takes for ever."""
    return result.code not in CANNOT_START and not result.reason.startswith(LATE)


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
        return f"{LATE} within its time limit of {gate.timeout:g} s, so Ralph ended its whole process tree"
    if ended.code < 0:
        return f"signal {-ended.code} ended it"
    hint = " (command not found)" if ended.code == 127 else ""
    return f"exit code {ended.code}{hint}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "gate"
