"""R3.4, R3.5: from an idea to a plan, in a terminal and without one."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RALPH, VERIFIED, Project, does

QUESTIONS = {"questions": [{"id": "goal", "question": "What is it for?", "options": ["Speed", "Beauty"]}]}
PRD = "# Auth\n\n## User Stories\n\n### US-001 Log in\n- It works\n"


def plan(*titles: str, **more: Any) -> dict[str, Any]:
    stories = [{"id": f"US-{n:03}", "title": title, "priority": n} for n, title in enumerate(titles, 1)]
    return {"schemaVersion": 2, "branchName": "ralph/auth", "description": "d", "userStories": stories, **more}


def answers(match: str, content: object, **more: Any) -> dict[str, Any]:
    """A turn that puts an answer where the prompt says."""
    text = content if isinstance(content, str) else json.dumps(content)
    name = {"Clarifying": "prd-questions", "Generate PRD": "prd-draft", "PRD Refinement": "prd-refine"}
    file = f".ralph/run/answers/{name.get(match, 'prd-finalize')}-auth"
    return {"match": match, "write": {file: text}, **more}


def usual(*more: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        *more,
        answers("Clarifying", QUESTIONS),
        answers("Generate PRD", PRD),
        answers("PRD Refinement", PRD + "\nRefined.\n"),
        answers("PRD Finalization", plan("Log in", "Log out")),
    ]


@pytest.fixture
def planned(project: Project) -> Project:
    project.config("true")
    project.script(*usual())
    return project


def folder() -> str:
    return f".ralph/{date.today().isoformat()}-auth"


def test_yes_takes_the_recommended_answers_and_finalizes(planned: Project) -> None:
    done = planned.ralph("prd", "auth", "--yes")

    assert f"Saved to {folder()}/prd.md" in done.stdout
    assert "Ready! Run 'ralph run auth'." in done.stdout
    assert planned.read(f"{folder()}/prd.md") == PRD
    assert [story["title"] for story in planned.plan()["userStories"]] == ["Log in", "Log out"]
    draft = next(text for text in planned.prompts() if "The Person's Answers" in text)
    assert "What is it for?\n  Speed" in draft
    assert planned.git("log", "--oneline").count("\n") == 0, "planning commits nothing"
    assert "Nothing to do" in planned.ralph("prd", "auth", "--yes").stdout


def test_answers_come_from_a_file_and_a_missing_one_is_named(planned: Project) -> None:
    planned.write("answers.json", json.dumps({"answers": {"goal": "Beauty, above all"}}))
    planned.ralph("prd", "auth", "--answers", "answers.json")
    assert "Beauty, above all" in next(text for text in planned.prompts() if "The Person's Answers" in text)


def test_everything_that_is_wrong_with_answers_is_told_as_for_a_request(planned: Project) -> None:
    planned.write("answers.json", json.dumps({"answers": {}}))
    done = planned.ralph("prd", "auth", "--answers", "answers.json", code=1)
    assert "answers.json has no answer to 1 of 1 questions:" in done.stderr
    assert "goal: What is it for? (Speed / Beauty)" in done.stderr

    planned.write("answers.json", json.dumps({"answers": {"gaol": "Beauty"}}))
    done = planned.ralph("prd", "auth", "--yes", "--answers", "answers.json", code=1)
    assert "answers.gaol: there is no such question; did you mean 'goal'?" in done.stderr
    assert not any("The Person's Answers" in text for text in planned.prompts()), "nothing was written from it"

    for wrong in ({"answers": {"goal": 3}}, {"answers": {"goal": " "}}, {"goal": "Beauty"}, [1]):
        planned.write("answers.json", json.dumps(wrong))
        assert "answers.json has 1 mistake" in planned.ralph("prd", "auth", "--answers", "answers.json", code=1).stderr

    planned.write("answers.json", json.dumps({"answers": {"goal": "beauty"}}))
    planned.ralph("prd", "auth", "--answers", "answers.json")
    told = next(text for text in planned.prompts() if "The Person's Answers" in text)
    assert "What is it for?\n  Beauty" in told, "an option, whatever its case"


def test_an_answer_with_mistakes_goes_back_to_the_agent_and_the_old_plan_stays(planned: Project) -> None:
    planned.ralph("prd", "auth", "--yes")
    before = planned.plan()
    wrong = plan("Log in", schemaVersion=1)
    wrong["userStories"].append({"id": "US-001", "title": "Again"})
    planned.script(
        *usual(answers("PRD Finalization", wrong, times=1), answers("PRD Finalization", "not json", times=1))
    )

    planned.ralph("prd", "auth", "--action", "update")

    tries = [text for text in planned.prompts() if "# PRD Finalization" in text and "Could Not Be Used" in text]
    assert "'US-001' is already userStories[0]" in tries[0]
    assert "not valid JSON" in tries[1]
    assert planned.plan() == before

    planned.script(answers("PRD Finalization", wrong))
    done = planned.ralph("prd", "auth", "--action", "update", code=1)
    assert "no usable answer in 3 tries" in done.stderr
    assert "Nothing was changed" in done.stderr
    assert planned.plan() == before


def test_only_the_answer_file_of_a_planner_counts(planned: Project) -> None:
    """What it claims beside its answer does not send a usable answer back, as with a reviewer."""
    planned.script(*usual(answers("Generate PRD", PRD, say=["<TASK_BLOCKED reason=no time>"])))

    planned.ralph("prd", "auth", "--yes")

    assert planned.read(f"{folder()}/prd.md") == PRD
    assert planned.calls() == 3, "questions, draft, stories"


def test_updating_keeps_what_ralph_knows_and_believes_no_claim(planned: Project) -> None:
    planned.ralph("prd", "auth", "--yes")
    path = next(planned.path.glob(".ralph/*-auth/prd.json"))
    state = planned.plan()
    state["userStories"][0].update(
        passes=True, attempts=2, lastResult={"completedAt": "t", "commit": "c", "summary": "s"}
    )
    path.write_text(json.dumps(state))
    claimed = plan("Log in", "Log out differently", "New")
    for story in claimed["userStories"]:
        story["passes"] = True
    planned.script(answers("PRD Finalization", claimed))

    planned.ralph("prd", "auth", "--action", "update")

    first, second, third = planned.plan()["userStories"]
    assert (first["passes"], first["attempts"]) == (True, 2), "unchanged: its state is kept"
    assert second["passes"] is False, "changed: to be done anew"
    assert third["passes"] is False, "new: an agent cannot claim it"


def test_refined_or_edited_prds_are_not_finalized_any_more(planned: Project) -> None:
    planned.ralph("prd", "auth", "--yes")
    assert "PRD is ready" in planned.ralph("prd", "auth", "--yes").stdout

    planned.ralph("prd", "auth", "--action", "refine", "--request", "make it shorter")
    assert "make it shorter" in planned.prompts()[-1]
    assert "PRD exists" in planned.ralph("prd", "auth", "--action", "edit", env={"EDITOR": "true"}).stdout
    planned.ralph("prd", "auth", "--action", "finalize")
    done = planned.ralph("prd", "auth", "--action", "edit", env={"EDITOR": "sh -c 'echo more >> $0'"})
    assert "PRD is ready" in done.stdout
    assert "PRD exists" in planned.ralph("prd", "auth", "--action", "edit", env={"EDITOR": "true"}).stdout


def test_without_a_terminal_it_says_what_to_use_instead(planned: Project) -> None:
    assert "--yes or --answers FILE" in planned.ralph("prd", "auth", code=1).stderr
    planned.ralph("prd", "auth", "--yes")
    assert "--action" in planned.ralph("prd", "auth", code=1).stderr


def test_a_planning_agent_cannot_touch_other_plans_or_the_configuration(planned: Project) -> None:
    planned.stories("Other", feature="billing")
    before = planned.read("ralph.config.json"), planned.plan("billing")
    spoil = {"write": {"ralph.config.json": "{}", ".ralph/2026-01-01-billing/prd.json": "{}"}}
    planned.script(*usual({"match": "Clarifying", "times": 1, **spoil}))

    planned.ralph("prd", "auth", "--yes")

    assert (planned.read("ralph.config.json"), planned.plan("billing")) == before


def talk(project: Project, command: list[str], *lines: str) -> str:
    """Have a conversation in a real terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [str(RALPH), *command], cwd=project.path, env={**project.env, "TERM": "xterm"}, stdin=follower, stdout=follower,
        stderr=follower, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    waiting = list(lines)
    seen = ""
    while True:
        try:
            data = os.read(leader, 4096).decode(errors="replace")
        except OSError:
            break
        if not data:
            break
        seen += data
        if (
            waiting
            and seen.rstrip().endswith((":", "]", "?"))
            and any(word in seen.splitlines()[-1] for word in ("Choice", "Answer", "Ready", "What should", "improve"))
        ):
            os.write(leader, (waiting.pop(0) + "\n").encode())
            seen += "\n"
    process.wait(timeout=30)
    os.close(leader)
    assert process.returncode == 0, seen
    return seen


