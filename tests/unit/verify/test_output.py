"""The useful part of a gate's output: the first error and the end, in little space."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.text import PlainStream
from ralph.verify.output import CHUNK, MAX_CHARS, MAX_LINE, SEARCHED, useful

SLACK = 20


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("output") / "gate.log"


def shown(log: Path, text: str | bytes) -> str:
    log.write_bytes(PlainStream().feed(text.encode() if isinstance(text, str) else text, is_last=True))
    return useful(log)


def quiet(count: int) -> str:
    return "".join(f"step {number} is fine\n" for number in range(count))


def test_a_short_log_is_shown_as_it_is(log: Path) -> None:
    assert shown(log, "one\ntwo\n\nthree") == "one\ntwo\n\nthree"


def test_an_empty_log_shows_nothing(log: Path) -> None:
    assert shown(log, "") == ""


@pytest.mark.parametrize(
    "line",
    [
        "src/a.c:3: error: expected ';'",
        "FAILED tests/test_a.py::test_b",
        "AssertionError: 1 != 2",
        "E   assert 1 == 2",
        "thread 'main' panicked at src/main.rs",
        "Traceback (most recent call last):",
        "sh: foo: not found",
        "  ✗ logs in",
        "FAIL src/app.test.ts",
        "fatal: not a git repository",
        "TypeError: x is undefined",
    ],
)
def test_the_first_error_of_a_long_log_is_shown_with_what_led_to_it_and_the_end(log: Path, line: str) -> None:
    text = shown(log, quiet(500) + "compiling login\n" + line + "\n" + quiet(500) + "make: stopped\n")
    assert line in text
    assert "compiling login" in text
    assert text.endswith("make: stopped")
    assert "[…]" in text
    assert "step 100 is fine" not in text


def test_a_line_that_counts_no_errors_is_not_the_first_error(log: Path) -> None:
    text = shown(log, "lint: 0 errors\n" + quiet(200) + "error: real\n" + quiet(200))
    assert "error: real" in text
    assert "lint: 0 errors" not in text


@pytest.mark.parametrize(
    "noise",
    [
        "tests/test_a.py::test_error PASSED",
        "test errors ... ok",
        "ok  \texample.com/error\t0.01s",
        "✓ tells that it failed",
        "a.c:3:5: warning: variable error is undefined",
        "retried after a failed attempt",
        "Traceback (most recent call last):\n  File 'a.py', line 3\nValueError: logged on purpose",
        "error: printed by a test",
    ],
)
def test_a_mere_word_before_does_not_hide_what_a_tool_reports(log: Path, noise: str) -> None:
    noises = f"{noise}\n" * 100
    text = shown(log, quiet(100) + noises + "src/a.c:3:5: error: expected ';'\n" + noises + quiet(100))
    assert "src/a.c:3:5: error: expected ';'" in text


@pytest.mark.parametrize("before_the_border", range(0, 40, 3))
def test_an_error_on_the_border_of_two_chunks_is_seen_whole(log: Path, before_the_border: int) -> None:
    filler = "f" * 63 + "\n"
    start = filler * (CHUNK // len(filler)) + "\n"
    text = shown(log, start[before_the_border + 1 :] + "src/a.c:3:5: error: expected ';'\n" + filler * 2_000)
    assert "src/a.c:3:5: error: expected ';'" in text


def test_an_indented_error_is_shown_with_the_line_it_stands_under(log: Path) -> None:
    warnings = "".join(f"  {number}:1  warning  'error' is unused\n" for number in range(300))
    text = shown(log, "/src/a.js\n" + warnings + "\n/src/b.js\n" + warnings + "  301:9  error  'x' is not defined\n")
    assert text.startswith("/src/b.js\n[…]\n")
    assert text.endswith("  301:9  error  'x' is not defined")


def test_a_long_traceback_is_shown_with_its_end(log: Path) -> None:
    frames = "".join(f'  File "a.py", line {number}, in f\n' for number in range(200))
    text = shown(log, quiet(100) + f"Traceback (most recent call last):\n{frames}shop.SoldOut: no tea\n" + quiet(200))
    assert "Traceback" in text
    assert '  File "a.py", line 199, in f\nshop.SoldOut: no tea\n' in text


def test_the_last_lines_are_shown_when_nothing_looks_like_an_error(log: Path) -> None:
    text = shown(log, quiet(1000) + "bye\n")
    assert text.endswith("step 999 is fine\nbye")
    assert "step 10 is fine" not in text


def test_colours_and_links_are_removed(log: Path) -> None:
    text = shown(log, "\x1b[31merror\x1b[0m: \x1b]8;;http://x\x07here\x1b]8;;\x07\x1b[K\r\n")
    assert text == "error: here"


def test_an_error_is_recognised_beneath_its_colours(log: Path) -> None:
    text = shown(log, quiet(200) + "\x1b[1m\x1b[31merror\x1b[0m: no\n" + quiet(200))
    assert "error: no" in text


def test_a_progress_line_shows_what_was_left_on_the_screen(log: Path) -> None:
    assert shown(log, "10%\r50%\r100% done\nnext\r\n") == "100% done\nnext"


@pytest.mark.parametrize("size", [10_000, 100_000, 5_000_000])
def test_a_huge_single_line_is_cut(log: Path, size: int) -> None:
    text = shown(log, b"error: " + b"x" * size)
    assert text.startswith("error: xxx")
    assert len(text) <= 2 * MAX_LINE + SLACK
    assert "…" in text


def test_lines_around_a_huge_line_are_still_seen(log: Path) -> None:
    text = shown(log, "before\n" + "y" * 300_000 + "\nerror: after\nend\n")
    assert text.endswith("error: after\nend")
    assert len(text) < 1000


def test_bytes_that_are_no_text_are_shown_as_far_as_they_go(log: Path) -> None:
    assert "error" in shown(log, b"\xff\xfe error \x80\n")


LINE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\x1b"), max_size=40),
    st.integers(0, 2000).map(lambda length: "z" * length),
    st.sampled_from(["error: E1", "0 errors", "FAILED", "\x1b[31mred\x1b[0m"]),
)


@given(st.lists(LINE, max_size=120), st.integers(0, 80))
def test_what_is_shown_is_bounded_and_ends_as_the_log_does(log: Path, lines: list[str], filler: int) -> None:
    lines = [*lines, *["fine"] * filler, "the very end"]
    text = shown(log, "\n".join(lines))
    assert len(text) <= MAX_CHARS + SLACK
    assert text.endswith("the very end")
    assert "\x1b" not in text


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 90))
def test_the_first_error_is_always_shown(log: Path, before: int, after: int, width: int) -> None:
    filler = "f" * width + "\n"
    text = shown(log, filler * before + "error: the first one\n" + filler * after + "error: the last one\n")
    assert "error: the first one" in text
    assert text.endswith("error: the last one")


@pytest.mark.parametrize("flood", ["a.py:1:2: note: fine", "found 0 errors", "an error of some kind"])
def test_an_enormous_log_is_looked_at_in_no_time_and_its_end_is_searched(log: Path, flood: str) -> None:
    block = (flood + "\n").encode() * (1_000_000 // (len(flood) + 1))
    with log.open("wb") as file:
        file.writelines(block for _ in range(150))
        file.write(b"E   AssertionError: assert 1 == 2\n" + b"and then the summary\n" * 300)
    began = time.monotonic()
    text = useful(log)
    assert time.monotonic() - began < 5
    assert "AssertionError: assert 1 == 2" in text
    assert len(text) < MAX_CHARS + 500
    log.unlink()


@pytest.mark.parametrize("far", [SEARCHED - 1000, SEARCHED + 1, 2 * SEARCHED + 100_000])
def test_an_error_near_the_borders_of_what_is_searched_is_shown(log: Path, far: int) -> None:
    dots = b"." * 79 + b"\n"
    log.write_bytes(dots * (far // 80) + b"E   AssertionError: assert 1 == 2\n" + dots * 100_000)
    assert "AssertionError: assert 1 == 2" in useful(log)


def test_a_log_that_was_replaced_by_a_link_or_a_pipe_shows_nothing(tmp_path: Path) -> None:
    log = tmp_path / "gate.log"
    (tmp_path / "secret").write_text("error: hidden")
    log.symlink_to(tmp_path / "secret")
    assert useful(log) == ""
    log.unlink()
    os.mkfifo(log)
    assert useful(log) == ""
