"""R3.16, R3.17: a person's work is sacred, and every odd repository gets a clear word or simply works.

Whatever a run does, it does elsewhere: a person's files, index, stash, branches, configuration and ignored files
are afterwards what they were, down to the times at which they were written.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for


@pytest.fixture
def ready(project: Project) -> Project:
    project.config("true")
    project.write(".gitignore", ".env\ndata/\n")
    project.git("add", ".")
    project.git("commit", "-qm", "Configure")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    return project


RUNS = (
    ".ralph/run", ".ralph/logs", ".ralph/worktrees", ".ralph/screenshots", ".ralph/receipts", ".ralph/.gitignore",
    ".ralph/ralph.lock",
)  # fmt: skip
OBJECTS = (
    ".git/objects",
    ".git/modules/lib/objects",
    ".git/ralph",
    ".git/worktrees",
    ".git/refs/ralph",
    ".git/refs/heads/ralph",
    ".git/logs/refs/heads/ralph",
    ".git/refs/notes",
    ".git/logs/refs/notes",
)
ODD_NAMES = ["notes.txt", "sp ace.txt", "ünï.txt", "-dash.txt", "*.star", "dir/inner.txt", "tail ", "br[a]cket"]
RAMPAGE = (
    "echo hacked > .env; mkdir -p data; echo hacked > data/db; echo 2 > two.txt; git add -A; git add -f .env data;"
    "git commit -qm 'feat: all of it'; git stash -q -u; git stash pop -q; git clean -fdxq -e two.txt -e one.txt;"
    "git checkout -q main; git reset -q --hard; echo 1 > one.txt; echo 2 > two.txt; echo hacked > .env;"
    "git config --global user.name Nobody 2>/dev/null; git config core.hooksPath /nowhere; git gc -q --prune=now"
)
"""What an agent might do with git and with files that git ignores, its work being one.txt and two.txt."""


def everything(project: Project) -> dict[str, tuple[bytes, int, int]]:
    """All that is a person's in a project: files of every kind, and git's own without objects and Ralph's refs."""
    found = {}
    for folder, folders, files in os.walk(project.path):
        here = Path(folder).relative_to(project.path)
        folders[:] = [name for name in folders if str(here / name) not in (*RUNS, *OBJECTS)]
        for name in files:
            path = here / name
            if str(path) not in RUNS:
                status = os.lstat(project.path / path)
                found[str(path)] = (project.path / path).read_bytes(), status.st_mode, status.st_mtime_ns
    return found


def dirty(project: Project) -> None:
    """All at once: modified, staged, both, removed, renamed, meant to be added, stashed, untracked, ignored."""
    for name in ("both.txt", "gone.txt", "old.txt", "stashed.txt"):
        project.write(name, f"{name}\n")
    project.git("add", "both.txt", "gone.txt", "old.txt", "stashed.txt")
    project.git("commit", "-qm", "More")
    project.write("stashed.txt", "stashed\n")
    project.git("stash", "-q")
    project.write("both.txt", "staged\n")
    project.write("new.txt", "staged\n")
    project.git("add", "both.txt", "new.txt")
    project.git("mv", "old.txt", "renamed.txt")
    project.write("both.txt", "and changed again\n")
    project.write("app.txt", "a person's change\n")
    (project.path / "gone.txt").unlink()
    project.write("meant.txt", "meant\n")
    project.git("add", "-N", "meant.txt")
    for name in ODD_NAMES:
        project.write(name, f"a person's {name}\n")


def half_merged(project: Project) -> None:
    """In the middle of a merge that conflicts."""
    project.git("switch", "-q", "-c", "other")
    project.write("app.txt", "theirs\n")
    project.git("commit", "-qam", "Theirs")
    project.git("switch", "-q", "main")
    project.write("app.txt", "ours\n")
    project.git("commit", "-qam", "Ours")
    project.git("merge", "-q", "other", check=False)
    assert "UU app.txt" in project.status()


def half_rebased(project: Project) -> None:
    """In the middle of a rebase, on no branch."""
    half_merged(project)
    project.git("merge", "--abort")
    project.git("rebase", "-q", "other", check=False)
    assert "UU app.txt" in project.status()


