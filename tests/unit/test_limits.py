"""What is too large, too deep or too many is refused with a word, in little time and memory."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from ralph import limits, prompts, validation
from ralph.errors import RalphError
from ralph.plan.usage import Usage
from ralph.slow_patterns import why_slow
from ralph.stores import records, spending
from ralph.stores.crash_file import content
from ralph.validation import Mistakes
from ralph.workflows.formats import PRD, SPECS, TASKS
from ralph.workflows.requirements.store import notes
from ralph.workflows.session.store import read_session


def sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_a_file_that_is_too_large_is_refused_and_never_read_whole(tmp_path: Path) -> None:
    path = sparse(tmp_path / "prd.json", 50_000_000_000)
    began = time.process_time()
    with pytest.raises(RalphError) as caught:
        validation.read(path)
    assert time.process_time() - began < 3
    assert caught.value.what == f"{path} is too large: it has 50,000.0 MB, and Ralph reads at most 64.0 MB."
    assert caught.value.remedy
    with pytest.raises(RalphError, match=r"at most 4\.0 MB"):
        validation.read(sparse(tmp_path / "c.json", limits.SETTINGS + 1), limits.SETTINGS)
    assert len(validation.read(sparse(tmp_path / "c.json", limits.SETTINGS), limits.SETTINGS)) == limits.SETTINGS
    with pytest.raises(RalphError):
        validation.found(path)
    assert validation.found(tmp_path / "nothing") is None


def test_a_pipe_or_a_device_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(RalphError, match="not a regular file"):
            validation.read(tmp_path / name)


@pytest.mark.parametrize("form", [PRD, TASKS, SPECS])
@pytest.mark.parametrize(
    ("data", "mistake"),
    [
        (b'{"a":' + b"[" * 3_000_000, "it has 3,000,001 objects and lists, and Ralph reads at most 1,000,000"),
        (b'{"a":' + b"[" * 100_000, validation.TOO_DEEP),
        (b'{"a":' * 100_000, validation.TOO_DEEP),
        (b'{"many": [' + b"0," * 30_000 + b"0]}", "many: it has 30,001 entries, and Ralph reads at most 20,000"),
    ],
)
def test_json_that_would_take_for_ever_is_refused(form: object, data: bytes, mistake: str) -> None:
    began = time.process_time()
    with pytest.raises(Mistakes) as caught:
        form.load(data, name="prd.json")  # type: ignore[attr-defined]
    assert caught.value.mistakes == [mistake]
    assert caught.value.remedy
    assert time.process_time() - began < 2
    with pytest.raises(Mistakes):
        validation.parse_object(data, name="x.json")


def test_a_plan_from_a_commit_is_weighed_too() -> None:
    with pytest.raises(RalphError, match="too large"):
        PRD.load(b" " * (limits.FILE + 1), name="prd.json")


def test_of_large_notes_the_newest_count(tmp_path: Path) -> None:
    path = tmp_path / "learnings.md"
    path.write_text("".join(f"- note {number}\n" for number in range(200_000)))
    text = notes(path)
    assert text.startswith("- note ")
    assert text.endswith("- note 199999\n")
    assert len(text) <= limits.NOTES
    sparse(path, 10_000_000_000)
    assert len(notes(path)) <= limits.NOTES


def test_ralph_s_own_files_are_read_within_bounds(tmp_path: Path) -> None:
    folder = tmp_path / "auth"
    folder.mkdir()
    assert records.load(tmp_path) == []
    sparse(folder / f"US-001.1{records.SUFFIX}", 5_000_000_000)
    assert records.load(tmp_path) == []
    assert content(sparse(tmp_path / "crash", 20_000_000_000)) == b""
    sparse(tmp_path / spending.NAME, 300_000_000)
    assert spending.of_target(tmp_path, "auth").total.usage == Usage()
    session = tmp_path / "session"
    session.mkdir()
    sparse(session / "tasks.md", 5_000_000_000)
    read_session(session, "s")


def test_a_template_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".ralph/prompts").mkdir(parents=True)
    sparse(tmp_path / ".ralph/prompts/run.md", 1_000_000_000)
    with pytest.raises(RalphError, match="too large"):
        prompts.check("run", tmp_path)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$", "(a*)*", "(a|a)*$", "(a|aa)+$", "(.*)*x", "((ab)*)*", "(?:x+x+)+y", "(a?){30}b", r"(\w+\s?)*!",
        ".*a.*b.*c.*d.*e", "(?:(?:a+))+", "(a{1,9})*x", "(x+)+?y", r"(a)(?:\1|b)*",
        r"\s*\s*\s*\s*x", ".*.*.*=", "(a{0,16}){0,16}b", "(a?b?){16}c", r"\w+\d+\w+!", "(?i)[a-z]+[A-Z]+[a-z]+1",
        r"(?:\w+\s?){1,16}!", "[^x]*[^y]*[^z]*!",
    ],
)  # fmt: skip
def test_a_pattern_that_can_take_for_ever_is_refused(pattern: str) -> None:
    assert why_slow(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "favicon", "net::ERR_.*analytics",
        "(foo|bar)+", "[a-z]+@[a-z]+", r"^Warning: .*$", "(?:ab)*c", r"\d{1,3}(?:\.\d+)",
        "ready on port \\d+", "(GET|POST) /api/.* 40[0-9]", "(?i)hmr|vite", "a{2,5}b",
        r"\w+ \w+ took \d+ ms", r"\w+\s+\d+\s*!", "error: .* in .*", ".*error.*timeout.*", "favicon.*404.*x",
        r"^\[\d+:\d+:\d+\] (WARN|INFO) .*deprecated", r"https?://[^/\s]+/static/.*\.map", "(?:[a-z]+-)+done",
    ],
)  # fmt: skip
def test_ordinary_patterns_are_allowed(pattern: str) -> None:
    assert why_slow(pattern) == ""
    began = time.process_time()
    for letter in ("a", "foo", "1", "ab", "GET /api/"):
        re.search(pattern, (letter * limits.SEARCHED)[: limits.SEARCHED] + "!")
    assert time.process_time() - began < 1


def test_ten_thousand_tasks_are_comfortable() -> None:
    story = {"title": "t", "acceptanceCriteria": ["It works"] * 5, "description": "d" * 300, "priority": 1}
    stories = [{**story, "id": f"US-{number:05}"} for number in range(10_000)]
    document = {"schemaVersion": 2, "branchName": "ralph/auth", "description": "d", "userStories": stories}
    began = time.process_time()
    _, plan = PRD.load(json.dumps(document).encode(), name="prd.json")
    assert len(plan.tasks) == 10_000
    assert time.process_time() - began < 3
