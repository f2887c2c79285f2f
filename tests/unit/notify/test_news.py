"""Which events a person is told about."""

from __future__ import annotations

import pytest

from ralph.journal.events import AttemptEnded, AttemptStarted, Event, RunEnded, RunStarted, Steered, TaskBlocked, Waited
from ralph.notify.news import HEARD, NewsItem, NewsReader
from ralph.plan.model import Plan, Task
from ralph.plan.usage import Usage
from ralph.plan.work import Ending, Verdict, WorkKind
from ralph.views import inbox
from ralph.views.inbox import InboxItem


def describe(task: Task) -> InboxItem | None:
    return next(iter(inbox.of_plan("auth", Plan(target="auth", tasks=(task,)), "ralph run auth")), None)


@pytest.fixture
def reader() -> NewsReader:
    return NewsReader("auth", describe)


def heard(reader: NewsReader, *events: Event) -> list[NewsItem]:
    return [item for event in events if type(event) in HEARD and (item := reader.read(event))]


def started(title: str) -> AttemptStarted:
    return AttemptStarted(work="US-1", attempt=1, kind=WorkKind.TASK, title=title, failures=0, max_failures=3, base="b")


def settled(verdict: Verdict, agent: str = "claude") -> AttemptEnded:
    return AttemptEnded(
        work="US-1", attempt=1, kind=WorkKind.TASK, verdict=verdict, reason="", base="", commit="", ref="",
        seconds=1.0, agent=agent,
    )  # fmt: skip


def blocked(work: str = "US-1", attempt: int = 3, **more: str) -> TaskBlocked:
    return TaskBlocked(work=work, attempt=attempt, ref="refs/x", **{"reason": "`test` failed", **more})


def ended(ending: Ending, reason: str = "") -> RunEnded:
    return RunEnded(
        run="r", target="auth", workflow="feature", ending=ending, reason=reason, seconds=75.0, tasks=8, passed=4,
        accepted=1, blocked=3, attempts=9, verified=True, gates=1, usage=Usage(calls=9, cost_usd=1.4),
    )  # fmt: skip


def test_a_blocked_task_is_told_once_with_its_title_and_its_command(reader: NewsReader) -> None:
    (item,) = heard(reader, started("Log\x1b[2J in\nhere"), blocked(), blocked())
    assert (item.kinds, item.headline, item.why) == (("blocked",), "US-1 Log in here: blocked: `test` failed", "")
    assert (item.task, item.attempt, item.commands[0]) == ("US-1", 3, "ralph retry auth US-1")
    assert heard(reader, blocked(attempt=6)), "after a retry it is news again"


def test_a_task_that_waits_for_a_person_is_another_kind(reader: NewsReader) -> None:
    (item,) = heard(reader, blocked(need="approval", reason="package.json changed"))
    assert (item.kinds, item.need, item.commands[0]) == (("needs-you",), "approval", "ralph approve auth US-1")
    assert item.headline == "US-1: held: package.json changed"
    (unknown,) = heard(reader, blocked(attempt=4, need="something-new"))
    assert unknown.kinds == ("blocked",), "a newer Ralph wrote it"


def test_a_task_that_the_person_leaves_out_is_no_news(reader: NewsReader) -> None:
    steered = [
        Steered(command=command, tasks=("US-1",), text="", instruction=command, refused=refused)
        for command, refused in (("skip", True), ("skip", False), ("retry", False))
    ]
    assert heard(reader, steered[0], blocked(attempt=1)), "it was refused"
    assert heard(reader, steered[1], blocked(attempt=2)) == []
    assert heard(reader, steered[2], blocked(attempt=3))


def test_a_limit_is_told_once_until_the_agent_works_again(reader: NewsReader) -> None:
    wait = Waited(reason="usage limit", seconds=3600, agent="claude")
    again = [wait, settled(Verdict.LIMITED), wait, Waited(reason="x", seconds=3600, agent="codex")]
    assert [item.headline.split()[0] for item in heard(reader, *again)] == ["claude", "codex"]
    assert heard(reader, settled(Verdict.PASSED), wait)
    brief = [Waited(reason="x", seconds=5, agent="gemini"), Waited(reason="breaker", seconds=900)]
    assert heard(reader, *brief) == []


@pytest.mark.parametrize("ending", [one for one in Ending if one is not Ending.INTERRUPTED])
def test_each_end_of_a_run_is_told(reader: NewsReader, ending: Ending) -> None:
    (item,) = heard(reader, ended(ending, "because"))
    assert item.kinds[0] == "finished" and item.kinds[1:] == {
        Ending.LIMITED: ("limit",),
        Ending.BUDGET: ("budget",),
    }.get(ending, ())
    assert "5/8 tasks" in item.headline and "$1.40" in item.headline and item.headline.startswith("auth ")
    assert item.why == ("" if ending is Ending.DONE else "because")


def test_a_run_that_the_person_interrupts_is_no_news(reader: NewsReader) -> None:
    assert heard(reader, ended(Ending.INTERRUPTED)) == []


def test_texts_of_agents_are_bounded_and_on_one_line(reader: NewsReader) -> None:
    (item,) = heard(reader, started("T" * 9_000), blocked(reason="\x1b]0;x\x07" + "why \u202e\n" * 9_000))
    assert len(item.headline) <= 200 and len(item.why) <= 500
    assert item.why.isprintable() and "\u202e" not in item.why


def test_the_run_is_known_from_its_first_event(reader: NewsReader) -> None:
    event = RunStarted(
        run="20260101", target="auth", workflow="feature", version="1", tasks=1, passed=0, blocked=0, branch="b",
        slots="s", agent="a", gates=(),
    )  # fmt: skip
    assert heard(reader, event) == [] and reader.run == "20260101"
