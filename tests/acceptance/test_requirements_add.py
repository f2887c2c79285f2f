"""R4.10: `ralph add`: more work for a plan, and nothing of the old one is ever lost."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.requirements import ADDING, COMMIT, COMPACTING, VERIFY, WORK, Founded, check, does
from tests.conftest import processes_in
from tests.instants import ended_at

RESULT = {"completed_at": "2026-01-01T00:00:00Z", "commit": "c" * 40, "summary": "feat: T-001 - One", "verify": []}
DONE = {"title": "One", "status": "done", "attempts": 1, "result": RESULT, "owner": "Ada"}
FAILED = {"title": "Two", "status": "failed", "notes": "too hard", "depends_on": ["T-001"]}
KEPT = (".ralph/prd.json", ".ralph/prd_archive.json", ".ralph/learnings.md", ".ralph/learnings_archive.md")


def half_done(project: Founded) -> None:
    """A plan with a task that is done, one that failed and one that waits; an archive; and kept attempts."""
    project.tasks(DONE, FAILED, {"title": "Three", "depends_on": ["T-001", "T-002"]})
    archive = {"version": 1, "tasks": [{"id": "T-007", "title": "Long ago", "status": "done"}], "note": "a person's"}
    project.write(".ralph/prd_archive.json", json.dumps(archive))
    project.git("update-ref", "refs/ralph/attempts/requirements/T-011/1", "HEAD")


def answers(*tasks: Any, **more: Any) -> dict[str, Any]:
    full = [{"title": task} if isinstance(task, str) else task for task in tasks]
    return {"match": ADDING, "answer": {"tasks": full}, **more}


def kept(project: Founded) -> dict[str, bytes | None]:
    """The files that must not change when `add` fails, byte for byte."""
    paths = {name: project.path / name for name in KEPT}
    return {name: path.read_bytes() if path.exists() else None for name, path in paths.items()}


def test_r4_10_a_sentence_becomes_tasks_and_what_is_done_moves_to_the_archive(founded: Founded) -> None:
    half_done(founded)
    founded.script(answers({"title": "Four", "description": "d", "acceptance_criteria": ["c"]}, "Five"))
    archived = founded.json(".ralph/prd_archive.json")["tasks"]

    done = founded.ralph("add", "sell a fourth thing")

    assert "1 done task moved to .ralph/prd_archive.json" in done.stdout
    assert done.stdout.endswith("2 new tasks:\n  T-012  Four\n  T-013  Five\n→ ralph run\n")
    prompt = founded.prompts()[0]
    assert "sell a fourth thing" in prompt
    assert "It sells one thing and then two." in prompt
    assert "- T-002 Two (failed)" in prompt
    plan = founded.plan()
    check(plan, "tasks")
    assert founded.states() == {"T-002": "failed", "T-003": "todo", "T-012": "todo", "T-013": "todo"}
    assert founded.task("T-002")["notes"] == "too hard"
    assert founded.task("T-012")["acceptance_criteria"] == ["c"]
    archive = founded.json(".ralph/prd_archive.json")
    assert archive["note"] == "a person's"
    assert archive["tasks"] == [*archived, {"id": "T-001", "acceptance_criteria": ["It works"], **DONE}]


def test_r4_10_a_file_is_read(founded: Founded) -> None:
    founded.write("work.md", "\ufeff# Export\n\nas CSV, bitte schön\n")
    founded.script(answers("Export"))

    founded.ralph("add", "work.md")

    assert "# Export\n\nas CSV, bitte schön\n" in founded.prompts()[0]
    assert founded.states() == {"T-001": "todo", "T-002": "todo", "T-003": "todo"}


def test_r4_10_what_is_added_is_worked_on_next(anywhere: Founded) -> None:
    anywhere.script(
        does("T-001", "one.txt"),
        does("T-002", "two.txt"),
        answers({"title": "Three", "depends_on": ["T-002"]}),
        does("T-003", "three.txt"),
    )
    anywhere.ralph("run")

    anywhere.ralph("add", "more")
    assert anywhere.states() == {"T-003": "todo"}
    assert anywhere.task("T-003")["depends_on"] == []
    done = anywhere.ralph("run")

    assert "tasks 1 of 1 passed" in done.stdout
    ended, grown = "chore: update prd.json", "chore: update the plan of requirements"
    subjects = ["chore: begin", "feat: T-001 - One", "feat: T-002 - Two", ended, grown, "feat: T-003 - Three", ended]
    no_state = [subject for subject in subjects if "update" not in subject]
    assert anywhere.subjects()[::-1] == (no_state if anywhere.is_apart else subjects)
    archive = json.loads(anywhere.kept(".ralph/prd_archive.json"))
    assert [task["status"] for task in archive["tasks"]] == ["done", "done"]
    anywhere.untouched()


def test_r4_10_dependencies_on_archived_tasks_are_met_and_the_others_stay(founded: Founded) -> None:
    half_done(founded)
    founded.script(answers({"title": "Four", "depends_on": ["T-001", "T-003", "T-007"]}))

    founded.ralph("add", "more")

    assert founded.task("T-002")["depends_on"] == []
    assert founded.task("T-003")["depends_on"] == ["T-002"]
    assert founded.task("T-012")["depends_on"] == ["T-003"]


@pytest.mark.parametrize("taken", ["T-001", "T-003", "T-007", "T-011"])
def test_r4_10_an_id_that_was_ever_used_is_sent_back(founded: Founded, taken: str) -> None:
    half_done(founded)
    founded.script(answers({"id": taken, "title": "Four"}, times=1), answers("Four"))

    done = founded.ralph("add", "more")

    assert "with ids from `T-012` on" in founded.prompts()[0]
    assert f"the id '{taken}' is taken; start with T-012" in founded.prompts()[1]
    assert f"the id '{taken}' is taken" in done.stdout
    assert "T-012" in founded.states()


@pytest.mark.parametrize(
    ("what", "tasks", "said"),
    [
        ("a cycle", [{"id": "T-020", "title": "A", "depends_on": ["T-021"]},
                     {"id": "T-021", "title": "B", "depends_on": ["T-020"]}], "T-020"),
        ("an unknown dependency", [{"title": "A", "depends_on": ["T-099"]}], "T-099"),
        ("the same id twice", [{"id": "T-020", "title": "A"}, {"id": "T-020", "title": "B"}], "T-020"),
        ("no title", [{"id": "T-020"}], "title"),
        ("an odd id", [{"id": "../x", "title": "A"}], "tasks[0].id"),
        ("no tasks", [], "tasks"),
    ],
)  # fmt: skip
def test_r4_10_tasks_that_cannot_be_used_are_sent_back_by_name(
    founded: Founded, what: str, tasks: list[dict[str, Any]], said: str
) -> None:
    half_done(founded)
    founded.script({"match": ADDING, "times": 1, "answer": {"tasks": tasks}}, answers("Four"))

    founded.ralph("add", "more")

    again = founded.prompts()[1].split("## Your Last Answer Could Not Be Used")[1]
    assert said in again, what
    assert list(founded.states()) == ["T-002", "T-003", "T-012"]


def test_r4_10_what_an_agent_says_of_a_new_tasks_state_is_not_believed(founded: Founded) -> None:
    forged = {"title": "Four", "status": "done", "loops": 99, "result": RESULT, "base_commit": "x", "attempts": 7}
    founded.script(answers(forged))

    founded.ralph("add", "more")

    task = founded.task("T-003")
    assert task["status"] == "todo"
    assert not {"loops", "result", "base_commit", "attempts"} & {key for key, value in task.items() if value}


def test_r4_10_a_planner_that_writes_into_the_plan_is_undone(founded: Founded) -> None:
    half_done(founded)
    before = founded.plan()["tasks"]
    forge = "sed -i s/todo/done/ .ralph/prd.json; echo '{}' > .ralph/prd_archive.json"
    founded.script(answers("Evil", run=[forge], times=1), answers("Four"))

    founded.ralph("add", "more")

    assert "it changed Ralph's own files" in founded.prompts()[1]
    assert founded.task("T-003")["status"] == before[2]["status"] == "todo"
    assert [task["id"] for task in founded.json(".ralph/prd_archive.json")["tasks"]] == ["T-007", "T-001"]


FAILS: dict[str, dict[str, Any]] = {
    "it exits with an error": {"match": ADDING, "answer": {"tasks": [{"title": "Four"}]}, "exit": 1},
    "it answers with prose": {"match": ADDING, "answer": "I would begin with the till."},
    "it says it but writes nothing": {"match": ADDING, "say": ['{"tasks": [{"title": "Four"}]}']},
    "it answers with half a JSON": {"match": ADDING, "answer": '{"tasks": [{"title": "Fo'},
    "it answers with no tasks": {"match": ADDING, "answer": {"tasks": []}},
    "it answers with a broken plan": {"match": ADDING, "answer": {"tasks": [{"title": "x", "depends_on": ["T-99"]}]}},
}


@pytest.mark.parametrize("what", FAILS)
def test_r4_10_an_agent_that_fails_three_times_has_changed_nothing(founded: Founded, what: str) -> None:
    half_done(founded)
    founded.write(".ralph/learnings.md", "- long\n" * 2000)
    founded.script(FAILS[what])
    before = kept(founded)

    said = founded.errors("add", "more")

    assert "The agent gave no usable answer in 3 tries" in said
    assert "Nothing was changed." in said
    assert founded.calls() == 3
    assert kept(founded) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_r4_10_ended_in_the_middle_it_has_changed_nothing(founded: Founded, number: signal.Signals) -> None:
    half_done(founded)
    slow = f"touch {founded.folder}/begun; setsid sleep 300 & sleep 300"
    founded.script(answers("Evil", run=[slow], times=1), answers("Four"))
    before = kept(founded)
    add = founded.start("add", "more")
    founded.reached("begun")

    add.send_signal(number)
    out, _ = add.communicate(timeout=20)

    assert kept(founded) == before
    if number is not signal.SIGKILL:
        assert add.returncode == 130, out
        assert "Nothing was changed. Run the command again." in out
        assert processes_in(founded.folder) == []
    founded.ralph("add", "more")
    assert processes_in(founded.folder) == []
    assert list(founded.states()) == ["T-002", "T-003", "T-012"]


def grown_by_kill(folder: Path, instant: int) -> tuple[Founded, int]:
    """A project whose `ralph add` was killed at an instant; else the number of instants that it has."""
    folder.mkdir()
    project = Founded(folder)
    half_done(project)
    project.agent('cat > /dev/null\necho \'{"tasks": [{"title": "Four"}]}\' > .ralph/run/answers/add-requirements\n')
    return project, ended_at(project, instant, signal.SIGKILL, "add", "more")


def test_r4_10_killed_while_it_writes_no_task_is_lost_or_archived_twice(tmp_path: Path) -> None:
    _, whole = grown_by_kill(tmp_path / "whole", 10_000)
    assert whole > 20, "there are many instants; files are written at the last of them"
    outcomes = set()
    for instant in range(whole - 24, whole + 1):
        project, _ = grown_by_kill(tmp_path / str(instant), instant)
        check(project.plan(), "tasks")
        archived = [task["id"] for task in project.json(".ralph/prd_archive.json")["tasks"]]
        assert {"T-001", "T-007"} <= {*archived, *project.states()}, f"lost at instant {instant}"
        outcome = ("T-001" in archived, "T-001" in project.states())
        if outcome not in outcomes:
            project.ralph("add", "more")
            archived = [task["id"] for task in project.json(".ralph/prd_archive.json")["tasks"]]
            assert Counter(archived) == {"T-007": 1, "T-001": 1}
            assert list(project.states())[:3] == ["T-002", "T-003", "T-012"]
        outcomes.add(outcome)
    assert outcomes == {(False, True), (True, True), (True, False)}, "before, between and after the two files"


# Learnings


LONG = "# Notes\n\n" + "".join(f"- lesson {number}: {'very ' * 20}true\n" for number in range(80))
SHORT = "- In short: all of it is true\n"


def test_r4_10_long_learnings_are_compacted_and_the_long_text_is_kept(founded: Founded) -> None:
    founded.write(".ralph/learnings.md", LONG)
    founded.write(".ralph/learnings_archive.md", "- older still\n\n")
    founded.script(answers("Three"), {"match": COMPACTING, "answer": SHORT})

    done = founded.ralph("add", "more")

    assert "learnings compacted; the long version is in .ralph/learnings_archive.md" in done.stdout
    assert founded.read(".ralph/learnings.md") == SHORT
    archive = founded.read(".ralph/learnings_archive.md")
    assert archive.startswith("- older still\n")
    assert LONG in archive
    assert LONG in founded.prompts()[1]
    assert founded.ralph("learnings", "requirements").stdout == SHORT


def test_r4_10_learnings_of_8000_characters_are_left_as_they_are(founded: Founded) -> None:
    founded.write(".ralph/learnings.md", "ä" * 7999 + "\n")
    founded.script(answers("Three"))

    founded.ralph("add", "more")

    assert founded.calls() == 1
    assert founded.read(".ralph/learnings.md") == "ä" * 7999 + "\n"


@pytest.mark.parametrize(
    "turn", [{"answer": LONG}, {"answer": SHORT, "exit": 3}, {"say": ["done"]}, {"answer": "   \n"}]
)
def test_r4_10_a_compaction_that_fails_leaves_the_learnings_and_the_new_tasks(
    founded: Founded, turn: dict[str, Any]
) -> None:
    founded.write(".ralph/learnings.md", LONG)
    founded.script(answers("Three"), {"match": COMPACTING, **turn})

    done = founded.ralph("add", "more")

    assert "The learnings were not compacted" in done.stdout
    assert "T-003  Three" in done.stdout
    assert founded.read(".ralph/learnings.md") == LONG
    assert not founded.exists(".ralph/learnings_archive.md")
    assert founded.calls() == 4


def test_r4_10_a_compaction_cut_short_leaves_the_learnings_and_the_new_tasks(founded: Founded) -> None:
    founded.write(".ralph/learnings.md", LONG)
    founded.script(answers("Three"), {"match": COMPACTING, "run": [f"touch {founded.folder}/begun"], "sleep": 60})
    add = founded.start("add", "more")
    founded.reached("begun")

    add.kill()
    add.communicate()

    assert founded.read(".ralph/learnings.md") == LONG
    assert list(founded.states()) == ["T-001", "T-002", "T-003"]
    founded.script(does("T-001", "a.txt"), does("T-002", "b.txt"), does("T-003", "c.txt"))
    founded.ralph("run")
    assert processes_in(founded.folder) == []


def test_r4_10_a_long_archive_of_learnings_is_never_cut(founded: Founded) -> None:
    old = "".join(f"- old lesson {number} of many\n" for number in range(50_000))
    assert len(old) > 1 << 20
    founded.write(".ralph/learnings.md", LONG)
    founded.write(".ralph/learnings_archive.md", old)
    founded.script(answers("Three"), {"match": COMPACTING, "answer": SHORT})

    founded.ralph("add", "more")

    assert founded.read(".ralph/learnings_archive.md").startswith(old)


def test_r4_10_very_long_learnings_are_archived_to_their_last_line(founded: Founded) -> None:
    long = "".join(f"- lesson {number} of many\n" for number in range(60_000))
    assert len(long) > 1 << 20
    founded.write(".ralph/learnings.md", long)
    founded.script(answers("Three"), {"match": COMPACTING, "answer": SHORT})

    founded.ralph("add", "more")

    everything = founded.read(".ralph/learnings.md")
    if founded.exists(".ralph/learnings_archive.md"):
        everything += founded.read(".ralph/learnings_archive.md")
    assert "- lesson 59999 of many\n" in everything


# What cannot be added


@pytest.mark.parametrize(
    ("work", "message"),
    [
        ("", "The description of the work is empty."),
        (" \n ", "The description of the work is empty."),
        ("empty.md", "The description of the work is empty."),
        ("missing.md", "missing.md does not exist."),
        ("binary.md", "binary.md is not UTF-8 text."),
    ],
)
def test_r4_10_work_that_is_none_is_refused_with_a_remedy(founded: Founded, work: str, message: str) -> None:
    founded.write("empty.md", " \n")
    (founded.path / "binary.md").write_bytes(b"\xff\xfe\x00")
    before = founded.files()

    assert message in founded.errors("add", work)

    assert founded.files() == before
    assert founded.calls() == 0


def test_r4_10_without_a_plan_it_says_how_to_get_one(founded: Founded) -> None:
    (founded.path / ".ralph/prd.json").unlink()

    assert "ralph plan --from FILE" in founded.errors("add", "more")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (".ralph/prd.json", '{"version": 1, "tasks": [{"id": "T-001"}]}', "tasks[0].title"),
        (".ralph/prd_archive.json", "[]", "prd_archive.json"),
        (".ralph/prd_archive.json", '{"tasks": 7}', "tasks: expected a list"),
        (".ralph/prd_archive.json", '{"tasks": [', "prd_archive.json"),
    ],
)
def test_r4_10_a_broken_file_is_told_before_anybody_is_asked(founded: Founded, file: str, text: str, said: str) -> None:
    founded.write(file, text)
    founded.script(answers("Three"))

    assert said in founded.errors("add", "more")

    assert founded.calls() == 0
    assert founded.read(file) == text


def test_r4_10_as_json_there_is_one_object_and_nothing_else(founded: Founded) -> None:
    half_done(founded)
    founded.write(".ralph/learnings.md", LONG)
    founded.script(answers("Four"), {"match": COMPACTING, "answer": SHORT})

    told = json.loads(founded.ralph("add", "more", "--json").stdout)

    assert [(task["id"], task["title"]) for task in told["tasks"]] == [("T-012", "Four")]
    assert (told["archived"], told["compacted"]) == (1, True)


def test_r4_10_the_model_is_the_planners_or_the_one_that_is_asked_for(founded: Founded) -> None:
    founded.agent(
        f'cat > /dev/null; echo "$1" >> {founded.folder}/models\n'
        'echo \'{"tasks": [{"title": "More"}]}\' > .ralph/run/answers/add-requirements\n'
    )
    config = founded.json("ralph.config.json")
    config["provider"]["modelArgs"] = ["{model}"]
    config["roles"] = {"planner": {"model": "thorough"}, "executor": {"model": "quick"}}
    founded.write("ralph.config.json", json.dumps(config))

    founded.ralph("add", "more")
    founded.ralph("add", "even more", "--model", "best")

    assert (founded.folder / "models").read_text().split() == ["thorough", "best"]


def test_r4_10_a_plan_whose_tasks_are_all_done_can_grow_again_and_again(founded: Founded) -> None:
    founded.steps(WORK, VERIFY, COMMIT)
    founded.tasks("One")
    founded.agent(
        "case $(cat) in\n"
        '*"# New Work"*) echo \'{"tasks": [{"title": "More"}]}\' > .ralph/run/answers/add-requirements;;\n'
        "*) date +%N > work.txt; echo '<ralph>DONE</ralph>';;\n"
        "esac\n"
    )
    founded.ralph("run")

    for number in (2, 3):
        founded.ralph("add", "more")
        assert founded.states() == {f"T-00{number}": "todo"}
        founded.ralph("run")

    ids = [task["id"] for task in founded.json(".ralph/prd_archive.json")["tasks"]]
    assert ids == ["T-001", "T-002"]
    assert [founded.commits_of(f"T-00{number}") for number in (1, 2, 3)] == [1, 1, 1]
