"""The guide to the request workflow, word for word as a new user would follow it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.acceptance.test_request_plan import terminal
from tests.conftest import Project

GUIDE = Path(__file__).parents[2] / "docs/guides/request.md"


def shell(project: Project, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, shell=True, cwd=project.path, env=project.env, capture_output=True, text=True)


def test_the_guide_works_as_it_is_written(project: Project) -> None:
    text = GUIDE.read_text().split("## The phases of a request")[0]
    project.write("agent.json", re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
    blocks = [block.strip().splitlines() for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)]
    prepare, plan, begin, look, finish = blocks

    assert [shell(project, line).returncode for line in (*prepare, plan[0])] == [0] * 3
    request = re.findall(r'ralph plan "(.*)"', plan[1])[0]
    with terminal(project, "plan", request) as person:
        for _ in range(2):
            person.expect("Answer [A]:")
            person.say("")
        said = person.expect("`ralph run request`")
    assert "dependencies form a cycle: task-001 → task-003 → task-001" in " ".join(said.split())
    shown = re.findall(r"```\n(3 tasks.*?)```", text, re.DOTALL)[0]
    assert shown in shell(project, "ralph plan --show").stdout, "the tree is the one in the guide"

    assert shell(project, begin[0]).returncode == 0
    done = shell(project, begin[1])
    assert done.returncode == 3, done.stdout + done.stderr
    assert "request: halted · task-003 failed" in done.stdout
    assert "AssertionError: 200 != 201" in shell(project, look[0]).stdout
    assert "task-003 attempt 3 failed" in shell(project, look[1]).stdout

    done = shell(project, finish[0])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "feat: task-003 - Answer requests" in shell(project, finish[1]).stdout
    assert shell(project, finish[2]).returncode == 0
    assert "All gates are green" in shell(project, "ralph verify").stdout
