"""The guide to the requirements workflow, followed to the letter, ends as it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.requirements import Empty, Founded, guarded

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "guides/requirements.md").read_text()
STEPS = (DOCS / "reference/steps.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def named_files(text: str) -> dict[str, str]:
    """The files that the guide has its reader write: a name, a colon, a block."""
    return dict(re.findall(r"`([a-z]+\.(?:md|json))`:\n\n```[a-z]+\n(.*?)```", text, re.DOTALL))


def what_is_where(text: str) -> list[str]:
    """Every file in the guide's table."""
    rows = re.findall(r"^\| (`.*?) \|", text.split("## The files")[1].split("\n## ")[0], re.MULTILINE)
    found: list[str] = []
    for row in rows:
        first, *others = re.findall(r"`([^`]+)`", row)
        found += [first, *(f"{Path(first).parent}/{name}" for name in others)]
    assert len(found) >= 12
    return found


class Reader(Empty):
    """A person who types what the guide says, in a shell."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (self.path / "requirements.md").unlink()
        self.path.rmdir()
        self.path = folder
        del self.env["RALPH_TRUST"]  # a reader has not set it


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    yield from guarded(Reader(tmp_path), tmp_path)


def test_from_an_empty_folder_to_a_finished_program_and_more(reader: Reader) -> None:
    make, build, more = blocks(GUIDE, "sh")
    files = named_files(GUIDE)
    assert set(files) == {"requirements.md", "agent.json"}

    reader.types(make)
    reader.path = reader.folder / "greeter"
    for name, text in files.items():
        reader.write(name, text)
    out = reader.types(build)

    assert "The answer cannot be used: " in out, "the first answer is prose, so it is asked for again"
    assert out.index("✓ .ralph/configs/default.json") < out.index("▶ [░░░░░░░░░░] 0/2 Set-up: setup"), (
        "it lists its checks"
    )
    assert "setup done" in out
    assert "T-001 failed: The gate `python3 -m unittest -q` failed" in out, "it catches the agent"
    assert "requirements: complete · all gates green" in out
    assert "tasks 2 of 2 passed" in out
    reader.inner = "greeter"
    assert reader.subjects()[::-1] == [
        "chore: begin",
        "chore: Set-up: setup",
        "feat: T-001 - Greet by name",
        "feat: T-002 - Shout",
    ]
    for command, shown in {
        "git -C greeter log": "feat: T-002 - Shout",
        "ralph status requirements": "[██████████] 2/2 passed",
        "ralph attempts requirements": "T-001/1        failed",
        "ralph logs": "requirements: complete",
    }.items():
        assert f"`{command}`" in GUIDE
        assert shown in reader.types(command)

    out = reader.types(more)

    assert "2 done tasks moved to .ralph/prd_archive.json" in out
    assert "T-003  Say goodbye" in out
    assert "requirements: complete · all gates green" in out
    assert reader.subjects()[0] == "feat: T-003 - Say goodbye"
    config = reader.path / "ralph.config.json"
    config.write_text(config.read_text().replace("unittest -q", "unittest"))
    refused = reader.ralph("run", code=1).stderr
    assert "has changed since you approved it." in refused, "without git it does not claim to know who changed it"
    greet = "cd greeter && python3 greet.py"
    assert reader.types(f"{greet} Ada") == "Hello, Ada!\n"
    assert reader.types(greet) == "Hello, world!\n"
    assert reader.types(f"{greet} --shout Ada") == "HELLO, ADA!\n"
    assert reader.types(f"{greet} --bye") == "Goodbye, world!\n"
    assert reader.types(f"{greet} --odd 2> /dev/null || echo $?") == "2\n"
    assert reader.git("status", "--porcelain") == ""
    missing = [name for name in what_is_where(GUIDE) if not list(reader.path.glob(name))]
    assert missing == [".ralph/learnings_archive.md"], "that one comes when learnings have become long"


def test_the_documented_step_configuration_is_valid(founded: Founded) -> None:
    careful = blocks(STEPS, "json")[0]
    founded.write(".ralph/configs/careful.json", careful)

    assert "✓ .ralph/configs/careful.json" in founded.ralph("validate").stdout


@pytest.mark.parametrize("key", ["max_loops_per_task", "stuck_after"])
def test_the_documented_defaults_are_the_schemas(founded: Founded, key: str) -> None:
    schema = json.loads(founded.ralph("schema", "steps").stdout)
    documented = re.search(rf"^\| `{key}` \| (\d+) \|", STEPS, re.MULTILINE)

    assert documented is not None
    assert schema["properties"][key]["default"] == int(documented[1])


def test_every_step_type_is_documented_with_all_that_its_config_may_hold(founded: Founded) -> None:
    schema = json.loads(founded.ralph("schema", "steps").stdout)
    step = schema["$defs"]["StepFile"]
    table = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", STEPS.split("## Step types")[1], re.MULTILINE))

    assert set(table) == set(step["properties"]["type"]["enum"])
    for case in step["allOf"]:
        name = case["if"]["properties"]["type"]["const"]
        for setting in case["then"]["properties"]["config"].get("properties", {}):
            assert f"`{setting}`" in table[name].rpartition(" | ")[2], f"{name}: {setting}"
    keys = set(re.findall(r"`(?:steps\[\]\.)?([a-z_]+)`", STEPS.split("| key |")[1].split("\n\n")[0]))
    assert set(step["properties"]) <= keys
