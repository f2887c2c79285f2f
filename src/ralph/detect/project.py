"""A project as a list of paths and a reader: all that the modules of this package look at."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from posixpath import basename, dirname

from ralph.audit.files import Tree
from ralph.detect import yaml_lines
from ralph.text import plain

MAX_TEXT = 200_000  # bytes of a file that is read; a larger one is data, not something that a person wrote
MAX_COMMAND = 300
RUNNERS = {"uv.lock": "uv run", "poetry.lock": "poetry run", "pdm.lock": "pdm run", "Pipfile.lock": "pipenv run"}
Table = dict[str, object]


@dataclass(frozen=True)
class Project:
    """One project: its files, and those of the repository around it that say what CI runs."""

    tree: Tree
    above: Tree | None = None  # the repository, if the project is a folder of it
    prefix: str = ""  # the project's folder in the repository: "" or "packages/web/"
    venv: str = ""  # the project's own environment, if it is not the active one: ".venv"
    _parsed: dict[str, Table] = field(default_factory=dict)

    @staticmethod
    def of(files: dict[str, str], **more: str) -> Project:
        """Return a project that is not on disk."""
        tree = Tree(lambda path: files[path].encode() if path in files else None, lambda: files)
        return Project(tree=tree, **more)  # type: ignore[arg-type]  # only texts are given

    @cached_property
    def names(self) -> frozenset[str]:
        """The names in the project's own folder."""
        return frozenset(path.split("/", 1)[0] for path in self.tree.paths)

    def has(self, *names: str) -> str:
        """Return the first of these files that is there."""
        return next((name for name in names if name in self.tree.paths), "")

    def ending(self, *endings: str) -> str:
        """Return the first file with one of these endings."""
        return min((path for path in self.tree.paths if path.endswith(endings)), default="")

    def named(self, is_wanted: Callable[[str], object]) -> str:
        """Return the first file whose name is wanted."""
        return min((path for path in self.tree.paths if is_wanted(basename(path))), default="")

    def text(self, path: str) -> str:
        """Return a file of the project; empty if there is none, or if it is no text that a person wrote."""
        found = self.tree.text(path) or ""
        return found if len(found) <= MAX_TEXT else ""

    def toml(self, path: str) -> Table:
        return self._read(path, tomllib.loads)

    def json(self, path: str) -> Table:
        return self._read(path, json.loads)

    def yaml(self, path: str) -> Table:
        return self._read(path, yaml_lines.loads)

    def _read(self, path: str, read: Callable[[str], object]) -> Table:
        if path not in self._parsed:
            try:
                self._parsed[path] = table(read(self.text(path)))
            except (ValueError, RecursionError):
                self._parsed[path] = {}
        return self._parsed[path]

    @cached_property
    def manager(self) -> tuple[str, str]:
        """Return how programs of the project's Python environment are started, and the file that says so."""
        lock = self.has(*RUNNERS)
        return RUNNERS.get(lock, ""), lock

    def python(self, command: str) -> str:
        """Return a command of a Python tool as this project starts it."""
        runner, _ = self.manager
        if runner:
            return f"{runner} {command}"
        return f"{self.venv}/bin/{command}" if self.venv else command


def table(value: object) -> Table:
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def within(settings: Table, *keys: str) -> Table:
    """Return a table inside of others; empty if any of them is missing."""
    for key in keys:
        settings = table(settings.get(key))
    return settings


def is_plain(command: str) -> bool:
    """Whether a command is one line of a sensible length that only shows itself."""
    return 0 < len(command) <= MAX_COMMAND and "\n" not in command and plain(command) == command


def folders(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(dirname(path) for path in paths)
