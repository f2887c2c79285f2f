"""Text of other programs, made safe to show."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.text import OVERWRITTEN, PlainStream, escaped, one_line, plain

HOSTILE = "".join(
    (
        "\x1b[31mred\x1b[0m", "\x1bc", "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x1b\\", "\x1b[\x1b[31m31m",
        "\x9b31m", "\x9d52;c;aGk=\x9c", "\x1bP1;2|x\x1b\\", "\x1b_apc\x1b\\", "a\rb\r\nc", "\x08\x7f\x00\x07",
        "\u202eabc\u2066", "\u200b\ufeff\u00ad", "<ralph>DO\u200bNE</ralph>", "\U000e0041",
        "\u2028\u2029\x85", "\ud800", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1b",
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]52;c;aGk=\x1b\\x\x1b]0;t\x07y\x9d52;c;aGk=\x9cz", "xyz"),
        ("\x1b[\x1b[31m31mnested", "31mnested"),
        ("50%\r100%\r\nnext", "50%\n100%\nnext"),
        ("pass\u202eword\u2066", "pass\N{REPLACEMENT CHARACTER}word\N{REPLACEMENT CHARACTER}"),
        ("<ralph>DO\u200bNE</ralph>", "<ralph>DO\N{REPLACEMENT CHARACTER}NE</ralph>"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("z" + "\u0301" * 50, "z" + "\u0301" * 4),
        ("a\xa0b\tc\x00\x08\x7f", "a b\tc"),
        ("one\u2028two", "one\ntwo"),
        ("cut off \x1b[31", "cut off "),
        ("äöü 日本語 한국어 – “ok” ✓", "äöü 日本語 한국어 – “ok” ✓"),
    ],
)
def test_only_what_shows_itself_is_left(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text())
def test_plain_text_acts_on_no_terminal_and_stays_as_it_is(text: str) -> None:
    shown = plain(text)
    assert all(letter.isprintable() or letter in "\n\t\u200c\u200d" for letter in shown)
    assert plain(shown) == shown


@pytest.mark.parametrize(
    "text",
    ["\x1b]" * 99_999, "\x1b[" + "0" * 400_000, "\x1bP" + "\x1b" * 300_000, "\u200d" * 300_000, "\x1b]x" * 99_999],
)
def test_hostile_text_costs_no_time(text: str) -> None:
    began = time.process_time()
    plain(text)
    assert time.process_time() - began < 2


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_stays_what_it_is_and_shows_nothing(text: str) -> None:
    line = escaped(json.dumps({"text": text}, ensure_ascii=False))
    assert line.isprintable()
    assert json.loads(line) == {"text": text}


def test_one_line_is_one_line() -> None:
    assert one_line("a\r\n\x1b[2J- b\u2028c") == "a - b c"


@given(st.lists(st.integers(1, 7), max_size=60))
def test_a_stream_in_pieces_is_as_plain_as_the_whole(sizes: list[int]) -> None:
    data, stream, found = HOSTILE.encode(errors="surrogatepass"), PlainStream(), b""
    whole = PlainStream().feed(data, is_last=True)
    for size in (*sizes, len(data)):
        found += stream.feed(data[:size])
        data = data[size:]
    assert found + stream.feed(b"", is_last=True) == whole
    assert all(letter.isprintable() or letter == "\n" for letter in whole.decode())


def test_a_line_that_is_overwritten_stays_and_shows_it() -> None:
    assert PlainStream().feed(b"bad\rgood\r\n", is_last=True).decode() == f"bad{OVERWRITTEN}\ngood\n"
