"""An agent is called with its prompt, is given what it may see, and is heard in what it says itself."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ralph.agent import call
from ralph.agent.call import AgentCall, AgentResult
from ralph.agent.failure import FailureKind
from ralph.agent.words import MAX_BYTES
from ralph.config import Provider
from ralph.errors import RalphError
from ralph.plan.usage import Usage
from ralph.process.redaction import Secrets
from ralph.process.spawn import ExitKind
from tests.conftest import wait_for
from tests.integration.conftest import FOREVER, alive, executable, numbers

pytestmark = pytest.mark.usefixtures("nobody_left")

SECRET = "sk-0123456789-abcdef"


def ask(folder: Path, provider: Provider, *, prompt: str = "Do it.\n", **more: Any) -> AgentResult:
    return asyncio.run(call.make(request(folder, provider, prompt=prompt, **more)))


def request(folder: Path, provider: Provider, *, prompt: str = "Do it.\n", **more: Any) -> AgentCall:
    (folder / "prompt.md").write_text(prompt)
    return AgentCall(
        provider=provider,
        prompt=folder / "prompt.md",
        log=folder / "agent.log",
        words=folder / "agent.words.txt",
        cwd=folder,
        owner="test",
        variables=more.pop("variables", {}),
        secrets=Secrets.of(os.environ),
        **more,
    )


def agent(folder: Path, script: str, **settings: Any) -> Provider:
    """A person's own agent: a shell script."""
    return Provider(command=str(executable(folder / "agent.sh", f"#!/bin/sh\n{script}\n")), **settings)


def log(folder: Path) -> str:
    return (folder / "agent.log").read_text()


# what is heard


def test_what_an_agent_says_is_heard(tmp_path: Path) -> None:
    heard = ask(
        tmp_path,
        agent(
            tmp_path,
            """
            echo 'Working on it.'
            echo '<ralph>LEARNING:The tests need a database.</ralph>'
            echo '<ralph>RESET:US-001, US-002</ralph>'
            echo '<ralph>REASON:They do not work together.</ralph>'
            echo '<ralph>DONE</ralph>'
            """,
        ),
    )

    assert (heard.ended.how, heard.ended.code) == (ExitKind.EXITED, 0)
    assert heard.claims == {"LEARNING", "RESET", "REASON", "DONE"}
    assert heard.learnings == ("The tests need a database.",)
    assert heard.reset == ("US-001", "US-002")
    assert heard.reason == "They do not work together."
    assert heard.tail.startswith("Working on it.")


def test_a_marker_on_standard_error_counts_for_nothing(tmp_path: Path) -> None:
    heard = ask(tmp_path, agent(tmp_path, "echo hello; echo '<ralph>DONE</ralph>' >&2"))

    assert heard.claims == set()
    assert heard.errors == "<ralph>DONE</ralph>"
    assert heard.tail == "hello"


def test_a_marker_without_a_line_end_is_heard(tmp_path: Path) -> None:
    assert ask(tmp_path, agent(tmp_path, "printf '<ralph>DONE</ralph>'")).claims == {"DONE"}


def test_the_log_has_everything_as_plain_text(tmp_path: Path) -> None:
    script = "echo one; echo two >&2; printf '\\377\\000three'; seq 100000; echo four >&2; exit 3"

    heard = ask(tmp_path, agent(tmp_path, script))

    assert heard.ended.code == 3
    logged = (tmp_path / "agent.log").read_text()
    numbers = "".join(f"{number}\n" for number in range(1, 100_001))
    assert logged.replace("two\n", "").replace("four\n", "") == f"one\n\ufffdthree{numbers}"
    assert heard.output_bytes == len(b"one\ntwo\n\xff\x00threefour\n") + len(numbers)
    assert heard.errors == "two\nfour"


