"""A recorded run can be played back: the same work, the same verdicts, without a model."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

from tests.conftest import VERIFIED, Project, does

SECRET = "ghp_" + "aB3d" * 9
SCRIPTED = (  # a red gate, a call that fails, one that works, and its review
    {"match": "# Task Review", "answer": {"verdict": "qualified", "summary": "It is right", "findings": []}},
    does("US-001", "wrong.txt", times=1, say=["Done, I think.", "<ralph>LEARNING:measure twice</ralph>"]),
    {
        "match": r"\*\*ID:\*\* US-001",
        "times": 1,
        "say": [f"my token is {SECRET}"],
        "run": ["echo broken >&2"],
        "exit": 3,
    },
    does(
        "US-001",
        "sub/right.txt",
        run=[
            "mkdir -p sub; printf '\\000\\377' > sub/data.bin; echo run > run.sh; chmod +x run.sh",
            "rm wrong.txt app.txt",
            "ln -s right.txt sub/link; head -c 5000000 /dev/zero > huge.bin; echo ignored > made.log",
            "git add sub run.sh; git commit -aqm 'feat: right at last'; rm huge.bin",
        ],
    ),
    VERIFIED,
)


def fresh(project: Project, name: str) -> Project:
    """The same project as it is now, in another folder."""
    again = copy.copy(project)
    again.folder = project.folder / name
    again.path = again.folder / "project"
    shutil.copytree(project.path, again.path, symlinks=True)
    return again


def outcomes(project: Project) -> list[tuple[Any, ...]]:
    """What was decided, and why; not when, and not under which name of a run."""
    ended = project.events("attempt_ended")
    gates = [(one["work"], one["result"]["command"], one["result"]["passed"]) for one in project.events("gate_ended")]
    learned = [(one["work"], one["text"]) for one in project.events("learned")]
    calls = [(one["work"], one["how"], one["code"], one["claims"]) for one in project.events("agent_ended")]
    verdicts = [(one["work"], one["attempt"], one["verdict"], one["reason"]) for one in ended]
    return sorted([*verdicts, *gates, *learned, *calls], key=str)


def code(project: Project) -> list[str]:
    return [line for line in project.git("ls-tree", "-r", "ralph/auth").splitlines() if "\t.ralph/" not in line]


def replayed(project: Project, recording: Path, *args: str) -> Project:
    """Put a recording into a fresh copy of the project, with the configuration that comes with it, and run it."""
    shutil.copytree(recording, project.path / recording.name)
    shutil.copy(recording / "ralph.config.json", project.path)
    project.ralph("run", "auth", *args)
    return project


def test_a_run_is_recorded_without_secrets_and_played_back(project: Project) -> None:
    project.write(".gitignore", "*.log\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Ignore")
    project.config("test -f sub/right.txt", review={"enabled": True})
    project.stories("One")
    project.script(*SCRIPTED)
    again, recording = fresh(project, "again"), project.folder / "recorded"

    project.ralph("run", "auth", "--record", str(recording))

    everything = "".join(path.read_text() for path in recording.rglob("*") if path.is_file())
    assert SECRET not in everything and "[secret]" in everything
    first, failed, last, review = (
        json.loads(path.read_text()) for path in sorted(recording.glob("calls/US-001/*.json"))
    )
    assert (first["attempt"], first["code"], failed["code"], last["subject"]) == (1, 0, 3, "feat: right at last")
    assert "The gate" in failed["prompt"]
    assert [file["path"].split("/")[0] for file in review["files"]] == [".ralph"], "its answer"
    files = {file["path"]: file for file in last["files"]}
    assert {name: file["change"] for name, file in files.items()} == {
        **dict.fromkeys(("run.sh", "sub/data.bin", "sub/link", "sub/right.txt"), "added"),
        **dict.fromkeys(("app.txt", "wrong.txt"), "deleted"),
    }
    assert files["sub/link"]["left_out"] == "it is a link"
    output = (recording / "calls/US-001/00002-US-001-2.agent.output.jsonl").read_text().splitlines()
    assert [(chunk["to"], chunk["text"]) for chunk in map(json.loads, output)] == [
        ("out", "my token is [secret]\n"),
        ("err", "broken\n"),
    ]
    assert json.loads((recording / "recording.json").read_text())["commit"] == project.git("rev-parse", "main")
    assert (
        f"{recording}: 5 calls, no mistakes" in project.ralph("scripted", "--replay", str(recording), "--check").stdout
    )

    replayed(again, recording)

    assert outcomes(again) == outcomes(project)
    link = [line for line in code(project) if line.startswith("120000")]
    assert code(again) == [line for line in code(project) if line not in link], "links are not in recordings"
    assert again.subjects() == project.subjects()

    again.git("branch", "-D", "ralph/auth")
    assert project.ralph("run", "auth", "--record", str(recording), code=1).stderr == (
        f"ralph: The folder {recording} is not empty, and Ralph never overwrites a recording.\n"
        "→ Give --record the name of a new folder, or remove this one.\n"
    )


def test_parallel_calls_of_another_agent_are_played_back_in_its_dialect(project: Project) -> None:
    said = Path(__file__).parents[1] / "data/claude/success-2.1.197.jsonl"
    lines = said.read_text()
    agent = project.folder / "claude"
    agent.write_text(
        '#!/bin/sh\ncat > /dev/null\ncase $RALPH_TASK in US-*) echo x > "$RALPH_TASK.txt";; esac\n'
        f"cat {project.folder}/said.jsonl\n"
    )
    agent.chmod(0o755)
    done = lines.replace("All done: DONE-42.", "<ralph>DONE</ralph>\\n<ralph>VERIFIED</ralph>")
    (project.folder / "said.jsonl").write_text(done)
    project.config("true", provider={"command": str(agent), "args": ["--token", "abc"], "dialect": "claude"})
    project.stories("One", "Two", "Three")
    again, recording = fresh(project, "again"), project.path / "recorded"

    project.ralph("run", "auth", "--jobs", "3", "--record", "recorded")

    call = json.loads(next(recording.glob("calls/US-002/*.json")).read_text())
    assert call["provider"] == {"command": "claude", "args": ["--token", "[secret]"], "dialect": "claude"}
    replayed(again, recording, "--jobs", "2")
    assert set(map(str, outcomes(again))) == set(map(str, outcomes(project)))  # gates run again as work lands
    assert code(again) == code(project)
    usage = [event["usage"]["output_tokens"] for event in again.events("agent_ended")]
    assert usage and all(usage), "the structured output was understood"


def test_agents_keep_the_names_under_which_roles_and_tasks_know_them(project: Project) -> None:
    agent = project.folder / "agent.sh"
    agent.write_text("echo one > one.txt; echo '<ralph>DONE</ralph>'; echo '<ralph>VERIFIED</ralph>'\n")
    shell = {"command": "/bin/sh", "args": [str(agent)]}
    roles = {"executor": {"providers": ["sh", "other"]}}
    project.config("true", provider=shell, providers={"other": {**shell, "model": "m"}}, roles=roles)
    project.stories({"title": "One", "race": ["sh", "other"]})
    again, recording = fresh(project, "again"), project.folder / "recorded"
    project.ralph("run", "auth", "--record", str(recording))

    replayed(again, recording)

    made = json.loads((recording / "ralph.config.json").read_text())
    assert set(made["providers"]) == {"sh", "other"} and made["roles"] == roles
    assert again.story()["passes"] is True
