"""What one message says."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ralph.config_notify import KINDS
from ralph.notify.message import MAX_TEXT, MAX_TITLE, joined, trial_message, variables
from ralph.notify.news import NewsItem

END = NewsItem(kinds=("finished", "budget"), headline="auth stopped, because its budget is used up · 5/8 tasks")


def blocked(number: int, **more: str) -> NewsItem:
    kinds = ("needs-you",) if "need" in more else ("blocked",)
    name = f"US-{number:03}"
    return NewsItem(
        kinds=kinds,
        headline=f"{name} is blocked",
        why="red",
        task=name,
        attempt=3,
        commands=(f"ralph retry {name}",),
        **more,
    )


def test_one_thing_is_its_own_title() -> None:
    message = joined("shop", "auth", "r", [blocked(1)])
    assert message.title == "shop: US-001 is blocked"
    assert message.text == "red\n→ ralph retry US-001"


def test_eight_tasks_that_are_blocked_at_once_are_one_message() -> None:
    message = joined("shop", "auth", "r", [blocked(number) for number in range(1, 9)])
    assert message.title == "shop: 8 tasks are blocked"
    assert message.text.count("is blocked") == 8 and "US-008" in message.text


def test_kinds_are_counted_and_the_end_of_the_run_comes_first() -> None:
    message = joined("shop", "auth", "r", [blocked(1, need="approval"), blocked(2), blocked(3), END])
    assert message.title == f"shop: {END.headline}, 1 task needs you, 2 tasks are blocked"
    assert message.kinds == ("needs-you", "blocked", "finished", "budget") and message.is_urgent
    assert not joined("shop", "auth", "r", [NewsItem(kinds=("finished",), headline="done")]).is_urgent


def test_of_too_many_the_newest_are_told_and_the_others_counted() -> None:
    message = joined("shop", "auth", "r", [blocked(number) for number in range(1, 31)], left_out=70)
    assert "US-030" in message.text and "US-001" not in message.text
    assert message.text.endswith("… and 90 more")


def test_programs_get_the_same_as_json_and_as_variables() -> None:
    message = joined("shop", "auth", "run-1", [blocked(1, need="dispute"), END])
    found = json.loads(json.dumps(message.document()))
    assert (found["v"], found["project"], found["target"], found["run"]) == (1, "shop", "auth", "run-1")
    assert found["events"][0] == {
        "kinds": ["needs-you"], "headline": "US-001 is blocked", "why": "red", "task": "US-001", "attempt": 3,
        "need": "dispute", "commands": ["ralph retry US-001"],
    }  # fmt: skip
    assert found["events"][1]["task"] is None
    assert variables(message)["RALPH_NOTIFY_KINDS"] == "needs-you finished budget"
    assert variables(message)["RALPH_NOTIFY_TASKS"] == "US-001"
    assert trial_message("shop").document()["test"] is True


def test_a_folder_can_have_any_name() -> None:
    message = joined("a\x1b[2Jb\n\udcffc", "auth", "r", [blocked(1)])
    assert message.title == "ab \\udcffc: US-001 is blocked"
    json.dumps(message.document(), ensure_ascii=False).encode()


items = st.builds(
    NewsItem,
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=2, unique=True).map(tuple),
    headline=st.text(max_size=200),
    why=st.text(max_size=500),
    task=st.text(max_size=20),
)


@given(st.lists(items, min_size=1, max_size=40), st.integers(0, 100))
def test_every_message_is_bounded_and_names_what_it_is_about(news: list[NewsItem], left_out: int) -> None:
    message = joined("shop", "auth", "r", news, left_out)
    assert len(message.title) <= MAX_TITLE and len(message.text) <= MAX_TEXT
    assert message.title.startswith("shop:")
    assert set(message.kinds) == {kind for item in news for kind in item.kinds}
