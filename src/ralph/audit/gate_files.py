"""Which files define the gates and nothing else, so that agents can do without changing them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from posixpath import basename, dirname

from ralph.audit.conventions import is_test_file
from ralph.audit.definitions import LOCKS, is_above
from ralph.audit.files import Tree
from ralph.audit.reached import reach
from ralph.audit.tools import tools_of

MANIFESTS = frozenset(
    {name for names in LOCKS.values() for name in names} | {"setup.cfg", "pom.xml", "build.gradle", "build.gradle.kts"}
)
"""Files that also say what the project depends on: honest work changes them."""


def gate_files(tree: Tree, commands: Sequence[str]) -> tuple[str, ...]:
    """Return the scripts that gates run, and the settings of the tools at their end; no tests, and no manifests."""
    reached = reach(tree, list(commands))
    found = {path for path, _ in reached.pieces}
    for call in reached.calls:
        for tool in tools_of(basename(call.program)):
            found.update(_settings(tree, (*tool.files, *tool.parts), {call.folder}))
    wanted = (path for path in found if basename(path) not in MANIFESTS and not is_test_file(path))
    return tuple(sorted(path for path in wanted if path in tree.paths))


def _settings(tree: Tree, patterns: Sequence[str], folders: set[str]) -> Iterator[str]:
    for path in tree.paths:
        if is_above(dirname(path), folders) and any(fnmatch.fnmatchcase(basename(path), one) for one in patterns):
            yield path
