"""Ralph without anybody who watches: no terminal, output in a file, the terminal closed."""

from __future__ import annotations

import re
import signal
import subprocess

import pytest

from tests.acceptance.requests import builds, task, write_plan
from tests.acceptance.sessions import ID, REQUEST
from tests.acceptance.test_session import SCRIPT
from tests.conftest import RALPH, VERIFIED, Project, does, wait_for

STAMP = re.compile(r"\d\d:\d\d:\d\d ")


def waiting(project: Project, **more: object) -> dict[str, object]:
    """A turn that works until the test lets it end."""
    turn = does("US-001", "1.txt")
    return {**turn, "run": [f"while ! test -f {project.folder}/go; do sleep 0.05; done", *turn["run"]], **more}


@pytest.mark.parametrize("args", [("run", "auth", "--no-baseline"), ("prd", "new", "--yes"), ("verify",)])
def test_nohup_outlives_the_terminal(project: Project, args: tuple[str, ...]) -> None:
    go, begun = project.folder / "go", project.folder / "begun"
    held = f"touch {begun}; while ! test -f {go}; do sleep 0.05; done"
    project.config(held if args[0] == "verify" else "true")
    project.stories("One")
    project.script({**does("US-001", "1.txt"), "run": [held]}, VERIFIED, {"run": [held]})
    process = subprocess.Popen(
        ["nohup", str(RALPH), *args],
        cwd=project.path,
        env=project.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for(begun.exists)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    go.touch()
    out, _ = process.communicate(timeout=60)

    assert process.returncode != 130 and "nterrupted" not in out, out
    assert (process.returncode == 0) == (args[0] != "prd"), "its agent gives no answer"


def test_a_closed_terminal_still_interrupts_a_run_that_does_not_ignore_it(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script(waiting(project))
    run = project.start("run", "auth", "--no-baseline")
    wait_for(lambda: project.calls() == 1)
    run.send_signal(signal.SIGHUP)
    run.communicate(timeout=30)
    assert run.returncode == 130


def test_every_line_of_a_run_has_its_time_of_day(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "1.txt"), VERIFIED)
    lines = [line for line in project.ralph("run", "auth").stdout.splitlines() if line]
    assert len(lines) > 8 and all(map(STAMP.match, lines)), lines


def test_clean_says_what_to_pass_when_there_is_nobody_to_ask(project: Project) -> None:
    project.config("true")
    done = project.ralph("clean", "--all", code=1)
    assert "Nothing was removed: --all needs your confirmation, and there is no terminal." in done.stderr
    assert "--yes" in done.stderr and "--dry-run" in done.stderr
    assert project.exists("ralph.config.json")


def test_why_a_run_stops_is_said_once(project: Project) -> None:
    project.config("no-such-program-anywhere")
    project.stories("One")
    project.script(does("US-001", "1.txt"))
    done = project.run("run", "auth")
    assert done.returncode == 1
    assert (done.stdout + done.stderr).count("cannot run in a clean checkout") == 1
    assert "auth: stopped\n" in done.stdout
    assert "cannot run in a clean checkout" in project.events("run_ended")[0]["reason"]


def test_without_gates_a_run_says_unverified_and_fails(project: Project) -> None:
    project.config()
    project.stories("One")
    project.script(does("US-001", "1.txt"), VERIFIED)

    once = project.ralph("run", "auth", "--once", code=3).stdout
    assert "one attempt made · passed, UNVERIFIED · no gate is required, so nothing was verified" in once
    done = project.ralph("run", "auth", code=3).stdout
    assert "auth: all passed, UNVERIFIED · no gate is required, so nothing was verified" in done
    assert project.events("run_ended")[-1]["ending"] == "unverified"
    status = project.ralph("status", "auth").stdout
    assert "UNVERIFIED" in status and not re.search(r"\bverified", status)

    project.config("true")
    assert "US-001 passed when no gate was required" in project.ralph("run", "auth", code=3).stdout
    project.ralph("accept", "auth", "US-001", "--why", "make test is green", "--yes")
    assert "auth: complete · all gates green" in project.ralph("run", "auth").stdout


def test_a_request_without_gates_fails_too(project: Project) -> None:
    project.config()
    write_plan(project, task("Model"))
    project.script(builds(1))
    done = project.ralph("start", code=3).stdout
    assert "request: all passed, UNVERIFIED · no gate is required, so nothing was verified" in done


def test_the_halted_line_says_what_the_gate_said_first(project: Project) -> None:
    project.config("echo 'E   assert 1 == 2'; exit 1", maxRetries=1)
    write_plan(project, task("Model"))
    project.script(builds(1))
    assert "halted · task-001 failed: The gate" in project.ralph("start", "--no-baseline", code=3).stdout
    assert re.search(
        r"halted: task-001 failed\..*exit code 1: E assert 1 == 2", project.ralph("status", "request").stdout
    )


def test_a_session_without_gates_fails_too(project: Project) -> None:
    project.script_file.write_text(SCRIPT.read_text())
    project.config()
    done = project.ralph("session", REQUEST, "--id", ID, code=3).stdout
    assert f"{ID}: all passed, UNVERIFIED · no gate is required, so nothing was verified" in done
    assert "0/0" not in done


def test_verify_without_gates_fails(project: Project) -> None:
    project.config()
    done = project.ralph("verify", code=3).stdout
    assert "UNVERIFIED. No gates are configured: nothing was verified." in done
    assert '"green": false' in project.ralph("verify", "--json", code=3).stdout


def test_the_reason_says_what_the_gate_said_first(project: Project) -> None:
    project.config("echo all is well; echo 'E   assert 1 == 2'; echo more; exit 1", maxRetries=2)
    project.stories("One")
    project.script(does("US-001", "1.txt"))

    done = project.ralph("run", "auth", "--no-baseline", code=3).stdout

    assert "exit code 1: E assert 1 == 2" in done
    assert "exit code 1: E assert 1 == 2" in project.ralph("status", "auth").stdout
    assert "exit code 1: E assert 1 == 2" in project.ralph("attempts", "auth").stdout
    assert any("- Attempt 1: " in text and "exit code 1: E assert 1 == 2" in text for text in project.prompts())
