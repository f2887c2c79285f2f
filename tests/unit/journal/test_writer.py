"""A journal: one line for each event, whatever is in it and whatever happens to its folder."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.journal.decode import JournalEntry, decode
from ralph.journal.encode import MAX_LINE, encode
from ralph.journal.events import AgentSpoke, AttemptEnded, Event, GateEnded, Noted, RunEnded, Undone
from ralph.journal.reader import events
from ralph.journal.writer import FILE, Journal, new_run_id
from ralph.plan.model import GateResult
from ralph.plan.work import Ending, Usage, Verdict, WorkKind
from ralph.process.redaction import Secrets

GATE = GateResult(name="t", command="make", passed=False, seconds=1.5, code=2, output="bad\nvery bad")
ATTEMPT = AttemptEnded(
    work="US-001",
    kind=WorkKind.TASK,
    attempt=2,
    verdict=Verdict.FAILED,
    reason="exit code 7",
    base="b0" * 20,
    commit="c1",
    ref="refs/x",
    seconds=12.5,
    usage=Usage(calls=1, cost_usd=0.25, model="opus"),
    gates=(GATE,),
    reopened=("US-002",),
)


def line(event: Event, target: str = "auth", seq: int = 1) -> str:
    """An event as a journal has it."""
    return encode(event, seq=seq, run="20260101-000000-00000000", target=target).decode().rstrip("\n")


def test_an_event_is_written_with_all_that_it_says_behind_an_envelope(tmp_path: Path) -> None:
    with Journal(tmp_path / "20260101-000000-00000000", target="auth") as journal:
        journal.emit(Noted(text="one"))
        journal.emit(ATTEMPT)
    text = (tmp_path / "20260101-000000-00000000" / FILE).read_text().splitlines()[1]
    found = json.loads(text)
    assert list(found)[:8] == ["v", "seq", "at", "run", "target", "work", "attempt", "event"]
    envelope = {"v": 1, "seq": 2, "run": "20260101-000000-00000000", "target": "auth", "work": "US-001", "attempt": 2}
    assert envelope.items() <= found.items()
    assert found["event"] == "attempt_ended"
    assert found["verdict"] == "failed"
    assert found["kind"] == "task"
    assert found["usage"] == {
        "input_tokens": None,
        "output_tokens": None,
        "cache_read_tokens": None,
        "cache_write_tokens": None,
        "cost_usd": 0.25,
        "calls": 1,
        "unpriced": 0,
        "estimated": 0,
        "model": "opus",
    }
    assert found["gates"][0]["output"] == "bad\nvery bad"
    assert found["reopened"] == ["US-002"]
    assert datetime.fromisoformat(str(found["at"])).utcoffset().total_seconds() == 0


def text_of(entry: JournalEntry) -> str:
    assert isinstance(entry.event, Noted)
    return entry.event.text


@given(text=st.text() | st.text(st.characters(categories=["Cs", "Cc", "Zl", "Zp"])))
def test_any_text_stays_on_its_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with Journal(folder) as journal:
        journal.emit(Noted(text=text))
        journal.emit(Noted(text="next"))
    first, second = events(folder, "noted")
    assert text_of(first) == text.encode(errors="replace").decode()
    assert text_of(second) == "next"


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (Noted(text="x"), "noted"),
        (GateEnded(result=GATE), "gate_ended"),
        (Undone(work="a", attempt=1, paths=(), kept_in=""), "undone"),
    ],
)
def test_an_event_is_called_after_its_class(event: Event, name: str) -> None:
    assert json.loads(line(event))["event"] == event.name() == name


def test_whoever_listens_hears_every_event_with_its_line_and_only_what_matters_is_kept(tmp_path: Path) -> None:
    heard: list[tuple[Event, str]] = []
    with Journal(tmp_path) as journal:
        journal.listen(lambda event, text: heard.append((event, text)))
        for event in (Noted(text="one"), AgentSpoke(work="US-001", attempt=1, text="chatter"), Noted(text="two")):
            journal.emit(event)
    assert [event for event, _ in heard] == [
        Noted(text="one"),
        AgentSpoke(work="US-001", attempt=1, text="chatter"),
        Noted(text="two"),
    ]
    first, chatter, second = (text for _, text in heard)
    assert (tmp_path / FILE).read_text() == f"{first}\n{second}\n"
    assert chatter == ""
    assert [text_of(found) for found in events(tmp_path)] == ["one", "two"]


def test_lines_are_cleaned_before_they_are_written(tmp_path: Path) -> None:
    with Journal(tmp_path, lambda text: text.replace("hunter22", "[secret]")) as journal:
        journal.emit(Noted(text="my password is hunter22"))
    assert "hunter22" not in (tmp_path / FILE).read_text()
    assert "[secret]" in (tmp_path / FILE).read_text()


def test_an_event_is_on_disk_as_soon_as_it_happened(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.emit(Noted(text="one"))
        assert [text_of(found) for found in events(tmp_path)] == ["one"]


def test_a_journal_that_was_swept_away_is_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "run"
    with Journal(folder) as journal:
        journal.emit(Noted(text="one"))
        for text in ("two", "three"):
            shutil.rmtree(tmp_path / "logs")
            journal.emit(Noted(text=text))
    assert [text_of(found) for found in events(folder)] == ["one", "two", "three"]


def test_the_digest_is_that_of_the_lines_in_the_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "run") as journal:
        path = tmp_path / "run" / FILE

        def is_right() -> bool:
            data = path.read_bytes()
            return journal.digest == (hashlib.sha256(data).hexdigest(), len(data))

        assert journal.digest == (hashlib.sha256(b"").hexdigest(), 0)
        journal.emit(Noted(text="one"))
        journal.emit(Noted(text="two"))
        assert is_right()
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])  # an agent cuts it
        journal.emit(Noted(text="three"))
        assert is_right()


def test_what_others_add_to_a_journal_or_put_in_its_place_does_not_stay(tmp_path: Path) -> None:
    folder, mine = tmp_path / ".ralph" / "logs" / "run", tmp_path / "mine.txt"
    mine.write_text("a person's")
    path = folder / FILE
    with Journal(folder) as journal:
        journal.emit(Noted(text="one"))
        with path.open("a") as file:
            file.write(line(Noted(text="forged")) + "\n")
        journal.emit(Noted(text="two"))
        path.unlink()
        path.write_text(line(Noted(text="forged")) + "\n")
        journal.emit(Noted(text="three"))
        path.unlink()
        path.symlink_to(mine)
        journal.emit(Noted(text="four"))
    assert [text_of(found) for found in events(folder)] == ["one", "two", "three", "four"]
    assert mine.read_text() == "a person's"


@pytest.mark.parametrize("link", [".ralph/logs", ".ralph/logs/run"])
def test_a_journal_is_not_written_into_a_folder_that_is_a_link(tmp_path: Path, link: str) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (tmp_path / link).parent.mkdir(parents=True)
    (tmp_path / link).symlink_to(away)
    with Journal(tmp_path / ".ralph" / "logs" / "run") as journal:
        journal.emit(Noted(text="the first event"))
    assert list(away.iterdir()) == []
    assert [text_of(found) for found in events(tmp_path / ".ralph" / "logs" / "run")] == ["the first event"]


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    with pytest.raises(RalphError, match="could not create"), Journal(tmp_path / "logs" / "run") as journal:
        journal.emit(Noted(text="the first event"))


def test_run_ids_sort_by_time_and_are_not_the_same_twice() -> None:
    ids = [new_run_id() for _ in range(50)]
    assert len(set(ids)) == 50
    assert ids[0].rpartition("-")[0] <= ids[-1].rpartition("-")[0]


def test_an_unknown_cost_is_written_as_unknown() -> None:
    ended = RunEnded(
        run="r",
        target="auth",
        workflow="feature",
        ending=Ending.DONE,
        reason="",
        seconds=1,
        tasks=1,
        passed=1,
        blocked=0,
        attempts=1,
        verified=True,
        gates=1,
        usage=Usage(calls=1, unpriced=1),
    )
    assert json.loads(line(ended))["usage"]["cost_usd"] is None


def test_numbers_have_one_order_and_no_gap_also_from_threads(tmp_path: Path) -> None:
    heard: list[str] = []
    with Journal(tmp_path) as journal, ThreadPoolExecutor(8) as pool:
        journal.listen(lambda _, text: heard.append(text))
        list(pool.map(lambda number: journal.emit(Noted(text=str(number))), range(400)))
    lines = (tmp_path / FILE).read_text().splitlines()
    assert [json.loads(text)["seq"] for text in lines] == list(range(1, 401))
    assert heard == lines


def test_what_a_listener_adds_comes_after_what_it_heard(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.listen(lambda event, _: journal.emit(Noted(text="more")) if event == Noted(text="one") else None)
        journal.emit(Noted(text="one"))
        journal.emit(Noted(text="two"))
    assert [(found.seq, text_of(found)) for found in events(tmp_path)] == [(1, "one"), (2, "more"), (3, "two")]


def test_an_event_that_could_not_be_written_takes_no_number_and_leaves_no_half_line(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with Journal(tmp_path) as journal:
        journal.emit(Noted(text="one"))
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / FILE).stat().st_size + 50, before[1]))
        try:
            with pytest.raises(RalphError, match="could not be written"):
                journal.emit(Noted(text="two"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        journal.emit(Noted(text="three"))
    assert [(found.seq, text_of(found)) for found in events(tmp_path)] == [(1, "one"), (2, "three")]


def test_an_event_that_is_huge_is_cut_so_that_it_can_be_read(tmp_path: Path) -> None:
    huge = Undone(work="a", attempt=1, paths=tuple(f"{number}/" + "x" * 5_000 for number in range(500)), kept_in="k")
    text = line(huge)
    assert len(text) < MAX_LINE
    entry = decode(text)
    assert entry
    assert isinstance(entry.event, Undone)
    assert entry.event.kept_in == "k"
    assert entry.event.paths[3].startswith("3/xxx")


def test_emitting_an_event_is_cheap(tmp_path: Path) -> None:
    """By processor time, with slack for a busy machine; `python -m bench journal` holds the limit of 50 µs."""
    secrets = Secrets(["hunter2222", "correct-horse"]).text
    with Journal(tmp_path, secrets) as journal:
        spent = []
        for _ in range(400):
            began = time.thread_time()
            journal.emit(GateEnded(work="US-001", attempt=1, result=GATE))
            spent.append(time.thread_time() - began)
    assert median(spent) < 100e-6
