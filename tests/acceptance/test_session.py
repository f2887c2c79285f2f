"""R2: a session by four roles: planned, asked, built, reviewed; every contract checked, every loop bounded."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import jsonschema
import pytest

from ralph.workflows.session.report import schema
from tests.acceptance.sessions import (
    BRANCH,
    FOLDER,
    GATE,
    ID,
    REQUEST,
    artifact,
    calls,
    is_left_alone,
    made,
    marks,
    names,
    output,
    plan,
    plays,
    prompt,
    session,
    work,
)
from tests.conftest import Project, wait_for

SCRIPT = Path(__file__).parent.parent / "data/session/agent.json"
PLANNED = ["INITIALIZE", "brainstorm 1", "research 1", "TASK_BREAKDOWN"]


def is_valid(text: str) -> None:
    jsonschema.validate(json.loads(text), json.loads(schema()))


# the whole story


def test_a_session_from_the_request_to_the_last_review(project: Project) -> None:
    project.script_file.write_text(SCRIPT.read_text())
    project.config("python3 -B -m unittest -q")
    project.write("notes.txt", "a person's\n")

    done = project.ralph("session", REQUEST, "--id", ID, "--json")

    assert output(done) == {
        "status": "completed",
        "session_id": ID,
        "current_state": "COMPLETE",
        "last_action": "session-review, attempt 2: passed",
        "next_action": "none",
        "summary": "3 of 3 tasks done; final review: .ralph-sessions/weather/progress.review2.md",
    }
    is_valid(done.stdout)
    assert project.ralph("schema", "session").stdout == schema()
    assert work(project) == ["feat: task-1 - Celsius", "feat: task-2 - A line to print", "feat: task-3 - Fahrenheit"]
    for subject, files in zip(
        work(project), (["test_weather.py", "weather.py"], ["line.py", "test_line.py"]), strict=False
    ):
        assert made(project, subject) == files
    assert names(project) == {
        *("plan.md", "plan.questions.md", "tasks.md", "progress.md", "weather.instructions.md"),
        *(f"tasks.task-{name}.md" for name in ("1-report", "1-report-r2", "2-report", "2-report-r2", "3-report")),
        *("progress.review1.md", "progress.review2.md"),
    }
    is_left_alone(project, "?? notes.txt", "?? ralph.config.json")
    assert project.read("notes.txt") == "a person's\n"

    sent = [text.split("# Session Call")[1] for text in project.prompts()]
    asked_again = next(text for text in sent if "MODE: TASK_BREAKDOWN" in text and "Was Not Complete" in text)
    assert "progress.md: there is no open task-…" in asked_again
    assert f"USER_REQUEST: {REQUEST}" in sent[0] and not any(REQUEST in text for text in sent[1:])
    reviewed = [text for text in sent if "REPORT_PATH" in text and "ATTEMPT_NUMBER" not in text]
    assert not any("tasks.task-2-report.md" in text for text in reviewed), "a red gate never reaches the reviewer"
    mended = next(text for text in sent if "TASK_ID: task-2\nATTEMPT_NUMBER: 2" in text)
    assert "test_line" in mended and "tasks.task-2-report.md" in mended
    assert "three digits, one was wanted" in next(text for text in sent if "TASK_ID: task-1\nATTEMPT_NUMBER: 2" in text)

    shown = project.ralph("session", "show").stdout
    assert "weather  completed · COMPLETE" in shown and "[x] task-3  Fahrenheit" in shown
    assert "artifacts .ralph-sessions/weather on ralph/weather" in shown
    assert "weather  completed · COMPLETE" in project.ralph("session", "list").stdout
    assert "There is no unfinished session" in project.ralph("session", code=1).stderr
    again = project.ralph("session", "--resume", ID, "--json")
    assert output(again)["status"] == "completed" and len(project.prompts()) == len(sent), "nobody is called again"


def test_each_call_says_no_more_than_it_needs(project: Project) -> None:
    plays(project)
    session(project, REQUEST, "--id", ID)
    assert calls(project) == [
        *PLANNED,
        *["execute task-1 1", "review task-1 1", "execute task-2 1", "review task-2 1", "SESSION_REVIEW 1"],
    ]
    assert prompt(project, "brainstorm").strip() == f"SESSION_PATH: {FOLDER}/\nMODE: brainstorm\nCYCLE: 1"
    assert prompt(project, "review task-1").strip() == (
        f"SESSION_PATH: {FOLDER}/\nTASK_ID: task-1\nREPORT_PATH: {FOLDER}/tasks.task-1-report.md"
    )


def test_the_executor_is_told_exactly_the_reports_its_task_inherits(project: Project) -> None:
    plays(project, "'review task-1 1') refuse 'too short' ;;")
    plan(project, "task-1", "task-2", "task-3 task-1", "task-10 task-3 task-1")
    session(project)
    told = {task: prompt(project, f"execute {task}") for task in ("task-2", "task-3", "task-10")}
    assert "Read these reports" not in told["task-2"]
    for task, reports in {"task-3": ["task-1-report-r2"], "task-10": ["task-3-report", "task-1-report-r2"]}.items():
        listed = told[task].split("inherits from them.\n")[1].split("\n\n")[0]
        assert listed == "\n".join(f"- `{FOLDER}/tasks.{name}.md`" for name in reports)


# contracts


def test_a_broken_contract_is_asked_for_again_with_what_is_missing_and_blocks_after_the_third_time(
    project: Project,
) -> None:
    plays(project, "'execute task-1 1') build; mark task-1 x ;;")
    plan(project, "task-1")
    before = project.read(f"{FOLDER}/progress.md")

    done = session(project, "--json", code=3)

    assert calls(project) == ["execute task-1 1"] * 3
    told = output(done)
    assert (told["status"], told["current_state"]) == ("blocked", "EXECUTING")
    assert "tasks.task-1-report.md was not written" in told["summary"] and "[P], but it is [x]" in told["summary"]
    is_valid(done.stdout)
    again = prompt(project, "execute task-1")
    assert "Your Last Answer Was Not Complete" in again and "tasks.task-1-report.md was not written" in again
    assert artifact(project, "progress.md") == before, "half a contract does not count"
    assert work(project) == []

    plays(project)
    session(project)
    assert work(project) == ["feat: task-1 - Do task-1"], "a person mended the agent, and it goes on"


@pytest.mark.parametrize(
    ("case", "first", "second"),
    [
        ("research", "echo One. >> $S/plan.questions.md", "mark plan-research x"),
        (
            "review",
            "printf '\\n## Review\\nFine.\\n' >> $REPORT; mark $TASK x",
            "echo '**Verdict**: Qualified' >> $REPORT",
        ),
        (
            "SESSION_REVIEW",
            "look > $S/progress.review1.md; add task-3",
            "echo '**Verdict**: Gaps' >> $S/progress.review1.md",
        ),
    ],
)
def test_what_was_right_the_first_time_need_not_be_done_twice(
    project: Project, case: str, first: str, second: str
) -> None:
    """Asked again, a role goes on from what it has written."""
    again = f'elif test -e "$AT/once"; then touch "$AT/twice"; {second}; else touch "$AT/once"; {first}; fi'
    plays(project, f'{case}*) if test -e "$AT/twice"; then usual; {again} ;;')
    plan(project, "task-1")
    if case == "research":
        planned = project.read(f"{FOLDER}/progress.md").replace("[x] plan-research", "[ ] plan-research")
        project.write(f"{FOLDER}/progress.md", planned)
    session(project)
    assert set(marks(project).values()) == {"x"}
    if case != "SESSION_REVIEW":
        assert len([call for call in calls(project) if call.startswith(case)]) == 2
    else:
        assert calls(project)[2:] == [
            *["SESSION_REVIEW 1"] * 2,
            "execute task-3 1",
            "review task-3 1",
            "SESSION_REVIEW 2",
        ]


def test_a_planner_that_never_writes_a_readable_plan_is_blocked_and_leaves_nothing(project: Project) -> None:
    plays(project, "INITIALIZE*) initialize; echo '- [?] task-1: x' >> $S/progress.md ;;")
    done = session(project, REQUEST, "--id", ID, "--json", code=3)
    assert output(done)["status"] == "blocked" and "[?] is not a mark" in output(done)["summary"]
    assert names(project) == set() and calls(project) == ["INITIALIZE"] * 3
    plays(project)
    session(project)
    assert set(marks(project).values()) == {"x"}, "the request is still known"


def test_a_circular_inheritance_is_refused_at_breakdown(project: Project) -> None:
    plays(project, "TASK_BREAKDOWN*) add task-1 task-2; add task-2 task-1; mark plan-breakdown x ;;")
    done = session(project, REQUEST, "--id", ID, code=3)
    assert "in a cycle: task-1 → task-2 → task-1" in done.stdout
    assert calls(project) == [*PLANNED, "TASK_BREAKDOWN", "TASK_BREAKDOWN"]
    shown = project.ralph("session", "show", ID).stdout
    assert "next      a person decides, then planner: TASK_BREAKDOWN" in shown, "no broken file stays"


@pytest.mark.parametrize(
    "does",
    ["echo 'All is done.' > $S/plan.md", "rm $S/tasks.md", "mark task-2 x", "echo x > $S/progress.review1.md"],
)
def test_an_executor_that_touches_what_is_others_is_undone_and_does_not_count(project: Project, does: str) -> None:
    plays(project, f'\'execute task-1 1\') execute; test -e "$AT/once" || {{ touch "$AT/once"; {does}; }} ;;')
    plan(project, "task-1", "task-2")
    before = {name: artifact(project, name) for name in ("plan.md", "tasks.md")}
    session(project, "--once")
    assert calls(project) == ["execute task-1 1", "execute task-1 1", "review task-1 1"]
    assert {name: artifact(project, name) for name in before} == before
    assert marks(project) == {"task-1": "x", "task-2": " "} and "progress.review1.md" not in names(project)
    assert project.prompts()[1].count("Your Last Answer Was Not Complete") == 1


def test_roles_that_only_look_change_nothing_in_the_project(project: Project) -> None:
    plays(project, '\'review task-1 1\') accept; test -e "$AT/once" || { touch "$AT/once"; echo mine > app.txt; } ;;')
    plan(project, "task-1")
    session(project, "--once")
    assert calls(project) == ["execute task-1 1", "review task-1 1", "review task-1 1"]
    assert work(project) == ["feat: task-1 - Do task-1"] and made(project, "feat: task-1") == ["task-1.txt"]
    assert "it changed the project, but may only read it" in project.prompts()[-1]
    is_left_alone(project, "?? ralph.config.json")


def test_the_reviewer_decides_about_a_task_that_changes_no_file_of_the_project(project: Project) -> None:
    only_reports = "'execute task-1'*) report; mark task-1 P ;;"
    plays(project, f"{only_reports}\n'review task-1 1') refuse 'a test is missing' ;;")
    plan(project, "task-1", "task-2 task-1")
    done = session(project)
    assert "task-1 passed, regression-only · no change to the project" in done.stdout
    assert calls(project)[:4] == [f"{who} task-1 {number}" for number in (1, 2) for who in ("execute", "review")]
    assert marks(project) == {"task-1": "x", "task-2": "x"} and work(project) == ["feat: task-2 - Do task-2"]
    assert "Qualified" in project.landed(f"{FOLDER}/tasks.task-1-report-r2.md", BRANCH)


def test_an_executor_that_did_nothing_is_told_what_it_owes_and_the_session_is_shown_as_blocked(
    project: Project,
) -> None:
    plays(project, "'execute task-1'*) : ;;")
    plan(project, "task-1", "task-2 task-1")
    done = session(project, code=3)
    assert calls(project) == ["execute task-1 1"] * 3 and marks(project)["task-1"] == " "
    told = prompt(project, "execute task-1")
    assert "tasks.task-1-report.md was not written" in told and "[P]" in told
    assert "ralph accept weather TASK" in done.stdout

    reason = "task-1: The executor did not meet its contract: tasks.task-1-report.md was not written"
    for view in (("session", "show"), ("session", "list"), ("status",), ("status", ID)):
        shown = project.ralph(*view).stdout
        assert "blocked" in shown and reason in shown, view
    assert "not written" in project.ralph("status", "--task", "task-1").stdout
    assert json.loads(project.ralph("session", "show", "--json").stdout)["status"] == "blocked"
    [stands] = json.loads(project.ralph("status", ID, "--json").stdout)
    assert stands["blocked"] == 1 and stands["blockedReason"].startswith(reason)


def test_a_person_can_accept_a_task_of_a_session(project: Project) -> None:
    plays(project, "'execute task-1'*) : ;;")
    plan(project, "task-1", "task-2 task-1")
    session(project, code=3)

    project.ralph("accept", ID, "task-1", "--why", "it is known already", "--yes")

    assert marks(project) == {"task-1": "x", "task-2": " "}
    assert "Accepted by a person: it is known already" in project.landed(f"{FOLDER}/tasks.task-1-report.md", BRANCH)
    assert "in progress · EXECUTING" in project.ralph("session", "show").stdout
    assert project.ralph("accept", ID, "task-9", "--why", "x", "--yes", code=1)
    done = session(project)
    assert calls(project)[3:] == ["execute task-2 1", "review task-2 1", "SESSION_REVIEW 1"]
    review = f"{FOLDER}/progress.review1.md"
    for text in (done.stdout, *(project.ralph(*view).stdout for view in (("session", "show"), ("status", ID)))):
        assert review in text, "a finished session names its final review"
    assert review in project.ralph("session", "list").stdout
    assert json.loads(project.ralph("status", ID, "--json").stdout)[0]["finalReview"] == review


def test_an_accepted_task_of_a_session_reads_back_as_accepted_with_who_and_why(project: Project) -> None:
    plays(project, "'execute task-1'*) : ;;")
    plan(project, "task-1", "task-2 task-1")
    session(project, code=3)
    project.ralph("accept", ID, "task-1", "--why", "it is known already", "--yes")
    session(project)

    [stands] = json.loads(project.ralph("status", ID, "--json").stdout)
    tasks = {task["id"]: task for task in stands["tasks"]}
    assert (stands["passed"], stands["accepted"]) == (1, 1)
    assert [tasks[name]["state"] for name in ("task-1", "task-2")] == ["accepted", "passed"]
    said = "accepted by Person: it is known already"
    for view in (("status", ID), ("session", "show"), ("next", ID)):
        assert said in project.ralph(*view).stdout, view
    assert "1/2 passed, 1 accepted" in project.ralph("status").stdout
    assert said in project.ralph("accept", ID, "task-1", "--why", "again", "--yes", code=1).stderr


def test_no_role_can_say_that_a_person_accepted_a_task(project: Project) -> None:
    forged = """printf '{"task-1": {"by": "Test", "why": "sure"}}' > $S/accepted.json"""
    plays(project, f"'execute task-1'*) execute; {forged} ;; 'review task-1'*) accept; {forged} ;;")
    plan(project, "task-1")
    project.ralph("session", "--no-baseline", code=None)
    assert "accepted.json" not in project.git("ls-tree", "-r", "--name-only", BRANCH)
    [stands] = json.loads(project.ralph("status", ID, "--json").stdout)
    assert stands["accepted"] == 0 and "accepted" not in {task["state"] for task in stands["tasks"]}


# gates, rework, bounds


def test_a_red_gate_is_rework_with_its_output_and_never_reaches_the_reviewer(project: Project) -> None:
    plays(project, "'execute task-1 1') execute; echo red > task-1.txt ;;", "grep -s red *.txt && exit 1; true")
    plan(project, "task-1")
    session(project)
    assert calls(project) == ["execute task-1 1", "execute task-1 2", "review task-1 2", "SESSION_REVIEW 1"]
    told = prompt(project, "execute task-1")
    assert "task-1.txt:red" in told and f"{FOLDER}/tasks.task-1-report.md" in told
    assert work(project) == ["feat: task-1 - Do task-1"]


def test_complete_beside_a_red_gate_is_no_verdict(project: Project) -> None:
    plays(project, "'SESSION_REVIEW 1') complete ;;")
    plan(project, "task-1", mark="x")
    project.write("broken.txt", "red\n")
    project.git("add", "broken.txt")
    project.git("commit", "-q", "-m", "Somebody breaks it")

    done = session(project, code=3)

    assert calls(project) == ["SESSION_REVIEW 1"] * 3
    assert "The Project's Checks Are Red" in prompt(project, "SESSION_REVIEW")
    assert "red" in done.stdout and "progress.review1.md" not in names(project)
    assert session(project, code=3).returncode == 3, "and it is not finished the next time either"

    plays(
        project, "'SESSION_REVIEW 1') gaps 'the gate is red' task-2 ;;\n'execute task-2 1') execute; rm broken.txt ;;"
    )
    session(project)
    assert work(project) == ["feat: task-2 - Do task-2"]


def test_rework_is_bounded(project: Project) -> None:
    plays(project, "'review task-1'*) refuse \"reason $REPORT\" ;;", maxRetries=2)
    plan(project, "task-1", "task-2")
    done = session(project, code=3)
    assert calls(project) == [f"{who} task-1 {number}" for number in (1, 2) for who in ("execute", "review")]
    assert "task-1" in done.stdout and "reason .ralph-sessions/weather/tasks.task-1-report-r2.md" in done.stdout
    assert work(project) == [] and "task-1.txt" not in project.files_in(BRANCH), "only what passed is on the branch"
    kept = [f"refs/ralph/attempts/{ID}/task-1/{number}" for number in (1, 2)]
    assert [project.landed("task-1.txt", ref) for ref in kept] == ["execute task-1 1", "execute task-1 2"]
    plays(project)
    session(project)
    assert calls(project)[4:6] == ["execute task-1 3", "review task-1 3"]
    assert work(project) == ["feat: task-1 - Do task-1", "feat: task-2 - Do task-2"]


def test_the_same_findings_twice_end_it_with_the_findings_shown(project: Project) -> None:
    plays(project, "'review task-1'*) refuse 'the moon is missing' ;;", maxRetries=9)
    plan(project, "task-1")
    done = session(project, code=3)
    assert calls(project)[-1] == "review task-1 2"
    assert "reported the same findings twice" in done.stdout and "the moon is missing" in done.stdout


def test_session_reviews_are_bounded_and_more_can_be_asked_for(project: Project) -> None:
    plays(project, 'SESSION_REVIEW*) gaps "gap $ROUND" task-1$ROUND ;;', session={"maxReviews": 2})
    plan(project, "task-1", mark="x")
    done = session(project, code=3)
    assert [call for call in calls(project) if call.startswith("SESSION")] == ["SESSION_REVIEW 1", "SESSION_REVIEW 2"]
    assert "session.maxReviews" in done.stdout and "gap 2" in done.stdout
    assert work(project) == ["feat: task-11 - Do task-11", "feat: task-12 - Do task-12"], (
        "the gaps are closed all the same"
    )

    plays(project, "UPDATE*) echo more >> $S/plan.md; add task-20 ;;", session={"maxReviews": 2})
    session(project, "--update", "More of it")
    assert calls(project)[-4:] == ["UPDATE", "execute task-20 1", "review task-20 1", "SESSION_REVIEW 3"]


def test_the_same_gaps_twice_end_it(project: Project) -> None:
    same = "printf 'task-1, task-11\\n**Verdict**: Gaps\\n- the moon\\n' > $S/progress.review$ROUND.md"
    plays(project, f"SESSION_REVIEW*) gaps 'the moon' task-1$ROUND; {same} ;;", session={"maxReviews": 9})
    plan(project, "task-1", mark="x")
    done = session(project, code=3)
    assert calls(project)[-1] == "SESSION_REVIEW 2"
    assert "found the same gaps twice" in done.stdout and "the moon" in done.stdout


def test_work_that_was_qualified_but_refused_by_a_hook_is_not_done(project: Project) -> None:
    plays(project, maxRetries=2)
    plan(project, "task-1")
    hook = project.path / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ngit diff --cached --name-only | grep -q txt && { echo not today; exit 1; }\nexit 0\n")
    hook.chmod(0o755)
    done = session(project, code=3)
    assert "not today" in done.stdout and work(project) == []
    assert "not today" in prompt(project, "execute task-1")
    hook.unlink()
    assert marks(project) == {"task-1": " "}
    session(project)
    assert work(project) == ["feat: task-1 - Do task-1"] and made(project, "feat: task-1") == ["task-1.txt"]
    is_left_alone(project, "?? ralph.config.json")


# agents, output, choosing


def test_each_role_may_have_an_agent_of_its_own(project: Project) -> None:
    own = {
        name: {
            "command": "/bin/sh",
            "args": [
                "-c",
                f'echo {name} >> "$0"; sh "$1"',
                str(project.folder / "who"),
                str(project.folder / "agent.sh"),
            ],
        }
        for name in ("cheap", "strong")
    }
    plays(project, providers=own, roles={"executor": {"provider": "cheap"}, "reviewer": {"provider": "strong"}})
    session(project, REQUEST, "--id", ID)
    assert (project.folder / "who").read_text().split() == ["cheap", "strong", "cheap", "strong", "strong"]
    assert calls(project)[:4] == PLANNED


def test_interrupted_it_says_how_it_stands_and_goes_on(project: Project) -> None:
    plays(project, "'execute task-1 1') test -e \"$AT/hangs\" || { build; report; hang; }; execute ;;")
    plan(project, "task-1")
    run = project.start("session", "--no-baseline", "--json")
    wait_for((project.folder / "hangs").exists)
    run.send_signal(signal.SIGINT)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    told = json.loads(said)
    assert (told["status"], told["current_state"], told["next_action"]) == (
        *("in_progress", "EXECUTING"),
        "executor: task-1, attempt 1",
    )
    is_valid(said)
    session(project)
    assert work(project) == ["feat: task-1 - Do task-1"]


def test_going_on_comes_before_beginning(project: Project) -> None:
    plays(project)
    session(project, REQUEST, "--once")
    session(project, REQUEST, "--once")
    found = json.loads(project.ralph("session", "list", "--json").stdout)
    assert [one["current_state"] for one in found] == ["PLANNING"] and calls(project) == PLANNED[:2]
    session(project, "Something else", "--id", "other", "--once")
    found = json.loads(project.ralph("session", "list", "--json").stdout)
    assert found[0]["session_id"] == "other" and len(found) == 2
    first = found[1]["session_id"]
    assert first.endswith("-how-warm-is-it")
    session(project, "--resume", first, "--once")
    assert calls(project)[-1] == "research 1"
    shown = json.loads(project.ralph("session", "show", "other", "--json").stdout)
    assert shown["next_action"] == "questioner: brainstorm, cycle 1"


def test_an_update_reopens_a_finished_session(project: Project) -> None:
    plays(project, "UPDATE*) printf -- '- Fahrenheit\\n' >> $S/plan.md; mark plan-brainstorm ' '; add task-3 task-1 ;;")
    plan(project, "task-1", mark="x")
    project.write(f"{FOLDER}/progress.review1.md", "task-1 is good\n\n**Verdict**: Complete\n")
    assert "no unfinished session" in project.ralph("session", code=1).stderr
    session(project, "--update", "Fahrenheit too")
    assert "UPDATE_REQUEST: Fahrenheit too" in prompt(project, "UPDATE")
    assert calls(project) == ["UPDATE", "brainstorm 2", "execute task-3 1", "review task-3 1", "SESSION_REVIEW 2"]


def test_an_update_waits_until_the_planner_has_taken_it_in(project: Project) -> None:
    plays(project, "UPDATE*) exit 1 ;;")
    plan(project, "task-1", mark="x")
    project.write(f"{FOLDER}/progress.review1.md", "task-1 is good\n\n**Verdict**: Complete\n")
    session(project, "--update", "Fahrenheit too", code=3)
    for view in (("status",), ("session", "list"), ("session", "show", ID)):
        assert "blocked" in project.ralph(*view).stdout
    assert "update the plan" in project.ralph("next").stdout
    plays(project, "UPDATE*) printf -- '- Fahrenheit\\n' >> $S/plan.md; mark plan-brainstorm ' '; add task-3 task-1 ;;")
    project.ralph("run", ID)
    assert "UPDATE_REQUEST: Fahrenheit too" in prompt(project, "UPDATE")
    assert "nothing left to do" in project.ralph("next").stdout


# bad input


@pytest.mark.parametrize("args", [(REQUEST, "--id=../escaped"), ("--resume=../escaped",), ("show", "../escaped")])
def test_an_id_that_leaves_the_folder_is_refused(project: Project, args: tuple[str, ...]) -> None:
    plays(project)
    refused = project.ralph("session", *args, code=1)
    assert "'../escaped' is not a valid session id" in refused.stderr and calls(project) == []
    assert not (project.path / ".ralph-sessions").exists() and not (project.path / "escaped").exists()


def test_a_command_line_that_means_nothing_is_refused(project: Project) -> None:
    plays(project)

    def refuses(why: str, *args: str) -> None:
        assert why in project.ralph("session", *args, code=1).stderr and calls(project) == []

    refuses("no unfinished session")
    refuses("no session to update", "--update", "x")
    plan(project, "task-1")
    refuses("did you mean 'weather'?", "--resume", "wether")
    refuses("is not a valid session id", "--resume", "")
    refuses("--update needs a text", "--update", " ", "--resume", ID)
    refuses("A request starts a new session", "A request", "--resume", ID)
    refuses("cannot be combined with --resume or --update", "A request", "--id", "new", "--update", "more")
    refuses("The session 'weather' already exists", "A request", "--id", ID)
    refuses("--id is for a new session", "--id", "new")
    refuses("put it in quotes", "list", ID)
    assert not (project.path / ".ralph/run/new").exists()


def test_nonsense_in_progress_is_refused_by_its_line_before_anything_begins(project: Project) -> None:
    plays(project)
    plan(project, "task-1", "task-2")
    text = project.read(f"{FOLDER}/progress.md").replace("[ ] task-2", "[maybe] task-2")
    project.write(f"{FOLDER}/progress.md", text)
    refused = project.ralph("session", code=1)
    assert "progress.md" in refused.stderr and "line 6: [maybe] is not a mark" in refused.stderr
    assert project.read(f"{FOLDER}/progress.md") == text and calls(project) == []
    assert "blocked" in project.ralph("session", "list").stdout
    shown = project.ralph("session", "show", ID, "--json").stdout
    is_valid(shown)
    assert "line 6" in json.loads(shown)["summary"]
    assert "line 6" in project.ralph("session", "show", ID).stdout
    project.ralph("status", code=None)


def test_a_report_without_a_verdict_blocks_and_is_as_the_executor_left_it(project: Project) -> None:
    plays(project, "'review task-1 1') printf '\\n## Review\\nFine.\\n' >> $REPORT; mark task-1 x ;;")
    plan(project, "task-1")
    done = session(project, "--json", code=3)
    assert "there is no verdict" in output(done)["summary"]
    assert calls(project) == ["execute task-1 1", *["review task-1 1"] * 3]
    assert marks(project) == {"task-1": "P"} and "Fine." not in artifact(project, "tasks.task-1-report.md")
    plays(project)
    session(project)
    assert calls(project)[4:] == ["review task-1 1", "SESSION_REVIEW 1"], "the executor had finished"
    assert work(project) == ["feat: task-1 - Do task-1"]


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("BLOCKED:I need the key", "The agent says that it cannot be done: I need the key"),
        ("DISPUTE:lint — red is a colour here", "The agent disputes the gate `lint`: red is a colour here"),
    ],
)
def test_an_executor_that_asks_for_a_person_ends_the_run_with_its_reason(
    project: Project, says: str, told: str
) -> None:
    asks = f"'execute task-1'*) echo red > task-1.txt; echo '<ralph>{says}</ralph>' ;;"
    lint = [{"name": "lint", "command": GATE}]
    plays(project, asks, gates=lint)
    plan(project, "task-1", "task-2")

    done = session(project, code=3)

    assert calls(project) == ["execute task-1 1"], "nobody reviews it, and nobody is asked again"
    assert told in done.stdout
    assert f"ralph run {ID}" in done.stdout
    assert work(project) == []
    assert told in project.ralph("session", "show", ID).stdout
    refused = project.ralph("decide", ID, "task-1", "--skip", "--yes", code=1).stderr
    assert "Run `ralph run weather` to try its tasks again" in refused
    assert "Its files do not record what a person decides" in refused
    plays(project, gates=lint)
    session(project)
    assert work(project) == ["feat: task-1 - Do task-1", "feat: task-2 - Do task-2"]


def test_two_sessions_at_once_are_refused(project: Project) -> None:
    plays(project, "'execute task-1 1') test -e \"$AT/hangs\" || hang; execute ;;")
    plan(project, "task-1")
    run = project.start("session", "--no-baseline")
    wait_for((project.folder / "hangs").exists)
    for args in (("--resume", ID), ("Another", "--id", "other")):
        assert "another" in project.ralph("session", *args, code=5).stderr.lower()
    assert "in progress" in project.ralph("session", "list").stdout
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert "other" not in project.ralph("session", "list").stdout
    session(project)
    assert work(project) == ["feat: task-1 - Do task-1"]


def test_a_folder_without_progress_and_request_is_told(project: Project) -> None:
    plays(project)
    project.write(f"{FOLDER}/plan.md", "# Weather\n")
    refused = project.ralph("session", code=1)
    assert "has neither progress.md nor a request" in refused.stderr
    assert "INITIALIZING" in project.ralph("session", "show", ID).stdout


def test_a_persons_own_files_are_not_touched(project: Project) -> None:
    plays(project, "'execute task-1 1') execute; git add -A; git commit -qm 'all of it' ;;")
    plan(project, "task-1", "task-2")
    project.write("notes.txt", "a person's\n")
    project.write("later/ideas.txt", "a person's\n")
    session(project)
    assert project.read("later/ideas.txt") == "a person's\n"
    assert work(project) == ["all of it", "feat: task-2 - Do task-2"]
    assert made(project, "all of it") == ["task-1.txt"] and made(project, "feat: task-2") == ["task-2.txt"]
    is_left_alone(project, "?? later/", "?? notes.txt", "?? ralph.config.json")
