"""The part of `ralph.config.json` about notifications: whom Ralph tells what, and what of an address is never shown."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, get_args

from ralph import validation
from ralph.config_agents import Line
from ralph.config_section import Bounds, ConfigSection
from ralph.errors import RalphError
from ralph.patterns import lazy

NotifyKind = Literal["finished", "blocked", "needs-you", "limit", "budget"]
KINDS: tuple[NotifyKind, ...] = get_args(NotifyKind)
FIELDS = {"desktop": "", "command": "command", "webhook": "url", "ntfy": "url", "apprise": "url"}
"""What each way to be told needs besides its name."""
VARIABLE = lazy(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
WEB = lazy(r"https?://(?!/)\S+")
PIECE = lazy(r"[/?#&=@:,;]+")


class NotifySettings(ConfigSection):
    """One way to tell a person what happened."""

    to: Annotated[
        Literal["desktop", "command", "webhook", "ntfy", "apprise"],
        "desktop, command, webhook (a JSON POST), ntfy, or apprise (any address that Apprise knows).",
    ]
    command: Annotated[
        Line | None, "With command: run by a shell; it gets the message as JSON on its standard input."
    ] = None
    url: Annotated[
        Line | None, "With webhook, ntfy and apprise: the address; ${NAME} stands for an environment variable."
    ] = None
    on: Annotated[tuple[NotifyKind, ...], Bounds(min_length=1), "What to tell; all of it by default."] = KINDS
    ui: Annotated[
        str,
        Bounds(pattern=r"^(https?://\S+)?$"),
        "With ntfy: the address at which `ralph ui` is reached from your phone, for buttons; empty: no buttons.",
    ] = ""

    @property
    def name(self) -> str:
        """What a person calls it: no part of an address that could be a secret, and no value of a variable."""
        about = shown(self.url) if self.url else self.command or ""
        return f"{self.to} {about}".rstrip()


def shown(url: str) -> str:
    """Return what may be shown of an address: the scheme, and the host where it is no secret."""
    scheme, found, rest = url.partition("://")
    if not found:
        return url if VARIABLE.fullmatch(url) else "…"
    if scheme not in ("http", "https"):
        return f"{scheme}://…"  # services put their tokens where others have a host
    return f"{scheme}://{_host(rest)}/…"


ADDRESS_LINE = lazy(r'("url"\s*:\s*)"((?:[^"\\]|\\.)*)"')


def without_addresses(line: str) -> str:
    """Return a line of the configuration with nothing of an address that could be a secret."""
    return ADDRESS_LINE.sub(lambda found: f'{found[1]}"{shown(found[2])}"', line)


def _host(rest: str) -> str:
    return re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]


def expanded(url: str, environment: Mapping[str, str]) -> str:
    """Return an address with the values of its variables."""
    for name in VARIABLE.findall(url):
        if not environment.get(name):
            raise RalphError(
                f"The variable {name} is not set, which the address {shown(url)} needs.",
                remedy=f"Set {name} where you start Ralph.",
            )
    return VARIABLE.sub(lambda found: environment[found[1]].strip(), url)


def secrets(settings: Iterable[NotifySettings], environment: Mapping[str, str]) -> dict[str, str]:
    """Return what must not be written anywhere: the values in addresses, each with where it comes from."""
    from ralph.process.secret_values import MIN_SECRET, is_ordinary  # most projects notify nobody

    found: dict[str, str] = {}
    for index, one in enumerate(settings):
        try:
            url = expanded(one.url or "", environment)
        except RalphError:
            continue  # whoever sends says so
        where = f"notify[{index}].url"
        found |= {piece: where for piece in _pieces(url) if len(piece) >= MIN_SECRET and not is_ordinary(piece)}
        for name in VARIABLE.findall(one.url or ""):
            value = environment[name].strip()
            if len(value) >= MIN_SECRET and not WEB.fullmatch(value):
                found[value] = name
    return found


def _pieces(url: str) -> Iterator[str]:
    from urllib.parse import unquote

    scheme, _, rest = url.partition("://")
    host = _host(rest) if scheme in ("http", "https") else ""
    before, _, after = rest.partition(host) if host else ("", "", rest)
    for piece in (*PIECE.split(before), *PIECE.split(after)):
        yield from dict.fromkeys((piece, unquote(piece)))


def mistakes_in(document: validation.Json) -> Iterable[str]:
    """No mistake repeats an address: it may contain a secret."""
    listed = document.get("notify")
    for index, one in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(one, dict) and one.get("to") in FIELDS:
            yield from (f"notify[{index}]{mistake}" for mistake in _mistakes(str(one["to"]), one))


def _mistakes(to: str, given: validation.Json) -> Iterator[str]:
    needed = FIELDS[to]
    for field in ("command", "url"):
        if field != needed and given.get(field) is not None:
            yield f".{field}: has no meaning with {to!r}"
    if needed and given.get(needed) is None:
        yield f".{needed}: missing, and {to!r} needs it"
    if given.get("ui") and to != "ntfy":
        yield ".ui: has no meaning without 'ntfy'"
    url = given.get("url")
    if needed == "url" and isinstance(url, str):
        if "${" in VARIABLE.sub("", url):
            yield ".url: a variable is written ${NAME}, with letters, digits and _"
        elif VARIABLE.fullmatch(url):
            return
        elif to != "apprise" and not WEB.fullmatch(url):
            yield ".url: does not begin with https:// or http://"
        elif to == "ntfy" and not url.rstrip("/").partition("://")[2].partition("/")[2]:
            yield ".url: has no topic, as in https://ntfy.sh/TOPIC"
