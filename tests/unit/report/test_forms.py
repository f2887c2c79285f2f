"""Whatever a plan, an agent or a gate writes, a report shows it and does nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.model import GateResult, PageResult
from ralph.report import as_json, markdown, page
from ralph.report.attention import notices
from ralph.report.facts import Change, ChangedTests, PlanReport, RunFacts, Span
from ralph.report.pictures import PNG
from tests.unit.report.build import COMMIT, attempt, of, passed_task, report

HOSTILE = "<script>alert(1)</script>\x1b[31m\"&'|`](http://evil) @octocat #1 \u202e\n# Heading\n<img src=x onerror=y>"


class Tags(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.sources: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.sources |= {value or "" for name, value in attrs if name in ("src", "href", "action", "data")}


def filled(text: str) -> PlanReport:
    """A report with this text wherever somebody else's text can be."""
    gate = GateResult(name=text, command=text, passed=False, seconds=1.0, reason=text, output=text, tests=text)
    opened = PageResult(page=text, url=text, seconds=1.0, screenshot=text)
    span = Span(kind="gate", name=text, begin=0.0, end=1.0, passed=False)
    tried = attempt(verdict="failed", reason=text, agent=text, gates=(gate,), pages=(opened,), spans=(span,))
    tests = ChangedTests(added=(text,), changed=(text,), removed=(text,))
    task = passed_task(
        result={"gates": (gate,), "proven_by": (text,), "concerns": (text,)}, criteria=(text,), waived=(text,)
    )
    facts = of(task, tried, change=Change(base="b" * 40, commit=COMMIT, files=1, tests=tests), no_page=text)
    run = RunFacts(id=tried.run, begin=0.0, end=2.0, ending=text, agent=text)
    return report(facts, runs=(run,), branch=text, target=text)


@given(st.text() | st.just(HOSTILE))
def test_a_page_has_only_its_own_tags_and_loads_nothing(text: str) -> None:
    found, plain = Tags(), Tags()
    found.feed(page.render(filled(text), notices(filled(text)), Path("/nowhere")))
    plain.feed(page.render(filled("x"), notices(filled("x")), Path("/nowhere")))
    assert found.tags <= plain.tags
    assert found.attributes <= plain.attributes
    assert not found.sources


def test_a_page_shows_hostile_text_and_none_of_it_acts() -> None:
    text = page.render(filled(HOSTILE), (), Path("/nowhere"))
    assert "&lt;script&gt;" in text and "<script" not in text
    assert "\x1b" not in text and "\u202e" not in text
    assert "Content-Security-Policy\" content=\"default-src 'none'" in text


@given(st.text() | st.just(HOSTILE))
def test_markdown_keeps_every_text_on_its_own_line(text: str) -> None:
    rendered = markdown.render(filled(text), notices(filled(text)))
    expected = markdown.render(filled("x"), notices(filled("x")))
    headings = re.compile(r"^#+ .*", re.MULTILINE)
    assert len(headings.findall(rendered)) == len(headings.findall(expected))
    assert len(rendered.splitlines()) <= len(expected.splitlines()) + 1


def test_markdown_mentions_nobody_and_links_nothing() -> None:
    rendered = markdown.escaped(HOSTILE)
    assert "@octocat" not in rendered and "@<!-- -->octocat" in rendered
    assert "#1" not in rendered and "](" not in rendered.replace("\\]", "")
    assert "\\<script\\>" in rendered


def test_code_in_markdown_ends_where_it_should() -> None:
    assert markdown.code("a `b` c") == "`` a `b` c ``"
    assert markdown.code("x") == "`x`"


def test_json_has_every_text_as_it_is() -> None:
    data = json.loads(json.dumps(as_json.render(filled(HOSTILE), notices(filled(HOSTILE)))))
    assert data["tasks"][0]["concerns"] == [HOSTILE]
    assert data["tasks"][0]["attempts"][0]["gates"][0]["command"] == HOSTILE


def test_a_screenshot_is_part_of_the_page_only_if_it_is_a_picture_of_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "shot.png").write_bytes(PNG + b"data")
    (root / "text.png").write_bytes(b"secret")
    (tmp_path / "outside.png").write_bytes(PNG)
    (root / "link.png").symlink_to(tmp_path / "outside.png")
    for name, shown in (
        ("shot.png", True), ("text.png", False), ("link.png", False), ("../outside.png", False), ("gone.png", False),
    ):  # fmt: skip
        opened = PageResult(page="/", url="", seconds=1.0, screenshot=name)
        text = page.render(report(of(passed_task(), attempt(pages=(opened,)))), (), root)
        assert ("data:image/png;base64," in text) is shown, name
