"""An agent or a gate that reaches for Ralph's own folders harms nobody's checkout and turns no verdict green."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.test_ledger import repository
from tests.conftest import VERIFIED, Project, does


def in_a_clone(project: Project, command: str, branch: str = "ralph/auth") -> int:
    """What a gate says of the branch where nothing of Ralph's is."""
    clone = project.folder / "clone"
    subprocess.run(["git", "clone", "-q", "-b", branch, project.path, clone], env=project.env, check=True)
    return subprocess.run(["sh", "-c", command], cwd=clone, env=project.env).returncode


REPLACED = {
    "the slot": "cd ..; mv 1 1.old; ln -s ../../.. 1",
    "its parent": "cd ../..; mv .slots old; ln -s ../.. .slots; mkdir -p ../1",
    "all working copies": "cd ../../..; mv worktrees old; ln -s .. worktrees",
    "the logs": "cd ../../..; mv logs old; ln -s .. logs",
    "its index": "rm ../1.index; ln -s ../../../.git/index ../1.index",
    "its index, to a file of the person's": "rm ../1.index; ln -s ../../../app.txt ../1.index",
}


@pytest.mark.parametrize("what", REPLACED)
def test_a_link_in_place_of_ralph_s_own_leads_nowhere(project: Project, what: str) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.write("staged.txt", "mine")
    project.git("add", "staged.txt")
    before = repository(project), project.status(), project.read("app.txt")
    project.script(
        does("US-001", "one.txt", times=1, run=[REPLACED[what]]),
        does("US-001", "one.txt"),
        does("US-002", "two.txt"),
        VERIFIED,
    )

    project.ralph("run", "auth", code=None)
    done = project.ralph("run", "auth", code=None)

    assert (repository(project), project.status(), project.read("app.txt")) == before, done.stdout
    assert "complete" in done.stdout


