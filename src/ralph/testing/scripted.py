"""The scripted agent: plays turns from a JSON file, chosen by a match on the prompt or by the call's number.

It is an ordinary agent program. It reads its prompt on standard input, does what the first fitting turn says
(say, write, append, delete, run, sleep), and ends with that turn's exit code.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

DONE = "<ralph>DONE</ralph>"
ANSWER_FILE = re.compile(r"to the file `([^`\n]+)`")


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the agent does in one call; `script.py` says what each field is."""

    match: str | None = None
    call: int | None = None
    times: int | None = None
    say: list[str] = field(default_factory=list)
    write: dict[str, str] = field(default_factory=dict)
    append: dict[str, str] = field(default_factory=dict)
    answer: object = None
    delete: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)
    sleep: float = 0
    then: list[str] = field(default_factory=list)
    done: bool = False
    exit: int = 0


def load(path: Path) -> list[Turn]:
    """The turns of a script, or all of its mistakes.

    Only what is odd is looked at closely: that takes several times as long as all the rest of a call.
    """
    try:
        document = json.loads(path.read_bytes())
        turns = [Turn(**turn) for turn in document["turns"]]
        if set(document) == {"turns"} and all(map(_is_plain, turns)):
            return turns
    except (OSError, ValueError, TypeError, KeyError):
        pass
    from ralph.testing import script

    return [Turn(**turn.model_dump()) for turn in script.read(path)]


def _is_plain(turn: Turn) -> bool:
    counts = (turn.call, turn.times)
    lists = (turn.say, turn.delete, turn.run, turn.then)
    tables = (turn.write, turn.append)
    return (
        (turn.match is None or (type(turn.match) is str and _compiles(turn.match)))
        and all(count is None or (type(count) is int and count >= 1) for count in counts)
        and all(type(lines) is list and all(type(line) is str for line in lines) for lines in lists)
        and all(type(table) is dict and all(type(text) is str for text in table.values()) for table in tables)
        and type(turn.sleep) in (int, float)
        and turn.sleep >= 0
        and type(turn.done) is bool
        and type(turn.exit) is int
        and 0 <= turn.exit <= 255
    )


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


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
    import hashlib

    name = hashlib.sha256(os.fsencode(path.resolve()) + path.read_bytes()).hexdigest()[:24]
    return Path.home() / ".cache" / "ralph" / "scripted" / name  # each call has a TMPDIR of its own


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
