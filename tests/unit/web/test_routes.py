"""Every route is in one table, needs what it says, and nothing else leads anywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ralph.journal.events import AgentStarted, AttemptEnded, AttemptStarted, GateEnded, PageChecked, RunStarted
from ralph.journal.writer import Journal
from ralph.plan.model import GateResult, PageResult
from ralph.plan.work import Verdict, WorkKind
from ralph.report.pictures import PNG
from ralph.web.address import Address
from ralph.web.guard import HEADERS, MAX_BODY, RouteAccess
from ralph.web.server import Dashboard
from tests.dashboard import FORM, ORIGIN, ask, dashboard

RUN = "20260101-000000-00000000"
TASK = "/p/0/auth/task/US-001"
ACT = {"origin": ORIGIN, "content-type": FORM}


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    plan = root / ".ralph/2026-01-01-auth/prd.json"
    plan.parent.mkdir(parents=True)
    story = {"id": "US-001", "title": "One", "priority": 1, "acceptanceCriteria": ["It works"]}
    document = {"schemaVersion": 2, "branchName": "ralph/auth", "description": "d", "userStories": [story]}
    plan.write_text(json.dumps(document))
    logs = root / ".ralph/logs" / RUN
    with Journal(logs, target="auth") as journal:
        journal.emit(_started())
        for event in _attempt(logs, root):
            journal.emit(event)
    (logs / "US-001-1.agent.words.txt").write_text("what it said\n")
    (logs / "US-001-1.agent.prompt.md").write_text("what it was asked\n")
    (logs / "gate.log").write_text("all output\n")
    (root / ".ralph/screenshots").mkdir()
    (root / ".ralph/screenshots/one.png").write_bytes(PNG + b"picture")
    (tmp_path / "outside.png").write_bytes(PNG + b"outside")
    (tmp_path / "secret.txt").write_text("secret\n")
    return root


def _started() -> RunStarted:
    return RunStarted(
        run=RUN, target="auth", workflow="feature", version="1", tasks=1, passed=0, blocked=0, branch="ralph/auth",
        slots="", agent="claude", gates=("test",),
    )  # fmt: skip


def _attempt(logs: Path, root: Path) -> list[object]:
    about = {"work": "US-001", "attempt": 1}
    gates = tuple(
        GateResult(name="test", command="test", passed=True, seconds=1.0, log=log)
        for log in (str(logs / "gate.log"), "../../../../secret.txt", str(root.parent / "secret.txt"), "")
    )
    shots = (".ralph/screenshots/one.png", "../outside.png", str(root.parent / "outside.png"), "ralph.config.json")
    pages = [PageResult(page=shot, url="/", seconds=1.0, screenshot=shot) for shot in shots]
    words, log = str(logs / "US-001-1.agent.words.txt"), str(logs / "US-001-1.agent.log")
    return [
        AttemptStarted(**about, kind=WorkKind.TASK, title="One", failures=0, max_failures=3, base=""),
        AgentStarted(**about, command="claude", prompt_chars=1, log=log, words=words),
        AgentStarted(**about, command="claude", prompt_chars=1, log="/etc/passwd", words="/etc/passwd"),
        *(GateEnded(**about, result=gate) for gate in gates),
        *(PageChecked(**about, result=page) for page in pages),
        AttemptEnded(
            **about, kind=WorkKind.TASK, verdict=Verdict.FAILED, reason="red", base="", commit="", ref="",
            seconds=1.0, gates=gates,
        ),
    ]  # fmt: skip


@pytest.fixture
def found(folder: Path) -> Dashboard:
    return dashboard(folder)


FILLED = {
    "token": "x", "name": "app.css", "project": "0", "target": "auth", "task": "US-001", "index": "0", "call": "0",
    "kind": "words", "gate": "0", "page": "0", "action": "retry",
}  # fmt: skip


def paths(found: Dashboard) -> list[tuple[str, str, RouteAccess]]:
    return [
        (one.method, re.sub(r"\{(\w+)\}", lambda part: FILLED[part[1]], one.path), one.access) for one in found.routes
    ]


def test_every_route_is_classified_and_only_the_way_in_is_public(found: Dashboard) -> None:
    assert {(one.path, one.access) for one in found.routes if one.access is RouteAccess.PUBLIC} == {
        ("/in/{token}", RouteAccess.PUBLIC),
        ("/static/{name}", RouteAccess.PUBLIC),
    }
    for route in found.routes:
        assert isinstance(route.access, RouteAccess)
        changes = route.access in (RouteAccess.ACTION, RouteAccess.ONCE)
        assert (route.method == "POST") == changes, route.path
    assert [one.path for one in found.routes if one.access is RouteAccess.ONCE] == ["/once/{token}"]


def test_without_a_cookie_nothing_is_shown_not_even_what_exists(found: Dashboard) -> None:
    answers = set()
    for method, path, access in [
        *paths(found),
        ("GET", "/no/such/page", RouteAccess.READ),
        ("PUT", "/", RouteAccess.READ),
    ]:
        if access is not RouteAccess.PUBLIC:
            for cookie in ("", "ralph_ui=", "ralph_ui=1.2.3", "other=x"):
                answer = ask(found, path, method=method, signed_in=False, headers={"cookie": cookie, **ACT})
                assert answer.status == 401, path
                answers.add(answer.body)
    assert len(answers) == 1
    assert ask(found, "/", place=False, signed_in=False).status == 401
    assert found.base not in ask(found, "/", place=False, signed_in=False).text


def test_with_a_cookie_every_page_is_there_and_nothing_else(found: Dashboard) -> None:
    for method, path, access in paths(found):
        if access is RouteAccess.READ and path != "/events":
            assert ask(found, path, method=method).status == 200, path
    for path in ("/no/such/page", "/p/1/auth", "/p/0/other", "/p/0/auth/task/US-009", "/p/x/auth", "/static/", "//",
                 "/p/0/auth/", f"{TASK}/9/gate/0", f"{TASK}/0/gate/9", f"{TASK}/0/picture/9", "/p/0/auth/task/",
                 "/p/-1/auth", "/p/0/..%2f..%2fsecret/board", "/static/..%2fserver.py"):  # fmt: skip
        assert ask(found, path).status == 404, path
    assert ask(found, "/", method="DELETE").status == 404
    assert ask(found, "/", method="HEAD").status == 200


def test_every_answer_forbids_scripts_frames_and_guesses(found: Dashboard) -> None:
    for path in ("/", "/p/0/auth", "/no", "/static/app.js", f"{TASK}/0/picture/0"):
        answer = ask(found, path)
        assert {name: answer.headers.get(name) for name in HEADERS} == dict(HEADERS), path
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    for path in ("/", "/p/0/auth", TASK, "/p/0/auth/cost"):
        text = ask(found, path).text
        assert not re.search(r"<script(?![^>]* src=)|\son\w+=|\sstyle=|javascript:", text), path


def test_a_host_that_is_not_ours_gets_nothing(found: Dashboard) -> None:
    for path in ("/", "/static/app.css", "/in/x"):
        assert ask(found, path, headers={"host": "evil.example:4747"}).status == 421
    assert ask(found, "/", headers={"host": ""}).status == 421


def test_another_page_cannot_act_in_a_persons_name(found: Dashboard) -> None:
    path = f"{TASK}/do/retry"
    for origin in ("", "null", "http://127.0.0.1:3000", "http://evil.example"):
        answer = ask(found, path, method="POST", headers={**ACT, "origin": origin})
        assert answer.status == 403, origin
    assert ask(found, path, method="POST", headers={**ACT, "content-type": "text/plain"}).status == 413
    assert ask(found, path, method="POST", headers=ACT).status == 200
    assert ask(found, path, method="GET").status == 404


def test_read_only_means_that_nothing_can_be_done(folder: Path) -> None:
    found = dashboard(folder, read_only=True)
    for method, path, access in paths(found):
        if access is RouteAccess.ACTION:
            assert ask(found, path, method=method, headers=ACT).status == 403
    assert 'method="post"' not in ask(found, TASK).text + ask(found, "/p/0/auth").text


@pytest.mark.parametrize("pieces", [1, 50])
def test_a_body_that_is_too_long_is_not_read_to_its_end(found: Dashboard, pieces: int) -> None:
    body = b"note=" + b"x" * MAX_BODY
    answer = ask(found, f"{TASK}/do/retry", method="POST", headers=ACT, body=body, pieces=pieces)
    assert answer.status == 413


def test_a_link_signs_in_once_and_its_cookie_is_for_the_dashboard_only(found: Dashboard) -> None:
    link = f"/in/{found.doorkeeper.new_link()}"
    answer = ask(found, link, signed_in=False)
    assert (answer.status, answer.headers["location"]) == (303, f"{found.base}/")
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", f"Path={found.base}/", "Max-Age="))
    assert "Secure" not in cookie
    again = ask(found, link, signed_in=False)
    assert again.status == 401 and "set-cookie" not in again.headers
    assert ask(found, link).status == 303, "a browser that is signed in is not turned away"
    assert ask(found, "/", signed_in=False, headers={"cookie": cookie.partition(";")[0]}).status == 200


def test_with_tls_the_cookie_is_never_sent_without(folder: Path) -> None:
    found = dashboard(folder, address=Address(cert="c", key="k"))
    answer = ask(found, f"/in/{found.doorkeeper.new_link()}", signed_in=False)
    assert "Secure" in answer.headers["set-cookie"]


def test_a_person_who_is_signed_in_can_let_another_device_in(found: Dashboard) -> None:
    text = ask(found, "/link", method="POST", headers=ACT).text
    link = re.search(rf'value="{ORIGIN}{found.base}(/in/[^"]+)"', text)
    assert link and ask(found, link[1], signed_in=False).status == 303


def test_files_are_those_of_the_run_whatever_its_journal_says(found: Dashboard) -> None:
    assert ask(found, f"{TASK}/0/call/0/words").text == "what it said\n"
    assert ask(found, f"{TASK}/0/call/0/prompt").text == "what it was asked\n"
    assert ask(found, f"{TASK}/0/call/1/words").text == ""
    assert [ask(found, f"{TASK}/0/gate/{index}").text for index in range(4)] == ["all output\n", "", "", ""]
    assert ask(found, f"{TASK}/0/gate/0").headers["content-type"].startswith("text/plain")
    assert ask(found, f"{TASK}/0/picture/0").body == PNG + b"picture"
    assert [ask(found, f"{TASK}/0/picture/{index}").status for index in (1, 2, 3)] == [404, 404, 404]


def test_links_in_a_run_lead_nowhere(folder: Path) -> None:
    logs = folder / ".ralph/logs" / RUN
    (logs / "gate.log").unlink()
    (logs / "gate.log").symlink_to(folder.parent / "secret.txt")
    (folder / ".ralph/screenshots/one.png").unlink()
    (folder / ".ralph/screenshots/one.png").symlink_to(folder.parent / "outside.png")
    found = dashboard(folder)
    assert ask(found, f"{TASK}/0/gate/0").text == ""
    assert ask(found, f"{TASK}/0/picture/0").status == 404
    (folder / ".ralph/screenshots/one.png").unlink()
    (folder / ".ralph/screenshots").rmdir()
    (folder / ".ralph/screenshots").symlink_to(folder.parent)
    (folder.parent / "one.png").write_bytes(PNG + b"outside")
    assert ask(dashboard(folder), f"{TASK}/0/picture/0").status == 404


def test_several_projects_are_told_apart_by_numbers(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".ralph").mkdir(parents=True)
    found = dashboard(folder, other, folder)
    text = ask(found, "/").text
    assert "project" in text and "other" in text and "No plans yet" in text
    assert ask(found, "/p/0/auth").status == 200 and ask(found, "/p/1/auth").status == 404


def test_a_websocket_is_refused(found: Dashboard) -> None:
    import asyncio

    sent: list[object] = []

    async def send(message: object) -> None:
        sent.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    asyncio.run(found.app({"type": "websocket", "path": f"{found.base}/", "headers": []}, receive, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]
