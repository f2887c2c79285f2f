"""Pages are opened in a real browser, and what a person would call broken is found, with its screenshot."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from ralph import config
from ralph.errors import RalphError
from ralph.plan.model import PageResult
from ralph.process import spawn, tree
from ralph.process.redaction import Secrets
from ralph.verify.browser import Browser, check_installed, find_chromium
from ralph.verify.pages import PageVisit, ScreenshotFolder, explain, visit_pages
from ralph.verify.urls import Page
from tests.conftest import wait_for
from tests.integration.conftest import FOREVER, alive, in_the_background
from tests.integration.pages_server import BANNERS, NEVER_DONE, PAGES, serving

SECRET = "s3cret-0123456789"
SPECIAL = (
    "/refused",
    "/error",
    "/empty-error",
    "/moved",
    "/circle",
    "/data",
    "/file",
    "/slow",
    "/hangs-up",
    "/missing",
)
PNG = b"\x89PNG\r\n"

pytestmark = [
    pytest.mark.skipif(not find_chromium(config.BrowserSettings()), reason="there is no Chrome or Chromium here"),
    pytest.mark.usefixtures("nobody_left"),
]

Work = Callable[[Browser], Awaitable[Any]]


class Told:
    """What a person would be told of the browser."""

    def __init__(self) -> None:
        self.notes: list[str] = []


def with_browser(work: Work, told: Told | None = None, **settings: Any) -> Any:
    """Do something with one browser, as a run does."""

    async def main() -> Any:
        tree.adopt_orphans()
        chosen = config.BrowserSettings(**settings)
        async with Browser(chosen, "test", (told or Told()).notes.append) as browser:
            return await work(browser)

    return asyncio.run(main())


async def seen(browser: Browser, folder: Path, base: str, *pages: Page | str) -> dict[str, PageResult]:
    look = PageVisit(
        pages=tuple(page if isinstance(page, Page) else Page(page) for page in pages),
        browser=browser,
        shots=ScreenshotFolder(root=folder, folder=folder / "shots", work="US-001", attempt="2"),
        seen=lambda result: None,
        secrets=Secrets([SECRET]),
    )
    return {result.page: result for result in await visit_pages(look, base)}


def found(result: PageResult) -> list[tuple[str, str]]:
    return [(finding.kind, finding.text) for finding in result.findings]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def looked(folder: Path) -> Iterator[dict[str, PageResult]]:
    """All pages of the server, each looked at once: with one browser, and with one that has little patience."""
    asked = Page("/missing-as-asked", frozenset({404}))

    async def look(browser: Browser) -> dict[str, PageResult]:
        impatient = Browser(config.BrowserSettings(timeout=2), "test")
        async with impatient:
            await browser.ensure()
            await impatient.ensure()
            fast, slow = await asyncio.gather(
                seen(browser, folder, base, *PAGES, *SPECIAL, asked),
                seen(impatient, folder, base, *NEVER_DONE, "/too-slow"),
            )
        return fast | slow

    with serving() as base:
        yield with_browser(look, ignore=(r"\[HMR\]",))


GOOD = ("/good", "/well", "/no-banner", "/picture", "/gives-up", "/streams", "/foreign", "/moved", "/data", "/slow")


@pytest.mark.parametrize("page", [*GOOD, "/missing-as-asked"])
def test_a_page_that_is_right_has_no_findings_and_a_screenshot(
    looked: dict[str, PageResult], folder: Path, page: str
) -> None:
    result = looked[page]

    assert found(result) == []
    assert (folder / result.screenshot).read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("page", "kind", "text"),
    [
        ("/throws", "exception", "ReferenceError: missing is not defined (/throws:1)"),
        ("/rejects", "exception", "TypeError: nobody catches me (/rejects:1)"),
        ("/console", "console", "the cart is broken {items: 3} (/console:1)"),
        ("/no-script", "request", "GET /missing.js: 404 Not Found"),
        ("/api-error", "request", "GET /error: 500 Internal Server Error"),
        ("/late-api-error", "console", "late, but seen (/late-api-error:1)"),
        ("/banner", "banner", "Something went wrong"),
        *((f"/banner/{name}", "banner", "Something went wrong") for name in BANNERS),
        ("/blank", "blank", "the page is blank: no text, no image, nothing to click"),
        ("/error", "status", "500 Internal Server Error"),
        ("/empty-error", "status", "503 Service Unavailable"),
        ("/missing", "status", "404 Not Found"),
        ("/circle", "load", "it redirects in a loop (net::ERR_TOO_MANY_REDIRECTS)"),
        ("/too-slow", "load", "it did not load within 2 s"),
        ("/hangs-up", "load", "the server closed the connection without a response (net::ERR_EMPTY_RESPONSE)"),
        ("/endless", "load", "it did not load within 2 s"),
        ("/goes-on", "console", "the cart is broken {items: 3} (/console:1)"),
        ("/dialog", "console", "after the dialog (/dialog:1)"),
    ],
)
def test_what_is_wrong_with_a_page_is_found(looked: dict[str, PageResult], page: str, kind: str, text: str) -> None:
    assert found(looked[page]) == [(kind, text)]


def test_the_error_overlay_of_every_framework_is_read(looked: dict[str, PageResult]) -> None:
    assert found(looked["/overlays"]) == [
        ("overlay", "Vite: Failed to resolve import ./x"),
        ("overlay", "Next.js: Unhandled Runtime Error: oops"),
        ("overlay", "webpack: Compiled with problems: x"),
        ("overlay", "Django: ValueError at / bad value"),
        ("overlay", "Flask: NameError: name 'x' is not defined"),
        ("overlay", "Rails: NoMethodError in Posts#index undefined method 'title'"),
    ]


def test_known_noise_is_left_out_repeated_things_are_said_once_and_secrets_never(looked: dict[str, PageResult]) -> None:
    assert found(looked["/noisy"]) == [
        ("console", "same thing (/noisy:1)"),
        ("console", "token [secret] leaked (/noisy:1)"),
    ]


def test_a_page_that_keeps_loading_itself_is_told(looked: dict[str, PageResult]) -> None:
    assert ("load", "it keeps reloading itself") in found(looked["/reloads"])


def test_a_server_that_is_not_there_is_told_by_its_address(looked: dict[str, PageResult]) -> None:
    ((kind, text),) = found(looked["/refused"])

    assert kind == "request"
    assert text.endswith("/: no program listens there (net::ERR_CONNECTION_REFUSED)")


def test_a_file_to_download_is_no_page_and_no_mistake(looked: dict[str, PageResult]) -> None:
    result = looked["/file"]

    assert (result.status, found(result), result.screenshot) == (200, [], "")


def test_many_and_long_findings_are_cut_short(looked: dict[str, PageResult]) -> None:
    assert len(looked["/chatty"].findings) == 11
    assert looked["/chatty"].findings[-1].text == "and 30 more"
    assert len(looked["/chatty"].findings[0].text) == 300


def test_a_screenshot_is_called_after_story_page_and_attempt_and_stays_out_of_git(
    looked: dict[str, PageResult], folder: Path
) -> None:
    assert looked["/late-api-error"].screenshot == "shots/US-001-late-api-error-2.png"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)

    status = subprocess.run(["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True)

    assert status.stdout == ""


def test_the_reason_has_a_line_for_each_finding_with_page_kind_and_text(looked: dict[str, PageResult]) -> None:
    text = explain([looked["/good"], looked["/error"], looked["/no-script"]])

    assert text.splitlines() == [
        "The browser found a problem: /error · status · 500 Internal Server Error (and 1 more)",
        "",
        "- /error · status · 500 Internal Server Error",
        "- /no-script · request · GET /missing.js: 404 Not Found",
        "",
        "Screenshots:",
        "",
        "- /error: shots/US-001-error-2.png",
        "- /no-script: shots/US-001-no-script-2.png",
    ]
    assert explain([looked["/good"]]) == ""


# what a page belongs to


def test_without_any_page_the_application_s_address_is_looked_at(tmp_path: Path) -> None:
    with serving() as base:
        results = with_browser(lambda browser: seen(browser, tmp_path, f"{base}/console"))

    assert [found(result)[0][0] for result in results.values()] == ["console"]


def test_a_path_that_belongs_to_nothing_is_told_without_any_browser(tmp_path: Path) -> None:
    async def look(browser: Browser) -> tuple[dict[str, PageResult], bool]:
        return await seen(browser, tmp_path, "", "/login"), browser.is_alive()

    results, started = with_browser(look)

    assert "set browser.baseUrl" in results["/login"].findings[0].text
    assert not started


def test_a_configured_address_comes_before_a_service_s(tmp_path: Path) -> None:
    with serving() as base:
        results = with_browser(
            lambda browser: seen(browser, tmp_path, "http://127.0.0.1:9/", "/good"), base_url=f"{base}/app/"
        )

    assert results["/good"].url == f"{base}/good"
    assert results["/good"].passed


def test_a_certificate_of_one_s_own_is_fine_on_this_machine(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    wanted = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=not-this-host -days 2"
    subprocess.run([openssl, *wanted.split()], cwd=tmp_path, check=True, capture_output=True)
    with serving(tmp_path) as base:
        results = with_browser(lambda browser: seen(browser, tmp_path, base, "/good", "/console"))

    assert results["/good"].passed
    assert found(results["/console"])[0][0] == "console"


# the browser


def chromium(browser: Browser) -> psutil.Process:
    """The browser's first process: a child of what drives it, or of the script that starts it."""
    [first, *_] = psutil.Process(tree.registered(browser._mark)).children()
    return first.children()[0] if Path(first.exe()).name in ("sh", "dash", "bash") else first