@pytest.mark.parametrize("state", [dirty, half_merged, half_rebased])
def test_nothing_of_a_persons_is_touched(ready: Project, state: Callable[[Project], None]) -> None:
    state(ready)
    ready.write(".env", "SECRET=1\n")
    ready.write("data/db", "precious\n")
    ready.script(does("US-001", "one.txt", run=[RAMPAGE]), VERIFIED)
    head = ready.git("rev-parse", "HEAD")
    before = everything(ready)

    done = ready.ralph("run", "auth")

    assert everything(ready) == before
    assert ready.git("merge-base", "ralph/auth", "HEAD") == head, "it works on what is committed"
    expected = {*ready.files_in("HEAD"), ".ralph/2026-01-01-auth/prd.json", "one.txt", "two.txt"}
    assert set(ready.files_in("ralph/auth")) == expected
    assert "Not part of the commit: .env (git ignores it), data/ (git ignores it)." in done.stdout
    assert not ready.exists(".git/worktrees"), "the branch is a person's again"


def test_the_worktree_option_is_accepted_and_a_finished_feature_is_shown_from_its_branch(ready: Project) -> None:
    ready.write("app.txt", "a person's change\n")
    before = everything(ready)

    ready.ralph("run", "auth", "--worktree")

    assert everything(ready) == before
    assert "[██████████] 1/1 passed, verified" in ready.ralph("status").stdout
    assert json.loads(ready.ralph("next", "--json").stdout) == [
        {"target": "auth", "workflow": "feature", "accepted": [], "needs": [], "state": "done", "next": None}
    ]
    assert "complete" in ready.ralph("run", "auth", "--worktree").stdout
    assert everything(ready) == before, "also not by looking"


