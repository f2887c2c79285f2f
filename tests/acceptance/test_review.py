"""Reviews: after green gates and before the commit, with findings, in bounded rounds, for every workflow."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import requests, specs
from tests.acceptance.requirements import COMMIT, REVIEW, REVIEWING, VERIFY, WORK, Founded, check
from tests.acceptance.requirements import does as makes
from tests.conftest import VERIFIED, Project, does, wait_for

Json = dict[str, Any]
EMPTY_CART = {
    "severity": "major",
    "file": "one.txt",
    "line": 1,
    "problem": "An empty cart raises",
    "remedy": "Return 0 for it",
}
TOLD = "major one.txt:1: An empty cart raises → Return 0 for it"
TASTE = {"severity": "minor", "file": "one.txt", "problem": "The name is short", "remedy": "A longer one"}


def finding(problem: str, severity: str = "major", **more: Any) -> Json:
    return {"severity": severity, "file": "one.txt", "line": 1, "problem": problem, "remedy": "Mend it", **more}


def answers(*findings: Json, verdict: str = "", **more: Any) -> Json:
    """A turn of a reviewer; with a finding that blocks it says failed."""
    blocks = any(one["severity"] != "minor" for one in findings)
    said = verdict or ("failed" if blocks else "qualified")
    answer = {"verdict": said, "findings": list(findings), "summary": f"I say {said}"}
    return {"match": REVIEWING, "answer": answer, **more}


def reviews(project: Project) -> list[str]:
    """The prompts that reviewers got, in order."""
    return [text for text in project.prompts() if f"{REVIEWING}\n" in text]


@pytest.fixture
def auth(project: Project) -> Project:
    project.config("test ! -f bad.txt", review={})
    project.stories("One")
    return project


def test_a_failed_review_sends_the_work_back_with_its_findings_until_it_is_qualified(auth: Project) -> None:
    auth.script(
        answers(EMPTY_CART, times=1),
        answers(TASTE),
        does("US-001", "one.txt", times=1),
        does("US-001", "one.txt", "better\n"),
        VERIFIED,
    )

    done = auth.ralph("run", "auth")

    assert f"        {TOLD}\n" in done.stdout
    assert "↺ sent back: US-001 · The reviewer sent it back: I say failed" in done.stdout
    assert "✓ review: qualified · I say qualified" in done.stdout
    assert "minor one.txt: The name is short → A longer one" in done.stdout, "it is told, and sends nothing back"
    _, first, again, second, _ = auth.prompts()
    assert f"- {TOLD}" in again and "The reviewer sent it back: I say failed" in again
    assert "`test ! -f bad.txt`: passed" in first and "## The Last Review" not in first
    assert f"- {TOLD}" in second
    story = auth.story()
    assert (story["passes"], story["retries"], story["attempts"], story["reviewRounds"]) == (True, 0, 2, 1)
    assert story["findings"] == [{"line": None, **TASTE}]
    shown = auth.ralph("status", "auth", "--task", "US-001").stdout
    assert "sent back by reviews: 1 time" in shown and "minor one.txt: The name is short" in shown
    listed = auth.ralph("attempts", "auth").stdout
    assert "reopened" in listed and TOLD in listed
    one = json.loads(auth.ralph("attempts", "auth", "US-001/1", "--json").stdout)[0]
    assert one["findings"] == [EMPTY_CART]
    told = auth.events("reviewed")
    assert [(event["verdict"], event["rounds"], event["max_rounds"]) for event in told] == [
        ("failed", 0, 2),
        ("qualified", 1, 2),
    ]
    assert told[0]["findings"] == [EMPTY_CART]
    assert auth.git("show", "ralph/auth:one.txt") == "better"


def test_the_reviewer_sees_all_of_the_work_and_none_of_ralphs_files(auth: Project) -> None:
    """The command that its prompt names shows what is committed, what is not, and what is new."""
    seen = auth.folder / "seen.diff"
    auth.script(
        answers(run=[f"grep '^    git diff' {auth.folder}/prompt | sh > {seen}"]),
        {**does("US-001", "one.txt"), "write": {"one.txt": "one\n", "new.txt": "new\n", "app.txt": "changed\n"}},
        VERIFIED,
    )
    config = json.loads(auth.read("ralph.config.json"))
    agent = auth.folder / "agent.sh"
    inner = " ".join([config["provider"]["command"], *config["provider"]["args"]])
    agent.write_text(f"tee {auth.folder}/prompt | {inner}\n")
    config["providers"] = {"looking": {"command": "/bin/sh", "args": [str(agent)]}}
    config["roles"] = {"reviewer": {"provider": "looking"}}
    auth.write("ralph.config.json", json.dumps(config))

    auth.ralph("run", "auth")

    shown = seen.read_text()
    assert "+one" in shown and "+new" in shown and "+changed" in shown
    assert ".ralph" not in shown and "ralph.config.json" not in shown


def test_a_red_gate_never_reaches_the_reviewer(auth: Project) -> None:
    auth.script(answers(), does("US-001", "bad.txt", times=1), does("US-001", "one.txt", delete=["bad.txt"]), VERIFIED)
    auth.ralph("run", "auth")
    told = [
        event for event in auth.events() if event["event"] in ("gate_ended", "reviewed") and event["work"] != "final"
    ]
    kinds = [event["result"]["passed"] if "result" in event else event["verdict"] for event in told]
    assert kinds == [True, False, True, "qualified"], "the baseline, a red gate, a green one, and only then a review"
    assert (len(reviews(auth)), auth.story()["retries"], auth.story()["reviewRounds"]) == (1, 1, 0)


def test_reviews_that_are_exhausted_block_with_the_findings(auth: Project) -> None:
    auth.config("true", review={"rounds": 1}, maxRetries=5)
    auth.script(
        answers(finding("The first"), times=1),
        answers(finding("The second")),
        does("US-001", "one.txt", times=1),
        does("US-001", "one.txt", "better\n"),
    )

    done = auth.ralph("run", "auth", code=3)

    assert "US-001 is blocked" in done.stdout
    story = auth.story()
    assert (story["blocked"], story["retries"], story["reviewRounds"], len(reviews(auth))) == (True, 0, 1, 2)
    assert story["notes"].startswith(
        "The limit of review rounds (1) is reached. The reviewer sent it back: I say failed"
    )
    assert "- major one.txt:1: The second → Mend it" in story["notes"]
    assert "one.txt" not in auth.files_in("ralph/auth"), "what is blocked never came there"
    assert auth.git("show", "refs/ralph/attempts/auth/US-001/2:one.txt") == "better", "and its work is kept"

    auth.ralph("retry", "auth", "US-001")
    assert (auth.story()["reviewRounds"], auth.story()["findings"]) == (0, [])


def test_rounds_are_counted_across_runs(auth: Project) -> None:
    auth.config("true", review={"rounds": 1})
    auth.script(
        answers(finding("The first"), times=1),
        answers(finding("The second")),
        does("US-001", "one.txt", times=1),
        does("US-001", "one.txt", "better\n"),
    )
    auth.ralph("run", "auth", "--once", code=3)
    assert (auth.story()["reviewRounds"], auth.story()["blocked"]) == (1, False)
    auth.ralph("run", "auth", "--once", code=3)
    assert auth.story()["blocked"]


def test_the_same_findings_twice_are_a_stalemate(auth: Project) -> None:
    auth.config("true", review={"rounds": 9})
    moved = {**EMPTY_CART, "line": 7, "problem": "an empty  cart raises."}
    auth.script(
        answers(EMPTY_CART, times=1),
        answers(moved, TASTE),
        does("US-001", "one.txt", times=1),
        does("US-001", "one.txt", "better\n"),
    )

    done = auth.ralph("run", "auth", code=3)

    assert "    Stalemate: two reviews in a row found the same problems. The reviewer sent" in done.stdout
    story = auth.story()
    assert story["blocked"] and story["notes"].startswith("Stalemate: two reviews in a row found the same problems.")
    assert "one.txt:7: an empty cart raises." in story["notes"]
    assert len(reviews(auth)) == 2


GARBAGE: dict[str, tuple[Json, str]] = {
    "nothing": ({}, "was not written"),
    "no json": ({"answer": "looks good to me"}, "not valid JSON"),
    "no verdict": ({"answer": {"findings": [], "summary": "fine"}}, "verdict: missing, and required"),
    "its own words only": ({"say": ["<ralph>VERIFIED</ralph>", "<ralph>DONE</ralph>"]}, "was not written"),
    "qualified all the same": (answers(EMPTY_CART, verdict="qualified"), "findings[0] is major"),
    "failed without a reason": (answers(TASTE, verdict="failed"), "no finding is critical or major"),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_an_answer_that_cannot_be_used_is_asked_for_again_and_never_passes(auth: Project, kind: str) -> None:
    turn, mistake = GARBAGE[kind]
    auth.config("true", review={}, maxRetries=1)
    auth.script({**turn, "match": REVIEWING}, does("US-001", "one.txt"))

    done = auth.ralph("run", "auth", code=3)

    asked = reviews(auth)
    assert len(asked) == 3, "it is asked again, at most twice"
    assert "Could Not Be Used" not in asked[0] and all(mistake in text for text in asked[1:])
    story = auth.story()
    assert story["blocked"] and story["notes"].startswith("The reviewer gave no usable answer in 3 tries.")
    assert mistake in story["notes"] and str(auth.path) not in story["notes"]
    assert "The review cannot be used: " in done.stdout
    assert auth.events("reviewed") == []


def test_a_mistake_that_is_mended_costs_nothing(auth: Project) -> None:
    auth.script(answers(EMPTY_CART, verdict="qualified", times=1), answers(), does("US-001", "one.txt"), VERIFIED)
    auth.ralph("run", "auth")
    assert (auth.story()["attempts"], auth.story()["retries"], len(reviews(auth))) == (1, 0, 2)
    assert not [name for name in auth.files_in("ralph/auth") if "answers" in name]
    assert list(auth.path.glob(".ralph/run/answers/*")) == []


def test_what_a_reviewer_changes_is_undone_and_its_word_does_not_count(auth: Project) -> None:
    """Nor may its version come back with the next attempt, or be taken for a person's after a restart."""
    meddles = "echo reviewed > one.txt; echo more > extra.txt; rm app.txt"
    auth.script(
        answers(run=[meddles], times=1),
        answers(finding("The first"), run=[f"{meddles}; git add -A; git commit -qm better"], times=1),
        answers(finding("The first"), times=1),
        answers(),
        {**does("US-001", "one.txt", times=1), "run": []},
        {**does("US-001", "one.txt"), "write": {}, "append": {"one.txt": "again\n"}, "run": []},
        VERIFIED,
    )

    auth.ralph("run", "auth", "--once", code=3)
    assert len(reviews(auth)) == 3
    assert "it changed the project, but may only read it" in reviews(auth)[1]
    assert auth.read("app.txt") == "app\n" and auth.status() == ["?? .ralph/", "?? ralph.config.json"]
    assert auth.git("show", "refs/ralph/attempts/auth/US-001/1:one.txt") == "x"
    assert "extra.txt" not in auth.files_in("refs/ralph/attempts/auth/US-001/1")

    auth.ralph("run", "auth")
    assert auth.git("show", "ralph/auth:one.txt") == "x\nagain"
    assert "extra.txt" not in auth.files_in("ralph/auth")
    assert auth.git("show", "ralph/auth:app.txt") == "app"


