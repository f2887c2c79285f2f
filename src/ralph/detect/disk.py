"""Reads a project from disk, as git lists it: what git ignores is not the project's own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from ralph import safe_files
from ralph.audit.files import MAX_SIZE, Tree
from ralph.detect.project import Project
from ralph.git import read as git_read

MAX_FILES = 200_000
VENVS = (".venv", "venv", "env")


def project_at(root: Path) -> Project:
    """Return the project in a folder, with the repository around it."""
    listed = git_read.show(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = listed.split("\0") if listed else (path.name for path in root.iterdir())
    paths = [name for name in islice(names, MAX_FILES) if name]
    top = git_read.top(root)
    prefix = "" if top is None or top == root.resolve() else f"{root.resolve().relative_to(top).as_posix()}/"
    above = _tree(top, _around(top)) if top and prefix else None
    return Project(tree=_tree(root, paths), above=above, prefix=prefix, venv=_venv(root))


def _tree(folder: Path, paths: Iterable[str]) -> Tree:
    listed = frozenset(paths)
    return Tree(lambda path: safe_files.read(folder / path, MAX_SIZE) if path in listed else None, lambda: listed)


def _around(top: Path) -> list[str]:
    """Return what the repository says about CI and its package manager."""
    listed = git_read.show(top, "ls-files", "-z", "--cached", "--", ".github/workflows", ":(glob)*", ".circleci")
    return [name for name in listed.split("\0") if name]


def _venv(root: Path) -> str:
    """Return the project's own environment, unless it is active: its programs are found then."""
    active = os.environ.get("VIRTUAL_ENV", "")
    for name in VENVS:
        if (root / name / "pyvenv.cfg").is_file() and (root / name / "bin" / "python").exists():
            return "" if active and Path(active).resolve() == (root / name).resolve() else name
    return ""