def test_in_a_terminal_it_asks_and_offers_what_fits(planned: Project) -> None:
    seen = talk(planned, ["prd", "auth"], "log people in", "B", "n")
    assert "What is it for?" in seen
    assert "A. Speed" in seen
    assert "Run 'ralph plan auth' to continue." in seen
    draft = planned.prompts()[-1]
    assert "Beauty" in draft
    assert "log people in" in draft

    seen = talk(planned, ["prd", "auth"], "B")
    assert "A) Keep refining" in seen
    assert "B) Finalize for execution" in seen
    assert "C) Edit manually ($EDITOR)" in seen
    assert "Ready!" in seen

    seen = talk(planned, ["prd", "auth"], "A", "shorter please")
    for text in ("Refine further", "Update prd.json", "Edit markdown", "Edit prd.json", "Start execution"):
        assert text in seen
    assert "shorter please" in planned.prompts()[-1]


def test_a_plan_that_is_under_way_is_edited_on_its_branch(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    project.ralph("run", "auth", "--once")
    mine = project.read(".ralph/2026-01-01-auth/prd.json")
    editor = project.folder / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/$FROM/$TO/" $1\n')
    editor.chmod(0o755)
    edit = ("prd", "auth", "--action", "edit-json")

    refused = project.ralph(*edit, env={"EDITOR": str(editor), "FROM": '"Two"', "TO": "7"}, code=1)
    kept = refused.stderr.rpartition("Your version is in ")[2].strip().rstrip(".")
    assert '"title": 7' in Path(kept).read_text()
    project.ralph(*edit, env={"EDITOR": str(editor), "FROM": "Two", "TO": "Second"})

    assert project.plan()["userStories"][1]["title"] == "Second"
    assert project.plan()["userStories"][0]["passes"] is True
    assert project.read(".ralph/2026-01-01-auth/prd.json") == mine
    assert project.subjects()[0] == "chore: update the plan of auth"
    assert "Second" in project.ralph("run", "auth").stdout


def test_a_plan_without_a_prd_for_people_can_be_refined(planned: Project) -> None:
    planned.stories("Log in with a passkey")

    planned.ralph("prd", "auth", "--action", "refine", "--request", "only passkeys")

    assert "## US-001: Log in with a passkey" in planned.prompts()[0]
    assert planned.exists(".ralph/2026-01-01-auth/prd.md")
