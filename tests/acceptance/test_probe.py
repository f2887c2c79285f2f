"""`ralph doctor --probe`, and the short probe before a run with a new configuration."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.conftest import Project, processes_in, wait_for

USAGE = '{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":0,"output_tokens":20}}'
WRITES = "echo it works > ralph-probe.txt"
COMMITS = "git add . && git commit -qm x"
DONE = "says '<ralph>DONE</ralph>'"
ENDLESS = "touch begun; setsid sleep 3600 & exec sleep 3600"
PROGRAM = """#!/bin/sh
says() {{ echo '{{"type":"item.completed","item":{{"id":"1","type":"agent_message","text":"'"$1"'"}}}}'; }}
fails() {{ echo '{{"type":"turn.failed","error":{{"message":"'"$1"'"}}}}'; exit 1; }}
[ "$1" = --version ] && echo "codex-cli 9.8.7" && exit
echo "$PWD" >> {calls}
case "$(cat)" in
*"without a person"*) {work} ;;
*"can be stopped"*) {end} ;;
*) echo x > work.txt; says '<ralph>DONE</ralph>' ;;
esac
echo '{usage}'
"""


def plays(project: Project, work: str = f"{WRITES}; {COMMITS}; {DONE}", end: str = ENDLESS, **provider: Any) -> None:
    """Configure a Codex that does this when it is probed, and a story when it is asked for one."""
    program = project.folder / "bin/codex"
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM.format(calls=project.folder / "calls", work=work, end=end, usage=USAGE))
    program.chmod(0o755)
    project.env["PATH"] = f"{program.parent}:{project.env['PATH']}"
    project.env.pop("RALPH_NO_PROBE", None)
    args = ["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "-"]
    project.config("test -f work.txt", provider={"command": "codex", "args": args, **provider})
    project.stories("One")


def calls(project: Project) -> int:
    file = project.folder / "calls"
    return len(file.read_text().splitlines()) if file.exists() else 0


def probe(project: Project, code: int) -> dict[str, dict[str, Any]]:
    rows = json.loads(project.ralph("doctor", "--probe", "--json", code=code).stdout)
    return {row["check"]: row for row in rows if "check" in row}


def test_an_agent_is_tried_out_completely_in_a_repository_of_its_own(project: Project) -> None:
    plays(project, model="gpt-5")

    rows = probe(project, 0)

    assert [(name, row["state"]) for name, row in rows.items()] == [
        (name, "good")
        for name in ("found", "version", "authenticated", "answers", "writes", "dialect", "usage", "ends", "cost")
    ]
    assert rows["version"]["what"].startswith("codex (gpt-5): version 9.8.7 · ")
    assert "1.0k tokens in, 20 out, about $" in rows["usage"]["what"]
    assert rows["cost"]["what"].startswith("codex (gpt-5): this probe cost about $")
    assert rows["writes"]["seconds"] >= rows["answers"]["seconds"] > 0 and rows["dialect"]["seconds"] is None
    assert calls(project) == 2
    assert not list(project.folder.glob("ralph-probe-*")) and processes_in(project.folder) == []
    assert not project.exists("ralph-probe.txt") and not project.events()


@pytest.mark.parametrize(
    ("work", "provider", "code", "check", "kind", "remedy"),
    [
        ("fails '401 Unauthorized'", {}, 1, "authenticated", "authentication", "codex login"),
        ("fails '429 Too Many Requests'", {}, 4, "answers", "rate limit", "Try again later."),
        ("exit 3", {}, 1, "answers", "crash", "Run `codex` yourself"),
        (DONE, {}, 1, "writes", "", "Check its permissions"),
        (DONE, {"args": ["exec", "--json", "-"]}, 1, "writes", "no write permission", "--dangerously-bypass"),
        (f"{WRITES}; says 'I am done.'", {}, 1, "dialect", "", "provider.dialect"),
        (f"{WRITES}; {DONE}", {"dialect": "text"}, 1, "dialect", "", "provider.dialect"),
        ("", {"command": "no-such-agent"}, 1, "found", "not started", "provider.command"),
    ],
)
def test_what_is_wrong_has_its_kind_and_a_remedy(
    project: Project, work: str, provider: dict[str, Any], code: int, check: str, kind: str, remedy: str
) -> None:
    plays(project, work, end="says 'No.'", **provider)

    rows = probe(project, code)

    assert [name for name, row in rows.items() if row["state"] == "bad"] == [check]
    assert rows[check]["kind"] == kind and remedy in rows[check]["remedy"]


def test_what_does_not_matter_is_a_note(project: Project) -> None:
    plays(project, f"{WRITES}; {DONE}", end="says 'No.'")
    notes = {name: row["what"] for name, row in probe(project, 0).items() if row["state"] == "note"}
    assert "did not commit it" in notes["writes"] and "not tested" in notes["ends"]

    project.config("true")
    project.script()
    assert "is the scripted agent, which is not probed" in project.ralph("doctor", "--probe").stdout
    assert project.calls() == 0


def test_each_agent_is_probed_once_whatever_its_roles(project: Project) -> None:
    plays(project, end="says 'No.'")
    config = json.loads(project.read("ralph.config.json"))
    config["roles"] = {"planner": {"model": "one"}, "verifier": {"model": "one"}}
    project.write("ralph.config.json", json.dumps(config))

    told = project.ralph("doctor", "--probe").stdout

    assert (told.count(": authenticated"), told.count("codex (one): authenticated"), calls(project)) == (2, 1, 4)


def test_a_new_configuration_is_tried_out_before_a_run_and_remembered(project: Project) -> None:
    plays(project, f"{WRITES}; {DONE}")

    first = project.ralph("run", "auth", "--once").stdout

    assert first.startswith("Probing codex: answers, writes files · ")
    assert calls(project) == 2
    assert "Probing" not in project.ralph("run", "auth", "--once", code=None).stdout
    program = project.folder / "bin/codex"
    program.write_text(program.read_text() + "# another version\n")
    assert "Probing" not in project.ralph("run", "auth", "--once", "--no-probe", code=None).stdout
    out = project.ralph("run", "auth", "--once", "--json", code=None).stdout
    assert all(json.loads(line) for line in out.splitlines())
    assert calls(project) == 2 + 1 + 1 + 2, "the last one was probed, and said nothing about it"


def test_an_agent_that_cannot_work_stops_the_run_before_anything_is_spent(project: Project) -> None:
    plays(project, "fails '401 Unauthorized'")

    done = project.ralph("run", "auth", code=1)

    assert "codex cannot work here: The agent cannot be used: 401 Unauthorized" in done.stderr
    assert "→ Run `codex login`" in done.stderr and "--no-probe" in done.stderr
    assert calls(project) == 1 and not project.events()
    project.ralph("run", "auth", code=1)
    assert calls(project) == 2, "a failed probe is not remembered"


def test_a_limit_is_noted_and_the_run_goes_on(project: Project) -> None:
    plays(project, "fails '429 Too Many Requests'")

    done = project.ralph("run", "auth", "--once")

    assert "Probing codex: Ralph could not try it. The agent could not work: 429 Too Many Requests" in done.stdout
    assert calls(project) == 2


def test_agents_that_nobody_knows_are_not_probed_before_a_run(project: Project) -> None:
    plays(project)
    (project.folder / "bin/codex").rename(project.folder / "bin/my-agent")
    project.config("true", provider={"command": "my-agent", "args": ["exec"]})

    assert "Probing" not in project.ralph("run", "auth", "--once", code=None).stdout
    assert calls(project) == 1


def test_interrupted_it_leaves_nothing_running(project: Project) -> None:
    plays(project, ENDLESS)
    run = project.start("run", "auth")
    wait_for(lambda: list(project.folder.glob("ralph-probe-*/project/begun")), what="the agent works")

    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)

    assert run.returncode == 130
    assert processes_in(project.folder) == [] and not list(project.folder.glob("ralph-probe-*"))


def test_an_agent_that_fails_its_probe_stops_no_run_that_has_another_one(project: Project) -> None:
    broken = project.folder / "codex"
    broken.write_text("#!/bin/sh\necho 'ERROR: 401 bad key' >&2\nexit 1\n")
    broken.chmod(0o755)
    agent = project.folder / "other.sh"
    agent.write_text('cat > /dev/null; echo x > work.txt; echo "<ralph>DONE</ralph>"; echo "<ralph>VERIFIED</ralph>"\n')
    other = {"command": "/bin/sh", "args": [str(agent)]}
    provider = {"command": str(broken), "args": ["exec", "--json", "-"]}
    roles = {"executor": {"providers": ["codex", "other"]}, "verifier": {"provider": "other"}}
    document = {"provider": provider, "providers": {"other": other}, "roles": roles, "verify": {"default": ["true"]}}
    project.write("ralph.config.json", json.dumps(document))
    project.stories("One")

    done = project.ralph("run", "auth", "--no-baseline", env={"RALPH_NO_PROBE": "0"})

    assert "401 bad key. Another agent works instead." in done.stderr
    assert project.story()["lastResult"]["agent"] == "other"
