"""How broad text is, and how it is made to fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.views import cells

TEXT = st.text("ab ☑日\u0301\u200d👩…", max_size=40)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("\u0e31", 0), ("\x1b[31mred\x1b[0m", 3), ("✓ …", 3), ("👩\u200d👧", 4)],
)
def test_the_columns_of_text(text: str, columns: int) -> None:
    assert cells.breadth(text) == columns


@given(TEXT, st.integers(1, 30))
def test_what_is_made_to_fit_fits(text: str, width: int) -> None:
    assert cells.breadth(cells.fitted(text, width)) <= width
    assert cells.breadth(cells.filled(text, width)) == width
    assert cells.breadth(text) > width or cells.fitted(text, width) == text


@given(TEXT, st.integers(2, 30))
def test_a_broken_line_loses_nothing_but_blanks(text: str, width: int) -> None:
    pieces = list(cells.broken(text, width))
    assert all(cells.breadth(piece) <= width for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        ({}, True),
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "C"}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),  # as Python changes it
        ({"LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({"LC_CTYPE": "UTF-8"}, True),
        ({"LANG": "ca_ES.utf8@valencia"}, True),
    ],
)
def test_the_locale_says_whether_more_than_ascii_is_shown(environment: dict[str, str], shown: bool) -> None:
    assert cells.shows_unicode(environment) is shown


def test_marks_in_ascii() -> None:
    assert cells.in_ascii("  ✓ US-001 │ 日 · … ▶") == "  + US-001 | ? - ... *"