def test_what_a_person_does_during_a_run_is_theirs_and_the_run_goes_on(ready: Project) -> None:
    """They edit, commit, switch branches and stage while an agent works and while gates run."""
    ready.stories("One", "Two")
    begun, go = ready.folder / "begun", ready.folder / "go"
    waits = f"touch {begun}; while ! test -f {go}; do sleep 0.02; done"
    ready.script(does("US-001", "one.txt", run=[waits]), does("US-002", "two.txt"), VERIFIED)
    base = ready.git("rev-parse", "HEAD")
    run = ready.start("run", "auth")
    wait_for(begun.exists)

    ready.write("app.txt", "while it runs\n")
    ready.git("commit", "-qam", "While it runs")
    ready.git("switch", "-q", "-c", "theirs")
    ready.write("one.txt", "a person's one\n")
    ready.write("two.txt", "a person's two\n")
    ready.git("add", "two.txt")
    ready.config("false")
    ready.stories("Something else")
    ready.git("switch", "-q", "ralph/auth", check=False)
    assert ready.git("branch", "--show-current") == "theirs", "git lets nobody have the branch meanwhile"
    before = everything(ready)
    go.touch()

    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0, out
    assert everything(ready) == before
    assert (ready.landed("one.txt"), ready.landed("two.txt"), ready.landed("app.txt")) == ("x", "x", "app")
    assert ready.git("merge-base", "ralph/auth", "theirs") == base
    assert [story["title"] for story in ready.plan_at("ralph/auth")["userStories"]] == ["One", "Two"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_in_a_persons_checkout(ready: Project, end: signal.Signals) -> None:
    """Nor does it take what a person makes afterwards for an agent's."""
    dirty(ready)
    begun = ready.folder / "begun"
    slow = does("US-001", "one.txt", times=1, run=[RAMPAGE, f"touch {begun}", "sleep 60"])
    ready.script(slow, does("US-001", "mine.txt", "an agent's\n"), VERIFIED)
    before = everything(ready)
    run = ready.start("run", "auth")
    wait_for(begun.exists)
    run.send_signal(end)
    run.communicate(timeout=30)
    assert everything(ready) == before
    assert ready.exists(".git/worktrees") == (end is signal.SIGKILL), "a killed run still holds its branch"
    ready.write("mine.txt", "a person's\n")
    before = everything(ready)

    ready.ralph("run", "auth")

    assert everything(ready) == before
    assert not ready.exists(".git/worktrees")
    assert ready.landed("mine.txt") == "an agent's"
    assert {"one.txt", "two.txt"} <= set(ready.files_in("ralph/auth")), "what it had made by then is not lost"


def test_what_a_gate_makes_is_not_taken_for_the_agents_work(project: Project) -> None:
    project.config("echo x > report.out; test -f good.txt")
    project.stories("One")
    project.script(does("US-001", "bad.txt", times=1), does("US-001", "good.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert "report.out" not in project.files_in("ralph/auth")
    assert not project.exists("report.out")


def test_what_the_final_suite_makes_is_not_blamed_on_the_reviewer(project: Project) -> None:
    project.config("true", verify={"ui": ["echo x > report.out"]})
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "must not" not in done.stdout and "broke the rules" not in done.stdout
    assert "report.out" not in project.files_in("ralph/auth")
    assert not project.exists("report.out")


def test_what_lands_is_what_the_agent_wrote_and_the_gates_saw(project: Project) -> None:
    """A gate that formats files formats its own copy; the next one sees the commit again."""
    project.config("sed -i s/x/formatted/ one.txt 2>/dev/null; true", "! grep formatted one.txt")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert project.landed("one.txt") == "x"
    assert project.status() == ["?? .ralph/", "?? ralph.config.json"]


def test_no_ignored_file_of_a_persons_is_overwritten_when_their_branch_follows(project: Project) -> None:
    project.config("true", commits={"branch": "current"})
    project.stories({"title": "One", "may": [".env"]})
    project.write(".gitignore", ".env\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "A plan")
    project.write(".env", "mine\n")
    project.script(does("US-001", ".env", "the agent's\n", run=["rm .gitignore", "git add -A"]), VERIFIED)

    done = project.ralph("run", "auth")

    assert project.read(".env") == "mine\n"
    assert ".env" in project.files_in("ralph/auth")
    assert "could not fast-forward" in done.stdout


def test_a_repository_without_commits_gets_a_clear_word(project: Project) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=project.path, check=True)
    project.git("init", "-q")
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"))

    done = project.ralph("run", "auth", code=1)

    assert "no commits yet" in done.stderr
    assert "git commit" in done.stderr


def test_a_branch_that_leaves_no_room_for_ralph_s_is_named(ready: Project) -> None:
    ready.git("branch", "ralph")

    told = ready.ralph("run", "auth", code=1).stderr

    assert "Git cannot create the branch ralph/auth while the branch ralph exists." in told
    assert "git branch -m ralph ralph-old" in told


def test_no_repository_at_all_gets_a_clear_word(project: Project) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=project.path, check=True)
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"))

    assert "not in a git work tree" in project.ralph("run", "auth", code=1).stderr


def test_on_a_detached_head_the_branch_begins_there(ready: Project) -> None:
    ready.git("checkout", "-q", "--detach")
    before = everything(ready)

    ready.ralph("run", "auth")

    assert "one.txt" in ready.files_in("ralph/auth")
    assert everything(ready) == before


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

    assert "The commit failed in a git hook" in done.stdout
    assert "hook: no left.txt please" in ready.prompts()[1]
    assert "right.txt" in ready.files_in("ralph/auth")
    assert "left.txt" not in ready.files_in("ralph/auth")


def test_hooks_that_always_fail_stop_all_work_and_no_state(ready: Project) -> None:
    """Only those that judge a commit are asked, whatever the agent told git; no other hook of a person's runs."""
    called = ready.folder / "called"
    names = ("pre-commit", "commit-msg", "post-checkout", "reference-transaction", "post-index-change", "pre-push")
    for name in names:
        hook = ready.path / f".git/hooks/{name}"
        hook.write_text(f"#!/bin/sh\necho {name} >> {called}\nexit 1\n")
        hook.chmod(0o755)
    ready.script(does("US-001", "one.txt", run=["git add one.txt && git commit -q --no-verify -m x"]))
    before = everything(ready)

    done = ready.ralph("run", "auth", code=3)

    assert "The commit failed in a git hook" in done.stdout
    assert set(called.read_text().split()) <= {"pre-commit", "post-index-change"}
    assert ready.subjects()[0] == "chore: update prd.json"
    assert "one.txt" not in ready.files_in("ralph/auth")
    assert "one.txt" in ready.files_in("refs/ralph/attempts/auth/US-001/3")
    assert everything(ready) == before


def test_a_repository_with_a_submodule_simply_works(ready: Project) -> None:
    library = ready.folder / "library"
    library.mkdir()
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "lib"]):
        subprocess.run(["git", *args], cwd=library, env=ready.env, check=True)
    ready.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    ready.git("commit", "-qm", "Add lib")
    (ready.path / "lib/wip.txt").write_text("a person's work in the submodule\n")
    before = everything(ready)
    spoil = "echo hacked > lib/wip.txt; git -C lib commit -q --allow-empty -m hacked"
    ready.script(does("US-001", "one.txt", run=[spoil]), VERIFIED)

    ready.ralph("run", "auth")

    assert "one.txt" in ready.files_in("ralph/auth")
    assert ready.git("rev-parse", "ralph/auth:lib") == ready.git("rev-parse", "main:lib")
    assert everything(ready) == before


