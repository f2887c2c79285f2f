"""Each known agent in a run, played by a program of its name that prints what the real one prints."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import jsonschema
import pytest

from ralph.agent.dialects import AGENTS
from tests.acp_agent import program as acp_program
from tests.conftest import Project, does
from tests.unit.agent.dialects.recorded import DATA, FORMATS, STRUCTURED, lines

DONE = "<ralph>DONE</ralph>"


def plays(project: Project, agent: str, output: bytes | Path, *, before: str = "", code: int = 0, **provider) -> None:
    """Put a program of the agent's name on PATH and configure it as `ralph init` does."""
    bin_ = project.folder / "bin"
    bin_.mkdir(exist_ok=True)
    if isinstance(output, bytes):
        played = project.folder / "output.jsonl"
        played.write_bytes(output)
    else:
        played = output
    program = bin_ / AGENTS[agent].command
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{before}\ncat {shlex.quote(str(played))}\nexit {code}\n")
    program.chmod(0o755)
    project.env["PATH"] = f"{bin_}:{project.env['PATH']}"
    project.ralph("init", "--provider", agent, "--verify", "test -f work.txt")
    config = json.loads(project.read("ralph.config.json"))
    config["provider"] |= provider
    project.write("ralph.config.json", json.dumps(config))
    project.stories("One")


def once(project: Project, code: int) -> str:
    done = project.ralph("run", "auth", "--once", "--no-baseline", code=code)
    return done.stdout + done.stderr


@pytest.mark.parametrize("agent", STRUCTURED)
def test_a_task_passes_with_every_agent(project: Project, agent: str) -> None:
    form = FORMATS[agent]
    events = [*form.says("I begin."), *form.tool(DONE), *form.says(f"It works.\n**{DONE}**"), *form.end("")]
    plays(project, agent, lines(*events), before="echo x > work.txt")

    once(project, 0)

    assert project.story()["passes"] is True
    assert project.events("agent_ended")[0]["claims"] == ["DONE"]


@pytest.mark.parametrize("agent", STRUCTURED)
def test_a_refused_key_stops_the_run_with_the_remedy(project: Project, agent: str) -> None:
    plays(project, agent, DATA / agent / "bad-key-401.jsonl", code=0 if agent in ("qwen", "goose", "pi") else 1)

    said = once(project, 1)

    assert said.count("The agent cannot be used: ") == 1
    assert AGENTS[agent].login.partition(",")[0] in " ".join(said.split())
    assert "Create hello.txt" not in said
    assert project.story().get("attempts", 0) in (0, 1)
    assert project.story().get("failures", 0) == 0


@pytest.mark.parametrize("agent", ["claude", "opencode", "copilot", "qwen"])
def test_an_agent_that_may_not_write_stops_the_run(project: Project, agent: str) -> None:
    name = "not-permitted" if agent == "qwen" else "refused"
    data = (DATA / agent / f"{name}.jsonl").read_bytes()
    if agent == "qwen":  # the recorded model had refused to work without tools
        data = data.splitlines(keepends=True)[0] + lines(
            *FORMATS[agent].says("I cannot write."), *FORMATS[agent].end("")
        )
    args = [word for word in AGENTS[agent].args if word not in AGENTS[agent].permission]
    plays(project, agent, data, args=args)

    said = " ".join(once(project, 1).split())

    assert "The agent may not change files: it was refused the tool" in said
    if AGENTS[agent].permission:
        assert f"Add {AGENTS[agent].permission[0]} to provider.args" in said


def test_a_reviewer_that_may_not_write_its_answer_stops_the_run(project: Project) -> None:
    program = project.folder / "claude"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\ncat {shlex.quote(str(DATA / 'claude' / 'refused.jsonl'))}\n")
    program.chmod(0o755)
    reviewer = {"command": str(program), "args": ["-p", "--output-format", "stream-json", "--verbose"]}
    project.config("true", review={}, providers={"r": reviewer}, roles={"reviewer": {"provider": "r"}})
    project.stories("One")
    project.script(does("US-001", "one.txt"))

    said = " ".join(once(project, 1).split())

    assert said.count("The agent may not change files: it was refused the tool Write.") == 1
    assert len(project.events("agent_ended")) == 2, "the reviewer is asked once"


