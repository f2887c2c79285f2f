"""R0.2 to R0.7: from a sentence to a plan that a person reads; in a terminal and without one."""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import signal
import stat
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.acceptance.requests import (
    DECISIONS,
    REQUEST,
    TASKS,
    builds,
    decisions,
    in_checkout,
    load,
    plans,
    research,
    task,
    usual,
    work,
    write_plan,
)
from tests.conftest import RALPH, Project, wait_for


@pytest.fixture
def ready(project: Project) -> Project:
    project.config("test ! -f bad.txt")
    project.script(*usual())
    project.git("add", "-A")
    project.git("commit", "-qm", "Ready")
    return project


class Terminal:
    """A `ralph` in a terminal of its own."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self.descriptor, self.process, self.seen = descriptor, process, ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        os.set_blocking(descriptor, False)

    def expect(self, text: str) -> str:
        """Wait until it has said this after what was seen before; returns all up to there."""
        wait_for(lambda: text in self.seen or (self._read() and text in self.seen), what=text)
        before, _, self.seen = self.seen.partition(text)
        return before

    def say(self, line: str) -> None:
        os.write(self.descriptor, f"{line}\n".encode())

    def all(self) -> str:
        """Everything until it ended that was not seen yet."""
        wait_for(lambda: not self._read() and self.process.poll() is not None, 60, "its end")
        while self._read():
            pass
        return self.seen

    def _read(self) -> bool:
        """Take what is there, at most what the kernel gives at once; return whether there was anything."""
        try:
            data = os.read(self.descriptor, 1 << 16)
        except (BlockingIOError, OSError):
            return False
        self.seen += self._decoder.decode(data)
        return bool(data)


@contextmanager
def terminal(project: Project, *args: str, env: dict[str, str] | None = None) -> Iterator[Terminal]:
    """`ralph` on 80 columns; its exit code is not looked at."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [str(RALPH), *args],
        cwd=project.path,
        env={**project.env, "TERM": "xterm", **(env or {})},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(master, process)
        assert process.wait(20) is not None
    finally:
        process.kill()
        process.wait()
        os.close(master)


def test_the_whole_way_with_the_recommended_answers(ready: Project) -> None:
    done = ready.ralph("plan", REQUEST, "--yes")

    assert "3 tasks in 2 waves" in done.stdout
    assert "wave 1: task-001, task-002 (2 in parallel)" in done.stdout
    assert "task-003  Endpoint  (needs task-001, task-002)" in done.stdout
    assert "`ralph run request`" in done.stdout
    state = load(ready)
    assert (state["version"], state["phase"], state["original_request"]) == ("1.0", "planning_complete", REQUEST)
    assert state["task_order"] == ["task-001", "task-002", "task-003"]
    assert set(state["task_statuses"].values()) == {"pending"}
    assert state["updated_at"] > state["created_at"]
    assert load(ready, "research.json")["sources"][0]["url"] == "https://example.com/rest"
    assert [one["answer"] for one in load(ready, "decisions.json")["decisions"]] == ["SQLite", "No"]
    assert ready.read(".ralph/prd.md").startswith("# User management")
    assert load(ready, "tasks/task-003.json")["dependencies"] == ["task-001", "task-002"]
    told = next(text for text in ready.prompts() if "# Plan for a Request" in text)
    assert "**SQLite** (SQLite it is)" in told and "PUT is idempotent" in told and "`test ! -f bad.txt`" in told
    assert "plan attempt 1 passed" in ready.read(".ralph/logs/execution.log")

    before = ready.git("rev-parse", "HEAD"), ready.status(), state
    ready.ralph("start", "-q")
    assert work(ready) == ["feat: task-001 - Model", "feat: task-002 - Server", "feat: task-003 - Endpoint"]
    assert load(ready)["phase"] == "completed"
    assert (ready.git("rev-parse", "HEAD"), ready.status(), in_checkout(ready)) == before, "the checkout is theirs"
    assert {".ralph/prd.md", ".ralph/decisions.json", ".ralph/tasks/task-003.json", "3.txt"} < set(
        ready.files_in("ralph/request")
    ), "a plan that nobody committed comes along"
    assert ready.ralph("plan", "Something else", "--yes", "--json").stdout.startswith("{")
    assert in_checkout(ready)["original_request"] == "Something else"
    assert len(list(ready.path.glob(".ralph/archive/*/state.json"))) == 1, "the finished one is kept"


