"""Runs the commands that prepare a working copy: `worktrees.setup`, `cp`, and offline package managers."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ralph.errors import RalphError
from ralph.process import spawn
from ralph.process.enclosure import Enclosure
from ralph.process.spawn import ExitKind, Limits, ProcessEnd
from ralph.provision.destination import Destination

LAST_LINES = 15
LAST_BYTES = 8_192
UNKNOWN_OPTION = re.compile(r"(unrecognized|illegal|invalid|unknown) option")


class Tail:
    """Writes a program's output to the log and keeps its last lines for an error."""

    def __init__(self, copy: Destination) -> None:
        copy.log.parent.mkdir(parents=True, exist_ok=True)
        self._file = copy.log.open("ab")
        self._clean, self._secrets = copy.secrets.text, copy.secrets.log_stream()
        self._end = b""

    def __enter__(self) -> Tail:
        return self

    def __exit__(self, *_: object) -> None:
        self._write(self._secrets.flush())
        self._file.close()

    def title(self, text: str) -> None:
        self._file.write(f"$ {self._clean(text)}\n".encode(errors="replace"))

    def feed(self, data: bytes) -> None:
        self._write(self._secrets.feed(data))

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._end = (self._end + data)[-LAST_BYTES:]

    @property
    def lines(self) -> tuple[str, ...]:
        shown = self._end.decode(errors="replace").splitlines()
        return tuple(line.rstrip() for line in shown if line.strip())[-LAST_LINES:]


async def set_up(copy: Destination, variables: Mapping[str, str]) -> None:
    """Run the commands of `worktrees.setup` in the working copy, one after another."""
    for index, command in enumerate(copy.settings.setup):
        argv, folder = ["/bin/sh", "-c", command], copy.top / copy.prefix
        ended, tail = await run(copy, argv, folder, variables, title=command, within=copy.within)
        if ended.how is not ExitKind.EXITED or ended.code:
            raise RalphError(
                f"The set-up command `{command}` {reason(copy, ended)} in the working copy {copy.top}.",
                details=tail,
                remedy="It has no terminal and no input. Run it yourself in a fresh clone, then fix "
                f"worktrees.setup[{index}]"
                f"{' or raise worktrees.timeout' if ended.how is ExitKind.TIMED_OUT else ''}. "
                f"Its whole output is in {copy.log}.",
            )


async def clone(copy: Destination, source: Path, target: Path) -> None:
    """Copy a file or folder with its links, times and modes; share disk blocks if the file system can."""
    for options in _options():
        argv = ["cp", *options, "--", str(source), str(target)]
        ended, tail = await run(copy, argv, copy.top, {}, title=shlex.join(argv))
        if not any(UNKNOWN_OPTION.search(line) for line in tail) or os.path.lexists(target):
            break
    if ended.how is not ExitKind.EXITED or ended.code:
        raise RalphError(
            f"{source} could not be copied: `cp` {reason(copy, ended)}.",
            details=tail,
            remedy="Free some disk space or fix its permissions, then run again. Or list it in worktrees.link. "
            'Or set "auto": false under worktrees and create it with worktrees.setup.',
        )


async def run(
    copy: Destination,
    argv: Sequence[str],
    cwd: Path,
    variables: Mapping[str, str],
    *,
    title: str,
    within: Enclosure | None = None,
) -> tuple[ProcessEnd, tuple[str, ...]]:
    """Run a program within `worktrees.timeout`; log all of its output and return its last lines."""
    with Tail(copy) as tail:
        tail.title(title)
        ended = await spawn.run(
            argv,
            cwd=cwd,
            env={**copy.env, **variables},
            owner=copy.owner,
            out=tail.feed,
            limits=Limits(total=copy.settings.timeout, grace=2.0),
            within=within,
        )
    return ended, tail.lines


def reason(copy: Destination, ended: ProcessEnd) -> str:
    """Return why a program failed, as the end of a sentence."""
    if ended.how is ExitKind.TIMED_OUT:
        return f"did not finish within {copy.settings.timeout:g} s, so Ralph ended it"
    if ended.code < 0:
        return f"was ended by signal {-ended.code}"
    return f"failed with exit code {ended.code}{' (command not found)' if ended.code == 127 else ''}"


def _options() -> tuple[tuple[str, ...], ...]:
    """Return options for `cp` that preserve everything: with shared blocks first, then portable ones."""
    sharing = ("-ac",) if sys.platform == "darwin" else ("-a", "--reflink=auto")
    return sharing, ("-pPR",)
