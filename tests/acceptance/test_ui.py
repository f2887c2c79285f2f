"""`ralph ui` in a real browser: live during a real run, with two tabs, a restart, a keyboard and a small screen."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for
from tests.dashboard import Visitor, check, chromium, closed, need_browser, overflow, served

pytestmark = [need_browser, pytest.mark.long]
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def waits(story: str, name: str, file: str, **more: Any) -> dict[str, Any]:
    """A turn that does a story when the test has made a file."""
    wait = f"while [ ! -e {file} ]; do sleep 0.05; done"
    found = does(story, name, **more)
    return {**found, "run": [wait, *found["run"]]}


@pytest.fixture
def planned(project: Project) -> Project:
    project.config("test ! -e red.txt")
    project.stories("Sign in", {"title": "Sign out", "dependsOn": ["US-001"]}, "Forget a password")
    return project


def column(page: Any, key: str) -> list[str]:
    return [text.strip() for text in page.locator(f".column.{key} .card b").all_text_contents()]


def card(page: Any, key: str, task: str) -> None:
    page.wait_for_selector(f".column.{key} .card[data-key='{task}']", timeout=20_000)


def test_two_tabs_see_a_run_as_it_happens(planned: Project, browser: Any) -> None:
    goes = planned.state_file.parent
    blocked = {"match": r"\*\*ID:\*\* US-003\b", "say": ["Which mail server?", "<ralph>BLOCKED:no mail server</ralph>"]}
    planned.script(waits("US-001", "one.txt", f"{goes}/one"), does("US-002", "two.txt"), blocked, VERIFIED)
    with served(planned) as ui:
        visitor = Visitor(browser, ui.link)
        board, task = visitor.open("/p/0/auth"), visitor.open("/p/0/auth/task/US-001")
        assert column(board, "waiting") == ["US-001", "US-002", "US-003"]
        assert "Nobody has tried it yet." in task.inner_text("main")
        run = planned.start("run", "auth")
        card(board, "working", "US-001")
        task.wait_for_selector("text=at work")
        (goes / "one").touch()
        card(board, "done", "US-001")
        card(board, "needs-you", "US-003")
        card(board, "done", "US-002")
        task.wait_for_selector("tr:has-text('US-001/1') .chip.passed")
        task.wait_for_selector("table.diff >> text=x")
        assert run.wait(30) == 3
        board.wait_for_selector("text=needs you: no mail server")
        assert column(board, "done") == ["US-002", "US-001"] and column(board, "working") == []
        assert "run ended" in board.inner_text("#ticker")
        assert visitor.problems == []
        run.communicate()


def test_after_a_restart_a_tab_comes_back_by_itself_and_has_missed_nothing(planned: Project, browser: Any) -> None:
    planned.script(does("US-001", "one.txt"), does("US-002", "two.txt"), does("US-003", "three.txt"), VERIFIED)
    with served(planned) as ui:
        visitor, port = Visitor(browser, ui.link), ui.port
        page = visitor.open("/p/0/auth")
        heard = "window.heard = []; document.addEventListener('ralph:event', (e) => heard.push(e.detail.seq))"
        page.evaluate(heard)
        planned.ralph("run", "auth", "--once")
        first = len(planned.events())
        wait_for(lambda: page.evaluate("heard.length") == first)
    page.wait_for_selector("#live[data-state=off]")
    planned.ralph("run", "auth")
    with served(planned, "--port", str(port)):
        page.wait_for_selector("#live[data-state=on]")
        every = [event["seq"] for event in planned.events()]
        wait_for(lambda: page.evaluate("heard.length") == len(every))
        assert page.evaluate("heard") == every
        card(page, "done", "US-003")
    assert visitor.problems == []


def test_comments_on_lines_become_the_note_for_the_next_attempt(planned: Project, browser: Any) -> None:
    planned.config("test ! -e red.txt", maxRetries=1)
    blocked = {
        "match": r"\*\*ID:\*\* US-001\b",
        "write": {"one.txt": "if x < 1:\n"},
        "say": ["<ralph>BLOCKED:< or <=?</ralph>"],
    }
    planned.script(blocked, does("US-002", "two.txt"), does("US-003", "three.txt"))
    planned.ralph("run", "auth", code=3)
    planned.script(does("US-001", "one.txt", "if x <= 1:\n"), does("US-002", "two.txt"), VERIFIED)
    with served(planned) as ui:
        visitor = Visitor(browser, ui.link)
        page = visitor.open("/p/0/auth/task/US-001")
        page.fill("#note", "Read the issue again.")
        page.get_by_role("button", name="Comment on one.txt line 1").click()
        page.keyboard.type("use <=, not <")
        assert page.input_value("#note") == "Read the issue again. one.txt:1: use <=, not <"
        planned.write(".ralph/logs/touched", "")  # a refresh keeps what a person is writing
        page.wait_for_timeout(700)
        assert page.input_value("#note").endswith("use <=, not <")
        page.get_by_role("button", name="Try again with this note").click()
        page.wait_for_selector("h1 >> text=Try again with this note")
        assert "Run `ralph run auth`" in page.inner_text("main pre")
        page.get_by_role("link", name="Back").click()
        page.wait_for_selector(".chip >> text=pending")
        assert visitor.problems == []
    planned.ralph("run", "auth")
    assert any("one.txt:1: use <=, not <" in prompt for prompt in planned.prompts())


def test_what_does_not_fit_any_more_is_refused_in_words(planned: Project, browser: Any) -> None:
    planned.config("test ! -e red.txt", maxRetries=1)
    planned.script({"match": "US-001", "say": ["<ralph>BLOCKED:why</ralph>"]})
    planned.ralph("run", "auth", "--once", code=None)
    with served(planned) as ui:
        page = Visitor(browser, ui.link).open("/p/0/auth/task/US-001")
        page.fill("#note", "again")
        planned.ralph("decide", "auth", "US-001", "--note", "so", "--yes")
        page.wait_for_selector(".head .chip >> text=pending")  # what is being written stays
        page.get_by_role("button", name="Try again with this note").click()
        page.wait_for_selector("h1 >> text=Nothing done")
        assert "US-001 is pending" in page.inner_text("main")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(390, 844), (900, 1000), (1440, 900)], ids=str)
def test_every_page_fits_its_window_and_can_be_read(
    shown: Any, browser: Any, scheme: str, size: tuple[int, int]
) -> None:
    ui, pages = shown
    width, height = size
    visitor = Visitor(browser, ui.new_link(), viewport={"width": width, "height": height}, color_scheme=scheme)
    for path in pages:
        page = visitor.open(path)
        assert overflow(page) == 0, path
        assert check(page, "contrast") == [], path
        assert check(page, "unnamed") == [], path
        if width < 500:
            assert check(page, "small") == [], path
        page.close()
    assert visitor.problems == []


def shows(page: Any, what: str) -> None:
    """Wait for a page that has begun to listen, also to keys."""
    page.wait_for_selector(what, state="attached")
    page.wait_for_selector("#live[data-state=on]")


def test_everything_can_be_done_with_the_keyboard(shown: Any, browser: Any) -> None:
    ui, _ = shown
    visitor = Visitor(browser, ui.new_link())
    page = visitor.open("/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    shows(page, ".board")
    page.keyboard.press("l")
    assert page.evaluate("document.activeElement.closest('.column').dataset.key") == "needs-you"
    page.keyboard.press("l")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.closest('.column').dataset.key") == "done"
    page.keyboard.press("/")
    page.keyboard.type("forget")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=forget")
    shows(page, ".board")
    assert column(page, "done") + column(page, "needs-you") == ["US-003"]
    page.keyboard.press("2")
    shows(page, "svg.time")
    page.keyboard.press("1")
    shows(page, ".board")
    page.keyboard.press("h")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    shows(page, "table.attempts")
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.id") == "note"
    page.keyboard.type("a note")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("u")
    shows(page, ".board")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert visitor.problems == []


def test_without_javascript_everything_is_there(shown: Any, browser: Any) -> None:
    ui, pages = shown
    visitor = Visitor(browser, ui.new_link(), java_script_enabled=False)
    page = visitor.open("/p/0/auth", live=False)
    assert column(page, "done") == ["US-002", "US-001"] and column(page, "needs-you") == ["US-003"]
    page.click("text=Sign in")
    assert "US-001/1" in page.inner_text("table.attempts") and page.locator("table.diff").count()
    page.click("text=US-001/1")
    assert page.locator("pre").count()
    for path in pages:
        page.goto(f"{visitor.base}{path}")
        assert page.locator("h1").count() == 1 and "Traceback" not in page.content()


class Shown:
    """A dashboard of a finished run, and more links for it."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor

    def new_link(self) -> str:
        page = self._visitor.open("/")
        page.get_by_role("button", name="Sign in another device").click()
        link = str(page.input_value(".address"))
        page.close()
        return link


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[tuple[Shown, list[str]]]:
    project = Project(tmp_path_factory.mktemp("shown"))
    project.config("test ! -e red.txt", maxRetries=2)
    project.stories("Sign in", {"title": "Sign out", "dependsOn": ["US-001"]}, "Forget a password")
    red = {"match": r"\*\*ID:\*\* US-001\b", "times": 1, "write": {"red.txt": "x\n", "one.txt": "1\n"}, "done": True}
    blocked = {"match": r"\*\*ID:\*\* US-003\b", "say": ["<ralph>BLOCKED:no mail server</ralph>"]}
    mended = {"match": r"\*\*ID:\*\* US-001\b", "write": {"one.txt": "1\n"}, "run": ["rm -f red.txt"], "done": True}
    project.script(red, mended, does("US-002", "two.txt"), blocked, VERIFIED)
    project.ralph("run", "auth", code=3)
    task = "/p/0/auth/task"
    pages = ["/", *(f"/p/0/auth{tab}" for tab in ("", "/timeline", "/cost", "/graph", "/activity", "?q=zzz")),
             f"{task}/US-001", f"{task}/US-001/0", f"{task}/US-001/1?with=0", f"{task}/US-003"]  # fmt: skip
    with served(project) as ui:
        yield Shown(Visitor(browser, ui.link)), pages


