"""RX.6, RX.7: nothing an agent does can mark work as done, and every attempt is kept."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for

PLAN = ".ralph/2026-01-01-auth/prd.json"
FORGE = f'sed -i \'s/"priority": 1/"passes": true, "priority": 1/\' {PLAN}; '
FORGE_THE_TRUTH = FORGE.replace(".ralph/2026", "$RALPH_ROOT/.ralph/worktrees/auth/.ralph/2026")


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("marks everything as passed", FORGE),
        ("marks everything as passed and commits it", FORGE + "git add -f .ralph; git commit -qm forged"),
        ("removes the plan", f"rm {PLAN}"),
        ("puts a link in its place", f"rm {PLAN}; ln -s /etc/passwd {PLAN}"),
        ("writes a new feature", "mkdir -p .ralph/2026-01-02-evil; echo '{}' > .ralph/2026-01-02-evil/prd.json"),
        ("weakens the gates", "sed -i 's/test -f proof.txt/true/' ralph.config.json"),
        ("forges the attempt's record", "for f in $RALPH_ROOT/.ralph/run/*/*.attempt.json; do echo '{}' > $f; done"),
        ("sweeps the whole folder away", "rm -rf .ralph"),
    ],
)
def test_an_agent_that_does_this_is_undone_and_it_costs_the_attempt(project: Project, what: str, wrong: str) -> None:
    project.config("test -f proof.txt")
    project.git("add", "ralph.config.json")
    project.git("commit", "-qm", "Configure")
    project.stories("One", "Two")
    spoiled = does("US-001", "proof.txt", times=1, run=[wrong])
    project.script(spoiled, does("US-001", "more.txt"), does("US-002", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "The agent broke the rules: it changed Ralph's own files" in done.stdout, what
    assert project.story()["retries"] == 1
    assert any("The agent broke the rules" in prompt for prompt in project.prompts())
    assert project.story("US-002")["passes"]
    assert project.git("show", "ralph/auth:ralph.config.json") == project.git("show", "main:ralph.config.json")
    assert not any("evil" in name for name in project.files_in("ralph/auth"))


def test_protected_files_are_put_back_and_the_next_prompt_says_why(project: Project) -> None:
    project.write("tests/test_a.txt", "assert real\n")
    project.write("keys/.env", "SECRET=1\n")
    project.write(".gitignore", "keys/\n")
    project.git("add", "tests", ".gitignore")
    project.git("commit", "-qm", "Tests")
    project.config("true", protect=["tests/**", "keys/**"])
    project.stories("One")
    spoil = "echo no > tests/test_a.txt; echo x > tests/new.txt; echo > keys/.env; git add -A; git commit -qm s"
    project.script(does("US-001", "one.txt", times=1, run=[spoil]), does("US-001", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "it changed protected files" in done.stdout
    assert project.git("show", "ralph/auth:tests/test_a.txt") == "assert real"
    assert "tests/new.txt" not in project.files_in("ralph/auth")
    assert project.read("keys/.env") == "SECRET=1\n"
    assert "tests/test_a.txt" in project.prompts()[1]
    assert "`tests/**`" in project.prompts()[0], "agents are told beforehand"


@pytest.mark.parametrize("end", ["done", "interrupted"])
def test_a_plan_that_is_forged_where_ralph_keeps_it_is_not_believed(project: Project, end: str) -> None:
    project.config("test -f proof.txt", maxRetries=1)
    project.stories("One")
    reached = project.folder / "reached"
    project.script({"run": [FORGE_THE_TRUTH, f"touch {reached}"], "sleep": 0 if end == "done" else 60, "done": True})

    run = project.start("run", "auth", "--no-baseline")
    wait_for(reached.exists)
    if end == "interrupted":
        run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)

    assert run.returncode == (3 if end == "done" else 130)
    assert not project.story().get("passes")
    assert not project.plan_at("ralph/auth")["userStories"][0].get("passes")


def test_a_plan_that_was_moved_away_forged_and_linked_back_is_not_believed_after_a_kill(project: Project) -> None:
    project.config("test -f proof.txt", maxRetries=1)
    project.stories("One")
    reached, away = project.folder / "reached", project.folder / "away"
    folder = "$RALPH_ROOT/.ralph/worktrees/auth/.ralph/2026-01-01-auth"
    link = f"mv {folder} {away} && ln -s {away} {folder} && {FORGE_THE_TRUTH.strip()} touch {reached}"
    project.script({"run": [link], "sleep": 60, "times": 1}, {"done": True})
    run = project.start("run", "auth", "--no-baseline")
    wait_for(reached.exists)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=30)
    assert '"passes": true' in (away / "prd.json").read_text(), "the forgery was made"

    project.ralph("run", "auth", "--no-baseline", code=3)

    assert not project.plan_at("ralph/auth")["userStories"][0].get("passes")
    assert '"passes": true' in (away / "prd.json").read_text(), "nothing is written through the link"


@pytest.mark.parametrize(
    "stray",
    [
        "git checkout -q --detach; git commit -qm stray --allow-empty",
        "git checkout -q -b mine; git commit -qm stray --allow-empty; git branch -D ralph/auth; git tag v1",
        "git add -A; git commit -qm gone; git update-ref -d HEAD; rm -rf .git/refs/heads",
        "git stash -u -q; git stash apply -q; git config user.name Nobody; echo 'exit 1' > .git/hooks; rm -rf .git",
        "echo b > app.txt; git commit -qm b app.txt; git branch other; git reset -q --keep HEAD~1;"
        " echo a > app.txt; git commit -qm a app.txt; git merge -q other; git checkout -q HEAD~1 -- app.txt",
    ],
)
def test_what_an_agent_does_to_its_git_stays_with_it_and_its_files_count(project: Project, stray: str) -> None:
    project.config("test $(git rev-list --count HEAD) -ge 3")
    project.write("app.txt", "app, twice\n")
    project.git("commit", "-qam", "Twice")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt", run=[stray]), VERIFIED)
    before = refs(project), project.git("config", "--local", "--list"), project.git("stash", "list")

    project.ralph("run", "auth", "--no-baseline")

    assert {"one.txt", "two.txt"} <= set(project.files_in("ralph/auth"))
    assert project.landed("app.txt") == "app, twice"
    assert project.git("rev-list", "--parents", "main..ralph/auth").count("\n") == 2, "a straight line"
    assert len(project.git("rev-list", "--min-parents=2", "ralph/auth")) == 0
    assert (refs(project), project.git("config", "--local", "--list"), project.git("stash", "list")) == before
    assert project.git("branch", "--show-current") == "main"


def refs(project: Project) -> list[str]:
    """Every ref that is not Ralph's."""
    lines = project.git("for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    return [line for line in lines if "/ralph/" not in f"{line}/"]


def test_a_branch_that_an_agent_moves_in_the_repository_itself_is_put_back_and_what_it_made_is_kept(
    project: Project,
) -> None:
    project.config("true")
    project.stories("One")
    move = (
        "git add -A; git commit -qm stray; "
        'git push -q -f "$RALPH_ROOT" HEAD:refs/heads/stray; '
        'git --git-dir "$RALPH_ROOT/.git" update-ref refs/heads/ralph/auth refs/heads/stray; '
        'git --git-dir "$RALPH_ROOT/.git" update-ref -d refs/heads/stray'
    )
    project.script(does("US-001", "one.txt", run=[move]), VERIFIED)

    done = project.ralph("run", "auth")

    assert "Another process moved ralph/auth, where only verified work may land. Ralph undid that" in done.stdout
    strays = project.git("for-each-ref", "--format=%(objectname)", "refs/ralph/strays").splitlines()
    assert "one.txt" in project.files_in(strays[0]), "what it made is kept"
    assert strays[0] not in project.git("rev-list", "ralph/auth").splitlines()
    assert project.landed("one.txt") == "x"


def test_the_configuration_in_force_is_the_one_read_when_the_run_began(project: Project) -> None:
    project.config("test -f proof.txt", maxRetries=2)
    project.stories("One")
    project.script(does("US-001", "claim.txt", run=["sed -i s/proof/claim/ ralph.config.json"]))

    project.ralph("run", "auth", code=3)

    assert project.story()["blocked"] is True
    assert "proof.txt" in project.read("ralph.config.json")
    assert "claim.txt" not in project.files_in("ralph/auth")


def test_a_reviewer_that_changes_the_project_is_undone(project: Project) -> None:
    project.config("true")
    project.stories("One")
    change = "echo reviewed > one.txt; git commit -qam 'better'; echo more > extra.txt"
    project.script(does("US-001", "one.txt"), {**VERIFIED, "times": 1, "run": [change]}, VERIFIED)

    done = project.ralph("run", "auth")

    assert "it changed the project, but may only read it" in done.stdout
    assert project.landed("one.txt") == "x"
    assert "extra.txt" not in project.files_in("ralph/auth")
    assert not project.exists("extra.txt")
    assert "better" not in project.git("log", "--all", "--format=%s")


def test_every_attempt_is_listed_with_outcome_and_size_and_can_be_shown_and_restored(project: Project) -> None:
    project.config("! test -f bad.txt")
    project.git("add", "ralph.config.json")
    project.git("commit", "-qm", "Configure")
    project.stories("One")
    project.script(
        {"match": "ID:.. US-001", "times": 1, "write": {"bad.txt": "bad\n"}, "done": True},
        {"match": "ID:.. US-001", "delete": ["bad.txt"], "write": {"good.txt": "good\n"}, "done": True},
        VERIFIED,
    )
    project.ralph("run", "auth")

    listed = project.ralph("attempts", "auth").stdout
    assert "US-001/1       failed" in listed
    assert "US-001/2       passed" in listed
    assert "1 file changed, 1 insertion(+)" in listed
    rows = json.loads(project.ralph("attempts", "auth", "--json").stdout)
    assert [row["outcome"] for row in rows if row["attempt"].startswith("US")] == ["failed", "passed"]
    assert "+bad" in project.ralph("attempts", "auth", "US-001/1", "--diff").stdout
    assert "Restored 1 file" in project.ralph("attempts", "auth", "US-001/1", "--restore").stdout
    assert project.read("bad.txt") == "bad\n"
    assert "would overwrite" in project.ralph("attempts", "auth", "US-001/1", "--restore", code=1).stderr
    assert "US-009" in project.ralph("attempts", "auth", "US-009/1", "--diff", code=1).stderr


def test_attempt_numbers_are_never_used_twice(project: Project) -> None:
    project.config("false", maxRetries=1)
    project.stories("One")
    project.script(does("US-001", "one.txt"))
    project.ralph("run", "auth", code=3)
    first = project.git("rev-parse", "refs/ralph/attempts/auth/US-001/1")

    project.git("branch", "-D", "ralph/auth")  # begun anew, with the plan as a person wrote it
    project.ralph("run", "auth", code=3)

    assert project.git("rev-parse", "refs/ralph/attempts/auth/US-001/1") == first
    assert project.git("rev-parse", "refs/ralph/attempts/auth/US-001/2") != first


def test_secrets_reach_no_log_no_prompt_and_no_plan(project: Project) -> None:
    project.config("echo $MY_API_KEY; test -f two.txt", provider={"env": ["MY_*"]}, verify={"env": ["MY_*"]})
    project.stories("One")
    leak = does("US-001", "one.txt", times=1, run=["echo key $MY_API_KEY; echo $MY_API_KEY >&2"])
    project.script(leak, does("US-001", "two.txt"), VERIFIED)
    secret = "sk-very-secret-value-123"

    done = project.ralph("run", "auth", env={"MY_API_KEY": secret})

    assert secret not in done.stdout
    for path in project.path.glob(".ralph/**/*"):
        if path.is_file():
            assert secret not in path.read_text(errors="replace"), path
    assert secret not in project.git("log", "-p", "--all")
    assert "[secret]" in next(project.path.glob(".ralph/logs/*/US-001-1.agent.log")).read_text()
    assert "[secret]" in next(project.path.glob(".ralph/logs/*/US-001-1-gate1*.log")).read_text()


def test_what_an_agents_code_does_inside_a_gate_spoils_no_gate_and_no_commit(project: Project) -> None:
    project.write("tests/check.sh", "test -f proof.txt\n")
    project.git("add", "tests")
    project.git("commit", "-qm", "Tests")
    project.config("sh helper.sh; sh tests/check.sh", "sh tests/check.sh", protect=["tests/**"], maxRetries=2)
    project.git("add", "ralph.config.json")
    project.git("commit", "-qm", "Configure")
    project.stories({"title": "One", "may": ["helper.sh"]})
    sly = "echo true > tests/check.sh; sed -i s/maxRetries/maxRetriez/ ralph.config.json; rm -rf .git .ralph\n"
    project.script(
        does("US-001", "helper.sh", sly, times=1),
        does("US-001", "helper.sh", "true\n", write={"proof.txt": "x", "helper.sh": "true\n"}),
        VERIFIED,
    )

    done = project.ralph("run", "auth", "--no-baseline")

    assert "✗ sh tests/check.sh" in done.stdout, "each gate begins with the files of the commit"
    assert "A gate broke the rules: it changed protected files (tests/check.sh)" in project.prompts()[1]
    assert project.story()["retries"] == 1
    assert project.landed("tests/check.sh") == "test -f proof.txt"
    assert project.landed("ralph.config.json") == project.git("show", "main:ralph.config.json")
    assert project.status() == ["?? .ralph/"]


@pytest.mark.parametrize(
    "hide",
    ["git update-index --assume-unchanged tests/a.txt", "git update-index --skip-worktree tests/a.txt"],
)
def test_protected_files_cannot_be_hidden_from_git(project: Project, hide: str) -> None:
    project.write("tests/a.txt", "real\n")
    project.git("add", "tests")
    project.git("commit", "-qm", "Tests")
    project.config("true", protect=["tests/**"])
    project.stories("One")
    spoil = f"{hide}; echo fake > tests/a.txt"
    project.script(does("US-001", "one.txt", times=1, run=[spoil]), does("US-001", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "it changed protected files (tests/a.txt)" in done.stdout
    assert project.read("tests/a.txt") == "real\n"


def test_attributes_that_write_a_protected_file_otherwise_are_put_back(project: Project) -> None:
    project.write("banned.txt", "password\n")
    project.git("add", "banned.txt")
    project.git("commit", "-qm", "Words that nobody writes")
    project.config("! grep -qFf banned.txt one.txt two.txt", protect=["banned.txt"])
    project.stories("One")
    project.script(
        does("US-001", "one.txt", "password\n", times=1, run=["echo 'banned.txt text eol=crlf' > .gitattributes"]),
        does("US-001", "two.txt", "fine\n", run=["rm -f one.txt", "echo '* text=auto' > .gitattributes"]),
        VERIFIED,
    )

    done = project.ralph("run", "auth")

    assert "it changed protected files (.gitattributes)" in done.stdout
    assert project.landed(".gitattributes") == "* text=auto", "this one changes no protected file"


def test_attempts_cannot_be_made_to_disappear(project: Project) -> None:
    project.config("! test -f bad.txt")
    project.stories("One")
    remove = "git update-ref -d refs/ralph/attempts/auth/US-001/1"
    project.script(
        {"match": "ID:.. US-001", "times": 1, "write": {"bad.txt": "b"}, "done": True},
        {"match": "ID:.. US-001", "delete": ["bad.txt"], "write": {"good.txt": "g"}, "run": [remove], "done": True},
        VERIFIED,
    )

    project.ralph("run", "auth")

    assert "bad.txt" in project.files_in("refs/ralph/attempts/auth/US-001/1")
    assert "good.txt" in project.files_in("refs/ralph/attempts/auth/US-001/2")


def test_odd_names_and_subjects_stop_nothing(project: Project) -> None:
    (project.path / os.fsdecode(b"latin-\xe9.txt")).write_text("a person's")
    project.config("true")
    project.stories("One")
    odd = "git add one.txt; printf 'x \\001\\002\\003 y' | git commit -q -F -"
    project.script(does("US-001", "one.txt", run=[odd]), VERIFIED)

    project.ralph("run", "auth")

    assert project.story()["lastResult"]["summary"].startswith("x ")


def test_folders_deeper_than_a_path_can_be_long_stop_no_later_story(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    dig = 'python3 -c \'import os; [(os.mkdir("d"), os.chdir("d")) for _ in range(2500)]; open("f", "w")\''
    project.script(does("US-001", "one.txt", run=[dig]), does("US-002", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "Not part of the commit: d/d/" in done.stdout
    assert {"one.txt", "two.txt"} <= set(project.files_in("ralph/auth"))
    assert not (project.path / ".ralph/worktrees/.slots/1/d").exists()


def test_an_agent_cannot_accept_its_own_story_or_block_a_log(project: Project) -> None:
    project.config("test -f proof.txt", maxRetries=2)
    project.stories("One")
    spoil = "ralph accept auth US-001 --why lazy; mkfifo $(ls -d .ralph/logs/*)/US-001-1-gate1-test-f-proof-txt.log"
    project.script(does("US-001", "one.txt", times=1, run=[spoil]), does("US-001", "proof.txt"), VERIFIED)

    project.ralph("run", "auth")

    assert project.story()["retries"] == 1


def test_what_a_gate_did_before_it_was_interrupted_is_gone_when_it_runs_again(project: Project) -> None:
    project.write("tests/a.txt", "real\n")
    project.git("add", "tests")
    project.git("commit", "-qm", "Tests")
    project.config("sh helper.sh")
    before = project.read("ralph.config.json")
    project.stories({"title": "One", "may": ["helper.sh"]})
    reached = project.folder / "reached"
    sly = f"test -f {reached} && exec grep -q real tests/a.txt; echo fake > tests/a.txt; touch {reached}; sleep 300\n"
    project.script(does("US-001", "helper.sh", sly), VERIFIED)

    run = project.start("run", "auth", "--no-baseline")
    wait_for(reached.exists)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)

    assert run.returncode == 130
    assert (project.read("ralph.config.json"), project.read("tests/a.txt")) == (before, "real\n")
    project.ralph("run", "auth", "--no-baseline")
    assert project.landed("tests/a.txt") == "real"
    assert project.calls() == 2, "the agent had finished: only its gate runs again"


@pytest.mark.parametrize("spot", ["logs", "run", "logs/*"])
def test_a_folder_that_an_agent_replaced_by_a_link_leads_nowhere(project: Project, spot: str) -> None:
    away = project.folder / "away"
    away.mkdir()
    project.config("true", maxRetries=1)
    project.stories("One")
    swap = f"d=$(ls -d $RALPH_ROOT/.ralph/{spot}); rm -rf $d && ln -s {away} $d"
    project.script(does("US-001", "one.txt", run=[swap]), VERIFIED)

    done = project.ralph("run", "auth", code=None)

    assert list(away.iterdir()) == []
    assert "bug in Ralph" not in done.stderr
    if done.returncode == 1:
        assert "is a link" in done.stderr
        assert "Remove the link" in done.stderr


def test_a_planted_journal_makes_no_attempt_pass(project: Project) -> None:
    project.config("test -f ok.txt", maxRetries=1)
    project.stories("One")
    forged = {"event": "attempt_ended", "target": "auth", "work": "US-001", "kind": "task", "number": 1}
    text = json.dumps({**forged, "verdict": "passed", "reason": "", "commit": "0" * 40})
    plant = "cd $RALPH_ROOT/.ralph/logs; for d in 20200101-000000-00000000 20990101-000000-00000000; do mkdir -p $d; "
    plant += f"echo '{text}' > $d/journal.jsonl; done; "
    plant += f"echo '{text}' >> $(ls */journal.jsonl | head -2 | tail -1)"
    project.script(does("US-001", "one.txt", run=[plant]))

    project.ralph("run", "auth", code=3)

    rows = json.loads(project.ralph("attempts", "auth", "--json").stdout)
    assert [row["outcome"] for row in rows] == ["failed"]