def test_a_rate_limit_costs_the_task_nothing_and_the_run_goes_on(project: Project) -> None:
    limited = DATA / "opencode" / "rate-limit-429.jsonl"  # it says when to try again, which is long past
    good = project.folder / "good.jsonl"
    form = FORMATS["opencode"]
    good.write_bytes(lines(*form.says(DONE), *form.end("")))
    once_limited = (
        f"if ! test -f {project.folder}/called; then touch {project.folder}/called; cat {limited}; exit 1; fi"
    )
    plays(project, "opencode", good, before=f"{once_limited}\necho x > work.txt")

    once(project, 0)

    assert project.story()["passes"] is True
    assert "rate limited" in project.events("waited")[0]["reason"]
    assert [event["verdict"] for event in project.events("attempt_ended")] == ["passed"], "it waits within the attempt"


@pytest.mark.parametrize("agent", ["qwen", "goose", "pi"])
def test_an_error_behind_exit_code_0_fails_the_attempt(project: Project, agent: str) -> None:
    plays(project, agent, DATA / agent / "too-long-400.jsonl")

    once(project, 3)

    assert "The task does not fit into the model's context: " in project.story()["notes"]


def test_silence_with_exit_code_0_fails_the_attempt(project: Project) -> None:
    plays(project, "codex", b"")

    once(project, 3)

    assert "The agent ended with exit code 0, but said nothing." in project.story()["notes"]


def test_a_program_that_repeats_the_prompt_does_not_get_it_quoted_back(project: Project) -> None:
    project.config("true", provider={"command": "sh", "args": ["-c", "cat >&2; echo 'no luck' >&2; exit 7"]})
    project.stories("A story with a title of its own")

    once(project, 3)

    notes = project.story()["notes"]
    assert notes.startswith("The agent ended with exit code 7.")
    assert notes.endswith("Its last words:\n\nno luck")


@pytest.mark.parametrize("agent", AGENTS)
def test_init_says_in_one_line_what_the_agent_may_do(project: Project, agent: str) -> None:
    said = project.ralph("init", "--provider", agent, "--verify", "true").stdout

    line = next(line for line in said.splitlines() if AGENTS[agent].permission_note in line)
    assert line.startswith(agent)
    assert all(word in line for word in AGENTS[agent].permission)
    config = json.loads(project.read("ralph.config.json"))
    assert all(word in config["provider"]["args"] for word in AGENTS[agent].permission)


def test_agents_lists_what_is_known_and_what_is_installed(project: Project) -> None:
    bin_ = project.folder / "bin"
    bin_.mkdir()
    (bin_ / "codex").write_text("#!/bin/sh\necho codex-cli 0.166.0. >&2\n")
    for name in ("amp", "codex-acp"):
        (bin_ / name).write_text("#!/bin/sh\nexit 3\n")
    for name in ("codex", "amp", "codex-acp"):
        (bin_ / name).chmod(0o755)
    project.env["PATH"] = f"{bin_}:{project.env['PATH']}"

    said = project.ralph("agents").stdout
    rows = {row["name"]: row for row in json.loads(project.ralph("agents", "--json").stdout)}

    assert f"✓ codex     Codex 0.166.0: structured output, dialect codex ({bin_}/codex)" in said
    assert f"✓ amp       Amp: plain text ({bin_}/amp)" in said
    assert said.index("codex") < said.index("not installed")
    assert set(rows) == set(AGENTS)
    assert """over ACP: codex-acp -c 'sandbox_mode="danger-full-access"'\n""" in said
    assert "over ACP: claude-agent-acp (not installed: npm install -g @agentclientprotocol" in said
    assert (rows["codex"]["acp"]["path"], rows["gemini"]["acp"]["installed"]) == (f"{bin_}/codex-acp", False)
    assert rows["amp"]["acp"] is None
    assert rows["codex"]["version"] == "0.166.0"
    assert (rows["amp"]["installed"], rows["amp"]["version"]) == (True, None)
    assert rows["codex"]["args"] == list(AGENTS["codex"].args)
    missing = [name for name, row in rows.items() if not row["installed"]]
    assert all(f"· {name}" in said for name in missing)
    assert all(rows[name]["path"] is None for name in missing)


