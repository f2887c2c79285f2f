"""RX.5: limits are waited out or another agent works; budgets bound what a night may cost."""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

from tests.conftest import Project, wait_for

PLAYER = """\
import json, pathlib, re, subprocess, sys
prompt = sys.stdin.read()
name = sys.argv[1]
folder = pathlib.Path(sys.argv[2])
calls = folder / f"{name}.calls"
calls.open("a").write("x\\n")
limit = folder / f"{name}.limit"
tell = lambda **event: print(json.dumps(event), flush=True)
tell(type="system", subtype="init", model="m-" + name)
usage = {"input_tokens": 100, "output_tokens": 20}
if limit.exists():
    error = json.loads(limit.read_text())
    if error.pop("once", False):
        limit.unlink()
    tell(type="result", is_error=True, subtype="success", usage={}, total_cost_usd=0, **error)
    sys.exit(1)
story = re.search(r"\\*\\*ID:\\*\\* (US-\\d+)", prompt)
if story:
    pathlib.Path(story[1] + ".txt").write_text(name)
said = "<ralph>DONE</ralph>" if story else "<ralph>VERIFIED</ralph>"
words = [{"type": "text", "text": said}]
tell(type="assistant", message={"id": "1", "model": "m-" + name, "usage": usage, "content": words})
tell(type="result", is_error=False, subtype="success", result=said, usage=usage, total_cost_usd=0.4)
"""


def agents(project: Project, *names: str, gate: str = "true", **more: Any) -> None:
    """Agents that speak like Claude Code, each with a file that says what limits it."""
    player = project.folder / "player.py"
    player.write_text(PLAYER)
    made = {
        name: {"command": sys.executable, "args": [str(player), name, str(project.folder)], "dialect": "claude"}
        for name in names
    }
    roles = {role: {"providers": list(names)} for role in ("executor", "verifier")}
    document = {"provider": made[names[0]], "providers": made, "roles": roles, "verify": {"default": [gate]}, **more}
    project.write("ralph.config.json", json.dumps(document))


def limit(project: Project, name: str, result: str = "API Error: 429 rate limit", **more: Any) -> None:
    (project.folder / f"{name}.limit").write_text(json.dumps({"result": result, "api_error_status": 429, **more}))


def calls(project: Project, name: str) -> int:
    path = project.folder / f"{name}.calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_while_the_first_agent_is_limited_the_second_works_and_every_receipt_says_so(project: Project) -> None:
    agents(project, "one", "two")
    project.stories("One")
    limit(project, "one")

    done = project.ralph("run", "auth", "--no-baseline")

    assert "! The agent could not work: API Error: 429 rate limit. Meanwhile two works." in done.stdout
    assert calls(project, "one") == 1, "it is not asked again while it is limited"
    story = project.story()
    assert (story["passes"], story["retries"], story["attempts"]) == (True, 0, 1)
    assert (story["lastResult"]["agent"], story["lastResult"]["usage"]["model"]) == ("two", "m-two")
    assert "Assisted-by: python" in project.git("log", "--format=%B", "-2", "ralph/auth")
    shown = project.ralph("attempts", "auth").stdout
    assert "two:m-two" in shown and "$0.40" in shown
    row = json.loads(project.ralph("attempts", "auth", "--json").stdout)[0]
    assert (row["agent"], row["costUsd"], row["costSource"]) == ("two", 0.4, "reported")


def test_a_limit_survives_a_restart_and_can_be_tried_at_once(project: Project) -> None:
    agents(project, "one")
    project.stories("One")
    limit(project, "one")

    stopped = project.ralph("run", "auth", "--no-baseline", "--no-wait", code=4)
    assert "stopped at a limit" in stopped.stdout and calls(project, "one") == 1
    again = project.ralph("run", "auth", "--no-baseline", "--no-wait", code=4)
    assert "rate limit" in again.stdout and calls(project, "one") == 1, "nobody is asked before the limit is over"
    waiting = project.start("run", "auth", "--no-baseline")
    wait_for(lambda: project.events("waited"))
    waiting.send_signal(signal.SIGINT)
    said = waiting.communicate(timeout=20)[0]
    assert waiting.returncode == 130 and "waiting for one until" in said
    (project.folder / "one.limit").unlink()
    project.ralph("run", "auth", "--no-baseline", "--try-now")
    assert project.story()["passes"] and project.story()["retries"] == 0


def test_a_limit_that_ends_is_waited_for_in_the_same_attempt(project: Project) -> None:
    agents(project, "one")
    project.stories("One")
    reset = int(time.time()) + 2
    limit(project, "one", "You've hit your limit", once=True)
    path = project.folder / "one.limit"
    path.write_text(
        json.dumps({"result": f"Claude AI usage limit reached|{reset}", "api_error_status": 429, "once": True})
    )

    project.ralph("run", "auth", "--no-baseline")

    assert [event["attempt"] for event in project.events("attempt_started") if event["work"] == "US-001"] == [1]
    assert (project.story()["passes"], project.story()["retries"]) == (True, 0)
    waited = project.events("waited")
    assert len(waited) == 1 and waited[0]["agent"] == "one" and waited[0]["until"] >= reset


def test_a_run_stops_at_its_budget_and_continues_with_more(project: Project) -> None:
    agents(project, "one")
    project.stories("One", "Two")

    ended = project.ralph("run", "auth", "--no-baseline", "--budget", "usd=0.4", code=4)

    assert "The budget of this run is used up: $0.40 of $0.40." in ended.stdout
    assert [story.get("passes", False) for story in project.plan()["userStories"]] == [True, False]
    more = project.ralph("run", "auth", "--no-baseline", "--budget", "usd=5,target.usd=5")
    assert "in all runs: " in more.stdout and "$1.20" in more.stdout
    spent = json.loads(project.ralph("status", "auth", "--json").stdout)[0]["spent"]
    assert (spent["attempts"], spent["costUsd"], spent["tasks"]["US-001"]["costUsd"]) == (3, 1.2000000000000002, 0.4)
    assert "in all runs: 3 attempts" in project.ralph("status", "auth").stdout


def test_a_budget_that_cannot_be_held_is_refused_before_anything_is_spent(project: Project) -> None:
    project.config("true")
    project.stories("One")

    refused = project.ralph("run", "auth", "--budget", "usd=3", code=1)

    assert "plain text" in refused.stderr and "Limit hours or attempts instead" in refused.stderr
    assert project.calls() == 0
