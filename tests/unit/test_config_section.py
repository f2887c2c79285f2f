"""The plain reader of the configuration and the schema: they accept the same files and make the same values."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ralph import config_schema
from ralph.config import NAME, Config, parse
from ralph.config_section import ConfigSection
from ralph.validation import Mistakes, UnusualForm

FULL: dict[str, Any] = {
    "$schema": "x",
    "maxRetries": 5,
    "provider": {
        "command": "claude",
        "args": ["-p"],
        "timeout": 60,
        "idleTimeout": None,
        "model": "m",
        "isolate": False,
    },
    "providers": {"fast": {"command": "x", "protocol": "acp", "permissions": "deny", "timeout": 0.5}},
    "roles": {"executor": {"providers": ["fast", "default"]}, "reviewer": {"provider": "fast", "model": None}},
    "services": [{"name": "web", "start": "serve", "ready": "http://localhost:1", "readyTimeout": 3}],
    "verify": {"default": ["make"], "ui": [], "where": "clean", "requireFor": ["ui"], "rerun": 2, "failFast": True},
    "gates": [
        {"name": "a b", "command": "true", "timeout": None, "tasks": ["auth"], "heldOut": True, "files": ["*"]},
        {"name": "b", "command": "true", "needs": ["c"], "parallel": False},
        {"name": "c", "command": "true"},
    ],
    "review": {"rounds": 0, "blocking": ["minor"]},
    "race": {"agents": ["fast", "default"], "afterFailures": 2},
    "budget": {"usd": 5, "tokens": 10, "target": {"hours": 1.5}, "task": {"attempts": 3}, "hard": True},
    "worktrees": {"copy": [".env"], "maxGb": None, "keepDays": 7},
    "browser": {"baseUrl": "", "timeout": 5},
    "commits": {"prdChanges": False, "maxFileMb": 1},
    "integrity": {"vanished": "hold"},
}
REMOVED, RENAMED = object(), object()
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 101, 70000, 0.0, -0.5, 1.5, 604800, 604801, 1 << 53, 1 << 70, 1e300,
    "", " ", "a", "a b", "a\n", "\n", " a", "\u200b", "\x1c", "http://x", "http://x\n", "tcp://x:1", "log:",
    "fast", "default", "clean", "minor", "ä" * 61,
    [], [""], ["a"], ["a\n"], ["minor"], ["fast"] * 8, ["fast"] * 9, [1], [None], {}, {"odd": 1}, {"command": "x"},
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in inner for found in ((*path, key), *places(one, (*path, key)))]


def documents() -> Iterator[dict[str, Any]]:
    """The whole configuration with one value replaced, removed or under another key: every place, every odd value."""
    for *above, last in places(FULL):
        for odd in (*ODD, REMOVED, RENAMED):
            made = copy.deepcopy(FULL)
            inner: Any = made
            for key in above:
                inner = inner[key]
            if odd is RENAMED and isinstance(inner, dict):
                inner["model"] = inner.pop(last)
            elif odd is REMOVED:
                del inner[last]
            else:
                inner[last] = None if odd is RENAMED else odd
            yield made


def in_schema(of: type[ConfigSection], data: bytes) -> ConfigSection | None:
    try:
        return config_schema.load(of, data, name=NAME, rules=lambda _: (), remedy="")
    except Mistakes:
        return None


def test_the_plain_reader_accepts_only_what_the_schema_accepts_and_makes_the_same_of_it() -> None:
    plain = 0
    for document in documents():
        data = json.dumps(document).encode()
        try:
            read = Config.read(json.loads(data))
        except UnusualForm:
            continue
        assert read == in_schema(Config, data), document
        plain += 1
    assert plain > 500


def test_everything_that_can_be_set_is_read_plainly() -> None:
    assert Config.read(FULL).document()["budget"] == {
        "usd": 5, "tokens": 10, "hours": None, "attempts": None, "hard": True,
        "target": {"usd": None, "tokens": None, "hours": 1.5, "attempts": None},
        "task": {"usd": None, "tokens": None, "hours": None, "attempts": 3},
    }  # fmt: skip
    assert Config.read(FULL) == in_schema(Config, json.dumps(FULL).encode())


def test_a_configuration_written_out_reads_as_the_same_one() -> None:
    config = Config.read(FULL)
    assert Config.read(json.loads(json.dumps(config.document()))) == config


@pytest.mark.parametrize(
    "odd",
    [
        b'{"provider": {"command": "a\\nb\\n"}, "verify": {"default": []}}',
        b'\xef\xbb\xbf{"provider": {"command": "x"}, "verify": {"default": []}, "maxRetries": 10}',
    ],
    ids=["a command of two lines", "a byte order mark"],
)
def test_what_is_unusual_and_valid_is_accepted(odd: bytes) -> None:
    config = parse(odd)
    assert config == in_schema(Config, odd.removeprefix(b"\xef\xbb\xbf"))


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"[]",
        b"{",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b'{"a": "\\u0000"}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_what_is_not_such_a_file_is_explained(wrong: bytes) -> None:
    with pytest.raises(Mistakes, match=NAME):
        parse(wrong)


def test_a_valid_configuration_needs_no_pydantic() -> None:
    code = "import sys; from ralph import config; config.parse(sys.argv[1].encode()); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, json.dumps(FULL)], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
