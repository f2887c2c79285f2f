"""The person's own Chrome or Chromium: found, started once for a run, restarted after a crash, always closed."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ralph import config, installation
from ralph.errors import RalphError
from ralph.process import environment, spawn, tree
from ralph.process.enclosure import Enclosure
from ralph.process.table import MARK
from ralph.safe_files import from_home

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import BrowserContext, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge", "brave")
HEADLESS = ("chromium-headless-shell", "chrome-headless-shell")
"""The same engine without a window: a page takes a quarter of the time."""
ON_MACOS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
SEES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS")
Enclose = Callable[[Path], Enclosure | None]
"""Returns the sandbox for a browser, given the one folder that it writes."""
SWITCH_OFF = 'or set "browser": {"enabled": false} in ralph.config.json'
DRIVER_LINE = re.compile(r"^.*\[pid=\d+\]\[(?:err|out)\] (?:\[[\d:/.]+:ERROR:[^\]]*\] )?")
MAX_FOLDER = 30
PATIENCE = 5.0  # seconds that a browser may take to close


def playwright_version() -> str:
    """Return the version of Playwright; "" if it is not installed."""
    return installation.version_of("playwright")


def find_chromium(settings: config.BrowserSettings) -> str:
    """Return the configured browser, or the first one on this machine; "" if there is none."""
    if settings.executable_path:
        return shutil.which(from_home(settings.executable_path)) or ""
    names = (*HEADLESS, *NAMES) if settings.headless else NAMES
    found = next(filter(None, map(shutil.which, names)), "")
    return found or next((path for path in ON_MACOS if os.access(path, os.X_OK)), "")


def check_installed(settings: config.BrowserSettings) -> str:
    """Return the browser's path, or raise an error that says what is missing and how to get it."""
    if not playwright_version():
        raise RalphError(
            "Ralph checks UI tasks in a browser, but Playwright, which controls it, is not installed.",
            remedy=f"Install it with `{installation.this().extra('browser')}`, {SWITCH_OFF}.",
        )
    found = find_chromium(settings)
    if found:
        return found
    if settings.executable_path:
        raise RalphError(
            f"browser.executablePath is {settings.executable_path!r}, but there is no such program.",
            remedy="Fix it, or leave it empty so that Ralph searches for a browser.",
        )
    raise RalphError(
        "Ralph checks UI tasks in a browser, but found no Chrome or Chromium on this machine.",
        remedy=f"Install one (Debian: apt install chromium), name it in browser.executablePath, {SWITCH_OFF}.",
    )


@dataclass
class Browser:
    """One browser for a whole run; it starts when the first page is opened."""

    settings: config.BrowserSettings
    owner: str
    noted: Callable[[str], None] = lambda text: None
    enclose: Enclose = lambda folder: None
    _folder: Path | None = None  # for its profile
    _playwright: Playwright | None = None
    _chromium: Chromium | None = None
    _mark: str = ""
    _gone: asyncio.Event = field(default_factory=asyncio.Event)
    _noted_once: set[str] = field(default_factory=set)

    async def __aenter__(self) -> Browser:
        return self

    async def __aexit__(self, *_: object) -> None:
        await spawn.to_the_end(self.end())

    async def ensure(self) -> None:
        """Start the browser unless it is running."""
        if not self.is_alive():
            await self.end()
            await self._start()

    async def context(self, **options: Any) -> BrowserContext:  # Playwright's own options
        """Create a fresh context for one page: no cookies, no storage."""
        assert self._chromium is not None, "the caller has started the browser"
        return await self._chromium.new_context(**options)

    def is_alive(self) -> bool:
        """Return whether the browser and its driver are running."""
        return self._chromium is not None and not self._gone.is_set()

    async def crashed(self) -> None:
        """Wait until the browser or its driver has ended."""
        await self._gone.wait()

    async def _start(self) -> None:
        executable = check_installed(self.settings)
        from playwright.async_api import Error, async_playwright

        asyncio.get_running_loop().set_exception_handler(_without_driver)
        self._gone = gone = asyncio.Event()
        self._mark = spawn.new_mark(self.owner)
        self._folder = Path(tempfile.mkdtemp(prefix="ralph-browser-", dir=_temporary()))
        with tree.started_elsewhere(self._mark, TMPDIR=str(self._folder)):
            self._playwright = await async_playwright().start()
        tree.when_over(tree.registered(self._mark), gone.set)
        is_root = os.geteuid() == 0
        if is_root:
            self._tell("The browser runs without its sandbox, because it has none for root.")
        try:
            self._chromium = await self._launch(executable, sandbox=not is_root)
        except Error as error:
            if is_root or "sandbox" not in error.message:
                raise _cannot_start(executable, error.message) from None
            self._tell("The browser runs without its sandbox, because this system does not allow it.")
            try:
                self._chromium = await self._launch(executable, sandbox=False)
            except Error as again:
                raise _cannot_start(executable, again.message) from None
        self._chromium.on("disconnected", lambda _: gone.set())

    async def _launch(self, executable: str, *, sandbox: bool) -> Chromium:
        assert self._playwright and self._folder, "Playwright is started before the browser"
        return await self._playwright.chromium.launch(
            executable_path=_enclosed(executable, self._folder, self.enclose(self._folder)),
            headless=self.settings.headless,
            chromium_sandbox=sandbox,
            env={**environment.allowed(os.environ, SEES), MARK: self._mark, "TMPDIR": str(self._folder)},
        )

    async def end(self) -> None:
        """Close the browser and end any of its processes that remain."""
        chromium, self._chromium = self._chromium, None
        playwright, self._playwright = self._playwright, None
        if playwright is None:
            self._remove_folder()
            return
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(PATIENCE):
                if chromium:
                    await chromium.close()
                await playwright.stop()
        except (Error, TimeoutError):
            pass  # it crashed or hangs: the rest is ended below
        driver = tree.registered(self._mark)
        await tree.end(tree.family(driver, self._mark), grace=0)
        tree.forget(driver)
        self._remove_folder()

    def _remove_folder(self) -> None:
        folder, self._folder = self._folder, None
        if folder:
            shutil.rmtree(folder, ignore_errors=True)

    def _tell(self, text: str) -> None:
        if text not in self._noted_once:
            self._noted_once.add(text)
            self.noted(text)


def _enclosed(executable: str, folder: Path, within: Enclosure | None) -> str:
    """Return a program that starts the browser in its sandbox: Playwright adds the arguments."""
    if within is None:
        return executable
    program = folder / "browser"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(within.command([executable], folder))} "$@"\n')
    program.chmod(0o755)
    return str(program)


def _temporary() -> str:
    """Return where the browser's profile can be, which contains a socket; socket paths have a length limit."""
    usual = tempfile.gettempdir()
    return usual if len(usual) <= MAX_FOLDER or not os.access("/tmp", os.W_OK) else "/tmp"


def _cannot_start(executable: str, message: str) -> RalphError:
    # dbus errors are common and never the cause
    said = [line for line in message.splitlines() if DRIVER_LINE.match(line) and "dbus" not in line]
    telling = list(dict.fromkeys(DRIVER_LINE.sub("", line).strip() for line in said))
    remedy = "Run it yourself to see why, or name another one in browser.executablePath."
    if "DISPLAY" in message:
        remedy = "There is no screen here: leave out --headed, or set browser.headless to true."
    return RalphError(f"{Path(executable).name} could not be started.", details=tuple(telling[:5]), remedy=remedy)


def _without_driver(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Ignore the error that Playwright leaves when its driver has ended; that is detected elsewhere."""
    if "reading from the driver" not in str(context.get("exception")):
        loop.default_exception_handler(context)