def test_nobody_reviews_unless_it_is_wanted(auth: Project) -> None:
    for review in ({"enabled": False}, None):
        auth.config("true", **({"review": review} if review else {}))
        auth.stories("One", feature="auth")
        auth.script(does("US-001", "one.txt"), VERIFIED)
        auth.ralph("run", "auth", code=None)
        assert reviews(auth) == []


def test_which_findings_block_is_a_persons_choice(auth: Project) -> None:
    auth.config("true", review={"blocking": ["critical"]})
    auth.script(answers(EMPTY_CART, verdict="qualified"), does("US-001", "one.txt"), VERIFIED)
    auth.ralph("run", "auth")
    assert auth.story()["findings"] == [EMPTY_CART]
    assert "any finding that is critical, and" in reviews(auth)[0]


def test_the_reviewer_may_be_another_program_and_must_be_there(auth: Project) -> None:
    other = auth.folder / "other-agent"
    config = json.loads(auth.read("ralph.config.json"))
    config["providers"] = {"other": {"command": str(other)}}
    config["roles"] = {"reviewer": {"provider": "other"}}
    auth.write("ralph.config.json", json.dumps(config))
    auth.script(does("US-001", "one.txt"), VERIFIED)
    assert "other-agent" in auth.ralph("run", "auth", code=1).stderr
    assert "other-agent" in auth.ralph("doctor", code=1).stdout
    requests.write_plan(auth, requests.task("Model"))
    assert "other-agent" in auth.ralph("start", code=1).stderr
    specs.write_plan(auth, specs.spec("cart", specs.task("one")))
    assert "other-agent" in auth.ralph("start", "build", code=1).stderr
    assert auth.calls() == 0

    answer = json.dumps(answers()["answer"])
    other.write_text(f"#!/bin/sh\nfile=$(sed -n 's/.*to the file `\\([^`]*\\)`.*/\\1/p')\necho '{answer}' > $file\n")
    other.chmod(0o755)
    auth.ralph("run", "auth")
    commands = [Path(event["command"]).name for event in auth.events("agent_started")]
    assert commands == ["ralph", "other-agent", "ralph"], "executor, reviewer, verifier"


