"""`ralph hold-out`: keeps checks where agents do not see them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ralph import config as configuration
from ralph import workspace as workspaces
from ralph.audit.files import matches
from ralph.config import Config
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.stores.held_out import HeldOutFile, HeldOutStore, lay, read_files
from ralph.validation import nearest
from ralph.views.lines import say, say_json
from ralph.workflows.manual_edits import check_outside
from ralph.workspace import RALPH, SESSIONS, Workspace

EXAMPLES = """\b
Examples:
  ralph hold-out add tests/acceptance          move these files out of agents' sight
  ralph hold-out add tests/test_login.py --copy   keep your copy in the checkout too
  ralph hold-out list                          what is held out, and which gates use it
  ralph hold-out show tests/test_login.py      print one file
  ralph hold-out remove tests/test_login.py    move it back into the checkout

\b
A gate with "heldOut": true runs with these files. They are in a clean copy only while it runs. Agents see
neither the files nor the gate's output; heldOut.tells says what they learn. See docs/guides/held-out.md."""


@click.group(name="hold-out", epilog=EXAMPLES)
def command() -> None:
    """Keep checks where agents do not see them. Only a person can use this: a process that a run started cannot."""


@command.command(name="add", epilog="Example: ralph hold-out add tests/acceptance tests/test_login.py")
@click.argument("paths", nargs=-1, required=True)
@click.option("--copy", "keeps", is_flag=True, help="Leave the files in the checkout.")
def add(paths: tuple[str, ...], keeps: bool) -> int:
    """Move the files at PATHS (files or folders of this checkout) into the held-out store, each with its path."""
    workspace, config, store = _open()
    files = {file.path: file for path in paths for file in _read(workspace, store, path)}
    store.add(tuple(files.values()))
    for path in files:
        if not keeps:
            (workspace.root / path).unlink()
        say(f"✓ {path} is held out")
    _say_what_git_has(workspace, list(files), keeps=keeps)
    if not any(gate.held_out for gate in config.gates or ()):
        say("→ Add a gate that runs them to gates in ralph.config.json:")
        say('  {"name": "acceptance", "command": "…", "heldOut": true}')
    return 0


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> int:
    """List the held-out files, and the gates that use them."""
    _, config, store = _open()
    rows = [
        {"path": file.path, "bytes": len(file.data), "gates": _gates_for(file.path, config)} for file in store.load()
    ]
    if as_json:
        found = {"folder": str(store.folder), "logs": str(store.logs), "files": rows}
        say_json(found)
        return 0
    for file in store.load():
        gates = ", ".join(_gates_for(file.path, config)) or "no gate uses it"
        say(f"{file.path}  ({gates})")
    if not rows:
        say("Nothing is held out. `ralph hold-out add PATH` holds out files of this checkout.")
    say(f"files  {store.folder}\nlogs   {store.logs}", dim=True)
    return 0


@command.command(name="show")
@click.argument("path")
def show(path: str) -> int:
    """Print the held-out file PATH."""
    workspace, _, store = _open()
    sys.stdout.buffer.write(_find(workspace, store, path).data)
    sys.stdout.flush()
    return 0


@command.command(name="remove", epilog="Example: ralph hold-out remove tests/test_login.py")
@click.argument("paths", nargs=-1, required=True)
@click.option("--discard", is_flag=True, help="Delete the files instead of moving them back.")
def remove(paths: tuple[str, ...], discard: bool) -> int:
    """Hold out PATHS (files or folders) no longer: move the files back into this checkout."""
    workspace, _, store = _open()
    files = {file.path: file for path in paths for file in _below(workspace, store, path)}
    for file in files.values() if not discard else ():
        if not _has_room_for(file, workspace.root):
            raise RalphError(
                f"Your checkout has another {file.path}.",
                remedy="Move it away first. To delete the held-out file instead, use --discard.",
            )
    for file in files.values():
        if not discard:
            lay((file,), workspace.root)
        store.remove(file.path)
        say(f"✓ {file.path} is no longer held out{'; it is deleted' if discard else '. It is back in your checkout'}")
    return 0