def test_a_project_in_a_subfolder_of_the_repository_works(project: Project) -> None:
    inner = Project.__new__(Project)
    inner.__dict__.update(project.__dict__)
    inner.path = project.path / "packages/web"
    inner.path.mkdir(parents=True)
    inner.config("test -f one.txt")
    inner.stories("One")
    before = everything(project)
    inner.script(
        does("US-001", "one.txt", times=1, delete=[".ralph/2026-01-01-auth/prd.json"]), does("US-001", "b"), VERIFIED
    )

    done = inner.ralph("run", "auth")

    assert "it changed Ralph's own files" in done.stdout
    assert "packages/web/one.txt" in project.files_in("ralph/auth")
    assert "packages/web/.ralph/2026-01-01-auth/prd.json" in project.files_in("ralph/auth")
    assert "1/1 passed, verified" in inner.ralph("status", "auth").stdout
    ours = tuple(f"packages/web/{name}" for name in RUNS)
    assert {name: value for name, value in everything(project).items() if not name.startswith(ours)} == before


def test_state_commits_are_path_only_and_can_be_switched_off(project: Project) -> None:
    project.config("true", commits={"prdChanges": False})
    project.git("add", "ralph.config.json")
    project.git("commit", "-qm", "Configure")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert project.subjects() == ["feat: US-001 - done", "Configure", "A project"]
    assert project.story()["passes"] is True
    assert "complete" in project.ralph("run", "auth").stdout, "the plan is kept where Ralph keeps it"
    assert project.calls() == 2
    assert project.git("for-each-ref", "--format=%(worktreepath)", "refs/heads/ralph/auth") == "", "and nobody has it"


def test_two_features_one_after_the_other_each_keep_their_unfinished_work(ready: Project) -> None:
    ready.config("! test -f half.txt")
    ready.git("commit", "-qam", "Configure")
    ready.stories("Other", feature="billing")
    ready.script({"match": "ID:.. US-001", "times": 1, "write": {"half.txt": "h"}, "done": True})
    before = everything(ready)
    ready.ralph("run", "auth", "--once", code=3)

    ready.script(does("US-001", "bill.txt"), VERIFIED)
    ready.ralph("run", "billing")
    assert "half.txt" not in ready.files_in("ralph/billing"), "auth's half-done work made room"

    full = {"match": "ID:.. US-001", "run": ["mv half.txt full.txt"], "done": True}
    ready.script(full, VERIFIED)
    ready.ralph("run", "auth")
    assert ready.landed("full.txt") == "h", "and was there again"
    assert "bill.txt" not in ready.files_in("ralph/auth")
    assert everything(ready) == before


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

    assert "Ralph works only on its own branches" in ready.ralph("run", "auth", code=1).stderr

    assert ready.git("rev-parse", "main") == before


