"""RX.18: what no agent can help is found before the first call, or stops the run; it costs no night."""

from __future__ import annotations

import json

from tests.conftest import RALPH, VERIFIED, Project, does


def test_a_gate_that_cannot_run_in_a_clean_checkout_is_told_before_any_agent_is_called(project: Project) -> None:
    project.config(".venv/bin/pytest -q")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.git("add", "-A")
    project.git("commit", "-qm", "A plan")
    tip = project.git("rev-parse", "main")

    done = project.ralph("run", "auth", code=1)

    assert (
        "The gate `.venv/bin/pytest -q` cannot run in a clean checkout: a command in it was not found." in done.stderr
    )
    assert '"worktrees": {"setup":' in done.stderr
    assert "--keep-going" in done.stderr
    assert project.calls() == 0
    assert project.git("rev-parse", "ralph/auth") == tip, "nothing is committed for it"
    project.ralph("run", "auth", "--no-baseline", code=3)
    assert project.calls() > 0


def test_a_gate_that_works_in_the_checkout_works_in_the_copies(project: Project) -> None:
    project.write(".gitignore", "node_modules/\n.env\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Rules")
    tool = project.write("node_modules/.bin/check", "#!/bin/sh\ntest -f app.txt && ! test -f .env\n")
    tool.chmod(0o755)
    project.write(".env", "SECRET\n")
    project.config("node_modules/.bin/check")
    project.stories("One", "Two")
    evil = "echo '#!/bin/sh' > node_modules/.bin/check"
    project.script(does("US-001", "one.txt", run=[evil]), does("US-002", "two.txt"), VERIFIED)

    project.ralph("run", "auth", "--jobs", "2")

    assert {"one.txt", "two.txt"} <= set(project.files_in("ralph/auth"))
    assert not [name for name in project.files_in("ralph/auth") if "node_modules" in name or ".env" in name]
    assert "app.txt" in tool.read_text(), "an agent's copy is not the person's"


def test_a_gate_that_is_red_from_the_start_may_lack_what_only_the_checkout_has(project: Project) -> None:
    project.config("test -f one.txt")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "Files that git ignores need worktrees.copy, variables verify.env." in done.stdout


def test_a_gate_that_always_changes_what_was_provided_is_told_once(project: Project) -> None:
    """As `uv run` does, which installs the project anew each time."""
    project.write(".gitignore", "node_modules\n")
    project.write("node_modules/tool/a.js", "1\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Rules")
    project.config("echo 2 > node_modules/tool/a.js; echo 3 > node_modules/tool/b.js")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    told = "Files that Ralph had provided were changed, and Ralph restored them: node_modules/tool/a.js and 1 more."
    assert done.stdout.count(told) == 1
    assert (project.path / "node_modules/tool/a.js").read_text() == "1\n"


def test_the_same_failure_of_the_environment_in_two_tasks_stops_the_run(project: Project) -> None:
    project.config("test ! -f US-001.txt -a ! -f US-002.txt || no-such-command", maxRetries=1)
    project.stories("One", "Two", "Three")
    project.script(*(does(f"US-00{n}", f"US-00{n}.txt") for n in (1, 2, 3)))

    done = project.ralph("run", "auth", code=3)

    assert "cannot run for US-001 and US-002 (exit code 127 (command not found))" in done.stdout
    assert project.calls() == 2
    project.ralph("retry", "auth")
    project.ralph("run", "auth", "--keep-going", code=3)
    assert project.calls() == 5


def test_a_set_up_that_fails_stops_the_run_with_its_output(project: Project) -> None:
    project.config("true", worktrees={"setup": ["echo 'no network' >&2; exit 7"]})
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth", code=1)

    assert "no network" in done.stderr
    assert project.calls() == 0


def test_gates_may_run_in_place_and_every_view_says_so(project: Project) -> None:
    project.write(".gitignore", "cache/\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Rules")
    project.config("test -f cache/made", verify={"where": "slot"})
    project.stories("One")
    project.script(does("US-001", "one.txt", run=["mkdir -p cache; touch cache/made"]), VERIFIED)

    done = project.ralph("run", "auth", "--no-baseline", "--once")

    assert "in place" in done.stdout
    assert project.story()["passes"] is True
    assert json.loads(project.ralph("status", "auth", "--json").stdout)[0]["passed"] == 1


def test_an_agent_whose_interpreter_is_missing_is_found_before_anything_is_spent(project: Project) -> None:
    agent = project.folder / "agent"
    agent.write_text("#!/usr/bin/env no-such-node\n")
    agent.chmod(0o755)
    project.config("true", provider={"command": str(agent), "args": []})
    project.stories("One")

    told = project.ralph("run", "auth", code=1).stderr
    assert f"({agent}) cannot run: its interpreter 'no-such-node' was not found." in told
    assert "cannot run: its interpreter" in project.ralph("doctor", code=1).stdout
    agent.write_text("#!/no/such/python\n")
    assert "its interpreter '/no/such/python' was not found" in project.ralph("run", "auth", code=1).stderr


def test_an_agent_that_cannot_run_costs_nothing_and_the_run_continues_when_it_can(project: Project) -> None:
    agent = project.folder / "agent"
    agent.write_text("#!/bin/sh\nexec no-such-node agent.js\n")
    agent.chmod(0o755)
    project.config("true", provider={"command": str(agent), "args": []}, maxRetries=1)
    project.stories("One")

    done = project.ralph("run", "auth", code=None)
    assert done.returncode != 0
    assert "The agent cannot run: exit code 127" in done.stdout and "no-such-node" in done.stdout
    assert (project.story()["retries"], project.story()["blocked"]) == (0, False)

    project.script(does("US-001", "one.txt"), VERIFIED)
    agent.write_text(f"#!/bin/sh\nexec {RALPH} scripted {project.script_file} --state {project.state_file}\n")
    project.ralph("run", "auth")
    assert project.story()["passes"]
