"""RX.6: an agent that reaches into the person's own repository changes nothing there, and the person may go on."""

from __future__ import annotations

import subprocess

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for

REACHES = {
    "a hook": ("cd $RALPH_ROOT/.git/hooks; printf '#!/bin/sh\\ntouch $HOME/owned' > post-commit; chmod +x post-commit"),
    "hooks behind a link": (
        "mkdir $HOME/evil; cd $RALPH_ROOT/.git; mv hooks $HOME/old; ln -s $HOME/evil hooks; touch hooks/post-checkout"
    ),
    "all that was there, behind a link": "cd $RALPH_ROOT/.git; mv info $HOME/old; ln -s $HOME/old info",
    "settings behind a link": "cd $RALPH_ROOT/.git; mv config $HOME/old; ln -s $HOME/old config",
    "HEAD": "rm $RALPH_ROOT/.git/HEAD",
    "HEAD, unreadable": "echo evil > $RALPH_ROOT/.git/HEAD",
    "packed refs, unreadable": "echo evil >> $RALPH_ROOT/.git/packed-refs",
    "a branch that is none": "cd $RALPH_ROOT/.git/refs/heads; echo evil > evil; : > empty; echo evil > ralph/evil",
    "a finished feature's branch": "git -C $RALPH_ROOT branch -D ralph/old",
    "sshCommand": "git -C $RALPH_ROOT config core.sshCommand evil",
    "hooksPath": "git -C $RALPH_ROOT config core.hooksPath /tmp/evil",
    "exclude": "echo '*.py' >> $RALPH_ROOT/.git/info/exclude",
    "attributes": "echo '* filter=evil' > $RALPH_ROOT/.git/info/attributes",
    "alternates": "echo /tmp/evil > $RALPH_ROOT/.git/objects/info/alternates",
    "a branch": "git -C $RALPH_ROOT branch -D side",
    "another branch's tip": "git -C $RALPH_ROOT update-ref refs/heads/side refs/heads/main",
    "a tag": "git -C $RALPH_ROOT tag -d v1",
    "the stash": "git -C $RALPH_ROOT stash drop -q",
    "main": (
        "git -C $RALPH_ROOT update-ref refs/heads/main $(git -C $RALPH_ROOT commit-tree -m evil -p main main^{tree})"
    ),
    "a new branch": "git -C $RALPH_ROOT branch planted",
    "a branch, from git's own folder": "cd $RALPH_ROOT/.git && git branch -D side",
    "a branch, by git's variable": "GIT_DIR=$RALPH_ROOT/.git git branch -D side",
    "a branch, by a relative path": "cd .. && GIT_DIR=../../../.git git branch -D side",
    "a branch, under another address": "env -u GIT_COMMITTER_EMAIL git -C $RALPH_ROOT update-ref refs/heads/side main",
    "a branch, by an option": "git --git-dir=$RALPH_ROOT/.git branch -D side",
    "a branch, without git": "rm $RALPH_ROOT/.git/refs/heads/side",
    "a branch's tip, without git": (
        "git -C $RALPH_ROOT rev-parse main > side; mv side $RALPH_ROOT/.git/refs/heads/side; git checkout -q ."
    ),
    "a remote's branch": "git -C $RALPH_ROOT update-ref refs/remotes/origin/main refs/heads/side",
    "a note": "git -C $RALPH_ROOT notes add -m evil",
    "a replaced object": "git -C $RALPH_ROOT replace main side",
    "a branch as a second name of another": "git -C $RALPH_ROOT symbolic-ref refs/heads/side refs/heads/main",
    "a branch as a second name, without git": "echo ref: refs/heads/main > $RALPH_ROOT/.git/refs/heads/side",
    "Ralph's branch as a second name of main": "git -C $RALPH_ROOT symbolic-ref refs/heads/ralph/auth refs/heads/main",
    "an attempt as a second name of main": (
        "a=$RALPH_ROOT/.git/refs/ralph/attempts/auth/US-001; mkdir -p $a; cd $a;"
        "for n in 1 2 3; do echo ref: refs/heads/main > $n; done"
    ),
    "Ralph's branches by a link": "cd $RALPH_ROOT/.git/refs/heads; mv ralph ..; ln -s . ralph",
    "a submodule's hook": "cd $RALPH_ROOT/.git/modules/sub/hooks; echo evil > post-checkout; chmod +x post-checkout",
    "a submodule's setting": "git -C $RALPH_ROOT/sub config core.fsmonitor evil",
    "a person's name": "git -C $RALPH_ROOT config user.name Nobody",
    "a setting on the section's line": "echo '[user] x = 1\n[core] sshCommand = evil' >> $RALPH_ROOT/.git/config",
    "a setting behind a continued one": (
        "printf '[user]\\nx = 1\\\\\\n[core]\\nfsmonitor = evil' >> $RALPH_ROOT/.git/config"
    ),
}


