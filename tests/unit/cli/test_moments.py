from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ralph.cli.moments import age, since
from ralph.errors import RalphError

NOW = datetime(2026, 11, 19, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("2h", timedelta(hours=2)),
        ("30d", timedelta(days=30)),
        ("06:00", timedelta(minutes=30)),
        ("22:30", timedelta(hours=8)),
        ("2026-11-18T06:30:00+00:00", timedelta(days=1)),
    ],
)
def test_a_moment_is_an_age_a_time_or_a_date(text: str, before: timedelta) -> None:
    assert NOW - since(text, NOW) == before


@pytest.mark.parametrize("text", ["", "soon", "25:00", "-1h", "2026-13-01", "9" * 400 + "d", "1e999h"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(RalphError, match="is not a time") as refused:
        since(text, NOW)
    assert "--since 2h" in refused.value.remedy


def test_an_age_is_a_number_of_seconds() -> None:
    assert age("2h", "--older") == 7200
    with pytest.raises(RalphError, match="is not an age"):
        age("old", "--older")
