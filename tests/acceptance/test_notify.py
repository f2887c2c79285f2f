"""Notifications of real runs: who is told what, what is written about it, and that no run waits for it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_request_plan import terminal
from tests.conftest import VERIFIED, Project, does, processes_in, wait_for
from tests.integration.notify_server import NotifyServer

SECRET = "zX8yW7vU6tS5rQ4p"


@pytest.fixture
def server() -> Iterator[NotifyServer]:
    with NotifyServer().running() as found:
        yield found


def told(server: NotifyServer, kind: str = "") -> list[dict[str, Any]]:
    """Every single thing that arrived, in order."""
    items = [item for message in server.got for item in message["events"]]
    return [item for item in items if not kind or kind in item["kinds"]]


def hook(server: NotifyServer, path: str = f"ok/{SECRET}", **more: Any) -> list[dict[str, Any]]:
    return [{"to": "webhook", "url": server.url(path), **more}]


def everything_written(project: Project) -> str:
    """All that Ralph and git keep of the project, besides the configuration that the person wrote."""
    folders = (project.path / ".ralph", project.path / ".git", project.home)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


def test_a_finished_run_is_told_when_it_is_over(project: Project, server: NotifyServer) -> None:
    project.config("test -f one.txt", notify=hook(server))
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    (message,) = server.got
    assert message["kinds"] == ["finished"] and message["target"] == "auth" and not message["urgent"]
    assert message["title"].startswith("project: auth finished · 1/1 tasks")
    assert (project.path / ".ralph/logs" / message["run"]).is_dir()
    project.ralph("run", "auth")
    assert len(server.got) == 2, "a run with nothing to do is over too"


def test_tasks_that_are_blocked_together_are_one_message(project: Project, server: NotifyServer) -> None:
    project.config("false", maxRetries=1, notify=hook(server))
    project.stories(*[{"title": f"Story {number}", "dependsOn": []} for number in range(1, 4)])
    project.script(*[does(f"US-00{number}", f"{number}.txt") for number in range(1, 4)])
    project.ralph("run", "auth", "--jobs", "3", "--no-baseline", code=3)
    assert sorted(item["task"] for item in told(server, "blocked")) == ["US-001", "US-002", "US-003"]
    assert [item["headline"].split(" · ")[0] for item in told(server, "finished")] == [
        "auth ended, and not all tasks passed"
    ]
    assert len(server.got) <= 2
    first = told(server, "blocked")[0]
    assert first["commands"][0] == f"ralph retry auth {first['task']}" and "false" in first["headline"]


def test_what_needs_a_person_is_told_with_the_command_that_settles_it(project: Project, server: NotifyServer) -> None:
    project.config("true", notify=hook(server, on=["needs-you"]))
    project.stories("One")
    project.script({"match": "US-001", "say": ["<ralph>BLOCKED:there is no API key</ralph>"]})
    project.ralph("run", "auth", code=3)
    (item,) = told(server)
    assert item["kinds"] == ["needs-you"] and item["need"] == "blocked"
    assert item["headline"].startswith("US-001 One:") and "there is no API key" in item["headline"]
    assert item["commands"][0].startswith("ralph decide auth US-001")
    project.ralph(*item["commands"][0].replace(' "…"', "").split()[1:], "Use the key in KEY.txt", "--yes")


def test_a_budget_that_is_used_up_is_told(project: Project, server: NotifyServer) -> None:
    project.config("false", notify=hook(server, on=["budget"]), budget={"attempts": 1})
    project.stories("One")
    project.script(does("US-001", "one.txt"))
    project.ralph("run", "auth", "--no-baseline", code=4)
    (item,) = told(server)
    assert item["kinds"] == ["finished", "budget"] and "budget" in item["headline"]


def test_an_interrupted_run_tells_nothing(project: Project, server: NotifyServer) -> None:
    project.config("true", notify=hook(server))
    project.stories("One")
    project.script({"match": "US-001", "sleep": 60})
    with project.start("run", "auth", "--no-baseline") as run:
        wait_for(lambda: project.calls() == 1)
        run.send_signal(signal.SIGINT)
        run.communicate()
    assert server.got == []


def test_a_deaf_server_and_a_command_that_floods_do_no_run_any_harm(project: Project, server: NotifyServer) -> None:
    project.config(
        "test -f one.txt",
        notify=[*hook(server, f"silent/{SECRET}"), {"to": "command", "command": "cat > /dev/null; yes"}],
    )
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    began = time.monotonic()
    done = project.ralph("run", "auth")
    assert time.monotonic() - began < 20
    assert server.got, "it was sent"
    assert "webhook http://127.0.0.1" in done.stderr and "1 of 1 notifications not delivered" in done.stderr
    assert "it printed more than 64 KB" in done.stderr
    assert processes_in(project.folder) == []
    journal = next((project.path / ".ralph/logs").glob("*/journal.jsonl")).read_text().splitlines()
    assert json.loads(journal[-1])["ending"] == "done"


def test_nothing_of_an_address_is_written_anywhere(project: Project, server: NotifyServer) -> None:
    topic = "q7w8e9r0t1y2u3i4"
    ways = [
        *hook(server, f"broken/{SECRET}"),
        {"to": "webhook", "url": server.url("broken/${MY_HOOK}")},
        {"to": "apprise", "url": f"json://127.0.0.1:{server.port}/broken/{topic}"},
    ]
    env = {"MY_HOOK": "m1n2b3v4c5x6z7l8"}
    project.config("cat ralph.config.json; false", maxRetries=1, notify=ways)
    project.stories("One")
    talks = {"say": [f"Look: {SECRET} {topic} {env['MY_HOOK']}"]}
    project.script(does("US-001", "one.txt", **talks))
    project.env["RALPH_TRUST"] = "0"
    project.ralph("trust", "--yes")
    approval = next((project.home / ".local/share/ralph/trust").iterdir())
    run = project.ralph("run", "auth", "--no-baseline", code=3, env=env)
    shown = [
        run,
        project.ralph("doctor", code=None),
        project.ralph("trust", "--show"),
        project.ralph("notify", "test", code=1),
    ]
    shown += [project.ralph("notify", "test", "--json", code=1, env=env), project.ralph("logs", "--json")]
    assert sum(len(message.get("events", "1")) for message in server.got) >= 6
    approval.unlink()  # it is the configuration itself, where only the person can read it
    said = "".join(one.stdout + one.stderr for one in shown)
    for secret in (SECRET, topic, env["MY_HOOK"]):
        assert secret not in said and secret not in everything_written(project)
    assert "HTTP 500 Internal Server Error" in said and "The variable MY_HOOK is not set" in said
    assert "→ Set MY_HOOK where you start Ralph." in shown[3].stdout


def test_a_changed_address_is_asked_about_and_the_difference_hides_it(project: Project, server: NotifyServer) -> None:
    project.env["RALPH_TRUST"] = "0"
    project.config("true", notify=hook(server))
    project.stories("One")
    assert "notifier webhook http://127.0.0.1" in project.ralph("trust", "--yes").stdout
    other = [
        {"to": "webhook", "url": "https://evil.example/9f8e7d6c5b4a39281706"},
        {"to": "command", "command": "steal"},
    ]
    text = project.read("ralph.config.json")
    project.write("ralph.config.json", json.dumps({**json.loads(text), "notify": other}))
    shown = project.ralph("trust", "--show", code=3).stdout
    assert '-      "url": "http://127.0.0.1' in shown and '+      "url": "https://evil.example/…"' in shown
    assert "notifier command steal" in shown
    assert SECRET not in shown and "9f8e7d6c5b4a39281706" not in shown


def test_nothing_is_sent_before_it_is_approved(project: Project, server: NotifyServer) -> None:
    project.env["RALPH_TRUST"] = "0"
    project.config("true", notify=hook(server))
    failed = project.ralph("notify", "test", code=1)
    assert "not approved" in failed.stderr and "notifier webhook" in failed.stderr
    assert server.got == []


def test_a_test_message_goes_to_each_and_their_answers_are_shown(project: Project, server: NotifyServer) -> None:
    programs = project.folder / "desktop"
    programs.mkdir()
    (programs / "notify-send").write_text(f'#!/bin/sh\necho "$@" > {programs}/shown\n')
    (programs / "notify-send").chmod(0o755)
    env = {"PATH": f"{programs}:{project.env['PATH']}", "DISPLAY": ":9"}
    ways = [{"to": "desktop"}, *hook(server, "ok/a"), *hook(server, "broken/a"), {"to": "command", "command": "exit 3"}]
    project.config("true", notify=ways)
    done = project.ralph("notify", "test", code=1, env=env)
    lines = done.stdout.splitlines()
    assert [line[0] for line in lines] == ["✓", "✓", "✗", "✗"]
    assert lines[1].endswith("/…: HTTP 200 OK") and lines[3] == "✗ command exit 3: exit code 3"
    assert "this is a test" in (programs / "shown").read_text()
    assert [message["test"] for message in server.got] == [True, True]
    found = json.loads(project.ralph("notify", "test", "--json", code=1, env=env).stdout)
    assert [one["ok"] for one in found] == [True, True, False, False]
    project.config("true")
    assert "names nobody to notify" in project.ralph("notify", "test", code=1).stderr


def test_doctor_says_how_each_would_be_sent(project: Project) -> None:
    ways = [
        {"to": "desktop"},
        {"to": "webhook", "url": "http://hooks.example.com/abc"},
        {"to": "ntfy", "url": "https://ntfy.sh/${TOPIC}"},
        {"to": "apprise", "url": "tgram://1234:abcd/5678"},
    ]
    project.config("true", notify=ways)
    project.env["PATH"] = f"{Path(shutil.which('git') or '').parent}:/usr/bin:/bin"
    project.installed = True
    checks = {one["what"]: one for one in json.loads(project.ralph("doctor", "--json", code=None).stdout)}
    found = {what: one["state"] for what, one in checks.items() if what.startswith("notify ")}
    desktop = found.pop("notify desktop: There is no desktop here.", "note" if sys.platform == "darwin" else "")
    assert desktop == "note"
    missing = "The variable TOPIC is not set, which the address https://ntfy.sh/… needs."
    assert found == {
        "notify webhook http://hooks.example.com/…: sent without encryption (http)": "good",
        f"notify ntfy https://ntfy.sh/…: {missing}": "bad",
        "notify apprise tgram://…: sent over the network": "good",
    }


def test_agents_cannot_tell_anybody_anything_by_changing_the_configuration(
    project: Project, server: NotifyServer
) -> None:
    project.config("true", notify=hook(server))
    project.git("add", "-A")
    project.git("commit", "-qm", "A configuration")
    project.stories("One")
    changed = json.loads(project.read("ralph.config.json"))
    changed["notify"] = hook(server, "ok/of-an-agent")
    project.script(does("US-001", "ralph.config.json", json.dumps(changed)), VERIFIED)
    project.ralph("run", "auth", code=None)
    assert server.paths and not [path for path in server.paths if "of-an-agent" in path]


def test_a_killed_run_leaves_no_sender(project: Project, server: NotifyServer) -> None:
    project.config("false", maxRetries=1, notify=hook(server, "silent/a"))
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), {"match": "US-002", "sleep": 60})
    with project.start("run", "auth", "--no-baseline") as run:
        wait_for(lambda: bool(server.got))
        os.kill(run.pid, signal.SIGKILL)
        run.communicate()
    wait_for(lambda: processes_in(project.folder) == [])


def test_the_question_names_whom_ralph_would_tell(project: Project, server: NotifyServer) -> None:
    project.env["RALPH_TRUST"] = "0"
    project.config("true", notify=hook(server))
    with terminal(project, "notify", "test", env={"NO_COLOR": "1", "COLUMNS": "300"}) as shown:
        shown.expect("notifier webhook http://127.0.0.1")
        shown.expect("Do you approve it? [y/N]")
        shown.say("y")
        assert SECRET not in shown.expect("HTTP 200 OK")
    assert server.got
