"""R3.16, R3.17: a person's work is sacred, and every odd repository gets a clear word or simply works."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for


@pytest.fixture
def ready(project: Project) -> Project:
    project.config("true")
    project.git("add", "ralph.config.json")
    project.git("commit", "-qm", "Configure")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    return project


def test_modified_files_stop_the_run_and_stay_as_they_are(ready: Project) -> None:
    ready.write("app.txt", "a person's change\n")

    done = ready.ralph("run", "auth", code=1)

    assert "uncommitted changes that are not Ralph's" in done.stderr
    assert "app.txt" in done.stderr
    assert "--worktree" in done.stderr
    assert ready.read("app.txt") == "a person's change\n"
    assert ready.git("branch", "--show-current") == "main"
    assert ready.calls() == 0


def test_staged_files_stop_the_run_and_stay_staged(ready: Project) -> None:
    ready.write("new.txt", "staged\n")
    ready.git("add", "new.txt")

    assert "new.txt" in ready.ralph("run", "auth", code=1).stderr

    assert "A  new.txt" in ready.status()


def test_in_a_worktree_a_persons_checkout_is_not_touched(ready: Project) -> None:
    ready.write("app.txt", "a person's change\n")
    ready.write("new.txt", "staged\n")
    ready.git("add", "new.txt")
    before = ready.status(), ready.git("rev-parse", "HEAD")

    ready.ralph("run", "auth", "--worktree")

    assert (ready.status(), ready.git("rev-parse", "HEAD")) == before
    assert ready.git("branch", "--show-current") == "main"
    assert "one.txt" in ready.files_in("ralph/auth")
    assert "new.txt" not in ready.files_in("ralph/auth")
    assert "[██████████] 1/1 passed, verified" in ready.ralph("status").stdout
    assert "complete" in ready.ralph("run", "auth", "--worktree").stdout


def test_untracked_files_do_not_stop_it_and_reach_no_commit_even_through_add_all(ready: Project) -> None:
    names = ["notes.txt", "sp ace.txt", "ünï.txt", "-dash.txt", "*.star", "dir/inner.txt", "tail ", "br[a]cket"]
    for name in names:
        ready.write(name, f"a person's {name}\n")
    ready.script(
        does("US-001", "one.txt", run=["echo 1 > two.txt; git add -A; git commit -qm 'feat: all of it'"]), VERIFIED
    )

    ready.ralph("run", "auth")

    files = ready.git("ls-tree", "-r", "-z", "--name-only", "ralph/auth").split("\0")
    assert "two.txt" in files
    assert not set(names) & set(files)
    for name in names:
        assert ready.read(name) == f"a person's {name}\n"
    assert "ralph" not in (ready.path / ".git/info/exclude").read_text(), "the shield is down again"


def test_even_a_forced_add_of_a_persons_file_is_taken_back(ready: Project) -> None:
    ready.write("secret.txt", "a person's\n")
    ready.script(
        does("US-001", "one.txt", times=1, run=["git add -f secret.txt one.txt; git commit -qm 'feat: swept'"]),
        does("US-001", "two.txt"),
        VERIFIED,
    )

    done = ready.ralph("run", "auth")

    assert "committed files that are not its own: secret.txt" in done.stdout
    assert "secret.txt" not in ready.files_in("ralph/auth")
    assert ready.read("secret.txt") == "a person's\n"
    assert "secret.txt" in ready.prompts()[1], "the reason is in the next prompt"


def test_what_a_gate_makes_is_not_taken_for_the_agents_work(project: Project) -> None:
    project.config("echo x > report.out; test -f good.txt")
    project.stories("One")
    project.script(does("US-001", "bad.txt", times=1), does("US-001", "good.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert "report.out" not in project.files_in("ralph/auth")
    assert project.exists("report.out")


def test_what_the_final_suite_makes_is_not_blamed_on_the_reviewer(project: Project) -> None:
    project.config("true", verify={"ui": ["echo x > report.out"]})
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "must not" not in done.stdout
    assert project.exists("report.out")


def test_a_file_that_a_gate_reformats_is_committed_with_the_story(project: Project) -> None:
    project.config("sed -i s/x/formatted/ one.txt 2>/dev/null; true")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert project.git("show", "ralph/auth:one.txt") == "formatted"
    assert project.status() == ["?? ralph.config.json"]


def test_a_repository_without_commits_gets_a_clear_word(project: Project) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=project.path, check=True)
    project.git("init", "-q")
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"))

    done = project.ralph("run", "auth", code=1)

    assert "no commits yet" in done.stderr
    assert "git commit" in done.stderr


def test_no_repository_at_all_gets_a_clear_word(project: Project) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=project.path, check=True)
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"))

    assert "not in a git work tree" in project.ralph("run", "auth", code=1).stderr


def test_on_a_detached_head_the_branch_begins_there(ready: Project) -> None:
    ready.git("checkout", "-q", "--detach")

    ready.ralph("run", "auth")

    assert "one.txt" in ready.files_in("ralph/auth")


def test_without_user_name_commits_are_made_as_ralph(ready: Project) -> None:
    (ready.home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")

    done = ready.ralph("run", "auth")

    assert "git has no user.name" in done.stdout
    assert "one.txt" in ready.files_in("ralph/auth")
    assert ready.git("log", "-1", "--format=%an", "ralph/auth") == "Ralph"


def test_hooks_that_fail_do_not_stop_state_commits_but_are_a_red_gate_for_work(ready: Project) -> None:
    hook = ready.path / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ntest ! -f left.txt || { echo 'hook: no left.txt please'; exit 1; }\n")
    hook.chmod(0o755)
    ready.script(
        {"match": "ID:.. US-001", "times": 1, "write": {"left.txt": "x"}, "done": True},
        {"match": "ID:.. US-001", "delete": ["left.txt"], "write": {"right.txt": "x"}, "done": True},
        VERIFIED,
    )

    done = ready.ralph("run", "auth")

    assert "A git hook refused the commit" in done.stdout
    assert "hook: no left.txt please" in ready.prompts()[1]
    assert "right.txt" in ready.files_in("ralph/auth")
    assert "left.txt" not in ready.files_in("ralph/auth")


def test_hooks_that_always_fail_leave_state_commits_alone(ready: Project) -> None:
    for name in ("pre-commit", "commit-msg", "post-checkout", "prepare-commit-msg"):
        hook = ready.path / f".git/hooks/{name}"
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    agent = does(
        "US-001",
        "one.txt",
        run=["git add one.txt && git commit -q --no-verify -m x", "git -c core.hooksPath=/x commit -qm x"],
    )
    ready.script(agent, VERIFIED)

    ready.ralph("run", "auth")

    assert "chore: update prd.json" in ready.subjects()


def test_a_repository_with_a_submodule_simply_works(ready: Project) -> None:
    library = ready.folder / "library"
    library.mkdir()
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "lib"]):
        subprocess.run(["git", *args], cwd=library, env=ready.env, check=True)
    ready.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    ready.git("commit", "-qm", "Add lib")
    (ready.path / "lib/wip.txt").write_text("a person's work in the submodule\n")

    ready.ralph("run", "auth")

    assert "one.txt" in ready.files_in("ralph/auth")
    assert (ready.path / "lib/wip.txt").exists()


def test_a_project_in_a_subfolder_of_the_repository_works(project: Project) -> None:
    inner = Project.__new__(Project)
    inner.__dict__.update(project.__dict__)
    inner.path = project.path / "packages/web"
    inner.path.mkdir(parents=True)
    inner.config("test -f one.txt")
    inner.stories("One")
    inner.script(
        does("US-001", "one.txt", times=1, delete=[".ralph/2026-01-01-auth/prd.json"]), does("US-001", "b"), VERIFIED
    )

    done = inner.ralph("run", "auth")

    assert "it changed Ralph's own files" in done.stdout
    assert "packages/web/one.txt" in project.files_in("ralph/auth")
    assert "packages/web/.ralph/2026-01-01-auth/prd.json" in project.files_in("ralph/auth")
    assert "1/1 passed, verified" in inner.ralph("status", "auth").stdout


def test_state_commits_are_path_only_and_can_be_switched_off(project: Project) -> None:
    project.config("true", commits={"prdChanges": False})
    project.git("add", "ralph.config.json")
    project.git("commit", "-qm", "Configure")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert project.subjects() == ["feat: US-001 - done", "Configure", "A project"]
    assert project.story()["passes"] is True
    project.ralph("run", "auth")


def test_another_branch_on_main_still_shows_the_features_truth(ready: Project) -> None:
    ready.ralph("run", "auth")
    ready.git("switch", "-q", "main")

    assert not ready.exists(".ralph/2026-01-01-auth/prd.json")
    assert "1/1 passed, verified" in ready.ralph("status", "auth").stdout
    assert json.loads(ready.ralph("next", "--json").stdout) == [
        {"target": "auth", "workflow": "feature", "state": "done", "next": None}
    ]
    assert "complete" in ready.ralph("run", "auth").stdout


def test_two_features_one_after_the_other_each_keep_their_unfinished_work(project: Project) -> None:
    project.config("! test -f half.txt")
    project.git("add", "ralph.config.json")
    project.git("commit", "-qm", "Configure")
    project.stories("One")
    project.stories("Other", feature="billing")
    project.script({"match": "ID:.. US-001", "times": 1, "write": {"half.txt": "h"}, "done": True})
    project.ralph("run", "auth", "--once", code=3)
    assert project.exists("half.txt")

    project.script(does("US-001", "bill.txt"), VERIFIED)
    project.ralph("run", "billing")
    assert not project.exists("half.txt"), "auth's half-done work made room"
    assert "half.txt" not in project.files_in("ralph/billing")

    project.script(
        {"match": "ID:.. US-001", "delete": ["half.txt"], "write": {"full.txt": "f"}, "done": True}, VERIFIED
    )
    project.ralph("run", "auth")
    assert "full.txt" in project.files_in("ralph/auth")
    assert "bill.txt" not in project.files_in("ralph/auth")


def test_never_a_push_a_merge_or_a_force(ready: Project) -> None:
    remote = ready.folder / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], env=ready.env, check=True)
    ready.git("remote", "add", "origin", str(remote))
    main = ready.git("rev-parse", "main")

    ready.ralph("run", "auth")

    assert ready.git("rev-parse", "main") == main
    assert ready.git("ls-remote", "origin") == ""


def test_a_plan_cannot_send_ralph_to_a_persons_branch(ready: Project) -> None:
    ready.stories("One", branchName="main")
    before = ready.git("rev-parse", "main")

    assert "Ralph works only on branches of its own" in ready.ralph("run", "auth", code=1).stderr

    assert ready.git("rev-parse", "main") == before


def test_a_file_that_a_person_makes_after_a_review_was_killed_stays(ready: Project) -> None:
    slow = {**VERIFIED, "times": 1, "run": ["echo x > looking"], "sleep": 60}
    ready.script(does("US-001", "one.txt"), slow, VERIFIED)
    running = ready.start("run", "auth")
    wait_for(lambda: ready.exists("looking"))
    running.kill()
    running.communicate()
    ready.write("mine.txt", "a person's\n")

    ready.ralph("run", "auth")

    assert ready.read("mine.txt") == "a person's\n"
    assert "mine.txt" not in ready.files_in("ralph/auth")
