"""Classifies what a program says about an error of its model service: by HTTP status, else by the message.

Only for text from a program's own error fields. Words of a model, of a tool or of a file never come here.
"""

from __future__ import annotations

import json
import re
import time
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from ralph.agent.dialects.fields import Json, a_count, a_text, an_object
from ralph.agent.failure import CallFailure, FailureKind
from ralph.patterns import lazy

STATUSES = {
    400: FailureKind.ERROR,
    401: FailureKind.AUTHENTICATION,
    402: FailureKind.UNUSABLE,
    403: FailureKind.AUTHENTICATION,
    404: FailureKind.UNUSABLE,
    408: FailureKind.NETWORK,
    413: FailureKind.CONTEXT_TOO_LONG,
    429: FailureKind.RATE_LIMIT,
    500: FailureKind.OVERLOAD,
    502: FailureKind.OVERLOAD,
    503: FailureKind.OVERLOAD,
    504: FailureKind.OVERLOAD,
    529: FailureKind.OVERLOAD,
}
STATUS = lazy(r"(?:^|\bstatus(?: code)?:? |\bHTTP |\bError \(|\(HTTP |error: |Error: )\(?([45]\d\d)\b", re.I)
MESSAGES = (
    (
        FailureKind.CONTEXT_TOO_LONG,
        r"too long|context.?(?:length|limit|window|overflow)|maximum context|too many tokens|context_length_exceeded",
    ),
    (FailureKind.USAGE_LIMIT, r"usage limit|quota|hit your (?:\w+ )*limit|limit reached|out of credits?"),
    (FailureKind.UNUSABLE, r"credit balance|billing|model .{0,80}(?:not found|does not exist|not supported)|with root"),
    (FailureKind.RATE_LIMIT, r"rate.?limit|too many requests|resource.?exhausted"),
    (
        FailureKind.AUTHENTICATION,
        r"(?:invalid|missing|no) (?:x-)?api.?key|api.?key (?:is )?(?:missing|required|not (?:found|set))"
        r"|missing (?:environment variable|credentials)|must specify .{0,40}(?:key|token)|no auth type|auth method"
        r"|unauthori[sz]ed|unauthenticated|authentication|not logged in|log ?in again",
    ),
    (FailureKind.OVERLOAD, r"overloaded|high demand|server.?error|unavailable|internal error"),
    (
        FailureKind.NETWORK,
        r"network|connect(?:ion)?(?:\b|error)|socket|ECONN|ENOTFOUND|EAI_AGAIN|fetch failed|terminated"
        r"|stream disconnected|timed? ?out|sending request|stream decode|response body",
    ),
)
WORDS = tuple((kind, lazy(pattern, re.I)) for kind, pattern in MESSAGES)
MAX_MESSAGE = 10_000
UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
LENGTH = lazy(r"(\d+(?:\.\d+)?)\s*(d|h|m|s)[a-z]*", re.I)
RESET = lazy(
    r"(?:try again|retry|resets?|wait)\s+(?:in|after|for)\s+((?:\d+(?:\.\d+)?\s*(?:d|h|m|s)[a-z]*[\s,]*(?:and )?)+)",
    re.I,
)
CLOCK = lazy(
    r"(?:try again|resets?)(?: at| on)? "
    r"(?:(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2})(?:st|nd|rd|th)?,?(?: (?P<year>\d{4}),?)?(?: at)? )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?: ?(?P<half>[ap]m))?| ?(?P<only_half>[ap]m))\b"
    r"(?: \((?P<zone>[\w/+-]+)\))?",
    re.I,
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def by_status(status: object) -> FailureKind | None:
    found = a_count(status)
    if found is None:
        return None
    return STATUSES.get(found) or (FailureKind.OVERLOAD if 500 <= found < 600 else None)


def failure(
    message: str, *, status: object = None, kind: FailureKind | None = None, retry_at: float | None = None
) -> CallFailure:
    """Return the failure that a program reports; the kind comes from a field of its own, the status, or the message."""
    inner, code = unwrapped(message[:MAX_MESSAGE])
    found = kind or _kind(inner, by_status(status) or by_status(code))
    waits = found in (FailureKind.USAGE_LIMIT, FailureKind.RATE_LIMIT)
    told = (reset_in(inner) or reset_at(inner)) if waits else None
    return CallFailure(kind=found, said=inner, retry_at=retry_at or told)


def unwrapped(message: str) -> tuple[str, int | None]:
    """Return the message inside a JSON error such as `{"error": {"code": 400, "message": "…"}}`, and its status."""
    text = message.strip()
    start = text.find("{")
    if start < 0:
        return text, None
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start:])
    except (ValueError, RecursionError):
        return text, None
    error = an_object(an_object(found).get("error")) or an_object(found)
    inner, code = a_text(error.get("message")), a_count(error.get("code"))
    if not inner:
        return text, code
    deeper, status = unwrapped(inner) if inner.strip().startswith("{") else (inner, None)
    return deeper, status or code


def _kind(message: str, status: FailureKind | None) -> FailureKind:
    """A status decides; the first line of the message makes it more precise, or stands in for it."""
    first = message.strip().partition("\n")[0]
    named = STATUS.search(first)
    status = status or (by_status(int(named[1])) if named else None)
    said = next((kind for kind, words in WORDS if words.search(first)), None)
    if status is FailureKind.ERROR:
        return said if said in (FailureKind.CONTEXT_TOO_LONG, FailureKind.UNUSABLE) else status
    if status is FailureKind.RATE_LIMIT and said is FailureKind.USAGE_LIMIT:
        return said
    return status or said or FailureKind.ERROR


def reset_in(message: str, now: float | None = None) -> float | None:
    """Return when to try again, if the message says after how long."""
    found = RESET.search(message)
    if not found:
        return None
    seconds = sum(float(number) * UNITS[unit.lower()] for number, unit in LENGTH.findall(found[1]))
    return (time.time() if now is None else now) + seconds if seconds else None


def reset_at(message: str, now: float | None = None) -> float | None:
    """Return when to try again, if the message names a time of day, with or without a date and a time zone.

    The seconds are missing from it, so the minute that it names must be over.
    """
    found = CLOCK.search(message)
    if not found:
        return None
    now = time.time() if now is None else now
    half = (found["half"] or found["only_half"] or "").lower()
    hour = int(found["hour"]) % 12 + (12 if half == "pm" else 0) if half else int(found["hour"])
    try:
        today = datetime.fromtimestamp(now, ZoneInfo(found["zone"]) if found["zone"] else None)
        at = today.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
        if found["month"]:
            month = MONTHS.index(found["month"].lower()) + 1
            at = at.replace(year=int(found["year"] or at.year), month=month, day=int(found["day"]))
    except (ValueError, KeyError, OSError):  # no such time, day, month or zone
        return None
    over = at + timedelta(minutes=1)
    is_tomorrow = not found["month"] and over.timestamp() <= now
    return (over + timedelta(days=is_tomorrow)).timestamp()


def retry_after(headers: Json, at: float) -> float | None:
    """Return when to try again, from a `retry-after` header in seconds that was sent at `at`."""
    value = headers.get("retry-after")
    text = value if isinstance(value, str) else str(a_count(value) or "")
    return at + int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