def test_a_kill_during_the_review_does_not_run_the_executor_again(auth: Project) -> None:
    """What the reviewer had changed by then, committed or not, was in a copy of its own."""
    meddles = "echo reviewed > one.txt; echo more > extra.txt; git commit -qam better; echo last > app.txt"
    hangs = f"{meddles}; touch {auth.folder}/begun; sleep 300"
    auth.script(answers(run=[hangs], times=1), answers(), {**does("US-001", "one.txt", times=1), "run": []}, VERIFIED)
    run = auth.start("run", "auth")
    wait_for((auth.folder / "begun").exists)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()

    done = auth.ralph("run", "auth")

    assert "US-001 resumes where it stopped: its agent had finished." in done.stdout
    started = [event["log"] for event in auth.events("agent_started")]
    assert sum("US-001-1.agent" in log for log in started) == 1, "the executor ran once"
    assert sum(".review" in log and "US-001" in log for log in started) == 2
    assert auth.git("show", "ralph/auth:one.txt") == "x"
    assert auth.git("show", "ralph/auth:app.txt") == "app"
    assert "extra.txt" not in auth.files_in("ralph/auth")
    assert auth.story()["attempts"] == 1 and auth.status() == ["?? .ralph/", "?? ralph.config.json"]


def test_ctrl_c_during_the_review_costs_nothing_and_goes_on_with_it(auth: Project) -> None:
    hangs = f"echo reviewed > one.txt; touch {auth.folder}/begun; sleep 300"
    auth.script(answers(run=[hangs], times=1), answers(), {**does("US-001", "one.txt", times=1), "run": []}, VERIFIED)
    run = auth.start("run", "auth")
    wait_for((auth.folder / "begun").exists)
    run.send_signal(signal.SIGINT)
    run.communicate()
    assert run.returncode == 130

    auth.ralph("run", "auth")
    assert auth.git("show", "ralph/auth:one.txt") == "x"
    assert (auth.story()["attempts"], auth.story()["retries"]) == (1, 0)


