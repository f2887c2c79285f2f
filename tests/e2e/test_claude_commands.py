"""R0.10: `/ralph` and `/ralph-start` in the real Claude Code, from a sentence to finished work.

Claude Code allows just what the commands list under `allowed-tools`: every other call is a request to the person.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.acceptance.requests import REQUEST, load, usual, work
from tests.conftest import Project
from tests.e2e.conftest import ModelSays
from tests.e2e.model_server import bash, call, say, write
from tests.e2e.protocols import Turn

Json = dict[str, Any]
ANSWERS = ".ralph/run/answers/request.json"
QUESTIONS = [
    {
        "question": f"Which {name}?",
        "header": name,
        "multiSelect": False,
        "options": [{"label": option, "description": f"{option} it is"} for option in options],
    }
    for name, options in (("storage", ("Files", "SQLite")), ("login", ("No", "Yes")))
]


@dataclass
class Session:
    """A person's Claude Code: what its tools answered, and what it asked the person for."""

    results: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


Talk = Callable[..., Session]


@pytest.fixture
def talk(project: Project) -> Talk:
    """Say something to Claude Code as a person does: questions are answered, permissions refused."""

    def talk(text: str, *options: str, answers: Json | None = None) -> Session:
        how = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        person = ["--permission-prompt-tool", "stdio"] if answers is not None else []
        command = ["claude", "-p", *how, *person, *options]
        session = Session()
        with subprocess.Popen(
            command, cwd=project.path, env=project.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as claude:
            assert claude.stdin and claude.stdout

            def send(message: Json) -> None:
                assert claude.stdin
                claude.stdin.write(json.dumps(message) + "\n")
                claude.stdin.flush()

            send({"type": "user", "message": {"role": "user", "content": text}})
            for event in map(json.loads, claude.stdout):
                match event:
                    case {"type": "user", "message": {"content": [*blocks]}}:
                        session.results += [str(block.get("content")) for block in blocks]
                    case {"type": "control_request", "request": {"tool_name": name, "input": given}}:
                        session.asked.append(name)
                        asks = name == "AskUserQuestion"
                        reply = {"behavior": "allow", "updatedInput": {**given, "answers": answers}}
                        reply = reply if asks else {"behavior": "deny", "message": "The person said no."}
                        about = {"subtype": "success", "request_id": event["request_id"], "response": reply}
                        send({"type": "control_response", "response": about})
                    case {"type": "system", "subtype": "permission_denied", "tool_name": name}:
                        session.asked.append(name)
                    case {"type": "result"}:
                        claude.stdin.close()
        assert claude.returncode == 0
        return session

    return talk


@pytest.fixture
def ready(project: Project) -> Project:
    project.config("test ! -f bad.txt")
    project.script(*usual())
    project.ralph("install", "claude")
    project.git("add", "-A")
    project.git("commit", "-qm", "Ready")
    return project


def answers_them(project: Project) -> list[Turn]:
    given = json.dumps({"answers": {"storage": "Files", "login": "No"}})
    return [write(project.path / ANSWERS, given), bash(f"ralph plan --answers {ANSWERS}"), bash("ralph plan --show")]


def begins(project: Project) -> list[Turn]:
    return [bash(f'ralph plan "{REQUEST}"'), call("Read", file_path=str(project.path / ".ralph/decisions.json"))]


def test_a_person_is_asked_within_the_command_and_the_plan_is_worked_through(
    ready: Project, model_says: ModelSays, talk: Talk
) -> None:
    asks = call("AskUserQuestion", questions=QUESTIONS)
    vouches = bash("ralph accept request task-001 --why 'I say so' --yes")
    model = model_says(
        [*begins(ready), asks, *answers_them(ready), vouches, say("Read it, then /clear and /ralph-start.")],
        [bash("ralph status request"), bash("ralph start -q --jobs 2"), bash("ralph status request"), say("Done.")],
    )

    session = talk(f"/ralph {REQUEST}", answers={"Which storage?": "Files", "Which login?": "No"})

    told = "".join(model.requests[0].texts)
    assert f"What the person said: {REQUEST}" in told and f"run `ralph plan --answers {ANSWERS}`" in told
    planned, read, answered, _, made, shown, _ = session.results
    assert planned.startswith("Exit code 6") and "2 decisions are open" in planned
    assert "SQLite it is" in read and '"Which storage?"="Files"' in answered
    assert "phase planning_complete" in made and "`ralph run request`" in shown
    assert session.asked == ["AskUserQuestion", "Bash"], "all else that the command needs is allowed; vouching is not"
    assert [one["answer"] for one in load(ready, "decisions.json")["decisions"]] == ["Files", "No"]
    assert not [line for line in ready.status() if "answers" in line], "the answers never reach a commit"

    session = talk("/ralph-start --jobs 2", answers={})

    assert session.asked == []
    assert "3/3" in session.results[-1]
    assert len(work(ready)) == 3 and load(ready)["phase"] == "completed"


def test_without_a_way_to_ask_the_answers_are_a_second_command(
    ready: Project, model_says: ModelSays, talk: Talk
) -> None:
    model_says([*begins(ready), say("Which storage? Which login?"), *answers_them(ready), say("It is ready.")])

    first = talk(f"/ralph {REQUEST}")
    assert first.asked == [] and load(ready)["phase"] == "decisions"

    second = talk("/ralph Files, and no login", "--continue")
    assert second.asked == []
    assert load(ready)["phase"] == "planning_complete"
