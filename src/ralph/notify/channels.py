"""The ways to tell a person something. Each is a program that gets one message: nothing of it runs inside of Ralph."""

from __future__ import annotations

import html
import json
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from ralph import config_notify, installation
from ralph.config_notify import NotifySettings
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.notify.message import Message, variables
from ralph.notify.news import NewsItem
from ralph.notify.tokens import Permit, TokenAction, TokenStore, url_for
from ralph.plan.decision import FITTING, TaskDecision
from ralph.plan.model import NeedKind
from ralph.process.child import Child
from ralph.process.redaction import Secrets
from ralph.process.spawn import ExitKind, Limits, OpenInput, ProcessEnd, run
from ralph.text import one_line
from ralph.views import words
from ralph.workspace import Workspace

SECONDS, GRACE = 10.0, 0.5
"""How long a message may take on its way, and its program to end after that."""
MAX_OUTPUT = 1 << 16
MAX_SAID, MAX_NAME = 200, 100
SENDER = "import sys; sys.path.insert(0, sys.argv[1]); from ralph.notify.sender import main; main()"
PACKAGES = Path(__file__).parents[2]
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
APPLESCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")
URGENT_TAG, TAG = "rotating_light", "white_check_mark"
MAX_BUTTONS, MAX_TEXT = 3, 4_000  # buttons that ntfy shows, and bytes of text that are no attachment there


class Delivery(Frozen):
    """What became of a message."""

    ok: bool
    said: str


class Order(Frozen):
    """The program that delivers a message, and what it reads."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    variables: Mapping[str, str]
    is_sender: bool = False  # Ralph's own program, which prints what became of it


class NoDesktopError(RalphError):
    """There is no desktop here, which is no mistake: the run may be on a server."""


class NotifyChannel:
    """One configured way, with what it needs from outside."""

    def __init__(
        self,
        settings: NotifySettings,
        workspace: Workspace,
        environment: Mapping[str, str],
        seconds: float = SECONDS,
    ) -> None:
        self.settings, self._seconds = settings, seconds
        self.kinds = frozenset(settings.on)
        self._workspace, self._environment = workspace, environment

    @property
    def name(self) -> str:
        """What a person may see of it."""
        return self._clean(self.settings.name, MAX_NAME)

    @cached_property
    def _secrets(self) -> Secrets:
        address = config_notify.secrets((self.settings,), self._environment)
        return Secrets.of(self._environment, self._workspace.root, more=address)

    def check(self) -> str:
        """Return in a few words how a message would be sent; raise an error if none can be."""
        match self.settings.to:
            case "desktop":
                return f"shown by {Path(_desktop(self._environment)).name}"
            case "command":
                return "run by sh"
            case "apprise":
                _check_apprise()
        address = config_notify.expanded(self.settings.url or "", self._environment)
        if self.settings.to != "apprise" and not config_notify.WEB.fullmatch(address):
            raise RalphError("The address does not begin with https:// or http://.", remedy="Correct it.")
        is_open = urlsplit(address).scheme == "http" and not _is_here(urlsplit(address).hostname or "")
        return "sent without encryption (http)" if is_open else "sent over the network"

    async def send(self, message: Message) -> Delivery:
        """Have the message delivered within the time limit."""
        try:
            order = self._order(message)
        except RalphError as error:
            return Delivery(ok=isinstance(error, NoDesktopError), said=error.what)
        output = _BoundedOutput()
        ended = await run(
            order.argv,
            cwd=self._workspace.root,
            env={**self._environment, **order.variables},
            owner=message.run or "ralph-notify",
            out=output.take,
            stdin=OpenInput(),
            limits=Limits(total=self._seconds, grace=GRACE),
            started=lambda child: output.begin(child, order.stdin),
        )
        return self._result(order, ended, output)

    def _order(self, message: Message) -> Order:
        found, given = variables(message), self.settings
        if given.to == "desktop":
            return Order(argv=_on_desktop(_desktop(self._environment), message), variables=found)
        if given.to == "command":
            data = json.dumps(message.document(), ensure_ascii=False).encode()
            return Order(argv=("sh", "-c", given.command or ""), stdin=data, variables=found)
        url = config_notify.expanded(given.url or "", self._environment)
        body = self._for_ntfy(message) if given.to == "ntfy" else message.document()
        data = json.dumps({"to": given.to, "url": url, "message": body}).encode()
        argv = (sys.executable, "-I", "-c", SENDER, str(PACKAGES))
        return Order(argv=argv, stdin=data, variables={}, is_sender=True)

    def _for_ntfy(self, message: Message) -> dict[str, object]:
        return {
            "title": message.title,
            "message": (message.text or message.title).encode()[:MAX_TEXT].decode(errors="ignore"),
            "priority": 4 if message.is_urgent else 3,
            "tags": [URGENT_TAG if message.is_urgent else TAG],
            "actions": self._buttons(message) if self.settings.ui else [],
        }

    def _buttons(self, message: Message) -> list[dict[str, object]]:
        """Return what a person can do at once; each button works one time."""
        made: list[dict[str, object]] = []
        for item in message.items:
            action = _action(item) if item.task else None
            if not action or len(made) == MAX_BUTTONS:
                continue
            permit = Permit(
                action=action,
                target=message.target,
                task=item.task,
                attempt=item.attempt,
            )
            address = url_for(self.settings.ui, TokenStore.of(self._workspace).make(permit))
            label = f"{action.capitalize()} {item.task}"
            made.append({"action": "http", "label": label, "url": address, "method": "POST", "clear": True})
        return made

    def _result(self, order: Order, ended: ProcessEnd, output: _BoundedOutput) -> Delivery:
        if ended.how is ExitKind.TIMED_OUT:
            return Delivery(ok=False, said=f"no answer within {words.duration(self._seconds)}")
        if output.is_flood:
            return Delivery(ok=False, said=f"it printed more than {MAX_OUTPUT // 1024} KB, so it was ended")
        if order.is_sender:
            found = _answer(bytes(output.data), ended.code)
            return replace(found, said=self._clean(found.said))
        last = self._clean(bytes(output.data).decode(errors="replace").rstrip().rpartition("\n")[2])
        said = f"exit code {ended.code}{f': {last}' if last and ended.code else ''}"
        return Delivery(ok=ended.code == 0, said=said if ended.code else "done")

    def _clean(self, text: str, width: int = MAX_SAID) -> str:
        return words.cut(one_line(self._secrets.text(text)), width)


class _BoundedOutput:
    """What a program prints: its beginning; one that prints without end is ended."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.is_flood = False
        self._child: Child | None = None

    def begin(self, child: Child, stdin: bytes) -> None:
        self._child = child
        assert child.input, "its input was opened"
        child.input.write(stdin)
        child.input.end()

    def take(self, data: bytes) -> None:
        if len(self.data) < MAX_OUTPUT:
            self.data += data[:MAX_OUTPUT]
        elif self._child and not self.is_flood:
            self.is_flood = True
            self._child.answered()


