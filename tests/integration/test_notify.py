"""Notifications with real programs and a real server: whatever these do, nothing waits for long and no secret leaks."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.config_notify import NotifySettings
from ralph.errors import RalphError
from ralph.journal.events import AgentSpoke, RunEnded, TaskBlocked
from ralph.notify import channels
from ralph.notify.channels import Delivery, NotifyChannel
from ralph.notify.message import Message, joined, trial_message
from ralph.notify.news import NewsItem, NewsReader
from ralph.notify.queue import NotificationQueue, SendingPace
from ralph.notify.tokens import Permit, TokenStore
from ralph.plan.usage import Usage
from ralph.plan.work import Ending
from ralph.workspace import Workspace
from tests.integration.notify_server import NotifyServer

pytestmark = pytest.mark.usefixtures("nobody_left")
T = TypeVar("T")
MESSAGE = trial_message("shop")
SHORT = 1.0


@pytest.fixture
def server() -> Iterator[NotifyServer]:
    with NotifyServer().running() as found:
        yield found


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = tmp_path / "shop"
    root.mkdir()
    return Workspace(root=root)


def channel(
    workspace: Workspace, seconds: float = 20, env: dict[str, str] | None = None, **given: Any
) -> NotifyChannel:
    return NotifyChannel(NotifySettings.read(given), workspace, {**os.environ, **(env or {})}, seconds)


def sent(one: NotifyChannel, message: Message = MESSAGE) -> Delivery:
    return asyncio.run(one.send(message))


def test_a_webhook_gets_the_message_as_json(server: NotifyServer, workspace: Workspace) -> None:
    url = server.url("ok/${PART}?a=b c&d=ü", user="me:p%40ss@")
    answer = sent(channel(workspace, to="webhook", url=url, env={"PART": "x1"}))
    assert answer == Delivery(ok=True, said="HTTP 200 OK")
    assert server.got == [MESSAGE.document()]
    assert server.paths == ["/ok/x1?a=b%20c&d=%C3%BC"]
    assert server.headers[0]["Authorization"] == "Basic bWU6cEBzcw=="
    assert server.headers[0]["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("broken", "HTTP 500 Internal Server Error"),
        ("loop", "HTTP 302 Found: it redirects, which Ralph does not follow; configure the final address"),
        ("garbage", "its answer is not HTTP"),
        ("closed", "it closed the connection without an answer"),
        ("flood", "its answer is not HTTP"),
        ("silent", "no answer within 1.0 s"),
        ("drip", "no answer within 1.0 s"),
    ],
)
def test_a_bad_server_costs_no_more_than_its_time_and_says_nothing_secret(
    server: NotifyServer, workspace: Workspace, path: str, said: str
) -> None:
    slow = path in ("silent", "drip")
    began = time.monotonic()
    answer = sent(channel(workspace, SHORT if slow else 20, to="webhook", url=server.url(f"{path}/TOKEN-1234567")))
    assert answer == Delivery(ok=False, said=said)
    assert len(server.got) == 1, "a redirect is not followed, and nothing is sent twice"
    assert not slow or time.monotonic() - began < SHORT + 5


def test_of_a_huge_answer_nothing_is_read(server: NotifyServer, workspace: Workspace) -> None:
    assert sent(channel(workspace, to="webhook", url=server.url("huge"))) == Delivery(ok=True, said="HTTP 200 OK")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1/TOKEN-1234567", "connection refused"),
        ("http://no-such-host.invalid/TOKEN-1234567", "its host was not found"),
        ("${SCHEME}://127.0.0.1/TOKEN-1234567", "the address does not begin with https:// or http://"),
        ("http://[::1/TOKEN-1234567", "the address is not valid"),
        ("${GONE}", "The variable GONE is not set, which the address ${GONE} needs."),
    ],
)
def test_where_nobody_answers_the_reason_is_told_without_the_address(workspace: Workspace, url: str, said: str) -> None:
    # an address with a variable is complete only now, so the configuration cannot have refused it
    answer = sent(channel(workspace, to="webhook", url=url, env={"SCHEME": "file"}))
    assert not answer.ok and "TOKEN" not in answer.said
    assert answer.said == said


def test_a_server_that_speaks_no_tls_is_told(server: NotifyServer, workspace: Workspace) -> None:
    answer = sent(channel(workspace, to="webhook", url=server.url("ok").replace("http:", "https:")))
    assert answer == Delivery(ok=False, said="it does not speak TLS")


def test_a_command_gets_the_message_and_its_output_is_no_secret(workspace: Workspace) -> None:
    done = sent(channel(workspace, to="command", command='cat > got.json; echo "$RALPH_NOTIFY_TITLE" > title'))
    assert done == Delivery(ok=True, said="done")
    assert json.loads((workspace.root / "got.json").read_text()) == MESSAGE.document()
    assert (workspace.root / "title").read_text() == f"{MESSAGE.title}\n"
    failed = channel(
        workspace, to="command", command='echo "\033[2Jno: $MY_TOKEN"; exit 7', env={"MY_TOKEN": "s3cr3t-value"}
    )
    assert sent(failed) == Delivery(ok=False, said="exit code 7: no: [secret]")


def test_a_command_is_named_without_its_secrets(workspace: Workspace) -> None:
    command = "curl -u me:$T https://me:hunter2222@host.example/ -H 'X: s3cr3t-value'"
    one = channel(workspace, to="command", command=command, env={"MY_TOKEN": "s3cr3t-value"})
    assert one.name == "command curl -u me:$T https://me:[secret]@host.example/ -H 'X: [secret]'"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sleep 60 & sleep 60", "no answer within 1.0 s"),
        ("trap '' TERM; while :; do sleep 1; done", "no answer within 1.0 s"),
        ("yes", "it printed more than 64 KB, so it was ended"),
        ("exec cat /dev/zero", "it printed more than 64 KB, so it was ended"),
        ("no-such-program-here", "exit code 127"),
    ],
)
def test_a_bad_command_is_ended_with_all_it_started(workspace: Workspace, command: str, said: str) -> None:
    began = time.monotonic()
    answer = sent(channel(workspace, SHORT, to="command", command=command))
    assert not answer.ok and answer.said.startswith(said)
    assert time.monotonic() - began < SHORT + 6


def test_a_command_that_never_reads_its_input_is_no_trouble(workspace: Workspace) -> None:
    items = [NewsItem(kinds=("blocked",), headline="h" * 200, why="w" * 500, task=f"T{n}") for n in range(400)]
    large = joined("shop", "auth", "r", items)
    assert len(json.dumps(large.document())) > 1 << 18
    assert sent(channel(workspace, to="command", command="exit 0"), large).ok


def fake(folder: Path, name: str) -> Path:
    """A program that keeps its arguments, one on each line."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/args\n')
    (folder / name).chmod(0o755)
    return folder


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS shows notifications with a program of its own")
def test_the_desktop_shows_it_where_there_is_one(workspace: Workspace, tmp_path: Path) -> None:
    programs = fake(tmp_path / "bin", "notify-send")
    env = {"PATH": f"{programs}:/usr/bin:/bin", "DISPLAY": ":7"}
    news = NewsItem(kinds=("blocked",), headline="-x <b>bold</b>", why="<i>&why", task="T1")
    assert sent(channel(workspace, to="desktop", env=env), joined("--shop", "auth", "r", [news])).ok
    assert (programs / "args").read_text().splitlines() == [
        "--app-name=Ralph", "--urgency=critical", "--", "--shop: -x <b>bold</b>", "&lt;i&gt;&amp;why",
    ]  # fmt: skip


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS shows notifications with a program of its own")
def test_without_a_desktop_nothing_is_shown_and_nothing_is_wrong(workspace: Workspace, tmp_path: Path) -> None:
    none = dict.fromkeys(channels.DISPLAYS, "")
    assert sent(channel(workspace, to="desktop", env=none)) == Delivery(ok=True, said="There is no desktop here.")
    missing = channel(workspace, to="desktop", env={"DISPLAY": ":7", "PATH": str(tmp_path)})
    assert sent(missing) == Delivery(ok=False, said="notify-send was not found.")
    with pytest.raises(RalphError, match="notify-send was not found"):
        missing.check()


