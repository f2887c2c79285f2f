"""The scripted agent: plays turns from a JSON file, chosen by a match on the prompt or by the call's number.

It is an ordinary agent program. It reads its prompt on standard input, does what the first matching turn says
(say, write, append, delete, run, sleep), and exits with that turn's code. Loops start it for every call, so it
imports little: `dataclasses`, `pathlib` and `subprocess` would take as long as the call itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sys
import time

DONE = "<ralph>DONE</ralph>"
ANSWER_FILE = re.compile(r"to the file `([^`\n]+)`")
Name = str | os.PathLike[str]
NO_TURN: dict[str, object] = {
    **dict.fromkeys(("match", "call", "times", "answer")),
    **{name: [] for name in ("say", "delete", "run", "then")},
    **{name: {} for name in ("write", "append")},
    **{"sleep": 0, "done": False, "exit": 0},
}


class PlayedTurn:
    """What the agent does in one call; `script.py` says what each field is."""

    match: str | None
    call: int | None
    times: int | None
    say: list[str]
    write: dict[str, str]
    append: dict[str, str]
    answer: object
    delete: list[str]
    run: list[str]
    sleep: float
    then: list[str]
    done: bool
    exit: int

    def __init__(self, **given: object) -> None:
        if not given.keys() <= NO_TURN.keys():
            raise TypeError("unknown fields")
        self.__dict__.update(NO_TURN | given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlayedTurn) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # its lists can change


def found(script: str) -> str | None:
    """Return the path of a script: here, or in the project root if Ralph started the agent in another folder."""
    places = (script, os.path.join(os.environ.get("RALPH_ROOT") or ".", script))
    return next(filter(os.path.isfile, places), None)


def load(path: Name) -> list[PlayedTurn]:
    """Return the turns of a script, or raise an error that lists all of its mistakes.

    Pydantic checks only an unusual script: the import takes several times as long as the rest of a call.
    """
    try:
        with open(path, "rb") as file:
            document = json.load(file)
        turns = [PlayedTurn(**turn) for turn in document["turns"]]
        if set(document) == {"turns"} and all(map(_is_simple, turns)):
            return turns
    except (OSError, ValueError, TypeError, KeyError):
        pass
    from pathlib import Path

    from ralph.testing import script

    return [PlayedTurn(**turn.model_dump()) for turn in script.read(Path(path))]


def _is_simple(turn: PlayedTurn) -> bool:
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


def play(path: Name, state: Name | None = None) -> int:
    """Play the turn that matches this call."""
    prompt = sys.stdin.read()
    turns = load(path)
    chosen = choose(turns, prompt, _count(_state_file(path, state), turns, prompt))
    if chosen is None:
        sys.stderr.write("scripted agent: no turn matches this call\n")
        return 1
    return _perform(turns[chosen], prompt)


def choose(turns: list[PlayedTurn], prompt: str, history: list[int | None]) -> int | None:
    """Return the first turn that matches, given the turns that earlier calls played (None: no turn matched)."""
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


def reset(path: Name, state: Name | None = None) -> None:
    _remove(_state_file(path, state))


def _count(state: Name, turns: list[PlayedTurn], prompt: str) -> list[int | None]:
    """Return the earlier calls and record this one; a lock serializes parallel calls."""
    _make_folder_of(state)
    with open(state, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        history: list[int | None] = [int(line) if line.strip().isdigit() else None for line in file]
        chosen = choose(turns, prompt, history)
        file.write(f"{'-' if chosen is None else chosen}\n")
    return history


def _state_file(path: Name, state: Name | None) -> Name:
    if state:
        return state
    import hashlib

    of_project = os.path.join(os.environ.get("RALPH_ROOT") or ".", path)  # one count for all working copies
    with open(path, "rb") as file:
        name = hashlib.sha256(os.fsencode(os.path.realpath(of_project)) + file.read()).hexdigest()[:24]
    caches = os.environ.get("XDG_CACHE_HOME", "")
    caches = caches if os.path.isabs(caches) else os.path.expanduser("~/.cache")
    return f"{caches}/ralph/scripted/{name}"  # each call has a TMPDIR of its own


def _perform(turn: PlayedTurn, prompt: str) -> int:
    _say(turn.say)
    _answer(turn, prompt)
    for name, text in turn.write.items():
        _write(name, text)
    for name, text in turn.append.items():
        _write(name, text, "a")
    for name in turn.delete:
        _remove(name)
    for command in turn.run:
        _run(command)
    time.sleep(turn.sleep)
    _say([*turn.then, *([DONE] if turn.done else [])])
    return turn.exit


def _answer(turn: PlayedTurn, prompt: str) -> None:
    named = ANSWER_FILE.findall(prompt)
    if turn.answer is not None and named:
        _write(named[-1], turn.answer if isinstance(turn.answer, str) else json.dumps(turn.answer, indent=2))


def _write(name: str, text: str, mode: str = "w") -> None:
    if mode == "w":
        _make_folder_of(name)
    with open(name, mode, encoding="utf-8") as file:
        file.write(text)


def _make_folder_of(name: Name) -> None:
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)


def _remove(name: Name) -> None:
    try:
        os.unlink(name)
    except FileNotFoundError:
        pass


def _run(command: str) -> None:
    """Run a command in a shell, which never outlives this process."""
    ignored_by_python = (signal.SIGPIPE, signal.SIGXFSZ)
    shell = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", command], os.environ, setsigdef=ignored_by_python)
    try:
        os.waitpid(shell, 0)
    except BaseException:
        os.kill(shell, signal.SIGKILL)
        os.waitpid(shell, 0)
        raise


def _say(lines: list[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