def repository(project: Project) -> tuple[object, ...]:
    git = project.path / ".git"
    watched = [git / "HEAD", git / "objects/info/alternates", *(git / "refs/heads").iterdir()]
    for place in (git, *(git / "modules").glob("*")):
        watched += [*(place / "hooks").iterdir(), place / "config", *(place / "info").iterdir()]
    own = ("refs/ralph", "refs/heads/ralph/auth", "refs/notes/ralph")
    listed = project.git("for-each-ref", "--format=%(objectname) %(refname) %(symref)").splitlines()
    refs = [line.strip() for line in listed if not any(name in line.split()[1] for name in own)]
    files = {str(path): path.read_bytes() for path in watched if path.is_file()}
    return refs, files, [path for path in git.rglob("*") if path.is_symlink()]


def begin(project: Project) -> None:
    """A repository that has something of everything."""
    for sample in project.path.glob(".git/hooks/*.sample"):
        sample.unlink()
    project.config("true")
    project.stories("One")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.", "sub")
    project.git("commit", "-qm", "Submodule")
    project.git("branch", "side")
    project.git("branch", "ralph/old")
    project.git("commit", "-q", "--allow-empty", "-m", "Later")
    project.git("tag", "v1")


@pytest.mark.parametrize("reach", REACHES)
def test_what_an_agent_does_to_the_person_s_repository_is_undone_and_costs_the_attempt(
    project: Project, reach: str
) -> None:
    begin(project)
    project.write("app.txt", "half done\n")
    project.git("stash", "-q")
    before = repository(project)
    project.script(does("US-001", "evil.txt", times=1, run=[REACHES[reach]]), does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert repository(project) == before
    assert "broke the rules" in done.stdout
    assert "could not" not in done.stdout
    assert project.story()["retries"] == 1
    assert not (project.home / "owned").exists()
    assert not project.git("for-each-ref", "--format=%(symref)", "refs/ralph", "refs/heads/ralph").strip()


SWITCHES = {
    "a new branch": ("git checkout -q -b feature/x", "from main to feature/x", "git switch main"),
    "an old branch": ("git stash -q; git switch -q side", "from main to side", "git switch main"),
    "no branch": ("git checkout -q --detach", "from main to", "git switch main"),
    "a link": ("git symbolic-ref HEAD refs/heads/side", "from main to side", "git switch main"),
    "a stash": ("git stash -q", "it stashed your changes", "git stash pop"),
    "fewer files": (
        "git stash -q; git sparse-checkout set --no-cone /nothing", "which files", "git sparse-checkout disable"
    ),
}  # fmt: skip


@pytest.mark.parametrize("switch", SWITCHES)
def test_what_is_checked_out_is_never_half_undone(project: Project, switch: str) -> None:
    """The attempt fails, and the command in the message brings everything back."""
    project.config("true")
    project.stories("One")
    project.git("branch", "side")
    project.write("app.txt", "half done\n")
    command, what, remedy = SWITCHES[switch]
    project.script(
        does("US-001", "a.txt", times=1, run=[f"cd $RALPH_ROOT; {command}"]), does("US-001", "one.txt"), VERIFIED
    )

    done = project.ralph("run", "auth")

    said = " ".join(done.stdout.split())
    assert what in said
    assert remedy in said
    assert project.story()["retries"] == 1
    assert "No commits yet" not in project.git("status")
    subprocess.run(remedy.split(), cwd=project.path, env=project.env, check=True, capture_output=True)
    if "stash" in command and remedy != "git stash pop":
        project.git("stash", "pop")
    assert project.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert (project.path / "app.txt").read_text() == "half done\n"


def test_every_command_that_puts_something_right_is_said_however_much_there_is(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.write("app.txt", "half done\n")
    much = "cd $RALPH_ROOT; git stash -q; git checkout -q -b feature/x; for n in 1 2 3 4 5; do git tag tag-$n; done"
    project.script(does("US-001", "a.txt", times=1, run=[much]), does("US-001", "one.txt"), VERIFIED)

    said = " ".join(project.ralph("run", "auth").stdout.split())

    assert "run `git switch main`" in said
    assert "run `git stash pop`" in said


def test_a_commit_in_the_person_s_checkout_is_taken_off_and_the_message_says_where_it_is(project: Project) -> None:
    project.config("true")
    project.stories("One")
    main = project.git("rev-parse", "main")
    commit = "cd $RALPH_ROOT; echo z > z; git add z; git commit -qm z; git rev-parse HEAD > $HOME/made"
    project.script(does("US-001", "a.txt", times=1, run=[commit]), does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    made = (project.home / "made").read_text()[:12]
    assert project.git("rev-parse", "main") == main
    assert f"it moved main (its commit is kept in refs/ralph/strays/{made})" in " ".join(done.stdout.split())
    assert project.git("show", f"refs/ralph/strays/{made}:z") == "z"


MEANWHILE = {
    "stash": "echo x > app.txt; git stash -q; echo y > app.txt; git stash -q",
    "stash drop": "git stash drop -q",
    "stash pop": "git stash pop -q; git checkout -q .",
    "branch -D": "git branch -D side",
    "branch -m": "git branch -m side other",
    "branch -f": "git branch -f side HEAD",
    "tag -d": "git tag -d v1",
    "amend": "git commit -q --amend --allow-empty -m Amended",
    "reset": "git reset -q --hard HEAD~1",
    "config": "git config user.name Me; git config maintenance.auto false; git config pull.rebase true",
    "remote": "git remote add origin ../nowhere; git config branch.main.remote origin",
    "submodule": "git -c protocol.file.allow=always submodule --quiet add ./. another",
    "submodule deinit": "git submodule --quiet deinit -f sub",
    "sparse-checkout": "git sparse-checkout set --cone .; git sparse-checkout disable",
    "sparse-checkout set": "git sparse-checkout set --no-cone '/*'",
    "fetch": "git remote add origin ../other; git fetch -q origin; git remote set-head origin main",
    "fetch --depth": "git fetch -q --depth=1 file://$PWD/../other main",
    "notes": "git notes add -m note",
    "replace": "git replace main side",
    "bisect": "git bisect start -q main side; git bisect good",
    "detach": "git checkout -q --detach",
    "switch": "git switch -q -c mine",
    "gc": "git gc -q --prune=now; git update-server-info; git count-objects",
    "pack-refs": "git pack-refs --all; git reflog expire --expire=now --all",
    "worktree": "git worktree add -q ../wt -b wt; git -C ../wt commit -q --allow-empty -m There",
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_the_person_does_meanwhile_stays_and_nobody_is_blamed(project: Project, what: str) -> None:
    begin(project)
    project.git("clone", "-q", "--bare", ".", "../other")
    for text in ("one", "two"):
        project.write("app.txt", text)
        project.git("stash", "-q")
    look = "git -C $RALPH_ROOT status; git -C $RALPH_ROOT log -1; git --version"  # it may well do that
    wait = "touch $HOME/begun; until test -e $HOME/go; do sleep 0.02; done"
    project.script(does("US-001", "one.txt", run=[look, wait]), VERIFIED)
    run = project.start("run", "auth")
    wait_for((project.home / "begun").exists)
    subprocess.run(["sh", "-ec", MEANWHILE[what]], cwd=project.path, env=project.env, check=True, capture_output=True)
    mine = repository(project)
    (project.home / "go").touch()
    out, _ = run.communicate(timeout=60)

    assert run.returncode == 0, out
    assert "must not" not in out and "broke the rules" not in out
    assert repository(project) == mine
    assert project.story()["retries"] == 0


def test_a_branch_that_was_removed_meanwhile_can_be_had_back(project: Project) -> None:
    """Whoever hides from git's trace is not found out; the person is told, and nothing is lost."""
    project.config("true")
    project.stories("One")
    project.git("branch", "side")
    side = project.git("rev-parse", "side")
    remove = "env -i PATH=$PATH git -C $RALPH_ROOT branch -D side"
    project.script(does("US-001", "one.txt", run=[remove]), VERIFIED)

    done = project.ralph("run", "auth")

    assert f"if you did not do this: git update-ref refs/heads/side {side[:12]}" in " ".join(done.stdout.split())
    assert side in project.git("for-each-ref", "--format=%(objectname)", "refs/ralph")


def test_a_planning_call_that_reaches_into_the_person_s_repository_is_found_out(project: Project) -> None:
    project.config("true")
    project.git("branch", "side")
    before = repository(project)
    project.script({"match": ".", "run": ["git -C $RALPH_ROOT branch -D side"], "say": ["done"]})

    done = project.ralph("prd", "shop", "--yes", code=None, stdin="A shop\n")

    assert repository(project) == before
    assert "it removed side" in done.stdout + done.stderr


def test_a_second_name_for_main_that_nobody_saw_made_never_moves_main(project: Project) -> None:
    """It may have been there before the run: what Ralph writes replaces it, and main stays."""
    project.config("test -f two.txt")
    project.stories("One")
    main = project.git("rev-parse", "main")
    for ref in ("heads/ralph/auth", *(f"ralph/attempts/auth/US-001/{n}" for n in range(1, 5))):
        project.git("symbolic-ref", f"refs/{ref}", "refs/heads/main")
    project.script(does("US-001", "one.txt", times=1), does("US-001", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert project.git("rev-parse", "main") == main
    assert "Another process moved ralph/auth" in done.stdout
    assert project.landed("two.txt") == "x"
    assert not project.git("for-each-ref", "--format=%(symref)", "refs/heads/ralph").strip()
