"""Claude Code's events, as recorded from real versions of it: what it said, what it used, what went wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.agent.dialects.base import DialectReport
from ralph.agent.dialects.claude import ClaudeReader
from ralph.agent.failure import FailureKind
from ralph.agent.transcript import Marker, Transcript

DATA = Path(__file__).parents[3] / "data" / "claude"
RECORDED = sorted(path.stem for path in DATA.glob("*.jsonl"))
DONE = "<ralph>DONE</ralph>"


def read(*pieces: bytes, prompt: str = "") -> tuple[DialectReport, Transcript]:
    transcript = Transcript(prompt)
    reader = ClaudeReader(transcript)
    for piece in pieces:
        reader.feed(piece)
    return reader.close(), transcript


def recorded(name: str) -> bytes:
    return (DATA / f"{name}.jsonl").read_bytes()


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def assistant(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}, **more}


def result(**more: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": "", **more}


@pytest.mark.parametrize(
    ("name", "model", "cost"),
    [("success-2.1.325", "claude-opus-5-5", 0.01498), ("success-2.1.197", "claude-opus-4-8[1m]", 0.01895)],
)
def test_a_call_that_went_well_tells_what_it_used_and_cost(name: str, model: str, cost: float) -> None:
    report, transcript = read(recorded(name))
    assert report.failure is None
    usage = report.usage
    assert (usage.input_tokens, usage.output_tokens) == (3300, 80)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (900, 0)
    assert usage.cost_usd == pytest.approx(cost)
    assert (usage.calls, usage.unpriced, usage.model) == (1, 0, model)
    assert transcript.tail == "I will write the file.\nAll done: DONE-42."


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("rate-limit-429", FailureKind.RATE_LIMIT, "rate limited"),
        ("rate-limit-429-2.1.197", FailureKind.RATE_LIMIT, "rate limited"),
        ("quota-429", FailureKind.USAGE_LIMIT, "You've hit your usage limit"),
        ("overloaded-529", FailureKind.OVERLOAD, "529 Overloaded"),
        ("server-error-500", FailureKind.OVERLOAD, "500 Internal server error"),
        ("unreachable", FailureKind.NETWORK, "Connection refused"),
        ("bad-key-401", FailureKind.AUTHENTICATION, "Invalid API key"),
        ("too-long-400", FailureKind.CONTEXT_TOO_LONG, "Prompt is too long"),
    ],
)
def test_failures_are_classified(name: str, kind: FailureKind, message: str) -> None:
    report, transcript = read(recorded(name))
    assert report.failure
    assert report.failure.kind is kind
    assert message in report.failure.said
    assert report.failure.retry_at is None
    assert transcript.markers == []


def test_trouble_that_it_got_over_by_itself_is_no_trouble() -> None:
    report, transcript = read(recorded("retried-then-done"))
    assert report.failure is None
    assert report.usage.input_tokens == 11676
    assert transcript.tail == "DONE-42"


def test_it_has_said_its_last_word_with_its_result_and_not_before() -> None:
    *before, last = recorded("success-2.1.325").splitlines(keepends=True)
    reader = ClaudeReader(Transcript())
    for line in before:
        reader.feed(line)
    assert not reader.finished
    reader.feed(last)
    assert reader.finished


def background(*tasks: str) -> dict[str, Any]:
    return {"type": "system", "subtype": "background_tasks_changed", "tasks": list(tasks)}


@pytest.mark.parametrize(
    ("events", "finished"),
    [
        ([background("t1"), result()], False),
        ([background("t1"), result(), background()], False),
        ([background("t1"), result(), background(), result()], True),
        ([background("t1"), background(), result()], True),
        ([background("t1"), assistant(DONE), result()], True),
        ([background("t1"), assistant("<ralph>LEARNING:x</ralph>"), result()], False),
    ],
)
def test_a_result_is_not_the_last_word_while_something_runs_in_the_background(
    events: list[dict[str, Any]], finished: bool
) -> None:
    reader = ClaudeReader(Transcript())
    reader.feed(stream(*events))
    assert reader.finished is finished


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("authentication_failed", FailureKind.AUTHENTICATION),
        ("billing_error", FailureKind.UNUSABLE),
        ("model_not_found", FailureKind.UNUSABLE),
    ],
)
def test_what_only_a_person_can_solve_is_reported_whatever_the_status(error: str, kind: FailureKind) -> None:
    message = assistant("No.", is_api_error_message=True, error=error)
    report, _ = read(stream(message, result(is_error=True, api_error_status=400, result="No.")))
    assert report.failure
    assert (report.failure.kind, report.failure.said) == (kind, "No.")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, FailureKind.RATE_LIMIT),
        (401, FailureKind.AUTHENTICATION),
        (403, FailureKind.AUTHENTICATION),
        (500, FailureKind.OVERLOAD),
        (502, FailureKind.OVERLOAD),
        (503, FailureKind.OVERLOAD),
        (504, FailureKind.OVERLOAD),
        (529, FailureKind.OVERLOAD),
        (400, FailureKind.ERROR),
        (413, FailureKind.CONTEXT_TOO_LONG),
    ],
)
def test_each_status_of_the_service_has_its_meaning(status: int, kind: FailureKind) -> None:
    report, _ = read(stream(result(is_error=True, api_error_status=status, terminal_reason="api_error")))
    assert report.failure
    assert report.failure.kind is kind


def test_an_error_without_any_reason_is_still_told() -> None:
    report, _ = read(stream({"type": "result", "is_error": True, "terminal_reason": "max_turns"}))
    assert report.failure
    assert (report.failure.kind, report.failure.said) == (FailureKind.ERROR, "max_turns")


def test_a_call_ended_while_it_waited_for_a_rate_limit_was_limited() -> None:
    cut = [line for line in recorded("rate-limit-429").splitlines(keepends=True) if b"api_retry" in line]
    report, _ = read(*cut)
    assert report.failure
    assert report.failure.kind is FailureKind.RATE_LIMIT
    assert "rate_limit" in report.failure.said
    assert report.usage.cost_usd is None


def test_a_call_without_a_result_reports_at_least_the_tokens_of_its_messages() -> None:
    lines = recorded("success-2.1.325").splitlines(keepends=True)[:-1]
    report, _ = read(*lines)
    assert report.failure is None
    assert report.usage.cost_usd is None
    assert (report.usage.input_tokens, report.usage.cache_read_tokens) == (3300, 900)
    assert (report.usage.calls, report.usage.unpriced) == (1, 1)


def test_nothing_at_all_is_a_call_that_reported_nothing() -> None:
    report, transcript = read()
    assert report.failure is None
    assert report.usage.unpriced == 1
    assert transcript.tail == ""


def rejected(**info: Any) -> dict[str, Any]:
    return {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "rateLimitType": "five_hour", **info}}


def test_a_rejected_rate_limit_says_when_to_come_back() -> None:
    report, _ = read(stream(rejected(resetsAt=1_900_000_000), result(is_error=True, result="Limit reached")))
    assert report.failure
    assert report.failure.kind is FailureKind.USAGE_LIMIT
    assert report.failure.retry_at == 1_900_000_000
    assert report.failure.said == "Limit reached"


def test_a_rejected_rate_limit_need_not_say_when_it_ends() -> None:
    report, _ = read(stream(rejected(), result(is_error=True, result="Limit reached")))
    assert report.failure
    assert (report.failure.kind, report.failure.retry_at) == (FailureKind.USAGE_LIMIT, None)


@pytest.mark.parametrize("status", ["allowed", "allowed_warning"])
def test_a_rate_limit_that_was_not_reached_changes_nothing(status: str) -> None:
    event = {"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": 1_900_000_000}}
    report, _ = read(stream(event, result(is_error=True, result="No", terminal_reason="max_turns")))
    assert report.failure
    assert (report.failure.kind, report.failure.retry_at) == (FailureKind.ERROR, None)


def test_a_call_that_went_well_although_a_limit_was_near_is_no_trouble() -> None:
    report, _ = read(stream(rejected(resetsAt=1_900_000_000), result()))
    assert report.failure is None


def test_the_older_words_for_a_usage_limit_are_understood() -> None:
    report, _ = read(stream(result(is_error=True, result="Claude AI usage limit reached|1900000123")))
    assert report.failure
    assert (report.failure.kind, report.failure.retry_at) == (FailureKind.USAGE_LIMIT, 1_900_000_123)


def test_only_what_the_main_agent_itself_says_counts() -> None:
    tool_result = {"type": "tool_result", "tool_use_id": "t", "content": f"\n{DONE}\n"}
    events = [
        {"type": "user", "message": {"role": "user", "content": [tool_result]}, "parent_tool_use_id": None},
        {"type": "user", "message": {"role": "user", "content": f"\n{DONE}\n"}},
        assistant(DONE, parent_tool_use_id="toolu_1"),
        assistant(DONE, is_api_error_message=True),
        {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": DONE, "text": DONE}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "input": {"command": DONE}}]}},
        {"type": "system", "subtype": "init", "text": DONE},
        result(result=DONE),
    ]
    _, transcript = read(stream(*events))
    assert transcript.markers == []
    _, transcript = read(stream(*events, assistant(f"Finished.\n{DONE}", parent_tool_use_id=None)))
    assert transcript.markers == [Marker("DONE")]


def test_two_messages_are_two_lines() -> None:
    _, transcript = read(stream(assistant("So I say"), assistant(DONE), assistant("and that is all")))
    assert transcript.markers == [Marker("DONE")]


def test_a_marker_is_not_put_together_from_two_messages() -> None:
    _, transcript = read(stream(assistant("<ralph>DO"), assistant("NE</ralph>")))
    assert transcript.markers == []


def test_the_dearest_model_is_named() -> None:
    models = {"small": {"costUSD": 0.1}, "large": {"costUSD": 2.0}, "odd": {"costUSD": None}, "none": 3}
    report, _ = read(stream(result(modelUsage=models, total_cost_usd=2.1)))
    assert report.usage.model == "large"


def test_the_tokens_of_all_models_are_added_up() -> None:
    models = {
        "large": {"inputTokens": 10, "outputTokens": 1, "cacheReadInputTokens": 3},
        "small": {"inputTokens": 5, "outputTokens": None, "cacheReadInputTokens": 4},
        "odd": [],
    }
    used = {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 8}
    report, _ = read(stream(result(modelUsage=models, usage=used)))
    usage = report.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (15, 1, 7)
    assert usage.cache_write_tokens == 8


@pytest.mark.parametrize("cost", [None, "0.2", [], {}])
def test_a_cost_that_is_no_number_is_unknown(cost: object) -> None:
    report, _ = read(stream(result(total_cost_usd=cost, usage={"input_tokens": 5, "output_tokens": True})))
    assert report.usage.cost_usd is None
    assert report.usage.unpriced == 1
    assert report.usage.input_tokens == 5
    assert report.usage.output_tokens is None


def test_a_cost_of_nothing_is_known() -> None:
    report, _ = read(stream(result(total_cost_usd=0)))
    assert (report.usage.cost_usd, report.usage.unpriced) == (0.0, 0)


@pytest.mark.parametrize(
    "garbage",
    [
        b"npm warn deprecated\n",
        b"{not json\n",
        b"\xff\xfe\n",
        b"[]\n",
        b'{"type": "assistant"}\n',
        b'{"type": "assistant", "message": []}\n',
        b'{"type": "assistant", "message": {"content": "text"}}\n',
        b'{"type": "assistant", "message": {"content": [1, {"type": "text"}, {"type": "text", "text": 3}]}}\n',
        b'{"type": "rate_limit_event"}\n',
        b'{"type": 7}\n',
        b'{"type": "assistant", "message": {"content": [{"type": "text", "text": "\\ud800"}]}}\n',
    ],
)
def test_lines_that_make_no_sense_change_nothing(garbage: bytes) -> None:
    data = recorded("success-2.1.325")
    report, transcript = read(garbage + data.replace(b"\n", b"\n" + garbage))
    expected, _ = read(data)
    assert report == expected
    assert transcript.markers == []


@given(name=st.sampled_from(RECORDED), data=st.data())
def test_the_same_is_understood_however_the_output_is_cut(name: str, data: st.DataObject) -> None:
    raw = recorded(name) + stream(assistant(f"```\nquoted\n{DONE}\n```\n<ralph>LEARNING:x</ralph>")).rstrip()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=10)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    cut, whole = read(*pieces), read(raw)
    assert cut[0] == whole[0]
    assert cut[1].markers == whole[1].markers
    assert whole[1].markers[-1] == Marker("LEARNING", "x")
    assert cut[1].tail == whole[1].tail
