"""What a run says about its sandbox."""

from __future__ import annotations

from collections.abc import Callable

from ralph.journal import events as e


def show(line: Callable[..., None], event: e.SandboxChosen | e.HostRefused) -> None:
    """Print one of the events about the sandbox."""
    if isinstance(event, e.HostRefused):
        text = f"The sandbox refused a connection to {event.host}. To allow it, add it to {event.setting}."
        line(f"  ! {text}", always=True, fg="yellow")
    elif event.about:
        network = "" if event.network == "full" else f" · network {event.network}"
        line(f"  sandbox {event.kind} · {event.about}{network}", dim=True)
    elif event.wanted == "none":
        line("  no sandbox, as configured: agents and gates can do what you can", dim=True)
    else:
        text = "No sandbox works here: agents and gates can do what you can. `ralph doctor` says why."
        line(f"  ! {text}", always=True, fg="yellow")
