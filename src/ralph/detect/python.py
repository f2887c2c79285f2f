"""The checks that a Python project is set up for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from posixpath import dirname

from ralph.audit.settings import read
from ralph.detect.found import FoundGate, FoundIn
from ralph.detect.project import Project, Table, table, within

MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini", "noxfile.py")
LINTERS = {"ruff": "ruff check", "flake8": "flake8"}
TYPES = {"mypy": "mypy", "pyright": "pyright", "basedpyright": "basedpyright"}
FILES = {
    "ruff": ("ruff.toml", ".ruff.toml"),
    "flake8": (".flake8",),
    "mypy": ("mypy.ini", ".mypy.ini"),
    "pyright": ("pyrightconfig.json",),
    "pytest": ("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py", "tests/conftest.py"),
}


def gates(project: Project) -> Iterator[FoundGate]:
    if not project.has(*MANIFESTS) and not project.named(_is_test):
        return
    tests = _tests(project)
    if tests:
        yield tests
    for tool, words in LINTERS.items():
        why = _why(project, tool)
        if why:
            fixes = within(project.toml("pyproject.toml"), "tool", "ruff").get("fix") is True
            yield _gate(project, f"{words} --no-fix" if fixes else words, why, "lint")
            break
    if within(project.toml("pyproject.toml"), "tool", "ruff", "format") and _why(project, "ruff"):
        yield _gate(project, "ruff format --check", "[tool.ruff.format] in pyproject.toml", "format")
    elif black := _why(project, "black"):
        yield _gate(project, "black --check .", black, "format")
    for tool, words in TYPES.items():
        why = _why(project, tool)
        if why:
            settings = within(project.toml("pyproject.toml"), "tool", tool)
            has_files = (
                tool != "mypy" or bool(settings.keys() & {"files", "packages", "modules"}) or _ini_files(project)
            )
            yield _gate(project, words if has_files else f"{words} .", why, "types")
            break


def _tests(project: Project) -> FoundGate | None:
    settings = within(project.toml("pyproject.toml"), "tool")
    if within(settings, "pytest"):
        name = "tool.pytest.ini_options" if "ini_options" in within(settings, "pytest") else "tool.pytest"
        return _gate(project, "pytest", f"[{name}] in pyproject.toml", "test")
    for path, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if any(key[0] == section for key in read(path, project.text(path)) or {}):
            return _gate(project, "pytest", f"[{section}] in {path}", "test")
    if path := project.has(*FILES["pytest"]):
        return _gate(project, "pytest", f"there is {path}", "test")
    if _depends_on(project, "pytest"):
        return _gate(project, "pytest", f"{_depends_on(project, 'pytest')} names pytest", "test")
    if path := project.has("noxfile.py"):
        return _gate(project, "nox", f"there is {path}", "test")
    if any(key[0].startswith(("tox", "testenv")) for key in read("tox.ini", project.text("tox.ini")) or {}):
        return _gate(project, "tox -e py", "[testenv] in tox.ini", "test")  # not every Python is installed
    if project.has("manage.py"):
        return _gate(project, "python manage.py test", "there is manage.py", "test")
    if path := project.named(_is_test):
        folder = dirname(path)
        is_found = not folder or project.has(f"{folder}/__init__.py")  # unittest looks only into packages by itself
        how = "-m unittest" if is_found else f"-m unittest discover -s {shlex.quote(folder)}"
        runner = project.manager[0] or project.venv
        command = project.python(f"python {how}") if runner else f"python3 {how}"
        if "import pytest" in project.text(path):
            command = project.python("pytest")
        return FoundGate(command=command, why=f"there is {path}", source=FoundIn.SETTINGS, covers=_covers("test"))
    return None


def _gate(project: Project, words: str, why: str, kind: str) -> FoundGate:
    runner, lock = project.manager
    also = f", and {lock}" if runner else f", and {project.venv}/" if project.venv else ""
    return FoundGate(command=project.python(words), why=f"{why}{also}", source=FoundIn.SETTINGS, covers=_covers(kind))


def _covers(kind: str) -> frozenset[tuple[str, str]]:
    return frozenset({("python", kind)})


def _why(project: Project, tool: str) -> str:
    """Return what says that the project uses a tool."""
    if tool in within(project.toml("pyproject.toml"), "tool"):
        return f"[tool.{tool}] in pyproject.toml"
    if path := project.has(*FILES.get(tool, ())):
        return f"there is {path}"
    for path in ("setup.cfg", "tox.ini"):
        if any(key[0] == tool for key in read(path, project.text(path)) or {}):
            return f"[{tool}] in {path}"
    return ""


def _ini_files(project: Project) -> bool:
    paths = ("mypy.ini", ".mypy.ini", "setup.cfg")
    return any(key[-1] in ("files", "packages") for path in paths for key in read("a.ini", project.text(path)) or {})


def _depends_on(project: Project, package: str) -> str:
    """Return the file that names a package as a dependency."""
    word = re.compile(rf"(?mi)^\s*[\"']?{package}\b")
    for path in (
        "requirements-dev.txt",
        "requirements.txt",
        "dev-requirements.txt",
        "test-requirements.txt",
        "Pipfile",
    ):
        if word.search(project.text(path)):
            return path
    settings = project.toml("pyproject.toml")
    poetry = within(settings, "tool", "poetry")
    tables: tuple[Table, ...] = (
        settings, within(settings, "project"), poetry, within(settings, "tool", "uv"),
        *(table(one) for one in within(poetry, "group").values()),
    )  # fmt: skip
    keys = ("dependencies", "optional-dependencies", "dependency-groups", "dev-dependencies")
    named = str([one.get(key) for one in tables for key in keys])
    return "pyproject.toml" if re.search(rf"['\"]{package}\b", named) else ""


def _is_test(name: str) -> object:
    return re.fullmatch(r"test_\w+\.py|\w+_test\.py", name)