def test_one_browser_is_used_for_all_and_gone_at_the_end(tmp_path: Path) -> None:
    async def look(browser: Browser) -> list[int]:
        pids = []
        for _ in range(2):
            await seen(browser, tmp_path, base, "/good")
            pids.append(chromium(browser).pid)
        return pids

    with serving() as base:
        first, second = with_browser(look)

    assert first == second
    assert not alive(first)


@pytest.mark.parametrize("victim", ["browser", "driver"])
def test_a_browser_that_crashed_is_started_anew(tmp_path: Path, victim: str) -> None:
    told = Told()

    async def look(browser: Browser) -> dict[str, PageResult]:
        await seen(browser, tmp_path, base, "/good")
        process = chromium(browser) if victim == "browser" else chromium(browser).parent()
        assert process
        process.kill()
        process.wait() if victim == "browser" else wait_for(lambda: not alive(process.pid))
        return await seen(browser, tmp_path, base, "/good", "/console")

    with serving() as base:
        results = with_browser(look, told)

    assert results["/good"].passed
    assert found(results["/console"])[0][0] == "console"


@pytest.mark.parametrize("moment", [0.0, 0.1, 0.5])
def test_a_browser_that_crashes_while_it_looks_is_started_anew_and_looks_again(tmp_path: Path, moment: float) -> None:
    told = Told()

    async def look(browser: Browser) -> dict[str, PageResult]:
        await seen(browser, tmp_path, base, "/good")
        looking = asyncio.create_task(seen(browser, tmp_path, base, "/slow"))  # it takes longer than that
        await asyncio.sleep(moment)
        chromium(browser).kill()
        return await looking

    with serving() as base:
        results = with_browser(look, told)

    assert results["/slow"].passed
    assert "The browser crashed on /slow. Ralph starts it again." in told.notes


