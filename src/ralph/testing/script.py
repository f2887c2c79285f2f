"""The format of a script: the fields of a turn, and a check that reports all mistakes in a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ralph import validation


class ScriptTurn(BaseModel):
    """What the agent does in one call."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    match: str | None = Field(default=None, description="A regular expression that must match the prompt.")
    call: int | None = Field(default=None, ge=1, description="Play this turn only in the nth call.")
    times: int | None = Field(default=None, ge=1, description="How often this turn can be played.")
    say: list[str] = Field(default=[], description="Lines to print first.")
    write: dict[str, str] = Field(default={}, description="Files to write, with their content.")
    append: dict[str, str] = Field(default={}, description="Text to append to files.")
    answer: JsonValue = Field(default=None, description="The content of the answer file that the prompt names.")
    delete: list[str] = Field(default=[], description="Files to delete.")
    run: list[str] = Field(default=[], description="Shell commands to run; their output is printed.")
    sleep: Annotated[float, Field(ge=0)] = Field(default=0, description="Seconds to wait after that.")
    then: list[str] = Field(default=[], description="Lines to print at the end.")
    done: bool = Field(default=False, description="Print <ralph>DONE</ralph> at the very end.")
    exit: int = Field(default=0, ge=0, le=255, description="The exit code.")


class Script(BaseModel):
    """A JSON file of turns; in each call, the agent plays the first one that matches."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    turns: list[ScriptTurn]


def read(path: Path) -> list[ScriptTurn]:
    """Return the turns of a script, or raise an error that lists all of its mistakes."""
    return validation.parse(Script, validation.read(path), name=str(path), rules=_rules).turns


def schema_text() -> str:
    return json.dumps({**Script.model_json_schema(), "title": "script of the scripted agent"}, indent=2) + "\n"


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
