"""The documentation promises nothing that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ralph import config, prompts
from ralph.cli.app import SECTIONS
from ralph.journal import events
from ralph.testing.script import Script

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = {name for section in SECTIONS.values() for name in section}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_and_commands_exist(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(r"(?:^|`)ralph ([a-z]+)\b", text, re.MULTILINE):
        assert name in COMMANDS, name


@pytest.mark.parametrize(
    "example", sorted((ROOT / "docs/examples").glob("*/ralph.config.json")), ids=lambda p: p.parent.name
)
def test_example_configurations_are_valid(example: Path) -> None:
    config.parse(example.read_bytes())


def test_every_setting_every_command_and_every_event_is_documented() -> None:
    reference = ROOT / "docs/reference"
    settings = (reference / "configuration.md").read_text()
    for name in config.schema()["properties"]:  # type: ignore[attr-defined]
        assert name == "$schema" or f"`{name}" in settings, name
    commands = (reference / "commands.md").read_text()
    assert {name for name in COMMANDS if f"ralph {name}" not in commands} == set()
    told = (reference / "events.md").read_text()
    for event in vars(events).values():
        if (
            isinstance(event, type)
            and issubclass(event, events.Event)
            and event not in (events.Event, events.AgentSpoke)
        ):
            assert f"`{event.name()}`" in told, event
    listed = (reference / "prompts.md").read_text()
    for name in prompts.NAMES:
        used = re.findall(r"\{[{%][^}]*?\b([a-z][A-Za-z]+)\b", prompts.source(name, ROOT).read_text())
        for variable in set(used) - {"if", "else", "endif", "not"}:
            assert f"`{variable}`" in listed, (name, variable)


def test_the_guides_script_is_a_valid_script() -> None:
    text = (ROOT / "docs/guides/scripted-agent.md").read_text()
    block = next(block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if "turns" in block)
    Script.model_validate(json.loads(block))