def _has_room_for(file: HeldOutFile, root: Path) -> bool:
    """Return whether a file can be put back without replacing anything: there is none, or the same one."""
    here = root / file.path
    if here.resolve() != root.resolve() / file.path or any(above.is_file() for above in here.parents):
        return False  # a link, or a file in place of a folder
    return not here.exists() or (here.is_file() and here.read_bytes() == file.data)


def _open() -> tuple[Workspace, Config, HeldOutStore]:
    workspace = workspaces.find(Path.cwd())
    check_outside(workspace)
    config = configuration.load(workspace.root)
    store = HeldOutStore.of(workspace, config.held_out.folder)
    store.check_outside(git_read.top(workspace.root) or workspace.root)
    return workspace, config, store


def _read(workspace: Workspace, store: HeldOutStore, path: str) -> tuple[HeldOutFile, ...]:
    """Read the files that a person names; refuse what cannot be held out."""
    name = _name(workspace, path)
    here = workspace.root / name
    if not name or ".." in Path(name).parts or Path(name).is_absolute():
        raise RalphError(
            f"{path} is not a file or a folder below the project.",
            remedy=f"Files from elsewhere: put them into {store.folder}, at the paths that they need in the project.",
        )
    if Path(name).parts[0] in (RALPH, SESSIONS, ".git", configuration.NAME):
        raise RalphError(f"{path} belongs to git or to Ralph and cannot be held out.", remedy="Name your own checks.")
    if here.resolve() != workspace.root.resolve() / name:
        raise RalphError(f"{path} is a link and cannot be held out.", remedy="Name the file itself.")
    if not here.exists():
        known = [file.path for file in store.load()]
        held = " It is held out already." if name in known else ""
        raise RalphError(f"There is no {path}.{held}", remedy="Name files or folders of this checkout.")
    files = read_files(workspace.root, here)
    if not files:
        raise RalphError(f"{path} has no files.", remedy="Name a folder with files.")
    return files


def _name(workspace: Workspace, path: str) -> str:
    """Return a path as a person typed it, relative to the project."""
    name = os.path.relpath(Path.cwd() / path, workspace.root)  # unlike resolve(), it follows no link
    return "" if name == "." else name


def _find(workspace: Workspace, store: HeldOutStore, path: str) -> HeldOutFile:
    files = {file.path: file for file in store.load()}
    found = files.get(path) or files.get(_name(workspace, path))
    if not found:
        raise RalphError(f"{path} is not held out{nearest(path, files)}", remedy="`ralph hold-out list` shows what is.")
    return found


def _below(workspace: Workspace, store: HeldOutStore, path: str) -> tuple[HeldOutFile, ...]:
    """Return the files of a folder, or the one file of this name."""
    folder = f"{_name(workspace, path)}/"
    return tuple(file for file in store.load() if file.path.startswith(folder)) or (_find(workspace, store, path),)


def _gates_for(path: str, config: Config) -> list[str]:
    return [gate.name for gate in config.gates or () if gate.held_out and (not gate.files or matches(path, gate.files))]


def _say_what_git_has(workspace: Workspace, paths: list[str], *, keeps: bool) -> None:
    """Say what agents can still find in git."""
    tracked = git_read.show(workspace.root, "ls-tree", "-r", "--name-only", "HEAD", "--", *paths).split("\n")
    tracked = [path for path in paths if path in tracked]
    before = git_read.show(workspace.root, "log", "--all", "-1", "--format=%h", "--", *paths).strip()
    if tracked:
        removal = "git rm -q --cached" if keeps else "git rm -q --cached --ignore-unmatch"
        say(f"! Git tracks {' '.join(tracked)}: agents see that, and a run refuses to start. Commit the removal:")
        say(f"  {removal} {' '.join(tracked)} && git commit -m 'Hold out tests'")
    if before:
        say("! Old commits still have these files, and agents can read old commits. Change what they check,")
        say("  or write them anew.")
