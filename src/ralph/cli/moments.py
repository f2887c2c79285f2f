"""Ages and moments as a person types them: `12h`, `30d`, `22:30`, `2026-11-19 22:30`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from ralph import values
from ralph.errors import RalphError

DAY = 86_400.0
_TIME = re.compile(r"(\d{1,2}):(\d{2})")


def age(text: str, option: str) -> float:
    """Return the seconds of `30d`, `12h` and the like; an error names the option."""
    try:
        return _age(text)
    except ValueError:
        raise RalphError(f"{text!r} is not an age.", remedy=f"For example: {option} 30d, {option} 12h") from None


def since(text: str, now: datetime) -> datetime:
    """Return the moment that a person means: an age, a time of the last 24 hours, or a date with or without a time."""
    time = _TIME.fullmatch(text.strip())
    try:
        if time:
            found = now.replace(hour=int(time[1]), minute=int(time[2]), second=0, microsecond=0)
            return found if found <= now else found - timedelta(days=1)
        if not any(sign in text for sign in "-:"):
            return now - timedelta(seconds=_age(text))
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        examples = '--since 2h, --since 22:30, --since "2026-11-19 22:30"'
        raise RalphError(f"{text!r} is not a time.", remedy=f"For example: {examples}") from None


def _age(text: str) -> float:
    days = text.strip().lower()
    return float(days[:-1]) * DAY if days.endswith("d") else float(str(values.seconds(text)))
