"""Says which new files take the place of something that the gates rely on."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from posixpath import basename, dirname, join, splitext

from ralph.audit.commands import Call
from ralph.audit.conventions import is_test_file
from ralph.audit.files import ChangedFile, Tree
from ralph.plan.evidence import Concern, ConcernKind

_ON_START = ("sitecustomize.py", "usercustomize.py")
_PYTHON_TOOLS_WORDS = """
    pytest _pytest py pluggy iniconfig coverage hypothesis mypy ruff flake8 pylint black isort tox nox nose nose2
    unittest2 mock xdist pytest_cov pytest_asyncio pytest_mock pip setuptools pkg_resources behave
"""
_PYTHON_TOOLS = frozenset(_PYTHON_TOOLS_WORDS.split())
_PYTHON_CALLS_WORDS = """
    pytest py.test unittest coverage mypy ruff flake8 pylint tox nox manage.py black nose2 behave pre-commit
"""
_PYTHON_CALLS = frozenset(_PYTHON_CALLS_WORDS.split())
_ENVIRONMENT = re.compile(
    r"\.env(?:\.(?!example|sample|template|dist)\w+)?|\.envrc|\.tool-versions|mise\.toml|\.mise\.toml"
)


def shadowed(changes: Mapping[str, ChangedFile], calls: Sequence[Call], work: Tree) -> Iterator[Concern]:
    """Return a concern for each file that is new or changed and comes before what it looks like.

    `work` is the whole tree, whose paths are read only if they can matter.
    """
    if not calls:
        return
    is_python = any(basename(call.program) in _PYTHON_CALLS or call.program.endswith(".py") for call in calls)
    places = _places(calls, changes.values()) if is_python else set()
    on_path = {place for call in calls for place in call.path}
    programs = {basename(call.program) for call in calls}
    for change in changes.values():
        if change.after is None:
            continue
        if text := _general(change) or _module(change, places, work) or _program(change, on_path, programs):
            yield Concern(kind=ConcernKind.DEFINITIONS, path=change.path, line=1, text=text)


def _general(change: ChangedFile) -> str:
    name = basename(change.path)
    if name in _ON_START:
        return f"Python runs `{name}` before anything else"
    if name.endswith(".pth"):
        return "Python reads this file before anything else, and runs its imports"
    if "node_modules" in change.path.split("/")[:-1]:
        return "an installed package is part of the change: it takes the place of what the package manager installs"
    if _ENVIRONMENT.fullmatch(name):
        return f"`{name}` sets the environment in which the gates run"
    return ""


def _places(calls: Iterable[Call], changes: Iterable[ChangedFile]) -> set[str]:
    """The folders from which Python imports when a gate runs: the root, where tests are, and what the gate adds."""
    found = {"", "src", "lib", *(call.folder for call in calls), *(place for call in calls for place in call.path)}
    found.update(word.strip("/") for call in calls for word in call.arguments if not word.startswith("-"))
    found.update(
        dirname(change.path) for change in changes if is_test_file(change.path) and change.path.endswith(".py")
    )
    return found | {"tests", "test"}


def _module(change: ChangedFile, places: set[str], work: Tree) -> str:
    """A new module of the name of a module of Python, of a tool, or of the project."""
    if change.before is not None or not change.path.endswith(".py"):
        return ""
    name = splitext(basename(change.path))[0]
    folder = dirname(change.path)
    if name == "__init__":
        name, folder = basename(folder), dirname(folder)
    if folder not in places:
        return ""
    if name not in sys.stdlib_module_names and name not in _PYTHON_TOOLS:
        own = _other_of_name(name, folder, work.paths)
        return f"the new module `{name}` may be imported instead of `{own}`" if own else ""
    kind = "the tool" if name in _PYTHON_TOOLS else "Python's own module"
    return f"the new module `{name}` is imported instead of {kind} `{name}`"


def _other_of_name(name: str, folder: str, paths: Set[str]) -> str:
    """A module of the same name elsewhere in the project that a test imports by this name; empty if there is none."""
    if name == "conftest" or (folder and f"{folder}/__init__.py" in paths):
        return ""  # it is imported as a part of the package around it
    others = (
        join(root, path)
        for root in ("", "src", "lib")
        if root != folder
        for path in (f"{name}.py", f"{name}/__init__.py")
    )
    return next((path for path in others if path in paths), "")


def _program(change: ChangedFile, on_path: set[str], programs: set[str]) -> str:
    """A new file of the name of a program, in a folder that a gate puts on PATH."""
    name = basename(change.path)
    if change.before is None and dirname(change.path) in on_path and (name in programs or _is_program(name)):
        return f"the gate runs this new `{name}` instead of the installed one, because its folder is on PATH"
    return ""


def _is_program(name: str) -> bool:
    return name in (
        "python",
        "python3",
        "node",
        "npm",
        "npx",
        "sh",
        "bash",
        "make",
        "git",
        "grep",
        "test",
        "diff",
        "pytest",
    )
