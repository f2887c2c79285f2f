"""Parallel and flaky gates as a person meets them, with the installed command, kills and Ctrl-C."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.acceptance.test_request_plan import terminal
from tests.acceptance.test_services import prepare, starts
from tests.conftest import VERIFIED, Project, does, kill_with_warden, processes_in, wait_for
from tests.integration.conftest import FOREVER


def gates(project: Project, *given: dict[str, Any], **verify: Any) -> None:
    project.config(gates=[{"timeout": 60, **gate} for gate in given], verify={"default": [], **verify})


def stories(project: Project, number: int = 1) -> None:
    project.stories(*(f"Story {one}" for one in range(1, number + 1)))
    project.script(*(does(f"US-{one:03}", f"{one}.txt") for one in range(1, number + 1)), VERIFIED)


def flips(project: Project, *red: int) -> str:
    """A gate that is red in these of its runs."""
    runs = project.folder / "runs"
    count = f"$(wc -l < {runs} | tr -d ' ')"
    wrong = "|".join(map(str, red))
    return f"echo >> {runs}; case {count} in {wrong}) echo 'error: unlucky'; exit 3;; esac"


def meets(project: Project, name: str, *others: str) -> str:
    """A gate that is green only while the others run too."""
    waits = " ".join(f"while ! test -e {project.folder}/{other}; do sleep 0.01; done;" for other in others)
    return f"touch {project.folder}/{name}; {waits}"


def test_gates_that_run_together_are_told_one_by_one_by_the_installed_command(project: Project) -> None:
    project.installed = True
    gates(
        project,
        {"name": "types", "command": meets(project, "types", "lint"), "parallel": True},
        {"name": "build", "command": "echo made > made"},
        {"name": "lint", "command": meets(project, "lint", "types"), "parallel": True},
        {"name": "test", "command": "test -e made", "needs": ["build"]},
    )
    stories(project)
    told = project.ralph("run", "auth").stdout
    for name in ("types", "build", "lint", "test"):
        assert re.search(rf"^\S+     ✓ {name}: .* · \S+ ?\S+$", told, re.MULTILINE), told
    assert project.story()["passes"]
    logs = [event["result"]["log"] for event in project.events("gate_ended")]
    assert len(set(logs)) == len(logs) and all(Path(log).is_file() for log in logs)


def test_the_living_line_names_every_gate_that_runs(project: Project) -> None:
    going = project.folder / "go"
    wait = f"while ! test -e {going}; do sleep 0.01; done"
    gates(project, *({"name": name, "command": wait, "parallel": True} for name in ("one", "two")))
    stories(project)
    with terminal(project, "run", "auth", "--no-baseline", env={"TERM": "xterm", "COLUMNS": "200"}) as shown:
        assert re.search(r"gate (one|two)[ ,][^·]+$", shown.expect(" · gate "))
        going.touch()
        shown.expect("✓ one")
        shown.all()
    assert project.story()["passes"]


def test_needs_and_the_first_red_gate_are_said_by_verify_too(project: Project) -> None:
    given = [{"name": "lint", "command": "exit 1"}, {"name": "test", "command": "true", "needs": ["lint"]}]
    gates(project, *given, {"name": "types", "command": "true"})
    found = json.loads(project.ralph("verify", "--json", code=3).stdout)
    assert not found["green"]
    assert [(gate["name"], gate["passed"], gate["notRun"]) for gate in found["gates"]] == [
        ("lint", False, False),
        ("test", False, True),
        ("types", True, False),
    ]
    gates(project, *given, {"name": "types", "command": "true"}, failFast=True)
    told = project.ralph("verify", code=3).stdout
    assert "– types: true · did not run: lint is red, and verify.failFast is on" in told


def test_a_red_gate_and_what_did_not_run_because_of_it_are_in_the_next_prompt(project: Project) -> None:
    lint = {"name": "lint", "command": "! grep -q bad 1.txt"}
    gates(project, lint, {"name": "test", "command": "true", "needs": ["lint"]})
    project.stories("One")
    again = does("US-001", "1.txt", "good\n", match="What Went Wrong")
    project.script(again, does("US-001", "1.txt", "bad\n"), VERIFIED)
    told = project.ralph("run", "auth", "--no-baseline").stdout
    assert "– test: true · did not run: it needs lint, which is not green" in told
    prompt = project.prompts()[1]
    assert "The gate lint" in prompt and "The gate test (`true`) did not run: it needs lint" in prompt


def test_a_flaky_gate_is_flaky_in_every_view_and_receipt(project: Project) -> None:
    gates(project, {"name": "test", "command": flips(project, 1)})
    stories(project)
    told = project.ralph("run", "auth", "--no-baseline").stdout
    why = "flaky: it was red (exit code 3), and green when it ran again on the same files"
    assert re.search(r"↻ test: .* · exit code 3 · runs once more on the same files", told)
    assert re.search(rf"✓ test: .* · {re.escape(why)}", told)
    assert "US-001 passed, regression-only, flaky `test`" in told
    assert json.loads(project.ralph("status", "auth", "--json").stdout)[0]["tasks"][0]["retries"] == 0
    assert "flaky `test`" in project.ralph("status", "auth").stdout
    assert "flaky: red, then green on the same files" in project.ralph("status", "auth", "--task", "US-001").stdout
    assert "the gate `test` was flaky" in project.ralph("report", "auth").stdout
    assert "✓ `test` (flaky)" in project.ralph("report", "auth", "--md").stdout
    found = json.loads(project.ralph("report", "auth", "--json").stdout)
    assert found["tasks"][0]["gates"][0]["flaky"]
    assert json.loads(project.ralph("status", "auth", "--json").stdout)[0]["flakyGates"] == {"test": 1}
    assert "flaky" in project.git("log", "--format=%B", "--grep=^Ralph-Attempt", "ralph/auth")
    (path,) = [path for path in (project.path / ".ralph/receipts").rglob("*.jsonl") if "test-result" in _said(path)]
    assert '"flaky":true' in _said(path)
    assert "flaky gates: `test`, red and then green on the same files" in told
    assert "quarantine" not in told


def _said(path: Path) -> str:
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return "".join(base64.b64decode(line.get("payload", "")).decode() for line in lines)


def test_three_flaky_answers_over_two_runs_propose_quarantine_until_it_is_done(project: Project) -> None:
    seen = f"{project.folder}/seen-$(git rev-parse HEAD)"
    flaky = f"test -e {seen} || {{ touch {seen}; exit 3; }}"
    gates(project, {"name": "test", "command": flaky, "required": True})
    stories(project, 3)
    project.ralph("run", "auth", "--no-baseline", "--once")
    assert "quarantine" not in project.ralph("status").stdout
    told = project.ralph("run", "auth", "--no-baseline").stdout
    proposed = "The gate test was flaky 3 times. Repair it, or quarantine it"
    assert proposed in " ".join(told.split())
    assert "The gate test was flaky" in project.ralph("status").stdout
    assert "The gate test was flaky" in project.ralph("status", "auth").stdout
    gates(project, {"name": "test", "command": flaky, "required": False})
    assert "The gate test was flaky" not in project.ralph("status").stdout


def test_a_ui_gate_runs_again_with_services_that_start_anew(project: Project) -> None:
    prepare(project)
    flips_once = flips(project, 1)
    config = json.loads(project.read("ralph.config.json"))
    config["verify"]["ui"].insert(0, f"test ! -e left && touch left && {{ {flips_once}; }}")
    project.write("ralph.config.json", json.dumps(config))
    project.stories({"title": "Page", "tags": ["ui"]})
    project.script(does("US-001", "one.txt"), VERIFIED)
    told = project.ralph("run", "auth", "--no-baseline").stdout
    assert "runs once more on the same files" in told
    assert [entry.get("flaky", False) for entry in project.story()["lastResult"]["verify"]] == [False, True, False]
    assert len(starts(project)) == 3, "for the story, before its gate runs again, and for the final verification"
    assert processes_in(project.folder) == []


def test_reviewers_learn_that_a_gate_is_flaky(project: Project) -> None:
    gates(project, {"name": "test", "command": flips(project, 1)})
    config = json.loads(project.read("ralph.config.json"))
    project.write("ralph.config.json", json.dumps({**config, "review": {}}))
    project.stories("One")
    answer = {"verdict": "qualified", "summary": "good", "findings": []}
    project.script({"match": "# Task Review", "answer": answer}, does("US-001", "1.txt"), VERIFIED)
    project.ralph("run", "auth", "--no-baseline")
    [prompt] = [text for text in project.prompts() if "# Task Review" in text]
    assert "passed, but is flaky: it was red (exit code 3)" in prompt


def test_a_red_gate_that_ends_others_at_any_moment_leaves_copies_that_can_be_used_again(project: Project) -> None:
    """The other copies are being made, or are at work, when the first gate is red."""
    for number in range(300):
        project.write(f"src/{number}.txt", f"{number}\n")
    project.git("add", "src")
    project.git("commit", "-qm", "Files")
    quick = {"name": "quick", "command": "sleep 0.0$(cat one.txt); test $(cat one.txt) = 9"}
    others = ({"name": name, "command": "sleep 0.1", "parallel": True} for name in "abc")
    gates(project, quick, *others, failFast=True, rerun=0)
    config = json.loads(project.read("ralph.config.json"))
    project.write("ralph.config.json", json.dumps({**config, "maxRetries": 20}))
    project.stories("One")
    project.script(*(does("US-001", "one.txt", f"{number}\n", times=1) for number in range(10)), VERIFIED)
    project.ralph("run", "auth", "--no-baseline")
    assert project.story()["passes"]
    assert len(project.events("attempt_ended")) == 11
    assert processes_in(project.folder) == []


def test_a_flaky_held_out_gate_says_no_more_than_that(project: Project) -> None:
    project.write("hidden.txt", "the answer\n")
    command = f"test -e hidden.txt && {{ {flips(project, 1)}; }}"
    gates(project, {"name": "hidden", "command": command, "heldOut": True}, {"name": "test", "command": "true"})
    project.ralph("hold-out", "add", "hidden.txt")
    stories(project)
    project.ralph("run", "auth", "--no-baseline")
    found = {entry["name"]: entry for entry in project.story()["lastResult"]["verify"]}
    assert found["hidden"]["flaky"] and "flaky" not in found["test"]
    journal = json.dumps(project.events())
    assert "unlucky" not in journal and "hidden.txt" not in journal


@pytest.mark.parametrize("leaves_warden", [False, True])
def test_killed_while_three_gates_run_the_next_run_goes_on(project: Project, *, leaves_warden: bool) -> None:
    first = project.folder / "first"
    hangs = f"test -e {project.folder}/go || {{ touch {first}-$0; setsid sleep {FOREVER}; }}"
    gates(project, *({"name": name, "command": hangs.replace("$0", name), "parallel": True} for name in "abc"))
    stories(project)
    run = project.start("run", "auth", "--no-baseline")
    wait_for(lambda: all(first.with_name(f"first-{name}").exists() for name in "abc"))
    if leaves_warden:
        run.kill()
        run.communicate()
        wait_for(lambda: not processes_in(project.folder), what="the warden ends all gates")
    else:
        kill_with_warden(run)
    (project.folder / "go").touch()
    project.ralph("run", "auth", "--no-baseline")
    assert project.story()["passes"]
    assert len(project.git("log", "--format=%H", "--grep=^Ralph-Attempt: auth/US-001/", "ralph/auth").splitlines()) == 1
    wait_for(lambda: not processes_in(project.folder), what="nothing is left")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_three_gates_run_everything_ends_and_the_next_run_goes_on(
    project: Project, number: signal.Signals
) -> None:
    first = project.folder / "first"
    hangs = f"trap '' INT TERM; test -e {project.folder}/go || {{ touch {first}-$0; setsid sleep {FOREVER}; }}"
    gates(project, *({"name": name, "command": hangs.replace("$0", name), "parallel": True} for name in "abc"))
    stories(project)
    run = project.start("run", "auth", "--no-baseline")
    wait_for(lambda: all(first.with_name(f"first-{name}").exists() for name in "abc"))
    run.send_signal(number)
    told, _ = run.communicate(timeout=60)
    assert "Traceback" not in told and "interrupted" in told
    assert processes_in(project.folder) == []
    assert json.loads(project.ralph("status", "auth", "--json").stdout)[0]["tasks"][0]["retries"] == 0
    (project.folder / "go").touch()
    project.ralph("run", "auth", "--no-baseline")
    assert project.story()["passes"]


def test_needs_in_a_circle_are_refused_with_their_place_before_anything_runs(project: Project) -> None:
    gates(project, {"name": "a", "command": "true", "needs": ["b"]}, {"name": "b", "command": "true", "needs": ["a"]})
    stories(project)
    for args in (["run", "auth"], ["validate"], ["verify"]):
        done = project.ralph(*args, code=1)
        assert "gates[0].needs[0]: 'a' needs 'b' needs 'a', so none of them could run" in done.stdout + done.stderr


@pytest.mark.parametrize(("answer", "verify"), [(b"y\n", {"parallel": True}), (b"\n", {})])
def test_init_asks_whether_several_gates_run_at_the_same_time(
    project: Project, answer: bytes, verify: dict[str, Any]
) -> None:
    ours, theirs = pty.openpty()
    how: dict[str, Any] = {"cwd": project.path, "env": project.env, "stdin": theirs, "stdout": subprocess.PIPE}
    with warm.popen(["init", "--verify", "true", "--verify", "exit 0"], stderr=subprocess.STDOUT, **how) as started:
        os.write(ours, answer)
        started.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert json.loads(project.read("ralph.config.json"))["verify"] == {
        "default": ["true", "exit 0"],
        "ui": [],
        **verify,
    }


def test_init_proposes_it_where_nobody_can_answer(project: Project) -> None:
    assert '"verify": {"parallel": true}' in project.ralph("init", "--verify", "true", "--verify", "exit 0").stdout
    (project.path / "ralph.config.json").unlink()
    assert "one after another" not in project.ralph("init", "--verify", "true").stdout
    (project.path / "ralph.config.json").unlink()
    project.ralph("init", "--verify", "true", "--verify", "exit 0", "--parallel")
    assert json.loads(project.read("ralph.config.json"))["verify"]["parallel"] is True