def test_ntfy_gets_its_own_form(server: NotifyServer, workspace: Workspace) -> None:
    news = [NewsItem(kinds=("blocked",), headline="ü" * 200, why="日" * 500, task=f"T{n}") for n in range(9)]
    assert sent(channel(workspace, to="ntfy", url=server.url("my%20topic")), joined("shop", "auth", "r", news)).ok
    (got,) = server.got
    assert server.paths == ["/"]
    assert (got["topic"], got["priority"], got["tags"]) == ("my topic", 4, ["rotating_light"])
    assert got["title"] == "shop: 9 tasks are blocked" and got["actions"] == []
    assert 3_000 < len(got["message"].encode()) <= 4_000


def test_the_buttons_of_ntfy_each_allow_one_action_once(server: NotifyServer, workspace: Workspace) -> None:
    news = [
        NewsItem(kinds=("needs-you",), headline="held", task="T1", attempt=3, need="approval"),
        NewsItem(kinds=("needs-you",), headline="disputed", task="T2", attempt=1, need="dispute"),
        NewsItem(kinds=("blocked",), headline="red", task="T3", attempt=2),
        NewsItem(kinds=("finished",), headline="over"),
        NewsItem(kinds=("needs-you",), headline="green", task="T4", attempt=1, need="review"),
        NewsItem(kinds=("blocked",), headline="red", task="T5", attempt=1),
    ]
    one = channel(workspace, to="ntfy", url=server.url("topic"), ui="https://box.example:8443/")
    assert sent(one, joined("shop", "auth", "r", news)).ok
    approve, retry, third = server.got[0]["actions"]
    assert (approve["label"], approve["method"], retry["label"]) == ("Approve T1", "POST", "Retry T3")
    assert third["label"] == "Approve T4", "and no more than ntfy shows"
    tokens = [button["url"].removeprefix("https://box.example:8443/once/") for button in (approve, retry)]
    store = TokenStore.of(workspace)
    assert store.take(tokens[0]) == Permit(action="approve", target="auth", task="T1", attempt=3)
    assert store.take(tokens[1]) == Permit(action="retry", target="auth", task="T3", attempt=2)
    assert store.take(tokens[0]) is None


