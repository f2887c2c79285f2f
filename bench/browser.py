"""What looking at a page costs, beside a bare Playwright script that opens the same page and takes a screenshot."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

from bench.measure import CannotRun, folder
from bench.table import Row
from ralph import config
from ralph.errors import RalphError
from ralph.process import tree
from ralph.verify.browser import Browser, check_installed
from ralph.verify.pages import PageVisit, ScreenshotFolder, visit_pages
from ralph.verify.urls import Page

ROUNDS, WARM_UP, LIMIT = 21, 3, 1.3

PAGE = """<!doctype html><title>Shop</title><link rel=stylesheet href=style.css>
<h1>Shop</h1><div id=list></div><script src=app.js></script>"""
STYLE = "body { font: 16px sans-serif; margin: 2em } li { padding: 4px }"
APP = """fetch('items.json').then((answer) => answer.json()).then((items) => {
  document.querySelector('#list').innerHTML = '<ul>' + items.map((item) => `<li>${item}</li>`).join('') + '</ul>';
});"""


def rows() -> list[Row]:
    try:
        check_installed(config.BrowserSettings())
    except RalphError as error:
        raise CannotRun(error.what) from None
    with folder() as place, _serving(place / "site") as url:
        times = asyncio.run(_measure(place, url))
    return [
        Row(
            group="browser",
            what="browser: one page, warm",
            measured=times["ralph"] / times["playwright"],
            unit="x",
            limit=LIMIT,
            parts={name: value * 1000 for name, value in times.items()},
        )
    ]


async def _measure(place: Path, url: str) -> dict[str, float]:
    """Both by turns, each with a browser of its own that is warm."""
    from playwright.async_api import async_playwright

    settings = config.BrowserSettings()
    tree.adopt_orphans()
    samples: dict[str, list[float]] = {"ralph": [], "playwright": []}
    async with Browser(settings, "bench") as browser, async_playwright() as playwright:
        bare = await playwright.chromium.launch(executable_path=check_installed(settings), chromium_sandbox=False)
        look = PageVisit(
            pages=(Page(url),),
            browser=browser,
            shots=ScreenshotFolder(root=place, folder=place / "shots", work="US-001", attempt="1"),
            seen=lambda result: None,
        )
        for number in range(ROUNDS + WARM_UP):
            began = time.perf_counter()
            (result,) = await visit_pages(look, url)
            between = time.perf_counter()
            context = await bare.new_context(viewport={"width": 1280, "height": 800})
            page = await context.new_page()
            await page.goto(url, wait_until="load")
            await page.screenshot(path=place / "bare.png", full_page=True)
            await context.close()
            ended = time.perf_counter()
            if not result.passed:
                raise RuntimeError(f"the page is not right: {result.findings}")
            if number >= WARM_UP:
                samples["ralph"].append(between - began)
                samples["playwright"].append(ended - between)
        await bare.close()
    return {name: median(values) for name, values in samples.items()}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@contextmanager
def _serving(site: Path) -> Iterator[str]:
    site.mkdir()
    items = "[" + ",".join(f'"item {number}"' for number in range(50)) + "]"
    for name, text in {"index.html": PAGE, "style.css": STYLE, "app.js": APP, "items.json": items}.items():
        (site / name).write_text(text)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
