"""RX.13: tests and gate definitions cannot be weakened unseen."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from typing import Any

import pytest

from tests import warm
from tests.conftest import VERIFIED, Project, does

TEST = "def test_app():\n    assert open('app.txt').read() == 'app\\n'\n"
MAKEFILE = "check:\n\tpython3 -c \"import sys; sys.path[:0] = ['.']; import test_app; test_app.test_app()\"\n"


def prepare(project: Project, **more: Any) -> None:
    project.write("test_app.py", TEST)
    project.write("Makefile", MAKEFILE)
    project.git("add", "test_app.py", "Makefile")
    project.git("commit", "-q", "-m", "A test")
    project.config("make -s check", **more)
    project.stories("One")


def cheats(**files: str) -> dict[str, Any]:
    return does("US-001", "one.txt", write={"one.txt": "x\n", **files}, run=[])


WEAKER = {"Makefile": "check:\n\ttrue\n"}


def test_a_gate_that_was_made_to_do_nothing_is_held_for_a_person(project: Project) -> None:
    prepare(project)
    project.script(cheats(**WEAKER), VERIFIED)

    done = project.ralph("run", "auth", code=3)

    assert "needs approval: Makefile:1" in done.stdout
    assert "US-001 is held" in done.stdout
    assert "US-001 (held)" in done.stdout
    assert '→ ralph approve auth US-001, or ralph decide auth US-001 --note "…"' in done.stdout
    story = project.story()
    assert (story["passes"], story["blocked"], story["retries"]) == (False, True, 0)
    assert story["need"]["kind"] == "approval"
    [plan] = json.loads(project.ralph("status", "--json").stdout)
    assert plan["tasks"][0]["state"] == "held"
    assert "one.txt" not in project.files_in("ralph/auth")
    assert "one.txt" in project.files_in("refs/ralph/attempts/auth/US-001/1")


def test_what_a_person_approves_lands_without_an_agent(project: Project) -> None:
    prepare(project)
    project.script(cheats(**WEAKER), VERIFIED)
    project.ralph("run", "auth", code=3)
    calls = project.calls()

    said = project.ralph("approve", "auth", "US-001", "--yes").stdout
    assert "approved: Makefile:1" in said
    project.ralph("run", "auth")

    assert project.calls() == calls + 1, "only the final verification"
    assert project.landed("Makefile") == WEAKER["Makefile"].strip()
    [concern] = project.story()["lastResult"]["concerns"]
    shown = project.ralph("status", "auth", "--task", "US-001").stdout
    assert f"it may have weakened the checks, approved by a person: {concern}" in " ".join(shown.split())
    [plan] = json.loads(project.ralph("status", "--json").stdout)
    assert plan["tasks"][0]["concerns"] == [concern]
    assert project.story().get("need") is None


def test_only_a_person_approves_and_only_what_is_held(project: Project) -> None:
    prepare(project)
    project.script(cheats(**WEAKER))
    assert "not held" in project.ralph("approve", "auth", "US-001", "--yes", code=1).stderr
    project.ralph("run", "auth", code=3)
    assert "there is no terminal" in project.ralph("approve", "auth", "US-001", code=1).stderr
    assert project.story()["blocked"]


def test_an_agent_cannot_approve_its_own_work(project: Project) -> None:
    prepare(project)
    approve = f"cd $RALPH_ROOT && {project.env['PATH'].split(':')[0]}/ralph approve auth US-001 --yes"
    project.stories("One", "Two")
    project.script(cheats(**WEAKER), does("US-002", "two.txt", run=[f"{approve} > approve.log 2>&1; true"]))
    project.ralph("run", "auth", code=3)
    assert project.story("US-001")["need"]["kind"] == "approval"


def test_after_a_retry_an_agent_works_again(project: Project) -> None:
    prepare(project)
    project.script({**cheats(**WEAKER), "times": 1}, cheats(Makefile=MAKEFILE), VERIFIED)
    project.ralph("run", "auth", code=3)
    project.ralph("retry", "auth", "US-001")
    project.ralph("run", "auth")
    assert project.landed("Makefile") == MAKEFILE.strip()


def test_a_test_that_is_gone_fails_the_attempt_and_the_agent_is_told(project: Project) -> None:
    prepare(project)
    aside = "def helper_app():\n    pass\n\n\ntest_app = helper_app\n"
    gone = {**cheats(**{"test_app.py": aside}), "times": 1}
    project.script(gone, cheats(**{"test_app.py": TEST}), VERIFIED)
    project.ralph("run", "auth")
    assert "The work weakened the checks" in project.prompts()[1]
    assert "test_app" in project.prompts()[1]
    assert project.story()["retries"] == 1


def test_a_test_that_is_no_program_any_more_is_skipped(project: Project) -> None:
    project.write("tests/test_app.sh", "#!/bin/sh\ntest -s app.txt\n")
    project.git("add", "tests")
    project.git("update-index", "--chmod=+x", "tests/test_app.sh")
    project.git("commit", "-q", "-m", "A test")
    project.config("for test in tests/*; do ! test -x $test || $test || exit 1; done")
    project.stories("One")
    project.script(does("US-001", "one.txt", run=["chmod -x tests/test_app.sh"]), VERIFIED)
    done = project.ralph("run", "auth", code=3)
    assert "tests/test_app.sh: the test file can no longer be run as a program" in done.stdout


def test_a_looser_assertion_is_told_but_not_to_the_agent(project: Project) -> None:
    prepare(project, maxRetries=2)
    looser = "def test_app():\n    assert open('app.txt').read()\n"
    red = {**cheats(**{"test_app.py": looser}), "run": ["rm app.txt"], "times": 1}
    project.script(red, cheats(**{"test_app.py": looser, "app.txt": "app\n"}), VERIFIED)
    done = project.ralph("run", "auth")
    assert "note: test_app.py:2" in done.stdout
    assert any("test_app.py:2" in text for text in project.story()["lastResult"]["concerns"])
    assert "test_app.py:2" not in project.prompts()[1]


def test_a_task_that_says_so_may_change_them(project: Project) -> None:
    prepare(project)
    project.stories({"title": "One", "may": ["Makefile"]})
    project.script(cheats(**WEAKER), VERIFIED)
    done = project.ralph("run", "auth")
    assert "needs approval" not in done.stdout
    assert "may change tests and gates: Makefile" in project.ralph("status", "auth", "--task", "US-001").stdout


def test_consequences_can_be_chosen(project: Project) -> None:
    prepare(project, integrity={"definitions": "fail"}, maxRetries=1)
    project.script(cheats(**WEAKER))
    project.ralph("run", "auth", code=3)
    assert "The work weakened the checks: Makefile:1" in project.story()["notes"]
    assert project.story()["retries"] == 1


def test_honest_work_raises_no_concern(project: Project) -> None:
    prepare(project)
    more = TEST + "\n\ndef test_one():\n    assert open('one.txt').read()\n"
    target = MAKEFILE + "\ndocs:\n\techo docs\n"
    project.script(cheats(**{"test_app.py": more, "Makefile": target}), VERIFIED)
    project.ralph("run", "auth")
    assert project.events("audited") == []


def test_a_reviewer_decides_instead_of_a_person(project: Project) -> None:
    prepare(project, review={})
    answer = {"verdict": "qualified", "findings": [], "summary": "fine"}
    reviewer = {"match": "# Task Review", "answer": answer}
    project.script(reviewer, cheats(**WEAKER), VERIFIED)
    project.ralph("run", "auth")
    [prompt] = [text for text in project.prompts() if "# Task Review" in text]
    assert "What Changed About the Checks" in prompt
    assert "Makefile:1" in prompt
    assert project.story()["passes"]


@pytest.mark.parametrize(("answer", "protected"), [(b"y\n", ["Makefile"]), (b"\n", [])])
def test_init_asks_whether_to_protect_what_defines_the_gates(
    project: Project, answer: bytes, protected: list[str]
) -> None:
    project.write("Makefile", MAKEFILE)
    (project.path / "ralph.config.json").unlink(missing_ok=True)
    ours, theirs = pty.openpty()
    how: dict[str, Any] = {"cwd": project.path, "env": project.env, "stdin": theirs, "stdout": subprocess.PIPE}
    with warm.popen(["init", "--verify", "make -s check"], stderr=subprocess.STDOUT, **how) as started:
        os.write(ours, answer)
        out, _ = started.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "  Makefile\n" in out
    assert json.loads(project.read("ralph.config.json"))["protect"] == protected


def test_init_protects_without_a_question_if_told_to_and_changes_no_configuration(project: Project) -> None:
    project.write("Makefile", MAKEFILE)
    (project.path / "ralph.config.json").unlink(missing_ok=True)
    assert "To protect them" in project.ralph("init", "--verify", "make -s check").stdout
    assert json.loads(project.read("ralph.config.json"))["protect"] == []
    before = project.read("ralph.config.json")
    assert "  Makefile\n" in project.ralph("init", "--protect").stdout
    assert project.read("ralph.config.json") == before
    (project.path / "ralph.config.json").unlink()
    project.ralph("init", "--verify", "make -s check", "--protect")
    assert json.loads(project.read("ralph.config.json"))["protect"] == ["Makefile"]
