"""The guide to the session workflow, word for word as a new user would follow it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import Project

GUIDE = (Path(__file__).parents[2] / "docs/guides/session.md").read_text()


def test_the_guide_works_as_it_is_written(project: Project) -> None:
    prepare, build, look, resume, update = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    script = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)[0]

    project.types(prepare)
    project.write("agent.json", script)
    out = project.types(build)

    assert "weather: complete" in out
    assert "task-1 failed" in out and "task-2 failed" in out, "one by its reviewer, one by a gate"
    assert "feat: task-3 - Fahrenheit" in project.types("git log --oneline ralph/weather")
    assert "weather  completed" in project.types(look)
    again = project.types(resume)
    assert "weather: complete" in again, "nothing is left to do"
    assert "differs from the one on" not in again, "the checkout never had a plan"
    assert "weather: not finished" in project.types(update, code=3), "the script has no answer for that"
    project.types("git merge -q ralph/weather")
    assert project.exists(".ralph-sessions/weather/progress.review2.md")
