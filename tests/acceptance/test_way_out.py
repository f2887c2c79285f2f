"""A way out: an agent says that a task cannot be done or that a gate is wrong, and a person decides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import requests, specs
from tests.acceptance.requirements import Founded
from tests.acceptance.requirements import does as does_task
from tests.conftest import VERIFIED, Project, does

BLOCKED = "<ralph>BLOCKED:I need the key of the payment service</ralph>"
LINT = "if [ -f one.txt ]; then echo 'error: one.txt is too long'; exit 1; fi"
DISPUTE = "<ralph>DISPUTE:lint — one.txt is the file that the story asks for</ralph>"
OLD = "if [ ! -f fixed.txt ]; then echo 'error: fixed.txt is missing'; exit 1; fi"


def gates(*pairs: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"gates": [{"name": name, "command": command} for name, command in pairs], **more}


def needs(project: Project, target: str = "") -> list[dict[str, Any]]:
    [plan] = json.loads(project.ralph("status", *filter(None, [target]), "--json").stdout)
    found: list[dict[str, Any]] = plan["needs"]
    return found


def test_a_blocked_agent_costs_nothing_and_a_person_s_words_help_the_next_one(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    helped = {**does("US-001", "one.txt"), "match": r"(?s)\*\*ID:\*\* US-001\b.*The key is in key\.txt"}
    project.script(helped, {"match": r"\*\*ID:\*\* US-001\b", "say": [BLOCKED]}, does("US-002", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth", code=3)

    assert "not finished · blocked: US-001" in done.stdout
    assert 'ralph decide auth US-001 --note "…", or --skip' in done.stdout
    assert "ralph retry" not in done.stdout
    story = project.story()
    assert (story["passes"], story["blocked"], story["retries"]) == (False, True, 0)
    assert story["need"] == {"kind": "blocked", "why": "I need the key of the payment service"}
    assert project.story("US-002")["passes"], "the others go on"
    [need] = needs(project)
    assert need["answers"] == ['ralph decide auth US-001 --note "…"', "ralph decide auth US-001 --skip"]
    for command in ("status",), ("status", "auth"), ("next",):
        assert "I need the key" in project.ralph(*command).stdout

    project.ralph("decide", "auth", "US-001", "--note", "The key is in key.txt", "--yes")
    project.ralph("run", "auth")
    assert project.story()["passes"]
    assert needs(project) == []


def test_a_task_that_a_person_leaves_out_needs_nobody(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.script({"match": "US-001", "say": [BLOCKED]}, does("US-002", "two.txt"))
    project.ralph("run", "auth", code=3)

    assert "is left out" in project.ralph("decide", "auth", "US-001", "--skip", "--yes").stdout

    assert needs(project) == []
    said = project.ralph("status", "auth").stdout
    assert "Needs you" not in said
    assert "left out" in said
    calls = project.calls()
    assert "US-001 (left out)" in project.ralph("run", "auth", code=3).stdout
    assert project.calls() == calls, "nobody tries it"
    assert "Nothing in auth is blocked" in project.ralph("retry", "auth", code=1).stderr
    project.ralph("retry", "auth", "US-001")
    assert not project.story().get("leftOut")


def dispute(project: Project, *turns: dict[str, Any], **more: Any) -> None:
    project.config(**gates(("lint", LINT), **more))
    project.stories("One")
    disputes = {"match": r"\*\*ID:\*\* US-001", "write": {"one.txt": "x\n"}, "say": [DISPUTE]}
    project.script(*turns, disputes, VERIFIED)
    assert "US-001 (a gate is disputed)" in project.ralph("run", "auth", code=3).stdout


def test_a_disputed_gate_runs_once_more_and_its_output_is_kept(project: Project) -> None:
    dispute(project)
    story = project.story()
    assert (story["passes"], story["blocked"], story["retries"], story["attempts"]) == (False, True, 0, 1)
    assert story["need"]["gate"] == "lint"
    assert story["need"]["why"] == "one.txt is the file that the story asks for"
    assert "error: one.txt is too long" in story["notes"]
    assert "error: one.txt is too long" in project.ralph("status", "auth", "--task", "US-001").stdout
    [blocked] = project.events("task_blocked")
    assert (blocked["need"], blocked["gate"]) == ("dispute", "lint")
    assert needs(project)[0]["answers"][0] == "ralph decide auth US-001 --gate-is-right"


def test_the_agent_is_told_that_the_gate_is_right(project: Project) -> None:
    mends = {"match": "The gate `lint` is right", "delete": ["one.txt"], "write": {"other.txt": "x\n"}, "done": True}
    dispute(project, mends)

    project.ralph("decide", "auth", "US-001", "--gate-is-right", "--yes")
    project.ralph("run", "auth")

    assert project.story()["passes"]
    assert "one.txt" not in project.files_in("ralph/auth")


def test_a_gate_that_a_person_skips_is_not_required_and_proves_nothing(project: Project) -> None:
    dispute(project, {"match": "`lint` is not required", "write": {"one.txt": "y\n"}, "done": True})

    project.ralph("decide", "auth", "US-001", "--skip", "--yes")
    project.ralph("run", "auth", code=3)

    story = project.story()
    assert story["passes"]
    assert story["waived"] == ["lint"]
    assert story["lastResult"]["evidence"] == "unverified"
    assert "without `lint`" in project.ralph("status", "auth").stdout
    assert "failed, and a person waived it" in project.git("log", "-1", "--format=%B", "ralph/auth~1")


def test_an_agent_that_disputes_a_gate_again_that_a_person_has_waived_is_judged_by_the_other_gates(
    project: Project,
) -> None:
    dispute(project, {"match": "`lint` is not required", "write": {"one.txt": "y\n"}, "say": [DISPUTE]})
    project.ralph("decide", "auth", "US-001", "--skip", "--yes")

    project.ralph("run", "auth", code=3)

    story = project.story()
    assert (story["passes"], story["attempts"], story.get("need")) == (True, 2, None)


def test_work_that_is_done_and_fails_only_by_the_disputed_gate_waits_too(project: Project) -> None:
    project.config(**gates(("lint", LINT), ("tests", "true")))
    project.stories("One")
    project.script({**does("US-001", "one.txt"), "say": [DISPUTE]}, VERIFIED)
    project.ralph("run", "auth", code=3)
    assert project.story()["need"]["kind"] == "dispute"
    assert project.story()["retries"] == 0


def test_a_dispute_excuses_no_other_gate_and_blocks_nothing_that_is_green(project: Project) -> None:
    project.config(**gates(("lint", LINT), ("tests", "grep -q y one.txt two.txt")))
    project.stories("One", "Two")
    project.script(
        {**does("US-001", "one.txt"), "say": [DISPUTE]},
        {**does("US-002", "two.txt", "y\n"), "say": [DISPUTE]},
        VERIFIED,
    )
    project.ralph("run", "auth", code=3)
    one, two = project.story("US-001"), project.story("US-002")
    assert one.get("need") is None and one["retries"] == 3
    assert two["passes"], "all its gates are green"


def test_a_gate_that_was_red_before_costs_no_third_attempt(project: Project) -> None:
    project.config(**gates(("old", OLD), ("tests", "true")))
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth", code=3)

    assert "US-001 (was red before), US-002 (was red before)" in done.stdout
    one, two = project.story("US-001"), project.story("US-002")
    assert (one["attempts"], one["need"]["kind"], one["need"]["gate"]) == (2, "red-before", "old")
    assert two["attempts"] == 1, "the second task shows nothing new"
    assert one["notes"].startswith("Was red before")

    project.ralph("decide", "auth", "US-001", "--skip", "--yes")
    calls = project.calls()
    project.ralph("run", "auth", "--once")
    assert project.calls() == calls, "the work was done: it lands without an agent"
    assert project.story("US-001")["passes"]
    assert "one.txt" in project.files_in("ralph/auth")


def test_a_story_that_must_turn_the_gate_green_keeps_its_attempts_while_the_failure_changes(project: Project) -> None:
    project.config(**gates(("tests", "cat log.txt; test -f three.txt")))
    project.write("log.txt", "error: 0 of 3\n")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "A log")
    project.stories("One")
    turns = [
        does("US-001", f"{name}.txt", times=1, append={})
        | {"write": {f"{name}.txt": "x\n", "log.txt": text}, "run": []}
        for name, text in (("one", "error: 1 of 3\n"), ("two", "error: 2 of 3\n"), ("three", "fine\n"))
    ]
    project.script(*turns, VERIFIED)
    project.ralph("run", "auth")
    assert project.story()["passes"]
    assert project.story()["retries"] == 2


def test_a_decision_that_does_not_fit_says_what_does(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script({"match": "US-001", "say": [BLOCKED]})
    assert "Nothing to decide" in project.ralph("decide", "auth", "US-001", "--skip", "--yes", code=1).stderr
    project.ralph("run", "auth", code=3)
    before = project.plan()
    for args, said in (
        (["--gate-is-right", "--yes"], 'ralph decide auth US-001 --note "…"; ralph decide auth US-001 --skip'),
        (["--approve", "--yes"], "does not fit"),
        (["--yes"], "Give one decision"),
        (["--skip", "--note", "x", "--yes"], "Give only one decision"),
        (["--note", "  ", "--yes"], "--note needs your words"),
        (["--skip"], "there is no terminal"),
    ):
        assert said in project.ralph("decide", "auth", "US-001", *args, code=1).stderr
    assert project.plan() == before


def test_a_gate_that_nobody_knows_is_kept_as_text_and_cannot_be_skipped(project: Project) -> None:
    project.config(**gates(("lint", "true")))
    project.stories("One")
    project.script({"match": "US-001", "say": ["<ralph>DISPUTE:type checks — they hang</ralph>"]})
    project.ralph("run", "auth", code=3)
    assert project.story()["need"] == {"kind": "dispute", "why": "they hang", "gate": "type checks"}
    said = project.ralph("decide", "auth", "US-001", "--skip", "--yes", code=1).stderr
    assert "no gate `type checks`" in said
    assert "The gates are: lint" in said


def test_an_agent_cannot_decide(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    decide = f"cd $RALPH_ROOT && {project.env['PATH'].split(':')[0]}/ralph decide auth US-001 --skip --yes"
    project.script({"match": "US-001", "say": [BLOCKED]}, does("US-002", "two.txt", run=[f"{decide}; true"]))
    project.ralph("run", "auth", code=3)
    assert project.story("US-001")["need"]["kind"] == "blocked"
    assert not project.story("US-001").get("leftOut")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Founded]:
    yield Founded(tmp_path)


def test_requirements(shop: Founded) -> None:
    shop.config(**gates(("lint", LINT)))
    helped = {**does_task("T-002", "two.txt"), "match": r"(?s)\*\*ID:\*\* T-002\b.*Use the other key"}
    shop.script(
        helped,
        {"match": r"\*\*ID:\*\* T-001\b", "write": {"one.txt": "x\n"}, "say": [DISPUTE]},
        {"match": r"\*\*ID:\*\* T-002\b", "say": [BLOCKED]},
    )
    done = shop.ralph("run", "requirements", code=3)
    assert "Needs you" in done.stdout
    assert "ralph retry" not in done.stdout
    assert [shop.task(name)["need"]["kind"] for name in ("T-001", "T-002")] == ["dispute", "blocked"]
    assert [shop.task(name)["loops"] for name in ("T-001", "T-002")] == [0, 0]

    shop.ralph("decide", "requirements", "T-002", "--note", "Use the other key", "--yes")
    shop.ralph("run", "requirements", code=3)
    assert shop.states() == {"T-001": "failed", "T-002": "done"}
    assert [need["id"] for need in needs(shop, "requirements")] == ["T-001"]


def test_specs(project: Project) -> None:
    project.config(**gates(("lint", LINT)))
    specs.write_plan(project, specs.spec("a", specs.task("a.1"), specs.task("a.2"), specs.task("a.3")))
    project.script(
        specs.builds("a.1", "one.txt", times=1, then=[DISPUTE]),
        specs.builds("a.1", "other.txt", delete=["one.txt"]),
        {"match": "# Task: Do a.2\n", "say": ['<TASK_BLOCKED reason="no key">']},
        specs.builds("a.3", "three.txt"),
    )
    project.ralph("start", "build", code=3)
    found = specs.tasks(project)
    assert [found[name]["need"]["kind"] for name in ("a.1", "a.2")] == ["dispute", "blocked"]
    assert [found[name]["retries"] for name in ("a.1", "a.2")] == [0, 0]
    assert found["a.2"]["need"]["why"] == "no key"

    project.ralph("decide", "specs", "a.1", "--gate-is-right", "--yes")
    project.ralph("decide", "specs", "a.2", "--skip", "--yes")
    project.ralph("start", "build", code=3)
    assert specs.tasks(project)["a.1"]["status"] == "completed"
    assert specs.tasks(project)["a.2"]["leftOut"]
    assert needs(project, "specs") == []
    assert "other.txt" in project.files_in(specs.BRANCH)


def test_a_spec_whose_task_goes_without_a_gate_is_committed(project: Project) -> None:
    project.config(**gates(("lint", LINT), ("tests", "true")))
    specs.write_plan(project, specs.spec("a", specs.task("a.1")))
    project.script(
        specs.builds("a.1", "one.txt", times=1, then=[DISPUTE]),
        specs.builds("a.1", "one.txt", "y\n"),
    )
    project.ralph("start", "build", code=3)
    project.ralph("decide", "specs", "a.1", "--skip", "--yes")
    project.ralph("start", "build")
    assert specs.statuses(project) == {"a": "completed", "a.1": "completed"}


def test_request(project: Project) -> None:
    project.config(**gates(("lint", LINT)))
    requests.write_plan(project, requests.task("Model"), requests.task("Server"), requests.task("More", "task-001"))
    helped = {**requests.builds(1, "model.txt"), "match": "(?s)# Task task-001:.*Use the other key"}
    project.script(
        helped,
        {"match": "# Task task-001:", "say": [BLOCKED]},
        requests.builds(2),
        requests.builds(3),
    )
    done = project.ralph("run", "request", code=3)
    assert "task-001; waiting for them: task-003" in done.stdout, "it is no failure, and halts nothing"
    [need] = needs(project, "request")
    assert (need["id"], need["kind"]) == ("task-001", "blocked")
    assert "task-002" in str(project.subjects("ralph/request"))

    project.ralph("decide", "request", "task-001", "--note", "Use the other key", "--yes")
    project.ralph("run", "request")
    assert needs(project, "request") == []


def test_the_end_of_a_run_does_not_call_a_skipped_gate_green(project: Project) -> None:
    project.config(**gates(("lint", LINT), ("tests", "true")))
    project.stories("One")
    project.script({**does("US-001", "one.txt"), "say": [DISPUTE], "times": 1}, does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth", code=3)
    project.ralph("decide", "auth", "US-001", "--skip", "--yes")
    assert "complete · all required gates green" in project.ralph("run", "auth").stdout
