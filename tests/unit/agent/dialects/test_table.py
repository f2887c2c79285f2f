"""The table of agents: every row can be used, and a configured command finds its row."""

from __future__ import annotations

import json
import tomllib

import pytest

from ralph.agent.dialects import AGENTS, DIALECTS, arguments, dialect_of, is_permitted, known
from ralph.agent.dialects.claude import ClaudeReader
from ralph.agent.dialects.codex import CodexReader
from ralph.agent.dialects.opencode import OpenCodeReader
from ralph.agent.dialects.text import TextReader
from ralph.agent.installed import provider_of
from ralph.agent.transcript import Marker, Transcript
from ralph.config import Provider
from ralph.errors import RalphError


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_every_known_agent_can_be_read_installed_and_told_a_model(agent) -> None:
    assert agent.dialect in DIALECTS
    assert agent.install
    assert not agent.structured or agent.dialect != "text"
    assert not agent.model_args or any("{model}" in part for part in agent.model_args)
    assert all(name == name.strip() and name for name in agent.env)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_configuration_written_for_an_agent_is_read_as_that_agent(agent) -> None:
    provider = provider_of(agent)
    assert known(provider) is agent
    assert dialect_of(provider) is DIALECTS[agent.dialect]
    assert is_permitted(provider)


def test_the_rows_are_called_what_they_say() -> None:
    assert all(name == row.name for name, row in (*AGENTS.items(), *DIALECTS.items()))


def test_the_three_agents_of_the_readme_are_known() -> None:
    assert {"claude", "amp", "opencode"} <= set(AGENTS)


@pytest.mark.parametrize(
    ("command", "args", "reader"),
    [
        ("claude", ("-p", "--output-format", "stream-json", "--verbose"), ClaudeReader),
        ("/opt/tools/claude", ("-p", "--output-format", "stream-json"), ClaudeReader),
        ("claude", ("-p",), TextReader),
        ("claude", ("-p", "--output-format", "json"), TextReader),
        ("codex", ("exec", "--json", "-"), CodexReader),
        ("codex", ("exec", "-"), TextReader),
        ("opencode", ("run", "--format", "json"), OpenCodeReader),
        ("opencode", ("run",), TextReader),
        ("my-claude", ("--output-format", "stream-json"), TextReader),
        ("amp", ("-x",), TextReader),
        ("./agent.sh", (), TextReader),
    ],
)
def test_output_is_read_as_events_only_where_the_arguments_ask_for_them(command, args, reader) -> None:
    assert dialect_of(Provider(command=command, args=args)).reader is reader


def test_a_dialect_that_a_person_chose_is_used_for_any_command() -> None:
    provider = Provider(command="./wrapper.sh", dialect="claude")
    assert dialect_of(provider).reader is ClaudeReader
    assert dialect_of(Provider(command="claude", args=("stream-json",), dialect="text")).reader is TextReader


def test_a_dialect_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(RalphError, match="there is no 'clade'; did you mean 'claude'") as error:
        dialect_of(Provider(command="x", dialect="clade"))
    assert all(name in error.value.remedy for name in DIALECTS)


def test_ralph_itself_is_the_scripted_agent_only_when_told_to_be() -> None:
    assert known(Provider(command="ralph", args=("scripted", "a.json"))) is AGENTS["scripted"]
    assert known(Provider(command="ralph", args=("run", "auth"))) is None
    assert known(Provider(command="ralph")) is None


@pytest.mark.parametrize(
    ("provider", "line"),
    [
        (Provider(command="claude", args=("-p",)), ("claude", "-p")),
        (Provider(command="claude", args=("-p",), model="opus"), ("claude", "-p", "--model", "opus")),
        (Provider(command="/x/claude", model="opus"), ("/x/claude", "--model", "opus")),
        (
            Provider(command="codex", args=("exec", "-"), model="o9"),
            ("codex", "exec", "--model", "o9", "-"),
        ),
        (Provider(command="codex", args=("exec", "-")), ("codex", "exec", "-")),
        (Provider(command="mine", args=("-",)), ("mine", "-")),
        (Provider(command="mine", model="m"), ("mine",)),
        (
            Provider(command="mine", args=("a", "-"), model="m", model_args=("-m={model}", "--{model}")),
            ("mine", "a", "-m=m", "--m", "-"),
        ),
        (Provider(command="claude", model="m", model_args=("-M", "{model}")), ("claude", "-M", "m")),
        (Provider(command="mine", args=("-", "last"), model="m", model_args=("{model}",)), ("mine", "-", "last", "m")),
        (Provider(command="amp", args=("-x",), model="m"), ("amp", "-x")),
    ],
)
def test_the_model_goes_where_the_agent_takes_it(provider: Provider, line: tuple[str, ...]) -> None:
    assert arguments(provider) == line


@pytest.mark.parametrize("text", ["Use make.", 'Say "hi"\n\tand \\ stop', "true", "[1]", "größer 日本 🙂"])
def test_codex_gets_the_context_as_a_quoted_value(text: str) -> None:
    provider = Provider(command="codex", args=AGENTS["codex"].args, model="m")
    *_, switch, value, last = arguments(provider, context=text)
    assert (switch, last) == ("-c", "-")
    assert tomllib.loads(value) == {"developer_instructions": text}


def test_goose_keeps_its_last_two_arguments_together() -> None:
    provider = Provider(command="goose", args=AGENTS["goose"].args, model="m")
    assert arguments(provider)[-4:] == ("--model", "m", "-i", "-")


def test_an_argument_can_be_the_prompt() -> None:
    provider = Provider(command="mini", args=AGENTS["mini"].args, model="m")
    line = arguments(provider, prompt="Do it.\0\n{model}")
    assert line == ("mini", "-y", "--exit-immediately", "-t", "Do it.\n{model}", "-m", "m")
    assert arguments(Provider(command="x", args=("a{prompt}",)), prompt="p") == ("x", "a{prompt}")


def test_an_agent_can_be_named_by_the_dialect_alone() -> None:
    provider = Provider(command="./wrapper.sh", dialect="aider")
    assert known(provider) is AGENTS["aider"]
    assert dialect_of(provider) is DIALECTS["aider"]
    assert dialect_of(Provider(command="./wrapper.sh", dialect="amp")) is DIALECTS["text"]


def test_what_an_agent_gets_is_valid() -> None:
    json.loads(AGENTS["opencode"].settings["OPENCODE_PERMISSION"])
    for agent in AGENTS.values():
        assert all(isinstance(value, str) for value in agent.settings.values())
        assert agent.permission_note
        assert set(agent.permission) <= set(agent.args)


def test_arguments_that_look_like_a_placeholder_are_passed_as_they_are() -> None:
    provider = Provider(command="mine", args=("{model}",), model="m", model_args=("--m", "{model}"))
    assert arguments(provider) == ("mine", "{model}", "--m", "m")


def test_all_a_plain_command_prints_is_speech() -> None:
    transcript = Transcript()
    reader = TextReader(transcript)
    reader.feed(b"<ralph>DO")
    reader.feed(b"NE</ralph>")
    report = reader.close()
    assert transcript.markers == [Marker("DONE")]
    assert not reader.finished
    assert report.usage.calls == report.usage.unpriced == 1
    assert report.usage.cost_usd is None
