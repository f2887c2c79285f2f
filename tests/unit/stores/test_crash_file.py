"""The file of crash copies: read as it was written, and nothing else is believed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.stores.crash_file import FILE, Copies, opened, sealed
from ralph.stores.seal import seal

PATHS = st.binary(min_size=1).filter(lambda name: b"\0" not in name).map(os.fsdecode).map(Path)


@given(tip=st.text("0123456789abcdef"), files=st.dictionaries(PATHS, st.none() | st.binary()))
def test_copies_are_read_as_they_were_written(tip: str, files: dict[Path, bytes | None]) -> None:
    copies = Copies(tip=tip, files=files)
    assert opened(sealed(copies)) == copies


@pytest.mark.parametrize(
    "planted",
    [
        "[]", "3", '{"tip": "a"}', '{"tip": "a", "files": []}', '{"tip": "a", "files": {"a": 3}}',
        '{"tip": "a", "files": {"a\\u0000": "x"}}', '{"tip": "a", "files": {"a": "\\ud800"}}', "[" * 100_000,
    ],
)  # fmt: skip
def test_copies_of_another_form_are_none(planted: str) -> None:
    whole = planted.encode()
    assert opened(seal(FILE, whole).encode() + b"\n" + whole) is None


def test_copies_that_an_agent_made_up_are_none() -> None:
    whole = sealed(Copies(tip="abc", files={})).partition(b"\n")[2].replace(b"abc", b"abd")
    assert opened(hashlib.sha256(whole).hexdigest().encode() + b"\n" + whole) is None
    assert opened(seal("crash-copies", whole).encode() + b"\n" + whole) == Copies(tip="abd", files={})
    assert opened(seal("something else", whole).encode() + b"\n" + whole) is None


@given(cut=st.integers(min_value=0, max_value=200), data=st.binary())
def test_of_a_file_that_is_not_whole_nothing_is_believed(cut: int, data: bytes) -> None:
    whole = sealed(Copies(tip="abc", files={Path("/p/.ralph/state.json"): data}))
    assert opened(whole[: min(cut, len(whole) - 1)]) is None
