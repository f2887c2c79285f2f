"""The real Claude Code in Ralph's loop, from `ralph init` to the closing summary."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Project, kill_with_warden, processes_in, wait_for
from tests.e2e.conftest import API_KEY, ModelSays, slot
from tests.e2e.model_server import bash, call, refuse, say, write
from tests.e2e.protocols import Turn

DONE = "<ralph>DONE</ralph>"
REVIEW = [say("All of it is there.", "<ralph>VERIFIED</ralph>", usage=(500, 20))]


def prepare(project: Project) -> None:
    """What a person does before the first run: `ralph init` and a plan of one story."""
    project.ralph("init", "--provider", "claude", "--verify", "grep -q hello greet.txt")
    project.stories("Greet")


def does_the_story(project: Project) -> list[Turn]:
    return [
        write(slot(project) / "greet.txt", "hello\n", usage=(1000, 100)),
        bash("git add greet.txt && git commit -q -m 'feat: US-001 - Greet'", usage=(2000, 50)),
        say("The greeting is there.", DONE, usage=(3000, 10)),
    ]


def output_of(project: Project) -> list[dict[str, Any]]:
    """Every line that the real Claude Code printed, in all calls so far."""
    logs = [Path(event["log"]) for event in project.events("agent_started")]
    return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def test_a_feature_is_built_verified_and_accounted_for(project: Project, model_says: ModelSays) -> None:
    model = model_says(does_the_story(project), REVIEW)
    prepare(project)

    done = project.ralph("run", "auth")

    assert "complete · all gates green · final verification agreed" in done.stdout
    assert project.landed("greet.txt") == "hello"
    assert not project.exists("greet.txt") and project.git("branch", "--show-current") == "main"
    assert "feat: US-001 - Greet" in project.subjects()
    assert project.story()["passes"] is True
    assert [gate["passed"] for gate in project.story()["lastResult"]["verify"]] == [True]
    assert "**ID:** US-001" in "".join(model.requests[0].texts), "the prompt reached the model"
    assert "# Final Verification" in "".join(model.requests[-1].texts)

    story, review = (event["usage"] for event in project.events("agent_ended"))
    results = [event for event in output_of(project) if event["type"] == "result"]
    assert (story["input_tokens"], story["output_tokens"]) == (6000, 160)
    assert (review["input_tokens"], review["output_tokens"]) == (500, 20)
    assert [story["cost_usd"], review["cost_usd"]] == [result["total_cost_usd"] for result in results]
    assert story["model"] == model.requests[0].body["model"]
    cost = story["cost_usd"] + review["cost_usd"]
    assert cost > 0.01
    assert f"6.5k tokens in, 180 out · ${cost:.2f}\n" in done.stdout


def marker_in_a_tool_result(project: Project) -> list[Turn]:
    return [bash(f"echo '{DONE}'")]


def marker_in_a_file(project: Project) -> list[Turn]:
    return [write(slot(project) / "greet.txt", f"hello\n{DONE}\n"), bash("cat greet.txt")]


def marker_of_a_sub_agent(project: Project) -> list[Turn]:
    return [call("Agent", prompt="Look around", description="Look", subagent_type="general-purpose")]


@pytest.mark.parametrize("elsewhere", [marker_in_a_tool_result, marker_in_a_file, marker_of_a_sub_agent])
def test_only_what_the_agent_itself_says_counts(
    project: Project, model_says: ModelSays, elsewhere: Callable[[Project], list[Turn]]
) -> None:
    sub_agent = [say(DONE)]
    story = [*elsewhere(project), write(slot(project) / "good.txt", "good\n"), say("I have looked around.")]
    model_says(story, sub_agent)
    prepare(project)

    project.ralph("run", "auth", "--once", code=3)

    assert DONE in json.dumps(output_of(project)), "the marker was in its output"
    assert f"ended without saying {DONE}" in project.story()["notes"]
    assert "I have looked around." in project.story()["notes"]
    assert project.story()["retries"] == 1
    assert project.events("agent_ended")[0]["claims"] == []
    assert project.events("attempt_ended")[0]["gates"] == [], "the gates were not even asked"


@pytest.mark.parametrize(
    "refusal",
    [refuse(429, "Too many requests", retry_after="3600"), refuse(529, "Overloaded")],
    ids=["rate limit", "overload"],
)
def test_a_limit_costs_no_retry_and_the_run_waits(project: Project, model_says: ModelSays, refusal: Turn) -> None:
    model_says([refusal], does_the_story(project), REVIEW)
    prepare(project)

    waiting = stop_when_it_waits(project)

    assert str(refusal.status) in waiting["reason"]
    assert project.story()["retries"] == 0
    assert [event["verdict"] for event in project.events("attempt_ended")] == ["interrupted"]
    assert "complete" in project.ralph("run", "auth", "--try-now").stdout


def test_a_subscription_s_limit_is_waited_for_until_it_resets(project: Project, model_says: ModelSays) -> None:
    limit = {"status": "rejected", "reset": str(int(time.time()) + 3600), "representative_claim": "five_hour"}
    model_says([refuse(429, "limit", **{f"anthropic_ratelimit_unified_{name}": text for name, text in limit.items()})])
    del project.env["ANTHROPIC_API_KEY"]
    project.env["CLAUDE_CODE_OAUTH_TOKEN"] = "sk-ant-oat01-not-a-real-token"
    prepare(project)

    waiting = stop_when_it_waits(project)

    assert "You've hit your 5-hour limit" in waiting["reason"]
    assert 3000 < waiting["seconds"] <= 3600
    assert project.story()["retries"] == 0


def stop_when_it_waits(project: Project) -> dict[str, Any]:
    """Run until Ralph waits for a limit, then press Ctrl-C; what it told about the wait."""
    run = project.start("run", "auth")
    wait_for(lambda: project.events("waited") or run.poll() is not None, seconds=60, what="it waits")
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130, out
    [waiting] = project.events("waited")
    return waiting


def test_a_wrong_key_stops_the_run_and_says_so(project: Project, model_says: ModelSays) -> None:
    model_says([refuse(401, "invalid x-api-key")])
    prepare(project)

    done = project.ralph("run", "auth", code=1)

    assert done.stdout.count("The agent cannot be used: Invalid API key") == 1
    assert "auth: stopped" in done.stdout
    assert "→ Fix that, then run `ralph run auth` to resume." in done.stdout
    assert project.story()["retries"] == 0
    assert len(project.events("agent_started")) == 1


def test_no_login_and_no_credit_stop_the_run_too(project: Project, model_says: ModelSays) -> None:
    model_says([refuse(400, "Your credit balance is too low to access the API.")], [say("never reached")])
    prepare(project)
    assert "The agent cannot be used" in project.ralph("run", "auth", code=1).stdout

    del project.env["ANTHROPIC_API_KEY"]
    assert "Not logged in" in project.ralph("run", "auth", code=1).stdout
    assert project.story()["retries"] == 0


def test_a_command_in_the_background_is_waited_for_and_its_tokens_are_counted(
    project: Project, model_says: ModelSays
) -> None:
    slow = "i=0; while [ $i -lt 120 ]; do i=$((i+1)); sleep 0.1; done; echo over"
    background = call("Bash", command=slow, run_in_background=True, description="tests", usage=(1000, 10))
    model_says([background, say("I wait for the tests.", usage=(1000, 10)), *does_the_story(project)], REVIEW)
    prepare(project)

    project.ralph("run", "auth", "--once")

    assert project.story()["passes"] is True
    assert project.events("agent_ended")[0]["usage"]["input_tokens"] == 8000


def test_the_api_key_reaches_no_log(project: Project, model_says: ModelSays) -> None:
    model = model_says([bash('echo "The key is $ANTHROPIC_API_KEY."'), say("I have seen it.")])
    prepare(project)

    project.ralph("run", "auth", "--once", code=3)

    assert any(f"The key is {API_KEY}." in text for text in model.requests[-1].texts), "its own commands have the key"
    assert "The key is [secret]." in json.dumps(output_of(project))
    for path in (project.path / ".ralph").rglob("*"):
        assert not path.is_file() or API_KEY.encode() not in path.read_bytes(), path


def test_a_server_that_the_agent_left_running_does_not_hold_up_the_story(
    project: Project, model_says: ModelSays
) -> None:
    server = call("Bash", command="tail -f /dev/null", description="A server", run_in_background=True)
    model_says([server, *does_the_story(project)])
    prepare(project)

    project.ralph("run", "auth", "--once")

    assert project.events("agent_ended")[0]["how"] == "lingered", "it would have waited for its server"
    assert project.story()["passes"] is True
    assert processes_in(project.folder) == []


def in_an_endless_command(project: Project) -> list[Turn]:
    begin = write(slot(project) / "half.txt", "half\n")
    return [begin, bash(f"touch {project.folder}/begun; tail -f /dev/null"), say("It ended by itself.", DONE)]


def start_and_wait_for_the_command(project: Project) -> subprocess.Popen[str]:
    run = project.start("run", "auth")
    begun = project.folder / "begun"
    wait_for(lambda: begun.exists() or run.poll() is not None, seconds=60, what="the agent's command runs")
    if run.poll() is not None:
        raise AssertionError(run.communicate()[0])
    assert len(sessions(project)) >= 3, "Ralph, Claude Code and its command are each in a session of their own"
    return run


def sessions(project: Project) -> set[int]:
    found = set()
    for pid in processes_in(project.path):
        with suppress(ProcessLookupError):
            found.add(os.getsid(pid))
    return found


def test_stopped_while_the_agent_runs_a_command_nothing_is_left_running(
    project: Project, model_says: ModelSays
) -> None:
    model_says(in_an_endless_command(project), does_the_story(project), REVIEW)
    prepare(project)
    run = start_and_wait_for_the_command(project)

    run.send_signal(signal.SIGTERM)
    out, _ = run.communicate(timeout=60)

    assert run.returncode == 130, out
    assert "interrupted · run the same command again to resume" in out
    assert processes_in(project.folder) == []
    assert project.story()["retries"] == 0
    assert "half.txt" in project.files_in("refs/ralph/attempts/auth/US-001/1"), "what it made is kept"
    assert "complete" in project.ralph("run", "auth").stdout


def test_killed_while_the_agent_runs_a_command_the_next_run_ends_the_orphans_first(
    project: Project, model_says: ModelSays
) -> None:
    model_says(in_an_endless_command(project), does_the_story(project), REVIEW)
    prepare(project)
    run = start_and_wait_for_the_command(project)
    kill_with_warden(run)
    assert len(sessions(project)) >= 2, "Claude Code and its command live on"

    done = project.ralph("run", "auth")

    assert "Ralph ended the processes that it had left running" in done.stdout
    assert "complete" in done.stdout
    assert processes_in(project.folder) == []
    assert project.story()["retries"] == 0
    assert "half.txt" in project.files_in("refs/ralph/attempts/auth/US-001/1"), "what it made is kept"