def test_two_hundred_listeners_do_no_harm(planned: Project, browser: Any) -> None:
    planned.script(does("US-001", "one.txt"), does("US-002", "two.txt"), does("US-003", "three.txt"), VERIFIED)
    with served(planned) as ui:
        visitor = Visitor(browser, ui.link)
        (cookie,) = visitor.context.cookies()
        listeners = [_listener(ui.port, ui.base, cookie["value"]) for _ in range(200)]
        page = visitor.open("/p/0/auth")
        planned.ralph("run", "auth")
        card(page, "done", "US-003")
        last = json.dumps(planned.events()[-1]["seq"]).encode()
        for one in listeners:
            one.settimeout(20)
            heard = b""
            while b'"name": "run_ended"' not in heard:
                piece = one.recv(1 << 16)
                assert piece
                heard += piece
            assert b'"seq": ' + last in heard
        more = [_listener(ui.port, ui.base, cookie["value"]) for _ in range(80)]
        begun = []
        for one in more:
            one.settimeout(20)
            begun.append(one.recv(12))
        assert b"HTTP/1.1 503" in begun, "there is an end to it"
        began = time.monotonic()
        ui.process.send_signal(signal.SIGINT)
        assert closed(ui.process)
        assert time.monotonic() - began < 10
        for one in (*listeners, *more):
            one.close()


