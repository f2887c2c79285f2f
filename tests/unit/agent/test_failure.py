"""Each kind of failure has one rule, and a sentence that quotes the program."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ralph.agent.dialects.api_errors import failure, reset_at, reset_in, retry_after, unwrapped
from ralph.agent.failure import MAX_SAID, RULES, CallFailure, FailureKind, Response, refusal

STOP = {"authentication", "unusable", "not started", "no write permission"}
WAIT = {"usage limit", "rate limit", "overload", "network", "hanging model"}


@pytest.mark.parametrize("kind", FailureKind, ids=lambda kind: kind.value)
def test_each_kind_has_one_rule(kind: FailureKind) -> None:
    expected = Response.STOP if kind.value in STOP else Response.WAIT if kind.value in WAIT else Response.FAIL
    assert RULES[kind].response is CallFailure(kind=kind).response is expected


@pytest.mark.parametrize("kind", FailureKind, ids=lambda kind: kind.value)
def test_each_kind_has_a_sentence_without_gaps(kind: FailureKind) -> None:
    for made in (CallFailure(kind=kind), CallFailure(kind=kind, said="{tool} {said} \n", tool="Write")):
        assert made.text.startswith(("The agent", "The model", "The task"))
        assert "None" not in made.text
    assert "{" not in CallFailure(kind=kind).text


def test_a_long_message_is_shortened() -> None:
    assert len(CallFailure(kind=FailureKind.ERROR, said="x" * 100_000).text) < MAX_SAID + 100


@pytest.mark.parametrize(
    ("tools", "changed", "kind"),
    [
        ((), False, None),
        ((), True, None),
        (("Write",), False, FailureKind.NO_WRITE_PERMISSION),
        (("Bash", "edit"), False, FailureKind.NO_WRITE_PERMISSION),
        (("Write",), True, FailureKind.PERMISSION_REFUSED),
        (("Bash",), False, FailureKind.PERMISSION_REFUSED),
    ],
)
def test_a_refused_tool_matters_most_if_nothing_can_be_written(tools, changed, kind) -> None:
    found = refusal(tools, changed=changed)
    assert (found.kind if found else None) is kind
    if found:
        assert found.tool in tools


@pytest.mark.parametrize(
    ("message", "status", "kind"),
    [
        ("no", 401, FailureKind.AUTHENTICATION),
        ("no", 403, FailureKind.AUTHENTICATION),
        ("no", 402, FailureKind.UNUSABLE),
        ("no", 404, FailureKind.UNUSABLE),
        ("no", 429, FailureKind.RATE_LIMIT),
        ("You exceeded your current quota", 429, FailureKind.USAGE_LIMIT),
        ("You've hit your usage limit", 429, FailureKind.USAGE_LIMIT),
        ("no", 520, FailureKind.OVERLOAD),
        ("no", 418, FailureKind.ERROR),
        ("no", 400, FailureKind.ERROR),
        ("no", None, FailureKind.ERROR),
        ("no", "401", FailureKind.ERROR),
        ("no", True, FailureKind.ERROR),
        ("the input is too long", 400, FailureKind.CONTEXT_TOO_LONG),
        ("the model gpt-0 does not exist", 400, FailureKind.UNUSABLE),
        ("429 rate limited", None, FailureKind.RATE_LIMIT),
        ("unexpected status 503 Service Unavailable", None, FailureKind.OVERLOAD),
        ('{"error": {"code": 401, "message": "no"}}', None, FailureKind.AUTHENTICATION),
        (
            '{"error": {"message": "{\\"error\\": {\\"code\\": 429, \\"message\\": \\"slow\\"}}"}}',
            None,
            FailureKind.RATE_LIMIT,
        ),
        ("rate limited\nrequest a quota increase", None, FailureKind.RATE_LIMIT),
        ("I read 401 lines", None, FailureKind.ERROR),
        ("litellm.ContextWindowExceededError: no", None, FailureKind.CONTEXT_TOO_LONG),
        ("litellm.InternalServerError: no", None, FailureKind.OVERLOAD),
        ("litellm.APIConnectionError: no", None, FailureKind.NETWORK),
        ("Missing environment variable: `OPENAI_API_KEY`.", None, FailureKind.AUTHENTICATION),
        ("Missing API key for OpenAI-compatible auth. Set it.", None, FailureKind.AUTHENTICATION),
        ("litellm.InternalServerError: OpenAIException - Missing credentials.", None, FailureKind.AUTHENTICATION),
        ("AI_LoadAPIKeyError: Anthropic API key is missing.", None, FailureKind.AUTHENTICATION),
        ("you must specify the GEMINI_API_KEY environment variable.", None, FailureKind.AUTHENTICATION),
        ("getaddrinfo ENOTFOUND api.example.com", None, FailureKind.NETWORK),
    ],
)
def test_errors_of_a_model_service_are_classified(message: str, status: object, kind: FailureKind) -> None:
    assert failure(message, status=status).kind is kind


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Try again in 2 hours 14 minutes.", 8040),
        ("try again in 3 days 4 hours and 5 minutes", 273900),
        ("Your quota will reset after 2h14m30s.", 8070),
        ("Please retry in 34.5s.", 34.5),
        ("Try again later.", None),
        ("Try again at 3:05 PM.", None),
        ("I waited in 2 lines", None),
    ],
)
def test_a_message_may_say_when_a_limit_resets(message: str, seconds: float | None) -> None:
    assert reset_in(message, now=1000) == (None if seconds is None else 1000 + seconds)


@pytest.mark.parametrize(
    ("message", "moment"),
    [
        ("visit https://example.com or try again at 5:09 PM.", (2026, 11, 18, 17, 10)),
        ("or try again at 3:39 PM.", (2026, 11, 18, 15, 40)),  # the minute is not over yet
        ("or try again at 3:38 PM.", (2026, 11, 19, 15, 39)),
        ("or try again at 12:05 AM.", (2026, 11, 19, 0, 6)),
        ("or try again at 12:30 PM.", (2026, 11, 19, 12, 31)),
        ("try again at 17:09", (2026, 11, 18, 17, 10)),
        ("or try again at Nov 22nd, 2026 2:59 AM.", (2026, 11, 22, 3, 0)),
        ("or try again at Jan 1st, 2027 11:59 PM.", (2027, 1, 2, 0, 0)),
        ("Try again at 3.", None),
        ("Try again at 25:00.", None),
        ("Try again at Foo 3rd, 2026 2:59 AM.", None),
        ("Try again at Feb 31st, 2026 2:59 AM.", None),
        ("resets 8:30pm (Nowhere/Land)", None),
        ("I try again at the 5:09 PM train", None),
    ],
)
def test_a_message_may_name_the_local_time_at_which_a_limit_resets(message: str, moment: Any) -> None:
    now = datetime(2026, 11, 18, 15, 39, 31).timestamp()
    assert reset_at(message, now) == (datetime(*moment).timestamp() if moment else None)


@pytest.mark.parametrize(
    ("message", "moment"),
    [
        ("You've hit your limit · resets 6pm (UTC)", (2026, 11, 18, 18, 1)),
        ("You've hit your limit · resets 8:30pm (Europe/Helsinki)", (2026, 11, 18, 18, 31)),
        ("resets 3:10am (America/New_York)", (2026, 11, 19, 8, 11)),
        ("resets Nov 20 at 3pm (UTC)", (2026, 11, 20, 15, 1)),
    ],
)
def test_the_time_of_a_reset_may_have_a_time_zone(message: str, moment: Any) -> None:
    now = datetime(2026, 11, 18, 15, 39, 31, tzinfo=UTC).timestamp()
    assert reset_at(message, now) == datetime(*moment, tzinfo=UTC).timestamp()


def test_a_limit_keeps_the_time_that_its_message_names() -> None:
    found = failure("You’ve hit your usage limit. Upgrade to Pro or try again at Nov 22nd, 2126 2:59 AM.")
    assert (found.kind, found.retry_at) == (FailureKind.USAGE_LIMIT, datetime(2126, 11, 22, 3, 0).timestamp())


@pytest.mark.parametrize(
    ("value", "at"),
    [("30", 130), (30, 130), ("0", 100), ("soon", None), (None, None), ("-5", None), (True, None), ("9" * 400, None)],
)
def test_a_header_may_say_when_to_try_again(value: object, at: float | None) -> None:
    assert retry_after({"retry-after": value}, 100) == at


@pytest.mark.parametrize(
    "message", ["", "{", "{}", "plain", '{"error": 3}', '{"error": {"message": []}}', '{"a":' * 50_000]
)
def test_a_message_that_is_no_json_error_stays_as_it_is(message: str) -> None:
    assert unwrapped(message)[0] == message
