"""Recordings are played back as they were, and a recording that is damaged or hostile changes nothing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralph.errors import RalphError
from ralph.testing import recording, replay

CALL = {
    "version": 1, "number": 1, "work": "US-001", "kind": "task", "attempt": 1, "step": "agent", "turn": 1,
    "role": "executor", "provider": {"command": "x", "args": [], "dialect": "text"}, "folder": "", "prompt": "p",
    "context": "", "began": "2026-01-01T00:00:00.000Z", "seconds": 1.5, "how": "exited", "code": 7, "chunks": 2,
    "subject": "", "files": [],
}  # fmt: skip
OUTPUT = '{"at":0.0,"to":"out","text":"hello\\n"}\n{"at":0.2,"to":"err","base64":"/wA="}\n'
WRITTEN = {"path": "a/b.txt", "change": "added", "size": 1, "text": "b"}


class Recorded:
    """A recording with one call, and a folder in which it is played."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.work = folder / "recorded", folder / "work"
        self.calls = self.folder / "calls" / "US-001"
        self.calls.mkdir(parents=True)
        self.work.mkdir()
        head = {
            "version": 1,
            "ralph": "1",
            "run": "r",
            "target": "t",
            "workflow": "feature",
            "commit": "c",
            "began": "b",
        }
        (self.folder / "recording.json").write_text(json.dumps(head))
        self.call()

    def call(self, *, output: str = OUTPUT, **changed: Any) -> None:
        (self.calls / "00001-US-001-1.agent.json").write_text(json.dumps({**CALL, **changed}))
        (self.calls / "00001-US-001-1.agent.output.jsonl").write_text(output)

    def play(self, speed: float = 0.0) -> int:
        return replay.play(str(self.folder), speed, str(self.folder.parent / "state"))


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    made = Recorded(tmp_path)
    monkeypatch.chdir(made.work)
    monkeypatch.setenv("RALPH_TASK", "US-001")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"prompt")))
    return made


def test_output_files_and_code_are_those_of_the_call(
    recorded: Recorded, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (recorded.work / "old.txt").write_text("old")
    (recorded.work / "out.txt").symlink_to(recorded.folder / "recording.json")
    files = [
        {**WRITTEN, "executable": True},
        {"path": "c.bin", "change": "changed", "base64": "AP8="},
        {"path": "old.txt", "change": "deleted"},
        {"path": "gone.txt", "change": "deleted"},
        {"path": "out.txt", "change": "changed", "text": "no link any more"},
        {"path": "huge.bin", "change": "added", "size": 10**9, "left_out": "it is too large"},
    ]
    recorded.call(files=files)
    before = (recorded.folder / "recording.json").read_text()

    assert recorded.play() == 7

    assert capfdbinary.readouterr() == (b"hello\n", b"\xff\0")
    assert (recorded.work / "a/b.txt").read_text() == "b"
    assert os.access(recorded.work / "a/b.txt", os.X_OK)
    assert (recorded.work / "c.bin").read_bytes() == b"\0\xff"
    assert (recorded.work / "out.txt").read_text() == "no link any more"
    assert (recorded.folder / "recording.json").read_text() == before
    assert sorted(path.name for path in recorded.work.iterdir()) == ["a", "c.bin", "out.txt"]
    assert recording.check(recorded.folder) == 1


def test_a_recording_that_is_over_says_so(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded.play()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(RalphError, match="has 1 call for US-001, and this is call 2"):
        recorded.play()
    monkeypatch.setenv("RALPH_TASK", "../../US-9")
    with pytest.raises(RalphError, match=r"has no calls for \.\./\.\./US-9, and this is call 1"):
        recorded.play()


def test_timing_can_be_played_too(recorded: Recorded) -> None:
    began = time.monotonic()
    recorded.play(speed=1.0)
    assert time.monotonic() - began >= 0.2


def test_a_call_that_a_signal_ended_ends_by_it(recorded: Recorded) -> None:
    recorded.call(code=-9)
    code = "import sys; from ralph.cli.entry import main; main()"
    argv = [sys.executable, "-c", code, "scripted", "--replay", str(recorded.folder), "--", "--model", "x"]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "HOME": str(recorded.work)}
    )
    assert (done.returncode, done.stdout) == (-9, b"hello\n")


def linked_call(recorded: Recorded) -> None:
    path = next(recorded.calls.glob("*.json"))
    path.rename(recorded.folder / "elsewhere.json")
    path.symlink_to(recorded.folder / "elsewhere.json")


def linked_folder(recorded: Recorded) -> None:
    recorded.calls.rename(recorded.folder / "elsewhere")
    recorded.calls.symlink_to(recorded.folder / "elsewhere")


def link_in_project(recorded: Recorded) -> None:
    (recorded.work / "a").symlink_to(recorded.folder)
    recorded.call(files=[WRITTEN])


def cut_call(recorded: Recorded) -> None:
    path = next(recorded.calls.glob("*.json"))
    path.write_bytes(path.read_bytes()[:-10])


def with_file(**entry: object) -> Callable[[Recorded], None]:
    return lambda recorded: recorded.call(files=[WRITTEN, {**WRITTEN, **entry}])


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (cut_call, "it is not valid JSON, so it may be cut off"),
        (lambda r: r.call(output=OUTPUT[:-5]), "a line is not valid JSON, so it may be cut off"),
        (lambda r: r.call(output=OUTPUT.splitlines(keepends=True)[0]), "it has 1 of 2 lines, so it is cut off"),
        (lambda r: next(r.calls.glob("*.jsonl")).unlink(), "No such file or directory"),
        (lambda r: r.call(output=OUTPUT.replace("0.2", "-1")), "a line is not a piece of output"),
        (lambda r: r.call(version=2), "it is not of version 1"),
        (lambda r: r.call(code="0"), "code is not a number"),
        (lambda r: r.call(files={}), "its files are not a list"),
        (with_file(path="../out.txt"), "the path '../out.txt' does not name a file in the project"),
        (with_file(path="a/../../out.txt"), "the path 'a/../../out.txt' does not name"),
        (with_file(path="/tmp/out.txt"), "the path '/tmp/out.txt' does not name"),
        (with_file(path=".git/hooks/pre-commit"), "the path '.git/hooks/pre-commit' does not name"),
        (with_file(path="a//b"), "the path 'a//b' does not name"),
        (with_file(path=""), "the path '' does not name"),
        (with_file(text=None), "a content is neither text nor Base64"),
        (with_file(text=None, base64="%%"), "a content is neither text nor Base64"),
        (with_file(change="linked"), "a/b.txt was neither added, changed nor deleted"),
        (linked_call, "it is a link"),
        (linked_folder, "it is not a folder"),
        (link_in_project, "a/b.txt is behind the link a"),
        (lambda r: r.call(folder="sub"), "was made in the folder sub of a repository"),
    ],
)
def test_a_damaged_or_hostile_recording_is_refused_and_nothing_is_changed(
    recorded: Recorded, spoil: Callable[[Recorded], None], why: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    spoil(recorded)
    before = sorted(recorded.work.parent.rglob("*"))
    with pytest.raises(RalphError) as refused:
        recorded.play()
    assert why in refused.value.what
    assert refused.value.remedy
    assert {path.name for path in set(recorded.work.parent.rglob("*")) - set(before)} <= {"state"}
    assert capfdbinary.readouterr().out == b""


def test_the_schema_describes_all_three_files() -> None:
    document = json.loads(recording.schema_text())
    assert {"RecordedCall", "RecordingHead", "RecordedChunk", "RecordedFile"} <= document["$defs"].keys()
