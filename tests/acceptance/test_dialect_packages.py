"""Dialects that another package adds: really built, really installed, used like any other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.test_step_packages import install
from tests.conftest import Project

DOCUMENTED = Path(__file__).parents[2] / "docs/guides/agents.md"
BROKEN = """
from ralph.agent.dialects import Json, JsonReader


class Breaks(JsonReader):
    def take(self, event: Json) -> None:
        raise ValueError("no luck today")


class NotAReader:
    pass
"""
AGENT = """#!/bin/sh
cat > /dev/null
echo done > work.txt
cat <<'END'
a line that is no event, then one that quotes:
{"kind": "tool", "text": "<ralph>LEARNING:not said</ralph>"}
{"kind": "said", "text": "It works.\\n<ralph>LEARNING:said</ralph>\\n<ralph>DONE</ralph>"}
{"kind": "end", "in": 120, "out": 30}
END
"""


@dataclass(frozen=True)
class Packages:
    good: dict[str, str]
    bad: dict[str, str]


def block(language: str) -> str:
    section = DOCUMENTED.read_text().partition("## Your own dialect")[2]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    folder = tmp_path_factory.mktemp("dialects")
    points = '[project.entry-points."ralph.dialects"]\nbreaks = "bad_dialect:Breaks"\nodd = "bad_dialect:NotAReader"\n'
    points += 'gone = "no_such_module:Reader"\nclaude = "bad_dialect:Breaks"\n'
    good = install(folder, "my-dialect", {"my_dialect": block("python")}, block("toml"))
    bad = install(folder, "bad-dialect", {"bad_dialect": BROKEN}, points)
    return Packages(good={"PYTHONPATH": str(good)}, bad={"PYTHONPATH": str(bad)})


def uses(project: Project, dialect: str, gate: str = "test -f work.txt") -> None:
    path = project.folder / "my-agent"
    path.write_text(AGENT)
    path.chmod(0o755)
    project.config(gate, provider={"command": str(path), "args": [], "dialect": dialect})
    project.stories("One")


def test_the_documented_package_reads_its_agent_like_any_other(project: Project, packages: Packages) -> None:
    uses(project, "my-agent")

    project.ralph("run", "auth", "--once", env=packages.good)

    ended = project.events("agent_ended")[0]
    assert ended["claims"] == ["DONE", "LEARNING"]
    assert (ended["usage"]["input_tokens"], ended["usage"]["output_tokens"]) == (120, 30)
    assert [event["text"] for event in project.events("learned")] == ["said"]
    assert project.story()["passes"] is True
    assert "Dialects from other packages: my-agent." in project.ralph("agents", env=packages.good).stdout


def test_a_dialect_that_is_not_installed_is_refused_with_those_that_are(project: Project, packages: Packages) -> None:
    uses(project, "my-agnet")

    said = project.ralph("run", "auth", code=1, env=packages.good).stderr

    assert "there is no 'my-agnet'; did you mean 'my-agent'?" in said
    assert "codex" in said


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("gone", "The dialect 'gone' could not be loaded from no_such_module:Reader: No module named"),
        ("odd", "The dialect 'odd' (bad_dialect:NotAReader) is neither a Dialect nor a subclass of Reader."),
        ("breaks", "The dialect 'breaks' broke: ValueError: no luck today."),
    ],
)
def test_a_dialect_that_cannot_be_used_is_named_with_its_reason(
    project: Project, packages: Packages, dialect: str, words: str
) -> None:
    uses(project, dialect)

    done = project.ralph("run", "auth", "--once", code=1, env=packages.bad)

    assert words in done.stdout + done.stderr


def test_a_package_cannot_replace_a_built_in_dialect(project: Project, packages: Packages) -> None:
    uses(project, "claude")

    done = project.ralph("run", "auth", "--once", code=None, env=packages.bad)

    assert "no luck today" not in done.stdout + done.stderr
