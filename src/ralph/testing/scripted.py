"""The scripted agent: plays turns from a JSON file, chosen by a match on the prompt or by the call's number.

It is an ordinary agent program. It reads its prompt on standard input, does what the first fitting turn says
(say, write, append, delete, run, sleep), and ends with that turn's exit code.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ralph import validation

DONE = "<ralph>DONE</ralph>"
ANSWER_FILE = re.compile(r"to the file `([^`\n]+)`")


class Turn(BaseModel):
    """What the agent does in one call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    match: str | None = Field(default=None, description="A regular expression that the prompt must contain.")
    call: int | None = Field(default=None, ge=1, description="Only in the nth call of all.")
    times: int | None = Field(default=None, ge=1, description="How often this turn may be played.")
    say: list[str] = Field(default=[], description="Lines to print, first of all.")
    write: dict[str, str] = Field(default={}, description="Files to write, with their text.")
    append: dict[str, str] = Field(default={}, description="Text to add to the end of files.")
    answer: JsonValue = Field(default=None, description="What goes into the answer file that the prompt names.")
    delete: list[str] = Field(default=[], description="Files to remove.")
    run: list[str] = Field(default=[], description="Shell commands, with their output.")
    sleep: Annotated[float, Field(ge=0)] = Field(default=0, description="Seconds to wait, after all that.")
    then: list[str] = Field(default=[], description="Lines to print at the end.")
    done: bool = Field(default=False, description="Say <ralph>DONE</ralph> at the very end.")
    exit: int = Field(default=0, ge=0, le=255, description="The exit code.")


class Script(BaseModel):
    """A JSON file of turns; the first that fits a call is played."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turns: list[Turn]


def load(path: Path) -> list[Turn]:
    """The turns of a script, or all of its mistakes."""
    return validation.parse(Script, validation.read(path), name=str(path), rules=_rules).turns


def schema_text() -> str:
    return json.dumps({**Script.model_json_schema(), "title": "script of the scripted agent"}, indent=2) + "\n"


def play(path: Path, state: Path | None = None) -> int:
    """Play the turn that fits this call."""
    prompt = sys.stdin.read()
    turns = load(path)
    chosen = choose(turns, prompt, _count(_state_file(path, state), turns, prompt))
    if chosen is None:
        sys.stderr.write("scripted agent: no turn fits this call\n")
        return 1
    return _perform(turns[chosen], prompt)


def choose(turns: list[Turn], prompt: str, history: list[int | None]) -> int | None:
    """The first turn that fits, given which turns the earlier calls played (None: no turn fitted)."""
    for index, turn in enumerate(turns):
        if turn.match is not None and not re.search(turn.match, prompt):
            continue
        played = history.count(index)
        if turn.times is not None and played >= turn.times:
            continue
        if turn.call is not None and turn.call != len(history) + 1:
            continue
        return index
    return None


def reset(path: Path, state: Path | None = None) -> None:
    _state_file(path, state).unlink(missing_ok=True)


def _count(state: Path, turns: list[Turn], prompt: str) -> list[int | None]:
    """Earlier calls, with this one written down; calls side by side take turns."""
    state.parent.mkdir(parents=True, exist_ok=True)
    with state.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        history: list[int | None] = [int(line) if line.strip().isdigit() else None for line in file]
        chosen = choose(turns, prompt, history)
        file.write(f"{'-' if chosen is None else chosen}\n")
    return history


def _state_file(path: Path, state: Path | None) -> Path:
    if state:
        return state
    name = hashlib.sha256(os.fsencode(path.resolve()) + path.read_bytes()).hexdigest()[:24]
    return Path(tempfile.gettempdir()) / f"ralph-scripted-{os.getuid()}" / name


def _perform(turn: Turn, prompt: str) -> int:
    _say(turn.say)
    _answer(turn, prompt)
    for name, text in turn.write.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    for name, text in turn.append.items():
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(text)
    for name in turn.delete:
        Path(name).unlink(missing_ok=True)
    for command in turn.run:
        subprocess.run(["/bin/sh", "-c", command], check=False)
    time.sleep(turn.sleep)
    _say([*turn.then, *([DONE] if turn.done else [])])
    return turn.exit


def _answer(turn: Turn, prompt: str) -> None:
    named = ANSWER_FILE.findall(prompt)
    if turn.answer is not None and named:
        text = turn.answer if isinstance(turn.answer, str) else json.dumps(turn.answer, indent=2)
        Path(named[-1]).parent.mkdir(parents=True, exist_ok=True)
        Path(named[-1]).write_text(text, encoding="utf-8")


def _say(lines: list[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _rules(document: validation.Json) -> list[str]:
    mistakes = []
    turns = document.get("turns")
    for index, turn in enumerate(turns if isinstance(turns, list) else ()):
        pattern = turn.get("match") if isinstance(turn, dict) else None
        if isinstance(pattern, str):
            try:
                re.compile(pattern)
            except re.error as error:
                mistakes.append(f"turns[{index}].match: not a regular expression: {error}")
    return mistakes
