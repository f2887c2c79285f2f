"""The file with an agent's words: whole, clean, and never larger than it may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.agent import words
from ralph.agent.words import Words
from ralph.process.redaction import Secrets


def test_each_block_is_in_the_file_at_once(tmp_path: Path) -> None:
    said = Words(tmp_path / "w.txt", Secrets().log_stream())
    said.feed(b"one\n")
    assert (tmp_path / "w.txt").read_bytes() == b"one\n"
    said.feed("zwölf \x1b[1mbold\x1b[0m\n".encode())
    assert (tmp_path / "w.txt").read_text() == "one\nzwölf bold\n"
    said.close()


def test_a_secret_over_two_blocks_is_hidden(tmp_path: Path) -> None:
    said = Words(tmp_path / "w.txt", Secrets(["first line\nsecond line"]).log_stream())
    for block in (b"my key is first line\n", b"second line, keep it\n"):
        said.feed(block)
    said.close()
    assert (tmp_path / "w.txt").read_text() == "my key is [secret], keep it\n"


def test_a_full_file_begins_anew_under_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MAX_BYTES", 100)
    said = Words(tmp_path / "w.txt", Secrets().log_stream())
    said.feed(b"x" * 60 + b"\n")
    first = (tmp_path / "w.txt").stat().st_ino
    with (tmp_path / "w.txt").open():  # whoever reads it sees that it is another file
        said.feed(b"y" * 60 + b"\n")
        assert (tmp_path / "w.txt").stat().st_ino != first
    assert (tmp_path / "w.txt").read_text() == "[…]\n" + "y" * 60 + "\n"
    said.close()


def test_of_a_flood_whole_lines_are_written_and_that_some_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "PACE", 20)
    said = Words(tmp_path / "w.txt", Secrets().log_stream())
    said.feed(b"one line\n" * 5)
    text = (tmp_path / "w.txt").read_text()
    assert text == "one line\none line\n[…]\n"
    said.close()


def test_a_file_that_cannot_be_written_stops_no_call(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "logs").symlink_to(tmp_path)
    said = Words(tmp_path / ".ralph" / "logs" / "w.txt", Secrets().log_stream())
    said.feed(b"one\n")
    said.close()
    assert not (tmp_path / "w.txt").exists()
