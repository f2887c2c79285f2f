"""Which gates a configuration asks for, and which results are red; `gates.py` runs them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ralph.config import Config, GateSetting
from ralph.plan.model import Gate, GateResult, HeldOut, Tells

UNNAMED = "held-out check"
"""The name of every held-out gate about which agents learn nothing."""


def default_gates(config: Config) -> tuple[Gate, ...]:
    """Return the gates of every task: `gates`, or else the commands of `verify.default`."""
    if config.gates is None:
        return simple_gates(config.verify.default, config)
    last = sorted(config.gates, key=lambda gate: gate.held_out)  # nothing that they leave reaches another gate
    return tuple(_gate(gate, config) for gate in last)


def _gate(gate: GateSetting, config: Config) -> Gate:
    made = Gate(
        name=gate.name,
        command=gate.command,
        required=gate.required,
        timeout=gate.timeout or config.verify.timeout,
        report=gate.report,
        pass_with_no_tests=gate.pass_with_no_tests,
        tasks=gate.tasks,
    )
    if not gate.held_out:
        return made
    tells = Tells(config.held_out.tells)
    name = UNNAMED if tells is Tells.NOTHING else gate.name
    held_out = HeldOut(name=gate.name, command=gate.command, files=gate.files, tells=tells)
    return replace(made, name=name, command=name, held_out=held_out)


def simple_gates(commands: Iterable[str], config: Config) -> tuple[Gate, ...]:
    """Return commands as gates that are named after themselves."""
    return tuple(Gate(name=command, command=command, timeout=config.verify.timeout) for command in commands)


def waived(gates: Iterable[Gate], names: Collection[str]) -> tuple[Gate, ...]:
    """Return the gates; those that a person has waived are not required."""
    return tuple(replace(gate, required=False) if gate.name in names else gate for gate in gates)


def red(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """Return the required gates that did not pass."""
    return tuple(result for result in results if result.required and not result.passed)
