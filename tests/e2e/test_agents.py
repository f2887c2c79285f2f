"""Real agents in Ralph's loop: what each says, does and cannot do is understood."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.conftest import Project, processes_in, wait_for
from tests.e2e.agents import API_KEY, TESTED, RealAgent
from tests.e2e.conftest import ModelSays
from tests.e2e.model_server import HANG, bash, refuse, say
from tests.e2e.protocols import Turn

DONE = "<ralph>DONE</ralph>"
LEARNING = "<ralph>LEARNING:Greetings live in greet.txt</ralph>"
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
VERIFIED = [say("All of it is there.", "<ralph>VERIFIED</ralph>")]

every_agent = pytest.mark.parametrize("agent", TESTED, indirect=True)
every_other_agent = pytest.mark.parametrize("agent", [name for name in TESTED if name != "claude"], indirect=True)


def prepare(project: Project, agent: RealAgent, *titles: str) -> None:
    project.ralph("init", "--provider", agent.name, "--verify", "grep -q hello greet.txt")
    project.stories(*(titles or ("Greet",)))


def greets(*lines: str) -> list[Turn]:
    return [bash("echo hello > greet.txt", usage=(1000, 100)), say(*(lines or (DONE,)), usage=(2000, 10))]


def limit_time(project: Project, agent: RealAgent) -> None:
    config = json.loads(project.read("ralph.config.json"))
    config["provider"]["timeout"] = agent.seconds
    project.write("ralph.config.json", json.dumps(config))


def stop_when_it_waits(project: Project) -> dict[str, Any]:
    run = project.start("run", "auth")
    wait_for(lambda: project.events("waited") or run.poll() is not None, seconds=120, what="it waits")
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130, out
    return project.events("waited")[0]


@every_other_agent
def test_a_feature_is_built_and_verified(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    red = [bash("echo hi > greet.txt", text=f"First a note.\n\n{LEARNING}"), say(f"**{DONE}**")]
    model = model_says(red, greets(), VERIFIED)
    prepare(project, agent)

    done = project.ralph("run", "auth")

    assert "complete · all gates green · final verification agreed" in done.stdout
    assert project.landed("greet.txt") == "hello"
    assert project.story()["retries"] == 1
    first, second, third = project.events("agent_ended")
    assert first["claims"] == ["DONE", "LEARNING"] and second["claims"] == ["DONE"] and third["claims"] == ["VERIFIED"]
    assert (second["usage"]["input_tokens"], second["usage"]["output_tokens"]) == (3000, 110)
    assert second["usage"]["model"] == agent.model
    main = [request for request in model.requests if not request.side]
    assert "**ID:** US-001" in "".join(main[0].texts), "the prompt reached the model"
    assert "grep -q hello greet.txt" in "".join(main[2].texts), "the second attempt knows why the first failed"
    assert any("Greetings live in greet.txt" in path.read_text() for path in project.path.rglob(".ralph/**/*.md"))


@every_other_agent
def test_a_marker_in_a_tool_s_output_does_not_count(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model_says([bash(f"echo hello > greet.txt; echo '{DONE}'"), say("I have looked around.")])
    prepare(project, agent)

    project.ralph("run", "auth", "--once", code=3)

    assert project.events("agent_ended")[0]["claims"] == []
    assert f"ended without saying {DONE}" in project.story()["notes"]


@every_other_agent
def test_a_wrong_key_stops_the_run_and_costs_nothing(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model = model_says(greets(), VERIFIED)
    model.outage = refuse(401, "invalid api key")
    prepare(project, agent)

    done = project.ralph("run", "auth", code=1)

    assert "The agent cannot be used" in done.stdout
    assert project.story()["retries"] == 0
    assert len(project.events("agent_started")) == 1
    model.outage = None
    assert "complete" in project.ralph("run", "auth").stdout


@pytest.mark.parametrize("agent", [name for name in TESTED if name in KEYS], indirect=True)
def test_a_key_that_was_taken_away_stops_the_run_and_costs_nothing(
    project: Project, agent: RealAgent, model_says: ModelSays
) -> None:
    model_says(greets(), VERIFIED)
    prepare(project, agent)
    key = project.env.pop(KEYS[agent.name])

    done = project.ralph("run", "auth", code=1)

    assert "The agent cannot be used" in done.stdout
    assert (project.story()["retries"], len(project.events("agent_started"))) == (0, 1)
    project.env[KEYS[agent.name]] = key
    assert "complete" in project.ralph("run", "auth").stdout


@pytest.mark.parametrize("status", [429, 500])
@every_other_agent
def test_a_limit_or_an_overload_is_waited_out(
    project: Project, agent: RealAgent, model_says: ModelSays, status: int
) -> None:
    model = model_says(greets(), VERIFIED)
    model.outage = refuse(status, "come back later")
    prepare(project, agent)

    stop_when_it_waits(project)

    assert project.story()["retries"] == 0
    assert [event["verdict"] for event in project.events("attempt_ended")] == ["interrupted"]
    model.outage = None
    assert "complete" in project.ralph("run", "auth", "--try-now").stdout


@every_agent
def test_a_server_that_is_gone_is_waited_for(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model = model_says(greets(), VERIFIED)
    prepare(project, agent)
    limit_time(project, agent)
    model.close()

    stop_when_it_waits(project)

    assert project.story()["retries"] == 0


@every_agent
def test_a_model_that_hangs_costs_no_retry(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model_says([HANG])
    prepare(project, agent)
    limit_time(project, agent)

    stop_when_it_waits(project)

    assert project.story()["retries"] == 0


@every_agent
def test_stopped_in_a_running_tool_nothing_is_left(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model_says([bash(f"touch {project.folder}/begun; tail -f /dev/null"), say(DONE)])
    prepare(project, agent)
    run = project.start("run", "auth")
    begun = project.folder / "begun"
    wait_for(lambda: begun.exists() or run.poll() is not None, seconds=120, what="the agent's command runs")

    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)

    assert run.returncode == 130, out
    assert processes_in(project.folder) == []


@every_agent
def test_a_prompt_of_200_kilobytes_arrives(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model = model_says(greets(), VERIFIED)
    prepare(project, agent, f"Greet {'a very long story ' * 11_000}")

    project.ralph("run", "auth", "--once")

    assert len("".join(model.requests[0].texts)) > 200_000
    assert project.story()["passes"] is True


@every_agent
def test_three_run_in_parallel(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    about = {f"**ID:** US-00{n}": [bash(f"echo hello > {n}.txt; echo hello > greet.txt"), say(DONE)] for n in (1, 2, 3)}
    model_says(about={**about, "# Final Verification": VERIFIED})
    prepare(project, agent, "One", "Two", "Three")

    done = project.ralph("run", "auth", "--jobs", "3")

    assert "complete" in done.stdout
    assert [story["retries"] for story in project.plan()["userStories"]] == [0, 0, 0]


@every_agent
def test_the_key_reaches_no_file_of_ralph(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    project.env["OPENAI_API_KEY"] = API_KEY
    model_says([bash('echo "The key is $OPENAI_API_KEY$ANTHROPIC_API_KEY$GEMINI_API_KEY."'), say("I have seen it.")])
    prepare(project, agent)

    project.ralph("run", "auth", "--once", code=3)

    for path in (project.path / ".ralph").rglob("*"):
        assert not path.is_file() or API_KEY.encode() not in path.read_bytes(), path
