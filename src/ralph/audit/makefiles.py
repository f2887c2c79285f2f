"""Reads a Makefile as targets and variables, as far as a gate needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

NAMES = ("GNUmakefile", "makefile", "Makefile")  # the first that exists is the one that make reads
ALWAYS = ("SHELL", ".SHELLFLAGS", "MAKEFLAGS", "PATH", ".DEFAULT_GOAL", "BASH_ENV", "ENV")
SPECIAL = (".IGNORE", ".ONESHELL")  # targets after which a recipe can fail, and make does not
_MARKS = "@-+ \t"  # before a command of a recipe
_VARIABLE = re.compile(
    r"\s*(?:override\s+)?(?P<export>export\s+)?(?P<name>[\w.-]+)\s*(?P<how>[:?+!]?:{0,2})=\s?(?P<value>.*)"
)
_TARGET = re.compile(r"(?P<names>[^\s:#=][^:#=]*?)\s*::?(?!=)\s*(?P<needs>[^;#]*)(?:;(?P<recipe>.*))?")
_INCLUDE = re.compile(r"\s*-?s?include\s+(?P<files>.+)")
_STEERS_TOOLS = re.compile(
    r"(?:PYTEST|PYTHON|NODE|MOCHA|JEST|VITEST|CARGO|RUST|GO|MAKE|RUFF|MYPY|ESLINT|COVERAGE|TOX|NPM|LD)_?[A-Z_]*|CI"
)
_REFERENCE = re.compile(r"\$[({](?P<name>[\w.-]+)[)}]")


@dataclass
class MakeTarget:
    """A target: the line of it, what it needs, and what it runs."""

    line: int
    path: str
    needs: list[str] = field(default_factory=list)
    recipe: list[str] = field(default_factory=list)

    @property
    def commands(self) -> str:
        return "\n".join(line.lstrip(_MARKS) for line in self.recipe)

    @property
    def text(self) -> str:
        """What it needs and runs. A `-` before a command stays, because make then ignores that the command failed."""
        lines = (("-" if "-" in _marks(line) else "") + line.lstrip(_MARKS) for line in self.recipe)
        return "\n".join(filter(None, (" ".join(self.needs), *lines)))


@dataclass(frozen=True)
class MakeVariable:
    """A variable: its value, the file and the line of it, and whether programs get it."""

    value: str
    line: int
    path: str
    is_exported: bool = False


@dataclass
class Makefile:
    """All targets and variables, with those of the files that it includes."""

    targets: dict[str, MakeTarget] = field(default_factory=dict)
    variables: dict[str, MakeVariable] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)

    @property
    def steering(self) -> list[str]:
        """The variables that change what every recipe does."""
        exported = (name for name, one in self.variables.items() if one.is_exported and _STEERS_TOOLS.fullmatch(name))
        return list(dict.fromkeys((*(name for name in ALWAYS if name in self.variables), *exported)))

    def is_remade(self, name: str) -> bool:
        """Whether make runs a target whatever files there are: it is phony, or needs another target."""
        phony = self.targets.get(".PHONY")
        needs = self.targets[name].needs
        return bool(phony and name in phony.needs) or any(need in self.targets for need in needs)

    def value(self, name: str) -> str:
        return self.variables[name].value if name in self.variables else ""

    @property
    def first(self) -> str:
        goal = self.value(".DEFAULT_GOAL")
        return goal or next((name for name in self.targets if not name.startswith(".") and "%" not in name), "")

    def used_by(self, text: str) -> set[str]:
        """The variables that a recipe uses, and those that they use."""
        found: set[str] = set()
        waiting = [match["name"] for match in _REFERENCE.finditer(text)]
        while waiting:
            name = waiting.pop()
            if name in self.variables and name not in found:
                found.add(name)
                waiting += [match["name"] for match in _REFERENCE.finditer(self.value(name))]
        return found

    def expanded(self, text: str) -> str:
        for _ in range(4):
            done = _REFERENCE.sub(lambda match: self.value(match["name"]), text)[:20_000]
            if done == text:
                break
            text = done
        return text


def read(text: str, path: str, into: Makefile | None = None) -> Makefile:
    """Read one file; `into` is the Makefile that includes it."""
    made = into or Makefile()
    current: list[MakeTarget] = []
    for line, content in _logical(text):
        if content.startswith("\t") and current:
            for target in current:
                target.recipe.append(content.strip())
        elif not content.strip() or content.lstrip().startswith("#"):
            continue
        elif match := _INCLUDE.match(content):
            made.includes += match["files"].split()
        elif match := _VARIABLE.match(content):
            before = made.value(match["name"]) + " " if match["how"].startswith("+") else ""
            if not (match["how"] == "?" and match["name"] in made.variables):
                value = before + match["value"].strip()
                made.variables[match["name"]] = MakeVariable(value, line, path, bool(match["export"]))
        elif match := _TARGET.match(content):
            current = _targets(made, match, line, path)
    return made


def _targets(made: Makefile, match: re.Match[str], line: int, path: str) -> list[MakeTarget]:
    found = []
    for name in match["names"].split():
        target = made.targets.setdefault(name, MakeTarget(line, path))
        target.needs += match["needs"].replace("|", " ").split()
        if match["recipe"]:
            target.recipe.append(match["recipe"].strip())
        found.append(target)
    return found


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """The lines, with those that end in a backslash joined."""
    begun, parts = 1, []
    for number, line in enumerate(text.splitlines(), 1):
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield begun, " ".join(part if part is parts[0] else part.strip() for part in parts)
            begun, parts = number + 1, []
    if parts:
        yield begun, " ".join(parts)


def _marks(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_MARKS))]
