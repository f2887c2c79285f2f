"""What a run knows of its gates from before: how long each took, whether it was red, and how often it was flaky."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.journal.events import Noted
from ralph.journal.reader import flaky_gates
from ralph.plan.model import Gate, GateResult
from ralph.verify.gate_list import quarantine

if TYPE_CHECKING:
    from ralph.engine.run import Run


def gate_seconds(run: Run) -> dict[str, float]:
    """Return how long each gate took when it last ran, by name; what this run saw is newer than the plan's results."""
    passed = sorted((task.result for task in run.plan if task.result), key=lambda result: result.completed_at)
    seen = (*run.before.values(), *run.verified.values())
    results = (gate for gates in (*(result.gates for result in passed), *seen) for gate in gates)
    return {gate.name: gate.seconds for gate in results if not gate.not_run}


def reruns(run: Run, gate: Gate) -> int:
    """Return how often a gate may run again if it is red: not at all if it was red before."""
    return 0 if gate.name in run.red_before.red else run.config.verify.rerun


def propose_quarantine(run: Run, result: GateResult) -> None:
    """Say that a gate was flaky so often that nobody can rely on it; the journal has its last answer already."""
    text = quarantine(result.name, flaky_gates(run.workspace.logs).get(result.name, 0))
    if text:
        run.emit(Noted(text=text, warning=True))