def test_research_is_left_out_if_nobody_needs_it(ready: Project) -> None:
    ready.script(*usual(research({"needed": False, "reason": "It is small"})))
    ready.ralph("plan", REQUEST, "--yes", "-q")
    assert not ready.exists(".ralph/research.json")
    assert "If the request is small" in ready.prompts()[0]
    ready.ralph("plan", "--discard")

    ready.ralph("plan", REQUEST, "--yes", "--research", "never", "-q")
    assert not any("# Research" in text for text in ready.prompts()[3:])
    ready.ralph("plan", "--discard")

    done = ready.ralph("plan", REQUEST, "--yes", "--research", "always", "-q", code=1)
    assert "needed: must be true" in done.stderr
    assert load(ready)["phase"] == "research"


def test_answers_from_a_file_and_everything_that_is_wrong_with_one(ready: Project) -> None:
    ready.write("answers.json", json.dumps({"answers": {"storage": "files", "logn": "Yes"}}))
    done = ready.ralph("plan", REQUEST, "--answers", "answers.json", code=1)
    assert "answers.logn: there is no such question; did you mean 'login'?" in done.stderr
    assert (load(ready)["phase"], load(ready, "decisions.json")["decisions"][0]["answer"]) == ("decisions", None)

    ready.write("answers.json", json.dumps({"answers": {"storage": "files"}}))
    done = ready.ralph("plan", "--answers", "answers.json", code=6)
    assert "1 decision is open" in done.stderr and "login: Which login? (No [recommended] / Yes)" in done.stderr
    assert "storage:" not in done.stderr, "that one has its answer in the file"
    assert ready.calls() == 2, "no agent is called again for what is written down"

    ready.write("answers.json", json.dumps({"answers": {"storage": "files", "login": "Only for writing"}}))
    ready.ralph("plan", "--answers", "answers.json")
    found = load(ready, "decisions.json")["decisions"]
    assert [(one["answer"], one["answered_by"]) for one in found] == [
        ("Files", "answers"),
        ("Only for writing", "answers"),
    ]
    for wrong in ({"answers": {"storage": 3}}, {"storage": "Files"}, [1]):
        ready.write("answers.json", json.dumps(wrong))
        assert "answers.json has 1 mistake" in ready.ralph("plan", "x", "--answers", "answers.json", code=1).stderr


def test_without_a_terminal_planning_ends_at_the_open_decisions(ready: Project) -> None:
    done = ready.ralph("plan", REQUEST, code=6)

    assert "2 decisions are open, and there is no terminal" in done.stderr
    assert "storage: Which storage? (Files / SQLite [recommended])" in done.stderr
    assert '{"answers": {"storage": "SQLite", "login": "No"}}' in done.stderr
    assert "`ralph plan --answers FILE`" in done.stderr and "`ralph plan --yes`" in done.stderr
    assert load(ready)["phase"] == "decisions" and ready.exists(".ralph/research.json")
    assert [one["answer"] for one in load(ready, "decisions.json")["decisions"]] == [None, None]

    shown = json.loads(ready.ralph("plan", REQUEST, "--json", code=6).stdout)
    assert [one["id"] for one in shown["decisions"]] == ["storage", "login"]
    assert ready.calls() == 2, "no agent is called again for what is written down"
    ready.ralph("plan", "--yes", "-q")
    assert load(ready)["phase"] == "planning_complete"


def test_without_decisions_no_terminal_is_needed(ready: Project) -> None:
    ready.script(*usual(decisions({"decisions": []})))
    ready.ralph("plan", REQUEST, "-q")
    assert load(ready)["phase"] == "planning_complete"