def test_what_apprise_knows_is_sent_by_apprise(server: NotifyServer, workspace: Workspace) -> None:
    url = f"json://127.0.0.1:{server.port}/ok/${{PART}}"
    answer = sent(channel(workspace, to="apprise", url=url, env={"PART": "abc"}))
    assert answer == Delivery(ok=True, said="delivered by Apprise")
    assert server.got[0]["title"] == MESSAGE.title and server.got[0]["message"].strip() == MESSAGE.text
    assert server.paths == ["/ok/abc"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nothing-known://TOKEN-1234567", "Apprise does not know such an address"),
        ("json://127.0.0.1:1/TOKEN-1234567", "Apprise could not deliver it"),
    ],
)
def test_what_apprise_cannot_send_is_told(workspace: Workspace, url: str, said: str) -> None:
    assert sent(channel(workspace, to="apprise", url=url)) == Delivery(ok=False, said=said)


# The queue


class Slow:
    """A channel that takes its time."""

    kinds = frozenset(("blocked", "finished"))
    name = "slow"

    def __init__(self, seconds: float = 0.0, error: Exception | None = None) -> None:
        self.seconds, self.error = seconds, error
        self.got: list[Message] = []
        self.arrived = asyncio.Semaphore(0)

    async def send(self, message: Message) -> Delivery:
        self.got.append(message)
        self.arrived.release()
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return Delivery(ok=True, said="done")


def reader() -> NewsReader:
    return NewsReader("auth", lambda task: None)


def blocked(number: int) -> TaskBlocked:
    return TaskBlocked(work=f"T{number}", attempt=1, reason="red", ref="")


def over(ending: Ending = Ending.DONE) -> RunEnded:
    return RunEnded(
        run="r", target="auth", workflow="feature", ending=ending, reason="", seconds=1, tasks=8, passed=8, blocked=0,
        attempts=8, verified=True, gates=1, usage=Usage(),
    )  # fmt: skip


