"""R4.2 to R4.15: a run of the requirements' plan, as a person and as other programs see it."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.requirements import (
    COMMIT,
    REVIEW,
    REVIEWING,
    SEEN,
    SETTING_UP,
    SETUP,
    VERIFY,
    WORK,
    Founded,
    check,
    does,
    marks,
)
from tests.conftest import RALPH, processes_in, wait_for

QUALIFIED = {"match": REVIEWING, "answer": {"verdict": "qualified", "findings": [], "summary": "Good"}}
BOTH = (does("T-001", "one.txt"), does("T-002", "two.txt"))


# R4.2: what is looked at before a run


def test_r4_2_preflight_lists_every_check_then_comes_the_banner_the_loop_and_the_figures(founded: Founded) -> None:
    founded.steps(SETUP, WORK, VERIFY, REVIEW, COMMIT)
    founded.config("test -d .")
    founded.script({"match": SETTING_UP, "write": {"README.md": "# Shop\n"}}, QUALIFIED, *BOTH)

    done = founded.ralph("run")

    text = re.sub(r"^\d\d:\d\d:\d\d ", "", done.stdout, flags=re.MULTILINE)
    listed, banner, *loops = text.split("\n\n")
    assert listed.splitlines() == [
        "✓ .ralph/configs/default.json: setup, work, verify, review, git-commit",
        "✓ .ralph/prd.json: 2 tasks",
        "✓ .ralph/requirements.md",
        "✓ setup: prompt .ralph/prompts/SETUP_PROMPT.md",
        "✓ work: prompt .ralph/prompts/LOOP_PROMPT.md",
        "✓ review: prompt review",
        "✓ executor: ralph",
        "✓ reviewer: ralph",
        "✓ git: shop",
        "✓ gates: test -d .",
    ]
    assert banner.startswith(
        "requirements: 2 tasks, 0 passed\n  branch ralph/requirements, then main · agent ralph · config default · run "
    )
    assert [loop.splitlines()[0] for loop in loops[:3]] == [
        "▶ [░░░░░░░░░░] 0/2 Set-up: setup (attempt 1)",
        "▶ [░░░░░░░░░░] 0/2 T-001 One (attempt 1)",
        "▶ [█████░░░░░] 1/2 T-002 Two (attempt 1)",
    ]
    assert (
        "requirements: complete · all gates green · 0 of 2 tasks proven\n  tasks 2 of 2 passed · attempts 3 · time"
        in text
    )
    assert "figures   .ralph/aggregate.json" in done.stdout
    assert "`git -C shop log -p`. It is also on your branch." in done.stdout
    founded.untouched()
    logs = sorted(path.name for path in founded.path.glob(".ralph/logs/*/*.log"))
    assert {"setup-1.setup.log", "T-001-1.work.log", "T-001-1.review.log", "T-002-1.work.log"} <= set(logs)


def removed(name: str) -> Callable[[Founded], object]:
    def remove(project: Founded) -> None:
        path = project.path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return remove


def without_commits(project: Founded) -> None:
    shutil.rmtree(project.app / ".git")
    project.git("init", "-q")


def with_marker(marker: str) -> Callable[[Founded], object]:
    return lambda project: project.steps({**SETUP, "config": {"marker_file": marker}}, WORK)


BROKEN: dict[str, tuple[Callable[[Founded], object], str, str]] = {
    "no repository": (removed("shop/.git"), "shop is not in a git repository", "git init && git add . && git commit"),
    "no commits": (without_commits, "the repository of shop has no commits yet", "git add . && git commit"),
    "no application": (removed("shop"), "the application's folder shop does not exist", "git init shop"),
    "no requirements": (removed(".ralph/requirements.md"), ".ralph/requirements.md does not exist", "Write the"),
    "no prompt": (
        removed(".ralph/prompts/LOOP_PROMPT.md"),
        "LOOP_PROMPT.md does not exist",
        "Create it, or name another",
    ),
    "odd prompt": (
        lambda p: p.write(".ralph/prompts/LOOP_PROMPT.md", "Do {{ taskTitel }}\n"),
        "uses an unknown variable: taskTitel",
        ": acceptanceCriteria",
    ),
    "no agent": (
        lambda p: p.config("true", provider={"command": "no-such-agent"}),
        "The agent 'no-such-agent' was not found",
        "Install it",
    ),
    "marker below a file": (with_marker(".ralph/prd.json/done"), "setup: marker_file .ralph/prd.json/done", "another"),
    "marker is a folder": (with_marker(".ralph/prompts"), "marker_file .ralph/prompts cannot be written", "another"),
    "a step like a task": (
        lambda p: p.steps({**SETUP, "name": "T-001"}, WORK),
        "'T-001' is the name of both a set-up step and a task",
        "Rename one",
    ),
    "two mistakes in the plan": (
        lambda p: p.tasks({"title": "One", "depends_on": ["T-009"]}, {"title": ""}),
        "tasks[0].depends_on",
        "`ralph schema tasks`",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_r4_2_preflight_refuses_with_a_remedy_and_nothing_has_happened(founded: Founded, what: str) -> None:
    breaking, message, remedy = BROKEN[what]
    breaking(founded)
    founded.script(*BOTH)
    before = founded.files()

    done = founded.ralph("run", code=1)

    assert message in done.stderr
    assert remedy in done.stderr.split("→ ")[1]
    assert f"✗ {done.stderr.split('Not everything is ready: ')[1].splitlines()[0]}" in done.stdout
    assert "✓ .ralph/configs/default.json" in done.stdout, "what is right is listed too"
    assert founded.calls() == 0
    assert founded.files() == before


def test_r4_2_a_broken_plan_does_not_make_a_good_repository_look_bad(founded: Founded) -> None:
    founded.tasks({"title": ""})

    done = founded.ralph("run", code=1)

    assert done.stdout.count("✗ ") == 1
    assert "git init" not in done.stdout + done.stderr


def test_r4_2_everything_that_is_wrong_is_listed_at_once(founded: Founded) -> None:
    founded.config("true", provider={"command": "no-such-agent"})
    removed(".ralph/requirements.md")(founded)
    removed("shop/.git")(founded)

    done = founded.ralph("run", code=1)
    assert "(and 2 more)" in done.stderr
    assert done.stdout.count("✗ ") == 3

    quiet = founded.ralph("run", "--quiet", code=1)
    assert quiet.stdout == ""
    assert ".ralph/requirements.md does not exist" in quiet.stderr
    assert "shop is not in a git repository" in quiet.stderr


def test_r4_2_a_broken_step_configuration_is_told_with_all_of_its_mistakes(founded: Founded) -> None:
    founded.steps(
        {"type": "agnet"},
        {"type": "command", "config": {"comand": "true"}, "timeout": "soon"},
        {"type": "noop", "max_retries": -1, "colour": "red"},
        {"type": "noop"},
        {"type": "agent", "config": {"marker_file": "../outside"}},
        stuck_after="often",
    )
    expected = (
        "steps[0].type: there is no step type 'agnet'; did you mean 'agent'?",
        "steps[1].config.command",
        "steps[1].config.comand",
        "steps[1].timeout: expected a duration such as",
        "steps[2].max_retries",
        "steps[2].colour",
        "steps[3]: the name 'noop' is also the name of steps[2]",
        "steps[4].config.marker_file: '../outside' is not inside the project",
        "stuck_after",
        "no agent works in every loop",
    )

    said = founded.errors("run")
    validated = founded.ralph("validate", code=1).stdout

    for mistake in expected:
        assert mistake in said, mistake
        assert mistake in validated, mistake
    assert "`ralph schema steps` describes every key" in said
    assert not founded.exists(".ralph/run_state.json")


def test_r4_14_an_unknown_config_names_the_nearest(founded: Founded) -> None:
    founded.steps(WORK, name="careful")

    said = founded.errors("run", "--config", "carefull")

    assert "There is no step configuration 'carefull'; did you mean 'careful'?" in said
    assert "  default\n" in said


def test_r4_14_config_takes_other_steps_and_the_banner_names_them(founded: Founded) -> None:
    founded.steps(WORK, {"type": "command", "config": {"command": "touch stepped"}}, VERIFY, COMMIT, name="careful")
    founded.script(*BOTH)

    done = founded.ralph("run", "--config", "careful")

    assert "config careful" in done.stdout
    assert "stepped" in founded.landed_files()
    assert founded.aggregate()["config"] == "careful"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "--on-failure", "stop"), "--on-failure does not apply to the requirements workflow, only to request."),
    ],
)
def test_options_of_the_other_workflow_are_refused(founded: Founded, args: tuple[str, ...], message: str) -> None:
    assert message in founded.errors(*args)


# R4.13: the progress line


def test_r4_13_on_a_terminal_the_progress_line_lives(founded: Founded) -> None:
    founded.script(*BOTH)
    ours, theirs = pty.openpty()
    env = {**founded.env, "TERM": "xterm", "COLUMNS": "200", "LINES": "40"}
    run = subprocess.Popen([str(RALPH), "run"], cwd=founded.path, env=env, stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:
        pass  # how a terminal says that nobody writes any more
    os.close(ours)

    assert run.wait(20) == 0
    drawn = shown.decode()
    assert re.search(r"T-001  One +agent ralph working, \d s[^\n]*\n[^\n]* 0/2 · \d s", drawn)
    assert re.search(r"T-002  Two +agent ralph working, \d s[^\n]*\n[^\n]* 1/2 · \d s", drawn)


# What an agent says and writes is a claim


@pytest.mark.parametrize("by", ["word", "mark"])
def test_a_lie_does_not_pass_and_the_next_prompt_says_why(anywhere: Founded, by: str) -> None:
    claim = {"done": True} if by == "word" else {"run": [marks("T-001", "done")], "done": False}
    anywhere.tasks("One")
    anywhere.config("test -f proof.txt || { echo 'error: no proof'; exit 7; }")
    anywhere.script(does("T-001", "claim.txt", times=1, **claim), does("T-001", "proof.txt", **claim))

    done = anywhere.ralph("run")

    assert "T-001 failed: The gate" in done.stdout
    first, second = anywhere.prompts()
    assert "What Went Wrong Before" not in first
    assert "exit code 7" in second
    assert "error: no proof" in second
    assert anywhere.task()["status"] == "done"
    assert anywhere.task()["loops"] == 1
    assert anywhere.task()["attempts"] == 2
    assert anywhere.task()["result"]["verify"][0]["passed"] is True


def test_a_mark_in_the_plan_is_read_and_put_back_with_all_that_was_written_there(founded: Founded) -> None:
    forged = marks("T-001", "done", notes="all mine", loops="99", result="perfect", base_commit="0" * 40)
    founded.script(does("T-001", "one.txt", run=[forged], done=False))

    done = founded.ralph("run", "--once")

    assert "the agent marked T-001 as DONE in the plan: a claim, reverted" in done.stdout
    task = founded.task()
    assert (task["status"], task["notes"], task["loops"]) == ("done", "", 0)
    assert task["result"]["commit"] == founded.git("rev-parse", "HEAD")
    assert task["base_commit"] == founded.git("rev-parse", "HEAD~1")


def test_marks_that_an_agent_commits_are_put_back_in_git_as_well(inside: Founded) -> None:
    inside.steps(WORK, VERIFY, COMMIT, max_loops_per_task=1)
    own, other = marks("T-001", "done"), marks("T-002", "done")
    forged = f"{own}; {other}; git add -A one.txt .ralph/prd.json; git commit -qm 'feat: T-001 - One'"
    inside.script(does("T-001", "one.txt", run=[forged], done=False), {"match": "T-002", "write": {"half.txt": "x"}})

    done = inside.ralph("run", code=3)

    assert "The agent also marked T-002 in the plan." in done.stdout
    assert inside.states() == {"T-001": "done", "T-002": "failed"}
    assert inside.landed_files() == ["one.txt"]
    assert inside.subjects().count("feat: T-001 - One") == 1
    for revision in inside.git("log", "--format=%H", inside.tip, "--", ".ralph/prd.json").splitlines():
        tasks = json.loads(inside.git("show", f"{revision}:.ralph/prd.json"))["tasks"]
        assert tasks[1]["status"] != "done", "no commit says what is not so"
    inside.untouched()


PLAN = f"{SEEN}/prd.json"


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("marks another task", marks("T-002", "done")),
        ("fails another task", marks("T-002", "failed", notes="too hard")),
        ("writes prose", f"echo 'All done!' > {PLAN}"),
        ("writes half a file", f"head -c 100 {PLAN} > half; cat half > {PLAN}; rm half"),
        ("writes another kind of JSON", f"echo '[1, 2]' > {PLAN}"),
        ("writes tasks that are none", f'echo \'{{"tasks": ["T-001", 7, null]}}\' > {PLAN}'),
        ("empties it", f": > {PLAN}"),
        ("removes it", f"rm {PLAN}"),
        ("puts a link in its place", f"rm {PLAN}; ln -s /etc/passwd {PLAN}"),
        ("puts a folder in its place", f"rm {PLAN}; mkdir -p {PLAN}/x; touch {PLAN}/x/y"),
        ("puts a pipe in its place", f"rm {PLAN}; mkfifo {PLAN}"),
        ("nests it very deeply", f"python3 -c \"print('[' * 100000)\" > {PLAN}"),
        ("removes the tasks", f'echo \'{{"version": 1, "tasks": []}}\' > {PLAN}'),
    ],
)
def test_what_an_agent_writes_into_the_plan_changes_nothing_else(founded: Founded, what: str, wrong: str) -> None:
    founded.script(does("T-001", "one.txt", run=[wrong], done=False))
    before = [{key: task[key] for key in ("id", "title", "acceptance_criteria")} for task in founded.plan()["tasks"]]

    founded.ralph("run", "--once", code=3)

    tasks = founded.plan()["tasks"]
    assert [{key: task[key] for key in ("id", "title", "acceptance_criteria")} for task in tasks] == before, what
    assert founded.states() == {"T-001": "in_progress", "T-002": "todo"}
    assert founded.task()["loops"] == 1
    assert "it changed" not in founded.task()["notes"], "writing there is no offence"
    check(founded.plan(), "tasks")


@pytest.mark.parametrize(
    "wrong",
    [
        f"echo x > {SEEN}/requirements.md",
        f"echo x > {SEEN}/prompts/LOOP_PROMPT.md",
        f"sed -i 's/verify/noop/' {SEEN}/configs/default.json",
        f"touch {SEEN}/.setup_done",
        "sed -i 's/test -f/true/' $RALPH_ROOT/ralph.config.json",
        f"echo '{{}}' > {SEEN}/prd_archive.json",
        f"rm -r {SEEN}/configs",
    ],
)
def test_ralphs_other_files_are_put_back_and_it_costs_the_loop(founded: Founded, wrong: str) -> None:
    founded.config("test -f one.txt")
    founded.tasks("One")
    before = founded.files()
    founded.script(does("T-001", "one.txt", run=[wrong], times=1), does("T-001", "more.txt"))

    done = founded.ralph("run")

    assert "The agent broke the rules: it changed Ralph's own files" in done.stdout
    assert founded.task()["loops"] == 1
    changed = {name for name, data in founded.files().items() if before.get(name) != data}
    assert {name for name in changed if name.startswith("project/.ralph/")} <= {
        "project/.ralph/.gitignore",
        "project/.ralph/prd.json",
        "project/.ralph/run_state.json",
        "project/.ralph/aggregate.json",
    }
    assert "project/ralph.config.json" not in changed


def test_an_agent_that_removes_all_of_ralphs_folder_has_removed_only_its_own_work(founded: Founded) -> None:
    founded.tasks("One")
    before = founded.files()
    founded.script(
        does("T-001", "lost.txt", run=["rm -rf $RALPH_ROOT/.ralph"], times=1),
        does("T-001", "one.txt"),
    )

    done = founded.ralph("run")

    assert "The agent broke the rules: it changed Ralph's own files" in done.stdout
    assert founded.task()["loops"] == 1
    assert founded.landed_files() == ["one.txt"], "its working copy went with the folder"
    after = founded.files()
    assert {name: after[name] for name in before if "prd.json" not in name} == {
        name: data for name, data in before.items() if "prd.json" not in name
    }


def test_without_a_claim_the_next_loop_goes_on_from_the_files(anywhere: Founded) -> None:
    anywhere.tasks("One")
    anywhere.script(
        does("T-001", "half.txt", done=False, times=1, say=["I need more time."]), does("T-001", "rest.txt")
    )

    done = anywhere.ralph("run")

    assert "T-001 continues in the next loop: The agent ended without saying <ralph>DONE</ralph>" in done.stdout
    second = anywhere.prompts()[1]
    assert "or marking its task in .ralph/prd.json" in second
    assert "I need more time." in second
    assert anywhere.landed_files() == ["half.txt", "rest.txt"]
    anywhere.untouched()
    assert anywhere.commits_of("T-001") == 1
    assert anywhere.task()["loops"] == 1


def test_an_agent_that_marks_its_task_as_failed_gives_it_up_with_its_notes(anywhere: Founded) -> None:
    anywhere.tasks("One", "Two", {"title": "Three", "depends_on": ["T-001"]})
    give_up = marks("T-001", "failed", notes="the service does not exist")
    anywhere.script(does("T-001", "half.txt", run=[give_up], done=False), does("T-002", "two.txt"))

    done = anywhere.ralph("run", code=3)

    assert "T-001 cannot continue: The agent says that it cannot be done: the service does not exist" in done.stdout
    assert "requirements: not finished · failed: T-001; waiting for them: T-003" in done.stdout
    assert anywhere.states() == {"T-001": "failed", "T-002": "done", "T-003": "todo"}
    assert anywhere.task()["notes"] == "The agent says that it cannot be done: the service does not exist"
    assert anywhere.calls() == 2, "it was not asked again"
    assert not (anywhere.app / "half.txt").exists()
    assert "half.txt" in anywhere.files_in("refs/ralph/attempts/requirements/T-001/1")


def test_done_without_any_change_does_not_pass(founded: Founded) -> None:
    founded.script({"done": True})

    founded.ralph("run", "--once", code=3)

    assert "changed nothing" in founded.task()["notes"]
    assert 'ralph accept requirements T-001 --why "…"' in founded.task()["notes"]


def test_the_task_in_progress_comes_first_and_dependencies_are_respected(founded: Founded) -> None:
    founded.tasks(
        {"title": "One", "depends_on": ["T-003"]},
        "Two",
        {"title": "Three", "depends_on": ["T-002"]},
        {"title": "Four", "status": "in_progress"},
    )
    founded.script(*(does(f"T-00{number}", f"{number}.txt") for number in (1, 2, 3, 4)))

    founded.ralph("run")

    order = [event["work"] for event in founded.events("attempt_started")]
    assert order == ["T-004", "T-002", "T-003", "T-001"]


# R4.7, R4.8: limits of a task, and how a run ends


def test_r4_8_after_max_loops_a_task_is_failed_its_work_kept_and_the_next_one_comes(anywhere: Founded) -> None:
    (anywhere.app / "good.txt").write_text("good\n")
    anywhere.git("add", "good.txt")
    anywhere.git("commit", "-qm", "Good")
    anywhere.steps(WORK, VERIFY, COMMIT, max_loops_per_task=2)
    anywhere.config("! test -f bad.txt")
    spoil = "date +%N >> bad.txt; echo spoilt > good.txt; rm -f committed.txt; date +%N > committed.txt; git add -A . "
    anywhere.script(
        does("T-001", "left.txt", run=[f"{spoil}; git commit -qm bad"]),
        does("T-002", "two.txt"),
    )

    done = anywhere.ralph("run", code=3)

    assert "requirements: not finished · failed: T-001" in done.stdout
    assert "`ralph retry requirements`" in done.stdout
    assert anywhere.states() == {"T-001": "failed", "T-002": "done"}
    assert anywhere.task()["loops"] == 2
    assert anywhere.landed_files() == ["good.txt", "two.txt"], "the files are as they were before the task"
    assert anywhere.committed("good.txt") == "good"
    anywhere.untouched()
    assert "bad.txt" in anywhere.files_in("refs/ralph/attempts/requirements/T-001/2"), "its work is kept"
    assert anywhere.aggregate()["status"] == "failed"
    assert anywhere.aggregate()["tasks"] == {"total": 2, "done": 1, "failed": 1}

    anywhere.ralph("retry", "requirements")
    assert anywhere.states()["T-001"] == "todo"
    anywhere.script(does("T-001", "one.txt"))
    assert "all gates green" in anywhere.ralph("run").stdout, "it begins from the start, without what was bad"
    assert anywhere.landed_files() == ["good.txt", "one.txt", "two.txt"]


IDLE: dict[str, dict[str, Any]] = {
    "nothing": {"say": ["Hm."]},
    "empty commits": {"run": ["git commit -q --allow-empty -m 'feat: progress'"]},
    "notes only": {"append": {f"{SEEN}/learnings.md": "- Hard.\n"}},
    "a crash": {"exit": 1},
    "a claim without work": {"done": True},
}


@pytest.mark.parametrize("what", IDLE)
def test_r4_8_three_loops_without_any_change_are_stuck(founded: Founded, what: str) -> None:
    founded.script({"match": "ID:.. T-001", **IDLE[what]}, does("T-002", "two.txt"))

    done = founded.ralph("run", code=3)

    assert "requirements: not finished · failed: T-001 (stuck)" in done.stdout
    assert founded.states() == {"T-001": "failed", "T-002": "done"}
    assert founded.task()["notes"].startswith("Stuck: 3 attempts in a row changed nothing.")
    assert founded.task()["idle_loops"] == 3
    assert founded.calls() == 4


def test_r4_8_loops_that_change_something_are_never_stuck(founded: Founded) -> None:
    founded.steps(WORK, VERIFY, COMMIT, stuck_after=2)
    founded.tasks("One")
    nothing: dict[str, Any] = {"match": "ID:.. T-001", "say": ["Hm."]}
    more: dict[str, Any] = {"match": "ID:.. T-001", "append": {"one.txt": "more\n"}}
    turns = [more, nothing, more, more, nothing, more]
    founded.script(*({**turn, "call": number} for number, turn in enumerate(turns, 1)), does("T-001", "done.txt"))

    founded.ralph("run")

    assert founded.task()["status"] == "done"
    assert founded.task()["loops"] == 6
    assert founded.git("show", "HEAD:one.txt") == "more\nmore\nmore\nmore"


def test_r4_8_with_stuck_after_0_only_the_limit_of_loops_counts(founded: Founded) -> None:
    founded.steps(WORK, VERIFY, COMMIT, stuck_after=0, max_loops_per_task=4)
    founded.tasks("One")
    founded.script({"say": ["Hm."]})

    founded.ralph("run", code=3)

    assert founded.calls() == 4
    assert not founded.task()["notes"].startswith("Stuck")


def test_r4_7_a_finished_plan_is_not_worked_on_again(founded: Founded) -> None:
    founded.script(*BOTH)
    founded.ralph("run")
    head = founded.git("rev-parse", "HEAD")

    assert "requirements: complete · all gates green" in founded.ralph("run").stdout

    assert founded.calls() == 2
    assert founded.git("rev-parse", "HEAD") == head


# R4.5: what runs once


def test_r4_5_set_up_runs_once_and_is_committed_before_the_first_task(founded: Founded) -> None:
    founded.steps(SETUP, WORK, VERIFY, COMMIT)
    founded.script({"match": SETTING_UP, "write": {"README.md": "# Shop\n"}}, *BOTH)

    done = founded.ralph("run", "--once")
    assert "setup done" in done.stdout
    assert founded.exists(".ralph/.setup_done")
    assert founded.subjects() == ["chore: Set-up: setup", "chore: begin"]
    assert founded.states() == {"T-001": "todo", "T-002": "todo"}

    founded.ralph("run")
    assert founded.calls() == 3
    assert founded.subjects()[::-1] == [
        "chore: begin",
        "chore: Set-up: setup",
        "feat: T-001 - One",
        "feat: T-002 - Two",
    ]
    prompt = founded.prompts()[0]
    assert "It sells one thing and then two." in prompt
    assert "- T-002 Two (to do)" in prompt

    (founded.path / ".ralph/.setup_done").unlink()
    founded.ralph("run", "--once")
    assert founded.calls() == 4, "without its marker it runs again"


def test_r4_5_a_failing_set_up_stops_after_three_and_retry_lets_it_try_again(founded: Founded) -> None:
    founded.steps(SETUP, WORK, VERIFY, COMMIT)
    founded.script({"match": SETTING_UP, "say": ["no network"], "exit": 9})

    done = founded.ralph("run", code=3)

    assert "requirements: not finished · setup failed: The agent ended with exit code 9." in done.stdout
    assert "The set-up failed. See why: `ralph status requirements`. Then `ralph retry requirements`" in done.stdout
    assert "--task" not in done.stdout, "no task has failed"
    assert founded.calls() == 3
    assert "(attempt 2, try 2 of 3)" in done.stdout
    assert "The agent ended with exit code 9" in founded.prompts()[1], "the next try knows"
    assert not founded.exists(".ralph/.setup_done")
    assert founded.states() == {"T-001": "todo", "T-002": "todo"}
    assert "set-up failed: The agent ended with exit code 9." in founded.ralph("status", "requirements").stdout
    founded.ralph("run", code=3)
    assert founded.calls() == 3, "it is not tried for ever"

    assert "Reset the set-up." in founded.ralph("retry", "requirements").stdout
    founded.script({"match": SETTING_UP, "write": {"README.md": "x"}}, *BOTH)
    founded.ralph("run")
    assert founded.states() == {"T-001": "done", "T-002": "done"}


def test_r4_5_a_command_can_run_once_as_well(founded: Founded) -> None:
    once = {"command": "echo ran >> ran.txt", "marker_file": ".ralph/.installed"}
    install = {"name": "install", "type": "command", "config": once}
    founded.steps(install, WORK, VERIFY, COMMIT)
    founded.script(*BOTH)

    founded.ralph("run")
    founded.ralph("run")

    assert founded.git("show", "HEAD:ran.txt") == "ran"
    assert "chore: Set-up: install" in founded.subjects()


def test_r4_5_set_up_is_committed_also_where_no_step_commits(founded: Founded) -> None:
    founded.steps(SETUP, WORK, VERIFY)
    founded.script({"match": SETTING_UP, "write": {"README.md": "# Shop\n"}})

    founded.ralph("run", "--once")

    assert "README.md" in founded.files_in("HEAD")


def test_without_a_git_commit_step_a_failed_task_takes_nothing_of_a_done_one_with_it(founded: Founded) -> None:
    founded.steps(WORK, VERIFY, max_loops_per_task=1)
    founded.config("! test -f bad.txt")
    founded.script(does("T-001", "one.txt", "precious\n"), does("T-002", "bad.txt"))

    founded.ralph("run", code=3)

    assert founded.states() == {"T-001": "done", "T-002": "failed"}
    assert (founded.app / "one.txt").read_text() == "precious\n", "what is called done is there"
    assert not (founded.app / "bad.txt").exists()


# R4.3, R4.4: the step types and what every step can be told


def test_r4_3_a_command_step_works_where_the_application_is_and_can_fail_a_loop(founded: Founded) -> None:
    lint = {
        "name": "lint",
        "type": "command",
        "config": {"command": "pwd; test -f clean.txt || { echo dirty; exit 4; }"},
    }
    founded.steps(WORK, lint, VERIFY, COMMIT)
    founded.tasks("One")
    founded.script(does("T-001", "one.txt", times=1), does("T-001", "clean.txt"))

    done = founded.ralph("run")

    assert "T-001 failed: " in done.stdout
    prompt = founded.prompts()[1]
    assert "exit code 4" in prompt
    assert "dirty" in prompt
    assert f"{founded.path}/.ralph/worktrees/.slots/1" in prompt, "in a copy of the application"
    assert founded.task()["loops"] == 1
    assert [gate["command"] for gate in founded.task()["result"]["verify"]] == ["true"], "only gates are proof"


def test_r4_4_continue_on_error_lets_the_next_steps_come_but_no_red_gate_pass(founded: Founded) -> None:
    tolerated = {"name": "lint", "type": "command", "continue_on_error": True, "config": {"command": "exit 4"}}
    founded.steps(WORK, tolerated, {**VERIFY, "continue_on_error": True}, COMMIT)
    founded.tasks("One")
    founded.config("test -f proof.txt")
    founded.script(does("T-001", "one.txt", times=1), does("T-001", "proof.txt"))

    founded.ralph("run")

    task = founded.task()
    assert (task["status"], task["loops"]) == ("done", 1)
    assert founded.subjects() == ["feat: T-001 - One", "chore: begin"], "what a gate found red has not landed"
    steps = [event["step"] for event in founded.events("step_started")]
    assert steps == ["work", "lint", "verify", "git-commit"] * 2, "the next steps came after the red gate too"


def test_r4_4_a_tolerated_agent_that_fails_has_not_done_its_task(founded: Founded) -> None:
    founded.steps({**WORK, "continue_on_error": True}, VERIFY, COMMIT, max_loops_per_task=1)
    founded.tasks("One")
    founded.script({"exit": 1})

    founded.ralph("run", code=3)

    assert founded.task()["status"] == "failed"


def test_r4_4_a_tolerated_agent_that_did_what_it_must_not_has_not_done_its_task(founded: Founded) -> None:
    founded.steps({**WORK, "continue_on_error": True}, VERIFY, COMMIT, max_loops_per_task=1)
    founded.tasks("One")
    founded.script(does("T-001", "one.txt", run=[f"echo x > {SEEN}/requirements.md"]))

    founded.ralph("run", code=3)

    assert founded.task()["status"] == "failed"


UNDECIDED: dict[str, tuple[str, dict[str, object]]] = {
    "its gate takes too long": ("sleep 60", {"timeout": "0.4s"}),
    "its breaker is open": ("false", {"circuit_breaker": {"threshold": 1, "reset_after": "1h"}}),
    "its gate did what it must not": ("echo x > $HOME/../project/.ralph/requirements.md", {}),
}


@pytest.mark.parametrize("why", UNDECIDED)
def test_r4_4_a_tolerated_verify_step_that_says_nothing_passes_nothing(founded: Founded, why: str) -> None:
    gate, settings = UNDECIDED[why]
    founded.steps(WORK, {**VERIFY, "continue_on_error": True, **settings}, COMMIT, max_loops_per_task=2)
    founded.config(gate)
    founded.script({"match": "# Ralph Loop", "run": ["date +%N > one.txt"], "done": True})

    done = founded.ralph("run", "--no-baseline", code=None)

    assert "all gates green" not in done.stdout
    assert "done" not in founded.states().values()


def test_what_an_agent_does_after_the_gates_is_not_called_verified(founded: Founded) -> None:
    founded.steps(WORK, VERIFY, {**WORK, "name": "polish"}, COMMIT, max_loops_per_task=1)
    founded.tasks("One")
    founded.config("! test -f bad.txt")
    founded.script(does("T-001", "one.txt", times=1), does("T-001", "bad.txt"))

    founded.ralph("run", code=None)

    is_green = founded.ralph("verify", "requirements", code=None).returncode == 0
    assert is_green or founded.task()["status"] != "done"


def test_r4_3_readme_check_wants_a_readme_of_some_length(founded: Founded) -> None:
    founded.steps(WORK, {"type": "readme-check", "config": {"min_chars": 10}}, VERIFY, COMMIT)
    founded.tasks("One")
    founded.script(
        does("T-001", "one.txt", call=1),
        does("T-001", "README.md", "short\n", call=2),
        does("T-001", "README.md", "# A shop that sells\n"),
    )

    founded.ralph("run")

    assert "There is no README. Write one that says what the project is." in founded.prompts()[1]
    assert "README.md has 5 characters, but needs at least 10." in founded.prompts()[2]
    assert founded.task()["loops"] == 2


def test_r4_3_noop_does_nothing_and_disabled_steps_do_not_run(founded: Founded) -> None:
    off = {"name": "off", "type": "command", "enabled": False, "config": {"command": "exit 1"}}
    founded.steps(WORK, {"type": "noop"}, off, VERIFY, COMMIT)
    founded.script(*BOTH)

    founded.ralph("run")

    steps = [event["step"] for event in founded.events("step_started") if event["work"] == "T-001"]
    assert steps == ["work", "noop", "verify", "git-commit"]


def test_r4_3_git_commit_goes_through_a_persons_hooks(founded: Founded) -> None:
    hook = founded.app / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ntest -f licence.txt || { echo 'no licence'; exit 1; }\n")
    hook.chmod(0o755)
    founded.tasks("One")
    founded.script(does("T-001", "one.txt", times=1), does("T-001", "licence.txt"))

    founded.ralph("run")

    assert "The commit failed in a git hook (exit code 1):\n\nno licence" in founded.prompts()[1]
    assert founded.task()["loops"] == 1
    assert set(founded.files_in("HEAD")) == {"one.txt", "licence.txt"}
    assert founded.commits_of("T-001") == 1


def test_r4_3_a_review_sends_the_work_back_with_its_reason(founded: Founded) -> None:
    founded.steps(WORK, VERIFY, REVIEW, COMMIT)
    founded.tasks("One")
    untested = {"severity": "major", "problem": "there is no test"}
    back = {"verdict": "failed", "findings": [untested], "summary": "It has no test"}
    founded.script(
        {"match": REVIEWING, "times": 1, "answer": back},
        QUALIFIED,
        does("T-001", "one.txt", times=1),
        does("T-001", "test.txt"),
    )

    done = founded.ralph("run")

    assert "sent back: T-001 · The reviewer sent it back: It has no test" in done.stdout
    work, review, again, _ = founded.prompts()
    assert "`true`: passed" in review
    assert "there is no test" not in work
    assert "The reviewer sent it back: It has no test.\n\n- major: there is no test" in again
    assert (founded.task()["loops"], founded.task()["review_rounds"]) == (0, 1)
    assert founded.commits_of("T-001") == 1


def test_r4_3_a_review_that_changes_files_is_undone_and_counts_for_nothing(anywhere: Founded) -> None:
    anywhere.steps(WORK, VERIFY, REVIEW, COMMIT)
    anywhere.tasks("One")
    meddle = "echo better > one.txt; echo more > extra.txt; git add -A; git commit -qm mine; echo left > left.txt"
    anywhere.script({**QUALIFIED, "times": 1, "run": [meddle]}, QUALIFIED, does("T-001", "one.txt"))

    done = anywhere.ralph("run")

    assert "it changed the project, but may only read it" in done.stdout
    assert "it changed the project, but may only read it" in anywhere.prompts()[2], "and it was asked again"
    assert anywhere.task()["loops"] == 0
    assert anywhere.committed("one.txt") == "x"
    assert anywhere.landed_files() == ["one.txt"]
    anywhere.untouched()


def test_r4_3_a_red_gate_never_reaches_a_reviewer_even_where_it_may_fail(founded: Founded) -> None:
    founded.steps(WORK, {**VERIFY, "continue_on_error": True}, REVIEW, COMMIT, max_loops_per_task=1)
    founded.tasks("One")
    founded.config("false")
    founded.script(QUALIFIED, does("T-001", "one.txt"))

    founded.ralph("run", code=3)

    assert len(founded.prompts()) == 1, "nobody was asked"
    assert founded.task()["status"] == "failed"
    assert "The gate `false` failed" in founded.task()["notes"]


@pytest.mark.parametrize("status", ["done", "failed"])
def test_r4_3_a_reviewers_mark_in_the_plan_counts_for_nothing(founded: Founded, status: str) -> None:
    founded.steps(WORK, VERIFY, REVIEW, COMMIT)
    founded.tasks("One")
    founded.script({**QUALIFIED, "run": [marks("T-001", status)]}, does("T-001", "one.txt"))

    founded.ralph("run", "--once", code=3)

    assert founded.task()["status"] == "in_progress", "what a reviewer says stands in its answer, and nowhere else"


@pytest.mark.parametrize("kind", ["agent", "command"])
def test_r4_4_a_steps_time_limit_ends_its_whole_process_tree(founded: Founded, kind: str) -> None:
    orphan = founded.folder / "orphan.log"
    endless = f"setsid sh -c 'while :; do echo alive >> {orphan}; sleep 0.05; done' & sleep 60"
    founded.tasks("One")
    if kind == "command":
        slow = {"name": "slow", "type": "command", "timeout": "1s", "config": {"command": endless}}
        founded.steps(WORK, slow, VERIFY, max_loops_per_task=1)
        founded.agent("cat > /dev/null; echo x > one.txt; echo '<ralph>DONE</ralph>'\n")
    else:
        founded.steps({**WORK, "name": "slow", "timeout": "1s"}, VERIFY, max_loops_per_task=1)
        founded.agent(f"cat > /dev/null; echo x > one.txt; {endless}\n")

    founded.ralph("run", code=3)

    assert founded.task()["notes"] == "The step 'slow' did not finish within 1 s."
    assert processes_in(founded.folder) == []
    assert orphan.stat().st_size, "it had really begun"
    assert "one.txt" in founded.files_in("refs/ralph/attempts/requirements/T-001/1"), "what it made is kept"


def test_r4_3_the_agents_own_time_limit_stands_beside_the_steps(founded: Founded) -> None:
    founded.steps({**WORK, "timeout": "1h30m", "config": {"timeout": "0.8s"}}, VERIFY, max_loops_per_task=1)
    founded.tasks("One")
    founded.script({"sleep": 60})

    founded.ralph("run", code=3)

    assert "The agent did not finish within 0.8 s; its whole process tree was ended." in founded.task()["notes"]


def test_r4_4_a_failing_step_is_tried_again_within_the_same_loop(founded: Founded) -> None:
    tries = founded.folder / "tries"
    flaky = f"echo try >> {tries}; test $(wc -l < {tries}) -ge 3"
    step = {"name": "flaky", "type": "command", "max_retries": 2, "retry_delay": "0.1s", "config": {"command": flaky}}
    founded.steps({**WORK, "max_retries": 1}, step, VERIFY, COMMIT)
    founded.tasks("One")
    founded.script({"times": 1, "exit": 1}, does("T-001", "one.txt"))

    done = founded.ralph("run")

    assert "retrying work: The agent ended with exit code 1." in done.stdout
    assert done.stdout.count("retrying flaky in 0.1 s: ") == 2
    assert founded.task()["attempts"] == 1
    assert founded.task()["loops"] == 0
    logs = {path.name for path in founded.path.glob(".ralph/logs/*/T-001*.log")}
    assert {"T-001-1.work.log", "T-001-1.work-2.log"} <= logs, "each call has a log of its own"
    assert founded.aggregate()["calls"] == 2


def test_r4_4_when_all_tries_fail_the_loop_fails(founded: Founded) -> None:
    step = {
        "name": "never",
        "type": "command",
        "max_retries": 2,
        "config": {"command": f"echo try >> {founded.folder}/tries; exit 1"},
    }
    founded.steps(WORK, step, VERIFY, COMMIT)
    founded.script(*BOTH)

    founded.ralph("run", "--once", code=3)

    assert (founded.folder / "tries").read_text() == "try\n" * 3
    assert founded.task()["loops"] == 1


# R4.9: the circuit breaker


def broken_until(file: Path, **more: object) -> dict[str, object]:
    """A command step that fails until a file is there."""
    command = f"echo try >> {file.parent}/tries; test -f {file}"
    return {"name": "flaky", "type": "command", "config": {"command": command}, **more}


def test_r4_9_an_open_breaker_makes_the_loop_wait_and_one_good_try_closes_it(founded: Founded) -> None:
    step = broken_until(founded.folder / "mended", circuit_breaker={"threshold": 2, "reset_after": "1s"})
    founded.steps(WORK, step, VERIFY, COMMIT)
    founded.tasks("One")
    founded.script(does("T-001", "one.txt", call=1), does("T-001", "two.txt", call=2), does("T-001", "three.txt"))
    run = founded.start("run")
    wait_for(lambda: founded.exists(".ralph/run_state.json") and founded.json(".ralph/run_state.json")["breakers"])
    (founded.folder / "mended").touch()
    out, _ = run.communicate(timeout=30)

    assert run.returncode == 0, out
    assert "the circuit breaker of flaky is open after 2 failures in a row" in out
    assert "the circuit breaker of flaky is closed again" in out
    assert (founded.folder / "tries").read_text() == "try\n" * 3, "while it was open nobody tried"
    assert [event["state"] for event in founded.events("breaker_changed")] == ["open", "closed"]
    assert founded.task()["loops"] == 2, "an open breaker costs no loop"
    assert founded.run_state()["breakers"] == [{"step": "flaky", "state": "closed", "failures": 0, "until": None}]


def test_r4_9_status_shows_an_open_breaker_while_the_run_waits_and_after_it(founded: Founded) -> None:
    step = broken_until(founded.folder / "never", circuit_breaker={"threshold": 1, "reset_after": "1h"})
    founded.steps(WORK, step, VERIFY, COMMIT)
    founded.script(*BOTH)
    run = founded.start("run")
    wait_for(
        lambda: founded.exists(".ralph/run_state.json") and founded.json(".ralph/run_state.json")["status"] == "waiting"
    )

    shown = founded.ralph("status", "requirements").stdout
    told = json.loads(founded.ralph("status", "requirements", "--json").stdout)[0]["run"]
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)

    assert re.search(r"circuit breaker of flaky: open, 1 failure in a row, next try in (59 m|1 h 00 m)", shown)
    assert told["status"] == "waiting"
    assert "so Ralph pauses it" in told["reason"]
    assert [(breaker["step"], breaker["state"]) for breaker in told["breakers"]] == [("flaky", "open")]
    check(told, "run-state")
    assert run.returncode == 130, out
    after = founded.ralph("status", "requirements").stdout
    assert "last run" in after
    assert "circuit breaker of flaky: open, 1 failure in a row\n" in after


def test_r4_9_a_tolerated_step_with_an_open_breaker_is_passed_over(founded: Founded) -> None:
    breaker = {"threshold": 1, "reset_after": "1h"}
    step = broken_until(founded.folder / "never", circuit_breaker=breaker, continue_on_error=True)
    founded.steps(WORK, step, VERIFY, COMMIT)
    founded.script(*BOTH)

    founded.ralph("run")

    assert founded.states() == {"T-001": "done", "T-002": "done"}
    assert (founded.folder / "tries").read_text() == "try\n", "the second task did not try"


def test_r4_9_an_agent_that_is_left_alone_has_done_nothing(founded: Founded) -> None:
    broken = {**WORK, "continue_on_error": True, "circuit_breaker": {"threshold": 1, "reset_after": "1h"}}
    founded.steps(broken, VERIFY, COMMIT, max_loops_per_task=2)
    founded.script({"exit": 1})

    founded.ralph("run", code=3)

    assert "done" not in founded.states().values()


# R4.6: context


def head_of(prompt: str) -> str:
    head, _, _ = prompt.partition("\n\n# Ralph Loop")
    return head


def test_r4_6_each_fresh_agent_is_told_where_the_loop_stands(founded: Founded) -> None:
    founded.tasks("One", {"title": "Two", "description": "Sell a second thing"})
    learned = "<ralph>LEARNING:Prices are in cents</ralph>"
    founded.script(
        does("T-001", "one.txt", say=[learned], append={f"{SEEN}/learnings.md": "- The till is called kasse\n"}),
        does("T-002", "two.txt"),
    )

    founded.ralph("run")

    first, second = (head_of(prompt) for prompt in founded.prompts())
    assert first == (
        "You work in Ralph's loop number 1 on A shop.\nProgress: 0 of 2 tasks done.\nCurrent task: T-001 One"
    )
    assert second.startswith(
        "You work in Ralph's loop number 2 on A shop.\nProgress: 1 of 2 tasks done.\n"
        "Current task: T-002 Two\nSell a second thing\nRecent learnings:\n"
    )
    assert "- The till is called kasse" in second
    assert "Prices are in cents" in second


def test_r4_6_the_context_stays_within_2500_characters_and_keeps_what_fits_the_task(founded: Founded) -> None:
    founded.tasks({"title": "Paint the warehouse", "description": "very long " * 500})
    notes = [f"- note {number}: {('nothing to do with it ' * 4).strip()}" for number in range(200)]
    founded.write(".ralph/learnings.md", "\n".join(["- The warehouse needs blue paint", *notes]) + "\n")
    founded.script(does("T-001", "one.txt"))

    founded.ralph("run")

    head = head_of(founded.prompts()[0])
    assert 2000 < len(head) <= 2500
    learned = head.split("Recent learnings:\n<output-")[1].split("\n</output-")[0].splitlines()[1:]
    assert learned[0] == "- The warehouse needs blue paint"
    assert learned[1] == notes[-1], "then the newest"
    assert set(learned[1:]) <= set(notes), "cut only at line ends"


def test_r4_6_an_agent_that_takes_system_text_gets_it_there(founded: Founded) -> None:
    founded.claude(
        f'cd {founded.folder}; cat > prompt; printf "%s\\n" "$@" > args; cd -; echo x > one.txt; '
        'echo "<ralph>DONE</ralph>"\n'
    )
    founded.config("true", provider={"command": "claude", "args": ["-p"], "isolate": False})
    founded.steps({**WORK, "config": {"allowed_tools": "Read,Edit"}}, VERIFY, COMMIT)

    founded.ralph("run", "--once", "--model", "haiku")

    args = (founded.folder / "args").read_text()
    assert args == (
        "-p\n--model\nhaiku\n--append-system-prompt\nYou work in Ralph's loop number 1 on A shop.\n"
        "Progress: 0 of 2 tasks done.\nCurrent task: T-001 One\n--tools\nRead,Edit\n"
    )
    assert (founded.folder / "prompt").read_text().startswith("# Ralph Loop")


def test_allowed_tools_are_noted_where_the_agent_has_no_such_switch(founded: Founded) -> None:
    founded.steps({**WORK, "config": {"allowed_tools": "Read"}}, VERIFY, COMMIT)
    founded.script(*BOTH)

    assert "work: this agent has no option for allowed_tools" in founded.ralph("run").stdout


# R4.11: values from the environment


def test_r4_11_variables_and_durations_are_read_from_configurations(founded: Founded) -> None:
    said = founded.folder / "said"
    command = 'echo "${SHOP_WORD} ${SHOP_OTHER:-fallback} $${HOME} ${SHOP_EMPTY:-filled}" > ' + str(said)
    step = {
        "type": "command",
        "timeout": "${SHOP_LIMIT}",
        "max_retries": "${SHOP_RETRIES:-0}",
        "continue_on_error": "${SHOP_TOLERATE:-false}",
        "config": {"command": command},
    }
    founded.steps(WORK, step, VERIFY, COMMIT, max_loops_per_task="${SHOP_LOOPS}")
    founded.script(*BOTH)
    env = {"SHOP_WORD": "hello", "SHOP_LIMIT": "1h30m", "SHOP_LOOPS": "7", "SHOP_EMPTY": ""}

    founded.ralph("run", env=env)

    assert said.read_text() == f"hello fallback {founded.home} filled\n"


def test_r4_11_a_missing_variable_is_named_with_its_place(founded: Founded) -> None:
    founded.steps(WORK, {"type": "command", "timeout": "${SHOP_LIMIT}", "config": {"command": "echo ${SHOP_WORD}"}})

    said = founded.errors("run")

    assert "steps[1].timeout: the environment variable SHOP_LIMIT is not set" in said
    assert "steps[1].config.command: the environment variable SHOP_WORD is not set" in said


# Learnings


@pytest.mark.parametrize(
    ("what", "odd"),
    [
        ("a folder", f"mkdir -p {SEEN}/learnings.md/x"),
        ("a link", f"ln -s /etc/passwd {SEEN}/learnings.md"),
        ("a pipe", f"mkfifo {SEEN}/learnings.md"),
        ("bytes", f"head -c 300000 /dev/urandom > {SEEN}/learnings.md"),
        ("a huge file", f"yes 'nothing new under the sun' | head -c 30000000 > {SEEN}/learnings.md"),
    ],
)
def test_whatever_an_agent_puts_in_place_of_the_learnings_stops_nothing(founded: Founded, what: str, odd: str) -> None:
    lesson = "<ralph>LEARNING:Prices are in cents</ralph>"
    founded.script(does("T-001", "one.txt", run=[odd], say=[lesson]), does("T-002", "two.txt"))

    run = founded.start("run")
    out, _ = run.communicate(timeout=30)

    assert run.returncode == 0, out
    assert founded.states() == {"T-001": "done", "T-002": "done"}, what
    assert "root:" not in founded.prompts()[1], "a link is not followed"
    assert len(head_of(founded.prompts()[1])) <= 2500


def test_learnings_are_kept_once_and_what_agents_take_out_stays_out(founded: Founded) -> None:
    founded.write(".ralph/learnings.md", "# Notes\n\n- An old lesson\n- A wrong lesson\n")
    lesson = ["<ralph>LEARNING:Prices are in cents</ralph>"] * 2
    founded.script(
        does("T-001", "one.txt", say=lesson, run=[f"sed -i /wrong/d {SEEN}/learnings.md"]),
        does("T-002", "two.txt", say=lesson),
    )

    founded.ralph("run")

    assert founded.read(".ralph/learnings.md") == "# Notes\n\n- An old lesson\n- Prices are in cents\n"


# R4.14: --once and --model


def test_r4_14_once_makes_one_loop_and_says_by_its_exit_code_what_it_came_to(founded: Founded) -> None:
    founded.config("test -f two.txt")
    founded.script(
        does("T-001", "half.txt", done=False, call=1), does("T-001", "one.txt", call=2), does("T-001", "two.txt")
    )

    unfinished = founded.ralph("run", "--once", code=3)
    assert "requirements: one attempt made · unfinished" in unfinished.stdout
    assert "one attempt made · failed" in founded.ralph("run", "--once", code=3).stdout
    assert "one attempt made · passed" in founded.ralph("run", "--once", code=0).stdout
    assert founded.calls() == 3
    assert founded.states() == {"T-001": "done", "T-002": "todo"}
    assert founded.aggregate()["status"] == "once"


def test_r4_14_the_model_comes_from_the_command_line_then_the_step_then_the_role(founded: Founded) -> None:
    founded.agent(
        f'prompt=$(cat); echo "$1" >> {founded.folder}/models\n'
        'file=$(echo "$prompt" | sed -n "s/.*to the file .\\([^ ]*\\).\\.$/\\1/p")\n'
        'good=\'{"verdict": "qualified", "findings": [], "summary": "Good"}\'\n'
        'case "$prompt" in *"# Task Review"*) echo "$good" > "$file";; *) date +%N > one.txt;; esac\n'
        'echo "<ralph>DONE</ralph>"\n'
    )
    config = founded.json("ralph.config.json")
    config["provider"]["modelArgs"] = ["{model}"]
    config["roles"] = {"executor": {"model": "of-the-role"}, "reviewer": {"model": "of-the-reviewer"}}
    founded.write("ralph.config.json", json.dumps(config))
    founded.steps(WORK, VERIFY, REVIEW, COMMIT)
    founded.steps({**WORK, "config": {"model": "of-the-step"}}, VERIFY, COMMIT, name="own")
    founded.tasks("One", "Two", "Three")

    first = founded.ralph("run", "--once")
    founded.ralph("run", "--once", "--config", "own")
    third = founded.ralph("run", "--once", "--model", "of-the-person", "--config", "own")

    assert (founded.folder / "models").read_text().split() == [
        "of-the-role",
        "of-the-reviewer",
        "of-the-step",
        "of-the-person",
    ]
    assert "✓ executor: sh, model of-the-role" in first.stdout
    assert "model of-the-person" in third.stdout
    assert founded.aggregate()["model"] == "of-the-person"


# Gates, or none


@pytest.mark.parametrize("why", ["no gates", "switched off"])
def test_without_gates_it_runs_and_every_view_says_unverified(founded: Founded, why: str) -> None:
    if why == "no gates":
        founded.config()
    else:
        founded.config("false")
        founded.steps(WORK, {"type": "verify", "enabled": False}, COMMIT)
    founded.script(*BOTH)

    done = founded.ralph("run", code=3)

    listed = "verify.default is empty" if why == "no gates" else "the verify step is disabled"
    assert f"{listed}: tasks will be UNVERIFIED" in done.stdout
    assert "requirements: all passed, UNVERIFIED · no gate is required, so nothing was verified" in done.stdout
    assert "UNVERIFIED" in founded.ralph("status").stdout
    assert "UNVERIFIED" in founded.ralph("status", "requirements").stdout
    assert json.loads(founded.ralph("status", "requirements", "--json").stdout)[0]["verified"] is False
    assert founded.aggregate()["verified"] is False


def test_a_configuration_without_a_verify_step_verifies_all_the_same(founded: Founded) -> None:
    founded.steps(WORK, COMMIT)
    founded.tasks("One")
    founded.config("test -f proof.txt")
    founded.script(does("T-001", "claim.txt", times=1), does("T-001", "proof.txt"))

    done = founded.ralph("run")

    assert "✓ .ralph/configs/default.json: work, verify, git-commit" in done.stdout
    assert founded.task()["loops"] == 1
    assert "complete · all gates green" in done.stdout


# R4.12: files for other programs


def test_r4_12_run_state_is_whole_and_true_at_every_moment(founded: Founded) -> None:
    founded.steps(SETUP, WORK, VERIFY, COMMIT)
    founded.config("test -f one.txt")
    founded.script(
        {"match": SETTING_UP, "write": {"README.md": "x"}},
        does("T-001", "half.txt", times=1),
        *BOTH,
    )
    seen: list[bytes] = []
    file, over = founded.path / ".ralph/run_state.json", threading.Event()

    def watch() -> None:
        while not over.wait(0.002):
            if file.exists() and (data := file.read_bytes()) != (seen[-1] if seen else b""):
                seen.append(data)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        founded.ralph("run")
    finally:
        over.set()
        watcher.join()

    states = [json.loads(data) for data in seen]
    for state in states:
        check(state, "run-state")
    assert {state["status"] for state in states[:-1]} == {"running"}
    assert states[-1]["status"] == "done"
    assert states[-1]["tasks"] == {"total": 2, "done": 2, "failed": 0}
    now = [(state["now"]["id"], state["now"]["step"]) for state in states if state["now"]]
    assert ("T-001", "work") in now
    assert ("T-002", "work") in now
    assert ("setup", "setup") in now
    assert [state["loop"] for state in states] == sorted(state["loop"] for state in states)
    assert any("test -f one.txt" in state["last_failure"] for state in states)


def test_r4_12_aggregate_tells_what_a_run_came_to_and_what_nobody_knows_is_null(founded: Founded) -> None:
    founded.script(*BOTH)

    founded.ralph("run")

    figures = founded.aggregate()
    assert figures["status"] == "done"
    assert figures["verified"] is True
    assert (figures["loops"], figures["calls"]) == (2, 2)
    assert figures["tasks"] == {"total": 2, "done": 2, "failed": 0}
    assert figures["tokens"] == {"input": None, "output": None, "cache_read": None, "cache_write": None}
    assert figures["cost"] == {"usd": None, "source": "unknown", "unpriced_calls": 2}
    assert figures["elapsed_seconds"] > 0
    assert figures["run_id"] == founded.run_state()["run_id"]
    assert (founded.path / ".ralph/logs" / figures["run_id"] / "journal.jsonl").is_file()


def test_r4_12_aggregate_adds_up_what_an_agent_reports(founded: Founded) -> None:
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "<ralph>DONE</ralph>"}]}}
    used = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 40}
    result = {"type": "result", "is_error": False, "usage": used, "total_cost_usd": 0.25}
    lines = "\n".join(map(json.dumps, (said, result)))
    founded.claude(f"cat > /dev/null; date +%N > work.txt\ncat <<'END'\n{lines}\nEND\n")
    founded.config("true", provider={"command": "claude", "args": ["-p", "--output-format", "stream-json"]})

    done = founded.ralph("run")

    figures = founded.aggregate()
    assert figures["tokens"] == {"input": 20, "output": 40, "cache_read": 60, "cache_write": 80}
    assert figures["cost"] == {"usd": 0.5, "source": "reported", "unpriced_calls": 0}
    assert "160 tokens in, 40 out · $0.50" in done.stdout


def test_r4_7_an_agent_that_nobody_can_use_stops_the_run_and_costs_no_loop(founded: Founded) -> None:
    result = {"type": "result", "is_error": True, "api_error_status": 401, "result": "Invalid API key"}
    founded.claude(f"cat > /dev/null; echo '{json.dumps(result)}'; exit 1\n")
    founded.config("true", provider={"command": "claude", "args": ["-p", "--output-format", "stream-json"]})

    done = founded.ralph("run", code=1)

    assert "requirements: stopped\n" in done.stdout
    assert done.stdout.count("The agent cannot be used: Invalid API key") == 1
    assert founded.aggregate()["status"] == "stopped"
    assert founded.task()["loops"] == 0
    assert founded.states() == {"T-001": "in_progress", "T-002": "todo"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_r4_12_aggregate_is_there_and_valid_after_a_signal(founded: Founded, number: signal.Signals) -> None:
    founded.script({"match": "ID:.. T-001", "times": 1, "run": [f"touch {founded.folder}/begun; sleep 60"]}, *BOTH)
    run = founded.start("run")
    founded.reached("begun")
    run.send_signal(number)
    out, _ = run.communicate(timeout=20)

    assert run.returncode == 130, out
    figures = founded.aggregate()
    assert (figures["status"], figures["loops"], figures["calls"]) == ("interrupted", 1, 1)
    assert figures["cost"] == {"usd": None, "source": "unknown", "unpriced_calls": 1}
    assert founded.run_state()["status"] == "interrupted"
    founded.ralph("run")
    assert founded.aggregate()["status"] == "done"


def test_r4_12_aggregate_is_valid_when_the_agent_cannot_be_started(founded: Founded) -> None:
    agent = founded.folder / "agent"
    agent.write_text("#!/bin/sh\nexit 127\n")
    agent.chmod(0o755)
    founded.config("true", provider={"command": str(agent)})

    founded.ralph("run", code=1)

    figures = founded.aggregate()
    assert figures["status"] == "stopped"
    assert "The agent cannot run: exit code 127" in figures["reason"]
    assert founded.run_state()["status"] == "stopped"
    assert founded.task()["loops"] == 0, "that was not the task's fault"
    founded.config("true")
    founded.script(*BOTH)
    founded.ralph("run")
    assert founded.states() == {"T-001": "done", "T-002": "done"}


def test_r4_12_events_as_json_lines_and_nothing_else_on_standard_output(founded: Founded) -> None:
    founded.script(*BOTH)

    done = founded.ralph("run", "--json")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0]["event"] == "run_started"
    assert events[-1]["event"] == "run_ended"


# One run at a time; whose files are whose


def test_a_second_run_is_refused_and_names_the_first(founded: Founded) -> None:
    founded.script({"times": 1, "run": [f"touch {founded.folder}/begun"], "sleep": 60}, *BOTH)
    run = founded.start("run")
    founded.reached("begun")

    for args in (("run",), ("add", "more")):
        said = founded.errors(*args, code=5)
        assert f"Another run is active here (process {run.pid}" in said
        assert "on requirements" in said
    status = founded.ralph("status", "requirements").stdout

    run.send_signal(signal.SIGINT)
    run.communicate(timeout=20)
    assert f"is working on requirements (process {run.pid})" in status
    assert "loop 1: T-001, step work" in status
    assert "(now)" in status


def test_a_persons_uncommitted_changes_stay_and_are_nobodys_work(anywhere: Founded) -> None:
    (anywhere.app / "mine.txt").write_text("one\n")
    anywhere.git("add", "mine.txt")
    anywhere.git("commit", "-qm", "Mine")
    (anywhere.app / "mine.txt").write_text("two\n")
    anywhere.script(does("T-001", "one.txt", run=["cat mine.txt > seen.txt"]), does("T-002", "two.txt"))

    anywhere.ralph("run")

    assert (anywhere.app / "mine.txt").read_text() == "two\n"
    assert anywhere.git("diff", "--name-only", "--relative") == "mine.txt"
    assert anywhere.committed("mine.txt") == anywhere.committed("seen.txt") == "one", "what is committed counts"
    assert (anywhere.app / "one.txt").exists() == anywhere.is_apart


def test_where_a_persons_branch_cannot_follow_nothing_is_lost_and_it_is_said(founded: Founded) -> None:
    (founded.app / "one.txt").write_text("mine\n")
    founded.script(*BOTH)

    done = founded.ralph("run")

    assert "! Ralph could not fast-forward your branch main to ralph/requirements: " in done.stdout
    assert "would be overwritten by merge: one.txt. To merge it yourself: git merge ralph/requirements" in done.stdout
    assert "`git -C shop merge ralph/requirements`" in done.stdout
    assert (founded.app / "one.txt").read_text() == "mine\n"
    assert founded.subjects("main") == ["chore: begin"]
    assert founded.landed_files() == ["one.txt", "two.txt"]
    (founded.app / "one.txt").unlink()
    founded.ralph("run")
    founded.untouched()


def test_with_no_branch_checked_out_none_follows(founded: Founded) -> None:
    founded.git("checkout", "-q", "--detach")
    founded.script(*BOTH)

    done = founded.ralph("run")

    assert f"! No branch is checked out in {founded.app}, so Ralph fast-forwarded none to" in done.stdout
    assert founded.git("rev-parse", "HEAD") == founded.git("rev-parse", "main")
    assert founded.landed_files() == ["one.txt", "two.txt"]


def test_a_persons_untracked_files_are_left_alone(anywhere: Founded) -> None:
    (anywhere.app / "mine.txt").write_text("mine\n")
    anywhere.steps(WORK, VERIFY, COMMIT, max_loops_per_task=1)
    anywhere.config("! test -f bad.txt")
    anywhere.script(does("T-001", "one.txt"), does("T-002", "bad.txt", run=["git add -A .; git commit -qm all"]))

    anywhere.ralph("run", code=3)

    assert anywhere.landed_files() == ["one.txt"]
    assert (anywhere.app / "mine.txt").read_text() == "mine\n"
    anywhere.untouched()


@pytest.mark.parametrize("branch", ["main", "other"])
def test_a_failed_task_takes_nothing_with_it_that_a_person_committed_meanwhile(founded: Founded, branch: str) -> None:
    founded.steps(WORK, VERIFY, COMMIT, max_loops_per_task=2)
    founded.script({"match": "ID:.. T-001", "append": {"half.txt": "x\n"}}, does("T-002", "two.txt"))
    founded.ralph("run", "--once", code=3)
    if branch == "other":
        founded.git("checkout", "-q", "-b", branch)
    (founded.app / "mine.txt").write_text("mine\n")
    founded.git("add", "mine.txt")
    founded.git("commit", "-qm", "A person's work")

    founded.ralph("run", code=3)

    assert founded.states() == {"T-001": "failed", "T-002": "done"}
    assert founded.landed_files() == ["mine.txt", "two.txt"], "the run began where the person had gone on"
    assert (founded.app / "mine.txt").read_text() == "mine\n"
    founded.untouched(branch)


def test_a_branch_that_has_parted_from_a_persons_own_goes_on_by_itself(founded: Founded) -> None:
    founded.script(*BOTH)
    founded.ralph("run", "--once")
    founded.git("reset", "-q", "--hard", "HEAD~1")
    founded.git("commit", "-q", "--allow-empty", "-m", "Another way")

    done = founded.ralph("run")

    assert "! Ralph could not fast-forward your branch main to ralph/requirements: " in done.stdout
    assert founded.subjects("main") == ["Another way", "chore: begin"]
    assert founded.subjects() == ["feat: T-002 - Two", "feat: T-001 - One", "chore: begin"]


def test_r4_15_nothing_is_written_outside_of_the_project(founded: Founded) -> None:
    founded.steps(SETUP, WORK, VERIFY, REVIEW, COMMIT)
    founded.script({"match": SETTING_UP, "write": {"README.md": "x"}}, QUALIFIED, *BOTH)
    # the project, the working copies in which gates run, and the key of Ralph's seals, which is no project's
    own = ("project/", "home/.cache/ralph/project-", "home/.local/share/ralph/key")
    before = {name: data for name, data in founded.files().items() if not name.startswith(own)}

    founded.ralph("run")
    founded.ralph("status")
    founded.ralph("verify", "requirements")

    assert {name: data for name, data in founded.files().items() if not name.startswith(own)} == before
    assert sorted(path.name for path in founded.folder.iterdir()) == ["agent.calls", "agent.json", "home", "project"]
    assert sorted(path.name for path in founded.path.iterdir()) == [".ralph", "ralph.config.json", "shop"]
    assert sorted(path.name for path in founded.home.iterdir()) == [".cache", ".gitconfig", ".local"]


# Every command knows the target


def test_every_command_knows_the_target_requirements(founded: Founded) -> None:
    founded.steps(WORK, VERIFY, COMMIT, max_loops_per_task=1)
    founded.tasks("One", "Two", {"title": "Three", "depends_on": ["T-002"]})
    founded.config("! test -f bad.txt")
    founded.script(
        does("T-001", "one.txt", say=["<ralph>LEARNING:Use the blue door</ralph>"]), does("T-002", "bad.txt", "bad\n")
    )
    assert founded.ralph("next", "requirements").stdout == "requirements: T-001 One\n"
    founded.ralph("run", code=3)

    assert "[███░░░░░░░] 1/3 passed, 1 blocked" in founded.ralph("status", "requirements").stdout
    assert "✗ T-002      Two" in founded.ralph("status", "requirements").stdout
    assert "The gate" in founded.ralph("status", "requirements", "--task", "T-002").stdout
    told = json.loads(founded.ralph("status", "requirements", "--json").stdout)[0]
    assert [task["state"] for task in told["tasks"]] == ["passed", "blocked", "pending"]
    assert "(ralph retry requirements)" in founded.ralph("next", "requirements").stdout
    assert json.loads(founded.ralph("next", "requirements", "--json").stdout)[0]["next"] is None
    rows = json.loads(founded.ralph("attempts", "requirements", "--json").stdout)
    assert [(row["attempt"], row["outcome"]) for row in rows] == [("T-001/1", "passed"), ("T-002/1", "failed")]
    assert "+bad" in founded.ralph("attempts", "requirements", "T-002/1", "--diff").stdout
    assert "Restored 1 file" in founded.ralph("attempts", "requirements", "T-002/1", "--restore").stdout
    assert (founded.app / "bad.txt").read_text() == "bad\n"
    assert "! test -f bad.txt" in founded.ralph("verify", "requirements", code=3).stdout
    (founded.app / "bad.txt").unlink()
    assert "All gates are green." in founded.ralph("verify", "requirements").stdout
    assert founded.ralph("learnings", "requirements").stdout == "- Use the blue door\n"
    assert "task_blocked" in founded.ralph("logs", "--events").stdout
    assert "requirements" in founded.ralph("logs", "--list").stdout
    assert "✓ .ralph/configs/default.json" in founded.ralph("validate", "requirements").stdout
    founded.ralph("accept", "requirements", "T-002", "--why", "a person did it", "--yes")
    assert founded.states() == {"T-001": "done", "T-002": "done", "T-003": "todo"}
    accepted = "  ☑ T-002 accepted by Person: a person did it\n"
    assert founded.ralph("next", "requirements").stdout == f"requirements: T-003 Three\n{accepted}"
    founded.ralph("retry", "requirements", "T-001")
    assert founded.states()["T-001"] == "todo"


@pytest.mark.parametrize(
    "args",
    [
        ("status", "requirements", "--task", "T-01"),
        ("verify", "requirements", "--task", "T-01"),
        ("accept", "requirements", "T-01", "--why", "x", "--yes"),
        ("retry", "requirements", "T-01"),
    ],
)
def test_an_unknown_task_names_the_nearest_and_is_called_a_task(founded: Founded, args: tuple[str, ...]) -> None:
    assert "requirements has no task 'T-01'; did you mean 'T-001'?" in founded.errors(*args)


@pytest.mark.parametrize("command", ["status", "next", "attempts", "verify", "validate", "learnings", "retry"])
def test_without_a_plan_every_command_says_how_to_get_one(founded: Founded, command: str) -> None:
    removed(".ralph/prd.json")(founded)

    said = founded.errors(command, "requirements")

    assert "There is no plan from requirements" in said
    assert "ralph plan --from FILE" in said


def test_from_inside_of_the_application_the_project_is_found(founded: Founded) -> None:
    founded.script(*BOTH)

    done = subprocess.run([str(RALPH), "run"], cwd=founded.app, env=founded.env, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert founded.states() == {"T-001": "done", "T-002": "done"}


def test_r4_3_prd_file_names_the_plan_everywhere(founded: Founded) -> None:
    (founded.path / ".ralph/prd.json").rename(founded.path / ".ralph/plan.json")
    founded.steps({**WORK, "config": {"prd_file": ".ralph/plan.json"}}, VERIFY, COMMIT)
    founded.script(
        *(
            turn | {"run": [marks(task, "done", "plan.json")], "done": False}
            for task, turn in zip(("T-001", "T-002"), BOTH, strict=True)
        )
    )

    founded.ralph("run")

    assert {task["status"] for task in founded.json(".ralph/plan.json")["tasks"]} == {"done"}
    assert "2/2 passed" in founded.ralph("status", "requirements").stdout


def test_an_unknown_field_of_a_persons_survives_a_run(founded: Founded) -> None:
    founded.tasks({"title": "One", "owner": "Ada"}, ticket=7)
    founded.script(does("T-001", "one.txt"))

    founded.ralph("run")

    assert founded.plan()["ticket"] == 7
    assert founded.task()["owner"] == "Ada"
    check(founded.plan(), "tasks")


def test_secrets_reach_no_output_no_log_no_prompt_and_no_plan(founded: Founded) -> None:
    secret = "sk-very-secret-value-123"
    deploy = {"type": "command", "config": {"command": "echo ${MY_API_KEY}; test -f three.txt"}}
    founded.steps(WORK, deploy, VERIFY, COMMIT)
    founded.config("echo $MY_API_KEY; test -f two.txt", provider={"env": ["MY_*"]}, verify={"env": ["MY_*"]})
    founded.tasks("One")
    founded.script(
        does("T-001", "one.txt", run=["echo $MY_API_KEY"], call=1),
        does("T-001", "three.txt", call=2),
        does("T-001", "two.txt"),
    )

    shown = [founded.ralph("run", "--once", code=None, env={"MY_API_KEY": secret}).stdout for _ in range(3)]

    assert founded.task()["status"] == "done"
    assert founded.task()["loops"] == 2
    for path in founded.path.glob(".ralph/**/*"):
        if path.is_file():
            assert secret not in path.read_text(errors="replace"), path
    assert secret not in "".join(shown)


def test_an_interrupted_first_run_leaves_a_file_that_other_programs_can_wait_for(founded: Founded) -> None:
    """A run that was killed still says `running`; its `pid` tells that it is over."""
    founded.script({"run": [f"touch {founded.folder}/begun"], "sleep": 60})
    run = founded.start("run")
    founded.reached("begun")
    run.kill()
    run.communicate()

    state = founded.run_state()

    assert (state["status"], state["pid"]) == ("running", run.pid)
    assert "last run" in (shown := founded.ralph("status", "requirements").stdout)
    assert ": killed, 1 loop" in shown
    founded.script(*BOTH)
    founded.ralph("run")
    assert processes_in(founded.folder) == []


def test_paths_of_the_project_with_spaces_and_umlauts_work(tmp_path: Path) -> None:
    (tmp_path / "mein lädchen").mkdir()
    project = Founded(tmp_path / "mein lädchen", inner="das geschäft", repository="das geschäft")
    project.script(*BOTH)

    project.ralph("run")

    assert {"one.txt", "two.txt"} == set(project.files_in("HEAD"))