def test_an_agent_that_repeats_its_prompt_has_said_nothing(tmp_path: Path) -> None:
    prompt = "Do the story.\n\nWhen all of it is done, say:\n\n<ralph>DONE</ralph>\n\nNothing else.\n"

    echo = ask(tmp_path, agent(tmp_path, "cat"), prompt=prompt)
    then_done = ask(tmp_path, agent(tmp_path, "cat; echo 'All is done.'; echo '<ralph>DONE</ralph>'"), prompt=prompt)

    assert echo.claims == set()
    assert echo.tail == prompt.strip()
    assert then_done.claims == {"DONE"}


def test_a_person_who_watches_is_told_a_line_now_and_then(tmp_path: Path) -> None:
    lines: list[str] = []

    ask(
        tmp_path, agent(tmp_path, "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.05; done"), watcher=lines.append
    )

    assert lines
    assert lines == sorted(set(lines)), "each at most once, as they came"
    assert len(lines) < 9, "now and then is often enough"


def test_an_agent_that_takes_its_prompt_as_an_argument_finds_a_large_one_in_a_file(tmp_path: Path) -> None:
    taking = {"args": ["-t", "{prompt}"]}
    short = ask(tmp_path, agent(tmp_path, 'echo "got: $2"', **taking), prompt="Do it.")
    long = ask(
        tmp_path, agent(tmp_path, 'wc -c < "$(echo "$2" | grep -o "/.*prompt.md")"', **taking), prompt="é" * 10**5
    )

    assert short.tail == "got: Do it."
    assert int(long.tail) == 2 * 10**5


def test_a_whole_large_prompt_reaches_the_agent(tmp_path: Path) -> None:
    prompt = "A long story. é\n" * 200_000

    heard = ask(tmp_path, agent(tmp_path, "wc -c"), prompt=prompt)

    assert int(heard.tail) == len(prompt.encode())
    assert ask(tmp_path, agent(tmp_path, "echo unread"), prompt=prompt).tail == "unread"


def test_a_line_without_end_needs_little_memory(tmp_path: Path) -> None:
    code = f"""
import asyncio, resource, sys
from pathlib import Path
sys.path.insert(0, {str(Path.cwd())!r})
from tests.integration.test_agent_call import agent, ask
def peak():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
folder = Path({str(tmp_path)!r})
ask(folder, agent(folder, "echo warm"))
before = peak()
heard = ask(folder, agent(folder, "head -c 60000000 /dev/zero; echo; echo '<ralph>DONE</ralph>'"))
print(heard.output_bytes > 60_000_000, sorted(heard.claims), peak() - before < 40_000_000)
"""
    heard = ask(tmp_path, Provider(command=sys.executable, args=("-c", code)))

    (tmp_path / "agent.log").unlink()
    assert heard.tail == "True ['DONE'] True", heard.errors


# what stays secret, and what an agent may see


def test_a_secret_that_an_agent_prints_is_nowhere_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_API_KEY", SECRET)
    half = len(SECRET) // 2
    told: list[str] = []

    heard = ask(
        tmp_path,
        agent(
            tmp_path,
            f"""
            echo "<ralph>LEARNING:the key is $DEMO_API_KEY</ralph>"
            echo "error: $DEMO_API_KEY was refused" >&2
            printf 'cut: {SECRET[:half]}'; sleep 0.3; echo '{SECRET[half:]}'
            printf 'last: '; printf "$DEMO_API_KEY"
            """,
            env=("DEMO_*",),
        ),
        watcher=told.append,
    )

    everything = "".join((log(tmp_path), heard.tail, heard.errors, *heard.learnings, *told))
    assert SECRET not in everything
    assert SECRET[half:] not in everything
    assert heard.learnings == ("the key is [secret]",)
    assert heard.errors == "error: [secret] was refused"
    assert log(tmp_path).count("[secret]") == 4
    assert log(tmp_path).endswith("[secret]\nlast: [secret]")


