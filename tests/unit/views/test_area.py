"""The area below the lines: what it writes, on terminals that break lines when they shrink and on those that do not."""

from __future__ import annotations

import pytest

from ralph.views import area
from ralph.views.area import Area


def drawn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], term: str, **env: str) -> str:
    """What is written first when a terminal shrinks from 80 to 40 columns below three lines of 70."""
    for name in ("TMUX", "XTERM_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": term, "LINES": "24", "COLUMNS": "80", **env}.items():
        monkeypatch.setenv(name, value)
    opened = Area(lambda columns: ["x" * min(columns, 70)] * 3)
    opened.draw()
    capsys.readouterr()
    monkeypatch.setenv("COLUMNS", "40")
    opened.draw()
    opened.clear()
    return capsys.readouterr().out.partition("\x1b[?7l")[0]


@pytest.mark.parametrize(
    ("term", "env", "up"),
    [
        ("xterm-256color", {}, 4),
        ("xterm-kitty", {}, 4),
        ("tmux-256color", {}, 4),
        ("screen-256color", {"TMUX": "/tmp/x"}, 4),
        ("screen-256color", {}, 2),
        ("xterm", {}, 2),
        ("linux", {}, 2),
        ("xterm-256color", {"XTERM_VERSION": "XTerm(379)"}, 2),
    ],
)
def test_a_narrower_terminal_may_have_broken_the_lines(
    term: str, env: dict[str, str], up: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drawn(monkeypatch, capsys, term, **env) == f"\r\x1b[{up}A"


def test_whatever_else_is_printed_clears_it_first(capsys: pytest.CaptureFixture[str]) -> None:
    opened = Area(lambda _: ["one", "two"])
    opened.draw("above\n")
    assert capsys.readouterr().out.startswith("\r\x1b[Jabove\n\n\x1b[?7lone\x1b[K\ntwo\x1b[K")
    area.clear()
    area.clear()
    assert capsys.readouterr().out == "\r\x1b[1A\x1b[J", "once"
