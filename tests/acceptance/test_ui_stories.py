"""R3.11: UI stories are checked in a real browser, and what it finds decides like any gate."""

from __future__ import annotations

import json
import os
import re
import signal
import site
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralph import config
from ralph.verify.browser import find_chromium
from tests.conftest import VERIFIED, Project, does, processes_in, wait_for

pytestmark = pytest.mark.skipif(
    not find_chromium(config.BrowserSettings()), reason="there is no Chrome or Chromium here"
)

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/ui-stories.md").read_text()
SERVER = """
import functools, http.server, os, sys, time
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        if self.path == "/dies":
            print("server: out of memory", flush=True)
            os._exit(7)
        if self.path == "/sleeps":
            open(os.path.join(os.path.dirname(__file__), "asked"), "w").close()
            time.sleep(60)
        super().do_GET()
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["RALPH_PORT"])), Handler).serve_forever()
"""
GOOD = "<!doctype html><title>Page</title><h1>Hello</h1>"
THROWS = f"{GOOD}<script>cart.show()</script>"
PNG = b"\x89PNG\r\n"


def prepare(project: Project, *criteria: str, **more: Any) -> None:
    (project.folder / "server.py").write_text(SERVER)
    service = {
        "name": "dev",
        "start": f"exec {sys.executable} {project.folder}/server.py",
        "ready": "http://127.0.0.1:${RALPH_PORT}/app.txt",
    }
    project.config("true", services=[service], **more)
    project.stories({"title": "Page", "tags": ["ui"], "acceptanceCriteria": list(criteria)})


def test_a_page_that_throws_is_sent_back_with_the_finding_and_passes_when_it_is_mended(project: Project) -> None:
    prepare(project, "/page.html says hello", verify={"ui": [f"echo e2e >> {project.folder}/e2e"]})
    project.script(
        does("US-001", "page.html", THROWS, times=1),
        does("US-001", "page.html", GOOD),
        VERIFIED,
    )

    done = project.ralph("run", "auth")

    finding = "ReferenceError: cart is not defined (/page.html:1)"
    assert "✗ page /page.html" in done.stdout and f"exception: {finding}" in done.stdout
    assert f"- /page.html · exception · {finding}" in project.prompts()[1]
    assert "these pages in a browser: `/page.html`" in project.prompts()[0]
    assert project.story()["passes"]
    assert (project.folder / "e2e").read_text().split() == ["e2e"] * 3, "after the pages, whatever they came to"
    shots = sorted(path.name for path in (project.path / ".ralph/screenshots").glob("*.png"))
    story = [f"US-001-page-html-{when}.png" for when in ("1", "2", "before")]
    assert shots == [*story, "final-page-html-1.png"]
    assert (project.path / ".ralph/screenshots" / shots[0]).read_bytes().startswith(PNG)
    assert not [name for name in project.files_in("ralph/auth") if name.endswith(".png")]
    assert project.status() == ["?? .ralph/", "?? ralph.config.json"]
    assert project.landed("page.html") == GOOD

    shown = project.ralph("status", "--task", "US-001").stdout
    assert shown.index("before the first attempt") < shown.index("status: 404") < shown.index("after attempt 1")
    assert shown.index("after attempt 1") < shown.rindex(finding) < shown.index("after attempt 2")
    assert "✗ /page.html · .ralph/screenshots/US-001-page-html-1.png" in shown
    assert "✓ /page.html · .ralph/screenshots/US-001-page-html-2.png" in shown
    told = json.loads(project.ralph("status", "auth", "--json").stdout)[0]["tasks"][0]["pages"]
    assert [(page["number"], len(page["findings"])) for page in told] == [(0, 1), (1, 1), (2, 0)]


def test_verify_looks_at_the_same_pages_without_an_agent(project: Project) -> None:
    prepare(project, "/page.html says hello", "/app.txt is there")
    project.write("page.html", THROWS)

    report = json.loads(project.ralph("verify", "--story", "US-001", "--json", code=3).stdout)

    assert not report["green"]
    assert [(page["page"], page["status"], len(page["findings"])) for page in report["pages"]] == [
        ("/page.html", 200, 1),
        ("/app.txt", 200, 0),
    ]
    shot = report["pages"][0]["findings"][0]["screenshot"]
    assert shot == ".ralph/screenshots/US-001-page-html-verify.png"
    assert (project.path / shot).read_bytes().startswith(PNG)
    shown = project.ralph("verify", "auth", code=3).stdout
    assert "- /page.html · exception · ReferenceError" in shown
    assert "- /page.html: .ralph/screenshots/auth-page-html-verify.png" in shown
    project.write("page.html", GOOD)
    assert "All gates and the pages are green." in project.ralph("verify", "auth").stdout


