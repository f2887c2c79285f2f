"""The checks among the targets of make, just, Task, and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.audit import makefiles
from ralph.detect.ci import ecosystem_of
from ralph.detect.found import FoundGate, FoundIn
from ralph.detect.kinds import covers, named
from ralph.detect.project import Project, within

NAME = re.compile(r"[A-Za-z0-9][\w.:-]{0,60}")
JUSTFILES = ("justfile", "Justfile", ".justfile")
TASKFILES = ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "Taskfile.dist.yml")
_RECIPE = re.compile(r"(?m)^@?([A-Za-z][\w-]*)(?:[ \t]+[^:=\n]*)?:(?!=)")


def gates(project: Project) -> Iterator[FoundGate]:
    if path := project.has(*makefiles.NAMES):
        names = [name for name in makefiles.read(project.text(path), path).targets if NAME.fullmatch(name)]
        yield from _of(project, "make", names, path)
    if path := project.has(*JUSTFILES):
        yield from _of(project, "just", _RECIPE.findall(project.text(path)), path)
    if path := project.has(*TASKFILES):
        yield from _of(project, "task", list(within(project.yaml(path), "tasks")), path)
    if poe := within(project.toml("pyproject.toml"), "tool", "poe", "tasks"):
        yield from _of(project, project.python("poe"), list(poe), "pyproject.toml")
    if composer := within(project.json("composer.json"), "scripts"):
        yield from _of(project, "composer", list(composer), "composer.json")
    if tasks := within(project.json(project.has("deno.json", "deno.jsonc")), "tasks"):
        yield from _of(project, "deno task", list(tasks), project.has("deno.json", "deno.jsonc"))


def _of(project: Project, program: str, names: list[str], path: str) -> Iterator[FoundGate]:
    """Return targets that check; one with the name `check` or `ci` comes first, because it may call the others."""
    wanted = [name for name in dict.fromkeys(names[:500]) if NAME.fullmatch(name) and named(name)]
    for name in sorted(wanted, key=lambda name: name not in ("check", "ci", "verify", "validate")):
        command, ecosystem = f"{program} {name}", ecosystem_of(project)
        found = covers(project.tree, command, ecosystem) or frozenset({(ecosystem, named(name))})
        yield FoundGate(command=command, why=f"target {name} in {path}", source=FoundIn.TASK, covers=found)
