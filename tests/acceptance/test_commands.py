"""R3.1 to R3.3, R3.12, R3.13, R3.20: what each command tells a person."""

from __future__ import annotations

import json
import os
import re
import subprocess

import jsonschema
import pytest

from ralph.stores import lock
from tests.conftest import VERIFIED, Project, does, wait_for

PLAN = ".ralph/2026-01-01-auth/prd.json"


def test_init_writes_a_configuration_that_its_own_schema_accepts_and_never_overwrites(project: Project) -> None:
    done = project.ralph("init", "--provider", "amp", "--verify", "make test")

    config = json.loads(project.read("ralph.config.json"))
    assert config["provider"]["command"] == "amp"
    assert config["provider"]["args"] == ["--dangerously-allow-all", "-x"]
    assert config["verify"]["default"] == ["make test"]
    schema = json.loads((project.path / config["$schema"]).read_text())
    jsonschema.validate(config, schema)
    assert json.loads(project.ralph("schema", "config").stdout) == schema
    assert "wrote ralph.config.json" in done.stdout
    assert {"ralph.lock", "logs/", "screenshots/"} <= set(project.read(".ralph/.gitignore").splitlines())

    before = project.read("ralph.config.json")
    again = project.ralph("init", "--provider", "claude")
    assert "already exists and was not changed" in again.stdout
    assert project.read("ralph.config.json") == before


def test_a_wrong_configuration_is_refused_with_all_its_mistakes(project: Project) -> None:
    project.write(
        "ralph.config.json", json.dumps({"maxRetry": 1, "provider": {"timeout": "long"}, "verify": {"ui": [1]}})
    )
    project.stories("One")

    for args in (["run", "auth"], ["validate"]):
        done = project.ralph(*args, code=1)
        text = done.stdout + done.stderr
        assert "maxRetry: unknown key; did you mean 'maxRetries'?" in text
        assert "provider.command: missing, and required" in text
        assert "provider.timeout: expected a valid number, found text 'long'" in text
        assert "verify.default: missing, and required" in text
        assert "verify.ui[0]: expected a valid string, found number 1" in text
    assert project.git("branch", "--show-current") == "main"


def test_broken_json_names_the_place(project: Project) -> None:
    project.write("ralph.config.json", '{"provider": ')

    assert re.search(r"not valid JSON: .*line 1 column", project.ralph("run", "auth", code=1).stderr)


def test_a_wrong_plan_is_refused_with_all_its_mistakes_and_nothing_changes(project: Project) -> None:
    project.config("true")
    project.stories("One", {"id": "US-001", "title": ""}, {"title": "c", "passes": "yes", "dependsOn": ["US-9"]})
    before = project.git("rev-parse", "HEAD"), project.status(), project.read(".ralph/2026-01-01-auth/prd.json")

    done = project.ralph("run", "auth", code=1)

    assert "userStories[1].id: 'US-001' is already userStories[0]" in done.stderr
    assert "userStories[1].title" in done.stderr
    assert "userStories[2].passes" in done.stderr
    assert "there is no 'US-9'" in done.stderr
    after = project.git("rev-parse", "HEAD"), project.status(), project.read(".ralph/2026-01-01-auth/prd.json")
    assert after == before
    assert json.loads(project.ralph("validate", "--json", code=1).stdout)["valid"] is False


