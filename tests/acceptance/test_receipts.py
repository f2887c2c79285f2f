"""Receipts: every commit that Ralph makes has one, it can be verified in any clone, and nothing else passes for one."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ralph.receipts.dsse import Envelope, parse
from ralph.receipts.statement import Subject, state_payload
from tests.acceptance import requests, sessions, specs
from tests.acceptance.requirements import REVIEWING, Founded
from tests.acceptance.requirements import does as makes
from tests.conftest import VERIFIED, Project, does, wait_for

needs_ssh = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")
NOTES = "refs/notes/ralph"
WHO = "person@example.com"
Json = dict[str, Any]


def with_key(project: Project, passphrase: str = "") -> Path:
    """Give the person an ssh key to sign with; return the file that says that it may."""
    key = project.home / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(key)], check=True)
    project.git("config", "--global", "gpg.format", "ssh")
    project.git("config", "--global", "user.signingkey", str(key))
    signers = project.folder / "signers"
    signers.write_text(f"{WHO} {key.with_suffix('.pub').read_text()}")
    return signers


def run(project: Project, **settings: Any) -> None:
    project.config("test ! -f bad.txt", "true", **settings)
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    project.ralph("run", "auth")


def attest(project: Project, revisions: str = "main..ralph/auth", *args: str, code: int = 0) -> list[Json]:
    found = json.loads(project.ralph("attest", "verify", revisions, "--json", *args, code=code).stdout)
    assert isinstance(found, list)
    return found


def statements(project: Project, revision: str) -> list[Json]:
    """What the note of a commit says, read by git."""
    text = project.git("notes", f"--ref={NOTES}", "show", revision)
    return [json.loads(parse(line.encode()).payload) for line in text.splitlines()]


def predicate(project: Project, revision: str, kind: str) -> Json:
    found = [one["predicate"] for one in statements(project, revision) if kind in one["predicateType"]]
    assert isinstance(found[0], dict)
    return found[0]


def story(project: Project, name: str = "US-002", branch: str = "ralph/auth") -> str:
    return project.git("log", "-1", "--format=%H", f"--grep=^Ralph-Attempt: .*/{name}/", branch)


class Clone(Project):
    """A fresh clone of a project's branch, without its notes and without its `.ralph/`."""

    def __init__(self, project: Project) -> None:
        self.__dict__ |= project.__dict__
        self.path = project.folder / "clone"
        project.git("clone", "-q", "--no-local", str(project.path), str(self.path), "-b", "ralph/auth")

    def fetch(self) -> None:
        self.git("fetch", "-q", "origin", f"{NOTES}:{NOTES}")


# what travels


@needs_ssh
def test_in_a_fresh_clone_every_commit_is_verified_by_its_note(project: Project) -> None:
    signers = with_key(project)
    run(project)
    clone = Clone(project)

    without = clone.ralph("attest", "verify", "origin/main..HEAD", code=3).stdout
    assert without.count("no receipt") == 3
    assert f"git fetch origin {NOTES}:{NOTES}" in without

    clone.fetch()
    found = attest(clone, "origin/main..HEAD", "--signers", str(signers))
    assert [(one["receipt"], one["matchedBy"], one["signature"], one["signer"]) for one in found] == [
        ("valid", "commit", "verified", WHO)
    ] * 3
    assert [one["stateOnly"] for one in found] == [False, False, True]
    said = clone.ralph("attest", "verify", "origin/main..HEAD").stdout
    assert "signed by an unknown key (SHA256:" in said and "verified" not in said
    clone.git("config", "gpg.ssh.allowedSignersFile", str(signers))
    assert f"signed by {WHO}" in clone.ralph("attest", "verify", "origin/main..HEAD").stdout


def test_the_files_are_enough_and_unsigned_is_said(project: Project) -> None:
    run(project)
    clone = Clone(project)
    shutil.copytree(project.path / ".ralph/receipts", clone.path / ".ralph/receipts")
    done = clone.ralph("attest", "verify", "origin/main..HEAD").stdout
    assert done.count("· unsigned") == 3
    assert "anybody who can write to this repository could have written them" in done
    assert project.status() == ["?? .ralph/", "?? ralph.config.json"]
    assert ".ralph/receipts/" in project.git("status", "--porcelain", "--ignored=matching", "-uall"), "git ignores them"