def test_a_person_is_asked_in_the_terminal_and_may_stop_in_the_middle(ready: Project) -> None:
    with terminal(ready, "plan", REQUEST) as person:
        person.say("typed while an agent works")  # it answers no question
        asked = person.expect("Answer [A]:")
        assert asked.index("A. SQLite") < asked.index("(recommended)") < asked.index("B. Files")
        assert "Files it is" in asked
        person.say("b")
        person.expect("Which login?")
        person.expect("Answer [A]:")
        person.process.send_signal(signal.SIGINT)
        person.expect("Your answers are saved. Run `ralph plan` to continue.")
    assert person.process.returncode == 130
    assert [one["answer"] for one in load(ready, "decisions.json")["decisions"]] == ["Files", None]
    assert "Which storage? Files" in ready.ralph("plan", "--show").stdout

    done = ready.ralph("start", code=1)
    assert "its phase is 'decisions'" in done.stderr
    assert "Run `ralph plan` to answer the open questions." in done.stderr

    with terminal(ready, "plan") as person:
        asked = person.expect("Answer [A]:")
        assert "Which login?" in asked and "Which storage?" not in asked
        person.say("")
        person.expect("`ralph run request`")
    assert person.process.returncode == 0
    assert [one["answered_by"] for one in load(ready, "decisions.json")["decisions"]] == ["person", "person"]
    assert ready.calls() == 3, "what was answered is not asked for again"


def test_answers_with_mistakes_go_back_to_the_agent(ready: Project) -> None:
    circle = plans(task("Model", "task-002"), task("Server", "task-001", "task-009"), times=1)
    double = plans(task("Model", id="a"), task("Server", id="a"), times=1)
    wrong = decisions({"decisions": [{**DECISIONS["decisions"][0], "recommendation": "Paper"}]}, times=1)
    ready.script(*usual(research({"findings": []}, times=1), wrong, circle, double))

    ready.ralph("plan", REQUEST, "--yes", "-q")

    told = "\n".join(text for text in ready.prompts() if "Your Last Answer Could Not Be Used" in text)
    assert "sources: must not be empty" in told
    assert "decisions[0].recommendation: 'Paper' is not one of the options" in told
    assert "dependencies form a cycle: task-001 → task-002 → task-001" in told
    assert "tasks[1].dependencies: there is no 'task-009'" in told
    assert "tasks[1].id: 'a' is already tasks[0]" in told
    assert load(ready)["phase"] == "planning_complete"

    ready.ralph("plan", "--discard")
    ready.script(*usual(plans(task("Model", "task-001"))))
    done = ready.ralph("plan", REQUEST, "--yes", "-q", code=1)
    assert "no usable answer in 3 tries" in done.stderr
    assert load(ready)["phase"] == "planning"
    ready.script(*usual())
    ready.ralph("plan")
    assert load(ready)["phase"] == "planning_complete", "it goes on where it stopped"


def test_an_unfinished_request_is_not_lost_for_another(ready: Project) -> None:
    write_plan(ready, *TASKS)
    planned = [f" D {name}" for name in ready.files_in("HEAD") if name.startswith(".ralph/")]
    done = ready.ralph("plan", "Something else", "--yes", code=1)
    assert f"Another request is not finished: '{REQUEST}' (phase planning_complete)." in done.stderr
    assert "`ralph plan --discard`" in done.stderr and "`ralph run request`" in done.stderr

    ready.ralph("start", "--once", "-q")
    before = ready.truth("request", ".ralph/tasks/task-001.json")
    head, tip = ready.git("rev-parse", "HEAD"), ready.git("rev-parse", "ralph/request")
    done = ready.ralph("plan", "--discard")
    kept = next(ready.path.glob(".ralph/archive/*/tasks/task-001.json"))
    assert f"moved to {kept.parent.parent.relative_to(ready.path)}/" in done.stdout
    assert kept.read_text() == before and '"attempts": 1' in before, "as the branch has it"
    assert (kept.parent.parent / "logs/execution.log").is_file()
    assert "The branch ralph/request is kept." in done.stdout
    assert (ready.git("rev-parse", "HEAD"), ready.git("rev-parse", "ralph/request")) == (head, tip)
    assert [line.strip() for line in ready.status()] == [*map(str.strip, planned), "?? .ralph/archive/"]
    refs = ready.git("for-each-ref", "--format=%(refname)", "refs/ralph/attempts").splitlines()
    assert refs == [f"refs/ralph/attempts/request-{kept.parent.parent.name}/task-001/1"], "its attempts are kept"
    assert "There is no request" in ready.ralph("plan", "--show", code=1).stderr
    assert "There is no request" in ready.ralph("plan", "--discard", code=1).stderr
    assert "There is no request" in ready.ralph("start", code=1).stderr
    ready.ralph("plan", "Something else", "--yes", "-q")
    assert in_checkout(ready)["task_statuses"]["task-001"] == "pending"
    assert in_checkout(ready)["original_request"] in ready.ralph("status", "request").stdout


