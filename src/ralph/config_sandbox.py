"""The part of `ralph.config.json` about the sandbox: which kind, and what programs inside may reach."""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from ralph import validation
from ralph.config_agents import Line
from ralph.config_section import Bounds, ConfigSection

Kind = Literal["auto", "require", "bubblewrap", "landlock", "seatbelt", "none"]
NetworkSetting = Literal["full", "none"] | Annotated[tuple[Line, ...], Bounds(max_length=1000)]
MAX_PORT = 65_535
HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?)(?::\d{1,5})?")


class SandboxSettings(ConfigSection):
    """What encloses agents, gates, hooks, services and set-up commands."""

    use: Annotated[
        Kind, "auto: the strongest kind that works here; require: refuse to run without one; or a kind; none."
    ] = "auto"
    network: Annotated[
        NetworkSetting, "Whom agents may talk to: full, none, or a list of hosts (HOST or HOST:PORT)."
    ] = "full"
    gate_network: Annotated[NetworkSetting, "The same for gates and hooks; they always reach the services."] = "full"
    caches: Annotated[
        tuple[Line, ...] | None,
        "Folders outside the project that programs may write (~/… or absolute); null: the caches of the package "
        "managers and compilers on this machine.",
    ] = None
    readable: Annotated[
        tuple[Line, ...], "Paths that programs may read although they hold credentials, such as ~/.npmrc."
    ] = ()


def mistakes_in(document: validation.Json) -> Iterable[str]:
    given = document.get("sandbox")
    settings = given if isinstance(given, dict) else {}
    for key in ("network", "gateNetwork"):
        hosts = settings.get(key)
        if settings.get("use") == "none" and hosts not in (None, "full"):
            yield f"sandbox.{key}: without a sandbox (use is none), nothing closes the network"
        for index, host in enumerate(hosts if isinstance(hosts, list) else ()):
            port = host.rpartition(":")[2] if isinstance(host, str) else ""
            if isinstance(host, str) and (not HOST.fullmatch(host) or (port.isdigit() and int(port) > MAX_PORT)):
                what = "wildcards do not work here: name each host" if "*" in host else "write HOST or HOST:PORT"
                yield f"sandbox.{key}[{index}]: {host!r} is not a host; {what}"
    for key in ("caches", "readable"):
        paths = settings.get(key)
        for index, path in enumerate(paths if isinstance(paths, list) else ()):
            if isinstance(path, str) and not path.startswith(("/", "~/")):
                yield f"sandbox.{key}[{index}]: {path!r} is neither absolute nor below ~/"