def test_after_a_squash_it_is_found_by_its_tree(project: Project) -> None:
    run(project)
    project.git("rm", "-q", "--cached", "-r", "--ignore-unmatch", ".ralph")
    shutil.rmtree(project.path / ".ralph/2026-01-01-auth")
    (project.path / ".ralph/.gitignore").unlink()
    project.git("merge", "-q", "--squash", "ralph/auth")
    project.git("commit", "-q", "-m", "Everything at once")
    [found] = attest(project, "HEAD")
    assert (found["receipt"], found["matchedBy"], found["stateOnly"]) == ("valid", "tree", False)
    assert "RALPH_GATES_PASSED" in found["properties"], "the gates ran on the same code, below a commit of state"

    project.write("more.txt", "x")
    project.git("add", "more.txt")
    project.git("commit", "-q", "--amend", "--no-edit")
    assert attest(project, "HEAD", code=3)[0]["receipt"] == "missing"


def test_receipts_of_two_people_can_be_joined(project: Project) -> None:
    for feature in ("theirs", "mine"):
        project.config("true")
        project.stories("One", feature=feature)
        project.script(does("US-001", f"{feature}.txt"), VERIFIED)
        project.ralph("run", feature)
        if feature == "theirs":
            project.git("update-ref", "refs/notes/theirs", NOTES)
            project.git("update-ref", "-d", NOTES)
    shutil.rmtree(project.path / ".ralph/receipts")
    assert attest(project, "main..ralph/theirs", code=3)[0]["receipt"] == "missing"
    project.git("notes", f"--ref={NOTES}", "merge", "-q", "-s", "cat_sort_uniq", "theirs")
    attest(project, "main..ralph/theirs")
    attest(project, "main..ralph/mine")


def test_a_commit_without_a_receipt_is_named(project: Project) -> None:
    run(project)
    project.git("checkout", "-qf", "ralph/auth")
    project.write("mine.txt", "x")
    project.git("add", "mine.txt")
    project.git("commit", "-q", "-m", "A person's")
    done = project.ralph("attest", "verify", "main..HEAD", code=3)
    assert "3 of 4 commits with a valid receipt" in done.stdout
    assert "A person's\n    no receipt" in done.stdout
    assert "There is no commit in HEAD..main" in project.ralph("attest", "verify", "HEAD..main", code=3).stdout


# what it says


def test_a_receipt_says_what_was_verified_and_who_worked(project: Project) -> None:
    project.write("tests/a.txt", "a")
    project.git("add", "tests")
    project.git("commit", "-qm", "Tests")
    run(project, protect=["tests/**"], gates=[
        {"name": "unit", "command": "test ! -f bad.txt"}, {"name": "lint", "command": "false", "required": False},
    ])  # fmt: skip
    commit = story(project)
    tests = [one["predicate"] for one in statements(project, commit) if "test-result" in one["predicateType"]]
    assert [(one["configuration"][0]["name"], one["result"]) for one in tests] == [
        ("unit", "PASSED"),
        ("lint", "WARNED"),
    ]
    assert predicate(project, commit, "svr")["properties"] == [
        "RALPH_GATES_PASSED",
        "RALPH_CLEAN_CHECKOUT",
        "RALPH_PROTECTED_UNCHANGED",
    ]
    attempt = predicate(project, commit, "attempt")
    assert (attempt["work"], attempt["attempt"], attempt["agent"]) == ("US-002", 1, "ralph")
    assert attempt["evidence"] == "regression-only"
    assert attempt["base"]["gitCommit"] == project.git("rev-parse", f"{commit}^")
    [journal] = project.path.glob(".ralph/logs/*/journal.jsonl")
    told = journal.read_bytes()[: attempt["journal"]["bytes"]]
    assert attempt["journal"]["sha256"] == hashlib.sha256(told).hexdigest()
    [prompt] = project.path.glob(".ralph/logs/*/US-002-1.agent.prompt.md")
    assert attempt["prompt"]["sha256"] == hashlib.sha256(prompt.read_bytes()).hexdigest()
    shown = project.ralph("attest", "show", commit).stdout
    assert "gate lint: warned  false" in shown and "protected files unchanged" in shown


