"""A real git repository with a plan, an agent that is a shell script, and a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
RALPH = str(BIN / "ralph")
RUN = (RALPH, "run", "auth", "--quiet", "--no-baseline")
GATE = "true"
PLAN = ".ralph/2026-01-01-auth/prd.json"

AGENT = """#!/bin/sh
prompt=$(cat)
case $prompt in
"# Final Verification"*) echo "<ralph>VERIFIED</ralph>"; exit ;;
esac
echo done > "$RALPH_TASK.txt"
git add "$RALPH_TASK.txt"
git commit -q -m "feat: $RALPH_TASK"
echo "<ralph>DONE</ralph>"
"""

GITCONFIG = """[user]
    name = Person
    email = person@example.com
[init]
    defaultBranch = main
[gc]
    auto = 0
"""


class Project:
    """A repository with `stories` stories, the last `pending` of them to do."""

    def __init__(self, folder: Path, *, stories: int, pending: int | None = None, agent: str = AGENT) -> None:
        self.path = folder / "project"
        self.agent = folder / "agent"
        self.pending = pending_ids(stories, stories if pending is None else pending)
        self.env = environment(folder)
        self.path.mkdir(parents=True)
        self.agent.write_text(agent)
        self.agent.chmod(0o755)
        self._write("ralph.config.json", {"provider": {"command": str(self.agent)}, "verify": {"default": [GATE]}})
        self._write(PLAN, plan(stories, set(self.pending)))
        for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "Plan")):
            self.run(["git", *command])

    def set_gates(self, *gates: dict[str, Any]) -> None:
        """Replace the gates."""
        document = json.loads((self.path / "ralph.config.json").read_text())
        self._write("ralph.config.json", {**document, "gates": list(gates)})

    def set_provider(self, **settings: str) -> None:
        """Change how the agent is called."""
        document = json.loads((self.path / "ralph.config.json").read_text())
        document["provider"] |= settings
        self._write("ralph.config.json", document)

    def _write(self, name: str, document: dict[str, Any]) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=2) + "\n")

    def run(self, argv: Sequence[str], *, first_on_path: Path | None = None) -> str:
        """Run a program here, and insist that it succeeds."""
        env = dict(self.env)
        if first_on_path:
            env["PATH"] = f"{first_on_path}:{env['PATH']}"
        done = subprocess.run(argv, cwd=self.path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{argv[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    @property
    def logs(self) -> Path:
        """The folder of the one run that was made here: its journal and the prompts it sent."""
        return next(self.path.glob(".ralph/logs/*/journal.jsonl")).parent

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = (self.logs / "journal.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == name]


def environment(folder: Path) -> dict[str, str]:
    """What programs see: nothing of the person who measures but where programs are."""
    home = folder / "home"
    home.mkdir(parents=True)
    (home / ".gitconfig").write_text(GITCONFIG)
    return {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(home),
        "RALPH_SANDBOX": "none",  # `bench sandbox` measures it; some agents here work together outside of their copies
        "LANG": "C.UTF-8",
        "TMPDIR": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "RALPH_TRUST": "1",  # `guard` measures the question
    }


def pending_ids(stories: int, pending: int) -> list[str]:
    return [f"US-{number}" for number in range(stories - pending + 1, stories + 1)]


def plan(stories: int, pending: set[str]) -> dict[str, Any]:
    return {
        "schemaVersion": 2,
        "branchName": "ralph/auth",
        "description": "People log in with their e-mail address and a password.",
        "userStories": [_story(number, pending) for number in range(1, stories + 1)],
    }


def _story(number: int, pending: set[str]) -> dict[str, Any]:
    story: dict[str, Any] = {
        "id": f"US-{number}",
        "title": f"Part {number} of logging in",
        "description": "As a person I want to log in, so that I see what is mine.",
        "acceptanceCriteria": ["A right password is accepted", "A wrong password is refused"],
        "priority": number,
        "passes": f"US-{number}" not in pending,
    }
    if story["passes"]:
        story["lastResult"] = {"completedAt": "2026-01-01T00:00:00.000Z", "commit": "0" * 40, "summary": "Done"}
    return story
