"""What a person sees in a terminal of 80 columns: colours, living lines, whole words, menus."""

from __future__ import annotations

import json
import re

import pytest

from ralph.text import strip_ansi
from tests.acceptance.requests import usual
from tests.acceptance.test_prd import usual as planned_answers
from tests.acceptance.test_request_plan import ready, terminal
from tests.conftest import VERIFIED, Project, does, wait_for

__all__ = ["ready"]
REASON = "assert the total of the cart is the sum of all the prices in it and nothing else besides that"


@pytest.fixture
def failed(project: Project) -> Project:
    """A story that was blocked, with a long reason."""
    project.config(f"echo '{REASON}'; exit 1", maxRetries=1)
    project.stories("A title that is long enough to fill the better part of a line on a terminal")
    project.script(does("US-001", "1.txt"))
    project.ralph("run", "auth", "--no-baseline", code=3)
    return project


def coloured(project: Project, *args: str, **env: str) -> bool:
    with terminal(project, *args, env=env) as shown:
        return "\x1b[" in shown.all()


def test_colours_follow_the_terminal_the_environment_and_the_option(failed: Project) -> None:
    assert coloured(failed, "status", "auth")
    assert not coloured(failed, "status", "auth", NO_COLOR="1")
    assert coloured(failed, "status", "auth", NO_COLOR="")
    assert not coloured(failed, "status", "auth", TERM="dumb")
    assert not coloured(failed, "--color", "never", "status", "auth")
    assert not coloured(failed, "status", "auth", "--color=never")
    assert coloured(failed, "status", "auth", "--color", "always", NO_COLOR="1")

    assert "\x1b[" not in failed.ralph("status", "auth").stdout
    assert "\x1b[" in failed.ralph("status", "auth", "--color", "always").stdout
    assert "\x1b[" in failed.ralph("status", "auth", env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b[" in failed.ralph("status", "auth", env={"CLICOLOR_FORCE": "1"}).stdout
    assert "\x1b[" not in failed.ralph("status", "auth", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
    assert "\x1b[" in failed.ralph("attempts", "auth", "US-001/1", "--diff", "--color", "always").stdout


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_run_is_not_coloured_either(project: Project, env: dict[str, str]) -> None:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "1.txt"), VERIFIED)
    with terminal(project, "run", "auth", env=env) as shown:
        text = shown.all()
    assert not re.search(r"\x1b\[[\d;]*m", text)
    assert ("\x1b" in text) == (env.get("TERM") != "dumb"), "a line can be drawn anew without any colour"


@pytest.mark.parametrize("args", [("status", "auth"), ("attempts", "auth"), ("run", "auth"), ("status", "nothing")])
def test_lines_break_between_words(failed: Project, args: tuple[str, ...]) -> None:
    failed.ralph("retry", "auth") if args[0] == "run" else None
    with terminal(failed, *args, env={"NO_COLOR": "1"}) as shown:
        drawn = re.compile(r"\x1b\[\?7l.*?\x1b\[\?7h", re.DOTALL)  # what is below the lines, and drawn anew
        lines = strip_ansi(drawn.sub("", shown.all())).replace("\r", "").split("\n")
    words = {word for line in lines for word in line.split()}
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines), lines
    if args[0] != "status" or args[1] == "auth":
        assert set(REASON.split()) <= words, "no word is cut in two, and none is left out"


def test_planning_shows_how_long_it_takes_and_no_bar(project: Project) -> None:
    go = project.folder / "go"
    project.config("true")
    project.script(*({**turn, "run": [f"while ! test -f {go}; do sleep 0.05; done"]} for turn in planned_answers()))
    with terminal(project, "prd", "auth", "--yes", env={"NO_COLOR": "1"}) as shown:
        shown.expect("working, 0 s")
        shown.expect("working, 2 s")
        go.touch()
        text = shown.all()
    assert "Ready! Run 'ralph run auth'." in text and "0/0" not in text and "░" not in text


def test_a_letter_without_an_option_is_asked_again(ready: Project) -> None:
    ready.script(*usual())
    with terminal(ready, "plan", "Manage users") as shown:
        shown.expect("Answer [A]:")
        shown.say("z")
        assert "There is no option Z. Type A to B, or answer in your own words." in shown.expect("Answer [A]:")
        shown.say("b")
        shown.expect("Answer [A]:")
        shown.say("A plain file")
        shown.all()
    given = [one["answer"] for one in json.loads(ready.read(".ralph/decisions.json"))["decisions"]]
    assert "z" not in given and "A plain file" in given


def test_prd_shows_the_plan_before_anything_is_run(project: Project) -> None:
    project.config("true")
    project.script(*planned_answers())
    done = project.ralph("prd", "auth", "--yes").stdout
    assert re.search(r"\d tasks? in \d waves?\n", done)
    assert re.search(r"└─ · US-\d+  \S", done)


def test_the_progress_counts_what_has_passed_by_now(project: Project) -> None:
    """One task is slow; meanwhile the others pass, and the living line says so."""
    go = project.folder / "go"
    project.config("true")
    project.stories("Slow", "Two", "Three")
    slow = does("US-001", "1.txt")
    slow["run"] = [f"while ! test -f {go}; do sleep 0.05; done", *slow["run"]]
    project.script(slow, does("US-002", "2.txt"), does("US-003", "3.txt"), VERIFIED)
    with terminal(project, "run", "auth", "--jobs", "2", "--no-baseline", env={"NO_COLOR": "1"}) as shown:
        shown.expect("US-003 passed")
        shown.expect("2/3")
        go.touch()
        assert "auth: complete" in shown.all()


def test_logs_tell_of_a_green_page(project: Project) -> None:
    project.config("true")
    run = project.path / ".ralph/logs/20260101-000000-00000000"
    run.mkdir(parents=True)
    page = {"page": "/cart", "url": "http://x/cart", "seconds": 0.5, "status": 200, "findings": [], "screenshot": ""}
    red = {**page, "page": "/shop", "findings": [{"page": "/shop", "kind": "status", "text": "500"}]}
    lines = [
        {"event": "page_checked", "at": "2026-01-01T00:00:00Z", "work": "US-001", "result": one} for one in (page, red)
    ]
    (run / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    told = project.ralph("logs", "--events").stdout
    assert "✓ /cart" in told and "✗ /shop · 1 finding" in told and "None" not in told


def test_worktrees_tells_work_under_way_from_work_that_was_cut_short(project: Project) -> None:
    """A killed run left a slot; a run of another plan is at work."""
    go = project.folder / "go"
    project.config("true")
    project.stories("One")
    project.stories("One", feature="more")
    project.script(does("US-001", "1.txt", run=[f"while ! test -f {go}; do sleep 0.05; done"]), VERIFIED)
    first = project.start("run", "auth", "--no-baseline")
    wait_for(lambda: project.calls() == 1)
    assert "a run of auth is working on US-001 here" in project.ralph("worktrees").stdout
    first.kill()
    first.communicate()
    assert "US-001 was interrupted here" in project.ralph("worktrees").stdout

    second = project.start("run", "more", "--no-baseline")
    wait_for(lambda: project.calls() == 2)
    told = project.ralph("worktrees").stdout
    go.touch()
    second.communicate(timeout=60)
    assert "US-001 was interrupted here; the next run of auth" in told
    assert "a run of more is working on US-001 here" in told
