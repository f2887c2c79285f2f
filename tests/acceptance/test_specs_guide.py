"""The guide to the specs workflow, followed to the letter, ends as it says; and every command speaks of specs."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import jsonschema

from tests.acceptance.specs import builds, is_left_alone, plan, spec, statuses, subjects, task, tasks, write_plan
from tests.conftest import BIN, Project, wait_for

GUIDE = (Path(__file__).parents[2] / "docs/guides/specs.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_from_two_specs_to_two_commits_with_ctrl_c_in_the_middle(project: Project) -> None:
    files = dict(re.findall(r"`([a-z/]+\.(?:md|json))`:\n\n```[a-z]+\n(.*?)```", GUIDE, re.DOTALL))
    assert set(files) == {"specs/greeting.md", "specs/shouting.md", "agent.json"}
    init, make, build, look, blocked = blocks("sh")

    assert "wrote implementation.json" in project.types(init)
    for name, text in files.items():
        project.write(name, text)
    project.types('git add . && git commit -q -m "Specs"')
    out = project.types(make)

    assert "The answer cannot be used: specs/shouting.md: the plan has no spec for this file" in out
    assert "(and 1 more)" in out, "a task and a whole spec"
    assert list(tasks(project)) == ["greeting-1", "greeting-2", "shouting-1", "shouting-2"]
    project.types('git commit -q -a -m "Plan"')

    run = project.start(*build.split()[1:])
    wait_for(lambda: any(event["work"] == "greeting-2" for event in project.events("agent_started")))
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "greeting-1 failed: The gate `python3 -m unittest -q` failed" in out
    assert statuses(project)["greeting-1"] == "completed"
    assert "greeting-2 Greet the world" in project.types("ralph next")
    assert "1/4 passed" in project.types("ralph status specs")

    out = project.types(build, code=3)

    assert "specs: not finished · blocked: shouting-2" in out
    out = project.types(look)
    assert subjects(project) == ["feat: Shouting (partial)", "feat: Greeting", "Plan", "Specs", "A project"]
    assert "## Greeting: completed" in out and "## Shouting: partial, 1 of 2 tasks" in out
    assert "greeting-1/1   failed" in out and "shouting-2/1   blocked" in out
    is_left_alone(project)
    project.types("git merge -q ralph/specs")
    assert project.types("python3 -B greet.py --shout Ada") == "HELLO, ADA!\n"
    assert project.types("python3 -B greet.py") == "Hello, world!\n"
    assert project.status() == []

    why, retry, accept, again = (line.partition("#")[0] for line in blocked.strip().splitlines())
    assert 'nobody here speaks "tlhIngan Hol"' in project.types(why)
    assert "Reset shouting-2." in project.types(retry)
    project.types(f"{accept} --yes")  # there is no terminal here
    assert "specs: complete" in project.types(again)
    assert "- [x] `shouting-2`" in project.types("git show ralph/specs:PROGRESS.md")
    for name in re.findall(r"^\| `([^`]+)` \|", GUIDE, re.MULTILINE):
        assert list(project.path.glob(name)), name


def test_the_documented_gates_are_valid(project: Project) -> None:
    gates = next(block for block in blocks("json") if '"gates"' in block)
    project.write("ralph.config.json", f'{{"provider": {{"command": "true"}}, {gates}}}')

    assert "✓ ralph.config.json" in project.ralph("validate").stdout


def test_every_command_speaks_of_specs_with_the_same_words(project: Project) -> None:
    project.config("! test -f bad.txt", maxRetries=1)
    write_plan(project, spec("a", task("a-1"), task("a-2")), spec("b", task("b-1"), priority=2))
    learned = "<ralph>LEARNING:Files end in txt</ralph>"
    project.script(builds("a-1", "1.txt", then=[learned, "<TASK_DONE>"]), builds("a-2", "bad.txt"))
    project.ralph("start", "build", "--once")

    assert "specs: a-2 Do a-2 (A)" in project.ralph("next").stdout
    assert json.loads(project.ralph("next", "specs", "--json").stdout)[0]["next"] == {"id": "a-2", "title": "Do a-2"}
    shown = project.ralph("status", "specs").stdout
    for part in ("1/3 passed", "A  specs/a.md", "✓ a-1", "· a-2", "B  specs/b.md", "· b-1"):
        assert part in shown, part
    project.ralph("start", "build", "--once", code=3)
    assert "specs: the commit of A, whose tasks are all settled" in project.ralph("next").stdout
    assert "1/3 passed, 1 blocked" in project.ralph("status").stdout
    assert "no task 'a-9'" in project.ralph("status", "specs", "--task", "a-9", code=1).stderr

    listed = project.ralph("attempts", "specs").stdout
    assert "a-1/1          passed" in listed and "a-2/1          failed" in listed
    assert "+x" in project.ralph("attempts", "specs", "a-2", "--diff").stdout
    assert "Restored 1 file of a-2/1" in project.ralph("attempts", "specs", "a-2/1", "--restore").stdout
    assert "✗ ! test -f bad.txt" in project.ralph("verify", "specs", code=3).stdout
    (project.path / "bad.txt").unlink()
    assert "All gates are green." in project.ralph("verify", "specs").stdout

    assert "✓ implementation.json" in project.ralph("validate", "specs").stdout
    assert "implementation.json: 2 specs, 3 tasks" in project.ralph("doctor").stdout
    assert "Files end in txt" in project.ralph("learnings", "specs").stdout
    assert "specs " in project.ralph("logs", "--list").stdout
    assert "attempt_ended" in project.ralph("logs", "--events").stdout
    schema = json.loads(project.ralph("schema", "implementation").stdout)
    jsonschema.validate(plan(project), schema)
    completion = {"_RALPH_COMPLETE": "bash_complete", "COMP_WORDS": "ralph status s", "COMP_CWORD": "2"}
    done = subprocess.run(
        [str(BIN / "ralph")], cwd=project.path, env=project.env | completion, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["plain,specs"]