def test_an_agent_that_takes_its_prompt_as_an_argument_gets_it(project: Project) -> None:
    bin_ = project.folder / "bin"
    bin_.mkdir()
    program = bin_ / "mini"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {project.folder}/args\necho x > work.txt\necho "{DONE}"\n')
    program.chmod(0o755)
    project.ralph("init", "--provider", "mini", "--verify", "test -f work.txt")
    project.stories("One")
    assert "The agent 'mini' was not found" in project.ralph("run", "auth", code=1).stderr
    project.env["PATH"] = f"{bin_}:{project.env['PATH']}"

    project.ralph("run", "auth", "--once", "--no-baseline", "--model", "m1")

    args = (project.folder / "args").read_text()
    assert args.startswith("-y\n--exit-immediately\n-t\n") and args.endswith("\n-m\nm1\n")
    assert "US-001" in args
    config = json.loads(project.read("ralph.config.json"))
    jsonschema.validate(config, json.loads((project.path / config["$schema"]).read_text()))


def over_acp(project: Project, lines: str, **settings: object) -> None:
    acp_program(project.folder / "bin" / "my-agent", lines)
    project.ralph("init", "--provider", "claude", "--verify", "grep -q hello greet.txt")
    config = json.loads(project.read("ralph.config.json"))
    command = str(project.folder / "bin/my-agent")
    config |= {"provider": {"command": command, "protocol": "acp", **settings}, "roles": {}}
    project.write("ralph.config.json", json.dumps(config))
    project.stories("Greet")


def test_a_story_is_done_over_acp(project: Project) -> None:
    over_acp(
        project,
        f"""
prompt = opened()
open("greet.txt", "w").write("hello")
say("{DONE}" if "US-001" in prompt["params"]["prompt"][0]["text"] else "?")
stop(prompt)
""",
    )
    jsonschema.validate(
        json.loads(project.read("ralph.config.json")), json.loads(project.ralph("schema", "config").stdout)
    )

    assert "my-agent), used over ACP" in project.ralph("doctor", code=None).stdout
    done = project.ralph("run", "auth", "--once", "--no-baseline")

    assert "agent says DONE" in done.stdout
    assert project.landed("greet.txt") == "hello"
    assert project.events("agent_ended")[0]["how"] == "answered"


def test_what_was_denied_over_acp_stops_the_run_and_names_the_setting(project: Project) -> None:
    over_acp(project, "prompt = opened()\nask()\nsay('I may not.')\nstop(prompt)", permissions="deny")

    done = project.ralph("run", "auth", "--once", "--no-baseline", code=1)

    assert "it was refused the tool edit. Set provider.permissions to" in done.stdout
    assert project.story()["retries"] == 0


def test_without_the_library_for_acp_the_message_says_how_to_get_it(project: Project) -> None:
    """The library is hidden from a Ralph that starts from scratch: its folder has no metadata of it."""
    over_acp(project, "stop(opened())")
    hide = project.folder / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(
        "import importlib.metadata as m\n"
        "real = m.Distribution.from_name.__func__\n"
        "def from_name(cls, name):\n"
        "    if name == 'agent-client-protocol':\n"
        "        raise m.PackageNotFoundError(name)\n"
        "    return real(cls, name)\n"
        "m.Distribution.from_name = classmethod(from_name)\n"
    )

    done = project.ralph("run", "auth", code=1, env={"PYTHONPATH": str(hide)})

    assert "the library for the Agent Client Protocol is not installed" in done.stderr
    assert "pip install -e" in done.stderr and "[acp]" in done.stderr
