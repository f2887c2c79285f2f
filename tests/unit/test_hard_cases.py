"""Odd input from agents, files and terminals: every case here once went wrong."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from ralph import config, prompts, validation
from ralph.agent.dialects.claude import ClaudeReader
from ralph.agent.failure import FailureKind
from ralph.agent.transcript import Marker, Transcript
from ralph.engine.settle import Policy, accept_manually, settle
from ralph.errors import RalphError
from ralph.plan.model import FinalReview, Plan, Task, TaskState
from ralph.plan.work import Outcome, Verdict, Work, WorkKind
from ralph.process.redaction import Secrets
from ralph.process.secret_values import secrets_in
from ralph.protect.guard import Guard
from ralph.stores import atomic, lock
from ralph.text import PlainStream
from ralph.verify.output import useful
from ralph.workflows.feature import store as prd
from ralph.workflows.feature.planning import merge
from ralph.workflows.formats import PRD

DONE = "<ralph>DONE</ralph>\n"


def said(*pieces, prompt=""):
    transcript = Transcript(prompt)
    for piece in pieces:
        transcript.feed(piece.encode())
    transcript.close()
    return transcript.markers


def claude(*events):
    transcript = Transcript()
    reader = ClaudeReader(transcript)
    for event in events:
        reader.feed((json.dumps(event) + "\n").encode())
    return reader.close(), transcript


# ---- guard
@pytest.fixture
def root(tmp_path):
    root = tmp_path / "p"
    (root / ".ralph/f").mkdir(parents=True)
    (root / ".ralph/f/prd.json").write_text("{}")
    (root / "ralph.config.json").write_text("{}")
    return root


@pytest.mark.parametrize("moved", [".ralph", ".ralph/f"])
def test_guard_folder_moved_away_and_linked_comes_back(root, tmp_path, moved):
    guard = Guard(roots=(root,))
    guard.remember()
    (root / moved).rename(tmp_path / "away")
    (root / moved).symlink_to(tmp_path / "away")
    guard.undo(tmp_path / "kept")
    assert (root / ".ralph/f/prd.json").read_text() == "{}"


def test_guard_a_pipe_in_place_of_a_file_does_not_hang(root, tmp_path):
    guard = Guard(roots=(root,))
    guard.remember()
    (root / ".ralph/f/prd.json").unlink()
    os.mkfifo(root / ".ralph/f/prd.json")
    thread = threading.Thread(target=guard.undo, args=(tmp_path / "kept",), daemon=True)
    thread.start()
    thread.join(2)
    assert not thread.is_alive()


def test_guard_keeps_the_agents_version_of_both_roots(root, tmp_path):
    other = tmp_path / "q"
    shutil.copytree(root, other)
    guard = Guard(roots=(root, other))
    guard.remember()
    (root / "ralph.config.json").write_text("A")
    (other / "ralph.config.json").write_text("B")
    guard.undo(tmp_path / "kept")
    assert {p.read_text() for p in (tmp_path / "kept").rglob("*") if p.is_file()} == {"A", "B"}


def test_guard_keeps_what_was_in_a_folder_put_in_place_of_a_file(root, tmp_path):
    guard = Guard(roots=(root,))
    guard.remember()
    path = root / ".ralph/f/prd.json"
    path.unlink()
    path.mkdir()
    (path / "x").write_text("agent")
    guard.undo(tmp_path / "kept")
    assert [p.read_text() for p in (tmp_path / "kept").rglob("*") if p.is_file()] == ["agent"]


# ---- verify/output
@pytest.fixture
def shown(tmp_path):
    def show(data):
        (tmp_path / "log").write_bytes(PlainStream().feed(data, is_last=True))
        return useful(tmp_path / "log")

    return show


def test_output_first_error_among_long_last_lines(shown):
    assert "error: FIRST" in shown(b"error: FIRST\n" + (b"z" * 390 + b"\n") * 39)


def test_output_long_progress_line_shows_what_is_left_on_the_screen(shown):
    assert shown(b"".join(b"step %d\r" % i for i in range(500)) + b"error: the end\n") == "error: the end"


def test_output_the_end_of_one_huge_line_is_shown(shown):
    assert "error: the end" in shown(b"a" * 5000 + b" error: the end\n")


@pytest.mark.parametrize("data", [b"\x1b[31merror\x1b(B\x1b[m\n", b"\x1b[38;5;196ma" * 400 + b"\n"])
def test_output_all_colours_are_removed(shown, data):
    assert "\x1b" not in shown(data)


# ---- stores
@pytest.mark.parametrize("name", ["n" * 250, "file/plan.json"])
def test_atomic_what_cannot_be_saved_is_explained(tmp_path, name):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RalphError, match="could not be saved"):
        atomic.write(tmp_path / name, b"x")


def test_atomic_mode_is_kept_whatever_the_umask(tmp_path):
    path = tmp_path / "f"
    path.write_text("x")
    path.chmod(0o664)
    old = os.umask(0o022)
    try:
        atomic.write(path, b"y")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o664


def test_lock_parent_that_is_a_file_is_explained(tmp_path):
    (tmp_path / ".ralph").write_text("x")
    with pytest.raises(RalphError), lock.hold(tmp_path / ".ralph" / "ralph.lock", lock.me("r", "t")):
        pass


def doc(**more):
    return {"schemaVersion": 2, "branchName": "b", "userStories": [{"id": "a", "title": "t"}], **more}


def test_prd_snake_case_keys_do_not_crash_a_save():
    store = prd.PrdStore(Path("x"), "x")
    content = json.dumps({"schema_version": 2, "branch_name": "b", "user_stories": [{"id": "a", "title": "t"}]})
    try:
        plan = store.load(content.encode())
    except validation.Mistakes:
        return
    store.render(plan)


def test_prd_depends_on_in_snake_case_is_not_used_unchecked():
    content = json.dumps(doc(userStories=[{"id": "a", "title": "t", "depends_on": ["zzz"]}])).encode()
    try:
        assert PRD.check(content, name="x")[1].tasks[0].depends_on == ()
    except validation.Mistakes:
        pass


def test_prd_a_huge_number_does_not_make_the_saved_file_invalid():
    store = prd.PrdStore(Path("x"), "x")
    try:
        plan = store.load(json.dumps(doc()).replace('"branchName"', '"big": 1e999, "branchName"').encode())
    except validation.Mistakes:
        return
    prd.PrdStore(Path("x"), "x").load(store.render(plan))


def test_prd_unknown_fields_of_verification_survive():
    store = prd.PrdStore(Path("x"), "x")
    plan = store.load(json.dumps(doc(run={"verification": {"attempts": 1, "custom": 5}})).encode())
    assert json.loads(store.render(plan))["run"]["verification"]["custom"] == 5


def test_prd_unknown_fields_of_last_result_survive_an_interruption():
    from dataclasses import replace

    last = {"completedAt": "t", "commit": "c", "summary": "s", "verify": [], "custom": 5}
    store = prd.PrdStore(Path("x"), "x")
    plan = store.load(json.dumps(doc(userStories=[{"id": "a", "title": "t", "lastResult": last}])).encode())
    saved = json.loads(store.render(plan.change("a", lambda t: replace(t, attempts=3))))
    assert saved["userStories"][0]["lastResult"]["custom"] == 5


def test_prd_a_review_that_was_reset_is_saved_as_reset():
    from dataclasses import replace

    store = prd.PrdStore(Path("x"), "x")
    plan = store.load(json.dumps(doc(run={"verification": {"verifiedAt": "t"}})).encode())
    saved = store.render(replace(plan, review=FinalReview()))
    assert prd.PrdStore(Path("x"), "x").load(saved).review == FinalReview()


# ---- config / validation
def mistakes(**more):
    try:
        config.parse(json.dumps({"provider": {"command": "a"}, "verify": {"default": []}, **more}).encode())
    except validation.Mistakes as found:
        return found.mistakes
    return []


@pytest.mark.parametrize(
    "more,near",
    [
        ({"providers": {"fast": {"command": "x", "modle": "x"}}}, "did you mean 'model'?"),
        ({"roles": {"planner": {"modle": "x"}}}, "did you mean 'model'?"),
        ({"roles": {"planer": {}}}, "did you mean 'planner'?"),
    ],
)
def test_config_nearest_key_below_a_table(more, near):
    assert near in mistakes(**more)[0]


@pytest.mark.parametrize("key", ["max_retries", "schema_"])
def test_config_takes_only_the_keys_of_its_schema(key):
    assert mistakes(**{key: 3 if key == "max_retries" else "x"})


# ---- environment
def redact(secrets, *pieces):
    redactor = Secrets(secrets).stream()
    return b"".join([*(redactor.feed(p) for p in pieces), redactor.flush()])


def test_redactor_a_secret_that_begins_like_a_shorter_one_leaves_no_rest():
    assert b"12345678" not in redact(["abcdefgh12345678", "abcdefgh"], b"abcdefgh", b"12345678")


def test_redactor_a_secret_that_is_no_text():
    assert redact(["\udcffsecretkey"], b"\xffsecretkey") == b"[secret]"


@pytest.mark.parametrize("name", ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"])
def test_an_authors_name_is_no_secret(name):
    assert secrets_in({name: "Jane Developer"}) == {}


@pytest.mark.parametrize("name", [["a"], {"a": 1}])
def test_merge_an_id_that_is_no_text_is_left_for_validation(name):
    assert merge({"userStories": [{"id": name}]}, {}, branch="b", prd=b"")


def test_merge_leaving_out_an_empty_list_does_not_undo_a_story():
    old = {"userStories": [{"id": "a", "title": "t", "tags": [], "dependsOn": [], "passes": True}], "run": {}}
    assert merge({"userStories": [{"id": "a", "title": "t"}]}, old, branch="b", prd=b"")["userStories"][0]["passes"]


# ---- scripted
@pytest.mark.parametrize("text", ["{{ 1/0 }}", "{{ attempt + 'x' }}"])
def test_prompts_a_template_that_fails_while_rendering_is_explained(tmp_path, text):
    (tmp_path / ".ralph/prompts").mkdir(parents=True)
    (tmp_path / ".ralph/prompts/run.md").write_text(text)
    with pytest.raises(RalphError):
        prompts.render("run", {**dict.fromkeys(prompts.VARIABLES["run"], ""), "attempt": 1}, tmp_path)


# ---- transcript
def test_speech_a_blank_coloured_line_in_a_fence_whole_and_cut():
    assert said("```\n", "\x1b[0m\n", DONE, "```\n") == said("```\n\x1b[0m\n" + DONE + "```\n")


def test_speech_echo_after_a_blank_coloured_line_whole_and_cut():
    prompt = "Say this when done:\n" + DONE
    assert said("Say this when done:\n\x1b[0m\n", DONE, prompt=prompt) == []


def test_speech_echo_after_a_long_line():
    prompt = "x " * 1500 + "\n" + DONE
    assert said("x " * 1500 + "\n", DONE, prompt=prompt) == []


def test_speech_overlong_line_whole_and_cut():
    text = "<ralph>LEARNING:" + "x" * 70_000
    assert said(text + "</ralph>\n") == said(text, "</ralph>\n")


def test_speech_overlong_line_is_a_word_of_a_quotation():
    assert said("```\n", "y" * 70_000, "\n" + DONE + "```\n") == []


@pytest.mark.parametrize(
    "text", ["````md\n```\n" + DONE + "```\nwords\n````\n", "```\nwords\n~~~\n" + DONE + "~~~\n```\n"]
)
def test_speech_a_fence_within_a_fence_is_still_a_quotation(text):
    assert said(text) == []


def test_speech_charset_escape_of_tput_sgr0():
    assert said("\x1b[32m<ralph>DONE</ralph>\x1b(B\x1b[m\n") == [Marker("DONE")]


def test_speech_markers_do_not_grow_without_end():
    assert len(said("<ralph>LEARNING:a</ralph>\n" * 200_000)) < 10_000


# ---- claude
@pytest.mark.parametrize(
    "event",
    [
        {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 10**400}},
        {"type": "result", "is_error": False, "total_cost_usd": 10**400},
        {"type": "result", "is_error": True, "api_error_status": [1], "terminal_reason": "x"},
    ],
)
def test_claude_senseless_values_do_not_crash(event):
    claude(event)


def test_claude_2_1_197_unreachable_service_is_a_network_failure():
    # recorded from 2.1.197: connection refused; terminal_reason is "completed" there
    text = "API Error: Unable to connect to API (ConnectionRefused)"
    report, _ = claude(
        {
            "type": "assistant",
            "message": {"model": "<synthetic>", "content": [{"type": "text", "text": text}]},
            "error": "server_error",
        },
        {
            "type": "result",
            "subtype": "success",
            "is_error": True,
            "api_error_status": None,
            "result": text,
            "terminal_reason": "completed",
        },
    )
    assert report.failure.kind is FailureKind.NETWORK


def test_claude_2_1_197_error_text_is_no_speech():
    _, transcript = claude(
        {
            "type": "assistant",
            "message": {"model": "<synthetic>", "content": [{"type": "text", "text": DONE}]},
            "error": "server_error",
        }
    )
    assert transcript.markers == []


def test_claude_ended_while_the_service_could_not_be_reached_is_overload():
    report, _ = claude(
        {"type": "system", "subtype": "api_retry", "attempt": 3, "error_status": None, "error": "unknown"}
    )
    assert report.failure.kind is FailureKind.OVERLOAD


# ---- settle
def test_settle_failures_do_not_exceed_the_maximum_when_an_accepted_story_is_sent_back():
    blocked = Task(id="a", title="t", state=TaskState.BLOCKED, failures=3, attempts=3)
    plan = accept_manually(Plan(target="t", tasks=(blocked,)), "a", "why", "now", "c")
    work = Work(kind=WorkKind.REVIEW, id="final", title="f", steps=())
    after = settle(
        plan,
        work,
        Outcome(work_id="final", number=1, verdict=Verdict.REOPENED, reopened=("a",)),
        Policy(max_failures=3),
    )
    assert after.tasks[0].failures <= 3


def test_settle_naming_a_story_twice_counts_once():
    plan = Plan(target="t", tasks=(Task(id="a", title="t", state=TaskState.PASSED),))
    work = Work(kind=WorkKind.REVIEW, id="final", title="f", steps=())
    after = settle(
        plan, work, Outcome(work_id="final", number=1, verdict=Verdict.REOPENED, reopened=("a", "a")), Policy()
    )
    assert after.tasks[0].failures == 1


# ---- shield
def test_a_secret_of_digits_does_not_break_the_line(tmp_path):
    from ralph.journal.events import Waited
    from ralph.journal.reader import events
    from ralph.journal.writer import Journal

    with Journal(tmp_path, Secrets(["12345678"]).text) as journal:
        journal.emit(Waited(reason="x", seconds=12345678))
    assert len(list(events(tmp_path))) == 1


def test_prd_half_a_character_does_not_crash_a_save():
    store = prd.PrdStore(Path("x"), "x")
    try:
        plan = store.load(b'{"schemaVersion":2,"branchName":"b","userStories":[{"id":"a","title":"\\ud800"}]}')
    except validation.Mistakes:
        return
    store.render(plan)


@pytest.mark.parametrize("key", ["project", "prdHash"])
def test_prd_store_and_schema_agree_about(key):
    data = json.dumps(doc(**{key: 5})).encode()
    with pytest.raises(validation.Mistakes):
        PRD.check(data, name="x")
    with pytest.raises(validation.Mistakes):
        prd.PrdStore(Path("x"), "x").load(data)


def test_claude_a_sub_agents_error_is_not_the_main_agents():
    report, _ = claude(
        {
            "type": "assistant",
            "is_api_error_message": True,
            "error": "model_not_found",
            "parent_tool_use_id": "toolu_1",
            "message": {"content": []},
        },
        {
            "type": "result",
            "is_error": True,
            "api_error_status": 529,
            "terminal_reason": "api_error",
            "result": "529 Overloaded",
        },
    )
    assert report.failure.kind is FailureKind.OVERLOAD


def test_output_an_error_is_recognised_beneath_its_colours(shown):
    quiet = b"fine\n" * 200
    assert "error: no" in shown(quiet + b"\x1b[1m\x1b[31merror\x1b[0m: no\n" + quiet)


def test_redactor_text_with_half_a_character():
    Secrets(["abcdefgh"]).text("\ud800")
