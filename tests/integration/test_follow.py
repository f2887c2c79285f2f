"""A journal that another process writes, read as it is written."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psutil
import pytest

from ralph.journal import watch
from ralph.journal.decode import JournalEntry
from ralph.journal.encode import encode
from ralph.journal.events import Noted, RunEnded
from ralph.journal.follow import JournalFollower, follow, follow_async
from ralph.journal.reader import FILE
from ralph.journal.writer import Journal
from ralph.plan.usage import Usage
from ralph.plan.work import Ending
from tests.conftest import wait_for

NAME = "20260101-000000-00000001"
WRITER = """
import sys, time
from pathlib import Path
from ralph.journal.events import Noted
from ralph.journal.writer import Journal
with Journal(Path(sys.argv[1]), target="auth") as journal:
    for line in sys.stdin:
        text = line.strip()
        journal.emit(Noted(text=text.replace("NOW", repr(time.monotonic()))))
        print(text, flush=True)
"""


class Writer:
    """A run in another process, as far as its journal goes: a line on its standard input is an event."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, *texts: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        for text in texts:
            self.process.stdin.write(f"{text}\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline().strip() == text

    def end(self) -> None:
        self.process.communicate(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    made = Writer(tmp_path / ".ralph/logs" / NAME)
    yield made
    if made.process.poll() is None:
        made.kill()


class Heard:
    """Follows in a thread, so that a test can wait for what it hears."""

    def __init__(self, folder: Path, since: int = 0) -> None:
        self.entries: list[JournalEntry] = []
        self.at: list[float] = []
        self._thread = threading.Thread(target=self._follow, args=(folder, since), daemon=True)
        self._thread.start()

    def _follow(self, folder: Path, since: int) -> None:
        for entry in follow(folder, since):
            self.at.append(time.monotonic())
            self.entries.append(entry)

    @property
    def texts(self) -> list[str]:
        return [entry.event.text for entry in self.entries if isinstance(entry.event, Noted)]

    def wait(self, count: int) -> None:
        wait_for(lambda: len(self.entries) >= count, what=f"{count} events were seen")

    def end(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive(), "it still waits"


@pytest.fixture(params=["woken by the kernel", "by time"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "by time":
        monkeypatch.setattr(watch.sys, "platform", "another")
    return str(request.param)


def ended() -> RunEnded:
    return RunEnded(
        run=NAME, target="auth", workflow="feature", ending=Ending.DONE, reason="", seconds=1, tasks=1, passed=1,
        blocked=0, attempts=1, verified=True, gates=1, usage=Usage(),
    )  # fmt: skip


def test_an_event_of_another_process_is_seen_within_a_tenth_of_a_second(writer: Writer, how: str) -> None:
    writer.say("first")
    heard = Heard(writer.folder)
    heard.wait(1)
    for count in range(2, 22):
        writer.say("NOW")
        heard.wait(count)
    writer.end()
    heard.end()
    late = [at - float(text) for at, text in zip(heard.at[1:], heard.texts[1:], strict=True)]
    assert min(late) >= 0
    assert median(late) < 0.1
    assert [entry.seq for entry in heard.entries] == list(range(1, 22))
    assert {entry.target for entry in heard.entries} == {"auth"}


def test_a_journal_that_does_not_exist_yet_is_waited_for(tmp_path: Path, how: str) -> None:
    heard = Heard(tmp_path / ".ralph/logs" / NAME)
    writer = Writer(tmp_path / ".ralph/logs" / NAME)
    writer.say("one", "two")
    heard.wait(2)
    writer.end()
    heard.end()
    assert heard.texts == ["one", "two"]


def test_a_run_that_never_comes_is_not_waited_for(tmp_path: Path) -> None:
    assert list(follow(tmp_path / NAME, alive=lambda: False)) == []


def test_only_what_comes_after_a_number_is_told(writer: Writer) -> None:
    writer.say("one", "two", "three")
    heard = Heard(writer.folder, since=2)
    heard.wait(1)
    writer.say("four")
    writer.end()
    heard.end()
    assert heard.texts == ["three", "four"]


def test_a_run_that_is_killed_is_not_waited_for(writer: Writer, how: str) -> None:
    writer.say("one")
    heard = Heard(writer.folder)
    heard.wait(1)
    writer.kill()
    heard.end()
    assert heard.texts == ["one"]


def test_a_run_that_has_ended_is_told_to_its_end(tmp_path: Path) -> None:
    with Journal(tmp_path / NAME) as journal:
        for event in (Noted(text="one"), ended(), Noted(text="and one more thing")):
            journal.emit(event)
    assert [entry.name for entry in follow(tmp_path / NAME)] == ["noted", "run_ended", "noted"]


def test_a_line_that_is_written_in_two_parts_is_seen_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / NAME / FILE
    path.parent.mkdir()
    first, second = (encode(Noted(text=text), seq=n, run=NAME, target="") for n, text in ((1, "one"), (2, "zwölf")))
    middle = second.index("ö".encode()) + 1  # in the middle of a character
    with path.open("wb", buffering=0) as file, JournalFollower(path.parent) as run:
        file.write(first + second[:middle])
        assert [entry.seq for entry in run.news()] == [1]
        assert run.news() == []
        file.write(second[middle:])
        assert [entry.event for entry in run.news()] == [Noted(text="zwölf")]


def test_a_journal_that_was_swept_away_is_followed_where_it_is_written_again(writer: Writer, how: str) -> None:
    writer.say("one", "two")
    heard = Heard(writer.folder)
    heard.wait(2)
    shutil.rmtree(writer.folder.parent)
    writer.say("three", "four")
    writer.end()
    heard.end()
    assert heard.texts == ["one", "two", "three", "four"]


@pytest.mark.parametrize("forged", [b"x\n", encode(Noted(text="forged"), seq=2, run=NAME, target="auth")])
def test_lines_that_an_agent_added_do_not_hide_what_ralph_writes_in_their_place(tmp_path: Path, forged: bytes) -> None:
    with Journal(tmp_path / NAME) as journal, JournalFollower(tmp_path / NAME) as run:
        journal.emit(Noted(text="one"))
        seen = run.news()
        with (tmp_path / NAME / FILE).open("ab") as file:
            file.write(forged)
        seen += run.news()
        journal.emit(Noted(text="two, which is longer than the line that was in its place" * 5))
        journal.emit(Noted(text="three"))
        seen += run.news()
        genuine = [entry.event for entry in seen if entry.event != Noted(text="forged")]
        assert [event.text[:5] for event in genuine if isinstance(event, Noted)] == ["one", "two, ", "three"]
        assert not run.is_over()


def test_lines_that_are_no_events_are_counted(tmp_path: Path) -> None:
    path = tmp_path / NAME / FILE
    path.parent.mkdir()
    good = [encode(Noted(text=str(n)), seq=n, run=NAME, target="") for n in (1, 2)]
    path.write_bytes(b"garbage\n" + good[0] + b'{"a": 1}\n' + b"x" * (3 << 20) + b"\n" + good[1])
    with JournalFollower(path.parent) as run:
        assert [entry.seq for entry in run.news()] == [1, 2]
        assert run.lines.skipped == 3


def test_readers_do_not_keep_a_run_from_holding_its_journal(tmp_path: Path) -> None:
    """Readers try all the time whether the writer lives; none of them ever takes it for dead."""
    folder = tmp_path / NAME
    with Journal(folder) as journal:
        journal.emit(Noted(text="one"))
        stop = threading.Event()
        wrong: list[bool] = []

        def look() -> None:
            with JournalFollower(folder) as run:
                while not stop.is_set():
                    run.news()
                    wrong.extend([True] if run.is_over() else [])

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(30):
            (folder / FILE).unlink()
            journal.emit(Noted(text=str(number)))
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_program_that_does_other_things_can_follow_too(writer: Writer, how: str) -> None:
    async def listen() -> list[str]:
        found, beats = [], 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0)
                beats += 1

        beating = asyncio.create_task(beat())
        async for entry in follow_async(writer.folder):
            assert isinstance(entry.event, Noted)
            found.append(entry.event.text)
            if len(found) == 1:
                await asyncio.to_thread(writer.say, "two")
            elif len(found) == 2:
                await asyncio.to_thread(writer.kill)
        beating.cancel()
        assert beats > 0
        return found

    writer.say("one")
    assert asyncio.run(listen()) == ["one", "two"]


def test_following_leaves_no_file_open(tmp_path: Path) -> None:
    with Journal(tmp_path / NAME) as journal:
        journal.emit(ended())
    before = psutil.Process().num_fds()
    list(follow(tmp_path / NAME))
    assert psutil.Process().num_fds() == before
