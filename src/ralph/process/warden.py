"""The warden: a shell beside Ralph that ends everything Ralph started as soon as Ralph dies, also by `kill -9`.

It is `warden.sh`, and waits for a line on a pipe that only Ralph holds. Ralph writes the line when its work is over. If
the pipe ends without it, Ralph is dead, and the shell becomes `ralph.process.sweep`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ralph.process import cgroup, tree
from ralph.process.brand import brand_for, branding
from ralph.process.table import MARK

SCRIPT = Path(__file__).with_suffix(".sh")
OVER = b"over\n"
MAX_REPLACED = 10
"""Wardens of one run that are replaced: where a shell cannot wait, one after the other would end at once."""
INIT = 1  # the first process of a container
SWEEP = "import sys; sys.path.insert(0, sys.argv[1]); from ralph.process.sweep import main; main(*sys.argv[2:])"


@contextmanager
def guarding(owner: str) -> Iterator[None]:
    """Adopt orphans, and have a warden watch over everything that `owner` starts in this block."""
    if os.getpid() == INIT:  # all processes here end with this one, and orphans come to it in any case
        tree.adopt_orphans()
        yield
        return
    warden = _Pipe(owner)
    warden.open()
    try:
        with branding(brand_for(owner)):
            yield
    finally:
        warden.close()


class _Pipe:
    """Ralph's end of the pipe to its warden. A warden that is ended by somebody is replaced."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._group = cgroup.made(brand_for(owner))
        self._descriptor = -1
        self._pid = 0  # of the warden
        self._replaced = 0

    def open(self) -> None:
        tree.adopt_orphans(False)  # otherwise the warden would be Ralph's child in the end
        try:
            self._descriptor = self._to_a_warden()
        except OSError:  # no process can be started: the next command ends what a kill leaves running
            return
        finally:
            tree.adopt_orphans()
        if sys.platform.startswith("linux"):  # elsewhere a pipe's writing end need not tell that its reader is gone
            asyncio.get_running_loop().add_reader(self._descriptor, self._reopen)

    def close(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            with suppress(OSError):
                os.write(self._descriptor, OVER)  # fails if the warden is gone, and then its number may be another's
                if self._pid:
                    os.kill(self._pid, signal.SIGCONT)  # one that somebody has stopped would wait for ever
            os.close(self._descriptor)
        self._descriptor = -1

    def _reopen(self) -> None:
        self.close()
        self._replaced += 1
        if self._replaced <= MAX_REPLACED:
            self.open()

    def _to_a_warden(self) -> int:
        theirs, ours = os.pipe()
        home, group = (self._group.parent, self._group) if self._group else ("", "")
        root = Path(__file__).parents[2]
        sweep = (sys.executable, "-I", "-c", SWEEP, root, self._owner, group)
        try:
            shell = subprocess.run(
                ["/bin/sh", SCRIPT, str(os.getpid()), home, group, *sweep],
                stdin=theirs,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in ("PATH", MARK) if name in os.environ},
                cwd="/",
                start_new_session=True,
                check=False,
            )
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._pid = int(shell.stdout) if shell.stdout.strip().isdigit() else 0
        return ours
