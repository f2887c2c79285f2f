"""Tasks from requirements side by side: what says that it is independent; the rest in its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.requirements import SEEN, Founded
from tests.instants import resumed, states


def free(title: str, *needs: str) -> dict[str, object]:
    """A task that says what it depends on."""
    return {"title": title, "depends_on": list(needs)}


TOGETHER = """
together() { echo x >> "$RALPH_WORKTREE/../../../../../together"
    while [ $(wc -l < "$RALPH_WORKTREE/../../../../../together") -lt $1 ]; do sleep 0.02; done; }
"""
MARKS = f"""
mark() {{ python3 - "$1" <<'END'
import json, os, sys
path = "{SEEN}/prd.json"
plan = json.load(open(path))
for task in plan["tasks"]:
    if task["id"] == sys.argv[1]:
        task["status"] = "done"
json.dump(plan, open(path + ".new", "w"))
os.replace(path + ".new", path)
END
}}
"""


def test_independent_tasks_run_at_the_same_time_and_each_agent_s_mark_in_the_plan_counts(founded: Founded) -> None:
    founded.tasks(free("One"), free("Two"), free("Three", "T-001", "T-002"))
    founded.agent(
        TOGETHER
        + MARKS
        + """case "$(cat)" in
*"ID:** T-001"*) together 2; echo 1 > one.txt; mark T-001; sleep 0.5 ;;
*"ID:** T-002"*) together 2; echo 2 > two.txt; sleep 0.2; mark T-002 ;;
*"ID:** T-003"*) cat one.txt two.txt > three.txt && mark T-003 ;;
esac
"""
    )

    done = founded.ralph("run", "--jobs", "2")

    assert founded.states() == {"T-001": "done", "T-002": "done", "T-003": "done"}
    assert [founded.task(name)["attempts"] for name in founded.states()] == [1, 1, 1], done.stdout
    assert "also marked" not in done.stdout
    assert founded.committed("three.txt") == "1\n2"
    assert founded.subjects()[0].startswith("feat: T-003")
    founded.untouched()


def test_tasks_that_say_nothing_of_their_dependencies_run_one_after_another(founded: Founded) -> None:
    founded.tasks("One", "Two", free("Three"))
    founded.agent(
        TOGETHER
        + """case "$(cat)" in
*"ID:** T-001"*) together 2; sleep 0.3; echo 1 > one.txt ;;
*"ID:** T-002"*) test -f one.txt && echo 2 > two.txt ;;
*"ID:** T-003"*) together 2; echo 3 > three.txt ;;
esac
echo '<ralph>DONE</ralph>'
"""
    )

    founded.ralph("run", "--jobs", "3")

    assert founded.states() == {"T-001": "done", "T-002": "done", "T-003": "done"}
    assert founded.committed("two.txt") == "2", "Two did not run beside One; Three says that it needs nothing"


def test_a_plan_without_any_independent_task_says_that_jobs_change_nothing(founded: Founded) -> None:
    founded.agent("cat > /dev/null; date +%N > $RALPH_TASK.txt; echo '<ralph>DONE</ralph>'\n")

    done = founded.ralph("run", "--jobs", "2")

    assert "No two tasks of this plan can run at the same time, so --jobs changes nothing" in done.stderr
    assert "add `depends_on` to them, `[]` for nothing" in done.stderr


@pytest.mark.parametrize("is_apart", [True, False])
def test_what_several_agents_learn_at_the_same_time_is_all_kept(tmp_path: Path, is_apart: bool) -> None:
    project = Founded(tmp_path) if is_apart else Founded(tmp_path, inner="", repository="")
    project.write(".ralph/learnings.md", "- An old lesson\n- A wrong lesson\n")
    project.tasks(free("One"), free("Two"))
    if not is_apart:
        project.git("add", "-A")
        project.git("commit", "-qm", "Plan")
    notes = f"{SEEN}/learnings.md" if is_apart else ".ralph/learnings.md"
    project.agent(
        TOGETHER
        + f"""case "$(cat)" in
*"ID:** T-001"*) together 2; sed -i /wrong/d {notes}; echo "- One is blue" >> {notes}; echo 1 > one.txt ;;
*"ID:** T-002"*) together 2; sleep 0.4; echo "- Two is red" >> {notes}; echo 2 > two.txt ;;
esac
echo '<ralph>DONE</ralph>'
"""
    )

    project.ralph("run", "--jobs", "2")

    assert sorted(project.kept(".ralph/learnings.md").splitlines()) == [
        "- An old lesson",
        "- One is blue",
        "- Two is red",
    ]


AGENT = """case "$(cat)" in
*"ID:** T-001"*) echo one >> same.txt ;;
*"ID:** T-002"*) echo two >> same.txt ;;
esac
test ! -f same.txt || { sed -i '/[<=>]/d' same.txt; sort -u -o same.txt same.txt; }
echo '<ralph>DONE</ralph>'
"""


@pytest.mark.long
def test_killed_at_any_instant_every_task_lands_once(founded: Founded) -> None:
    founded.tasks(free("One"), free("Two"))
    founded.config("! grep -qs '<<<<' same.txt")
    founded.agent(AGENT)
    for _ in states(founded, "run", "--jobs", "2", least=60):
        if not resumed(founded, "run", "--jobs", "2"):
            continue
        assert set(founded.states().values()) == {"done"}
        assert founded.committed("same.txt") == "one\ntwo"
        assert [founded.commits_of(name) for name in founded.states()] == [1, 1]
        founded.untouched()