def test_an_unknown_feature_lists_what_there_is(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.stories("One", feature="billing")

    for command in ("run", "status", "next", "verify", "validate", "attempts"):
        done = project.ralph(command, "auht", code=1)
        assert "There is no plan 'auht'; did you mean 'auth'?" in done.stderr
        assert "billing" in done.stderr
    for name in ("../evil", "a/b", "..", ".hidden", "a b", ""):
        assert "is not a valid feature name" in project.ralph("run", name, code=1).stderr


def test_the_most_recent_of_several_features_of_one_name_counts(project: Project) -> None:
    project.config("true")
    project.stories("Old")
    project.write(
        ".ralph/2026-05-01-auth/prd.json", project.read(".ralph/2026-01-01-auth/prd.json").replace("Old", "New")
    )
    project.write(".ralph/2026-06-01-oauth/prd.json", project.read(".ralph/2026-01-01-auth/prd.json"))

    assert project.ralph("next", "auth").stdout == "auth: US-001 New\n"


def test_a_missing_agent_is_named_with_how_to_get_it(project: Project) -> None:
    project.config("true", provider={"command": "claude"})
    project.stories("One")

    done = project.ralph("run", "auth", code=1, env={"PATH": "/usr/bin:/bin"})

    assert "The agent 'claude' was not found" in done.stderr
    assert "npm install -g @anthropic-ai/claude-code" in done.stderr


def test_a_second_run_is_refused_and_names_the_first(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script({"match": "US-001", "run": [f"touch {project.folder}/begun"], "sleep": 60})
    first = project.start("run", "auth")
    wait_for((project.folder / "begun").exists)

    done = project.ralph("run", "auth", code=5)

    assert f"process {first.pid}" in done.stderr
    assert "is working on auth" in project.ralph("status", "auth").stdout
    first.terminate()
    first.communicate(timeout=20)


def test_a_dead_owners_lock_is_taken_over_and_a_living_ones_is_respected(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    dead = subprocess.Popen(["true"])
    dead.wait()
    note = project.path / ".ralph/ralph.lock"
    with lock.hold(note, lock.me("r1", "auth")):
        assert str(os.getpid()) in project.ralph("run", "auth", code=5).stderr
        project.git("clean", "-fdx", ".ralph/ralph.lock")
        assert str(os.getpid()) in project.ralph("run", "auth", code=5).stderr
    for pid in (dead.pid, 1):  # a process that is gone, and one that has nothing to do with it
        project.write(".ralph/ralph.lock", json.dumps({"pid": pid, "run": "r2"}))
        project.ralph("run", "auth")


def test_status_next_and_logs_tell_where_everything_stands(project: Project) -> None:
    project.config("test -f ok.txt", maxRetries=1)
    project.stories("One", "Two", "Three")
    project.script(does("US-001", "ok.txt"), {"match": "ID:.. US-002", "exit": 1}, does("US-003", "three.txt"))

    assert project.ralph("next").stdout == "auth: US-001 One\n"
    project.ralph("run", "auth", code=3)

    status = project.ralph("status", "auth").stdout
    assert "2/3 passed, 1 blocked" in status
    assert "✓ US-001" in status
    assert "✗ US-002" in status
    assert "exit code 1" in status
    rows = json.loads(project.ralph("status", "--json").stdout)
    assert [story["state"] for story in rows[0]["tasks"]] == ["passed", "blocked", "passed"]
    assert "test -f ok.txt" in project.ralph("status", "auth", "--task", "US-001").stdout
    assert "has no task 'US-01'; did you mean" in project.ralph("status", "auth", "--task", "US-01", code=1).stderr
    assert "attempt_ended" in project.ralph("logs", "--events").stdout
    assert "auth                  blocked" in project.ralph("logs", "--list").stdout


def test_a_person_can_accept_a_story_and_retry_a_blocked_one(project: Project) -> None:
    project.config("true", maxRetries=1)
    project.stories("One", "Two")
    project.script({"match": "ID:.. US-00[12]", "done": True}, VERIFIED)
    project.ralph("run", "auth", code=3)
    before = project.git("rev-parse", "HEAD"), project.status(), project.read(PLAN)

    project.ralph("accept", "auth", "US-001", "--why", "main does it already", "--yes")
    assert project.plan_at("ralph/auth")["userStories"][0]["passes"] is True, "on the branch, where its truth is"
    assert "main does it already" in project.story()["lastResult"]["summary"]
    assert "US-002" in project.ralph("retry", "auth").stdout
    assert project.story("US-002")["blocked"] is False
    project.script(does("US-002", "two.txt"), VERIFIED)
    project.ralph("run", "auth")
    assert "Nothing in auth is blocked" in project.ralph("retry", "auth", code=1).stderr
    assert (project.git("rev-parse", "HEAD"), project.status(), project.read(PLAN)) == before


def test_before_the_first_run_a_plan_is_changed_where_a_person_has_it_and_nothing_is_committed(
    project: Project,
) -> None:
    project.config("true")
    project.stories("One", {"title": "Two", "blocked": True})

    project.ralph("accept", "auth", "US-001", "--why", "it is there", "--yes")
    project.ralph("retry", "auth", "US-002")

    states = [(story.get("passes"), story.get("blocked")) for story in json.loads(project.read(PLAN))["userStories"]]
    assert states == [(True, False), (False, False)]
    assert (project.subjects("HEAD"), project.git("branch", "--list", "ralph/*")) == (["A project"], "")


def test_verify_runs_the_gates_without_an_agent(project: Project) -> None:
    project.config("test -f app.txt", "echo 'error: sadly red'; exit 4", verify={"ui": ["false"]})
    project.stories("One", {"title": "Page", "tags": ["ui"]})

    done = project.ralph("verify", "auth", "--story", "US-001", code=3)
    assert "✓ test -f app.txt" in done.stdout
    assert "error: sadly red" in done.stdout
    report = json.loads(project.ralph("verify", "--json", code=3).stdout)
    assert [gate["passed"] for gate in report["gates"]] == [True, False, False]
    assert report["green"] is False
    project.config("true")
    project.ralph("verify")


def test_doctor_finds_what_is_missing_and_says_what_to_do(project: Project) -> None:
    project.config("no-such-tool --check", provider={"command": "no-such-agent"})
    done = project.ralph("doctor", code=1)
    assert "The agent 'no-such-agent' was not found" in done.stdout
    assert "'no-such-tool' was not found" in done.stdout
    project.config("test -f app.txt")
    project.script()
    rows = json.loads(project.ralph("doctor", "--json").stdout)
    assert {row["state"] for row in rows} <= {"good", "note"}


def test_json_output_is_only_events_and_quiet_output_only_the_summary(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)

    out = project.ralph("run", "auth", "--once", "--json").stdout
    events = [json.loads(line) for line in out.splitlines()]
    assert events[0]["event"] == "run_started"
    assert events[-1]["event"] == "run_ended"
    assert {"gate_ended", "agent_ended", "attempt_ended"} <= {event["event"] for event in events}
    assert events == project.events()

    quiet = project.ralph("run", "auth", "--quiet").stdout
    assert "▶" not in quiet
    assert "tasks 2 of 2 passed" in quiet
    assert "\x1b" not in out + quiet, "no colours where there is no terminal"


def test_every_command_has_help_and_unknown_ones_a_suggestion(project: Project) -> None:
    overview = project.ralph("--help").stdout
    for name in re.findall(r"^  ([a-z]+)  ", overview, re.MULTILINE):
        assert "Usage: ralph " + name in project.ralph(name, "--help").stdout
    assert "did you mean 'status'?" in project.ralph("statsu", code=2).stderr
    assert project.ralph("--version").stdout.startswith("ralph 0.")
    assert "Ralph 0.1.0, run from a clone, " in project.ralph("upgrade").stdout
    assert "_RALPH_COMPLETE" in project.ralph("completion", "bash").stdout
    asked = {"_RALPH_COMPLETE": "bash_complete", "COMP_WORDS": "ralph st", "COMP_CWORD": "1"}
    assert "status" in project.ralph(env=asked).stdout
    project.stories("One")
    assert "auth" in project.ralph(env={**asked, "COMP_WORDS": "ralph run a", "COMP_CWORD": "2"}).stdout


def test_a_gate_that_hangs_is_ended_with_its_whole_tree_and_the_notes_say_so(project: Project) -> None:
    project.config("setsid sleep 300 & sleep 300", maxRetries=1, verify={"timeout": 1})
    project.stories("One")
    project.script(does("US-001", "one.txt"))

    project.ralph("run", "auth", "--no-baseline", code=3)

    assert "within its time limit of 1 s" in project.story()["notes"]


def test_a_disk_that_an_agent_fills_ends_the_run_with_a_word_and_costs_nothing(project: Project) -> None:
    project.config("true")
    project.write(".gitignore", "filler\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Ignore")
    project.stories("One")
    fill = {
        "match": "ID:.. US-001",
        "times": 1,
        "run": ["head -c 9000000 /dev/zero > filler"],
        "write": {"one.txt": "x"},
    }
    project.script({**fill, "done": True}, does("US-001", "two.txt"), VERIFIED)
    before = project.git("rev-parse", "HEAD"), project.git("status", "--porcelain"), project.read(PLAN)
    small = project.path / ".ralph/worktrees"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        done = project.ralph("run", "auth", code=1)

        assert re.search("No space left on device|Out of diskspace", done.stderr)
        assert (project.git("rev-parse", "HEAD"), project.git("status", "--porcelain"), project.read(PLAN)) == before
        (small / ".slots/1/filler").unlink()
        project.ralph("run", "auth")
        assert "two.txt" in project.files_in("ralph/auth")
    finally:
        subprocess.run(["umount", "-l", str(small)], capture_output=True)


def test_templates_can_be_replaced_and_unknown_variables_are_an_error(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.write(".ralph/prompts/run.md", "MINE {{ storyId }} {{ nonsense }}\n")
    project.script({"match": "MINE US-001", "write": {"a.txt": "a"}, "done": True}, VERIFIED)

    done = project.ralph("run", "auth", code=1)
    assert "unknown variable: nonsense" in done.stderr
    assert "storyTitle" in done.stderr
    project.write(".ralph/prompts/run.md", "MINE {{ storyId }}\n")
    project.ralph("run", "auth")
    assert "MINE US-001\n" in project.prompts()


DEEP = '{"x": ' + "[" * 100_000 + "]" * 100_000 + "}"
LESS_DEEP = '{"userStories": [], "x": ' + "[" * 400 + "]" * 400 + "}"
TITLE = '{"branchName": "ralph/auth", "userStories": [{"id": "US-001", "title": "a\\u0000b"}]}'


@pytest.mark.parametrize("text", [DEEP, LESS_DEEP, TITLE, "\0" * 100, '{"userStories": "\0"}'])
@pytest.mark.parametrize("name", [".ralph/2026-01-01-auth/prd.json", "ralph.config.json"])
def test_a_hostile_file_is_an_ordinary_error_with_its_name(project: Project, name: str, text: str) -> None:
    project.config("true")
    project.stories("One")
    project.write(name, text)

    for command in (["status"], ["status", "auth"], ["run", "auth"], ["validate"], ["doctor"], ["next"]):
        done = project.ralph(*command, code=None)
        assert "bug in Ralph" not in done.stderr, command
    done = project.ralph("run", "auth", code=1)
    assert name.rpartition("/")[2] in done.stderr


def test_a_title_or_a_gate_with_a_nul_character_is_refused_by_its_place(project: Project) -> None:
    project.config("true")
    project.stories("O\0ne")
    project.script(does("US-001", "one.txt"), VERIFIED)
    assert "userStories[0].title: contains a NUL character" in project.ralph("run", "auth", code=1).stderr
    project.stories("One")
    project.config("tr\0ue")
    assert "verify.default[0]: contains a NUL character" in project.ralph("run", "auth", code=1).stderr
