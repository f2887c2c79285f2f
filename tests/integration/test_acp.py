"""A call over the Agent Client Protocol, with an agent that says what a test tells it to."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from ralph.agent import call
from ralph.agent.call import AgentResult
from ralph.agent.failure import FailureKind, refusal
from ralph.config import Provider
from ralph.process.spawn import ExitKind
from tests.acp_agent import exchanged, program
from tests.integration.conftest import FOREVER, alive, numbers, until
from tests.integration.test_agent_call import SECRET, log, request

pytestmark = pytest.mark.usefixtures("nobody_left")
DONE = "<ralph>DONE</ralph>"


def agent(folder: Path, lines: str, **settings: Any) -> Provider:
    path = program(folder / "agent", lines)
    return Provider.read({"command": str(path), "protocol": "acp", "timeout": 60, **settings})


def ask(folder: Path, lines: str, *, prompt: str = "Do it.\n", **settings: Any) -> AgentResult:
    return asyncio.run(call.make(request(folder, agent(folder, lines, **settings), prompt=prompt)))


def test_a_turn_from_the_first_request_to_the_end_of_the_program(tmp_path: Path) -> None:
    heard = ask(
        tmp_path,
        f"""
prompt = opened()
tell(sessionUpdate="agent_thought_chunk", content={{"type": "text", "text": "{DONE}"}})
say("I beg"), say("in.")
tell(sessionUpdate="tool_call", toolCallId="t1", title="{DONE}", rawInput="{DONE}")
answer = ask()
tell(sessionUpdate="tool_call_update", toolCallId="t1", status="completed", rawOutput="\\n<ralph>VERIFIED</ralph>\\n")
say("It is there.\\n<ralph>DO"), say("NE</ralph>")
tell(sessionUpdate="usage_update", used=5, size=9, cost={{"amount": 0.25, "currency": "USD"}})
stop(prompt, usage={{"inputTokens": 10, "outputTokens": 20, "totalTokens": 30, "cachedReadTokens": 4}})
""",
        prompt="A story. é\n" * 50_000,
    )

    assert heard.failure is None and heard.ended.how is ExitKind.ANSWERED
    assert heard.claims == {"DONE"}
    assert heard.tail == f"I begin.\nIt is there.\n{DONE}"
    used = heard.report.usage
    assert (used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cost_usd) == (6, 20, 4, 0.25)
    _, sent = exchanged(tmp_path / "agent.log")
    initialize, new, prompt, answer = sent
    capabilities = initialize["params"]["clientCapabilities"]
    assert capabilities["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert capabilities["terminal"] is False
    assert new["params"] == {"cwd": str(tmp_path.resolve()), "mcpServers": []}
    assert prompt["params"]["prompt"] == [{"type": "text", "text": "A story. é\n" * 50_000}]
    assert answer == {
        "jsonrpc": "2.0",
        "id": "q1",
        "result": {"outcome": {"outcome": "selected", "optionId": "my-allow_once"}},
    }


@pytest.mark.parametrize(
    ("permissions", "options", "chosen", "refused"),
    [
        ("allow", ("allow_always", "reject_once"), "my-allow_always", ()),
        ("allow", ("reject_once",), None, ("edit",)),
        ("deny", ("allow_once", "reject_always", "reject_once"), "my-reject_once", ("edit",)),
        ("deny", ("allow_once",), None, ("edit",)),
    ],
)
def test_permissions_are_answered_by_policy(
    tmp_path: Path, permissions: str, options: tuple[str, ...], chosen: str | None, refused: tuple[str, ...]
) -> None:
    lines = f"prompt = opened()\nsay(json.dumps(ask(options={options!r})['result']['outcome']))\nstop(prompt)"

    heard = ask(tmp_path, lines, permissions=permissions)

    wanted = {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}
    assert json.loads(heard.tail) == wanted
    assert heard.report.refused == refused
    stopped = refusal(heard.report.refused, changed=False)
    assert (stopped.kind if stopped else None) is (FailureKind.NO_WRITE_PERMISSION if refused else None)


OPENED = "prompt = opened()\n"
GARBAGE = """
sys.stdout.buffer.write(b"\\xff\\xfe garbage\\n{not json\\n[]\\n{}\\n" + b"{" * 100000 + b"\\n")
for odd in ({"id": [1], "result": 1}, {"id": {}, "method": 7}, {"id": True, "result": {}}, {"method": "new/thing"},
            {"id": 99, "result": {}}, {"id": None}, {"method": "session/update", "params": 1}, {"id": 2, "error": []}):
    put(odd)
