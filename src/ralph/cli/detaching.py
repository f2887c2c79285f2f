"""`ralph run --detach`: starts the same command again in the background, and waits until its run is under way."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from ralph.installation import SELF
from ralph.journal.reader import FILE
from ralph.process import detached
from ralph.process.detached import Detached
from ralph.stores import lock
from ralph.stores.lock import Owner
from ralph.views.lines import say
from ralph.workspace import Workspace

LEFT_OUT = ("detach", "watch", "target")
TAIL = 4_000
PAUSE = 0.05
"""Seconds between two looks whether the run is under way."""


def start(workspace: Workspace, target: str) -> int | None:
    """Start the run of `target` with this command's options in the background.

    Return None when it is under way; the exit code of a run that had nothing to do, or could not begin.

    It reads nothing from a terminal, so everything that is asked must have been answered before: what was approved
    then is on record, and `--trust` is in the environment.
    """
    lock.check_free(workspace.lock)  # the output of a run that is under way must stay
    output = workspace.logs / f"{target}.output.txt"
    argv = [*SELF, "run", target, *_options()]
    child = detached.start(argv, cwd=Path.cwd(), env=os.environ, output=output)
    owner = _under_way(workspace, child)
    if owner is None:
        said = output.read_bytes()[-TAIL:].decode(errors="replace").strip()
        say(said, err=bool(child.returncode))
        return child.returncode
    say(f"{target} runs in the background: run {owner.run}, process {owner.pid}")
    say(f"  output    {os.path.relpath(output)}")
    say(f"→ Watch it: `ralph watch {target}`. Stop it: `ralph stop {target}`. It goes on when this terminal is closed.")
    return None


def _under_way(workspace: Workspace, child: Detached) -> Owner | None:
    """Wait until the run has written its first event; None if its process has ended before that."""
    while child.poll() is None:
        owner = lock.holder(workspace.lock)
        if owner and owner.pid == child.pid and (workspace.logs / owner.run / FILE).exists():
            return owner
        time.sleep(PAUSE)
    return None


def _options() -> list[str]:
    """Return the options that this command was called with."""
    context = click.get_current_context()
    given = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if isinstance(parameter, click.Option) and parameter.name not in LEFT_OUT and value not in (None, False, ""):
            given += [parameter.opts[-1]] if parameter.is_flag else [parameter.opts[-1], str(value)]
    return given