def test_an_agent_sees_only_what_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "a person's own")
    monkeypatch.setenv("SOMETHING_ELSE", "a person's own")
    monkeypatch.setenv("MY_AGENT_HOME", "/agent")
    monkeypatch.setenv("EXACTLY_THIS", "yes")
    monkeypatch.setenv("RALPH_DEMO", "from outside")

    heard = ask(
        tmp_path,
        agent(tmp_path, "env", env=("MY_AGENT_*", "EXACTLY_THIS")),
        variables={"RALPH_TASK": "US-007", "RALPH_ATTEMPT": "2"},
    )

    assert heard.ended.code == 0
    seen = dict(line.split("=", 1) for line in log(tmp_path).splitlines() if "=" in line)
    assert "DATABASE_PASSWORD" not in seen
    assert "SOMETHING_ELSE" not in seen
    assert seen["MY_AGENT_HOME"] == "/agent"
    assert seen["EXACTLY_THIS"] == "yes"
    assert seen["RALPH_DEMO"] == "from outside"
    assert (seen["RALPH_TASK"], seen["RALPH_ATTEMPT"]) == ("US-007", "2")
    assert seen["PATH"] == os.environ["PATH"]
    assert seen["HOME"] == os.environ["HOME"]


def test_a_known_agent_gets_its_own_keys_and_nobody_else_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    path = executable(tmp_path / "bin" / "claude", '#!/bin/sh\necho "[${ANTHROPIC_API_KEY:+set}][$OPENAI_API_KEY]"\n')

    assert ask(tmp_path, Provider(command=str(path))).tail == "[set][]"


def test_an_agent_works_in_the_project_s_folder_with_its_arguments(tmp_path: Path) -> None:
    provider = agent(
        tmp_path,
        'pwd; printf "<%s>" "$@"',
        args=("--quiet", "two words", "-"),
        model="large",
        model_args=("--use", "m:{model}"),
    )

    heard = ask(tmp_path, provider)

    assert heard.tail == f"{tmp_path.resolve()}\n<--quiet><two words><--use><m:large><->"


# how a call ends


def test_an_agent_that_takes_too_long_is_ended_with_its_helpers(tmp_path: Path) -> None:
    heard = ask(tmp_path, agent(tmp_path, f"sleep {FOREVER} & echo $! $$; wait", timeout=1.0))

    assert heard.ended.how is ExitKind.TIMED_OUT
    pids = numbers(heard.tail)
    assert len(pids) == 2
    assert not [pid for pid in pids if alive(pid)]


def test_an_agent_that_cannot_reach_its_model_is_not_let_try_without_end(tmp_path: Path) -> None:
    trouble = {"type": "error", "message": "Reconnecting... waiting for network (error sending request)"}
    script = f"while :; do echo '{json.dumps(trouble)}'; sleep 0.1; done"

    heard = ask(tmp_path, agent(tmp_path, script, dialect="codex", idle_timeout=1, timeout=60))

    assert heard.ended.how is ExitKind.GAVE_UP
    assert heard.failure and heard.failure.kind is FailureKind.NETWORK


def test_an_agent_that_falls_silent_is_ended(tmp_path: Path) -> None:
    heard = ask(tmp_path, agent(tmp_path, f"echo thinking; exec sleep {FOREVER}", idle_timeout=0.5, timeout=60))

    assert heard.ended.how is ExitKind.SILENT
    assert heard.tail == "thinking"


def test_a_server_that_an_agent_left_running_ends_with_the_call(tmp_path: Path) -> None:
    heard = ask(tmp_path, agent(tmp_path, f"sleep {FOREVER} >/dev/null 2>&1 & echo $!; echo '<ralph>DONE</ralph>'"))

    assert heard.ended.how is ExitKind.EXITED
    assert heard.claims == {"DONE"}
    assert not alive(numbers(heard.tail)[0])


def test_a_missing_agent_that_is_known_can_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(RalphError, match="The agent 'claude' was not found") as error:
        call.check_installed(Provider(command="claude"), tmp_path)

    assert "npm install -g @anthropic-ai/claude-code" in error.value.remedy
    assert "provider.command" in error.value.remedy


