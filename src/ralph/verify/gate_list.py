"""Which gates a configuration asks for, and which results are red; `gates.py` runs them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from ralph.config import IN_PLACE, Config, GateSetting
from ralph.plan.model import Gate, GateResult, HeldOut, Tells

MANY = 3
"""Flaky answers after which Ralph proposes not to require a gate."""
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
        needs=gate.needs,
        parallel=_is_parallel(gate.parallel, config),
    )
    if not gate.held_out:
        return made
    tells = Tells(config.held_out.tells)
    name = UNNAMED if tells is Tells.NOTHING else gate.name
    held_out = HeldOut(name=gate.name, command=gate.command, files=gate.files, tells=tells)
    return replace(made, name=name, command=name, held_out=held_out)


def simple_gates(commands: Iterable[str], config: Config) -> tuple[Gate, ...]:
    """Return commands as gates that are named after themselves."""
    parallel = _is_parallel(None, config)
    return tuple(
        Gate(name=command, command=command, timeout=config.verify.timeout, parallel=parallel) for command in commands
    )


def _is_parallel(own: bool | None, config: Config) -> bool:
    """Return whether a gate runs beside others; gates in a slot share its files, so they never do."""
    wanted = config.verify.parallel
    return wanted is not False and config.verify.where != IN_PLACE and bool(wanted if own is None else own)


def waived(gates: Iterable[Gate], names: Collection[str]) -> tuple[Gate, ...]:
    """Return the gates; those that a person has waived are not required, and no other gate needs them."""
    if not names:
        return tuple(gates)
    return tuple(
        replace(
            gate,
            required=gate.required and gate.name not in names,
            needs=tuple(name for name in gate.needs if name not in names),
        )
        for gate in gates
    )


def red(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """Return the required gates that ran and did not pass."""
    return tuple(result for result in results if result.required and not result.passed and not result.not_run)


def missed(results: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """Return the required gates that did not run; nothing passes without them."""
    return tuple(result for result in results if result.required and result.not_run)


def quarantine(name: str, times: int) -> str:
    """Return what Ralph proposes about a gate that was flaky so many times; "" if that is not often."""
    if times < MANY:
        return ""
    how = '"required": false in gates of ralph.config.json makes it a warning'
    return f"The gate {name} was flaky {times} times. Repair it, or quarantine it: {how}."