def test_the_guide_does_what_it_says(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/review.md").read_text()
    blocks = dict(re.findall(r"```(json|sh|)\n(.*?)```", guide[guide.index("## Try it") :], re.DOTALL))
    project = Project(tmp_path)
    for line in blocks["sh"].splitlines():
        subprocess.run(line, shell=True, cwd=project.path, env=project.env, check=True, capture_output=True)
    project.write("agent.json", blocks["json"])
    config = project.read("ralph.config.json")
    project.write("ralph.config.json", config.replace("{", '{"review": {},', 1))

    project.ralph("prd", "hello", "--yes")
    shown = project.ralph("run", "hello").stdout

    untimed = re.sub(r"[0-9.]+ s\n|^[0-9:]{8} ", "", shown, flags=re.MULTILINE)
    assert re.sub(r"[0-9.]+ s\n", "", blocks[""]) in untimed
    assert project.git("show", "ralph/hello:hello.txt") == "hello, world"
    config_shown = json.loads(re.findall(r"```json\n(.*?)```", guide, re.DOTALL)[0])
    project.write("ralph.config.json", json.dumps({**json.loads(config), **config_shown}))
    assert "✓ ralph.config.json" in project.ralph("validate", code=None).stdout


# the other workflows


@pytest.mark.parametrize("jobs", [(), ("--jobs", "2")])
def test_a_requests_tasks_are_reviewed_also_side_by_side(project: Project, jobs: tuple[str, ...]) -> None:
    project.config("true", review={})
    requests.write_plan(project, requests.task("Model"), requests.task("Server"))
    project.script(
        {**answers(finding("No model", file="1.txt"), times=1), "match": f"{REVIEWING}[\\s\\S]*task-001"},
        answers(run=["echo reviewed > 2.txt"], times=1),
        answers(),
        requests.builds(1, times=1),
        requests.builds(1, text="better\n"),
        requests.builds(2),
    )

    project.ralph("start", *jobs)

    assert set(requests.load(project)["task_statuses"].values()) == {"completed"}
    first = requests.load(project, "tasks/task-001.json")
    assert (first["review_rounds"], first["retries"], first["attempts"]) == (1, 0, 2)
    check(first, "request-task")
    assert project.landed("1.txt", "ralph/request") == "better"
    assert project.landed("2.txt", "ralph/request") == "x"
    assert sorted(requests.work(project, "ralph/request")) == ["feat: task-001 - Model", "feat: task-002 - Server"]
    assert project.status() == []
    again = [text for text in project.prompts() if "# Task task-001" in text][-1]
    assert "- major 1.txt:1: No model → Mend it" in again
    assert "task-001 review failed, 1 finding: I say failed" in project.read(".ralph/logs/execution.log")


def test_a_request_halts_when_reviews_never_agree(project: Project) -> None:
    project.config("true", review={"rounds": 0})
    requests.write_plan(project, requests.task("Model"))
    project.script(answers(finding("No model"), times=1), answers(), requests.builds(1))
    done = project.ralph("start", code=3)
    assert "request: halted · task-001 failed: The reviewer sent it back: I say failed" in done.stdout
    project.ralph("start")
    assert requests.load(project)["phase"] == "completed", "a person who starts it again gives it new rounds"


def test_a_specs_tasks_are_reviewed_before_they_are_held(project: Project) -> None:
    project.config("true", review={})
    specs.write_plan(project, specs.spec("cart", specs.task("one"), specs.task("two")))
    project.script(
        {**answers(EMPTY_CART, run=["echo reviewed > one.txt"]), "match": f"{REVIEWING}[\\s\\S]*ID:.. one", "times": 1},
        {**answers(EMPTY_CART), "match": f"{REVIEWING}[\\s\\S]*ID:.. one", "times": 1},
        answers(TASTE),
        specs.builds("one", "one.txt", times=1),
        specs.builds("one", "one.txt", "better\n"),
        specs.builds("two", "two.txt"),
    )

    project.ralph("start", "build")

    assert specs.statuses(project) == {"cart": "completed", "one": "completed", "two": "completed"}
    assert specs.tasks(project)["one"]["reviewRounds"] == 1
    assert specs.tasks(project)["one"]["findings"] == [{"line": None, **TASTE}]
    check(specs.plan(project), "implementation")
    assert specs.subjects(project)[0] == "feat: Cart", "one commit for the spec"
    assert project.landed("one.txt", "ralph/specs") == "better"
    assert TOLD in [text for text in project.prompts() if "# Task: Do one" in text][-1]
    two = next(text for text in reviews(project) if "**ID:** two" in text)
    command = next(line.strip() for line in two.splitlines() if line.startswith("    git diff"))
    base, now = shlex.split(command)[2:4]
    assert project.git("diff", "--name-only", base, now) == "two.txt", "what is held of other tasks is not shown"


def test_a_killed_review_in_a_slot_goes_on_there(project: Project) -> None:
    project.config("true", review={})
    requests.write_plan(project, requests.task("Model"))
    hangs = f"echo reviewed > 1.txt; echo more > extra.txt; touch {project.folder}/begun; sleep 300"
    project.script(answers(run=[hangs], times=1), answers(), requests.builds(1, times=1))
    run = project.start("start", "--jobs", "2")
    wait_for((project.folder / "begun").exists)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()

    project.ralph("start", "--jobs", "2")

    assert project.git("show", "ralph/request:1.txt") == "x"
    assert "extra.txt" not in project.files_in("ralph/request")
    assert requests.load(project, "tasks/task-001.json")["attempts"] == 1


def test_a_killed_review_of_held_work_goes_on(project: Project) -> None:
    project.config("true", review={})
    specs.write_plan(project, specs.spec("cart", specs.task("one"), specs.task("two")))
    hangs = f"echo reviewed > one.txt; echo reviewed > two.txt; touch {project.folder}/begun; sleep 300"
    two = f"{REVIEWING}[\\s\\S]*ID:.. two"
    project.script(
        {**answers(run=[hangs], times=1), "match": two},
        answers(),
        specs.builds("one", "one.txt"),
        specs.builds("two", "two.txt", times=1),
    )
    run = project.start("start", "build")
    wait_for((project.folder / "begun").exists)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()

    project.ralph("start", "build")

    assert (project.landed("one.txt", "ralph/specs"), project.landed("two.txt", "ralph/specs")) == ("x", "x")
    assert specs.tasks(project)["two"]["attempts"] == 1


def test_a_requirements_task_is_reviewed_by_the_same_setting(anywhere: Founded) -> None:
    anywhere.config("true", review={})
    anywhere.tasks("One")
    anywhere.script(
        answers(EMPTY_CART, times=1),
        answers(TASTE),
        makes("T-001", "one.txt", times=1),
        makes("T-001", "one.txt", "better\n"),
    )

    done = anywhere.ralph("run")

    assert "✓ .ralph/configs/default.json: work, verify, review, git-commit" in done.stdout
    assert "✓ review: prompt review" in done.stdout and "✓ reviewer: ralph" in done.stdout
    task = anywhere.task()
    assert (task["status"], task["review_rounds"], task["findings"]) == ("done", 1, [{"line": None, **TASTE}])
    anywhere.valid(".ralph/prd.json", "tasks")
    assert anywhere.committed("one.txt") == "better"
    assert TOLD in [text for text in anywhere.prompts() if "# Ralph Loop" in text][-1]


@pytest.mark.parametrize("how", ["its own step", "switched off there"])
def test_a_pipelines_own_review_comes_before_the_setting(founded: Founded, how: str) -> None:
    own = {**REVIEW, "name": "second-look"} if how == "its own step" else {**REVIEW, "enabled": False}
    founded.steps(WORK, VERIFY, own, COMMIT)
    founded.config("true", review={})
    founded.tasks("One")
    founded.script(answers(), makes("T-001", "one.txt"))
    founded.ralph("run")
    assert len(reviews(founded)) == (how == "its own step")