"""


@pytest.mark.parametrize(
    ("lines", "kind", "said"),
    [
        (OPENED + "stop(prompt, 'refusal')", FailureKind.ERROR, "refused to continue"),
        (OPENED + "stop(prompt, 'max_tokens')", FailureKind.ERROR, "max_tokens"),
        (OPENED + "stop(prompt, 'cancelled')", FailureKind.ERROR, "cancelled"),
        (OPENED + "stop(prompt, 'tired')", FailureKind.ERROR, "(tired)"),
        (OPENED + "reply(prompt, result=[1]); time.sleep(300)", FailureKind.ERROR, "no stopReason"),
        (
            OPENED + "reply(prompt, error={'code': -32000, 'message': 'Authentication required'}); sys.stdin.read()",
            FailureKind.AUTHENTICATION,
            "Authentication required",
        ),
        (
            OPENED + "reply(prompt, error={'code': 429, 'message': 'slow down'}); sys.stdin.read()",
            FailureKind.RATE_LIMIT,
            "slow down",
        ),
        (OPENED + "reply(prompt, error='bad'); sys.stdin.read()", FailureKind.ERROR, "Error"),
        (OPENED + "sys.exit(0)", FailureKind.CRASH, "exit code 0 before it answered"),
        (OPENED + "say('I go.'); sys.exit(3)", FailureKind.CRASH, "exit code 3"),
        (OPENED + "put({'id': prompt['id'], 'result': {'a': 'x' * 50_000_000}})", FailureKind.ERROR, "more than 8 MB"),
        (OPENED + GARBAGE + "sys.exit(4)", FailureKind.ERROR, "Error"),
        ("put(get()); put(get()); sys.exit(5)", FailureKind.NOT_STARTED, "does not speak ACP (Method not found)"),
        ("get(); sys.exit(5)", FailureKind.CRASH, "exit code 5"),
        ("reply(get(), result={'protocolVersion': 7}); sys.stdin.read()", FailureKind.NOT_STARTED, "version 7"),
        (
            "reply(get(), result={'protocolVersion': 1}); reply(get(), result={}); get()",
            FailureKind.ERROR,
            "no session",
        ),
    ],
)
def test_a_turn_that_fails(tmp_path: Path, lines: str, kind: FailureKind, said: str) -> None:
    heard = ask(tmp_path, lines)

    assert heard.failure, heard.tail
    assert (heard.failure.kind, said in heard.failure.said) == (kind, True), heard.failure


def test_what_is_odd_does_not_disturb_a_turn(tmp_path: Path) -> None:
    """Two answers, unknown methods, a huge update, garbage: the turn goes on."""
    odd = GARBAGE.replace(', {"id": 2, "error": []}', "")
    heard = ask(
        tmp_path,
        f"""
prompt = opened()
{odd}
say("x" * 20_000_000)
unknown = ask("fs/read_text_file")
say(str(unknown["error"]["code"]) + "\\n{DONE}")
reply(prompt, result={{"stopReason": "end_turn"}})
stop(prompt, "refusal")
""",
    )

    assert heard.failure is None
    assert heard.claims == {"DONE"}
    assert "-32601" in heard.tail
    assert heard.report.usage.input_tokens is None and heard.report.usage.cost_usd is None


def test_an_agent_that_asks_without_reading_is_ended(tmp_path: Path) -> None:
    lines = OPENED + "name = 'x' * 100_000\nwhile True: put({'id': name, 'method': 'no/such'})"

    heard = ask(tmp_path, lines)

    assert heard.failure and "does not read the answers" in heard.failure.said


def test_a_program_that_never_answers_cannot_run(tmp_path: Path) -> None:
    heard = ask(tmp_path, f"time.sleep({FOREVER})", timeout=0.3)

    assert heard.failure and heard.failure.kind is FailureKind.NOT_STARTED


@pytest.mark.parametrize("limit", ["timeout", "idleTimeout"])
def test_a_limit_cancels_the_turn_and_ends_the_tree(tmp_path: Path, limit: str) -> None:
    lines = f"""
