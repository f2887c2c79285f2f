"""Every structured dialect against the real output of its program: what was said, used, refused, and what failed."""

from __future__ import annotations

from datetime import datetime

import pytest

from ralph.agent.failure import FailureKind
from ralph.agent.transcript import Marker
from tests.unit.agent.dialects.recorded import FORMATS, SAMPLES, STRUCTURED, lines, raw, read, success

DONE = "<ralph>DONE</ralph>"
LEARNING = "<ralph>LEARNING:use make</ralph>"
FAILURES = {
    "bad-key-401": FailureKind.AUTHENTICATION,
    "rate-limit-429": FailureKind.RATE_LIMIT,
    "server-error-500": FailureKind.OVERLOAD,
    "overloaded-529": FailureKind.OVERLOAD,
    "too-long-400": FailureKind.CONTEXT_TOO_LONG,
    "reset": FailureKind.NETWORK,
    "unreachable": FailureKind.NETWORK,
}
NO_END = {("gemini", "reset"), ("gemini", "unreachable"), ("qwen", "rate-limit-429")}  # it was still waiting
RECORDED = [(agent, name) for agent in STRUCTURED for name in FAILURES if (agent, name) in SAMPLES]
COSTS = {"claude": 0.01498, "opencode": 0.0037, "pi": 0.00379}
MODELS = {"claude": "claude-opus-5-5", "gemini": "gemini-2.5-flash"} | dict.fromkeys(
    ("qwen", "copilot", "pi"), "some-model"
)


def test_every_structured_dialect_has_samples_and_a_format() -> None:
    assert set(STRUCTURED) == set(FORMATS) == {agent for agent, _ in SAMPLES}
    assert len(RECORDED) >= len(FAILURES) * len(STRUCTURED) - 2


@pytest.mark.parametrize("agent", STRUCTURED)
def test_a_call_that_went_well(agent: str) -> None:
    heard = read(agent, success(agent))

    assert heard.report.failure is None
    assert heard.report.answered
    assert heard.report.refused == ()
    assert heard.reader.finished is (agent != "opencode")
    assert heard.transcript.tail == "I will write the file.\nAll done: DONE-42."
    usage = heard.report.usage
    assert (usage.calls, usage.model) == (1, MODELS.get(agent, ""))
    assert usage.cost_usd == (pytest.approx(COSTS[agent]) if agent in COSTS else None)
    assert usage.unpriced == (0 if agent in COSTS else 1)
    if agent == "copilot":
        assert (usage.input_tokens, usage.output_tokens) == (None, None), "it reports none"
    elif agent == "goose":
        assert (usage.input_tokens, usage.output_tokens) == (4200, 80), "it does not distinguish cached tokens"
    else:
        assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (3300, 80, 900)


@pytest.mark.parametrize(("agent", "name"), RECORDED)
def test_a_failure_has_its_kind_and_quotes_the_program(agent: str, name: str) -> None:
    heard = read(agent, raw(agent, name))

    if (agent, name) in NO_END:
        assert heard.report.failure is None
        assert not heard.report.answered
        assert heard.report.waiting
        return
    assert heard.report.failure
    assert heard.report.failure.kind is FAILURES[name]
    assert heard.report.failure.said
    assert "Create hello.txt" not in heard.report.failure.said, "that is the prompt"
    assert heard.transcript.tail == ""
    assert not heard.report.answered


@pytest.mark.parametrize("agent", [agent for agent in STRUCTURED if agent != "claude"])
@pytest.mark.parametrize("name", ["retried-after-429", "retried-after-500"])
def test_an_error_that_the_program_recovered_from_is_no_failure(agent: str, name: str) -> None:
    heard = read(agent, raw(agent, name))
    assert heard.report.failure is None
    assert heard.transcript.tail == "DONE-42"


@pytest.mark.parametrize("agent", [agent for agent in STRUCTURED if agent != "claude"])
def test_a_broken_connection_in_the_middle_of_an_answer(agent: str) -> None:
    heard = read(agent, raw(agent, "broken-off"))
    if agent in ("gemini", "qwen", "goose"):  # they do not try again
        assert heard.kind == "network"
        assert heard.transcript.tail.startswith("This answer is go")
        assert "rror" not in heard.transcript.tail
    else:
        assert heard.report.failure is None
        assert heard.transcript.tail == "DONE-42"


def test_a_program_that_waits_for_a_limit_says_how_long() -> None:
    failure = read("opencode", raw("opencode", "rate-limit-429")).report.failure
    assert failure
    assert failure.retry_at == pytest.approx(1_794_793_441.333 + 1), "the event's time and its retry-after header"


@pytest.mark.parametrize("agent", ["codex", "qwen"])
def test_a_key_that_is_missing_is_no_error_of_the_task(agent: str) -> None:
    failure = read(agent, raw(agent, "no-key")).report.failure
    assert failure and failure.kind is FailureKind.AUTHENTICATION
    assert "OPENAI_API_KEY" in failure.said


def test_codex_names_the_time_at_which_a_usage_limit_resets() -> None:
    failure = read("codex", raw("codex", "usage-limit-429")).report.failure
    assert failure and failure.kind is FailureKind.USAGE_LIMIT
    assert failure.retry_at == datetime(2026, 11, 22, 3, 0).timestamp(), "2:59 AM of its local time is over"


def test_codex_without_credit_does_not_wait_for_any() -> None:
    failure = read("codex", raw("codex", "no-credit-429")).report.failure
    assert failure and failure.kind is FailureKind.UNUSABLE
    assert failure.said == "Quota exceeded. Check your plan and billing details."