def test_a_missing_agent_of_a_person_s_own_is_named(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match="'my-own-agent' was not found") as error:
        call.check_installed(Provider(command="my-own-agent"), tmp_path)
    assert "provider.command" in error.value.remedy

    with pytest.raises(RalphError, match="'my-own-agent' was not found"):
        ask(tmp_path, Provider(command="my-own-agent"))


def test_an_agent_in_the_project_s_folder_is_found_and_run(tmp_path: Path) -> None:
    executable(tmp_path / "tools" / "agent", "#!/bin/sh\necho here\n")
    provider = Provider(command="./tools/agent")

    assert call.check_installed(provider, tmp_path).endswith("tools/agent")
    assert ask(tmp_path, provider).tail == "here"


# Claude Code's own events


def claude(folder: Path, monkeypatch: pytest.MonkeyPatch, events: list[dict[str, Any]], after: str = "") -> Provider:
    """A program called claude that prints these events."""
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    executable(folder / "bin" / "claude", f"#!/bin/sh\ncat > /dev/null\ncat '{folder}/events.jsonl'\n{after}\n")
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    return Provider(command="claude", args=("-p", "--output-format", "stream-json"), timeout=120)


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}, **more}


def result(**more: Any) -> dict[str, Any]:
    return {"type": "result", "is_error": False, "result": "done", "total_cost_usd": 0.25, **more}


def test_claude_is_heard_through_its_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool_result = {"type": "tool_result", "content": "<ralph>VERIFIED</ralph>"}
    provider = claude(
        tmp_path,
        monkeypatch,
        [
            {"type": "system", "subtype": "init"},
            says("<ralph>VERIFIED</ralph>", parent_tool_use_id="a sub-agent"),
            {"type": "user", "message": {"content": [tool_result]}},
            says("It is there.\n<ralph>DONE</ralph>\n"),
            result(usage={"input_tokens": 10, "output_tokens": 20}, modelUsage={"opus": {"costUSD": 0.25}}),
        ],
    )

    heard = ask(tmp_path, provider)

    assert heard.ended.how is ExitKind.EXITED
    assert heard.claims == {"DONE"}
    assert heard.tail == "It is there.\n<ralph>DONE</ralph>"
    assert heard.failure is None
    assert (heard.report.usage.input_tokens, heard.report.usage.output_tokens) == (10, 20)
    assert (heard.report.usage.cost_usd, heard.report.usage.model) == (0.25, "opus")
    assert '"a sub-agent"' in log(tmp_path), "the log has the events as they came"


def test_claude_at_its_usage_limit_is_no_failure_of_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1_900_000_000}}
    provider = claude(tmp_path, monkeypatch, [limit, result(is_error=True, result="You have hit your limit")], "exit 1")

    heard = ask(tmp_path, provider)

    assert heard.failure
    assert heard.failure.kind is FailureKind.USAGE_LIMIT
    assert heard.failure.retry_at == 1_900_000_000
    assert heard.failure.said == "You have hit your limit"
    assert heard.ended.code == 1


def test_claude_that_is_done_and_does_not_exit_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = claude(
        tmp_path, monkeypatch, [says("<ralph>DONE</ralph>"), result()], f"sleep {FOREVER} & echo $! >&2; wait"
    )
    began = time.monotonic()

    heard = ask(tmp_path, provider)

    assert time.monotonic() - began < 40, "far less than the 120 seconds it may take"
    assert heard.ended.how is ExitKind.LINGERED
    assert heard.claims == {"DONE"}
    assert heard.report.usage.cost_usd == 0.25
    assert not alive(numbers(heard.errors)[0])


