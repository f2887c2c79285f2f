"""The format of a recording: what one agent call was given, printed, changed and returned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ralph import validation
from ralph.errors import RalphError
from ralph.testing import replay
from ralph.testing.replay import HEAD

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class RecordingPart(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class RecordingHead(RecordingPart):
    """`recording.json`: which run was recorded."""

    version: Literal[1] = 1
    ralph: str = Field(description="The version of Ralph.")
    run: str
    target: str
    workflow: str
    commit: str = Field(description="The tip of the target's branch when the run began: a replay starts from it.")
    began: str


class RecordedProvider(RecordingPart):
    """The agent that was called, without secrets."""

    command: str
    args: list[str]
    model: str | None = None
    dialect: str = Field(description="How its output is read. A replay needs the same one.")


class RecordedFile(RecordingPart):
    """A file that the call added, changed or deleted, compared with the start of the call."""

    path: str = Field(description="Relative to the top of the working copy, with /.")
    change: Literal["added", "changed", "deleted"]
    size: Count = 0
    executable: bool = False
    text: str | None = Field(default=None, description="Its content, if it is UTF-8.")
    base64: str | None = Field(default=None, description="Its content otherwise.")
    left_out: str | None = Field(default=None, description="Why the content is not in the recording.")


class RecordedChunk(RecordingPart):
    """One line of a call's output file: a piece of output as it arrived."""

    at: Seconds = Field(description="Seconds since the start of the call.")
    to: Literal["out", "err"] = Field(description="Standard output or standard error.")
    text: str | None = Field(default=None, description="The piece, if it is UTF-8.")
    base64: str | None = Field(default=None, description="The piece otherwise.")


class RecordedCall(RecordingPart):
    """One call, in `calls/<work>/<number>-….json`."""

    version: Literal[1] = 1
    number: Annotated[int, Field(ge=1)] = Field(description="Counts the calls of the run, in the order of their start.")
    work: str
    kind: str
    attempt: Count
    step: str
    turn: Annotated[int, Field(ge=1)] = Field(description="The try of the step, from 1.")
    role: str
    provider: RecordedProvider
    folder: str = Field(description="The folder in which the agent started, below the top of the working copy.")
    prompt: str
    context: str = Field(description="System text, which some agents get apart from the prompt.")
    began: str
    seconds: Seconds
    how: str = Field(
        description="exited, or why Ralph ended the call: timed out, silent, gave up, lingered, answered, stopped."
    )
    code: int = Field(description="The exit code; negative: the signal that ended it.")
    chunks: Count = Field(description="The lines of its output file, which has its name and ends in .output.jsonl.")
    output_cut: bool = Field(default=False, description="Whether output is missing, because there was too much.")
    subject: str = Field(default="", description="The subject of the agent's last commit.")
    files: list[RecordedFile] = []


def check(folder: Path) -> int:
    """Return how many calls a recording has, or raise an error that says what is wrong with it."""
    validation.parse(RecordingHead, validation.read(folder / HEAD), name=f"{folder / HEAD}")
    found = [path for work in replay.works(str(folder)) for path in replay.calls_of(str(folder), work)]
    for path in found:
        validation.parse(RecordedCall, validation.read(Path(path)), name=path)
        replay.load(path)
    if not found:
        raise RalphError(f"The recording {folder} has no calls.", remedy="Record a run: ralph run NAME --record DIR.")
    return len(found)


def schema_text() -> str:
    """Return the schema of a call, with those of the other two files among its definitions."""
    models = (RecordedCall, RecordingHead, RecordedChunk)
    _, document = TypeAdapter.json_schemas([(model, "validation", TypeAdapter(model)) for model in models])
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "a call of a recording"}
    return json.dumps({**head, "$ref": "#/$defs/RecordedCall", **document}, indent=2) + "\n"
