"""Real agents over the Agent Client Protocol in Ralph's loop."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from ralph.agent.dialects import AGENTS
from tests.conftest import Project, processes_in, wait_for
from tests.e2e.agents import API_KEY, OVER_ACP, RealAgent
from tests.e2e.conftest import ModelSays
from tests.e2e.model_server import bash, refuse, say
from tests.e2e.test_agents import DONE, LEARNING, VERIFIED, greets, stop_when_it_waits

every_agent = pytest.mark.parametrize("agent", OVER_ACP, indirect=True)
counts = {"codex-acp": (None, None)}  # it reports only how full the context is


def prepare(project: Project, agent: RealAgent, **settings: Any) -> None:
    name = agent.adapts or agent.name
    project.ralph("init", "--provider", name, "--verify", "grep -q hello greet.txt")
    config = json.loads(project.read("ralph.config.json"))
    acp = AGENTS[name].acp
    assert acp and acp.command == agent.name
    config["provider"] = {"command": acp.command, "args": list(acp.args), "protocol": "acp", **settings}
    config.pop("roles", None)
    project.write("ralph.config.json", json.dumps(config))
    project.stories("Greet")


@every_agent
def test_a_feature_is_built_and_verified(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model = model_says(
        [bash(f"echo hi > greet.txt; echo '{DONE}'", text=f"First a note.\n\n{LEARNING}"), say("I have looked.")],
        greets("It is there.", "", DONE),
        VERIFIED,
    )
    prepare(project, agent)
    assert f"agent {agent.name} ({agent.program}), used over ACP" in project.ralph("doctor").stdout

    done = project.ralph("run", "auth")

    assert "complete · all gates green · final verification agreed" in done.stdout
    assert project.landed("greet.txt") == "hello"
    first, second, third = project.events("agent_ended")
    assert (first["claims"], second["claims"], third["claims"]) == (["LEARNING"], ["DONE"], ["VERIFIED"])
    used = second["usage"]
    assert (used["input_tokens"], used["output_tokens"]) == counts.get(agent.name, (3000, 110))
    assert used["model"] == agent.model
    assert "**ID:** US-001" in "".join(model.requests[0].texts), "the prompt reached the model"
    for path in (project.path / ".ralph").rglob("*"):
        assert not path.is_file() or API_KEY.encode() not in path.read_bytes(), path


@every_agent
def test_a_wrong_key_stops_the_run_and_costs_nothing(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model_says().outage = refuse(401, "invalid api key")
    prepare(project, agent)

    done = project.ralph("run", "auth", code=1)

    assert "The agent cannot be used" in done.stdout
    assert AGENTS[agent.adapts or agent.name].login.split(",")[0] in done.stdout
    assert project.story()["retries"] == 0


@pytest.mark.parametrize("agent", [name for name in OVER_ACP if name != "gemini"], indirect=True)
def test_a_limit_is_waited_out(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model_says().outage = refuse(429, "come back later")
    prepare(project, agent)

    stop_when_it_waits(project)

    assert project.story()["retries"] == 0
    assert [event["verdict"] for event in project.events("attempt_ended")] == ["interrupted"]


@pytest.mark.parametrize("agent", [name for name in OVER_ACP if name != "codex-acp"], indirect=True)
def test_what_the_policy_denies_is_not_done(project: Project, agent: RealAgent, model_says: ModelSays) -> None:
    model_says([bash("echo hello > greet.txt"), say("I may not.")])
    prepare(project, agent, permissions="deny")

    done = project.ralph("run", "auth", "--once", code=3)

    assert 'The agent was refused the tool execute. Set provider.permissions to "allow"' in done.stdout
    assert project.events("agent_ended")[0]["claims"] == []


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
    log = next((project.path / ".ralph").rglob("*agent*.log")).read_text()
    assert '"method": "session/cancel"' in log
