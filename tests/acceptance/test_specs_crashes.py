"""R1.8, RX.7: killed with `kill -9` at any instant, a build goes on: what passed is committed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.specs import (
    BRANCH,
    commit_of,
    is_left_alone,
    made,
    plan,
    progress,
    spec,
    statuses,
    subjects,
    task,
    tasks,
    waits,
    write_plan,
)
from tests.conftest import Project, processes_in
from tests.instants import killed_at, resumed, states

AGENT = r"""
prompt=$(cat)
case "$prompt" in
*"# Task: Do a-1"*"What Went Wrong"*)
    rm -f bad.txt; echo '<TASK_DONE>' ;;
*"# Task: Do a-1"*)
    echo one > one.txt; echo bad > bad.txt; echo '<TASK_DONE>' ;;
*"# Task: Do a-2"*)
    echo half > two.txt; echo spoiled > one.txt; rm app.txt; echo bad > bad.txt
    git add -A . >/dev/null 2>&1; git commit -qm "half of it"
    sed -i 's/"in_progress"/"completed"/' implementation.json
    echo '<TASK_DONE>' ;;
*"# Task: Do a-3"*)
    test -e three.txt || echo three >> three.txt
    echo '<TASK_DONE>' ;;
*"# Task: Do b-1"*)
    echo more >> one.txt; sort -u -o one.txt one.txt; echo '<TASK_DONE>' ;;
esac
"""


def prepare(project: Project) -> None:
    """A task that fails once, one that fails for good, one that passes; then a spec of its own."""
    agent = project.folder / "agent.sh"
    agent.write_text(AGENT)
    project.config("! test -f bad.txt", maxRetries=2, provider={"command": "/bin/sh", "args": [str(agent)]})
    write_plan(project, spec("a", task("a-1"), task("a-2"), task("a-3")), spec("b", task("b-1"), priority=2))
    project.write("notes.txt", "a person's\n")


def check(project: Project) -> None:
    assert statuses(project) == {
        "a": "blocked", "b": "completed",
        "a-1": "completed", "a-2": "blocked", "a-3": "completed", "b-1": "completed",
    }  # fmt: skip
    assert subjects(project)[:2] == ["feat: B", "feat: A (partial)"], "once, whatever happened in between"
    partial = commit_of(project, r"feat: A \(partial\)")
    assert made(project, partial) == ["one.txt", "three.txt"]
    assert project.git("show", f"{partial}:one.txt") == "one"
    assert project.landed("three.txt", BRANCH) == "three", "done once"
    assert project.landed("one.txt", BRANCH) == "more\none"
    assert not {"two.txt", "bad.txt"} & set(project.files_in(BRANCH))
    told = progress(project)
    assert [told.count(head) for head in ("## A: partial, 2 of 3 tasks", "## B: completed")] == [1, 1]
    assert partial[:10] in told
    assert plan(project)["specs"][0]["result"]["commit"] == partial
    assert [tasks(project)[name]["result"]["commit"] for name in ("a-1", "a-3")] == [partial] * 2
    project.ralph("attest", "verify", f"main..{BRANCH}")
    assert waits(project) == [], "nothing is left over"
    is_left_alone(project, "?? notes.txt")
    assert project.read("notes.txt") == "a person's\n"
    assert "ralph" not in (project.path / ".git/info/exclude").read_text()
    refs = project.git("for-each-ref", "--format=%(refname)", "refs/ralph/attempts/specs").splitlines()
    for name, one in tasks(project).items():
        assert any(f"/{name}/" in ref for ref in refs), name
        assert one["attempts"] >= 1
    kept = "refs/ralph/attempts/specs/a-2/" + str(tasks(project)["a-2"]["attempts"])
    assert "two.txt" in project.files_in(kept), "what was refused is kept"
    assert processes_in(project.folder) == []
    assert list((project.path / ".ralph/run").glob("*/*.attempt.json")) == []


@pytest.mark.long
def test_killed_at_any_instant_the_next_build_goes_on_and_nothing_is_lost(project: Project) -> None:
    prepare(project)
    for _ in states(project, "start", "build", least=100):
        if resumed(project, "start", "build", code=3):
            check(project)


@pytest.mark.long
def test_killed_for_real_what_still_runs_does_no_harm(tmp_path: Path) -> None:
    for instant in range(9, 3000, 83):
        (tmp_path / str(instant)).mkdir()
        project = Project(tmp_path / str(instant))
        prepare(project)
        if killed_at(project, instant, "start", "build"):
            assert instant > 300, "the build has many instants"
            return
        project.ralph("start", "build", code=3)
        check(project)
    raise AssertionError("the build never came to its end")
