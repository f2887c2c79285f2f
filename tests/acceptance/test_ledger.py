"""RX.6: an agent that reaches into the person's own repository changes nothing there, and the person may go on."""

from __future__ import annotations

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for

REACHES = {
    "a hook": ("cd $RALPH_ROOT/.git/hooks; printf '#!/bin/sh\\ntouch $HOME/owned' > post-commit; chmod +x post-commit"),
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
}


def repository(project: Project) -> tuple[object, ...]:
    git = project.path / ".git"
    watched = [*(git / "hooks").iterdir(), git / "config", *(git / "info").iterdir(), git / "objects/info/alternates"]
    own = ("refs/ralph", "refs/heads/ralph")
    refs = [line for line in project.git("for-each-ref").splitlines() if not any(name in line for name in own)]
    return refs, {str(path): path.read_bytes() for path in watched if path.is_file()}


@pytest.mark.parametrize("reach", REACHES)
def test_what_an_agent_does_to_the_person_s_repository_is_undone_and_costs_the_attempt(
    project: Project, reach: str
) -> None:
    project.config("true")
    project.stories("One")
    project.git("branch", "side")
    project.git("commit", "-q", "--allow-empty", "-m", "Later")
    project.git("tag", "v1")
    project.write("app.txt", "half done\n")
    project.git("stash", "-q")
    before = repository(project)
    project.script(does("US-001", "evil.txt", times=1, run=[REACHES[reach]]), does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert repository(project) == before
    assert "did what it must not" in done.stdout
    assert project.story()["retries"] == 1
    assert not (project.home / "owned").exists()


def test_what_the_person_does_meanwhile_stays_and_nobody_is_blamed(project: Project) -> None:
    project.config("true")
    project.stories("One")
    project.git("branch", "merged")
    project.script(
        does("US-001", "one.txt", run=["touch $HOME/begun; until test -e $HOME/go; do sleep 0.02; done"]), VERIFIED
    )
    run = project.start("run", "auth")
    wait_for((project.home / "begun").exists)
    project.write("app.txt", "mine\n")
    project.git("commit", "-qam", "Mine")
    project.git("switch", "-qc", "feature")
    project.git("config", "branch.feature.remote", "origin")
    project.git("commit", "-q", "--allow-empty", "-m", "More")
    project.git("branch", "-D", "merged")
    project.git("tag", "v2")
    project.write("app.txt", "stashed\n")
    project.git("stash", "-q")
    mine = project.git("for-each-ref", "refs/heads/main", "refs/heads/feature", "refs/tags", "refs/stash")
    (project.home / "go").touch()
    out, _ = run.communicate(timeout=60)

    assert run.returncode == 0, out
    assert project.git("for-each-ref", "refs/heads/main", "refs/heads/feature", "refs/tags", "refs/stash") == mine
    assert project.git("branch", "--list", "merged") == ""
    assert project.git("branch", "--show-current") == "feature"
    assert project.story()["retries"] == 0
