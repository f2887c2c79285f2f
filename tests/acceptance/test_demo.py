"""The demo and the scripted agent, as a newcomer meets them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

from tests.conftest import RALPH, Project


def test_the_demo_shows_a_lie_a_retry_a_reset_and_an_agreement(project: Project) -> None:
    target = project.folder / "shown"

    done = project.ralph("demo", "--into", str(target))

    assert "✗ US-001 failed: The gate `python3 -m unittest -q` failed" in done.stdout
    assert "sent back: US-002" in done.stdout
    assert "learned:" in done.stdout
    assert "complete · all gates green · final verification agreed" in done.stdout
    assert "ralph init --provider claude" in done.stdout
    again = project.ralph("-C", str(target / "project"), "attempts", "kelvin").stdout
    assert "US-001/1       failed" in again
    assert "is not empty" in project.ralph("demo", "--into", str(target), code=1).stderr


def test_the_scripted_agent_is_checked_counted_and_chosen_by_prompt_or_call(project: Project) -> None:
    script = project.folder / "s.json"
    script.write_text(json.dumps({"turns": [
        {"match": "second", "say": ["by match"], "write": {"w.txt": "w"}, "exit": 7},
        {"call": 2, "say": ["by number"], "append": {"w.txt": "more"}},
        {"times": 1, "say": ["once"], "done": True},
    ]}))  # fmt: skip
    play = ["scripted", str(script)]
    assert project.ralph(*play, stdin="first").stdout == "once\n<ralph>DONE</ralph>\n"
    assert project.ralph(*play, stdin="first").stdout == "by number\n"
    assert project.ralph(*play, stdin="the second", code=7).stdout == "by match\n"
    assert "no turn matches" in project.ralph(*play, stdin="first", code=1).stderr
    project.ralph(*play, "--reset")
    assert project.ralph(*play, stdin="first").stdout.startswith("once")
    assert "3 turns" in project.ralph(*play, "--check").stdout

    script.write_text('{"turns": [{"mach": "x", "match": "("}]}')
    wrong = project.ralph(*play, "--check", code=1).stderr
    assert "turns[0].mach: unknown key; did you mean 'match'?" in wrong
    assert "turns[0].match: not a regular expression" in wrong
    assert json.loads(project.ralph("schema", "script").stdout)["title"]


def test_on_a_terminal_there_are_colours_and_a_living_line(project: Project) -> None:
    leader, follower = pty.openpty()
    env = {**project.env, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen([str(RALPH), "demo"], cwd=project.path, env=env, stdout=follower, stdin=follower)
    os.close(follower)
    seen = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    process.wait(timeout=30)
    os.close(leader)

    text = seen.decode()
    assert process.returncode == 0
    assert "\x1b[32m" in text
    assert "agent python working, 0 s" in text
    assert "\x1b[?7l" in text
    where = re.search(r"To explore it\s+\((\S+)\)", text)  # a long path is on a line of its own
    assert where and Path(where[1]).is_dir()
    assert 'ralph plan my-feature "' in text, "a name alone is not yet a plan"
