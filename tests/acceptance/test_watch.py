"""`ralph watch` on a real screen: what it shows of a run of another process, its keys, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.acceptance.test_hostile_text import OWN_CODES, acts, evil
from tests.conftest import VERIFIED, Project, does, wait_for
from tests.screen import on_screen

SCREEN_CODES = re.compile(r"\x1b\[(?:\d+;1H|2J|7m|\?(?:1049|25|7)[hl])|\x1b\[39m")
BLOCKED = {"match": r"\*\*ID:\*\* US-003", "say": ["<ralph>BLOCKED:The account is missing.</ralph>"]}


def hold(project: Project) -> str:
    return f"while ! test -f {project.folder / 'go'}; do sleep 0.05; done"


@pytest.fixture
def plan(project: Project) -> Project:
    """Three tasks: one passes, one waits for the file `go`, one needs a person."""
    project.config("true", "test -n ok")
    project.stories("Store the passkey", "日本語のログイン画面", "Mail a link", description="Sign in")
    project.script(
        does("US-001", "1.txt", say=["I stored it"]),
        BLOCKED,
        does("US-002", "2.txt", say=["I wait for it"], run=[hold(project)]),
        VERIFIED,
    )
    return project


@contextmanager
def running(project: Project) -> Iterator[None]:
    """A run in another process; it ends with the test."""
    run = project.start("run", "auth", "--no-baseline", "--jobs", "3")
    try:
        wait_for(lambda: project.calls() == 3)
        yield
    finally:
        (project.folder / "go").touch()
        run.communicate(timeout=60)


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (50, 200)])
def test_it_shows_a_run_of_another_process_and_its_end(plan: Project, rows: int, columns: int) -> None:
    with running(plan), on_screen(plan, "watch", rows=rows, columns=columns) as shown:
        shown.expect("▶ US-002", "! US-003", "✓ US-001", "1/3 · 1 running · ")
        order = [found[1] for line in shown.lines if (found := re.match(r"[> ]\S (US-\d+) ", line))]
        assert order == ["US-003", "US-002", "US-001"], "what needs a person is first"
        assert shown.lines[0].startswith(" auth: Sign in") and shown.lines[0].endswith("running")
        assert all("│" in line for line in shown.lines[2 : rows - 2]), "the panes are straight"
        shown.press("\x1b[Hj")
        shown.expect(">▶ US-002")
        shown.expect("I wait for it", "US-002/1 · ralph · agent ")
        (plan.folder / "go").touch()
        shown.expect("blocked", "✓ US-002", "2/3 · ", "I wait for it")
        shown.press("q")
        assert shown.end() == 0
    assert shown.raw.endswith(b"\x1b[?7h\x1b[?25h\x1b[?1049l")


def test_each_key_does_what_the_help_says(plan: Project) -> None:
    with running(plan):
        pass
    with on_screen(plan, "watch", "auth", env={"PAGER": "sh -c 'echo PAGER:; cat $1; read -r line' x"}) as shown:
        shown.expect("! US-003", "needs you", "2/3", "blocked")
        shown.press("jj")
        shown.expect(">✓ US-002", "US-002/1 · ralph · passed")
        shown.press("\x1b[A")
        shown.expect(">✓ US-001", "I stored it", "[words]")
        shown.press("\t")
        shown.expect("[gates]", "✓ test -n ok")
        shown.press("d")
        text = shown.expect("[diff]", "+++ b/1.txt", "+x")
        assert "! US-003" not in text, "it has the whole screen"
        shown.press("\t")
        shown.expect("[prompt]", "# Story Implementation")
        shown.press("jjj")
        shown.expect_no("# Story Implementation")
        shown.press("\r")
        shown.expect("US-003")
        shown.press("/link")
        shown.expect("Find: link", ">! US-003")
        shown.expect_no("US-001")
        shown.press("\r\x1b")
        shown.expect("US-001")
        shown.press("?")
        shown.expect("tab    what it says", "x      stop the run", "p      pause", "q      leave")
        shown.press("z")
        shown.expect_no("x      stop the run")
        shown.press("\x1b[H")
        shown.press("j")
        shown.press("l")
        shown.expect("PAGER:", "I stored it")
        shown.press("\r")
        shown.expect_no("PAGER:")  # what is typed before the screen is back counts for nothing
        shown.expect("US-001/1", "US-003")
        shown.press("z")
        shown.press("q")
        assert shown.end() == 0


def test_a_person_decides_with_keys(plan: Project) -> None:
    with running(plan):
        pass
    with on_screen(plan, "watch", "auth") as shown:
        shown.expect("! US-003", "needs you")
        shown.press("\x1b[H")
        shown.expect(">! US-003", "! its agent cannot do it: The account", "→ ralph decide auth US-003 --note")
        shown.press("nUse the accouns\x7ft in .env")
        shown.expect("Answer: Use the account in .env")
        shown.press("\r")
        shown.expect("US-003 is tried again")
        shown.expect("· US-003")
        shown.press("aNot needed\r")
        shown.expect("US-003 is accepted", "☑ US-003")
        shown.press("q")
        assert shown.end() == 0
    story = plan.plan_at("ralph/auth")["userStories"][2]
    assert story["passes"] is True and "Not needed" in json.dumps(story)


def test_keys_steer_a_run_of_another_process(plan: Project) -> None:
    run = plan.start("run", "auth", "--no-baseline")
    wait_for(lambda: plan.calls() == 2)
    with on_screen(plan, "watch") as shown:
        shown.expect("running", "▶ US-002")
        shown.press("p")
        shown.expect("paused")
        wait_for(lambda: shown.lines[0].endswith("paused"), what="the head")
        shown.press("p")
        wait_for(lambda: shown.lines[0].endswith("running"), what="the head")
        shown.press("/US-003\r")
        shown.expect(">· US-003")
        shown.press("nUse the account in .env\r")
        shown.expect("note")
        shown.press("\x1b")
        shown.press("sy")
        shown.expect("✗ US-003")
        shown.press("xn")
        shown.expect_no("(y/n)")
        assert run.poll() is None
        shown.press("x")
        shown.expect("stop the run now: auth? (y/n)")
        shown.press("y")
        shown.expect("interrupted")
        assert run.wait(30) == 130
        run.communicate()
        shown.press("\x03")
        assert shown.end() == 0, "Ctrl-C leaves too"


def test_it_follows_the_next_run_and_a_plan_that_never_ran(plan: Project) -> None:
    with on_screen(plan, "watch", "auth") as shown:
        shown.expect("no run yet", "· US-001 Store", "- It works", "no attempt yet")
        with running(plan):
            shown.expect("running", "▶ US-002", "1 running")
        shown.expect("blocked", "2/3")
        shown.press("q")
        assert shown.end() == 0


def test_a_killed_run_is_cut_short(plan: Project) -> None:
    run = plan.start("run", "auth", "--no-baseline", "--jobs", "3")
    wait_for(lambda: plan.calls() == 3)
    with on_screen(plan, "watch") as shown:
        shown.expect("running", "▶ US-002")
        run.kill()
        run.communicate()
        shown.expect("cut short")
        shown.expect_no("▶ US-002")
        shown.press("q")
        shown.end()


def test_resize_and_ctrl_z(plan: Project) -> None:
    shell = ("bash", "-c", 'set -m; "$@"; echo stopped; read -r line; fg', "shell")
    with running(plan), on_screen(plan, "watch", rows=50, columns=200, shell=shell) as shown:
        shown.expect("▶ US-002", "1 running")
        for rows, columns in ((24, 80), (12, 40), (50, 200), (24, 80)):
            shown.resize(rows, columns)
            shown.expect(" auth", "1 running")
            wait_for(lambda: "1 running" in shown.lines[-2], what="the run's line at the bottom")
            assert all(len(line) <= columns for line in shown.lines)
        shown.press("\x1a")
        shown.expect("stopped")
        assert shown.raw.rindex(b"\x1b[?1049l") > shown.raw.rindex(b"\x1b[?1049h"), "the shell has its screen"
        shown.press("\n")
        wait_for(lambda: shown.read() and shown.raw.count(b"\x1b[?1049h") == 2, what="its screen")
        shown.expect("▶ US-002", "1 running")
        shown.press("q")
        shown.end()


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"LANG": "C"}], ids=lambda env: next(iter(env)))
def test_terminals_that_can_do_less(plan: Project, env: dict[str, str]) -> None:
    with running(plan), on_screen(plan, "watch", env=env) as shown:
        shown.expect("US-002", "1 running", "needs you")
        shown.press("?")
        shown.expect("stop the run")
        shown.press("zq")
        assert shown.end() == 0
    raw = shown.raw.decode()
    assert not re.search(r"\x1b\[[\d;]*m", raw.replace("\x1b[0m", "")) if "NO_COLOR" in env else raw.isascii()


def test_where_there_is_no_such_terminal_it_says_what_to_do(plan: Project) -> None:
    for args in (("watch", "auth"), ("run", "auth", "--watch")):
        done = plan.ralph(*args, code=1)
        assert "needs a terminal" in done.stderr and "ralph logs --follow" in done.stderr
    with on_screen(plan, "watch", "auth", env={"TERM": "dumb"}) as shown:
        assert shown.end() == 1
        assert "needs a terminal" in shown.text
    assert plan.calls() == 0


def test_the_terminal_is_put_back_whatever_ends_it(plan: Project) -> None:
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        with on_screen(plan, "watch", "auth") as shown:
            shown.expect("US-001")
            os.kill(shown.process.pid, number)
            assert shown.end() == code
            assert shown.raw.endswith(b"\x1b[?1049l")


@pytest.mark.parametrize("keys", ["", "\t", "\t\t", "\t\t\t", "\r", "/x\r"])
def test_no_planted_text_acts_on_the_screen(project: Project, keys: str) -> None:
    project.config(f"echo '{evil('gate')}'; false", maxRetries=1)
    project.stories({"title": evil("title"), "acceptanceCriteria": [evil("criterion")]}, description=evil("about"))
    said = [evil("words"), "\x1b[2J\x1b[1;1H", "over\rwritten", "日本" * 200, "x" * 5000]
    project.script(does("US-001", "1.txt", text=evil("text"), say=said))
    project.ralph("run", "auth", "--no-baseline", code=3)
    with on_screen(project, "watch", "auth") as shown:
        shown.expect("US-001", "blocked")
        shown.press(keys)
        shown.press("?")
        shown.expect("stop the run")
        shown.press("z")
        shown.expect_no("stop the run")
        lines = shown.lines
        shown.press("q")
        assert shown.end() == 0
    assert lines[0].startswith(" auth: about") and re.match(" 0/1 · ", lines[-2])
    left = SCREEN_CODES.sub("", OWN_CODES.sub("", shown.raw.decode()))
    assert not acts(left), left


def test_it_never_loads_the_engine(plan: Project) -> None:
    with running(plan):
        pass
    (plan.path / "watching.py").write_text(
        "import atexit, sys\n"
        "atexit.register(lambda: open('loaded', 'w').write(' '.join(sys.modules)))\n"
        "sys.argv = ['ralph', 'watch', 'auth']\n"
        "from ralph.cli.entry import main\nmain()\n"
    )
    with on_screen(plan, shell=("python3", "watching.py")) as shown:
        shown.expect("US-001", "2/3")
        shown.press("q")
        shown.end()
    found = set((plan.path / "loaded").read_text().split())
    assert "ralph.views.watching.frame" in found
    bad = {"asyncio", "ralph.engine", "ralph.steps", "ralph.checkout", "ralph.agent", "pydantic", "ralph.testing"}
    assert sorted(found & bad) == []
