"""Plays a recording back: the calls of each piece of work in their order, with their files, output and exit code.

It is the other half of the scripted agent, and imports as little. A recording may come from anyone, so nothing is done
before the whole call is known to be sound, and no path or link leads out of the folder in which the agent works.
"""

from __future__ import annotations

import binascii
import fcntl
import json
import os
import signal
import stat
import sys
import time

from ralph.errors import RalphError

TYPE_CHECKING = False  # `typing` takes longer to import than a call
if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS, OUTPUT, HEAD = "calls", ".output.jsonl", "recording.json"
VERSION = 1
MAX_CALL = 256 << 20
MAX_SLEEP = 3600.0
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PlayedFile:
    """A file to write (`data`) or to delete (None)."""

    def __init__(self, path: str, data: bytes | None, executable: bool) -> None:
        self.path, self.data, self.executable = path, data, executable


class PlayedCall:
    """A call that was read and checked."""

    def __init__(self, path: str, document: dict[str, object]) -> None:
        self.path = path
        self.folder = _text(document, "folder", path)
        self.subject = _text(document, "subject", path)
        self.code = _whole(document, "code", path)
        self.chunks = _whole(document, "chunks", path)
        entries = document.get("files")
        if not isinstance(entries, list):
            raise _damaged(path, "its files are not a list")
        self.files = [file for entry in entries for file in _file(path, entry)]


def found(folder: str) -> str:
    """Return the path of a recording: here, or in the project root if Ralph started the agent in another folder."""
    for place in (folder, os.path.join(os.environ.get("RALPH_ROOT") or ".", folder)):
        if os.path.isfile(os.path.join(place, HEAD)):
            return place
    raise RalphError(
        f"There is no recording in {folder}: it has no file {HEAD}.",
        remedy="Give the folder that `ralph run NAME --record DIR` made, relative to the project or absolute.",
    )


def play(folder: str, speed: float = 0.0, state: str | None = None) -> int:
    """Play the next call of the work that this call is for."""
    sys.stdin.buffer.read()  # the prompt
    folder = found(folder)
    work = os.environ.get("RALPH_TASK", "")
    known = calls_of(folder, folder_of(work))
    number = _count(state or _state_file(folder), work)
    if number >= len(known):
        count = "1 call" if len(known) == 1 else f"{len(known) or 'no'} calls"
        raise RalphError(
            f"The recording {folder} has {count} for {work or 'no task'}, and this is call {number + 1}.",
            remedy="Replay it on the commit that recording.json names, with the same plan and configuration.",
        )
    call = load(known[number])
    top = _top(call)
    _check_places(call, top)
    for file in call.files:
        _put(file, top)
    _commit(call.subject)
    _print(call, speed)
    if call.code < 0:
        _end_by(-call.code)
    return call.code


def works(folder: str) -> list[str]:
    """Return the folders with calls, one for each piece of work."""
    place = os.path.join(folder, CALLS)
    _real_folder(place)
    return sorted(os.listdir(place))


def calls_of(folder: str, work: str) -> list[str]:
    """Return the files of the calls of one piece of work, in their order."""
    place = os.path.join(folder, CALLS, work)
    if not os.path.lexists(place):
        return []
    _real_folder(os.path.join(folder, CALLS))
    _real_folder(place)
    return [os.path.join(place, name) for name in sorted(os.listdir(place)) if name.endswith(".json")]


def load(path: str) -> PlayedCall:
    """Read a call with its output, and check all of it."""
    try:
        document = json.loads(_read(path))
    except ValueError:
        raise _damaged(path, "it is not valid JSON, so it may be cut off") from None
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise _damaged(path, f"it is not of version {VERSION}")
    call = PlayedCall(path, document)
    count = sum(1 for _ in _output(call))
    if count != call.chunks:
        raise _damaged(_output_file(path), f"it has {count} of {call.chunks} lines, so it is cut off")
    return call


def folder_of(work: str) -> str:
    """Return the name of the folder with the calls of a piece of work."""
    plain = (letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in work)
    return "".join(plain).lstrip(".") or "_"


def _file(call: str, entry: object) -> list[PlayedFile]:
    if not isinstance(entry, dict):
        raise _damaged(call, "a file is not an object")
    path = _text(entry, "path", call)
    parts = path.split("/")
    is_inside = bool(path) and not path.startswith("/") and not {"", ".", ".."} & set(parts) and "\0" not in path
    if not is_inside or ".git" in (part.lower() for part in parts):
        raise _damaged(call, f"the path {path!r} does not name a file in the project")
    if entry.get("left_out"):
        return []
    if entry.get("change") == "deleted":
        return [PlayedFile(path, None, executable=False)]
    if entry.get("change") not in ("added", "changed"):
        raise _damaged(call, f"{path} was neither added, changed nor deleted")
    return [PlayedFile(path, _content(entry, call), executable=entry.get("executable") is True)]