import subprocess
prompt = opened()
tell(sessionUpdate="tool_call", toolCallId="t1", title="sleep")
tool = subprocess.Popen(["sleep", "{FOREVER}"], start_new_session=True)
say(f"{{tool.pid}} {{os.getpid()}}")
cancel = get()
print("told:", cancel["method"], cancel["params"]["sessionId"], file=sys.stderr, flush=True)
reply(prompt, result={{"stopReason": "cancelled", "usage": {{"inputTokens": 7, "outputTokens": 1, "totalTokens": 8}}}})
time.sleep({FOREVER})
"""
    heard = ask(tmp_path, lines, **{limit: 0.8})

    assert heard.errors == "told: session/cancel s1"
    kind = FailureKind.TIME_OUT if limit == "timeout" else FailureKind.IDLE
    assert heard.failure and heard.failure.kind is kind
    assert heard.report.usage.input_tokens == 7
    assert not [pid for pid in numbers(heard.tail) if alive(pid)]


def test_an_interrupt_cancels_the_turn_and_ends_the_tree(tmp_path: Path) -> None:
    lines = "prompt = opened()\nsay('ready\\n')\nprint(get()['method'], file=sys.stderr, flush=True)"

    async def interrupted() -> None:
        task = asyncio.create_task(call.make(request(tmp_path, agent(tmp_path, lines))))
        words = tmp_path / "agent.words.txt"
        await until(lambda: words.exists() and words.read_text() == "ready\n")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())

    assert log(tmp_path).endswith("session/cancel\n")


def test_a_program_that_stays_after_its_answer_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    heard = ask(tmp_path, OPENED + f"reply(prompt, result={{'stopReason': 'end_turn'}}); time.sleep({FOREVER})")

    assert heard.failure is None
    assert time.monotonic() - began < 20


def test_the_answer_counts_even_if_the_program_fails_after_it(tmp_path: Path) -> None:
    heard = ask(tmp_path, OPENED + f"say('{DONE}'); reply(prompt, result={{'stopReason': 'end_turn'}}); os._exit(3)")

    assert heard.failure is None
    assert heard.claims == {"DONE"}


def test_no_secret_is_in_the_log_or_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", SECRET)
    half = len(SECRET) // 2
    heard = ask(
        tmp_path,
        OPENED + f"key = os.environ['MY_TOKEN']\nsay('It is ' + key[:{half}]), say(key[{half}:] + '.')\n"
        "say(prompt['params']['prompt'][0]['text'])\nstop(prompt)",
        prompt=f"Use {SECRET}.\n",
        env=["MY_TOKEN"],
    )

    assert SECRET not in log(tmp_path) + (tmp_path / "agent.words.txt").read_text()
    assert "Use [secret]." in log(tmp_path)
    assert "Use [secret]." in heard.tail


MODELS = "configOptions=[{'id': 'm', 'category': 'model', 'currentValue': 'large'}]"


@pytest.mark.parametrize(
    ("session", "model", "kind", "named"),
    [
        (MODELS, None, None, "large"),
        (MODELS, "small", None, "small"),
        ("models={'currentModelId': 'a|b', 'availableModels': [{'modelId': 'a|b', 'name': 'b'}]}", None, None, "b"),
        ("", "small", FailureKind.UNUSABLE, ""),
    ],
)
def test_the_model_is_an_option_of_the_session(
    tmp_path: Path, session: str, model: str | None, kind: FailureKind | None, named: str
) -> None:
    used = "usage={'inputTokens': 1, 'outputTokens': 1, 'totalTokens': 2}"
    heard = ask(tmp_path, f"stop(opened({session}), {used})", model=model)

    assert (heard.failure.kind if heard.failure else None) is kind
    assert heard.report.usage.model == named
    set_ = [sent["params"] for sent in exchanged(tmp_path / "agent.log")[1] if sent["method"].endswith("option")]
    assert set_ == ([{"configId": "m", "sessionId": "s1", "value": "small"}] if model and session else [])


def test_learnings_of_an_interrupted_turn_are_in_its_log(tmp_path: Path) -> None:
    lines = OPENED + "say('<ralph>LEARNING:Tests need a database.</ralph>\\n'); get()"
    provider = agent(tmp_path, lines, timeout=0.5)
    prompt = "<ralph>LEARNING:As in the prompt.</ralph>\n"
    asyncio.run(call.make(request(tmp_path, provider, prompt=prompt)))

    assert call.learnings_in(provider, tmp_path / "prompt.md", tmp_path / "agent.log") == ("Tests need a database.",)
