"""The guide to the session workflow, word for word as a new user would follow it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.conftest import Project

GUIDE = (Path(__file__).parents[2] / "docs/guides/session.md").read_text()


def types(project: Project, commands: str, code: int = 0) -> str:
    """What a person sees who types this in a shell."""
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", commands],
        cwd=project.path,
        env=project.env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_guide_works_as_it_is_written(project: Project) -> None:
    prepare, build, look, resume, update = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    script = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)[0]

    types(project, prepare)
    project.write("agent.json", script)
    out = types(project, build)

    assert "weather: complete" in out
    assert "task-1 not accepted" in out and "task-2 not accepted" in out, "one by its reviewer, one by a gate"
    assert "feat: task-3 - Fahrenheit" in types(project, "git log --oneline ralph/weather")
    assert "weather  completed" in types(project, look)
    assert "weather: complete" in types(project, resume), "nothing is left to do"
    assert "weather: not finished" in types(project, update, code=3), "the script has no answer for that"
    types(project, "git merge -q ralph/weather")
    assert project.exists(".ralph-sessions/weather/progress.review2.md")
