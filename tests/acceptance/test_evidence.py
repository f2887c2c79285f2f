"""RX.12: each passed task says what shows that it works: proven, regression-only, unverified or accepted."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import VERIFIED, Project, does, wait_for

GATE = "for test in tests/*.sh; do sh $test || exit 1; done"
TEST = {"tests/one.sh": "test -f one.txt\n"}


def prepare(project: Project, *gates: str, **more: Any) -> None:
    project.write("tests/app.sh", "test -f app.txt\n")
    project.git("add", "tests")
    project.git("commit", "-q", "-m", "A test")
    project.config(*(gates or (GATE,)), **more)
    project.stories("One")


def with_test(**more: Any) -> dict[str, Any]:
    return {"match": r"\*\*ID:\*\* US-001\b", "write": {"one.txt": "x\n", **TEST}, "done": True, **more}


def evidence(project: Project, branch: str = "ralph/auth") -> list[str]:
    lines = project.git("log", "--format=%(trailers:key=Ralph-Evidence,valueonly)", branch).splitlines()
    return [line for line in lines if line]


def test_a_test_that_fails_without_the_work_proves_it(project: Project) -> None:
    prepare(project)
    project.script(with_test(), VERIFIED)

    done = project.ralph("run", "auth")

    assert f"✓ proven: `{GATE}` fails without this work" in done.stdout
    assert "US-001 passed, proven" in done.stdout
    assert "1 of 1 task proven" in done.stdout
    result = project.story()["lastResult"]
    assert (result["evidence"], result["provenBy"]) == ("proven", [GATE])
    assert evidence(project) == ["proven"]
    [ended] = [event for event in project.events("attempt_ended") if event["kind"] == "task"]
    assert (ended["evidence"], ended["proven_by"]) == ("proven", [GATE])
    [plan] = json.loads(project.ralph("status", "--json").stdout)
    assert (plan["proven"], plan["tasks"][0]["evidence"]) == (1, "proven")
    assert "(proven)" in project.ralph("status", "auth").stdout
    assert "2 insertions(+), proven" in project.ralph("attempts", "auth").stdout
    attempt = next(one for one in json.loads(project.ralph("attempts", "auth", "--json").stdout) if one["evidence"])
    assert (attempt["evidence"], attempt["provenBy"]) == ("proven", [GATE])


def test_green_work_without_such_a_test_is_regression_only(project: Project) -> None:
    prepare(project)
    project.script(does("US-001", "one.txt"), VERIFIED)
    done = project.ralph("run", "auth")
    assert "regression-only: nothing fails without this work" in done.stdout
    assert project.story()["lastResult"]["evidence"] == "regression-only"
    assert evidence(project) == ["regression-only"]


def test_a_test_that_passes_without_the_work_proves_nothing(project: Project) -> None:
    prepare(project)
    project.script(with_test(write={"one.txt": "x\n", "tests/one.sh": "test -f app.txt\n"}), VERIFIED)
    project.ralph("run", "auth")
    assert project.story()["lastResult"]["evidence"] == "regression-only"


def test_a_test_that_fails_without_its_own_new_helper_proves_nothing(project: Project) -> None:
    prepare(project)
    files = {"tests/one.sh": ". tests/helper\nhelp\n", "tests/helper": "help() { true; }\n"}
    project.script(with_test(write={"one.txt": "x\n", **files}), VERIFIED)
    assert "regression-only: nothing fails without this work" in project.ralph("run", "auth").stdout


def test_a_gate_that_was_red_before_proves_the_work_and_is_not_run_again_for_it(project: Project) -> None:
    count = "echo x >> $HOME/../gate-runs; test -f one.txt"
    prepare(project, count)
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    assert project.story()["lastResult"]["provenBy"] == [count]
    runs = (project.folder / "gate-runs").read_text().count("x")
    assert runs == 4, "before the first attempt, once more with a person's files, after it, and at the end"


def test_green_work_on_a_base_that_is_known_costs_no_gate_more(project: Project) -> None:
    prepare(project, "echo x >> $HOME/../gate-runs")
    project.script(does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth")
    assert (project.folder / "gate-runs").read_text().count("x") == 3


def test_a_proof_can_be_required(project: Project) -> None:
    prepare(project, verify={"require": "proven"})
    project.script(does("US-001", "one.txt", times=1), with_test(), VERIFIED)
    project.ralph("run", "auth")
    assert "Write a test that fails without your change" in project.prompts()[1]
    assert project.story()["retries"] == 1
    assert project.story()["lastResult"]["evidence"] == "proven"


def test_a_proof_can_be_required_of_some_tasks(project: Project) -> None:
    prepare(project, verify={"require": "proven", "requireFor": ["core"]}, maxRetries=1)
    project.stories({"title": "One", "tags": ["core"]}, "Two")
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"))
    project.ralph("run", "auth", code=3)
    assert project.story("US-001")["blocked"]
    assert project.story("US-002")["lastResult"]["evidence"] == "regression-only"


def test_without_a_gate_it_is_unverified_and_a_person_s_word_is_accepted(project: Project) -> None:
    prepare(project)
    project.config()
    project.stories("One", "Two")
    project.script(does("US-001", "one.txt"))
    project.ralph("run", "auth", "--once", code=3)
    assert project.story()["lastResult"]["evidence"] == "unverified"
    project.ralph("accept", "auth", "US-002", "--why", "seen", "--yes")
    assert project.story("US-002")["lastResult"]["evidence"] == "accepted"


REPORT = "r.xml"
RUNNER = """
echo '<testsuite>' > r.xml; red=0
for test in tests/*.sh; do
  if sh $test; then echo "<testcase classname='t' name='$test'/>"; else
    red=1; echo "<testcase classname='t' name='$test'><failure message='it is red'/></testcase>"; fi
done >> r.xml
echo '</testsuite>' >> r.xml; exit $red
"""


def with_reports(project: Project, command: str = "sh run-tests") -> None:
    prepare(project)
    project.write("run-tests", RUNNER)
    project.git("add", "run-tests")
    project.git("commit", "-q", "-m", "A runner")
    project.config(gates=[{"name": "lint", "command": "true"}, {"name": "t", "command": command, "report": REPORT}])


def test_with_a_report_the_tests_are_named(project: Project) -> None:
    with_reports(project)
    project.script(with_test(), VERIFIED)
    project.ralph("run", "auth")
    result = project.story()["lastResult"]
    assert result["provenBy"] == ["t › tests/one.sh"]
    assert result["verify"][1]["tests"] == "2 passed"


def test_a_failing_test_is_in_the_next_prompt_with_its_name(project: Project) -> None:
    with_reports(project)
    project.script(with_test(write=TEST, times=1), with_test(), VERIFIED)
    project.ralph("run", "auth")
    assert "t › tests/one.sh\nit is red" in project.prompts()[1]


def test_a_gate_that_no_longer_writes_its_report_is_red(project: Project) -> None:
    with_reports(project)
    forged = {"run-tests": "exit 0\n", REPORT: "<testsuite><testcase name='forged'/></testsuite>"}
    project.script(with_test(write=forged, times=1), with_test(write={"run-tests": RUNNER, "one.txt": "x", **TEST}))
    project.ralph("run", "auth", "--once", code=3)
    assert "exit code 0, but it wrote no report (r.xml)" in project.story()["notes"]


def test_killed_while_it_looks_for_evidence_it_verifies_again(project: Project) -> None:
    slow = "test -f one.txt || test -e $HOME/../go || { touch $HOME/../waits; sleep 60; }"
    prepare(project, GATE, slow)
    project.script(with_test(write={"one.txt": "x\n", "tests/one.sh": "true\n"}), VERIFIED)
    run = project.start("run", "auth", "--no-baseline")
    wait_for((project.folder / "waits").exists)
    run.kill()
    run.communicate()
    (project.folder / "go").touch()
    project.ralph("run", "auth")
    assert project.story()["lastResult"]["evidence"] == "regression-only"
    assert project.calls() == 2, "the agent's work was kept"