def channels(settings: tuple[NotifySettings, ...], workspace: Workspace) -> tuple[NotifyChannel, ...]:
    """Return every configured way to tell a person something."""
    return tuple(NotifyChannel(one, workspace, dict(os.environ)) for one in settings)


def _action(item: NewsItem) -> TokenAction | None:
    """Return what one press of a button can settle."""
    if not item.need:
        return "retry"
    return "approve" if TaskDecision.APPROVE in FITTING[NeedKind(item.need)] else None


def _answer(printed: bytes, code: int) -> Delivery:
    for line in reversed(printed.splitlines()):  # Apprise's plugins may print as well
        with suppress(ValueError, KeyError, TypeError):
            found = json.loads(line)
            return Delivery(ok=found["ok"] is True, said=str(found["said"]))
    return Delivery(ok=False, said=f"the program that sends it failed (exit code {code})")


def _desktop(environment: Mapping[str, str]) -> str:
    """Return the program that shows notifications."""
    path = environment.get("PATH")
    if sys.platform == "darwin" and (found := shutil.which("osascript", path=path)):
        return found
    if not any(environment.get(name) for name in DISPLAYS):
        raise NoDesktopError("There is no desktop here.")
    if found := shutil.which("notify-send", path=path):
        return found
    raise RalphError("notify-send was not found.", remedy="Install libnotify (Debian: apt install libnotify-bin).")


def _on_desktop(program: str, message: Message) -> tuple[str, ...]:
    if Path(program).name == "osascript":
        script = (part for line in APPLESCRIPT for part in ("-e", line))
        return program, *script, message.title, message.text or " "
    urgency = "critical" if message.is_urgent else "normal"
    text = html.escape(message.text, quote=False)  # some desktops read markup
    return program, "--app-name=Ralph", f"--urgency={urgency}", "--", message.title, text


def _check_apprise() -> None:
    if find_spec("apprise") is None:
        raise RalphError("Apprise is not installed.", remedy=installation.this().extra("notify"))


def _is_here(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
