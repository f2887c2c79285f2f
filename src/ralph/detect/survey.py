"""Looks at a project from every side, and chooses the gates to propose: for each kind of check, the best evidence."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.detect import ci, manifests, node, python, services, tasks
from ralph.detect.found import Aspect, Findings, FoundFact, FoundGate, FoundIn
from ralph.detect.project import Project

FINDERS = (ci.gates, tasks.gates, node.gates, python.gates, manifests.gates)
KINDS = ("test", "lint", "types", "format", "build")
MAX_GATES = 8
LOCKS = {
    "uv.lock": "uv", "poetry.lock": "Poetry", "pdm.lock": "PDM", "Pipfile.lock": "Pipenv", "Cargo.lock": "Cargo",
    "go.sum": "Go", "Gemfile.lock": "Bundler", "composer.lock": "Composer", "mix.lock": "Mix", "deno.lock": "Deno",
    **node.LOCKS,
}  # fmt: skip


def survey(project: Project) -> Findings:
    """Return what to propose for a project."""
    every = [gate for finder in FINDERS for gate in finder(project)]
    return Findings(
        gates=tuple(chosen(every)),
        services=tuple(services.services(project)),
        facts=(*_locks(project), *services.facts(project)),
    )


def chosen(found: list[FoundGate]) -> list[FoundGate]:
    """Return gates that together cover everything that was found, each only if it covers something new."""
    taken: list[FoundGate] = []
    covered: set[Aspect] = set()
    for gate in sorted(found, key=lambda gate: (gate.source, _is_part(gate))):
        if len(taken) >= MAX_GATES or _essence(gate.command) in {_essence(one.command) for one in taken}:
            continue
        new = {aspect for aspect in gate.covers if aspect not in covered}
        if ("any", "lint") in new and any(kind == "lint" for _, kind in covered):
            new.discard(("any", "lint"))  # hooks run the linters that are there already
        # CI tells unit from integration tests, which no table does
        if gate.covers if gate.source is FoundIn.CI else {kind for _, kind in new} - {"build"}:
            taken.append(gate)
            covered |= gate.covers
    taken = [gate for gate in taken if not _is_covered(gate, taken)]
    return sorted(taken, key=lambda gate: min((KINDS.index(kind) for _, kind in gate.covers), default=0))


def _is_part(gate: FoundGate) -> int:
    """Commands that cover more come first, so that what they cover is not proposed again."""
    return -len(gate.covers)


def _essence(command: str) -> str:
    """Return a command without its options: CI calls the same check with several."""
    return " ".join(word for word in command.split() if not word.startswith("-"))


def _is_covered(gate: FoundGate, taken: list[FoundGate]) -> bool:
    return gate.source is not FoundIn.CI and any(gate.covers < one.covers for one in taken)


def _locks(project: Project) -> Iterator[FoundFact]:
    for name, tool in LOCKS.items():
        if name in project.tree.paths:
            yield FoundFact(what=f"{tool} installs the dependencies", why=name)
