"""What real programs say over the Agent Client Protocol, and what hostile ones do, is read field by field."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.agent.dialects import AGENTS, arguments, dialect_of, is_permitted, known, takes_context
from ralph.agent.dialects.acp import AcpReader, rpc_failure
from ralph.agent.dialects.base import DialectReport
from ralph.agent.transcript import Marker, Transcript
from ralph.config import Provider
from tests.unit.agent.dialects.recorded import DATA, lines
from tests.unit.agent.dialects.test_hostile_output import NOISE, VALUES

PROMPT = 2  # the number of the request with the prompt in the samples
DONE = "<ralph>DONE</ralph>"
RECORDED = [path.stem for path in sorted(DATA.glob("acp/*.jsonl"))]
SPEAKING = [agent for agent in AGENTS.values() if agent.acp]


def provider(name: str, **settings: Any) -> Provider:
    acp = AGENTS[name].acp
    assert acp
    return Provider(command=acp.command, args=acp.args, protocol="acp", **settings)


def read(name: str, data: bytes, *, pieces: int = 1 << 20) -> tuple[DialectReport, Transcript]:
    transcript = Transcript("")
    reader = dialect_of(provider(name)).reader(transcript)
    assert isinstance(reader, AcpReader)

    def receive(message: dict[str, Any]) -> None:
        if message.get("id") == PROMPT and "error" in message:
            error = message["error"]
            reader.fail(rpc_failure(error.get("code"), error.get("message"), error.get("data")))
        elif message.get("id") == PROMPT and "result" in message:
            reader.end_turn(message["result"])

    reader.receive = receive
    for at in range(0, len(data), pieces):
        reader.feed(data[at : at + pieces])
    return reader.close(), transcript


def sample(name: str) -> bytes:
    return (DATA / "acp" / f"{name}.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("agent", "tokens", "cost"),
    [
        ("claude", (3000, 110), 0.01775),
        ("codex", (None, None), None),
        ("copilot", (3000, 110), None),
        ("gemini", (3000, 110), None),
        ("goose", (None, None), None),
        ("opencode", (None, None), 0.00355),
        ("qwen", (3000, 110), None),
    ],
)
@pytest.mark.parametrize("pieces", [1 << 20, 7])
def test_a_turn_of_every_program(agent: str, tokens: tuple[int, int], cost: float | None, pieces: int) -> None:
    report, transcript = read(agent, sample(f"{agent}-success"), pieces=pieces)

    assert report.failure is None and report.complete
    used = report.usage
    assert (used.input_tokens, used.output_tokens) == tokens
    assert used.cost_usd == (None if cost is None else pytest.approx(cost))
    assert transcript.tail.startswith("First a note.\n")
    assert transcript.says("DONE") or transcript.tail.endswith("\nNothing is left.")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"{agent}-{case}", kind)
        for case, kind, agents in (
            ("bad-key-401", "authentication", "claude codex copilot gemini goose opencode qwen"),
            ("rate-limit-429", "rate limit", "claude codex copilot"),
            ("server-error-500", "overload", "claude codex copilot goose"),
            ("server-error-500-later", "overload", "copilot"),
            ("too-long-400", "context too long", "claude codex copilot gemini goose opencode qwen"),
        )
        for agent in agents.split()
    ],
)
def test_an_error_of_every_program(name: str, kind: str) -> None:
    report, _ = read(name.partition("-")[0], sample(name))

    assert report.failure and report.failure.kind.value == kind
    assert not report.failure.said.startswith("Internal error")


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ((-32000, "Authentication required", None), "authentication", "Authentication required"),
        ((-32603, "Internal error", None), "error", "Internal error"),
        ((-32603, "Internal error", "the disk is full"), "error", "the disk is full"),
        (
            (-32603, "Internal error", {"codex_error_info": "usage_limit_exceeded"}),
            "usage limit",
            "usage limit exceeded",
        ),
        ((-32603, "No.", {"errorName": "ContextOverflowError"}), "context too long", "No."),
        ((-32603, "No.", {"response": {"http_status_code": 503}}), "overload", "No."),
        ((429, "Try again in 5 minutes", None), "rate limit", "Try again in 5 minutes"),
        ((None, None, [1]), "error", "error None"),
        (({}, [], {"message": 7, "status": "x"}), "error", "error {}"),
    ],
)
def test_errors_have_a_kind(error: tuple[Any, Any, Any], kind: str, said: str) -> None:
    failure = rpc_failure(*error)
    assert (failure.kind.value, failure.said) == (kind, said)


def update(kind: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate": kind, **more}}}


def chunk(text: str, **more: Any) -> dict[str, Any]:
    return update("agent_message_chunk", content={"type": "text", "text": text}, **more)


@pytest.mark.parametrize(
    ("agent", "events", "says"),
    [
        ("claude", [chunk("<ralph>DO"), chunk("NE</ralph>")], True),
        ("claude", [chunk("x", messageId="1"), chunk(DONE, messageId="2")], True),
        ("claude", [chunk("x", messageId="1"), chunk(DONE, messageId="1")], False),
        ("claude", [chunk(DONE, _meta={"claudeCode": {"parentToolUseId": "t"}})], False),
        ("claude", [update("agent_thought_chunk", content={"type": "text", "text": DONE})], False),
        ("claude", [update("user_message_chunk", content={"type": "text", "text": DONE})], False),
        ("claude", [update("tool_call", toolCallId="t", title=DONE, content=[{"type": "text", "text": DONE}])], False),
        ("claude", [update("agent_message_chunk", content={"type": "image", "text": DONE})], False),
        ("claude", [{"id": 7, **chunk(DONE)}], False),
        ("codex", [chunk("Model metadata for `m` not found. It may be slow."), chunk(DONE)], True),
        ("copilot", [chunk("Info: Retrying..."), chunk(DONE)], True),
        ("gemini", [chunk("x"), update("tool_call_update", toolCallId="t", status="completed"), chunk(DONE)], True),
    ],
)
def test_only_the_agents_own_words_count(agent: str, events: list[dict[str, Any]], says: bool) -> None:
    assert read(agent, lines(*events))[1].says("DONE") is says


def test_an_error_that_the_program_got_over_is_none() -> None:
    error = "Ran into this error: Server error: no.\n\nPlease retry if you think this is a transient error."
    end = {"id": PROMPT, "result": {"stopReason": "end_turn"}}

    assert read("goose", lines(chunk(error), chunk(DONE), end))[0].failure is None
    last = read("goose", lines(chunk(DONE), update("tool_call", toolCallId="t"), chunk(error), end))[0].failure
    assert last and last.said == "Server error: no."
    assert read("claude", lines(chunk(error), end))[0].failure is None, "another program's words"


def test_cached_tokens_are_counted_once() -> None:
    used = {"inputTokens": 100, "outputTokens": 10, "cachedReadTokens": 60, "cachedWriteTokens": 20}
    for total, wanted in ((110, 20), (190, 100)):
        end = {"id": PROMPT, "result": {"stopReason": "end_turn", "usage": {**used, "totalTokens": total}}}
        report = read("claude", lines(end))[0]
        assert (report.usage.input_tokens, report.usage.cache_read_tokens) == (wanted, 60)
    nothing = {"totalTokens": 0, "inputTokens": 0, "outputTokens": 0}
    end = {"id": PROMPT, "result": {"stopReason": "end_turn", "usage": nothing}}
    assert read("claude", lines(end))[0].usage.input_tokens is None


@pytest.mark.parametrize("name", RECORDED)
def test_a_cut_anywhere_noise_and_unknown_messages_change_nothing(name: str) -> None:
    agent, data = name.partition("-")[0], sample(name)
    report, transcript = read(agent, data)
    unknown = lines(
        {"method": "session/update", "params": {"update": {"sessionUpdate": "brand_new", "content": {"text": DONE}}}},
        {"method": "session/brand_new", "params": {"text": DONE}},
        {"id": 99, "result": {"stopReason": "refusal", "text": DONE}},
    )
    for other, pieces in (
        (data, 1),
        (b"".join(json.dumps(json.loads(line), ensure_ascii=False).encode() + b"\n" for line in data.splitlines()), 1),
        (data.replace(b"\n", b"\n" + b"".join(NOISE)), 4096),
        (data.replace(b"\n", b"\n" + unknown), 4096),
    ):
        again, said = read(agent, other, pieces=pieces)
        assert (again, said.markers, said.tail) == (report, transcript.markers, transcript.tail)
    for end in range(0, len(data), max(len(data) // 200, 1)):
        read(agent, data[:end])


@pytest.mark.parametrize("name", RECORDED)
def test_the_first_end_of_a_turn_counts(name: str) -> None:
    agent, data = name.partition("-")[0], sample(name)
    assert read(agent, data + sample(f"{agent}-success"))[0].failure == read(agent, data)[0].failure


@pytest.mark.parametrize("agent", SPEAKING, ids=[agent.name for agent in SPEAKING])
def test_a_message_of_50_megabytes_is_passed_over_in_constant_memory(agent: Any) -> None:
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": f"\n{DONE}\n"}}
    reader = dialect_of(provider(agent.name)).reader(transcript := Transcript(""))
    piece = b"x" * (1 << 20)
    tracemalloc.start()
    reader.feed(b'{"method": "session/update", "params": {"update": {"content": {"text": "')
    for _ in range(50):
        reader.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    reader.feed(b'"}}}}\n' + lines({"method": "session/update", "params": {"update": said}}))
    reader.close()
    assert peak < 20_000_000
    assert transcript.markers == [Marker("DONE")]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(DATA.glob("acp/*.jsonl"))), st.integers(0, 60), st.data())
def test_fields_of_any_type_break_nothing(path: Any, at: int, data: st.DataObject) -> None:
    events = [json.loads(line) for line in path.read_text().splitlines()]
    event = events[at % len(events)]
    place = event
    while isinstance(place, dict) and place:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or data.draw(st.booleans()):
            place[key] = data.draw(VALUES)
            break
        place = place[key]
    answers = [
        one for one in events if isinstance(one.get("error", {}), dict) and isinstance(one.get("result", {}), dict)
    ]
    read(path.stem.partition("-")[0], lines(*answers))


@pytest.mark.parametrize("agent", SPEAKING, ids=[agent.name for agent in SPEAKING])
def test_a_program_that_speaks_acp_is_known_by_its_command(agent: Any) -> None:
    mine = provider(agent.name)

    assert known(mine) is agent
    assert (dialect_of(mine).name, dialect_of(mine).is_structured) == ("acp", True)
    assert is_permitted(mine) and not is_permitted(provider(agent.name, permissions="deny"))
    assert not takes_context(mine)
    assert arguments(mine, prompt="p", context="c", tools="t") == (agent.acp.command, *agent.acp.args)
    model = arguments(provider(agent.name, model="m"))[len(agent.acp.args) + 1 :]
    assert model == (("--model", "m") if agent.acp.model_args else ())
    assert known(Provider(command="my-agent", protocol="acp")) is None
