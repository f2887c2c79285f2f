"""Reads a Makefile as targets and variables, as far as a gate needs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

NAMES = ("GNUmakefile", "makefile", "Makefile")  # the first that exists is the one that make reads
ALWAYS = ("SHELL", ".SHELLFLAGS", "MAKEFLAGS", "PATH", ".DEFAULT_GOAL", "BASH_ENV", "ENV")
SPECIAL = (".IGNORE", ".ONESHELL")  # targets after which a recipe can fail, and make does not
_MARKS = "@-+ \t"  # before a command of a recipe
_VARIABLE = re.compile(r"\s*(?:export\s+|override\s+)?(?P<name>[\w.-]+)\s*(?P<how>[:?+!]?:{0,2})=\s?(?P<value>.*)")
_TARGET = re.compile(r"(?P<names>[^\s:#=][^:#=]*?)\s*::?(?!=)\s*(?P<needs>[^;#]*)(?:;(?P<recipe>.*))?")
_INCLUDE = re.compile(r"\s*-?s?include\s+(?P<files>.+)")
_REFERENCE = re.compile(r"\$[({](?P<name>[\w.-]+)[)}]")


@dataclass
class MakeTarget:
    """A target: the line of it, what it needs, and what it runs."""

    line: int
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


@dataclass
class Makefile:
    """All targets and variables."""

    targets: dict[str, MakeTarget] = field(default_factory=dict)
    variables: dict[str, tuple[str, int]] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)

    @property
    def first(self) -> str:
        goal = self.variables.get(".DEFAULT_GOAL", ("", 0))[0]
        return goal or next((name for name in self.targets if not name.startswith(".") and "%" not in name), "")

    def used_by(self, text: str) -> set[str]:
        """The variables that a recipe uses, and those that they use."""
        found: set[str] = set()
        waiting = [match["name"] for match in _REFERENCE.finditer(text)]
        while waiting:
            name = waiting.pop()
            if name in self.variables and name not in found:
                found.add(name)
                waiting += [match["name"] for match in _REFERENCE.finditer(self.variables[name][0])]
        return found

    def expanded(self, text: str) -> str:
        for _ in range(4):
            done = _REFERENCE.sub(lambda match: self.variables.get(match["name"], ("", 0))[0], text)[:20_000]
            if done == text:
                break
            text = done
        return text


def read(text: str) -> Makefile:
    made = Makefile()
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
            before = made.variables.get(match["name"], ("", 0))[0] + " " if match["how"].startswith("+") else ""
            if not (match["how"] == "?" and match["name"] in made.variables):
                made.variables[match["name"]] = (before + match["value"].strip(), line)
        elif match := _TARGET.match(content):
            current = _targets(made, match, line)
    return made


def _targets(made: Makefile, match: re.Match[str], line: int) -> list[MakeTarget]:
    found = []
    for name in match["names"].split():
        target = made.targets.setdefault(name, MakeTarget(line))
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
