"""RX.21: what UI work needs and has not got is told before anything is spent. No browser is needed to know it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.acceptance.test_services import answers, prepare, starts
from tests.conftest import VERIFIED, Project, does, wait_for


def ui(*criteria: str) -> dict[str, object]:
    return {"title": "Page", "tags": ["ui"], "acceptanceCriteria": list(criteria)}


@pytest.fixture
def ready(project: Project) -> Project:
    project.config("true")
    project.script(does("US-001", "one.txt"), VERIFIED)
    return project


def test_a_story_about_a_path_that_belongs_to_nothing_is_refused(ready: Project) -> None:
    ready.stories(ui("/login shows a form"))

    told = ready.ralph("run", "auth", code=1).stderr

    assert "US-001 is a UI task about the page /login, but nothing configures its address." in told
    assert '"services": [{"name": "dev"' in told and "browser.baseUrl" in told
    assert ready.calls() == 0


def test_a_run_that_is_refused_at_the_start_lets_go_of_the_branch(ready: Project) -> None:
    ready.stories(ui("/login shows a form"))
    ready.git("branch", "ralph/auth")

    ready.ralph("run", "auth", code=1)

    ready.git("switch", "-q", "ralph/auth")


@pytest.mark.parametrize("in_branch", [True, False])
def test_a_plan_whose_first_run_was_refused_can_still_be_edited(ready: Project, in_branch: bool) -> None:
    """The branch is created when the run begins, not before: until then, the plan in the checkout counts."""
    ready.config("true", commits={"prdChanges": in_branch})
    ready.stories(ui("/login shows a form"))
    ready.ralph("run", "auth", code=1)
    assert ready.git("branch", "--list", "ralph/*") == ""

    ready.stories(ui("It looks good"))

    assert "US-001 passed" in ready.ralph("run", "auth").stdout


def test_a_run_that_is_refused_after_a_kill_leaves_the_killed_run_s_plan(ready: Project) -> None:
    ready.config("true", browser={"enabled": False})
    ready.stories("One", ui("/login shows a form"))
    ready.script(
        does("US-001", "one.txt"),
        does("US-002", "two.txt", times=1, run=["touch $HOME/begun; sleep 60"]),
        does("US-002", "two.txt"),
        VERIFIED,
    )
    run = ready.start("run", "auth")
    wait_for((ready.home / "begun").exists)
    run.kill()
    run.communicate()
    copies = ready.path / ".ralph/run/auth/crash-copies"
    kept = copies.read_bytes()

    ready.config("true")
    told = ready.ralph("run", "auth", code=1).stderr
    now = copies.read_bytes()
    ready.config("true", browser={"enabled": False})
    ready.ralph("run", "auth")

    assert "nothing configures its address" in told
    assert kept and now == kept
    assert ready.calls() == 4, "US-001 is not done again"


def test_a_story_that_names_no_page_passes_and_every_view_says_so(ready: Project) -> None:
    ready.stories(ui("Looks nice"))

    done = ready.ralph("run", "auth")

    assert "US-001 is a UI task, but Ralph opened no page: its criteria name no page" in done.stdout
    assert "no page was opened" in ready.ralph("status", "auth").stdout
    assert "no page was opened: US-001" in ready.ralph("status").stdout
    assert "No page was opened: its criteria name no page" in ready.ralph("status", "--task", "US-001").stdout
    task = json.loads(ready.ralph("status", "auth", "--json").stdout)[0]["tasks"][0]
    assert task["pages"] == [] and task["noPage"].startswith("its criteria name no page")
    assert "no page was opened: its criteria name no page" in ready.ralph("attempts", "auth").stdout
    [attempt] = json.loads(ready.ralph("attempts", "auth", "US-001/1", "--json").stdout)
    assert attempt["noPage"].startswith("its criteria name no page")
    assert "no_page=its criteria name no page" in ready.ralph("logs", "--events").stdout


@pytest.mark.parametrize("more", [{}, {"enabled": False}])
def test_where_pages_are_required_it_is_refused(ready: Project, more: dict[str, bool]) -> None:
    ready.config("true", browser={"require": True, **more})
    ready.stories("Plain", ui("Looks nice"))

    told = ready.ralph("run", "auth", code=1).stderr

    assert "browser.require is true, but Ralph would open no page for US-002:" in told
    assert ready.calls() == 0


@pytest.mark.parametrize("answer", ["HTTP/1.0 200 OK", "HTTP/1.0 500 No"])
def test_a_taken_port_is_told_with_its_holder_also_if_it_answers(ready: Project, answer: str) -> None:
    """Whoever it is serves other files than those of the commit."""
    port = prepare(ready)
    ready.stories(ui("Looks nice"))
    code = (
        f"import socket; s = socket.create_server(('127.0.0.1', {port}))\n"
        f"while True: c = s.accept()[0]; c.recv(999); c.sendall(b'{answer}\\r\\n\\r\\n'); c.close()"
    )
    other = subprocess.Popen([sys.executable, "-c", code])
    try:
        wait_for(lambda: answers(port))

        told = ready.ralph("run", "auth", code=1).stderr

        assert "The service 'dev' cannot start: python" in told
        assert f"port {port}." in told
        assert f"(process {other.pid})" in told and "${RALPH_PORT} in its ready" in told
    finally:
        other.kill()
        other.wait()
    assert ready.calls() == 0 and starts(ready) == []
    ready.ralph("run", "auth")


def test_a_service_of_the_persons_that_is_not_up_is_told(ready: Project) -> None:
    prepare(ready, start=None)
    ready.stories(ui("Looks nice"))

    assert "you must start it yourself" in ready.ralph("run", "auth", code=1).stderr
    assert ready.calls() == 0