def timed(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    began = time.monotonic()
    return asyncio.run(work), time.monotonic() - began


def test_what_happens_at_once_is_one_message_and_each_thing_is_told_once() -> None:
    async def play() -> list[Message]:
        one = Slow()
        queue = NotificationQueue("shop", reader(), [one], SendingPace(gather=0.1, between=60, farewell=5))
        for _ in range(2):
            for number in range(8):
                queue.hear(blocked(number), "")
        await one.arrived.acquire()
        queue.hear(blocked(8), "")  # it waits for the end of the pause, and is told at the end of the run at the latest
        queue.hear(over(), "")
        await queue.farewell()
        assert list(queue.problems()) == []
        return one.got

    messages, seconds = timed(play())
    assert [[item.task for item in one.items] for one in messages] == [[f"T{n}" for n in range(8)], ["T8", ""]]
    assert seconds < 5


def test_a_slow_channel_delays_no_other_and_the_end_only_for_a_moment() -> None:
    async def play() -> tuple[Slow, Slow, list[str]]:
        slow, fast = Slow(60), Slow()
        queue = NotificationQueue("shop", reader(), [slow, fast], SendingPace(gather=0, between=0.01, farewell=0.3))
        for number in range(500):
            queue.hear(blocked(number), "")
            await asyncio.sleep(0)
        queue.hear(over(), "")
        await queue.farewell()
        return slow, fast, list(queue.problems())

    (slow, fast, problems), seconds = timed(play())
    assert seconds < 5
    assert sum(len(one.items) + one.left_out for one in fast.got) == 501
    assert len(slow.got) == 1
    assert problems == ["slow: 2 of 2 notifications not delivered: there was no time for it before the run ended"]


@pytest.mark.parametrize("error", [RalphError("The command 'sh' was not found."), OSError(24, "x"), ValueError("nul")])
def test_a_channel_that_fails_is_tried_again_with_the_next_news_and_told_at_the_end(error: Exception) -> None:
    async def play() -> tuple[Slow, list[str]]:
        bad = Slow(error=error)
        queue = NotificationQueue("shop", reader(), [bad], SendingPace(gather=0, between=0, farewell=5))
        for number in range(2):
            queue.hear(blocked(number), "")
            await bad.arrived.acquire()
        await queue.farewell()
        return bad, list(queue.problems())

    bad, problems = asyncio.run(play())
    assert [one.items[0].task for one in bad.got] == ["T0", "T1"], "what failed is not sent again"
    assert len(problems) == 1 and "2 of 2 notifications not delivered" in problems[0]


def test_nothing_is_sent_of_what_nobody_wants_to_know() -> None:
    async def play() -> list[Message]:
        one = Slow()
        one.kinds = frozenset(("budget",))
        queue = NotificationQueue("shop", reader(), [one], SendingPace(gather=0))
        for event in (blocked(1), over(Ending.DONE), over(Ending.BUDGET)):
            queue.hear(event, "")
        await queue.farewell()
        return one.got

    (message,) = asyncio.run(play())
    assert [item.kinds for item in message.items] == [("finished", "budget")]


def test_events_come_from_any_thread_and_after_the_loop_has_closed() -> None:
    queues: list[NotificationQueue] = []

    async def play() -> list[Message]:
        one = Slow()
        queue = NotificationQueue("shop", reader(), [one], SendingPace(gather=0))
        queues.append(queue)
        thread = threading.Thread(target=lambda: [queue.hear(blocked(number), "") for number in range(50)])
        thread.start()
        thread.join()
        await queue.farewell()
        return one.got

    assert sum(len(one.items) for one in asyncio.run(play())) == 50
    queues[0].hear(blocked(99), "")


def test_what_the_run_pays_for_an_event_is_next_to_nothing() -> None:
    """As a ratio: hearing what is no news costs less than making the event."""

    async def play() -> tuple[float, float]:
        queue = NotificationQueue("shop", reader(), [Slow()], SendingPace(gather=0))
        count = 20_000

        def make() -> AgentSpoke:
            return AgentSpoke(work="T1", attempt=1, text="x")

        event = make()
        began = time.process_time()
        for _ in range(count):
            queue.hear(event, "")
        hears = time.process_time() - began
        began = time.process_time()
        for _ in range(count):
            make()
        made = time.process_time() - began
        await queue.farewell()
        return hears, made

    hears, made = min((asyncio.run(play()) for _ in range(3)), key=lambda both: both[0])
    assert hears < made


def test_a_real_dead_address_does_not_hold_up_the_end(workspace: Workspace) -> None:
    """A host that takes the connection and never answers, at the end of a run."""

    async def play(url: str) -> list[str]:
        one = channel(workspace, to="webhook", url=url)
        queue = NotificationQueue("shop", reader(), [one], SendingPace(gather=0, farewell=0.5))
        queue.hear(blocked(1), "")
        queue.hear(over(), "")
        await queue.farewell()
        return list(queue.problems())

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        problems, seconds = timed(play(f"http://127.0.0.1:{deaf.getsockname()[1]}/TOKEN-1234567"))
    assert len(problems) == 1 and "TOKEN" not in problems[0] and "no time" in problems[0]
    assert seconds < 5