def test_proven_work_says_so_with_its_tests(project: Project) -> None:
    report = '<testsuite><testcase classname="t" name="one"/></testsuite>'
    command = f"test -f one.txt || exit 1; echo '{report}' > report.xml"
    project.config(gates=[{"name": "tests", "command": command, "report": "report.xml"}])
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    commit = story(project, "US-001")
    assert "RALPH_RED_TO_GREEN" in predicate(project, commit, "svr")["properties"]
    attempt = predicate(project, commit, "attempt")
    assert (attempt["evidence"], bool(attempt["provenBy"])) == ("proven", True)
    result = predicate(project, commit, "test-result")
    assert result["passedTests"] == ["t › one"] and result["failedTests"] == []
    assert result["configuration"][0]["annotations"]["tests"] == "1 passed"
    assert "proven: red before, green after" in project.ralph("attest", "show", commit).stdout


def test_what_may_have_weakened_the_checks_is_in_the_receipt(project: Project) -> None:
    project.write("Makefile", "check:\n\ttest -f app.txt\n")
    project.git("add", "Makefile")
    project.git("commit", "-qm", "A gate")
    project.config("make -s check", integrity={"definitions": "tell"})
    project.stories("One")
    project.script(does("US-001", "one.txt", write={"one.txt": "x", "Makefile": "check:\n\ttrue\n"}, run=[]), VERIFIED)
    project.ralph("run", "auth")
    commit = story(project, "US-001")
    assert any("Makefile" in text for text in predicate(project, commit, "attempt")["concerns"])
    assert "it may have weakened the checks: Makefile" in project.ralph("attest", "show", commit).stdout


def test_a_review_by_another_model_is_a_property_and_by_the_same_is_not(project: Project) -> None:
    good = {"match": REVIEWING, "answer": {"verdict": "qualified", "findings": [], "summary": "Good"}}
    for number, (coder, reviewer) in enumerate((("opus", "gpt"), ("opus", "opus")), 1):
        provider = {"modelArgs": [], "model": coder}
        project.config("true", review={}, provider=provider, roles={"reviewer": {"model": reviewer}})
        project.stories("One", feature=f"f{number}")
        project.script(good, does("US-001", "x.txt"))
        project.ralph("run", f"f{number}", "--once")
        commit = story(project, "US-001", f"ralph/f{number}")
        properties = predicate(project, commit, "svr")["properties"]
        assert "RALPH_REVIEWED" in properties
        assert ("RALPH_REVIEWED_BY_OTHER_MODEL" in properties) is (coder != reviewer)
        assert predicate(project, commit, "attempt")["model"] == "opus"