def test_a_story_that_two_plans_have_must_be_named_with_its_plan(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.stories("One", "Two", feature="billing")

    for command in (("status", "--task"), ("verify", "--story")):
        assert "auth, billing each have a task US-001." in project.ralph(*command, "US-001", code=1).stderr
        assert "No plan has a task US-009." in project.ralph(*command, "US-009", code=1).stderr
        project.ralph(*command, "US-002")


def test_the_browser_can_be_switched_off(project: Project) -> None:
    prepare(project, "/page.html says hello", browser={"enabled": False})
    project.script(does("US-001", "page.html", THROWS), VERIFIED)

    project.ralph("run", "auth")

    assert project.story()["passes"]
    assert not project.events("page_checked")
    assert "browser" not in project.prompts()[0]


def test_without_a_ui_story_no_browser_is_needed_even_with_ui_gates(project: Project) -> None:
    prepare(project, verify={"ui": ["true"]}, browser={"executablePath": "/no/such/chrome"})
    project.stories("Plain")
    project.script(does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth")
    project.ralph("verify", "auth")

    assert not project.events("page_checked")


def test_a_server_that_dies_in_the_middle_fails_the_story_with_its_last_output(project: Project) -> None:
    prepare(project, "/dies works", "/page.html says hello", maxRetries=1)
    project.script(does("US-001", "page.html", GOOD))

    project.ralph("run", "auth", code=3)

    notes = project.story()["notes"]
    assert "- /dies · load · " in notes
    assert "- /page.html · load · no program listens there" in notes
    assert "The service 'dev' died during the checks (exit code 7).\n\nserver: out of memory" in notes


def test_without_a_browser_nobody_is_paid_and_the_remedy_is_told(project: Project) -> None:
    prepare(project, "/page.html says hello", browser={"executablePath": "/no/such/chrome"})
    project.script(does("US-001", "page.html", GOOD), VERIFIED)

    done = project.ralph("run", "auth", code=1)

    assert "browser.executablePath is '/no/such/chrome', but there is no such program" in done.stderr
    assert project.calls() == 0
    assert "✗ browser.executablePath" in project.ralph("doctor", code=1).stdout


def test_without_playwright_doctor_and_run_say_how_to_install_it(project: Project) -> None:
    prepare(project, "/page.html says hello")
    packages = project.folder / "packages"
    packages.mkdir()
    for folder in site.getsitepackages():
        for path in Path(folder).iterdir():
            if not path.name.startswith("playwright"):
                (packages / path.name).symlink_to(path)
    env = {**project.env, "PYTHONPATH": f"{ROOT / 'src'}:{packages}"}

    def ralph(*args: str) -> str:
        argv = [sys.executable, "-S", "-m", "ralph", *args]
        done = subprocess.run(argv, cwd=project.path, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        return done.stdout + done.stderr

    for told in (ralph("doctor"), ralph("run", "auth")):
        assert "Playwright, which controls it, is not installed" in told
        assert f"-m pip install -e '{ROOT}[browser]'" in " ".join(told.split()), "the command of this installation"


def test_only_who_looks_at_pages_loads_playwright(project: Project) -> None:
    project.config("true")
    for command in (["--version"], ["status"], ["doctor"]):
        argv = [sys.executable, "-X", "importtime", "-m", "ralph", *command]
        done = subprocess.run(argv, cwd=project.path, env=project.env, capture_output=True, text=True, timeout=60)
        assert "ralph.cli" in done.stderr
        assert "playwright" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_browser_never_outlives_ralph(project: Project, number: int) -> None:
    prepare(project, "/sleeps for a while")
    run = subprocess.Popen(
        [str(Path(sys.executable).parent / "ralph"), "verify", "auth"],
        cwd=project.path,
        env=project.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    wait_for((project.folder / "asked").exists, what="the browser asks for the page")
    browsers = [pid for pid in processes_in(project.path) if "chrom" in name_of(pid)]
    assert browsers

    if number == signal.SIGINT:
        os.killpg(run.pid, number)  # as a terminal does
    else:
        run.send_signal(number)
    out, _ = run.communicate(timeout=20)

    wait_for(lambda: not [pid for pid in processes_in(project.path) if "chrom" in name_of(pid)], what="all are gone")
    assert run.returncode == (-9 if number == signal.SIGKILL else 130)
    assert "Traceback" not in out and "never retrieved" not in out
    wait_for(lambda: not processes_in(project.path), what="the server is gone too")


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def test_side_by_side_the_pages_of_each_story_are_looked_at(project: Project) -> None:
    prepare(project)
    stories = [
        {"title": f"Page {n}", "tags": ["ui"], "acceptanceCriteria": [f"/page{n}.html is there"]} for n in (1, 2)
    ]
    project.stories(*stories)
    project.script(*(does(f"US-00{n}", f"page{n}.html", GOOD) for n in (1, 2)), VERIFIED)

    project.ralph("run", "auth", "--jobs", "2")

    assert all(project.plan_at("ralph/auth")["userStories"][n]["passes"] for n in (0, 1))
    checked = {(event["work"], event["result"]["page"]) for event in project.events("page_checked")}
    assert {("US-001", "/page1.html"), ("US-002", "/page2.html")} <= checked


# the guide


def test_the_guide_followed_to_the_letter_ends_as_it_says(project: Project) -> None:
    files = dict(re.findall(r"`([\w./-]+\.(?:py|json))`:\n\n```[a-z]+\n(.*?)```", GUIDE, re.DOTALL))
    assert set(files) == {"app.py", "ralph.config.json", ".ralph/2026-01-01-cart/prd.json", "agent.json"}
    _install, run, look, verify = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for name, text in files.items():
        project.write(name, text)

    out = project.types(run)

    promised = re.findall(r"\n```\n(    ✗.*?)```", GUIDE, re.DOTALL)
    for line in promised[0].strip().splitlines():
        pattern = re.sub(r"\d\\\.\d\\ s", r"[\\d.]+ m?s", re.escape(line.strip()))
        assert re.search(pattern, out), (pattern, out)
    assert "cart: complete · all gates green · final verification agreed" in out
    out = project.types(look)
    assert "after attempt 1" in out and "US-001-cart-2.png" in out
    out = project.types(verify)
    assert "All gates and the pages are green." in out


def test_the_guide_s_patterns_are_valid_and_match_findings(project: Project) -> None:
    block = next(block for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL) if '"ignore"' in block)
    first, second = json.loads(block)["browser"]["ignore"]

    assert re.search(first, "/cart · console · [HMR] waiting")
    assert re.search(second, "/legacy · banner · Oh no")