def test_other_programs_that_end_meanwhile_leave_the_browser_alone(tmp_path: Path) -> None:
    async def look(browser: Browser) -> tuple[int, int]:
        async def gates() -> None:
            for _ in range(30):
                await spawn.run(["/bin/sh", "-c", "true"], cwd=tmp_path, env=os.environ, owner="test", out=bytes)

        running = asyncio.create_task(gates())
        await seen(browser, tmp_path, base, "/good")
        first = chromium(browser).pid
        await running
        await seen(browser, tmp_path, base, "/good")
        return first, chromium(browser).pid

    with serving() as base:
        first, second = with_browser(look)

    assert first == second


def test_a_look_that_is_cancelled_leaves_no_browser(tmp_path: Path) -> None:
    async def look(browser: Browser) -> int:
        await seen(browser, tmp_path, base, "/good")
        pid = chromium(browser).pid
        looking = asyncio.create_task(seen(browser, tmp_path, base, "/too-slow"))
        await asyncio.sleep(0.2)  # it takes seconds
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
        return pid

    with serving() as base:
        pid = with_browser(look)

    assert not alive(pid)


KILLED = """
import asyncio, sys
from pathlib import Path
from ralph import config
from ralph.process import tree
from ralph.verify.browser import Browser
async def main():
    tree.adopt_orphans()
    async with Browser(config.BrowserSettings(), "test") as browser:
        await browser.ensure()
        print(tree.registered(browser._mark), flush=True)
        await asyncio.sleep({forever})
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_browser_ends_with_whoever_started_it_also_by_kill_9(tmp_path: Path, number: int) -> None:
    code = KILLED.format(forever=FOREVER)
    with in_the_background(sys.executable, "-c", code, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout
        driver = psutil.Process(int(process.stdout.readline()))
        everybody = [driver, *driver.children(recursive=True)]
        process.send_signal(number)
        process.wait()

        wait_for(lambda: not [one for one in everybody if alive(one.pid)], what="the browser has ended")

    assert len(everybody) > 2
    _reap_orphans()


def _reap_orphans() -> None:
    """What the killed process left came to us."""

    def nobody() -> bool:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        return False

    wait_for(nobody, what="nobody is left")


def test_root_is_told_that_there_is_no_sandbox(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root has none")
    told = Told()
    with serving() as base:
        with_browser(lambda browser: seen(browser, tmp_path, base, "/good"), told)

    assert told.notes == ["The browser runs without its sandbox, because it has none for root."]


def test_a_browser_that_is_not_there_or_does_not_start_is_told_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match="'/no/such/browser', but there is no such program"):
        check_installed(config.BrowserSettings(executable_path="/no/such/browser"))
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'error: no such library' >&2\nexit 1\n")
    broken.chmod(0o755)

    with serving() as base, pytest.raises(RalphError, match="broken could not be started") as caught:
        with_browser(lambda browser: seen(browser, tmp_path, base, "/good"), executable_path=str(broken))
    assert caught.value.details == ("error: no such library",)


def test_a_machine_without_any_browser_is_told_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(RalphError) as caught:
        check_installed(config.BrowserSettings())

    assert "found no Chrome or Chromium" in caught.value.what
    assert '"enabled": false' in caught.value.remedy
