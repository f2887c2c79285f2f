"""What a run shows below its lines on a real screen: a line for each slot and one for the run."""

from __future__ import annotations

import re

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for
from tests.screen import ScreenTerminal, on_screen

SIZES = [(24, 80), (50, 200)]
HOSTILE = "\x1b[2J\x1b[1;1Hgone\x1b]0;title\x07 \rover \u202etfel 日本語日本語 e\u0301\u0301 👩\u200d👩\u200d👧 end"
FOOTER = re.compile(r"^ 0/2 · (2 running · )?\d+ s( · silent \d+ s)?$")


@pytest.fixture
def waiting(project: Project) -> Project:
    """Two tasks whose agents wait for the file `go`, after having said something."""
    project.config("true")
    project.stories("First", "Second")
    hold = f"while ! test -f {project.folder / 'go'}; do sleep 0.05; done"
    turns = [
        does(f"US-00{n}", f"{n}.txt", say=[f"I am number {n}, and {HOSTILE} of {n}"], run=[hold], then=["Nearly"])
        for n in (1, 2)
    ]
    project.script(*turns, VERIFIED)
    return project


def go(project: Project) -> None:
    (project.folder / "go").touch()


def check(shown: ScreenTerminal) -> None:
    """The area is at the bottom, whole, and once."""
    lines = [line for line in shown.lines if line]
    assert FOOTER.match(lines[-1]), lines
    assert len([line for line in lines if FOOTER.match(line)]) == 1, lines
    slots = [line for line in lines if re.match(r"  US-00\d  .*agent \w+ working, \d+ s", line)]
    assert slots == lines[-3:-1] and {slot[:8] for slot in slots} == {"  US-001", "  US-002"}, lines


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_each_slot_has_a_line_and_the_run_has_one(waiting: Project, rows: int, columns: int) -> None:
    with on_screen(waiting, "run", "auth", "--jobs", "2", "--no-baseline", rows=rows, columns=columns) as shown:
        shown.expect("I am number 1", "I am number 2", "0/2 · 2 running · 2 s")
        check(shown)
        if columns > 100:
            assert re.search(r"US-001  First +agent \w+ working, \d s · I am number 1", shown.text)
        assert "gone" in shown.text and "\x1b]0;" not in shown.raw.decode()
        go(waiting)
        shown.expect("auth: complete")
        assert shown.end() == 0
        assert "running ·" not in shown.text and " agent ralph working" not in shown.text
        assert shown.everything.count("US-001 passed") == 1
        assert shown.screen.cursor.x == 0


def test_a_resize_in_the_middle_leaves_nothing_behind(waiting: Project) -> None:
    with on_screen(waiting, "run", "auth", "--jobs", "2", "--no-baseline", rows=50, columns=200) as shown:
        shown.expect("I am number 2", "2 running")
        for rows, columns in ((24, 80), (30, 60), (50, 200), (10, 40), (24, 80)):
            shown.resize(rows, columns)
            wait_for(lambda: FOOTER.match(([line for line in shown.lines if line] or [""])[-1]), what="the run's line")
        shown.expect("2 running")
        wait_for(lambda: len([line for line in shown.lines if "running ·" in line]) == 1, what="one footer")
        check(shown)
        go(waiting)
        assert shown.end() == 0
        assert "running ·" not in shown.text


def test_ctrl_c_leaves_nothing_of_it(waiting: Project) -> None:
    with on_screen(waiting, "run", "auth", "--jobs", "2", "--no-baseline") as shown:
        shown.expect("I am number 2", "2 running")
        shown.press("\x03")
        shown.expect("interrupted")
        assert shown.end() == 130
        assert "running ·" not in shown.text and " working," not in shown.text


def test_one_who_follows_and_leaves_keeps_nothing_of_it(waiting: Project) -> None:
    run = waiting.start("run", "auth", "--jobs", "2", "--no-baseline")
    wait_for(lambda: waiting.calls() == 2)
    with on_screen(waiting, "logs", "--follow") as shown:
        shown.expect("US-002  agent", "working, ", "2 running")
        shown.press("\x03")
        assert shown.end() == 130
        assert "running ·" not in shown.text and " working," not in shown.text
        assert shown.text.endswith("ralph: interrupted")
    go(waiting)
    run.communicate(timeout=60)


def test_ctrl_z_takes_its_lines_away_and_fg_draws_them_again(waiting: Project) -> None:
    shell = ("bash", "-c", 'set -m; "$@"; read -r line; fg', "shell")
    with on_screen(waiting, "run", "auth", "--jobs", "2", "--no-baseline", shell=shell) as shown:
        shown.expect("I am number 2", "2 running")
        shown.press("\x1a")
        shown.expect_no("running ·")
        assert " working," not in shown.text
        shown.press("\n")
        shown.expect("0/2 · 2 running")
        check(shown)
        go(waiting)
        shown.end()
        assert "auth: complete" in shown.text and "running ·" not in shown.text


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"LANG": "C"}, {"TERM": "dumb"}], ids=lambda env: next(iter(env)))
def test_terminals_that_can_do_less(waiting: Project, env: dict[str, str]) -> None:
    with on_screen(waiting, "run", "auth", "--jobs", "2", "--no-baseline", env=env) as shown:
        if "TERM" in env:
            shown.expect("US-002 Second")
        else:
            shown.expect("I am number 1", "2 running")
        go(waiting)
        assert shown.end() == 0
        text, raw = shown.everything, shown.raw.decode()
    assert "US-001 passed" in text
    if "TERM" in env:
        assert "\x1b" not in raw
    if "NO_COLOR" in env:
        assert not re.search(r"\x1b\[[\d;]*m", raw)
    if "LANG" in env:
        assert raw.isascii() and "+ US-001 passed" in text and "0/2 - 2 running" in raw


def test_many_slots_never_push_the_lines_away(project: Project) -> None:
    project.config("true")
    project.stories(*(f"Number {n}" for n in range(1, 13)))
    hold = f"while ! test -f {project.folder / 'go'}; do sleep 0.1; done"
    turns = [does(f"US-{n:03}", f"{n}.txt", run=[hold]) for n in range(1, 13)]
    project.script(*({**turn, "done": True} for turn in turns), VERIFIED)
    with on_screen(project, "run", "auth", "--jobs", "12", "--no-baseline", rows=10) as shown:
        shown.expect("12 running", "more")
        lines = shown.lines
        assert sum("agent" in line for line in lines) == 6 and "  … 6 more" in lines, lines
        shown.press("\x03")
        assert shown.end() == 130


def test_how_long_the_rest_takes_is_told_only_if_earlier_tasks_tell(project: Project) -> None:
    go_on = project.folder / "go"
    project.config("true")
    project.stories("One", "Two", "Three", "Four", "Five")
    quick = [does(f"US-00{n}", f"{n}.txt", run=["sleep 0.4"]) for n in (1, 2, 3)]
    project.script(*quick, does("US-004", "4.txt", run=[f"while ! test -f {go_on}; do sleep 0.05; done"]))
    with on_screen(project, "run", "auth", "--no-baseline") as shown:
        shown.expect("3/5 · ", " left")
        before = re.findall(r"(\d)/5[^\r\n]*?left", shown.raw.decode())
        assert before and min(before) == "3", "three tasks are the basis"
        shown.press("\x03")
        shown.end()
    with on_screen(project, "run", "auth", "--no-baseline") as shown:
        text = shown.expect("3/5 · ", " left")
        assert re.search(r"3/5 · \d s · ~\d s left", text), "the earlier run is the basis"
        go_on.touch()
        shown.press("\x03")
        shown.end()
