"""Ctrl-C, `kill` and `kill -9` while specs are built: nothing is left running, nothing is lost or done twice."""

from __future__ import annotations

import signal

import pytest

from tests.acceptance.specs import (
    commit_of,
    commits,
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
from tests.conftest import Project, processes_in, wait_for

WORDS = """
hang() {
    if test "$(cat "$AT/moment")" = "$1" && ! test -e "$AT/begun"; then
        touch "$AT/begun"; setsid sleep 300 & sleep 300
    fi
}
"""
AGENT = """
prompt=$(cat)
case "$prompt" in
*"# Task: Do a-1"*) echo one > one.txt ;;
*"# Task: Do a-2"*) echo two >> two.txt; sort -u -o two.txt two.txt; hang agent ;;
esac
echo '<TASK_DONE>'
"""
GATE = "test -e one.txt && test -e two.txt && ! test -e dirty && hang gate; test -e dirty && hang finish; true"
ENDS = [
    ("agent", "SIGINT"), ("agent", "SIGTERM"), ("agent", "SIGKILL"),
    ("gate", "SIGINT"), ("finish", "SIGINT"), ("finish", "SIGKILL"), ("hook", "SIGINT"),
]  # fmt: skip


def prepare(project: Project, moment: str) -> None:
    """Two tasks of one spec; at the given moment something hangs, once."""
    words = f"AT={project.folder}\n{WORDS}"
    shell, agent = project.folder / "words.sh", project.folder / "agent.sh"
    shell.write_text(words)
    agent.write_text(words + AGENT)
    (project.folder / "moment").write_text(moment)
    project.config(f". {shell}; {GATE}", provider={"command": "/bin/sh", "args": [str(agent)]})
    write_plan(project, spec("a", task("a-1"), task("a-2")))
    hook = project.path / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\n. {shell}\ngit diff --cached --name-only | grep -q one.txt && hang hook\nexit 0\n")
    hook.chmod(0o755)
    if moment == "finish":  # all tasks have passed, then a person commits: the gates run again before the spec's commit
        for _ in (1, 2):
            project.ralph("start", "build", "--once", "--no-baseline")
        assert plan(project)["specs"][0]["status"] == "in_progress"
        commits(project, "A person's", dirty="x\n")


def ended(project: Project, name: str, *, twice: bool = False) -> str:
    run = project.start("start", "build", "--no-baseline")
    wait_for((project.folder / "begun").exists, what="the moment")
    run.send_signal(getattr(signal, name))
    if twice:
        wait_for((project.folder / "asked").exists, what="it was asked to end")
        run.send_signal(getattr(signal, name))
    out, _ = run.communicate(timeout=20)
    assert run.returncode == (-signal.SIGKILL if name == "SIGKILL" else 130), out
    return out


def finish(project: Project) -> None:
    """The next build goes on, and everything is as if nothing had happened."""
    done = project.ralph("start", "build")

    assert "specs: complete · all gates green" in done.stdout
    assert processes_in(project.folder) == []
    assert statuses(project) == {"a": "completed", "a-1": "completed", "a-2": "completed"}
    assert [subject for subject in subjects(project) if "feat" in subject] == ["feat: A"]
    assert made(project, commit_of(project, "feat: A")) == ["one.txt", "two.txt"]
    assert waits(project) == []
    assert progress(project).count("## A: completed") == 1
    assert [one["retries"] for one in tasks(project).values()] == [0, 0], "being ended costs nothing"
    is_left_alone(project)
    assert list(project.path.glob(".ralph/run/*/*.attempt.json")) == []
    assert not project.exists(".ralph/ralph.lock")


@pytest.mark.parametrize(("moment", "name"), ENDS)
def test_ended_at_this_moment_the_next_build_goes_on(project: Project, moment: str, name: str) -> None:
    prepare(project, moment)

    out = ended(project, name)

    if name != "SIGKILL":
        assert "specs: interrupted · run the same command again to resume" in out
        assert processes_in(project.folder) == []
        assert not project.exists(".ralph/ralph.lock")
    assert "one.txt" in project.files_in("refs/ralph/attempts/specs/a-1/1")
    finish(project)


@pytest.mark.parametrize("moment", ["agent", "finish"])
def test_a_second_ctrl_c_ends_everything_at_once(project: Project, moment: str) -> None:
    prepare(project, moment)
    stubborn = "trap 'touch $AT/asked' TERM; touch \"$AT/begun\"; while :; do sleep 0.1; done"
    for name in ("words.sh", "agent.sh"):
        file = project.folder / name
        file.write_text(file.read_text().replace('touch "$AT/begun"; setsid sleep 300 & sleep 300', stubborn))

    out = ended(project, "SIGINT", twice=True)

    assert "stopped at once. Run the same command again to resume." in out
    wait_for(lambda: processes_in(project.folder) == [])
    finish(project)


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_what_an_agent_forged_before_it_was_ended_is_not_believed_later(project: Project, name: str) -> None:
    prepare(project, "agent")
    agent = project.folder / "agent.sh"
    forge = "sed -i 's/pending/completed/; s/in_progress/completed/' implementation.json; echo '# A' > specs/a.md; "
    agent.write_text(agent.read_text().replace("hang agent", f"{forge} echo '## A' > PROGRESS.md; hang agent"))
    before = project.read("specs/a.md")

    ended(project, name)
    agent.write_text(agent.read_text().replace(forge, "").replace("echo '## A' > PROGRESS.md;", ""))
    finish(project)

    assert [event["work"] for event in project.events("attempt_ended") if event["verdict"] == "passed"] == [
        "a-1", "a-2", "a",
    ]  # fmt: skip
    assert "\n## A\n" not in progress(project)
    assert project.read("specs/a.md") == before


def test_a_grandchild_that_holds_the_output_does_not_hold_the_build(project: Project) -> None:
    prepare(project, "never")
    agent = project.folder / "agent.sh"
    agent.write_text(agent.read_text().replace("echo one", "setsid sleep 300 & echo one"))

    finish(project)

    assert all(event["seconds"] < 60 for event in project.events("agent_ended"))
