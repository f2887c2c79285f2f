"""Which gates a configuration asks for, and which results are red; `gates.py` runs them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ralph.config import Config
from ralph.plan.model import Gate, GateResult


def default_gates(config: Config) -> tuple[Gate, ...]:
    """Return the gates of every task: `gates`, or else the commands of `verify.default`."""
    if config.gates is None:
        return simple_gates(config.verify.default, config)
    return tuple(
        Gate(
            name=gate.name,
            command=gate.command,
            required=gate.required,
            timeout=gate.timeout or config.verify.timeout,
            report=gate.report,
        )
        for gate in config.gates
    )


def simple_gates(commands: Iterable[str], config: Config) -> tuple[Gate, ...]:
    """Return commands as gates that are named after themselves."""
    return tuple(Gate(name=command, command=command, timeout=config.verify.timeout) for command in commands)


def waived(gates: Iterable[Gate], names: Collection[str]) -> tuple[Gate, ...]:
    """Return the gates; those that a person has waived are not required."""
    return tuple(replace(gate, required=False) if gate.name in names else gate for gate in gates)


def red(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """Return the required gates that did not pass."""
    return tuple(result for result in results if result.required and not result.passed)
