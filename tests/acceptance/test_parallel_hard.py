"""RX.2: agents that reach out of their slot, full disks, signals, and other trouble side by side."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.test_landing_property import landed
from tests.acceptance.test_services import prepare, starts
from tests.conftest import VERIFIED, Project, does, processes_in, wait_for

HOME = "../../auth"
PROJECT = "../../../.."
OUTSIDE = f"{PROJECT}/.."

WRONGS = {
    "switches": "git switch -qc other && echo x > evil.txt && git add . && git commit -qm evil",
    "moves the branch": (
        "echo x > evil.txt && git add . && git commit -qm evil && git update-ref refs/heads/ralph/auth HEAD"
    ),
    "commits at home": f"cd {HOME} && echo x > evil.txt && git add evil.txt && git commit -qm evil && echo y > app.txt",
    "switches at home": f"cd {HOME} && git switch -qc other && echo x > evil.txt && git add . && git commit -qm evil",
    "stages at home": f"cd {HOME} && echo x > evil.txt && git add evil.txt",
    "removes its worktree": 'cd / && rm -rf "$RALPH_WORKTREE"',
    "gives its worktree back": (
        "echo x > evil.txt && git add . && git commit -qm evil && git worktree remove --force . && cd /"
    ),
    "removes its git": "rm -rf .git",
    "half a rebase": (
        "git switch -qc tmp && echo a > app.txt && git commit -qam a && git switch -q --detach HEAD^ &&"
        " echo b > app.txt && git commit -qam b && git rebase -q tmp; true"
    ),
    "edits records": f"for f in {PROJECT}/.ralph/run/auth/*.attempt.json; do echo '{{}}' > $f; done",
    "removes records": f"rm -rf {PROJECT}/.ralph/run/auth",
    "fills another slot": "mkdir -p ../2 && echo x > ../2/evil.txt",
    "edits the plan at home": f"sed -i 's/Two/Evil/' {HOME}/.ralph/*-auth/prd.json",
}


@pytest.mark.parametrize("wrong", WRONGS)
def test_an_agent_that_reaches_out_of_its_slot_brings_nothing_unverified_onto_the_branch(
    project: Project, wrong: str
) -> None:
    project.config("test ! -f evil.txt")
    project.stories("One", "Two")
    evil = {"match": "ID:.. US-001", "times": 1, "run": [WRONGS[wrong]]}
    mend = "rm -f evil.txt; echo app > app.txt; git add -A"
    one, two = does("US-001", "one.txt", run=[mend]), does("US-002", "two.txt", run=[f"sleep 0.3; {mend}"])
    project.script(evil, one, two, VERIFIED)

    project.ralph("run", "auth", "--jobs", "2")

    assert {"one.txt", "two.txt"} <= set(project.files_in("ralph/auth"))
    assert "evil.txt" not in project.git("log", "--format=", "--name-only", "ralph/auth").split()
    assert project.git("show", "ralph/auth:app.txt") == "app"
    assert [story["title"] for story in project.plan_at("ralph/auth")["userStories"]] == ["One", "Two"]
    assert len(landed(project)) == 2
    assert project.git("branch", "--format=%(refname:short)").splitlines() == ["main", "ralph/auth"]
    if "evil.txt" in WRONGS[wrong] and wrong not in ("switches at home", "stages at home", "fills another slot"):
        assert "evil.txt" in project.git("log", "--glob=refs/ralph/*", "--format=", "--name-only").split()


def test_gates_may_leave_files_that_a_later_story_brings_along(project: Project) -> None:
    project.config("echo made > report.txt")
    project.stories("One", "Two", "Three")
    project.script(
        does("US-001", "one.txt"),
        does("US-002", "two.txt", run=["sleep 0.2"]),
        does("US-003", "report.txt", "made\n", run=["sleep 0.4"]),
        VERIFIED,
    )

    project.ralph("run", "auth", "--jobs", "3")

    assert project.git("show", "ralph/auth:report.txt") == "made"
    assert len(landed(project)) == 3


def test_a_story_that_was_sent_back_after_it_landed_begins_on_the_branch(project: Project) -> None:
    project.config("! grep -q '<<<<' app.txt")
    project.stories("One", {"title": "Two", "dependsOn": ["US-001"]})
    project.script(
        {"match": "ID:.. US-001", "times": 1, "run": ["echo one >> app.txt"], "done": True},
        {"match": "ID:.. US-001", "run": ["grep -q '<<<<' app.txt || echo again >> app.txt"], "done": True},
        {"match": "ID:.. US-002", "run": ["echo two >> app.txt"], "done": True},
        {"match": "# Final Verification", "times": 1, "say": ["<ralph>RESET:US-001</ralph>"]},
        VERIFIED,
    )

    project.ralph("run", "auth", "--jobs", "2")

    assert project.git("show", "ralph/auth:app.txt").splitlines() == ["app", "one", "two", "again"]
    assert landed(project) == ["auth/US-001/1", "auth/US-002/1", "auth/US-001/2"]


@pytest.fixture
def small_disk(project: Project) -> Iterator[Path]:
    folder = project.path / ".ralph/worktrees"
    folder.mkdir(parents=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("no small file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("megabytes", [1, 3])
def test_a_disk_that_is_full_while_a_worktree_is_made(project: Project, small_disk: Path, megabytes: int) -> None:
    (project.path / "big.bin").write_bytes(os.urandom(megabytes * 900_000))
    project.git("add", "big.bin")
    project.git("commit", "-qm", "Big")
    project.config("true")
    project.stories("One", "Two", "Three")
    project.script(*(does(f"US-00{n}", f"{n}.txt", sleep=0.2) for n in (1, 2, 3)), VERIFIED)

    done = project.ralph("run", "auth", "--jobs", "3", code=1)

    assert "could not create" in done.stderr or "could not be saved" in done.stderr
    assert "Free some disk space" in done.stderr
    assert processes_in(project.path) == []
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    project.ralph("run", "auth", "--jobs", "3")
    assert len(landed(project)) == 3


def test_a_branch_that_a_person_has_checked_out_is_refused_with_a_remedy(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.git("add", "-A")
    project.git("commit", "-qm", "Plan")
    project.git("switch", "-qc", "ralph/auth")
    project.script(does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth", "--jobs", "2", code=1)

    assert f"The branch ralph/auth is checked out in {project.path}, so no work can land on it." in done.stderr
    assert f"git -C {project.path} switch -" in done.stderr
    assert project.calls() == 0
    project.git("switch", "-q", "main")
    project.ralph("run", "auth", "--jobs", "2")

    project.git("switch", "-q", "ralph/auth")  # it was let go
    assert project.exists("one.txt")
    refused = project.ralph("run", "auth", "--jobs", "2", code=1)
    assert "is checked out in" in refused.stderr
    project.git("commit", "-q", "--allow-empty", "-m", "A person's")
    project.git("switch", "-q", "main")
    project.ralph("run", "auth", "--jobs", "2")
    assert "A person's" in project.subjects()


def test_ctrl_c_with_three_at_work_keeps_all_and_lets_go_of_the_branch(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two", "Three")
    begun = f"touch {OUTSIDE}/begun-$RALPH_TASK"
    halves = [
        {"match": f"ID:.. US-00{n}", "times": 1, "write": {f"half{n}.txt": "x"}, "run": [begun], "sleep": 60}
        for n in (1, 2, 3)
    ]
    project.script(*halves, *(does(f"US-00{n}", f"{n}.txt") for n in (1, 2, 3)), VERIFIED)
    run = project.start("run", "auth", "--jobs", "3")
    wait_for(lambda: len(list(project.folder.glob("begun-*"))) == 3)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)

    assert run.returncode == 130, out
    assert processes_in(project.folder) == []
    assert list(project.path.glob(".ralph/run/auth/*.attempt.json")) == []
    for n in (1, 2, 3):
        assert f"half{n}.txt" in project.files_in(f"refs/ralph/attempts/auth/US-00{n}/1")
    project.git("worktree", "add", "-q", str(project.folder / "look"), "ralph/auth")
    project.git("worktree", "remove", str(project.folder / "look"))
    project.ralph("run", "auth", "--jobs", "3")
    assert {"half1.txt", "half2.txt", "half3.txt", "1.txt", "2.txt", "3.txt"} <= set(project.files_in("ralph/auth"))


def test_ctrl_c_in_the_gates_of_a_landing_stops_them_and_the_next_run_lands_it(project: Project) -> None:
    together = "test -f 1.txt && test -f 2.txt || exit 0; "
    project.config(together + "test -e $HOME/../go || { touch $HOME/../landing; sleep 60; }")
    project.stories("One", "Two")
    project.script(does("US-001", "1.txt"), does("US-002", "2.txt", sleep=0.3), VERIFIED)
    run = project.start("run", "auth", "--jobs", "2")
    wait_for((project.folder / "landing").exists)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)
    assert run.returncode == 130, out
    assert len(landed(project)) == 1
    (project.folder / "go").touch()

    done = project.ralph("run", "auth", "--jobs", "2")

    assert "resumes where it stopped" in done.stdout
    assert project.calls() == 3, "two stories and the final verification"
    assert len(landed(project)) == 2


def test_once_makes_one_attempt(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two", "Three")
    project.script(*(does(f"US-00{n}", f"{n}.txt") for n in (1, 2, 3)), VERIFIED)

    project.ralph("run", "auth", "--jobs", "3", "--once")

    assert project.calls() == 1
    assert landed(project) == ["auth/US-001/1"]


def test_a_ui_story_is_looked_at_where_it_lands(project: Project) -> None:
    prepare(project)
    server = project.path.parent / "server.py"
    server.write_text(server.read_text().replace("../served.log", str(project.folder / "served.log")))
    config = project.read("ralph.config.json").replace("../server.py", str(server))
    project.write("ralph.config.json", config)
    project.stories("Plain", {"title": "Page", "tags": ["ui"]}, {"title": "Another", "tags": ["ui"]})
    project.script(*(does(f"US-00{n}", f"{n}.txt") for n in (1, 2, 3)), VERIFIED)

    project.ralph("run", "auth", "--jobs", "3")

    stories = project.plan_at("ralph/auth")["userStories"]
    assert len(landed(project)) == 3
    assert 3 <= len(starts(project)) <= 5, "fresh for each check: alone, together with others' work, at the end"
    assert len(stories) == 3
    assert len(stories[1]["lastResult"]["verify"]) == 2, "the page's own gate is among the results"


def test_what_waits_for_a_blocked_story_waits_and_the_rest_is_done(project: Project) -> None:
    project.config("true", maxRetries=1)
    project.stories("One", {"title": "Two", "dependsOn": ["US-001"]}, "Three")
    project.script({"match": "ID:.. US-001", "say": ["<ralph>BLOCKED</ralph> no"]}, does("US-003", "3.txt"))

    done = project.ralph("run", "auth", "--jobs", "2", code=3)

    assert landed(project) == ["auth/US-003/1"]
    assert "US-001" in done.stdout
    project.script(does("US-001", "1.txt"), does("US-002", "2.txt"), VERIFIED)
    assert "Reset US-001" in project.ralph("retry", "auth").stdout
    assert project.git("branch", "--list", "ralph/auth", "--format=%(worktreepath)") == "", "it is let go again"
    project.ralph("run", "auth", "--jobs", "2")
    assert landed(project)[1:] == ["auth/US-001/2", "auth/US-002/1"]


def test_state_that_is_not_to_be_committed_stays_beside_the_branch(project: Project) -> None:
    project.config("true", commits={"prdChanges": False})
    project.stories("One", "Two")
    project.script(does("US-001", "1.txt"), does("US-002", "2.txt"), VERIFIED)

    project.ralph("run", "auth", "--jobs", "2")

    assert {"1.txt", "2.txt"} <= set(project.files_in("ralph/auth"))
    assert not [name for name in project.files_in("ralph/auth") if name.startswith(".ralph/")]
    assert all(story["passes"] for story in project.plan()["userStories"])
    assert "2/2 passed" in project.ralph("status", "auth").stdout
    project.git("switch", "-q", "ralph/auth")  # it was let go
    project.git("switch", "-q", "main")
    calls = project.calls()
    project.ralph("run", "auth")
    assert project.calls() == calls, "all of it is done and verified"


def test_a_project_in_a_subfolder(project: Project) -> None:
    top = project.path
    project.path = top / "part/one"
    project.write("here.txt", "here\n")
    project.config("test -f here.txt")
    project.stories("One", "Two")
    project.git("add", "-A")
    project.git("commit", "-qm", "Plan")
    project.script(does("US-001", "1.txt"), does("US-002", "2.txt"), VERIFIED)

    project.ralph("run", "auth", "--jobs", "2")

    assert project.git("ls-tree", "-r", "--name-only", "ralph/auth", "1.txt", "2.txt").split() == ["1.txt", "2.txt"]
    assert project.git("ls-tree", "-r", "--name-only", "main", "1.txt") == ""
    assert len(landed(project)) == 2


def test_submodules_are_there_in_every_copy_and_what_an_agent_does_in_them_is_told(project: Project) -> None:
    library = project.folder / "library"
    shutil.copytree(project.path, library)
    allow = ("-c", "protocol.file.allow=always")
    project.git(*allow, "submodule", "--quiet", "add", str(library), "lib")
    project.git("commit", "-qm", "A library")
    project.config("test -f lib/app.txt && ! grep -q evil lib/app.txt")
    project.stories("One", "Two")
    project.script(
        does("US-001", "1.txt"),
        does("US-002", "2.txt", run=["echo evil > lib/app.txt; cd lib; git commit -qam e"]),
        VERIFIED,
    )

    done = project.ralph("run", "auth", "--jobs", "2")

    assert len(landed(project)) == 2
    assert "lib" in done.stdout and "submodule" in done.stdout
    assert project.git("rev-parse", "ralph/auth:lib") == project.git("rev-parse", "main:lib")
    assert project.read("lib/app.txt") == "app\n"


@pytest.mark.parametrize("first", [(), ("--jobs", "2")])
def test_side_by_side_after_a_killed_run_one_by_one_and_the_other_way_round(
    project: Project, first: tuple[str, ...]
) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.git("add", "-A")
    project.git("commit", "-qm", "Plan")
    begun = "touch $RALPH_ROOT/../begun"
    project.script(
        {"match": "ID:.. US-001", "times": 1, "write": {"half.txt": "x"}, "run": [begun], "sleep": 60},
        does("US-001", "1.txt"),
        does("US-002", "2.txt"),
        VERIFIED,
    )
    run = project.start("run", "auth", *first)
    wait_for((project.folder / "begun").exists)
    if first:
        wait_for(lambda: landed(project))
    run.kill()
    run.communicate()

    project.ralph("run", "auth", *(() if first else ("--jobs", "2")))

    assert {"1.txt", "2.txt"} <= set(project.files_in("ralph/auth"))
    assert all(story["passes"] for story in project.plan_at("ralph/auth")["userStories"])
    assert "half.txt" in project.files_in("refs/ralph/attempts/auth/US-001/1")


CLAUDE = r"""#!/bin/sh
case "$(cat)" in *"Final Verification"*) word=VERIFIED ;; *) word=DONE ;; esac
if [ "$word" = DONE ] && mkdir "__HERE__/limited-$RALPH_TASK" 2>/dev/null; then
    until [ "$(ls -d __HERE__/limited-* | wc -l)" = 3 ]; do sleep 0.02; done
    echo '{"type": "result", "is_error": true, "result": "Claude AI usage limit reached|1000000000"}'
    exit 1
fi
echo x > "$RALPH_TASK.txt"
echo '{"type": "assistant", "message": {"content": [{"type": "text", "text": "<ralph>'$word'</ralph>"}]}}'
echo '{"type": "result", "is_error": false, "result": ""}'
"""


def test_a_usage_limit_that_three_meet_is_waited_for_once(project: Project) -> None:
    claude = project.folder / "claude"
    claude.write_text(CLAUDE.replace("__HERE__", str(project.folder)))
    claude.chmod(0o755)
    project.config("true", provider={"command": str(claude), "args": [], "dialect": "claude"})
    project.stories("One", "Two", "Three")

    project.ralph("run", "auth", "--jobs", "3", code=None)

    assert len(project.events("waited")) == 1
    verdicts = [event["verdict"] for event in project.events("attempt_ended") if event["work"] != "final"]
    assert verdicts == ["passed"] * 3, "each waits within its attempt"
    assert [story["retries"] for story in project.plan_at("ralph/auth")["userStories"]] == [0, 0, 0]
    assert len(landed(project)) == 3
