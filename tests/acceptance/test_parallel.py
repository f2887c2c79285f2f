"""RX.2: stories side by side, each in a worktree of its own, landing one by one through a merge queue."""

from __future__ import annotations

from tests.conftest import VERIFIED, Project, does, wait_for

TURN = 0.3


def landed(project: Project) -> list[str]:
    """The attempts that have landed, oldest first."""
    form = "--format=%(trailers:key=Ralph-Attempt,valueonly)"
    return [line for line in project.git("log", "--reverse", form, "ralph/auth").splitlines() if line]


def test_independent_stories_run_at_the_same_time_and_each_lands_once(project: Project) -> None:
    project.config("test ! -f bad.txt")
    project.stories("One", "Two", "Three", {"title": "Four", "dependsOn": ["US-001"]})
    meet = (
        "echo $RALPH_TASK >> ../../../../together; while [ $(wc -l < ../../../../together) -lt 3 ]; do sleep 0.02; done"
    )
    turns = [
        does(f"US-00{n}", f"{n}.txt", run=[meet, f"git add {n}.txt && git commit -qm 'feat: {n}'"]) for n in (1, 2, 3)
    ]
    project.script(*turns, does("US-004", "4.txt"), VERIFIED)
    project.git("add", "-A")
    project.git("commit", "-qm", "Plan")
    before = project.git("rev-parse", "HEAD")

    done = project.ralph("run", "auth", "--jobs", "3")

    assert "complete · all gates green · final verification agreed" in done.stdout
    assert sorted(landed(project)) == [f"auth/US-00{n}/1" for n in (1, 2, 3, 4)]
    assert landed(project)[-1] == "auth/US-004/1", "what depends on another comes after it"
    assert {"1.txt", "2.txt", "3.txt", "4.txt"} <= set(project.files_in("ralph/auth"))
    assert project.git("rev-parse", "HEAD") == before, "a person's checkout is not touched"
    assert project.git("branch", "--show-current") == "main"
    for line in project.git("log", "--format=%H", "--grep", "Ralph-Attempt", "ralph/auth").splitlines():
        names = project.git("show", "--format=", "--name-only", line).splitlines()
        assert any(name.endswith("prd.json") for name in names), "code and state are one commit"
        assert len(names) == 2


def test_two_stories_that_change_the_same_line_meet_in_a_prompt_and_not_on_the_branch(project: Project) -> None:
    project.config("! grep -q '<<<<' app.txt", maxRetries=1)
    project.stories("One", "Two")
    both = "grep -q '<<<<' app.txt && printf 'one\\ntwo\\n' > app.txt || printf '%s\\n' {} > app.txt"
    project.script(
        {"match": "ID:.. US-001", "run": [both.format("one")], "done": True},
        {"match": "ID:.. US-002", "run": ["sleep 0.4", both.format("two")], "done": True},
        VERIFIED,
    )

    project.ralph("run", "auth", "--jobs", "2")

    assert project.git("show", "ralph/auth:app.txt") == "one\ntwo"
    assert [story["retries"] for story in project.plan_at("ralph/auth")["userStories"]] == [0, 0], "a conflict is free"
    assert [event["verdict"] for event in project.events("attempt_ended")].count("conflicted") == 1
    again = next(
        text for text in project.prompts() if "It conflicts with work that landed after this attempt began" in text
    )
    assert "Both versions are in app.txt, with conflict markers" in again
    assert len(landed(project)) == 2


def test_a_gate_that_fails_only_when_two_stories_meet_sends_the_second_back(project: Project) -> None:
    project.config(
        "! { test -f one.txt && test -f two.txt && ! test -f both.txt; } || { echo 'error: clash'; exit 1; }"
    )
    project.stories("One", "Two")
    project.script(
        does("US-001", "one.txt"),
        {
            "match": "(?s)ID:.. US-002.*together with work that landed after the attempt began",
            "write": {"both.txt": "x"},
            "done": True,
        },
        does("US-002", "two.txt", run=["sleep 0.4", "git add two.txt && git commit -qm two"]),
        VERIFIED,
    )

    project.ralph("run", "auth", "--jobs", "2")

    assert {"one.txt", "two.txt", "both.txt"} <= set(project.files_in("ralph/auth"))
    second = project.plan_at("ralph/auth")["userStories"][1]
    assert (second["passes"], second["retries"]) == (True, 1)


def test_killed_in_the_middle_every_story_lands_once_and_nothing_is_left_running(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two", "Three", "Four")
    project.script(*(does(f"US-00{n}", f"{n}.txt", sleep=TURN * n) for n in (1, 2, 3, 4)), VERIFIED)
    run = project.start("run", "auth", "--jobs", "2")
    wait_for(lambda: "landed" in [event["event"] for event in project.events()])
    run.kill()
    run.communicate()

    project.ralph("run", "auth", "--jobs", "2")

    assert sorted(line.rpartition("/")[0] for line in landed(project)) == [f"auth/US-00{n}" for n in (1, 2, 3, 4)]
    assert {f"{n}.txt" for n in (1, 2, 3, 4)} <= set(project.files_in("ralph/auth"))
