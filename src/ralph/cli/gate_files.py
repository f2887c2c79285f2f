"""Proposes to protect the files that define the gates: `ralph init` shows them, and the person decides."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ralph import safe_files
from ralph.audit.files import MAX_SIZE, Tree
from ralph.audit.gate_files import gate_files
from ralph.git import read as git_read
from ralph.views.lines import say

MAX_SHOWN = 10


def proposed(root: Path, commands: Sequence[str]) -> tuple[str, ...]:
    """Return the files of a project that define these gates, without those that git ignores."""
    if not commands:
        return ()
    listed = git_read.show(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    paths = listed.split("\0") if listed else (path.name for path in root.iterdir())
    there = [path for path in paths if path]
    found = gate_files(Tree(lambda path: safe_files.read(root / path, MAX_SIZE), lambda: there), commands)
    return tuple(path for path in found if safe_files.is_file(root / path))


def chosen(files: Sequence[str], wanted: bool | None, *, can_write: bool = True) -> tuple[str, ...]:
    """Show the files, and return those that the person wants to protect; nobody is asked without a terminal."""
    if not files:
        if wanted:
            say("No file defines these gates and nothing else, so there is none to protect.")
        return ()
    say("These files define your gates, and nothing else:")
    for name in files[:MAX_SHOWN]:
        say(f"  {name}")
    if len(files) > MAX_SHOWN:
        say(f"  and {len(files) - MAX_SHOWN} more")
    if wanted is None and can_write and sys.stdin.isatty():
        wanted = click.confirm("Protect them, so that no agent can change them?", default=False)
    if not wanted or not can_write:
        say("→ Agents may change them; such work is held for you. To protect them, list them in protect.")
        return ()
    say("They are protected: an attempt that changes one of them fails. protect in ralph.config.json lists them.")
    return tuple(map(only, files))


def only(path: str) -> str:
    """Return a glob that matches only this path."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in os.fspath(path))
