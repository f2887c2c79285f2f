"""R3.6, R3.8, R3.15, R3.19: the loop as a person sees it."""

from __future__ import annotations

import signal

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for


def test_two_stories_are_done_verified_and_committed(project: Project) -> None:
    project.config("test -f one.txt")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "complete · all gates green · final verification agreed" in done.stdout
    assert "tasks 2 of 2 passed · attempts 3" in done.stdout
    assert {"one.txt", "two.txt"} <= set(project.files_in("ralph/auth"))
    assert project.git("branch", "--show-current") == "main", "a person stays where they are"
    assert not project.exists("one.txt"), "and their files are theirs"
    assert not project.exists(".ralph/worktrees/auth"), "the branch is free again"
    message = project.git("log", "-1", "--format=%B", "ralph/auth", "--", "one.txt")
    assert "Ralph-Attempt: auth/US-001/1" in message.splitlines()
    assert project.plan_at("ralph/auth~1")["userStories"][1]["passes"] is True, "its state is in the same commit"
    result = project.story()["lastResult"]
    assert result["summary"] == "feat: US-001 - done"
    assert result["commit"] == project.git("log", "-1", "--format=%H", "ralph/auth", "--", "one.txt")
    assert [gate["passed"] for gate in result["verify"]] == [True]
    assert project.plan()["run"]["currentStoryId"] is None


