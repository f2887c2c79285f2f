"""The part of `ralph.config.json` about the pages of UI tasks: the services that serve them, and the browser."""

from typing import Annotated

from ralph.config_agents import Line, Seconds
from ralph.config_section import Bounds, ConfigSection

READY = r"^(https?://\S+|tcp://\S+:(\d+|\$\{RALPH_PORT\})|log:.*\S.*)$"


class Service(ConfigSection):
    """A program that must run while UI tasks are checked."""

    name: Annotated[str, Bounds(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    start: Annotated[Line | None, "Command that starts it; null: you start it yourself."] = None
    ready: Annotated[
        str,
        Bounds(pattern=READY),
        "How to tell that it is ready: a URL that answers, tcp://HOST:PORT, or log:REGEX in its output.",
    ]
    ready_timeout: Annotated[Seconds, "Seconds to wait until it is ready."] = 30
    restart_before_verify: Annotated[bool, "Restart it before UI checks."] = True


class BrowserSettings(ConfigSection):
    """Built-in page checks for UI tasks."""

    enabled: Annotated[bool, "false: Ralph checks no pages and runs only verify.ui."] = True
    require: Annotated[bool, "true: refuse to start if a UI task has no page to check."] = False
    executable_path: Annotated[str, "Path to Chrome or Chromium; empty: Ralph looks for one."] = ""
    headless: Annotated[bool, "false: show the browser on your screen."] = True
    screenshot_dir: Annotated[Line, "Folder for screenshots; they are never committed."] = ".ralph/screenshots"
    base_url: Annotated[
        str,
        Bounds(pattern=r"^(https?://\S+)?$"),
        "Base URL of paths in acceptance criteria; empty: the first service with a URL.",
    ] = ""
    timeout: Annotated[Seconds, "Time limit for loading a page, in seconds."] = 30
    ignore: Annotated[tuple[Line, ...], "Regular expressions. Matching findings are ignored."] = ()