@pytest.mark.parametrize(("agent", "name"), [("codex", "rate-limit-429"), ("pi", "server-error-500")])
def test_a_program_that_was_stopped_while_it_tried_again_reports_why(agent: str, name: str) -> None:
    events = raw(agent, name).splitlines(keepends=True)
    heard = read(agent, *events[:-2])
    assert heard.kind == FAILURES[name].value
    assert not heard.reader.finished


@pytest.mark.parametrize(
    ("agent", "name", "tools"),
    [
        ("claude", "refused", ("Write", "Bash")),
        ("opencode", "refused", ("write",)),
        ("copilot", "refused", ("create", "bash")),
        ("qwen", "not-permitted", ("write_file",)),
    ],
)
def test_refused_tools_are_named(agent: str, name: str, tools: tuple[str, ...]) -> None:
    assert read(agent, raw(agent, name)).report.refused == tools


def test_qwen_without_a_login_says_so_in_its_result() -> None:
    failure = read("qwen", raw("qwen", "no-login")).report.failure
    assert failure
    assert failure.kind is FailureKind.AUTHENTICATION
    assert failure.said.startswith("No auth type is selected.")


@pytest.mark.parametrize("agent", STRUCTURED)
def test_the_running_total_never_shrinks_and_ends_at_the_total(agent: str) -> None:
    speech_free = read(agent)
    reader, seen = speech_free.reader, [0]
    for line in success(agent).splitlines(keepends=True):
        reader.feed(line)
        seen.append(reader.usage.input_tokens or 0)
    assert seen == sorted(seen)
    assert seen[-1] == (read(agent, success(agent)).report.usage.input_tokens or 0)
    if agent in ("claude", "qwen", "opencode", "pi"):
        assert len({count for count in seen if count}) >= 3, "it is known after each answer of the model"


@pytest.mark.parametrize("agent", STRUCTURED)
def test_only_what_the_agent_says_counts(agent: str) -> None:
    form = FORMATS[agent]
    quoted = [*form.tool(f"\n{DONE}\n"), *form.other(f"\n{DONE}\n"), *form.tool(DONE), *form.other(DONE)]
    end = form.end(DONE)

    assert read(agent, lines(*quoted, *end)).transcript.markers == []
    assert read(agent, lines(*quoted, *form.says(f"It works.\n{DONE}"), *end)).transcript.markers == [Marker("DONE")]


@pytest.mark.parametrize("agent", STRUCTURED)
def test_what_is_said_before_the_last_tool_call_counts(agent: str) -> None:
    form = FORMATS[agent]
    events = [*form.says(f"{LEARNING}\n{DONE}"), *form.tool("make test"), *form.says("All is well."), *form.end("")]

    transcript = read(agent, lines(*events)).transcript

    assert transcript.markers == [Marker("LEARNING", "use make"), Marker("DONE")]
    assert transcript.tail.endswith(f"{DONE}\nAll is well.")


@pytest.mark.parametrize("agent", STRUCTURED)
def test_a_marker_is_not_put_together_across_a_tool_call(agent: str) -> None:
    form = FORMATS[agent]
    events = [*form.says("<ralph>DO"), *form.tool("ls"), *form.says("NE</ralph>"), *form.end("")]
    assert read(agent, lines(*events)).transcript.markers == []


@pytest.mark.parametrize("agent", ["gemini", "goose"])
def test_an_answer_in_pieces_is_joined(agent: str) -> None:
    form = FORMATS[agent]
    events = form.says(f"First.\n{DONE}\nLast.")
    assert len(events) > 3
    transcript = read(agent, lines(*events)).transcript
    assert transcript.markers == [Marker("DONE")]
    assert transcript.tail == f"First.\n{DONE}\nLast."


@pytest.mark.parametrize("agent", STRUCTURED)
@pytest.mark.parametrize(
    "words",
    [
        "API Error: 401 invalid x-api-key",
        "[API Error: 401 invalid x-api-key]",
        "Ran into this error: Authentication error: Authentication failed. Status: 401 Unauthorized.",
        "Network error: Could not connect to 127.0.0.1:8080",
        "You've hit your usage limit. Try again in 2 hours.",
        "prompt is too long: 250000 tokens > 200000 maximum",
        "ERROR: unexpected status 429 Too Many Requests",
        "litellm.RateLimitError: RateLimitError: OpenAIException - rate limited",
        "The user rejected permission to use this specific tool call.",
    ],
)
def test_words_of_the_model_or_of_a_tool_are_no_failure(agent: str, words: str) -> None:
    form = FORMATS[agent]
    quoted = [*form.tool(words), *form.other(words), *form.says(f"The log has:\n{words}")]
    for events in (
        quoted,
        [*quoted, *form.says(words)],
        [*quoted, *form.end(words)],
        [*form.says(words), *form.end("")],
    ):
        heard = read(agent, lines(*events))
        assert heard.report.failure is None
        assert heard.report.refused == ()


@pytest.mark.parametrize("agent", [agent for agent in STRUCTURED if agent != "opencode"])
def test_a_tool_that_runs_is_distinguished_from_a_model_that_is_awaited(agent: str) -> None:
    form = FORMATS[agent]
    first, *rest = [event for event in form.tool("make test") if event.get("type") != "message_end"]
    if agent == "codex":
        first = {"type": "item.started", "item": {**first["item"]}}
        rest = form.tool("make test")
    assert not read(agent, lines(*form.says("I test it."), first)).report.waiting
    assert read(agent, lines(*form.says("I test it."), first, *rest)).report.waiting


def test_opencode_waits_for_its_model_between_steps_only() -> None:
    events = success("opencode").splitlines(keepends=True)
    assert read("opencode").report.waiting
    assert not read("opencode", events[0]).report.waiting
    assert read("opencode", *events[:4]).report.waiting
