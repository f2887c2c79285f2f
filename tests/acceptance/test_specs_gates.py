"""R1.6, R1.7, R1.10: required and optional gates, and what the next attempt and a person learn from them."""

from __future__ import annotations

import json

from tests.acceptance.specs import builds, plan, progress, spec, statuses, task, tasks, write_plan
from tests.conftest import Project

LOUD = (
    "seq -f 'compiling module %g' 1 3000; test -f 2.txt && exit 0; "
    "printf '\\033[31mE   AssertionError: 5 MB is refused\\033[0m\\n'; seq -f 'compiling module %g' 3001 5000; exit 9"
)


def test_every_gate_is_run_and_told_by_name_and_only_required_ones_decide(project: Project) -> None:
    gates = [
        {"name": "types", "command": "test -f 1.txt"},
        {"name": "lint", "command": "echo ugly; exit 4", "required": False},
        {"name": "slow", "command": "sleep 300", "required": False, "timeout": 0.2},
    ]
    project.config(gates=gates)
    write_plan(project, spec("avatar", task("avatar-1")))
    project.script(builds("avatar-1", "1.txt"))

    done = project.ralph("start", "build", "--no-baseline")

    for part in (
        "✓ types: test -f 1.txt",
        "✗ lint: echo ugly; exit 4",
        "exit code 4 · optional, only a warning",
        "within its time limit of 0.2 s",
        "specs: complete · all required gates green",
    ):
        assert part in done.stdout, part
    prompt = project.prompts()[0]
    assert "- types: `test -f 1.txt`\n- lint: `echo ugly; exit 4` (optional: a failure only warns)" in prompt
    results = [event["result"] for event in project.events("gate_ended")]
    assert [(one["name"], one["passed"], one["required"]) for one in results] == [
        ("types", True, True),
        ("lint", False, False),
        ("slow", False, False),
    ], "the same files are not checked again for the spec's commit"
    assert (results[1]["code"], results[1]["output"]) == (4, "ugly")
    for ended in project.events("attempt_ended"):
        assert [(gate["name"], gate["passed"]) for gate in ended["gates"]] == [
            ("types", True), ("lint", False), ("slow", False),
        ], ended["kind"]  # fmt: skip
    for result in (tasks(project)["avatar-1"]["result"], plan(project)["specs"][0]["result"]):
        assert [(gate["name"], gate["passed"], gate["required"]) for gate in result["gates"]] == [
            ("types", True, True), ("lint", False, False), ("slow", False, False),
        ]  # fmt: skip
    assert "- Gates: ✓ types, ✗ lint (optional), ✗ slow (optional)" in progress(project)
    shown = project.ralph("status", "specs", "--task", "avatar-1").stdout
    assert "✗ echo ugly; exit 4 (optional)" in shown


def test_a_required_gate_that_takes_too_long_is_ended_and_is_red(project: Project) -> None:
    project.config(gates=[{"name": "endless", "command": "sleep 300 & sleep 300", "timeout": 0.2}], maxRetries=1)
    write_plan(project, spec("avatar", task("avatar-1")))
    project.script(builds("avatar-1", "1.txt"))

    project.ralph("start", "build", "--no-baseline", code=3)

    assert statuses(project)["avatar-1"] == "blocked"
    assert (
        "The gate endless (`sleep 300 & sleep 300`) failed: it did not finish within its time limit of 0.2 s"
        in (tasks(project)["avatar-1"]["notes"])
    )


def test_the_next_attempt_gets_the_error_itself_and_what_was_tried_but_never_the_whole_log(project: Project) -> None:
    gates = [{"name": "loud", "command": LOUD}, {"name": "lint", "command": "echo optional-noise; false"}]
    gates[1] |= {"required": False}
    project.config(gates=gates)
    write_plan(project, spec("avatar", task("avatar-1", "Do avatar-1"), task("avatar-2")))
    project.script(
        builds("avatar-1", "1.txt", times=1, then=["It works, trust me", "<TASK_DONE>"]),
        builds("avatar-1", "", times=1, write={}, then=["I am thinking"]),
        builds("avatar-1", "2.txt"),
        builds("avatar-2", "3.txt"),
    )

    project.ralph("start", "build")

    first, second, third, fourth = project.prompts()
    for part in (
        "This is attempt 2.",
        "loud",
        LOUD,
        "exit code 9",
        "\nE   AssertionError: 5 MB is refused\n",
        "compiling module 5000",
        "- Attempt 1: The gate loud",
        "It changed 1.txt.",
    ):
        assert part in second, part
    assert "\noptional-noise" not in second, "what only warns is nobody's to mend"
    assert "\x1b" not in second
    assert "compiling module 1500" not in second
    assert len(second) - len(first) < 6_000
    assert "The agent ended without saying <TASK_DONE>." in third and "I am thinking" in third
    assert "- Attempt 1: " in third and "- Attempt 2: " in third
    assert "What Went Wrong Before" not in fourth
    assert "These already failed before you started" in first
    log = next(event["result"]["log"] for event in project.events("gate_ended") if not event["result"]["passed"])
    assert "compiling module 1500\n" in (project.path / log).read_text(), "a person finds all of it"

    sizes = [event["prompt_chars"] for event in project.events("agent_started")]
    assert sizes == [len(prompt) for prompt in project.prompts()]
    shown = project.ralph("status", "specs").stdout
    assert f"prompts {sum(sizes) // 4:,} characters on average, {max(sizes):,} at most" in shown
    assert "gates green at the first attempt: 1 of 2" in shown
    figures = json.loads(project.ralph("status", "specs", "--json").stdout)[0]["figures"]
    assert figures == {
        "prompts": 4,
        "promptChars": {"average": sum(sizes) // 4, "largest": max(sizes)},
        "tasksTried": 2,
        "greenAtFirstAttempt": 1,
    }