def test_work_merged_with_other_work_is_verified_again_and_the_receipt_says_so(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    wait = "for n in $(seq 600); do test -f $HOME/../landed && break; sleep 0.05; done"
    project.script(
        does("US-001", "one.txt"),
        does("US-002", "two.txt", run=[wait, "git add two.txt && git commit -qm 'feat: US-002 - done'"]),
        VERIFIED,
    )
    running = project.start("run", "auth", "--jobs", "2")
    wait_for(lambda: bool(project.events("landed")))
    (project.folder / "landed").touch()
    out, _ = running.communicate(timeout=120)
    assert running.returncode == 0, out
    assert "RALPH_REVERIFIED_AFTER_MERGE" in predicate(project, story(project), "svr")["properties"]
    assert "RALPH_REVERIFIED_AFTER_MERGE" not in predicate(project, story(project, "US-001"), "svr")["properties"]
    attest(project)


def test_without_gates_it_says_unverified(project: Project) -> None:
    project.config()
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth", code=3)
    found = attest(project, story(project, "US-001"))
    assert (found[0]["properties"], found[0]["evidence"]) == ([], ["unverified"])


def test_secrets_are_not_in_a_receipt(project: Project) -> None:
    token = "ghp_" + "a1B2" * 9
    project.env["DEPLOY_TOKEN"] = value = "very-secret-value-4711"
    run(project, gates=[{"name": "unit", "command": f"true {token} {value}"}])
    said = json.dumps(statements(project, story(project)))
    assert "true [secret] [secret]" in said
    assert token not in said and value not in said


# every workflow


def test_specs_have_one_receipt_for_each_spec_with_the_attempts_of_its_tasks(project: Project) -> None:
    project.config("true")
    specs.write_plan(project, specs.spec("a", specs.task("a-1"), specs.task("a-2")))
    project.script(specs.builds("a-1", "1.txt"), specs.builds("a-2", "2.txt"))
    project.ralph("start", "build", "--once")
    assert project.git("for-each-ref", NOTES) == "", "pending work has no receipt yet"
    project.ralph("start", "build")
    attest(project, f"main..{specs.BRANCH}")
    commit = project.git("log", "-1", "--format=%H", "--grep=^feat: A", specs.BRANCH)
    found = [one["predicate"] for one in statements(project, commit) if "attempt" in one["predicateType"]]
    assert [(one["work"], one["evidence"], one["agent"]) for one in found] == [
        ("a-1", "regression-only", "ralph"),
        ("a-2", "regression-only", "ralph"),
    ]


def test_sessions_and_requests_have_receipts_too(project: Project) -> None:
    sessions.plays(project)
    sessions.plan(project, "task-1")
    sessions.session(project)
    attest(project, f"main..{sessions.BRANCH}")
    assert "RALPH_REVIEWED" in predicate(project, story(project, "task-1", sessions.BRANCH), "svr")["properties"]

    project.config("true")
    requests.write_plan(project, requests.task("Model"))
    project.script(requests.builds(1))
    project.ralph("start")
    attest(project, "main..ralph/request")


def test_requirements_have_receipts_in_the_repository_of_the_application(founded: Founded) -> None:
    founded.script(makes("T-001", "one.txt"), makes("T-002", "two.txt"))
    founded.ralph("run")
    found = json.loads(founded.ralph("-C", str(founded.app), "attest", "verify", "HEAD~2..HEAD", "--json").stdout)
    assert [one["receipt"] for one in found] == ["valid", "valid"]


def test_what_a_person_changes_in_a_plan_has_a_receipt_too(project: Project) -> None:
    project.config("false")
    project.stories("One")
    project.script(does("US-001", "one.txt"))
    project.ralph("run", "auth", "--no-baseline", code=3)
    project.ralph("accept", "auth", "US-001", "--why", "It is fine", "--yes")
    assert all(one["stateOnly"] for one in attest(project))


def test_a_task_that_a_person_accepted_is_accepted_in_the_receipt_of_its_spec(project: Project) -> None:
    project.config("test ! -f 2.txt", maxRetries=1)
    specs.write_plan(project, specs.spec("a", specs.task("a-1"), specs.task("a-2")))
    project.script(specs.builds("a-1", "1.txt"), specs.builds("a-2", "2.txt"))
    project.ralph("start", "build", "--once")
    project.ralph("accept", "specs", "a-2", "--why", "Nobody needs it", "--yes")
    project.ralph("start", "build")
    attest(project, f"main..{specs.BRANCH}")
    commit = project.git("log", "-1", "--format=%H", "--grep=^feat: A", specs.BRANCH)
    found = [one["predicate"] for one in statements(project, commit) if "attempt" in one["predicateType"]]
    assert [(one["work"], one["evidence"]) for one in found] == [("a-1", "regression-only"), ("a-2", "accepted")]
    assert (found[1]["acceptedBy"], found[1]["why"]) == ("Person", "Nobody needs it")


def test_receipts_start_no_git_of_their_own(project: Project) -> None:
    counts = []
    for number, enabled in enumerate((True, True, False)):  # the first run creates the working copies
        feature = f"f{number}"
        project.config("true", receipts={"enabled": enabled})
        project.stories("One", "Two", "Three", feature=feature)
        project.script(*(does(f"US-00{one}", f"{feature}-{one}.txt") for one in (1, 2, 3)), VERIFIED)
        with project.counting_git() as count:
            project.ralph("run", feature)
            counts.append(count())
    assert counts[1] == counts[2]


# keys and settings


@needs_ssh
def test_a_key_that_cannot_sign_is_told_once_and_costs_nothing(project: Project) -> None:
    with_key(project, passphrase="secret")
    project.config("true")
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    done = project.ralph("run", "auth")
    assert done.stdout.count("The receipts of this run stay unsigned") == 1
    assert "ssh-add" in done.stdout
    assert {one["signature"] for one in attest(project)} == {"unsigned"}


def test_required_signatures_refuse_before_anything_is_spent(project: Project) -> None:
    project.config("true", receipts={"sign": "require"})
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)
    done = project.ralph("run", "auth", code=1)
    assert "Receipts must be signed (receipts.sign), and no key can sign" in done.stderr
    assert "user.signingkey" in done.stderr
    assert project.calls() == 0
    assert project.git("for-each-ref", NOTES) == ""


