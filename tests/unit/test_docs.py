"""The documentation promises nothing that is not there."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import click
import pytest

from ralph import config, prompts
from ralph.agent.dialects import AGENTS, known
from ralph.cli.app import COMMANDS, app
from ralph.journal import events
from ralph.journal.encode import encode
from ralph.plan.model import Finding, GateResult, PageResult
from ralph.plan.usage import Usage
from ralph.testing.script import Script

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

OPTION = re.compile(r"(?<![\w/-])--[a-z][a-z-]*\b(?![^\"]*\"(?:[^\"]*\"[^\"]*\")*[^\"]*$)")
"""An option that is not inside of quotes."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_and_commands_exist(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(r"(?:^|`)ralph ([a-z]+(?:-[a-z]+)*)\b", text, re.MULTILINE):
        assert name in COMMANDS, name


def test_every_option_that_a_page_names_for_a_command_exists() -> None:
    unknown = []
    for page in PAGES:
        for name, given in re.findall(r"(?:^|`)ralph ([a-z]+(?:-[a-z]+)*)\b([^`\n]*)", page.read_text(), re.MULTILINE):
            command = app.get_command(click.Context(app), name)
            assert command, name
            inner = command.commands.values() if isinstance(command, click.Group) else ()
            params = [one for each in (command, *inner) for one in each.params]
            named = {
                option
                for one in params
                if not getattr(one, "hidden", False)
                for option in (*one.opts, *one.secondary_opts)
            }
            unknown += [f"{page.name}: ralph {name} {one}" for one in OPTION.findall(given) if one not in named]
    assert unknown == []


@pytest.mark.parametrize(
    "example", sorted((ROOT / "docs/examples").glob("*/ralph.config.json")), ids=lambda p: p.parent.name
)
def test_example_configurations_are_valid(example: Path) -> None:
    config.parse(example.read_bytes())


def test_every_setting_and_every_command_is_documented() -> None:
    reference = ROOT / "docs/reference"
    settings = (reference / "configuration.md").read_text()
    for name in config.schema()["properties"]:  # type: ignore[attr-defined]
        assert name == "$schema" or f"`{name}" in settings, name
    commands = (reference / "commands.md").read_text()
    assert {name for name in COMMANDS if f"ralph {name}" not in commands} == set()
    listed = (reference / "prompts.md").read_text()
    for name in prompts.NAMES:
        used = re.findall(r"\{[{%][^}]*?\b([a-z][A-Za-z]+)\b", prompts.source(name, ROOT).read_text())
        for variable in set(used) - {"if", "else", "endif", "not"}:
            assert f"`{variable}`" in listed, (name, variable)


ENVELOPE = {"v", "seq", "at", "run", "target", "work", "attempt", "event"}


def rows(page: str) -> dict[str, set[str]]:
    """The tables of a page: the names in each row's second cell, by what is in its first."""
    found = re.findall(r"^\| ([^|]+) \| (.+) \|$", (ROOT / "docs/reference" / page).read_text(), re.MULTILINE)
    return {first.strip("`"): set(re.findall(r"`([a-z_]+)`", second)) for first, second in found}


@pytest.mark.parametrize("event", [event for event in events.EVENTS.values() if event.kept], ids=lambda e: e.name())
def test_every_event_is_documented_with_each_of_its_fields(event: type[events.Event]) -> None:
    documented = rows("events.md")
    assert documented[event.name()] >= {field.name for field in fields(event)} - ENVELOPE


def test_nothing_is_documented_as_an_event_or_a_field_of_the_envelope_that_is_none() -> None:
    documented = rows("events.md")
    written = json.loads(encode(events.StepStarted(work="a", attempt=1, step="s"), seq=1, run="r", target="t"))
    assert {*written} - {"step"} == ENVELOPE <= documented.keys()
    values = {"a gate's `result", "a page's `result", "a review's finding", "usage", "event", "field", "value", "---"}
    assert documented.keys() - ENVELOPE - values == {name for name, event in events.EVENTS.items() if event.kept}
    for name, value in (("a gate's `result", GateResult), ("a page's `result", PageResult), ("usage", Usage)):
        assert documented[name] >= {field.name for field in fields(value)}, name
    assert documented["a review's finding"] >= {field.name for field in fields(Finding)}


def test_the_example_for_acp_is_a_whole_configuration() -> None:
    text = (ROOT / "docs/guides/agents.md").read_text()
    block = next(block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if "acp" in block)
    provider = config.parse(block.encode()).provider
    agent = known(provider)
    assert agent and agent.acp and provider.args == agent.acp.args
    for row in (agent for agent in AGENTS.values() if agent.acp):
        assert f"| `{row.name}` | `{shlex.join((row.acp.command, *row.acp.args))}`" in text


def test_the_guides_script_is_a_valid_script() -> None:
    text = (ROOT / "docs/guides/scripted-agent.md").read_text()
    block = next(block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if "turns" in block)
    Script.model_validate(json.loads(block))