def test_what_a_call_has_used_is_known_while_it_runs(tmp_path: Path) -> None:
    """The agent goes on when the meter has seen the usage of its first answer."""
    used = {"totalTokens": 15, "input": 10, "output": 5, "cost": {"total": 0.5}}
    answer = {"type": "message_end", "message": {"role": "assistant", "content": [], "usage": used, "model": "m"}}
    script = f"echo '{json.dumps(answer)}'; while ! test -f seen; do sleep 0.01; done; echo '{json.dumps(answer)}'"
    seen: list[Usage] = []

    def meter(usage: Usage) -> None:
        seen.append(usage)
        (tmp_path / "seen").touch()

    heard = ask(tmp_path, agent(tmp_path, script, dialect="pi", timeout=60), meter=meter)

    assert [(usage.input_tokens, usage.cost_usd) for usage in seen] == [(10, 0.5), (20, 1.0)]
    assert heard.report.usage == seen[-1]


def test_a_configured_model_prices_tokens_of_an_agent_that_names_none(tmp_path: Path) -> None:
    done = {"type": "turn.completed", "usage": {"input_tokens": 1000, "output_tokens": 100}}
    provider = agent(tmp_path, f"echo '{json.dumps(done)}'", dialect="codex", model="gpt-4o")

    usage = ask(tmp_path, provider).report.usage

    assert (usage.model, usage.estimated, usage.unpriced) == ("gpt-4o", 1, 0)
    assert usage.cost_usd


def test_a_model_that_does_not_answer_is_distinguished_from_a_tool_that_hangs(tmp_path: Path) -> None:
    began = {"type": "item.started", "item": {"id": "i", "type": "command_execution"}}
    waits = agent(tmp_path, f"echo '{{}}'; exec sleep {FOREVER}", dialect="codex", idle_timeout=0.5)
    first = ask(tmp_path, waits)
    works = agent(tmp_path, f"echo '{json.dumps(began)}'; exec sleep {FOREVER}", dialect="codex", idle_timeout=0.5)
    second = ask(tmp_path, works)

    assert first.failure and first.failure.kind is FailureKind.HANGING_MODEL
    assert second.failure and second.failure.kind is FailureKind.IDLE


# what is said, for others to read


def words(folder: Path) -> str:
    return (folder / "agent.words.txt").read_text()


def test_what_an_agent_says_can_be_read_while_it_says_it(tmp_path: Path) -> None:
    """The agent waits for a file that is only made when its first words can be read."""
    script = "printf 'Hello \\033[31mred\\033[0m\\r\\n'; while ! test -f heard; do sleep 0.01; done; echo Bye"

    def listen() -> None:
        wait_for((tmp_path / "agent.words.txt").exists)
        wait_for(lambda: words(tmp_path) == "Hello red\n")
        (tmp_path / "heard").touch()

    async def both() -> None:
        await asyncio.gather(call.make(request(tmp_path, agent(tmp_path, script))), asyncio.to_thread(listen))

    asyncio.run(both())
    assert words(tmp_path) == "Hello red\nBye\n"


def test_no_secret_is_in_an_agents_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", SECRET)
    ask(tmp_path, agent(tmp_path, "echo before $MY_TOKEN after", env=("MY_TOKEN",)))
    assert words(tmp_path) == "before [secret] after\n"


def test_only_what_a_structured_agent_says_is_among_its_words(tmp_path: Path) -> None:
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "I begin."}]}}
    used = {"type": "user", "message": {"content": [{"type": "tool_result", "content": "a tool's output"}]}}
    lines = "\n".join(json.dumps(one) for one in (said, used, {"type": "result", "is_error": False}))
    (tmp_path / "said.jsonl").write_text(lines + "\n")
    ask(tmp_path, agent(tmp_path, "cat said.jsonl", dialect="claude"))
    assert words(tmp_path) == "I begin.\n"
    assert "a tool's output" in log(tmp_path)


def test_a_flood_of_words_takes_a_bounded_file_and_the_log_has_all_of_it(tmp_path: Path) -> None:
    ask(tmp_path, agent(tmp_path, "yes 0123456789012345678901234567890123456789 | head -c 20000000; echo; echo Bye"))
    assert (tmp_path / "agent.words.txt").stat().st_size <= MAX_BYTES
    assert "[…]\n" in words(tmp_path)
    assert (tmp_path / "agent.log").stat().st_size > 20_000_000
