"""Opens pages in a browser, as a person would, and reports every problem as a finding."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ralph import config, limits, safe_files
from ralph.frozen import Frozen
from ralph.plan.model import PageFinding, PageResult
from ralph.process.redaction import Secrets
from ralph.verify.browser import Browser
from ralph.verify.page_watch import PageProblem, PageWatch, why_not_loaded
from ralph.verify.ready import LOOPBACK
from ralph.verify.urls import Page, slug

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext
    from playwright.async_api import Page as Tab

SIZE = {"width": 1280, "height": 800}
REST = 5.0  # seconds after loading in which a page may send more requests
RELOADS = 10
TRIES = 2
MAX_FINDINGS = 10  # findings of one page
MAX_LINE = 300  # characters of one finding
INSPECT = Path(__file__).with_name("inspect_page.js")
IDLE = "() => new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done, {timeout: 1000})))"
GITIGNORE = b"*\n"


class ScreenshotFolder(Frozen):
    """Where screenshots go; they are named after a task and its attempt."""

    root: Path  # the project root
    folder: Path
    work: str
    attempt: str

    def save(self, page: Page, image: bytes) -> str:
        """Write a screenshot; return its path, relative to the project root if possible."""
        self._prepare()
        path = self.folder / f"{self.work}-{slug(page.address)}-{self.attempt}.png"
        with safe_files.open_new(path) as file:
            file.write(image)
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def _prepare(self) -> None:
        """Create the folder with a `.gitignore`, so that it stays out of git."""
        ignored = self.folder / ".gitignore"
        if not ignored.exists():
            with safe_files.open_new(ignored) as file:
                file.write(GITIGNORE)


class PageVisit(Frozen):
    """One visit to all pages of a story."""

    pages: tuple[Page, ...]
    browser: Browser
    shots: ScreenshotFolder
    seen: Callable[[PageResult], None]
    secrets: Secrets = field(default_factory=Secrets, repr=False)

    @property
    def settings(self) -> config.BrowserSettings:
        return self.browser.settings

    @property
    def patience(self) -> float:
        """How many seconds a page may take to render and to close: never more than to load."""
        return min(REST, self.settings.timeout)


async def visit_pages(visit: PageVisit, base: str) -> tuple[PageResult, ...]:
    """Open every page in turn; without any, open the application's own address."""
    base = visit.settings.base_url or base
    results = []
    for page in visit.pages or ((Page(base),) if base else ()):
        result = await _visit_again_after_a_crash(visit, page, page.resolve(base))
        visit.seen(result)
        results.append(result)
    return tuple(results)


