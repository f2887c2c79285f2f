"""Acceptance tests by a tester, in each workflow, with the installed command and scripted agents."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import requests, sessions, specs
from tests.acceptance.requests import builds
from tests.conftest import VERIFIED, Project, does
from tests.instants import cut_short, resumed, states

GATE = "for each in tests/*.sh; do [ ! -e $each ] || sh $each || exit 1; done"
TESTING = "# Writing Acceptance Tests"
TEST = "tests/one.sh"


def writes(text: str = "grep -qs quagga 1.txt\n", **more: Any) -> dict[str, Any]:
    """The tester's turn."""
    return {"match": TESTING, "write": {TEST: text}, **more}


def landed(project: Project, branch: str) -> str:
    return project.git("show", f"{branch}:{TEST}")


def test_the_guide_does_what_it_says(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/acceptance-tests.md").read_text()
    blocks = dict(re.findall(r"```(json|sh|)\n(.*?)```", guide[guide.index("## Try it") :], re.DOTALL))
    project = Project(tmp_path)
    for line in blocks["sh"].splitlines():
        subprocess.run(line, shell=True, cwd=project.path, env=project.env, check=True, capture_output=True)
    project.write("agent.json", blocks["json"])
    config = project.read("ralph.config.json")
    project.write("ralph.config.json", config.replace("{", '{"acceptance": {},', 1))

    project.ralph("prd", "hello", "--yes")
    shown = project.ralph("run", "hello").stdout

    untimed = re.sub(r" · [0-9.]+ s\n|^[0-9:]{8} ", "\n", shown, flags=re.MULTILINE)
    for line in blocks[""].strip().splitlines():
        assert line.strip() in untimed, untimed
    assert "hello, world" in project.git("show", "ralph/hello:tests/hello.sh")
    [story] = project.plan("hello")["userStories"]
    assert story["lastResult"]["evidence"] == "proven"
    assert story["lastResult"]["tester"]
    for shown_config in re.findall(r"```json\n(.*?)```", guide[: guide.index("## Try it")], re.DOTALL):
        project.write("ralph.config.json", json.dumps({**json.loads(config), **json.loads(shown_config)}))
        assert "✓ ralph.config.json" in project.ralph("validate", code=None).stdout


def test_a_task_of_a_request(project: Project) -> None:
    project.config(GATE, acceptance={})
    project.script(
        requests.research(), requests.decisions(), requests.plans(requests.task("Model")), writes(times=1),
        builds(1, text="zebra\n", times=1), builds(1, text="quagga\n"),
    )  # fmt: skip
    project.ralph("plan", requests.REQUEST, "--yes")
    project.ralph("start")

    assert "quagga" in landed(project, "ralph/request")
    assert [event["is_new"] for event in project.events("acceptance_ready")] == [True, False]


def test_a_tester_may_make_a_folder_of_tests_a_package(project: Project) -> None:
    test = "import os\nimport unittest\n\n\nclass T(unittest.TestCase):\n    def test_{0}(self):\n        assert {1}\n"
    marker = {"tests/__init__.py": ""}
    project.config("python3 -m unittest -q", acceptance={"heldOut": True})
    project.stories("One", "Two")
    project.script(
        {"match": f"{TESTING}(.|\n)*One", "times": 1, "write": {**marker, "tests/__init__.py": "x = 1\n"}},
        {
            "match": f"{TESTING}(.|\n)*One",
            "write": {**marker, "tests/test_one.py": test.format("one", "os.path.exists('one.txt')")},
        },
        {
            "match": f"{TESTING}(.|\n)*Two",
            "write": {**marker, "tests/test_two.py": test.format("two", "os.path.exists('two.txt')")},
        },
        does("US-001", "one.txt"),
        does("US-002", "two.txt"),
        VERIFIED,
    )
    done = project.ralph("run", "auth")

    assert "tests/__init__.py is not a test file" in done.stdout, "one with code is not only a mark"
    assert "2 of 2 tasks proven" in done.stdout


def test_a_task_of_a_spec(project: Project) -> None:
    project.config(GATE, acceptance={})
    specs.write_plan(project, specs.spec("shop", specs.task("T-1", acceptanceCriteria=["It says quagga"])))
    project.script(writes(times=1), specs.builds("T-1", "1.txt", "quagga\n"))
    project.ralph("start", "build")

    assert "quagga" in landed(project, specs.BRANCH)
    assert specs.tasks(project)["T-1"]["status"] == "completed"


def test_a_task_of_the_requirements(project: Project) -> None:
    project.config(GATE, acceptance={})
    entry = {"id": "TASK-001", "title": "One", "acceptance_criteria": ["It says quagga"]}
    project.write(".ralph/prd.json", json.dumps({"version": 1, "tasks": [entry]}))
    project.write(".ralph/requirements.md", "# A shop\n")
    steps = [{"type": "agent"}, {"type": "verify"}, {"type": "git-commit"}]
    project.write(".ralph/configs/default.json", json.dumps({"name": "default", "steps": steps}))
    project.script(writes(times=1), {"match": "TASK-001", "write": {"1.txt": "quagga\n"}, "done": True})
    project.ralph("run", "requirements")

    assert "quagga" in landed(project, "ralph/requirements")


def test_a_task_of_a_session_and_its_executor_disputes_the_tests(project: Project) -> None:
    """The reviewer finds them wrong, so the tester writes them again, and the executor makes those pass."""
    cases = r"""
*) case "$prompt" in
    *"# Writing Acceptance Tests"*)
        echo tester >> "$AT/roles"
        mkdir -p tests
        if [ -e tests/one.sh ]; then echo 'grep -q execute task-1.txt' > tests/one.sh
        else echo 'grep -q okapi task-1.txt' > tests/one.sh; fi ;;
    *"# A Dispute About"*)
        echo reviewer >> "$AT/roles"
        answer=$(printf '%s\n' "$prompt" | sed -n 's/.*to the file `\(.*\)`.*/\1/p')
        echo '{"tests": "wrong", "reason": "nobody asked for an okapi"}' > $answer ;;
    *) case "$WHO" in
        "execute task-1 1")
            [ -e "$AT/disputed" ] && usual && exit
            touch "$AT/disputed"; report; mark task-1 P; echo '<ralph>DISPUTE:acceptance tests — an okapi?</ralph>' ;;
        *) usual ;;
       esac ;;
   esac ;;
esac
case x in
"""
    sessions.plays(project, cases, GATE, acceptance={})
    sessions.plan(project, "task-1")
    sessions.session(project)

    assert (project.folder / "roles").read_text().split() == ["tester", "reviewer", "tester"]
    shown = project.ralph("status", sessions.ID).stdout
    assert "(proven)" in shown, "a session's files do not say it; the journal does"
    assert "1 proven" in project.ralph("report", sessions.ID).stdout
    assert "grep -q execute" in landed(project, sessions.BRANCH)
    assert sessions.marks(project)["task-1"] == "x"


def test_a_person_decides_about_disputed_tests(project: Project) -> None:
    project.config(GATE, acceptance={})
    project.stories("One")
    disputes = "<ralph>DISPUTE:acceptance test one.sh — it must say okapi</ralph>"
    project.script(writes(times=1), {"match": r"ID:\*\* US-001", "say": [disputes]})
    project.ralph("run", "auth", code=3)

    shown = project.ralph("status", "auth").stdout
    assert "its agent disputes its acceptance tests" in shown
    assert "--gate-is-right" in shown

    decided = project.ralph("decide", "auth", "US-001", "--note", "It must say okapi", "--yes").stdout
    assert "written again" in decided
    project.script(
        writes("grep -qs okapi one.txt\n", match=f"{TESTING}(.|\n)*It must say okapi"),
        does("US-001", "one.txt", "okapi\n"),
        VERIFIED,
    )
    project.ralph("run", "auth")
    assert "okapi" in landed(project, "ralph/auth")


def test_held_out_tests_without_a_name_of_their_own_can_be_disputed_too(project: Project) -> None:
    project.config(GATE, acceptance={"heldOut": True}, heldOut={"tells": "nothing"})
    project.stories("One")
    project.script(
        writes(), {"match": r"ID:\*\* US-001", "say": ["<ralph>DISPUTE:held-out check — it is wrong</ralph>"]}
    )
    project.ralph("run", "auth", code=3)
    decided = project.ralph("decide", "auth", "US-001", "--note", "It must say okapi", "--yes").stdout
    assert "written again, and the tester is told" in decided


def test_a_person_does_without_the_tests_that_a_tester_cannot_write(project: Project) -> None:
    project.config(GATE, acceptance={})
    project.stories("One")
    project.script(writes("true\n"), does("US-001", "one.txt"), VERIFIED)
    project.ralph("run", "auth", code=3)
    assert "has no acceptance tests: The tester wrote no usable acceptance tests in 3 tries" in (
        " ".join(project.ralph("status", "auth").stdout.split())
    )

    project.ralph("decide", "auth", "US-001", "--skip", "--yes")
    project.ralph("run", "auth")

    assert project.story()["passes"]
    assert TEST not in project.files_in("ralph/auth")


AGENT = r"""
prompt=$(cat)
case "$prompt" in
*"# Writing Acceptance Tests"*)
    echo tester >> "$AT/calls"; mkdir -p tests; echo 'grep -qs quagga one.txt' > tests/one.sh ;;
*"Final Verification"*)
    echo '<ralph>VERIFIED</ralph>' ;;
*)
    test -e tests/one.sh || exit 1
    echo quagga > one.txt; echo '<ralph>DONE</ralph>' ;;
esac
"""


@pytest.mark.long
@pytest.mark.parametrize("held_out", [False, True])
def test_killed_at_any_instant_no_tester_is_called_for_nothing(project: Project, held_out: bool) -> None:
    agent = project.folder / "agent.sh"
    sees = "! test -e" if held_out else "test -e"
    agent.write_text(f"AT={project.folder}\n{AGENT.replace('test -e tests', f'{sees} tests')}")
    project.config(GATE, provider={"command": "/bin/sh", "args": [str(agent)]}, acceptance={"heldOut": held_out})
    project.stories("One")
    calls = project.folder / "calls"
    for state in states(project, "run", "auth", "--once", least=40):
        is_kept = bool(list(project.home.glob(".local/share/ralph/held-out/*/acceptance/auth/US-001.tests.json")))
        before = len(calls.read_text().split()) if calls.exists() else 0
        if not resumed(project, "run", "auth", may_repeat=cut_short(project)):
            continue

        assert len(calls.read_text().split()) == before + (not is_kept), state
        assert project.story()["lastResult"]["evidence"] == "proven", state
        assert (TEST in project.files_in("ralph/auth")) is not held_out, state
        assert not list(project.path.glob(".ralph/worktrees/.tests/*/tests")), state
