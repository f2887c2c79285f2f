"""Checks that agents never see: they decide, and no agent finds their files, their output or their names."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import VERIFIED, Project, does, wait_for

PATH = "tests/zebra_check.sh"
MARK = "quagga"
"""A word in the held-out file and in its output, and nowhere else."""
CHECK = f"# {MARK}\ntest -f one.txt || {{ echo 'Error: {MARK} is missing'; exit 1; }}\n"
HELD_OUT = {"name": "hidden-suite", "command": "for each in tests/*.sh; do sh $each || exit 1; done", "heldOut": True}


def prepare(project: Project, *gates: dict[str, Any], **more: Any) -> None:
    project.config(gates=[*gates, {**HELD_OUT}], **more)
    project.git("add", "ralph.config.json")
    project.git("commit", "-q", "-m", "Configure")
    project.stories("One")
    project.write(PATH, CHECK)
    project.ralph("hold-out", "add", PATH)


def store(project: Project) -> Path:
    [found] = (project.home / ".local/share/ralph/held-out").iterdir()
    return found


def below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def found_in(*folders: Path) -> list[Path]:
    """Files whose name or content has something that is held out."""
    words = (MARK.encode(), b"zebra")
    return [
        path
        for folder in folders
        for path in below(folder)
        if "zebra" in path.name or any(word in path.read_bytes() for word in words)
    ]


SEARCH = (
    # its files, its repository with all objects that it borrows, its environment, and its parents' command lines
    "{ find . ../../../.. -name '*zebra*'; grep -rlE 'quagg[a]|zebr[a]' . ../../../..;"
    " git cat-file --batch-all-objects --batch | grep -aE 'quagg[a]|zebr[a]';"
    " git for-each-ref | grep -E 'held|zebra'; git -C ../../../.. for-each-ref | grep -E 'held|zebra';"
    " env | grep -E 'quagg[a]|zebr[a]|held-out'; ralph hold-out show tests/zebr[a]_check.sh; ralph hold-out list; }"
    " > $RALPH_TEST_FINDINGS 2> $RALPH_TEST_FINDINGS.errors; true"
)


@pytest.mark.parametrize("tells", ["nothing", "name"])
def test_an_agent_that_searches_for_the_check_finds_nothing(project: Project, tells: str) -> None:
    findings = project.folder / "findings"
    search = SEARCH.replace("$RALPH_TEST_FINDINGS", str(findings))
    prepare(project, {"name": "unit", "command": "true"}, heldOut={"tells": tells})
    project.script(
        does("US-001", "two.txt", run=[search], times=1),
        does("US-001", "one.txt", run=[search.replace(str(findings), f"{findings}2")]),
        VERIFIED,
    )

    done = project.ralph("run", "auth")

    assert findings.read_text() == "", "before anything failed"
    assert (project.folder / "findings2").read_text() == "", "with the notes and logs of a failure"
    assert "Only a person can do this" in (project.folder / "findings.errors").read_text()
    assert found_in(project.path, project.home / ".cache") == []
    assert not any(MARK in prompt or "zebra" in prompt for prompt in project.prompts())
    assert any("hidden-suite" in prompt for prompt in project.prompts()) == (tells == "name")
    assert ("hidden-suite" in json.dumps(project.plan())) == (tells == "name")
    assert any("hidden-suite" in json.dumps(event) for event in project.events()) == (tells == "name")
    assert "hidden-suite" in done.stdout, "the person sees which gate failed, and why"
    assert f"Error: {MARK} is missing" in done.stdout
    log = next(line.split("for you only: ")[1] for line in done.stdout.splitlines() if "US-001-1-gate" in line)
    assert MARK in Path(log).read_text()
    assert Path(log).is_relative_to(store(project) / "logs")


def test_it_decides_and_proves_the_work(project: Project) -> None:
    prepare(project)
    project.script(does("US-001", "two.txt", times=1), does("US-001", "one.txt"), VERIFIED)
    done = project.ralph("run", "auth")
    assert "✗ US-001 failed: The gate `hidden-suite` failed: it is held out" in done.stdout
    assert (
        "The gate `hidden-suite` failed: it is held out, so agents cannot see what it checks." in project.prompts()[1]
    )
    assert project.story()["retries"] == 1
    result = project.story()["lastResult"]
    assert (result["evidence"], result["provenBy"]) == ("proven", ["hidden-suite"])
    assert [(gate["command"], gate["heldOut"]) for gate in result["verify"]] == [("hidden-suite", True)]
    assert "Gate `hidden-suite`: passed" in project.git("log", "-2", "--format=%B", "ralph/auth")
    assert project.files_in("ralph/auth").count(PATH) == 0


def test_a_visible_gate_without_a_report_proves_too(project: Project) -> None:
    gate = {"name": "unit", "command": "for each in checks/*.sh; do sh $each || exit 1; done"}
    prepare(project, gate)
    project.write("checks/test_a.sh", "true\n")
    project.git("add", "checks")
    project.git("commit", "-q", "-m", "A check")
    (store(project) / "files" / PATH).write_text("true\n")
    project.script(
        does("US-001", "one.txt", write={"one.txt": "", "checks/test_one.sh": "test -f one.txt\n"}), VERIFIED
    )
    project.ralph("run", "auth")
    assert project.story()["lastResult"]["provenBy"] == ["unit"]


def test_a_summary_tells_in_one_sentence_what_failed(project: Project) -> None:
    prepare(project, heldOut={"tells": "summary"})
    project.script(does("US-001", "two.txt", times=1), does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    assert f"it is held out; in short: exit code 1: Error: {MARK} is missing." in project.prompts()[1]
    assert not any("zebra" in prompt for prompt in project.prompts())


REPORTING = (
    "for each in tests/*.sh; do sh $each > /dev/null || { echo "
    "\"<testsuite><testcase classname='z' name='zebra_stripes'><failure/></testcase></testsuite>\" > r.xml; exit 1; };"
    " done; echo \"<testsuite><testcase classname='z' name='zebra_stripes'/></testsuite>\" > r.xml"
)


def test_the_names_of_tests_in_its_report_are_not_told(project: Project) -> None:
    prepare(project)
    project.config(gates=[{**HELD_OUT, "command": "sh run.sh", "report": "r.xml"}])
    project.write("run.sh", REPORTING)
    project.ralph("hold-out", "add", "run.sh")
    project.script(does("US-001", "two.txt", times=1), does("US-001", "one.txt"), VERIFIED)
    done = project.ralph("run", "auth")
    assert "zebra_stripes" in next(iter(store(project).rglob("US-001-1-*.tests.json"))).read_text()
    assert "1 failed" not in json.dumps(project.plan())
    assert project.story()["lastResult"]["provenBy"] == ["hidden-suite"]
    assert found_in(project.path) == []
    assert "hidden-suite" in done.stdout


def test_it_runs_last_and_no_other_gate_meets_its_files(project: Project) -> None:
    look = {"name": "look", "command": "ls tests > $HOME/../looked 2>/dev/null; test ! -e tests && test ! -e left"}
    project.config(gates=[{**HELD_OUT, "command": "sh tests/zebra_check.sh && touch left"}, look])
    project.stories("One", "Two")
    project.write(PATH, CHECK)
    project.ralph("hold-out", "add", PATH)
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)
    done = project.ralph("run", "auth")
    assert done.stdout.index("✓ look") < done.stdout.index("hidden-suite")
    assert (project.folder / "looked").read_text() == ""
    assert found_in(project.home / ".cache") == []
    assert list(project.home.glob(".cache/ralph/*/verify/*/left")) == []


@pytest.mark.parametrize(
    "trick",
    [
        f"mkdir -p tests && echo true > {PATH}",
        "mkdir -p $HOME/../stolen && ln -s $HOME/../stolen tests",
        f"mkdir -p tests $HOME/../stolen && ln -s $HOME/../stolen/it {PATH}",
        "echo 'not a folder' > tests",
    ],
)
def test_what_an_agent_puts_in_its_place_does_not_replace_it(project: Project, trick: str) -> None:
    prepare(project)
    project.script(does("US-001", "two.txt", run=[trick]))
    project.config(gates=[HELD_OUT], maxRetries=1)
    project.ralph("run", "auth", code=3)
    assert project.story()["blocked"]
    stolen = project.folder / "stolen"
    assert not stolen.exists() or below(stolen) == []


def test_the_files_are_those_of_the_run_s_start(project: Project) -> None:
    prepare(project)
    project.config(gates=[HELD_OUT], maxRetries=1)
    weaken = f"echo true > {store(project)}/files/{PATH}"
    project.script(does("US-001", "two.txt", run=[weaken]))
    project.ralph("run", "auth", code=3)
    assert project.story()["blocked"]


def test_after_a_kill_no_copy_keeps_them(project: Project) -> None:
    prepare(project)
    project.config(gates=[{**HELD_OUT, "command": "touch $HOME/../runs; sleep 60"}])
    with project.start("run", "auth") as run:
        wait_for((project.folder / "runs").exists, what="the gate runs before the first attempt")
        run.send_signal(signal.SIGKILL)
    assert found_in(project.home / ".cache") != []
    project.config(gates=[HELD_OUT])
    look = f"ls -R {project.home}/.cache > {project.folder}/seen"
    project.script(does("US-001", "one.txt", run=[look]), VERIFIED)
    project.ralph("run", "auth", "--no-baseline")
    assert "zebra" not in (project.folder / "seen").read_text()
    assert found_in(project.home / ".cache") == []


def test_an_interrupted_run_leaves_none(project: Project) -> None:
    prepare(project)
    project.config(gates=[{**HELD_OUT, "command": "touch $HOME/../runs; sleep 60"}])
    project.script(does("US-001", "one.txt"), VERIFIED)
    with project.start("run", "auth", "--no-baseline") as run:
        wait_for((project.folder / "runs").exists)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)
    assert found_in(project.home / ".cache", project.path) == []


# what a gate is about


UNIT = {"name": "unit", "command": "true"}


def about(*tasks: str, wants: str = "two.txt") -> dict[str, Any]:
    count = f"echo $(ls *.txt) >> $HOME/../refund-runs; test -f {wants}"
    return {"name": "refunds", "command": count, "heldOut": True, "tasks": [*tasks]}


@pytest.mark.parametrize("name", ["auth/US-002", "payment"])
def test_a_gate_about_a_later_task_lets_the_earlier_ones_pass_and_proves_its_own(project: Project, name: str) -> None:
    prepare(project)
    project.config(gates=[about(name), UNIT])
    project.stories("One", {"title": "Two", "tags": ["payment"]})
    project.script(does("US-001", "one.txt"), does("US-002", "x.txt", times=1), does("US-002", "two.txt"), VERIFIED)
    done = project.ralph("run", "auth")
    assert "Before the first attempt: 1 gate" in done.stdout
    assert project.story("US-001")["retries"] == 0
    assert project.story("US-002")["retries"] == 1
    assert project.story("US-001")["lastResult"]["evidence"] == "regression-only"
    assert project.story("US-002")["lastResult"]["provenBy"] == ["refunds"]
    runs = (project.folder / "refund-runs").read_text().splitlines()
    assert runs[0] == "app.txt one.txt x.txt", "its first attempt is the first that the gate sees"


def test_once_its_task_has_passed_a_gate_guards_it_against_later_ones(project: Project) -> None:
    prepare(project)
    project.config(gates=[UNIT, about("auth/US-001", wants="one.txt")], maxRetries=1)
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"), {"match": "US-002", "run": ["git rm -q one.txt"], "done": True}, VERIFIED)
    project.ralph("run", "auth", code=3)
    assert project.story("US-001")["passes"]
    assert project.story("US-002")["blocked"]


def test_a_gate_about_another_plan_does_not_run(project: Project) -> None:
    prepare(project)
    project.config(gates=[UNIT, about("billing", "auth/US-009")])
    project.script(does("US-001", "one.txt"), VERIFIED)
    done = project.ralph("run", "auth")
    assert "The gate refunds is about auth/US-009, but the plan has no such task." in done.stdout
    assert not (project.folder / "refund-runs").exists()


# what cannot be held out


def test_a_tracked_file_is_refused_by_a_run_and_the_command_says_what_to_do(project: Project) -> None:
    prepare(project)
    project.write("tests/old.sh", "true\n")
    project.git("add", "tests")
    project.git("commit", "-q", "-m", "Visible")
    said = project.ralph("hold-out", "add", "tests/old.sh").stdout
    assert "Git tracks tests/old.sh: agents see that, and a run refuses to start." in said
    assert "Old commits still have these files" in said
    project.script(does("US-001", "one.txt"), VERIFIED)
    refused = project.ralph("run", "auth", code=1)
    assert "Git tracks tests/old.sh, so agents see what is held out." in refused.stderr
    assert project.calls() == 0
    [advice] = [line.strip() for line in said.splitlines() if line.strip().startswith("git rm")]
    project.types(advice)
    done = project.ralph("run", "auth")
    assert "Git still has the content of tests/old.sh" in done.stdout


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"gates": [{**HELD_OUT, "files": ["nothing/**"]}]}, "no held-out file matches nothing/**"),
        ({"heldOut": {"folder": "tests/hidden"}, "gates": [HELD_OUT]}, "inside the repository"),
        ({"heldOut": {"folder": ".."}, "gates": [HELD_OUT]}, "contains the repository"),
        ({"heldOut": {"folder": "../empty"}, "gates": [HELD_OUT]}, "there are none"),
        ({"gates": [HELD_OUT], "verify": {"where": "slot"}}, 'needs "verify": {"where": "clean"}'),
        ({"gates": [{**HELD_OUT, "heldOut": False, "files": ["a"]}]}, 'is used only with "heldOut": true'),
        ({"heldOut": {"tells": "all"}, "gates": [HELD_OUT]}, "heldOut.tells"),
    ],
)
def test_a_run_that_could_not_hold_out_anything_does_not_start(
    project: Project, settings: dict[str, Any], why: str
) -> None:
    prepare(project)
    project.config(**settings)
    project.script(does("US-001", "one.txt"), VERIFIED)
    assert why in project.ralph("run", "auth", code=1).stderr
    assert project.calls() == 0


@pytest.mark.parametrize(("folder", "why"), [("tests/hidden", "inside the repository"), ("..", "contains the repo")])
def test_validate_says_that_agents_would_see_the_folder(project: Project, folder: str, why: str) -> None:
    prepare(project)
    project.config(heldOut={"folder": folder}, gates=[HELD_OUT])
    assert why in project.ralph("validate", code=1).stdout


def test_a_folder_of_the_person_s_own(project: Project) -> None:
    prepare(project)
    project.ralph("hold-out", "remove", PATH, "--discard")
    (project.folder / "mine/tests").mkdir(parents=True)
    (project.folder / "mine" / PATH).write_text(CHECK)
    project.config(gates=[HELD_OUT], heldOut={"folder": "../mine"})
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    assert project.story()["lastResult"]["provenBy"] == ["hidden-suite"]


# the command


def test_files_go_into_the_store_and_back(project: Project) -> None:
    project.config(gates=[{**HELD_OUT, "files": ["tests"]}])
    project.write("tests/a.py", "a\n")
    project.write("tests/deep/b.sh", "b\n").chmod(0o755)
    project.write("data.txt", "data\n")
    assert project.ralph("hold-out", "list").stdout.startswith("Nothing is held out.")
    project.ralph("hold-out", "add", "tests", "tests/a.py", "data.txt")
    assert below(project.path / "tests") == []
    listed = json.loads(project.ralph("hold-out", "list", "--json").stdout)
    assert listed["files"] == [
        {"path": "data.txt", "bytes": 5, "gates": []},
        {"path": "tests/a.py", "bytes": 2, "gates": ["hidden-suite"]},
        {"path": "tests/deep/b.sh", "bytes": 2, "gates": ["hidden-suite"]},
    ]
    assert listed["folder"] == str(store(project) / "files")
    assert "data.txt  (no gate uses it)" in project.ralph("hold-out", "list").stdout
    assert project.ralph("hold-out", "show", "tests/deep/b.sh").stdout == "b\n"
    project.write("tests/a.py", "another\n")
    assert "Your checkout has another tests/a.py" in project.ralph("hold-out", "remove", "tests/a.py", code=1).stderr
    project.ralph("hold-out", "remove", "tests/deep/b.sh")
    assert (project.path / "tests/deep/b.sh").stat().st_mode & 0o111
    project.ralph("hold-out", "remove", "tests/a.py", "--discard")
    assert project.read("tests/a.py") == "another\n"
    assert [file["path"] for file in json.loads(project.ralph("hold-out", "list", "--json").stdout)["files"]] == [
        "data.txt"
    ]
    project.ralph("hold-out", "add", "tests")
    project.ralph("hold-out", "remove", "tests", "data.txt")
    assert {path.name for path in below(project.path / "tests")} == {"a.py", "b.sh"}
    assert project.ralph("hold-out", "list").stdout.startswith("Nothing is held out.")


def test_a_copy_can_stay_and_the_same_file_can_be_added_again(project: Project) -> None:
    project.config()
    project.write("a.py", "a\n")
    said = project.ralph("hold-out", "add", "a.py", "--copy").stdout
    assert '"heldOut": true' in said, "no gate runs it yet"
    project.ralph("hold-out", "add", "a.py", "--copy")
    project.write("a.py", "changed\n")
    refused = project.ralph("hold-out", "add", "a.py", code=1).stderr
    assert "Another version of a.py is held out already" in refused
    assert project.read("a.py") == "changed\n"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing.py", "There is no missing.py."),
        (".", "is not a file or a folder below the project"),
        ("../home/.gitconfig", "is not a file or a folder below the project"),
        ("/etc/hostname", "is not a file or a folder below the project"),
        (".git/config", "belongs to git or to Ralph"),
        ("ralph.config.json", "belongs to git or to Ralph"),
        ("link", "is a link"),
        ("linked/app.txt", "is a link"),
        ("empty", "has no files"),
        ("with-link", "with-link/l is a link"),
    ],
)
def test_bad_paths_are_refused_with_the_reason(project: Project, path: str, why: str) -> None:
    project.config()
    (project.path / "link").symlink_to("app.txt")
    (project.path / "linked").symlink_to(".")
    (project.path / "empty").mkdir()
    (project.path / "with-link").mkdir()
    (project.path / "with-link/l").symlink_to("../app.txt")
    project.write("good.py", "x")
    assert why in project.ralph("hold-out", "add", "good.py", path, code=1).stderr
    assert project.exists("good.py"), "nothing is moved if anything is refused"


def test_a_path_is_relative_to_where_one_is(project: Project) -> None:
    project.config()
    project.write("tests/.hidden.sh", "x\n")
    project.types("cd tests && ralph hold-out add .hidden.sh && ralph hold-out show .hidden.sh")
    assert project.ralph("hold-out", "show", "tests/.hidden.sh").stdout == "x\n"
    assert "did you mean 'tests/.hidden.sh'" in project.ralph("hold-out", "show", "tests/hidden.sh", code=1).stderr


def test_a_name_that_several_checks_share_is_not_skipped_for_all_of_them(project: Project) -> None:
    prepare(project, {"name": "second", "command": "true", "heldOut": True}, heldOut={"tells": "nothing"})
    project.script(does("US-001", "two.txt", say=["<ralph>DISPUTE:held-out check — it is wrong</ralph>"]))
    project.ralph("run", "auth", code=3)
    said = project.ralph("decide", "auth", "US-001", "--skip", "--yes", code=1).stderr
    assert "`held-out check` stands for 2 checks, second, hidden-suite: --skip would waive them all." in said
    assert "waived" not in project.story()
    project.ralph("decide", "auth", "US-001", "--gate-is-right", "--yes")


def test_doctor_looks_for_the_program_of_its_command(project: Project) -> None:
    prepare(project)
    assert f"gate `{HELD_OUT['command']}`: program found" in project.ralph("doctor", code=None).stdout


def test_a_manual_verification_leaves_them_out_and_says_so(project: Project) -> None:
    prepare(project, {"name": "unit", "command": "true"})
    done = project.ralph("verify")
    assert "Not run here: hidden-suite." in done.stderr
    assert "All gates are green." in done.stdout
