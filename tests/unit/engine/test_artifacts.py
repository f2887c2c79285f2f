"""Notes that several agents write at the same time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.engine.artifacts import join_lines

LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), unique=True, max_size=4)


def text(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@given(LINES, LINES, LINES)
def test_what_either_added_is_there_and_what_either_removed_is_not(
    ours: list[bytes], before: list[bytes], theirs: list[bytes]
) -> None:
    joined = join_lines(text(ours), text(before), text(theirs)).splitlines()
    known = set(before)
    assert set(joined) == {*(set(ours) & set(theirs)), *(set(ours) - known), *(set(theirs) - known)}
    assert len(joined) == len(set(joined)), "nothing is there twice"


@given(LINES, LINES)
def test_without_another_writer_the_file_is_taken_as_it_is(before: list[bytes], theirs: list[bytes]) -> None:
    assert join_lines(text(before), text(before), text(theirs)) == text(theirs)