def _content(entry: dict[str, object], path: str) -> bytes:
    text, encoded = entry.get("text"), entry.get("base64")
    if isinstance(text, str) and encoded is None:
        return text.encode(errors="surrogatepass")
    if isinstance(encoded, str) and text is None:
        try:
            return binascii.a2b_base64(encoded, strict_mode=True)
        except ValueError:
            pass
    raise _damaged(path, "a content is neither text nor Base64")


def _output(call: PlayedCall) -> Iterator[tuple[float, bool, bytes]]:
    """Yield each piece of output: when it came, whether on standard error, and the piece."""
    path = _output_file(call.path)
    for line in _read(path).splitlines(keepends=True):
        try:
            chunk = json.loads(line)
        except ValueError:
            raise _damaged(path, "a line is not valid JSON, so it may be cut off") from None
        is_sound = isinstance(chunk, dict) and chunk.get("to") in ("out", "err") and line.endswith(b"\n")
        at = chunk.get("at") if is_sound else None
        if not isinstance(at, int | float) or not 0 <= at < 1e9:
            raise _damaged(path, "a line is not a piece of output")
        yield float(at), chunk["to"] == "err", _content(chunk, path)


def _print(call: PlayedCall, speed: float) -> None:
    began = time.monotonic()
    for at, is_error, data in _output(call):
        wait = at / speed - (time.monotonic() - began) if speed else 0.0
        if wait > 0:
            time.sleep(min(wait, MAX_SLEEP))
        stream = sys.stderr.buffer if is_error else sys.stdout.buffer
        stream.write(data)
        stream.flush()


def _top(call: PlayedCall) -> str:
    """Return the top of the working copy, in which the agent may have begun in a folder below."""
    here = os.path.realpath(".")
    if not call.folder:
        return here
    if not f"/{here}".endswith(f"/{call.folder}") or {"..", "."} & set(call.folder.split("/")):
        raise RalphError(
            f"The recording was made in the folder {call.folder} of a repository, and this is {here}.",
            remedy="Replay it in the same folder of a clone.",
        )
    return here[: -len(call.folder) - 1]


def _check_places(call: PlayedCall, top: str) -> None:
    """Refuse to write or delete through a link, which may lead anywhere."""
    for file in call.files:
        place = top
        for part in os.path.dirname(file.path).split("/"):
            place = os.path.join(place, part) if part else place
            if os.path.islink(place):
                raise _damaged(call.path, f"{file.path} is behind the link {os.path.relpath(place, top)}")


def _put(file: PlayedFile, top: str) -> None:
    path = os.path.join(top, file.path)
    if os.path.lexists(path):
        os.unlink(path)
    if file.data is None:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o755 if file.executable else 0o644), "wb") as written:
        written.write(file.data)


def _commit(subject: str) -> None:
    """Make a commit with the subject of the agent's own; what is in it does not matter, for Ralph takes the files."""
    if subject:
        argv = ["git", "commit", "--quiet", "--allow-empty", "--no-verify", "--message", subject]
        git = os.posix_spawnp("git", argv, os.environ)
        os.waitpid(git, 0)


def _end_by(number: int) -> None:
    sys.stdout.flush()
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _count(state: str, work: str) -> int:
    """Return how many calls this work had before, and add this one; a lock serializes parallel calls."""
    os.makedirs(os.path.dirname(state) or ".", exist_ok=True)
    with open(state, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        before = sum(line.rstrip("\n") == work for line in file)
        file.write(f"{work}\n")
    return before


def _state_file(folder: str) -> str:
    """Return the file that counts the calls of one run: each run plays the recording from its beginning."""
    import hashlib

    key = f"{os.path.realpath(folder)}\0{os.environ.get('RALPH_RUN', '')}"
    name = hashlib.sha256(os.fsencode(key)).hexdigest()[:24]
    return os.path.expanduser(f"~/.cache/ralph/scripted/{name}")


def _read(path: str) -> bytes:
    try:
        with os.fdopen(os.open(path, FILE_FLAGS), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _damaged(path, "it is not a plain file")
            data = file.read(MAX_CALL + 1)
    except OSError as error:
        why = "it is a link" if os.path.islink(path) else error.strerror or "it cannot be read"
        raise _damaged(path, why) from None
    if len(data) > MAX_CALL:
        raise _damaged(path, "it is too large")
    return data


def _real_folder(path: str) -> None:
    if os.path.islink(path) or not os.path.isdir(path):
        raise _damaged(path, "it is not a folder")


def _output_file(path: str) -> str:
    return path[: -len(".json")] + OUTPUT


def _text(document: dict[str, object], key: str, path: str) -> str:
    value = document.get(key, "")
    if not isinstance(value, str):
        raise _damaged(path, f"{key} is not text")
    return value


def _whole(document: dict[str, object], key: str, path: str) -> int:
    value = document.get(key)
    if type(value) is not int or not -64 <= value < 1 << 40:
        raise _damaged(path, f"{key} is not a number")
    return value


def _damaged(path: str, why: str) -> RalphError:
    return RalphError(
        f"The recording cannot be played: {path}: {why}.",
        remedy="Nothing was changed. Get the recording again, or record the run again.",
    )
