"""Held-out gates: what agents may learn about a result that they must not see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ralph.frozen import Frozen
from ralph.plan.model import Gate, GateResult, Tells
from ralph.verify.output import first_failing, in_brief

MAX_SUMMARY = 200
HIDDEN = "[held out]"


class LaidFiles(Frozen):
    """The held-out files that are in a clean copy while their gate runs."""

    logs: Path  # the folder for the gate's log, which agents do not see
    paths: tuple[str, ...]
    changed: Callable[[], tuple[str, ...]] = tuple  # those that are not as they were laid any more


def told(gate: Gate, result: GateResult, paths: Iterable[str]) -> GateResult:
    """Return a held-out gate's result as everyone may read it: no output, no log, no names of tests."""
    assert gate.held_out, "only a held-out gate has something to hide"
    shown = replace(result, name=gate.name, command=gate.command, output="", log="", report="", tests="")
    shown = replace(shown, held_out=True)
    if result.passed:
        return shown
    if gate.held_out.tells is not Tells.SUMMARY:
        return replace(shown, reason="it is held out, so agents cannot see what it checks")
    return replace(shown, reason=f"it is held out; in short: {_summary(result, paths)}")


def _summary(result: GateResult, paths: Iterable[str]) -> str:
    """Return in one line what failed, without the paths of held-out files."""
    line = first_failing(result.output)
    for path in sorted(paths, key=len, reverse=True):
        module = path.rpartition(".")[0].replace("/", ".")  # as test runners call it
        for name in filter(None, (path, module, path.rpartition("/")[2])):
            line = line.replace(name, HIDDEN)
    return in_brief(": ".join(filter(None, (result.tests or result.reason, line))), MAX_SUMMARY)