@needs_ssh
def test_a_required_key_that_is_gone_in_between_loses_no_work(project: Project) -> None:
    signers = with_key(project)
    key = project.home / "key"
    project.config("true", receipts={"sign": "require"})
    project.stories("One")
    project.script(does("US-001", "one.txt", run=["mv $HOME/key $HOME/away"]), VERIFIED)
    done = project.ralph("run", "auth", code=1)
    assert "Receipts must be signed" in done.stderr
    assert project.git("log", "--format=%s", "main..ralph/auth") == "", "nothing landed, and no plan says so"
    (project.home / "away").rename(key)

    project.ralph("run", "auth")

    assert project.calls() == 2, "its agent was not called again, only the final verification's"
    assert {one["signature"] for one in attest(project, "main..ralph/auth", "--signers", str(signers))} == {"verified"}


@needs_ssh
def test_a_key_is_not_used_if_the_person_says_never(project: Project) -> None:
    with_key(project)
    run(project, receipts={"sign": "never"})
    assert {one["signature"] for one in attest(project)} == {"unsigned"}


def test_they_can_be_switched_off(project: Project) -> None:
    run(project, receipts={"enabled": False})
    assert project.git("for-each-ref", NOTES) == ""
    assert list((project.path / ".ralph").glob("receipts/*.jsonl")) == []


def test_what_blocks_the_notes_costs_no_work(project: Project) -> None:
    project.git("update-ref", f"{NOTES}/in-the-way", "HEAD")
    run(project)
    told = [one["text"] for one in project.events("noted")]
    assert any("so this receipt is only in .ralph/receipts" in text for text in told)
    assert {one["where"][:16] for one in attest(project)} == {".ralph/receipts/"}


# attacks


@pytest.fixture
def received(project: Project) -> Project:
    run(project)
    return project


def add_note(project: Project, data: bytes, revision: str = "ralph/auth~1") -> None:
    """Replace a commit's note, and take the copies away."""
    shutil.rmtree(project.path / ".ralph/receipts")
    (project.folder / "note").write_bytes(data)
    blob = project.git("hash-object", "-w", str(project.folder / "note"))
    for name in (revision, f"{revision}^{{tree}}"):
        project.git("notes", f"--ref={NOTES}", "add", "-f", "-C", blob, project.git("rev-parse", name))


def note(project: Project, revision: str) -> bytes:
    return project.git("notes", f"--ref={NOTES}", "show", revision).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x00" * 20_000_000, "the receipt has more than 1024 KB"),
        (b"[" * 900_000, "line 1: it is not valid JSON"),
        (b"{}", "line 1: it is not a DSSE envelope"),
        (b"\n\n", "it is empty"),
    ],
    ids=["huge", "deep", "empty document", "empty"],
)
def test_a_note_that_is_no_receipt_is_a_word(received: Project, data: bytes, said: str) -> None:
    add_note(received, data)
    [found] = attest(received, "ralph/auth~1", code=3)
    assert (found["receipt"], found["problem"]) == ("invalid", said)