def test_what_is_left_of_a_request_that_was_merged_is_not_part_of_the_next(ready: Project) -> None:
    write_plan(ready, *TASKS)
    ready.write(".ralph/state.json", json.dumps({**load(ready), "phase": "completed"}))
    ready.write(".ralph/research.json", "{}")
    ready.write(".ralph/results/task-002.json", "{}")
    ready.git("add", "-A")
    ready.git("commit", "-qm", "Finished and merged")
    ready.script(research({"needed": False}), decisions(), plans(task("Only")), builds(1))

    ready.ralph("plan", "Something else", "--yes", "-q")
    ready.ralph("start", "-q")

    assert work(ready) == ["feat: task-001 - Only"]
    there = [name for name in ready.files_in("ralph/request") if name.startswith(".ralph/")]
    assert [name.removeprefix(".ralph/") for name in there] == [
        "decisions.json",
        "prd.md",
        "results/task-001.json",
        "state.json",
        "tasks/task-001.json",
    ]


def editor(project: Project, *lines: str) -> dict[str, str]:
    path = project.folder / "editor.py"
    path.write_text("\n".join(("#!/usr/bin/env python3", "import json, pathlib, sys", *lines)) + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"EDITOR": str(path)}


def test_a_plan_is_edited_and_counts_only_when_it_is_right(ready: Project) -> None:
    write_plan(ready, *TASKS)
    before = ready.read(".ralph/tasks/task-001.json")
    wrong = editor(
        ready,
        "first = pathlib.Path(sys.argv[2])",
        "first.write_text(json.dumps({'id': 'task-001', 'title': 'Better', 'dependencies': ['task-003']}))",
        "pathlib.Path(sys.argv[1]).write_text('# Changed\\n')",
    )
    done = ready.ralph("plan", "--edit", code=1, env=wrong)
    assert "dependencies form a cycle: task-001 → task-003 → task-001" in done.stderr
    assert ready.read(".ralph/tasks/task-001.json") == before and "Changed" not in ready.read(".ralph/prd.md")

    right = editor(
        ready,
        "first = pathlib.Path(sys.argv[2])",
        "first.write_text(first.read_text().replace('task-003', 'task-002'))",
        "(first.parent / 'task-009.json').write_text(json.dumps({'id': 'task-009', 'title': 'More'}))",
    )
    done = ready.ralph("plan", "--edit", env=right)
    assert "Continuing your last edit" in done.stdout
    assert load(ready, "tasks/task-001.json")["title"] == "Better"
    assert load(ready)["task_order"] == ["task-001", "task-002", "task-003", "task-009"]
    assert ready.read(".ralph/prd.md") == "# Changed\n"
    assert "Nothing changed." in ready.ralph("plan", "--edit", env={"EDITOR": "true"}).stdout
    assert "$EDITOR is not set" in ready.ralph("plan", "--edit", code=1).stderr


def test_what_is_wrong_with_the_files_is_told_at_once_and_nothing_is_touched(ready: Project) -> None:
    write_plan(ready, *TASKS)
    good = load(ready)
    (ready.path / ".ralph/tasks/task-002.json").unlink()
    ready.write(".ralph/state.json", json.dumps({**good, "phase": "thinking"}))
    for args in (("start",), ("plan", "--show")):
        done = ready.ralph(*args, code=1)
        assert "phase: expected 'research'" in done.stderr and "there is no file tasks/task-002.json" in done.stderr
    assert "there is no file tasks/task-002.json" in ready.ralph("validate", code=1).stdout
    ready.write(".ralph/state.json", json.dumps({**good, "version": "7.0"}))
    assert "has version '7.0'" in ready.ralph("start", code=1).stderr
    assert load(ready)["version"] == "7.0"


def test_bad_command_lines(ready: Project) -> None:
    assert "cannot be combined" in ready.ralph("plan", "x", "--show", code=1).stderr
    assert "The request is empty" in ready.ralph("plan", "  ", "--yes", code=1).stderr
    assert "There is no request" in ready.ralph("plan", code=1).stderr
    ready.ralph("init", "--specs")
    refused = ready.ralph("start", "build", "--on-failure", "stop", code=1).stderr
    assert "--on-failure does not apply to the specs workflow, only to request." in refused
    assert json.loads(ready.ralph("schema", "request").stdout)["properties"]