def _listener(port: int, base: str, cookie: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port))
    path = f"{base.partition(str(port))[2]}/events"
    made.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: ralph_ui={cookie}\r\n\r\n".encode())
    return made


def test_it_listens_on_loopback_only_and_refuses_more_without_tls(planned: Project) -> None:
    refused = planned.ralph("ui", "--host", "0.0.0.0", "--no-open", code=1)
    assert "without TLS" in refused.stderr and "--behind-proxy" in refused.stderr
    with served(planned) as ui:
        connection = http.client.HTTPConnection("127.0.0.1", ui.port)
        connection.request("GET", "/")
        assert connection.getresponse().status == 401
        connection.close()
        listening = _listening(ui.process.pid)
        assert listening == {"0100007F"}


def _listening(pid: int) -> set[str]:
    """The addresses on which a process listens, as the kernel writes them."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it was closed meanwhile
            where = str(entry.readlink())
            inodes.add(where.removeprefix("socket:[").removesuffix("]"))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}


def test_with_a_certificate_it_speaks_tls(planned: Project, browser: Any) -> None:
    key, cert = planned.folder / "key.pem", planned.folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True,
    )  # fmt: skip
    with served(planned, "--host", "0.0.0.0", "--cert", str(cert), "--key", str(key)) as ui:
        assert ui.link.startswith("https://")
        link = ui.link.replace(ui.link.split("/")[2], f"127.0.0.1:{ui.port}")
        visitor = Visitor(browser, link, ignore_https_errors=True)
        (cookie,) = visitor.context.cookies()
        assert cookie["secure"] and cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        assert visitor.open("/p/0/auth").locator(".board").count() == 1
    broken = planned.ralph("ui", "--no-open", "--cert", str(key), "--key", str(cert), code=1)
    assert "certificate" in broken.stderr


def test_without_its_extra_it_says_how_to_install_it(planned: Project) -> None:
    done = planned.run("ui", "--no-open", before="import sys; sys.modules['uvicorn'] = None")
    assert done.returncode == 1 and "needs uvicorn, which is not installed" in done.stderr
    assert f"{sys.executable} -m pip install" in done.stderr and "[web]" in done.stderr


def test_it_opens_no_port_if_a_folder_is_no_project(planned: Project, tmp_path: Any) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    done = planned.ralph("ui", str(nothing), "--no-open", code=None)
    assert done.returncode == 1 and "No project root found" in done.stderr


def test_a_run_goes_on_when_the_dashboard_ends(planned: Project, browser: Any) -> None:
    goes = planned.state_file.parent
    planned.script(
        waits("US-001", "one.txt", f"{goes}/one"), does("US-002", "two.txt"), does("US-003", "three.txt"), VERIFIED
    )
    with served(planned) as ui:
        page = Visitor(browser, ui.link).open("/p/0/auth")
        run = planned.start("run", "auth")
        card(page, "working", "US-001")
    (goes / "one").touch()
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0, out
    wait_for(lambda: planned.events("run_ended"))


def test_a_killed_run_is_called_killed(planned: Project, browser: Any) -> None:
    planned.script(waits("US-001", "one.txt", f"{planned.state_file.parent}/never"))
    run = planned.start("run", "auth")
    wait_for(lambda: planned.events("agent_started"))
    with served(planned) as ui:
        visitor = Visitor(browser, ui.link)
        board, task = visitor.open("/p/0/auth"), visitor.open("/p/0/auth/task/US-001")
        card(board, "working", "US-001")
        run.kill()
        run.communicate()
        card(board, "waiting", "US-001")
        task.wait_for_selector("tr >> text=killed")
        assert "at work" not in task.inner_text("main")
        assert visitor.problems == []
    planned.script(does("US-001", "one.txt"), does("US-002", "two.txt"), does("US-003", "three.txt"), VERIFIED)
    planned.ralph("run", "auth")


def test_the_demo_can_be_watched_in_the_dashboard(project: Project, browser: Any) -> None:
    demo = project.start("demo", "--ui", "--into", str(project.folder / "demo"), "--color", "never")
    assert demo.stdout
    link = ""
    while "/in/" not in link:
        link = demo.stdout.readline().strip()
    visitor = Visitor(browser, link)
    page = visitor.open("/p/0/kelvin")
    card(page, "done", "US-001")
    card(page, "done", "US-002")
    said = ""
    while "stays open" not in said:
        said += demo.stdout.readline()
    assert "What happened" in said
    demo.send_signal(signal.SIGINT)
    demo.communicate(timeout=20)
    assert demo.returncode == 0 and visitor.problems == []


def test_a_run_is_paused_and_resumed_and_its_next_agent_told_something(planned: Project, browser: Any) -> None:
    goes = planned.state_file.parent
    planned.script(
        waits("US-001", "one.txt", f"{goes}/one"), does("US-002", "two.txt"), does("US-003", "three.txt"), VERIFIED
    )
    with served(planned) as ui:
        visitor = Visitor(browser, ui.link)
        board, task = visitor.open("/p/0/auth"), visitor.open("/p/0/auth/task/US-003")
        run = planned.start("run", "auth")
        card(board, "working", "US-001")
        task.click("text=What you can do")
        task.fill("#note", "Mind the umlauts.")
        task.get_by_role("button", name="Tell the next agent").click()
        task.wait_for_selector(".message.ok")
        board.get_by_role("button", name="Pause").click()
        board.wait_for_selector(".message.ok")
        board.get_by_role("link", name="Back").click()
        (goes / "one").touch()
        board.wait_for_selector(".chip >> text=paused")
        board.get_by_role("button", name="Resume").click()
        board.wait_for_selector(".message.ok")
        board.get_by_role("link", name="Back").click()
        card(board, "done", "US-003")
        out, _ = run.communicate(timeout=60)
        assert run.returncode == 0, out
        assert visitor.problems == []
    assert any("Mind the umlauts." in prompt for prompt in planned.prompts())