@pytest.mark.parametrize(
    "how",
    ["git clean -ffdxq", "git stash -qu", "git checkout -q .", "git reset -q --hard", "git add -A; git commit -qm all"],
)
def test_an_agent_that_tidies_up_with_git_does_not_do_it_to_a_plan_that_is_not_committed_yet(
    project: Project, how: str
) -> None:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt", run=[how, "test -f .ralph/*-auth/prd.json && echo 1 > one.txt"]), VERIFIED)

    project.ralph("run", "auth")

    assert project.calls() == 2, "neither attempt failed"
    assert project.files_in("ralph/auth") == [".ralph/2026-01-01-auth/prd.json", "app.txt", "one.txt"]


FORMATTER = """#!/bin/sh
changed=0
for name in $(git diff --cached --name-only --diff-filter=AM -- '*.txt'); do
    grep -q ' $' "$name" && { sed -i 's/ *$//' "$name"; changed=1; }
done
exit $changed
"""


def hook(project: Project, name: str, text: str) -> None:
    path = project.path / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_a_hook_that_formats_and_refuses_is_asked_again_with_what_it_changed(project: Project) -> None:
    """The way of pre-commit: it changes files and exits with 1. A person stages them and commits again."""
    project.config("test ! -e one.txt || cat one.txt")
    project.stories("One")
    hook(project, "pre-commit", FORMATTER)
    project.script(does("US-001", "one.txt", "trailing   \n", run=["git add -A"]), VERIFIED)

    project.ralph("run", "auth")

    assert project.landed("one.txt") == "trailing"
    assert project.calls() == 2, "no attempt was lost"


def test_what_a_commit_msg_hook_makes_of_the_message_lands(project: Project) -> None:
    project.config("true")
    project.stories("One")
    hook(
        project,
        "commit-msg",
        "#!/bin/sh\nsed -i '1s/^/[SHOP-1] /' $1\nprintf '\nChange-Id: I42\nRalph-Attempt: auth/US-009/1\n' >> $1\n",
    )
    project.script(does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth")

    message = project.git("log", "--format=%B", "--grep=US-001", "-1", "ralph/auth")
    assert message.startswith("[SHOP-1] feat: US-001 - done\n")
    assert "Change-Id: I42\nRalph-Attempt: auth/US-001/1" in message
    assert "US-009" not in message, "only Ralph says what has landed"


def test_what_is_too_large_for_a_commit_is_not_found_by_the_next_task(project: Project) -> None:
    project.config("true", commits={"maxFileMb": 1})
    project.stories("One", "Two")
    big = "head -c 2000000 /dev/zero > big.bin"
    project.script(does("US-001", "one.txt", run=[big]), does("US-002", "two.txt", run=["test ! -e big.bin"]), VERIFIED)

    done = project.ralph("run", "auth")

    assert done.stdout.count("big.bin (it is 2 MB") == 1


def test_what_a_run_writes_stays_out_of_git_on_a_branch_from_before_ralph(project: Project) -> None:
    project.git("branch", "before")
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    (project.path / ".ralph/.gitignore").unlink()

    project.git("add", "-A")

    staged = project.git("diff", "--cached", "--name-only").splitlines()
    assert not [name for name in staged if name.startswith((".ralph/logs", ".ralph/worktrees"))]


def test_working_copies_that_somebody_removes_in_a_run_cost_an_attempt_and_no_more(project: Project) -> None:
    project.config("true")
    project.stories("One")
    sweep = "rm -rf $RALPH_ROOT/.ralph/worktrees/.slots; mkdir -p $RALPH_WORKTREE; echo x > $RALPH_WORKTREE/one.txt"
    project.script(does("US-001", "one.txt", times=1, run=[f"cd /; {sweep}"]), does("US-001", "one.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert project.files_in("ralph/auth") == [".ralph/2026-01-01-auth/prd.json", "app.txt", "one.txt"]


def test_a_plan_that_is_edited_in_the_checkout_while_it_is_under_way_is_told_about(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    assert "differs" not in project.ralph("run", "auth", "--once").stdout
    assert "differs" not in project.ralph("run", "auth", "--once").stdout, "state is no difference"
    project.stories("One", "Another", "Three")

    done = project.ralph("run", "auth")

    said = " ".join(done.stdout.split())
    assert "The plan in your checkout differs from the one on ralph/auth in US-002, US-003." in said
    assert "git switch ralph/auth, edit, commit, git switch -" in said


def test_work_that_a_person_commits_on_the_branch_counts(project: Project) -> None:
    project.config("test -f one.txt")
    project.stories("One", "Two")
    says_done = {"match": "ID:.. US-001", "done": True}
    project.script(does("US-001", "other.txt", times=1), says_done, does("US-002", "2.txt"), VERIFIED)
    project.ralph("run", "auth", "--once", "--no-baseline", code=3)
    project.git("worktree", "add", "-q", str(project.folder / "mine"), "ralph/auth")
    (project.folder / "mine/one.txt").write_text("one\n")
    (project.folder / "mine/other.txt").write_text("x\n")
    project.git("-C", str(project.folder / "mine"), "add", "-A")
    project.git("-C", str(project.folder / "mine"), "commit", "-qm", "The person does it")
    person = project.git("rev-parse", "ralph/auth")
    project.git("worktree", "remove", "--force", str(project.folder / "mine"))

    project.ralph("run", "auth")

    assert project.story()["passes"] and project.story()["retries"] == 1
    assert project.story()["lastResult"]["commit"] in (person, person[:7], person[:10])
