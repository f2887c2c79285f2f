"""`ralph ui`: shows all plans and runs in a browser, live."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.errors import RalphError
from ralph.views.lines import say, say_json_line

if TYPE_CHECKING:
    from ralph.web.address import Address
    from ralph.web.project import CommandFacts

NEEDED = ("starlette", "uvicorn")


@click.command(
    name="ui",
    epilog="""\b
Examples:
  ralph ui                        this project, in your browser
  ralph ui ~/shop ~/blog          several projects
  ralph ui --no-open              print the link only, for a machine without a browser
  ralph ui --read-only            nobody can decide anything there
  ralph ui --host 0.0.0.0 --cert cert.pem --key key.pem
  ralph ui --behind-proxy https://ralph.example.com""",
)
@click.argument("paths", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", type=click.IntRange(1, 65535), help="Listen on this port. [default: 4747, or one that is free]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--open/--no-open", "opens", default=None, help="Open a browser. [default: if there is one here]")
@click.option("--read-only", is_flag=True, help="Show everything, and let nobody decide anything.")
@click.option("--cert", default="", help="The TLS certificate, a PEM file.")
@click.option("--key", default="", help="The key of the certificate, a PEM file.")
@click.option(
    "--behind-proxy", "proxy", default="", metavar="URL", help="A proxy passes requests on from this address."
)
@click.option("--json", "as_json", is_flag=True, help="Print where it is as a line of JSON.")
def command(
    paths: tuple[Path, ...],
    port: int | None,
    host: str,
    opens: bool | None,
    read_only: bool,
    cert: str,
    key: str,
    proxy: str,
    as_json: bool,
) -> int:
    """Show all plans and runs of this project, or of the projects at PATHS, in a browser, live. Ctrl-C ends it; runs go
    on.

    It prints a link that works once. Only browsers that have opened such a link see anything."""
    check_installed()
    from ralph.web import address

    wanted = address.Address(host=host, port=port, cert=cert, key=key, proxy=proxy)
    address.check(wanted)
    address.check_certificate(wanted)
    show(paths or (Path.cwd(),), wanted, opens=opens, read_only=read_only, as_json=as_json)
    return 0


def show(
    paths: tuple[Path, ...],
    wanted: Address,
    *,
    opens: bool | None = None,
    read_only: bool = False,
    as_json: bool = False,
    then: Callable[[], None] | None = None,
) -> None:
    """Serve the dashboard until somebody stops it; `then` is called when browsers are let in."""
    from ralph.web import project, server

    def ready(link: str) -> None:
        if as_json:
            say_json_line(json.dumps({"url": link, "pid": os.getpid(), "readOnly": read_only}))
        else:
            say(f"The dashboard is ready. This link lets one browser in, once:\n  {link}\nCtrl-C ends it.", hang=2)
        sys.stdout.flush()
        if opens or (opens is None and not as_json and _has_browser()):
            open_browser(link)
        if then:
            then()

    server.serve(project.projects(paths), facts(), wanted, read_only=read_only, ready=ready)


def facts() -> CommandFacts:
    """What the dashboard must be told, because it does not import commands."""
    from ralph.cli.status import plan_of, unseen_pages
    from ralph.web.project import CommandFacts

    return CommandFacts(unseen=unseen_pages, plan_of=plan_of)


def check_installed() -> None:
    """Say how to install what the dashboard needs, if it is missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        from ralph import installation

        raise RalphError(
            f"The dashboard needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed.",
            remedy=f"Install it with `{installation.this().extra('web')}`.",
        )


def open_browser(link: str) -> None:
    """Open the link as the person's desktop would; without a browser, the link in the terminal is enough."""
    import webbrowser

    webbrowser.open(link)


def _has_browser() -> bool:
    """Whether a browser can show something here: not over SSH, in a container or in CI."""
    if os.environ.get("SSH_CONNECTION") or os.environ.get("CI") or not sys.stdout.isatty():
        return False
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