IN_THE_WAY = {
    "a ref named like a folder": "git update-ref refs/ralph/attempts/auth HEAD",
    "a ref named like all of Ralph's": "rm -rf .git/refs/ralph; git rev-parse HEAD > .git/refs/ralph",
    "a file named like a folder": "mkdir -p .git/refs/ralph/attempts; echo x > .git/refs/ralph/attempts/auth",
    "a folder named like a ref": "git update-ref refs/ralph/attempts/auth/US-001/1/x HEAD",
    "a lock": "touch -d 2001-01-01 .git/refs/heads/ralph/auth.lock .git/packed-refs.lock",
    "a folder named like a lock": "cd .git/refs/heads/ralph; mkdir -p auth.lock/x; touch -d 2001-01-01 auth.lock",
}


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_no_ref_and_no_lock_that_an_agent_leaves_stops_a_run(project: Project, what: str) -> None:
    project.config("true")
    project.stories("One")
    plant = f"cd $RALPH_ROOT; {IN_THE_WAY[what]}"
    project.script(does("US-001", "one.txt", times=1, run=[plant]), does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert "one.txt" in project.files_in("ralph/auth")
    assert project.git("for-each-ref", "refs/ralph/attempts/auth/US-001")


@pytest.mark.parametrize("spot", [".ralph/worktrees", ".ralph/worktrees/auth", ".ralph/worktrees/.slots", "verify"])
def test_no_run_and_no_cleaning_reaches_what_a_planted_link_leads_to(project: Project, spot: str) -> None:
    project.config("true")
    project.stories("One")
    mine = project.home / "mine"
    for name in ("auth/a", "1/a", ".slots/1/a", "a"):
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text("mine")
    before = sorted(mine.rglob("*"))
    folder = spot if spot != "verify" else "$HOME/.cache/ralph/*/verify"
    plant = f"cd $RALPH_ROOT; set -- {folder}; mv $1 $HOME/old; ln -s $HOME/mine $1"
    project.script(does("US-001", "one.txt", times=1, run=[plant]), does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth", code=None)
    project.ralph("run", "auth")
    link = next(project.home.glob(".cache/ralph/*")) / "verify" if spot == "verify" else project.path / spot
    subprocess.run(["rm", "-rf", str(link)], check=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(mine)
    project.ralph("clean", "--all", "--force", "--yes")

    assert sorted(mine.rglob("*")) == before
    assert all(path.read_text() == "mine" for path in before if path.is_file())


def test_the_sources_of_a_plan_are_shown_to_the_next_call_whatever_links_the_last_one_left(project: Project) -> None:
    project.config("true")
    project.write("specs/a.md", "# A\n")
    project.write("specs/b.md", "# B\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "Specs")
    project.script(
        {
            "match": "Clarifying Questions",
            "run": ["rm -rf specs; ln -s $RALPH_ROOT/specs specs"],
            "answer": {"questions": []},
        },
        {"match": "Generate PRD", "answer": "# Hello\n\n## User Stories\n\n### US-001 Hello\n- It works\n"},
        {
            "match": "PRD Finalization",
            "answer": {
                "schemaVersion": 2,
                "branchName": "ralph/hello",
                "userStories": [{"id": "US-001", "title": "Hello", "acceptanceCriteria": ["It works"]}],
            },
        },
    )

    project.ralph("prd", "hello", "--yes")

    assert not [line for line in project.status() if "specs" in line]


def test_the_plan_s_worktree_does_not_say_where_ralph_writes(project: Project) -> None:
    project.config("true", commits={"prdChanges": False})
    project.stories("One")
    head = (project.path / ".git/HEAD").read_text()
    project.script(
        does("US-001", "one.txt", run=['echo "gitdir: $RALPH_ROOT/.git" > $RALPH_ROOT/.ralph/worktrees/auth/.git']),
        VERIFIED,
    )

    project.ralph("run", "auth", code=None)

    assert (project.path / ".git/HEAD").read_text() == head


def test_a_gate_that_blinds_ralph_s_index_keeps_no_tampered_check(project: Project) -> None:
    project.write("check.sh", "test ! -f bad\n")
    project.git("add", "check.sh")
    project.git("commit", "-qm", "A check")
    gate = "test ! -f x || sh x || exit 1; sh check.sh"
    project.config(gate)
    project.stories("One")
    blind = (
        "echo exit 0 > check.sh; for i in $PWD/../*.index; do "
        "GIT_DIR=$PWD/.git GIT_WORK_TREE=$PWD GIT_INDEX_FILE=$i git update-index --skip-worktree check.sh; done; exit 1"
    )
    project.script(
        does("US-001", "x", f"{blind}\n", times=1, run=["touch bad; git add bad; git commit -qm bad"]),
        does("US-001", "y", times=1, run=["rm x"]),
        does("US-001", "y", run=["rm -f bad x"]),
        VERIFIED,
    )

    project.ralph("run", "auth")

    assert in_a_clone(project, gate) == 0
    assert "bad" not in project.files_in("ralph/auth")


ABSENT = {
    "an absolute link into the slot": ('mkdir lib; echo ok > lib/m; ln -s "$PWD/lib/m" mod', "grep -q ok mod"),
    "a folder above the slot": (
        "for d in .. ../.. ../../..; do mkdir -p $d/node_modules/leftpad; echo ok > $d/node_modules/leftpad/m; done",
        "d=.; for i in 1 2 3 4 5 6; do test -f $d/node_modules/leftpad/m && exit; d=$d/..; done; exit 1",
    ),
    "the person's own file": (
        "true",
        "d=.; for i in 1 2 3 4 5 6; do test -f $d/config.local.json && exit; d=$d/..; done; exit 1",
    ),
}


@pytest.mark.parametrize("what", ABSENT)
def test_gates_see_nothing_that_a_clone_has_not(project: Project, what: str, tmp_path: Path) -> None:
    work, gate = ABSENT[what]
    project.write(".gitignore", "lib/\nconfig.local.json\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Ignore")
    project.write("config.local.json", "{}")
    project.config(f"test ! -f one.txt || {{ {gate}; }}")
    project.stories("One")
    project.script(does("US-001", "one.txt", run=[work]))

    project.ralph("run", "auth", "--keep-going", code=3)

    assert project.story()["blocked"]


def test_an_agent_that_mends_the_ignore_rules_in_its_second_attempt_is_understood(project: Project) -> None:
    project.write(".gitignore", "lib/\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Ignore")
    project.config("test ! -f one.txt || test -f lib/m.py")
    project.stories("One")
    project.script(
        does("US-001", "one.txt", times=1, run=["mkdir -p lib; echo 1 > lib/m.py"]),
        does("US-001", "two.txt", run=["echo > .gitignore; echo 2 >> lib/m.py"]),
        VERIFIED,
    )

    project.ralph("run", "auth")

    assert "lib/m.py" in project.files_in("ralph/auth")
    assert project.story()["retries"] == 1


def test_other_attributes_write_all_files_of_a_clean_copy_anew(project: Project) -> None:
    gate = r"""! grep -q "$(printf '\r')" s.sh"""
    project.write("s.sh", "echo\n")
    project.git("add", "s.sh")
    project.git("commit", "-qm", "A script")
    project.config(gate)
    project.stories("One")
    project.script(does("US-001", ".gitattributes", "*.sh text eol=crlf\n"))

    project.ralph("run", "auth", code=3)

    assert project.story()["blocked"], "as it would be in a clone"


def test_what_a_hook_does_to_git_s_objects_is_done_to_the_slot_s_own(project: Project) -> None:
    project.write("app.txt", "stashed\n")
    project.git("stash", "-q")
    project.git("branch", "wip")
    project.git("gc", "-q")
    hook = project.path / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\necho formatted > one.txt; git add one.txt; git prune --expire=now; git gc -q --prune=now\n"
    )
    hook.chmod(0o755)
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt", run=["git commit -qm x --no-verify; true"]), VERIFIED)

    project.ralph("run", "auth")

    assert project.landed("one.txt") == "formatted"
    assert "formatted" in project.git("show", "ralph/auth:one.txt")
    project.git("fsck", "--full")


def test_after_a_kill_the_plan_is_the_one_that_ralph_wrote(project: Project) -> None:
    """Also where an agent has put another one on the branch."""
    project.config("test -e app.txt")
    project.stories("One", "Two")
    forge = r"""
cd $RALPH_ROOT/.ralph/worktrees/auth
export GIT_INDEX_FILE=$HOME/forged-index
git read-tree HEAD
sed -i 's/"title": "\(One\|Two\)"/"title": "\1", "passes": true/; s/"passes": false,//' .ralph/*-auth/prd.json
git add -f .ralph/*-auth/prd.json; git commit -qm forged
rm -rf $RALPH_ROOT/.ralph/worktrees/auth
kill -9 $(cat $HOME/pid)
"""
    project.script(
        does("US-001", "one.txt", times=1, run=[forge]), does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED
    )
    run = project.start("run", "auth")
    (project.home / "pid").write_text(str(run.pid))
    run.communicate(timeout=60)
    assert run.returncode == -9

    project.ralph("run", "auth")

    assert {"one.txt", "two.txt"} <= set(project.files_in("ralph/auth"))


def test_a_link_where_undone_files_are_kept_leads_nowhere(project: Project) -> None:
    project.write("check.sh", "exit 0\n")
    project.git("add", "check.sh")
    project.git("commit", "-qm", "A check")
    project.config("sh check.sh", protect=["check.sh"])
    project.stories("One")
    link = "for d in $RALPH_ROOT/.ralph/logs/*/; do ln -s $RALPH_ROOT $d/US-001-1-undone; done"
    project.script(
        does("US-001", "one.txt", times=1, run=["echo evil > check.sh", link]), does("US-001", "one.txt"), VERIFIED
    )

    project.ralph("run", "auth")

    assert project.read("check.sh") == "exit 0\n"


def test_a_plan_that_says_passed_is_proved_though_nothing_tells_of_a_kill(project: Project) -> None:
    """Without a sandbox, an agent that kills Ralph can also remove all that would tell of it."""
    project.config("test ! -e bad.txt")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    plan = next(name for name in project.files_in("ralph/auth") if name.endswith("prd.json"))
    verified = re.search(r'"verifiedCommit": "(\w+)"', project.landed(plan))
    assert verified
    project.git("checkout", "-qf", "ralph/auth")
    project.write("bad.txt", "bad")
    project.git("add", "bad.txt")
    project.git("commit", "-qm", "The agent's work")
    project.write(plan, project.read(plan).replace(verified[1], project.git("rev-parse", "HEAD")))
    project.git("commit", "-qam", "The agent's plan")
    project.git("checkout", "-q", "main")
    for name in (".ralph/run", ".git/ralph", ".ralph/logs"):
        shutil.rmtree(project.path / name, ignore_errors=True)
    for ref in project.git("for-each-ref", "--format=%(refname)", "refs/ralph").split():
        project.git("update-ref", "-d", ref)
    project.script(does("US-001", "one.txt", run=["git rm -q bad.txt; git commit -qm good"]), VERIFIED)

    done = project.ralph("run", "auth")

    assert "Ralph reopened US-001" in done.stdout
    assert "bad.txt" not in project.files_in("ralph/auth")