def explain(results: Iterable[PageResult]) -> str:
    """Describe the problems, one line for each finding, for notes and for the next prompt."""
    wrong = [result for result in results if not result.passed]
    if not wrong:
        return ""
    lines = tuple(finding.line for result in wrong for finding in result.findings)
    shots = [f"- {result.page}: {result.screenshot}" for result in wrong if result.screenshot]
    more = f" (and {len(lines) - 1} more)" if lines[1:] else ""
    parts = [f"The browser found a problem: {lines[0]}{more}", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join((*parts, *(("Screenshots:", "\n".join(shots)) if shots else ())))


async def _visit_again_after_a_crash(visit: PageVisit, page: Page, url: str) -> PageResult:
    began = time.monotonic()
    if not url:
        missing = "it is a path, but no service has a URL: set browser.baseUrl"
        return _result(visit, page, url, [PageProblem("load", missing)], began=began)
    for _ in range(TRIES):
        await visit.browser.ensure()
        result = await _unless_it_crashes(visit.browser, _visit(visit, page, url))
        if result:
            return result
        visit.browser.noted(f"The browser crashed on {page.address}. Ralph starts it again.")
    return _result(visit, page, url, [PageProblem("crash", f"the browser crashed here {TRIES} times")], began=began)


async def _unless_it_crashes(browser: Browser, work: Coroutine[Any, Any, PageResult]) -> PageResult | None:
    """Return the result of a visit; None if the browser crashed first."""
    visit, crash = asyncio.ensure_future(work), asyncio.ensure_future(browser.crashed())
    try:
        await asyncio.wait((visit, crash), return_when=asyncio.FIRST_COMPLETED)
    finally:
        visit.cancel()
        crash.cancel()
        await asyncio.gather(visit, crash, return_exceptions=True)
    return visit.result() if browser.is_alive() and not visit.cancelled() else None


async def _visit(visit: PageVisit, page: Page, url: str) -> PageResult:
    began = time.monotonic()
    from playwright.async_api import Error

    own = urlsplit(url).hostname in LOOPBACK
    watch = PageWatch(url=url, expected=page.expected)
    context, image = None, b""
    try:
        context = await visit.browser.context(viewport=SIZE, ignore_https_errors=own)
        async with asyncio.timeout(visit.settings.timeout + REST + visit.patience):
            tab = await context.new_page()
            watch.attach(tab)
            if await _load(tab, watch, visit.settings.timeout):
                await _come_to_rest(tab, watch)
            if watch.loads > RELOADS:
                watch.find("load", "it keeps reloading itself")
            if not watch.is_download:
                image = await _see(tab, watch, visit.patience)
    except TimeoutError:
        watch.cannot_load("it stopped responding")
    except Error as error:
        watch.find("crash", error.message.splitlines()[0])
    finally:
        if context and visit.browser.is_alive():
            await _close(visit.browser, context, visit.patience)
    shot = visit.shots.save(page, image) if image else ""
    return _result(visit, page, url, watch.found(), began=began, status=watch.status, screenshot=shot)


async def _load(tab: Tab, watch: PageWatch, seconds: float) -> bool:
    """Load the page; return whether it has loaded."""
    from playwright.async_api import Error
    from playwright.async_api import TimeoutError as TooSlow

    try:
        await tab.goto(watch.url, timeout=seconds * 1000, wait_until="load")
    except TooSlow:
        watch.find("load", f"it did not load within {seconds:g} s")
    except Error as error:
        if watch.crashed or tab.is_closed():
            raise
        watch.cannot_load(why_not_loaded(error.message))
    else:
        return True
    return False


async def _come_to_rest(tab: Tab, watch: PageWatch) -> None:
    """Wait until the page sends no more requests and is idle."""
    from playwright.async_api import Error

    with suppress(TimeoutError):
        async with asyncio.timeout(REST):
            while watch.loads <= RELOADS:
                await watch.quiet.wait()
                begun = watch.begun
                try:
                    await tab.evaluate(IDLE)
                except Error:
                    if watch.crashed or tab.is_closed():
                        raise
                    await tab.wait_for_load_state()  # it has navigated to another page
                    continue
                if watch.begun == begun and watch.quiet.is_set():
                    return


async def _see(tab: Tab, watch: PageWatch, seconds: float) -> bytes:
    """Check the page for visible errors and return a screenshot."""
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(seconds):
            watch.see(await tab.evaluate(INSPECT.read_text()))
            return await tab.screenshot(full_page=True)
    except Error:
        if watch.crashed or tab.is_closed():
            raise
        return b""  # it navigated away or waits for a font: no screenshot, but no problem either


async def _close(browser: Browser, context: BrowserContext, seconds: float) -> None:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(seconds):
            await context.close()
    except TimeoutError:
        await browser.end()
    except Error:
        pass  # it was closed with its browser


def _result(
    visit: PageVisit,
    page: Page,
    url: str,
    found: Iterable[PageProblem],
    *,
    began: float,
    status: int | None = None,
    screenshot: str = "",
) -> PageResult:
    secrets = visit.secrets
    name = secrets.text(page.address)
    listed = [
        PageFinding(page=name, kind=one.kind, text=secrets.text(_short(one.text)), screenshot=screenshot)
        for one in found
    ]
    known = [re.compile(pattern) for pattern in visit.settings.ignore]
    listed = [
        finding for finding in listed if not any(pattern.search(finding.line[: limits.SEARCHED]) for pattern in known)
    ]
    if len(listed) > MAX_FINDINGS:
        more = f"and {len(listed) - MAX_FINDINGS} more"
        listed = [*listed[:MAX_FINDINGS], replace(listed[MAX_FINDINGS], text=more)]
    return PageResult(
        page=name,
        url=secrets.text(url),
        seconds=time.monotonic() - began,
        status=status,
        findings=tuple(listed),
        screenshot=screenshot,
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"