def test_a_receipt_of_another_commit_is_refused(received: Project) -> None:
    add_note(received, note(received, "ralph/auth~2"))
    [found] = attest(received, "ralph/auth~1", code=3)
    assert "it is about another commit" in found["problem"]


def test_a_receipt_of_state_does_not_cover_code(received: Project) -> None:
    """An honest program could never write this: the commit changes code."""
    tree, parent = (received.git("rev-parse", f"ralph/auth~{one}") for one in ("1^{tree}", "2"))
    subject = Subject(branch="ralph/auth", commit=received.git("rev-parse", "ralph/auth~1"), tree=tree)
    base = Subject(branch="", commit=parent, tree=received.git("rev-parse", "ralph/auth~2^{tree}"))
    add_note(received, Envelope(payload=state_payload(subject, base=base, paths=[], at="")).encode())
    [found] = attest(received, "ralph/auth~1", code=3)
    assert found["problem"] == "it says that only Ralph's own files changed, but 'two.txt' did"


@needs_ssh
def test_a_signed_receipt_that_was_changed_is_refused_by_anyone(project: Project) -> None:
    signers = with_key(project)
    run(project)
    lines = note(project, "ralph/auth~1").splitlines()
    first = json.loads(lines[0])
    payload = base64.b64decode(first["payload"]).replace(b"test ! -f bad.txt", b"test ! -f BAD.txt")
    first["payload"] = base64.b64encode(payload).decode()
    add_note(project, b"\n".join((json.dumps(first).encode(), *lines[1:])))
    [found] = attest(project, "ralph/auth~1", code=3)
    assert found["receipt"] == "invalid"

    whole = [json.loads(line) | {"signatures": []} for line in lines]
    project.git("notes", f"--ref={NOTES}", "remove", project.git("rev-parse", "ralph/auth~1^{tree}"))
    (project.path / ".ralph/receipts").mkdir(parents=True)
    add_note(project, "\n".join(map(json.dumps, whole)).encode())
    assert attest(project, "ralph/auth~1")[0]["signature"] == "unsigned"
    [found] = attest(project, "ralph/auth~1", "--signers", str(signers), code=3)
    assert "it is unsigned, and --signers asks for" in found["problem"]


def test_an_agent_that_writes_a_receipt_fails_its_attempt(project: Project) -> None:
    project.config("true")
    project.stories("One")
    forge = "git -C $RALPH_ROOT notes --ref=ralph add -m forged HEAD"
    project.script(does("US-001", "one.txt", times=1, run=[forge]), does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    ended = project.events("attempt_ended")
    assert "notes/ralph" in ended[0]["reason"]
    assert project.git("notes", f"--ref={NOTES}", "show", "main", check=False) == ""
    attest(project)


def test_a_subject_with_control_characters_does_no_harm(received: Project) -> None:
    received.git("checkout", "-qf", "ralph/auth")
    received.git("commit", "-q", "--allow-empty", "-m", "bad \x1b[2Jsubject \x07")
    said = received.ralph("attest", "verify", "HEAD").stdout
    assert "\x1b" not in said and "\x07" not in said


def test_bad_input_is_three_lines(project: Project, tmp_path: Path) -> None:
    assert "git finds no commits for 'nothing'" in project.ralph("attest", "verify", "nothing", code=1).stderr
    assert "git finds no commits for '--all'" in project.ralph("attest", "verify", "--", "--all", code=1).stderr
    (tmp_path / "apart").mkdir()
    said = project.ralph("-C", str(tmp_path / "apart"), "attest", "verify", code=1).stderr
    assert "is not in a git repository" in said
    assert project.ralph("attest", "verify", "--signers", "nowhere", code=2).returncode == 2
    assert "no receipt" in project.ralph("attest", "verify", code=3).stdout
    keys, programs = tmp_path / "keys.asc", tmp_path / "bin"
    keys.write_text("-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git") or "git")
    said = project.ralph("attest", "verify", "--signers", str(keys), code=1, env={"PATH": str(programs)}).stderr
    assert f"gpg is not installed, and {keys} has OpenPGP keys" in said