def test_an_agent_that_lies_is_caught_and_retried_with_the_failure_in_its_prompt(project: Project) -> None:
    project.config("test -f proof.txt || { echo 'error: no proof'; exit 7; }")
    project.stories("One")
    project.script(does("US-001", "claim.txt", times=1), does("US-001", "proof.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "failed: The gate" in done.stdout
    first, second, *_ = project.prompts()
    assert "What Went Wrong Before" not in first
    assert "exit code 7" in second
    assert "error: no proof" in second
    assert project.story()["retries"] == 1
    assert project.story()["passes"] is True
    assert project.story()["notes"] == ""


def test_a_story_that_fails_three_times_is_blocked_and_the_next_one_goes_on(project: Project) -> None:
    project.config("! test -f bad.txt")
    project.stories("Bad", "Good")
    project.script(does("US-001", "bad.txt", "x{}\n"), does("US-002", "good.txt"))
    project.script(
        {
            "match": r"\*\*ID:\*\* US-001\b",
            "run": ["date +%N >> bad.txt; git add -A; git commit -qm bad"],
            "done": True,
        },
        does("US-002", "good.txt"),
    )

    done = project.ralph("run", "auth", code=3)

    assert "not finished · blocked: US-001" in done.stdout
    assert project.story("US-001")["blocked"] is True
    assert project.story("US-001")["retries"] == 3
    assert project.story("US-002")["passes"] is True
    files = project.files_in("ralph/auth")
    assert "bad.txt" not in files, "one bad story must not turn every later gate red"
    assert "good.txt" in files
    assert "bad.txt" in project.files_in("refs/ralph/attempts/auth/US-001/3"), "its work is kept"


def test_done_without_any_change_does_not_pass(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script({"done": True})

    project.ralph("run", "auth", code=3)

    assert "changed nothing" in project.story()["notes"]
    assert "ralph accept auth US-001" in project.story()["notes"]


def test_what_the_agent_left_uncommitted_is_committed_when_the_story_passes(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script({"match": "ID:.. US-001", "write": {"left.txt": "x"}, "done": True}, VERIFIED)

    project.ralph("run", "auth")

    assert "left.txt" in project.files_in("ralph/auth")
    assert "feat: US-001 - One" in project.subjects()
    assert project.story()["lastResult"]["summary"] == "feat: US-001 - One"


def test_each_way_an_agent_can_end_has_its_own_reason(project: Project) -> None:
    project.config("true", maxRetries=1, provider={"timeout": 1})
    project.stories("Exits 3", "Says nothing", "Hangs")
    project.script(
        {"match": r"\*\*ID:\*\* US-001", "run": ["echo 'boom happened' >&2"], "exit": 3},
        {"match": r"\*\*ID:\*\* US-002", "write": {"a.txt": "a"}, "say": ["I am not done."]},
        {"match": r"\*\*ID:\*\* US-003", "sleep": 60},
    )

    project.ralph("run", "auth", code=3)

    assert "exit code 3" in project.story("US-001")["notes"]
    assert "boom happened" in project.story("US-001")["notes"]
    assert "without saying <ralph>DONE</ralph>" in project.story("US-002")["notes"]
    assert "did not finish within 1 s" in project.story("US-003")["notes"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_an_agent_learned_before_it_was_cut_short_is_kept(project: Project, number: signal.Signals) -> None:
    project.config("true")
    project.stories("One")
    learns = {"say": ["<ralph>LEARNING:the port is 8080</ralph>"], "times": 1}
    project.script({"match": "ID:.. US-001", **learns, "sleep": 60}, does("US-001", "one.txt"), VERIFIED)
    run = project.start("run", "auth")
    wait_for(lambda: any("8080" in log.read_text() for log in project.path.glob(".ralph/logs/*/US-001-1.agent.log")))
    run.send_signal(number)
    run.communicate(timeout=60)

    project.ralph("run", "auth")

    assert project.plan()["run"]["learnings"] == ["the port is 8080"]
    assert "the port is 8080" in project.prompts()[1]


def test_learnings_are_kept_once_and_reach_later_prompts(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    lesson = ["<ralph>LEARNING:Use the blue door</ralph>", "<ralph>LEARNING:use  the blue door.</ralph>"]
    project.script(does("US-001", "one.txt", say=lesson), does("US-002", "two.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert project.plan()["run"]["learnings"] == ["Use the blue door"]
    first, second, *_ = project.prompts()
    assert "Use the blue door" not in first
    assert "- Use the blue door" in second
    assert project.ralph("learnings", "auth").stdout == "- Use the blue door\n"
    project.write("AGENTS.md", "# Notes\n")
    assert "1 added" in project.ralph("learnings", "--into", "AGENTS.md").stdout
    assert "0 added" in project.ralph("learnings", "--into", "AGENTS.md").stdout
    assert project.read("AGENTS.md") == "# Notes\n\n## Learnings\n\n- Use the blue door\n"


def test_a_finished_feature_is_not_worked_on_again(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    before = project.git("rev-parse", "ralph/auth"), project.calls()

    assert "complete" in project.ralph("run", "auth").stdout

    assert (project.git("rev-parse", "ralph/auth"), project.calls()) == before


def test_what_changed_after_it_was_verified_is_verified_again(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    project.git("worktree", "add", "-q", "../mine", "ralph/auth")
    project.write("../mine/one.txt", "changed by a person\n")
    project.git("-C", "../mine", "commit", "-qam", "A person's change")
    project.git("worktree", "remove", "../mine")

    done = project.ralph("run", "auth")

    assert "Final verification (attempt 2)" in done.stdout
    assert project.landed("one.txt") == "changed by a person"


def test_a_branch_that_a_person_has_checked_out_is_left_to_them(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.git("add", ".")
    project.git("commit", "-qm", "Plan")
    project.git("switch", "-q", "-c", "ralph/auth")
    project.script(does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth", code=1)

    assert f"The branch ralph/auth is checked out in {project.path}, so no work can land on it." in done.stderr
    assert f"git -C {project.path} switch -" in done.stderr
    assert (project.calls(), project.status()) == (0, [])
    project.git("switch", "-q", "-")
    project.ralph("run", "auth")
    assert project.landed("one.txt") == "x"


def test_no_gates_means_unverified_everywhere(project: Project) -> None:
    project.config()
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth", code=3)

    assert "UNVERIFIED" in done.stdout
    assert "nothing will be verified" in done.stdout
    assert "UNVERIFIED" in project.ralph("status").stdout


def test_once_makes_one_attempt(project: Project) -> None:
    project.config("test -f two.txt")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt", times=1), does("US-001", "two.txt"))

    project.ralph("run", "auth", "--once", code=3)
    assert project.calls() == 1
    project.ralph("run", "auth", "--once", code=0)
    assert project.calls() == 2
    assert project.story("US-002").get("passes") is not True
