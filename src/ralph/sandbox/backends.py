"""The kinds of sandbox, the strongest first, and which of them work on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.process.blocking import capture_now
from ralph.sandbox import bubblewrap, landlock, seatbelt
from ralph.sandbox.permissions import Network, Permissions

NONE = "none"
CHOSEN = ("auto", "require")
"""Take the strongest kind that works; `require` refuses to run without one."""
MAX_SAID = 200
INSTALL = "Install bubblewrap (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)"


class Backend(Frozen):
    """One kind of sandbox."""

    name: str
    about: str  # what holds inside, for people
    is_present: Callable[[bool], bool]  # given whether a network has to be closed
    command: Callable[[Permissions, Sequence[str], Path], list[str]]
    has_processes: bool = False  # its own processes: all of them end with the first one
    has_exceptions: bool = True  # a part of a writable folder can be read-only
    has_network: bool = False  # its own network, in which the proxy's socket is passed on


BACKENDS = (
    Backend(
        name="bubblewrap",
        about="read-only machine, own processes and /tmp",
        is_present=bubblewrap.is_present,
        command=bubblewrap.command,
        has_processes=True,
        has_network=True,
    ),
    Backend(
        name="landlock",
        about="read-only machine; /tmp and processes are shared",
        is_present=landlock.is_present,
        command=landlock.command,
        has_exceptions=False,
    ),
    Backend(
        name="seatbelt",
        about="read-only machine; /tmp and processes are shared",
        is_present=seatbelt.is_present,
        command=seatbelt.command,
    ),
)
NAMES = tuple(backend.name for backend in BACKENDS)


def asked_for(setting: str) -> str:
    """Return the kind that RALPH_SANDBOX asks for, or else the configuration."""
    return os.environ.get("RALPH_SANDBOX") or setting


def choose(setting: str, *, closes: bool = False) -> Backend | None:
    """Return the kind that is asked for; None if programs run without a sandbox.

    `closes`: it must be able to close the network.
    """
    wanted = asked_for(setting)
    if wanted == NONE:
        return None
    if wanted in CHOSEN:
        found = next((backend for backend in BACKENDS if not problem(backend, closes)), None)
        if found is None and (wanted == "require" or closes):
            why = '"sandbox" is "require"' if wanted == "require" else "the network cannot be closed without one"
            raise RalphError(
                f"No sandbox works here, and {why}.",
                details=tuple(f"{backend.name}: {problem(backend, closes)}" for backend in BACKENDS),
                remedy=f'{INSTALL}. Or set "sandbox" to "auto" to run without one.',
            )
        return found
    backend = next((backend for backend in BACKENDS if backend.name == wanted), None)
    if backend is None:
        kinds = ", ".join((*CHOSEN, *NAMES, NONE))
        raise RalphError(f"RALPH_SANDBOX: {wanted!r} is not a kind of sandbox.", remedy=f"Use one of: {kinds}.")
    why = problem(backend, closes)
    if why:
        others = [other.name for other in BACKENDS if other is not backend and not problem(other, closes)]
        instead = f'Set "sandbox" to "{others[0]}", which works here' if others else 'Set "sandbox" to "auto"'
        remedy = f"{INSTALL}. Or {instead[0].lower()}{instead[1:]}." if wanted == "bubblewrap" else f"{instead}."
        raise RalphError(f"The sandbox {wanted!r} does not work here: {why}.", remedy=remedy)
    return backend


@cache
def problem(backend: Backend, closes: bool = False) -> str:
    """Return why a kind of sandbox does not work here; "" if it does. It is tried once, with a short program."""
    if not backend.is_present(closes):
        return "it is not on this machine" + (", or cannot close the network" if closes else "")
    here = Path(os.sep)
    tried = Permissions(writable=(), network=Network(is_open=not closes))
    argv = backend.command(tried, ["/bin/sh", "-c", ":"], here)
    code, said = capture_now(argv, cwd=here, with_errors=True)
    lines = said.decode(errors="replace").strip().splitlines()
    return "" if code == 0 else lines[-1][:MAX_SAID] if lines else f"exit code {code}"
