"""What nobody means well, and what is large: the dashboard shows it, and nothing runs, breaks or takes for ever."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from ralph.journal import events as e
from ralph.journal.encode import encode
from ralph.journal.reader import FILE
from ralph.plan.work import Verdict, WorkKind
from tests.conftest import Project, wait_for
from tests.dashboard import Visitor, ask, check, chromium, dashboard, need_browser, overflow, served

pytestmark = [need_browser, pytest.mark.long]
RUN = "20260101-000000-00000000"
HOSTILE = (
    "</pre></script><script>hacked=1</script><img src=x onerror=hacked=1><svg onload=hacked=1>"
    "\"' onmouseover=hacked=1 x='\x1b[31m\x1b]0;title\x07\u202egnp.exe\u2066 {{7*7}} {%raw%} \r\n\x00\x08 &amp; "
    + "W" * 3_000
    + "\u0301" * 50
)
TABS = ("", "?q=%3Cscript%3E", "/timeline", "/cost", "/graph", "/activity", "/task/US-001", "/task/US-001/0")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def hostile(wanted: object, text: str) -> Any:
    """A value of a type, with this text wherever a text can be."""
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is tuple:
        return (hostile(inner[0], text),)
    if origin in (types.UnionType, typing.Union):
        return hostile(next(one for one in inner if one is not type(None)), text)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return list(wanted)[-1]
    if isinstance(wanted, type) and dataclasses.is_dataclass(wanted):
        return filled(wanted, text)
    return {str: text, int: 1, float: 1.0, bool: True}[wanted]  # type: ignore[index]


def filled(of_class: type, text: str, **known: object) -> Any:
    hints = typing.get_type_hints(of_class)
    names = [field.name for field in dataclasses.fields(of_class)]
    return of_class(**{name: known.get(name, hostile(hints[name], text)) for name in names})


def write_journal(project: Project, lines: list[bytes], run: str = RUN) -> None:
    folder = project.path / ".ralph/logs" / run
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_bytes(b"".join(lines))


def test_every_field_of_every_event_may_be_hostile(project: Project, browser: Any) -> None:
    project.config("true")
    text = HOSTILE.replace("\0", "")  # a plan with one is refused as a whole
    project.stories(
        {"title": text[:200], "description": text, "acceptanceCriteria": [text], "notes": text}, "Two", description=text
    )
    lines: list[bytes] = []
    for work, attempt in (("US-001", 1), (HOSTILE[:300], 1), ("US-001", 2)):
        for kind in e.EVENTS.values():
            if kind.kept:
                known = {"work": work, "attempt": attempt, "run": RUN, "target": "auth"}
                event = filled(kind, HOSTILE, **known)
                lines.append(_line(event, len(lines) + 1))
    lines.append(
        b'{"v": 1, "seq": 999, "at": "<script>hacked=1</script>", "run": "x", "target": "auth", "event": "<b>"}\n'
    )
    write_journal(project, lines)
    for name in ("US-001-1.agent.words.txt", "US-001-1.agent.prompt.md", "gate.log"):
        (project.path / ".ralph/logs" / RUN / name).write_text(HOSTILE * 3)
    with served(project) as ui:
        link = ui.link
        for options in ({"viewport": {"width": 390, "height": 844}}, {"viewport": {"width": 1440, "height": 900}}):
            visitor = Visitor(browser, link, **options)
            for path in ("/", *(f"/p/0/auth{tab}" for tab in TABS)):
                page = visitor.open(path)
                assert page.evaluate("typeof hacked") == "undefined", path
                assert overflow(page) == 0, path
                own = page.evaluate("[...document.scripts].every((one) => one.src.includes('/static/'))")
                assert own, path
                text = page.evaluate("document.documentElement.innerHTML")
                assert not set(text) & set("\x1b\u202e\u2066\x07\x08"), path
                foreign = "main img:not([src*='/picture/']), main iframe, main [onload], main [onmouseover], main pre *"
                assert page.locator(foreign).count() == 0, path
                assert check(page, "unnamed") == [], path
                page.close()
            _hears(visitor, project, lines)
            assert [one for one in visitor.problems if "404" not in one] == []
            page = visitor.open("/")
            page.get_by_role("button", name="Sign in another device").click()
            link = page.input_value(".address")


def _line(event: e.Event, seq: int) -> bytes:
    return encode(event, seq=seq, run=RUN, target="auth", at="2026-01-01T00:00:00.000Z")


def _hears(visitor: Visitor, project: Project, lines: list[bytes]) -> None:
    """Hostile events that come while a page is open."""
    page = visitor.open("/p/0/auth/activity")
    run = "20260101-000001-0000000" + str(len(visitor.context.pages) % 10)
    page.evaluate("document.addEventListener('ralph:event', () => (window.heard = true))")
    write_journal(project, lines, run)
    wait_for(lambda: page.evaluate("window.heard"))
    page.wait_for_timeout(300)
    assert page.evaluate("typeof hacked") == "undefined" and overflow(page) == 0
    for path in (project.path / ".ralph/logs" / run).iterdir():
        path.unlink()
    (project.path / ".ralph/logs" / run).rmdir()
    page.close()


def large(project: Project, tasks: int, events: int) -> None:
    """A plan of many tasks, and a run with many events, of which most are about attempts."""
    project.config("true")
    project.stories(*({"title": f"Task number {number}", "passes": number % 3 == 0} for number in range(1, tasks + 1)))
    lines: list[bytes] = [_line(filled(e.RunStarted, "x", run=RUN, target="auth"), 1)]
    number = 0
    while len(lines) < events:
        number = number % tasks + 1
        about = {"work": f"US-{number:03}", "attempt": len(lines) // (tasks * 10) + 1}
        lines.append(_line(filled(e.AttemptStarted, "x", kind=WorkKind.TASK, **about), len(lines) + 1))
        for kind in (e.StepStarted, e.AgentStarted, e.AgentEnded, e.Learned, e.GateStarted, e.GateEnded, e.Audited):
            lines.append(_line(filled(kind, "some words about it", **about), len(lines) + 1))
        ended = filled(e.AttemptEnded, "why", kind=WorkKind.TASK, verdict=Verdict.FAILED, **about)
        lines.append(_line(ended, len(lines) + 1))
    write_journal(project, lines)


def test_a_thousand_tasks_and_many_events_are_shown_in_part(project: Project, browser: Any) -> None:
    large(project, 1_000, 50_000)
    with served(project) as ui:
        visitor = Visitor(browser, ui.link)
        page = visitor.open("/p/0/auth")
        assert page.locator(".card").count() <= 4 * 60
        counts = [int(text) for text in page.locator(".column h2 .count").all_text_contents()]
        assert sum(counts) == 1_000
        page.click(".column.waiting .more")
        page.wait_for_selector(f".column.waiting .card >> nth={counts[0] - 1}")
        page.goto(f"{visitor.base}/p/0/auth/activity")
        assert page.locator(".events li").count() <= 300
        page.click("text=older events")
        page.wait_for_url("**before=*")
        page.wait_for_selector(".events li >> nth=299")
        for tab in ("/timeline", "/cost", "/graph", "/task/US-001"):
            page.goto(f"{visitor.base}/p/0/auth{tab}")
            assert len(page.content()) < 1_500_000, tab
            assert overflow(page) == 0
        assert visitor.problems == []


def test_what_has_ended_is_not_read_again(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    large(project, 10, 500)
    found = dashboard(project.path)
    assert ask(found, "/p/0/auth").status == 200
    (reader,) = found.readers
    known = dict(reader.histories._known)
    reader.changed()
    assert ask(found, "/p/0/auth").status == 200
    assert reader.histories._known[RUN] is known[RUN]
    journal = project.path / ".ralph/logs" / RUN / FILE
    journal.write_bytes(journal.read_bytes() + _line(filled(e.Learned, "x", work="US-001", attempt=1), 999))
    reader.changed()
    assert ask(found, "/p/0/auth").status == 200
    assert reader.histories._known[RUN] is not known[RUN]


def test_a_journal_that_is_no_journal_harms_no_page(project: Project, browser: Any) -> None:
    project.config("true")
    project.stories("One")
    write_journal(
        project, [b"{}\n", b"not json\n", b"\xff\xfe\n", b'{"event": 5}\n', b'{"event": "x"}\n', b"\0" * 5_000]
    )
    (project.path / ".ralph/2026-01-02-broken").mkdir()
    (project.path / ".ralph/2026-01-02-broken/prd.json").write_text("{")
    with served(project) as ui:
        visitor = Visitor(browser, ui.link)
        page = visitor.open("/")
        assert "broken" in page.inner_text("main") and "ralph validate" in page.inner_text("main")
        for tab in TABS[:6]:
            page.goto(f"{visitor.base}/p/0/auth{tab}")
            page.wait_for_selector("h1")
        assert visitor.problems == []
        answer = page.goto(f"{visitor.base}/p/0/broken")
        assert answer.status == 409 and "has 1 mistake" in page.inner_text("main")
