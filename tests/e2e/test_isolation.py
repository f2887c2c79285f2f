"""What a person has told their own agents stays out of a run; what the project says to agents is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.e2e.agents import TESTED, RealAgent
from tests.e2e.conftest import ModelSays
from tests.e2e.model_server import bash, say

MINE = "the person prefers turquoise"
PROJECT = "the project prefers magenta"
MEMORY = {
    "claude": (".claude/CLAUDE.md", "CLAUDE.md"),
    "codex": (".codex/AGENTS.md", "AGENTS.md"),
    "opencode": (".config/opencode/AGENTS.md", "AGENTS.md"),
    "pi": (".pi/agent/AGENTS.md", "AGENTS.md"),
    "gemini": (".gemini/GEMINI.md", "GEMINI.md"),
}
"""The file in which each agent reads what the person says to it, and what the project says."""


def add_settings(home: Path, name: str, ran: Path) -> None:
    """Give the person a hook, a plugin or a tool server that leaves a mark when it runs."""
    touch = f"touch {ran}"
    hooks = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": touch}]}]}}
    match name:
        case "claude":
            (home / ".claude/settings.json").write_text(json.dumps(hooks))
        case "codex":
            server = f'[mcp_servers.mine]\ncommand = "touch"\nargs = ["{ran}"]\n'
            config = home / ".codex/config.toml"
            config.write_text(config.read_text() + server)
        case "opencode":
            (home / ".config/opencode/plugin").mkdir()
            plugin = (
                f"import fs from 'fs'; export const Mine = async () => {{ fs.writeFileSync('{ran}', ''); return {{}} }}"
            )
            (home / ".config/opencode/plugin/mine.js").write_text(plugin)
        case "pi":
            (home / ".pi/agent/extensions").mkdir()
            extension = f"import fs from 'fs'; export default function (pi) {{ fs.writeFileSync('{ran}', '') }}"
            (home / ".pi/agent/extensions/mine.ts").write_text(extension)
        case "gemini":
            settings = home / ".gemini/settings.json"
            settings.write_text(json.dumps(json.loads(settings.read_text()) | hooks))


@pytest.mark.parametrize("agent", TESTED, indirect=True)
def test_a_run_sees_the_project_and_nothing_of_the_person_s_own(
    project: Project, agent: RealAgent, model_says: ModelSays
) -> None:
    greets = [bash("echo hello > greet.txt"), say("<ralph>DONE</ralph>")]
    model = model_says(greets, greets)
    mine, theirs = MEMORY[agent.name]
    (project.home / mine).parent.mkdir(parents=True, exist_ok=True)
    (project.home / mine).write_text(MINE)
    ran = project.folder / "ran"
    add_settings(project.home, agent.name, ran)
    project.write(theirs, f"{PROJECT}\n")
    project.git("add", theirs)
    project.git("commit", "-q", "-m", "Memory")
    project.write(theirs, f"{PROJECT}\n{MINE} (not committed)\n")
    project.ralph("init", "--provider", agent.name, "--verify", "grep -q hello greet.txt")
    project.stories("Greet", "Greet again")

    project.ralph("run", "auth", "--once")

    said = json.dumps([request.body for request in model.requests])
    assert PROJECT in said
    assert MINE not in said and not ran.exists()

    config = json.loads(project.read("ralph.config.json"))
    config["provider"]["isolate"] = False
    project.write("ralph.config.json", json.dumps(config))
    project.ralph("run", "auth", "--once", code=None)

    assert MINE in json.dumps([request.body for request in model.requests]) and ran.exists()
