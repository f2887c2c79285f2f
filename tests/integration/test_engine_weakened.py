"""What the gates tell about the tests that ran: one that ran on the base and not on the work is missed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ralph.engine.baseline import check_baseline
from ralph.engine.loop import work_through
from ralph.journal.events import Audited, EvidenceEnded
from ralph.plan.attempt import StepResult
from ralph.plan.evidence import Evidence
from ralph.plan.work import Ending, Finished, Verdict
from ralph.steps.base import Context
from tests.conftest import Project
from tests.integration.engine import Engine, Turn, engine

pytestmark = pytest.mark.usefixtures("played", "nobody_left")

RUNNER = """
for test in t/*.sh; do
  name=$(basename $test .sh)
  case " $SKIP " in *" $name "*) said="$said<testcase classname='t' name='$name'><skipped/></testcase>"; continue;; esac
  sh $test || exit 1
  said="$said<testcase classname='t' name='$name'/>"
done
echo "<testsuite>$said</testsuite>" > r.xml
"""
REPORTED = {"name": "t", "command": ". ./which; . ./run", "report": "r.xml"}
COUNTED = {"name": "t", "command": f"{sys.executable} -m unittest"}
SCRIPTS = {"run": RUNNER, "which": "SKIP=", "t/a.sh": "grep -q suite run\n", "t/b.sh": "grep -q basename run\n"}
CASE = (
    "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_{0}(self):\n        self.assertEqual({0}, {0})\n"
)
FEWER = "globals()['load_' + 'tests'] = lambda *_: __import__('unittest').TestSuite()\n"


def leaves(files: dict[str, str]) -> Turn:
    async def turn(context: Context) -> StepResult:
        assert context.copy
        for name, text in files.items():
            (context.cwd / name).write_text(text)
        taken = await context.copy.take(context.base, f"{context.label} made this")
        return StepResult(step="played", verdict=Verdict.PASSED, commit=taken.commit, changed=bool(taken.changes))

    return turn


def run(
    project: Project, gate: dict[str, Any], turn: Turn, *, baseline: bool = True, **verify: str
) -> tuple[Finished, Engine]:
    async def body(made: Engine) -> tuple[Finished, Engine]:
        if baseline:
            await check_baseline(made.run)
        return await work_through(made.run, made.slots), made

    settings = {"gates": [gate], "verify": {"default": [], **verify}, "maxRetries": 1}
    done: tuple[Finished, Engine] = engine(project, body, turns={"US-001": [turn]}, **settings)
    return done


def committed(project: Project, files: dict[str, str]) -> None:
    for name, text in files.items():
        project.write(name, text)
    project.git("add", "-A")
    project.git("commit", "-qm", "Tests")


def said(made: Engine) -> list[str]:
    return [text for event in made.told(Audited) for text in (*event.failed, *event.held, *event.told)]


@pytest.mark.parametrize("baseline", [True, False])
def test_a_test_that_the_report_no_longer_has_fails_the_attempt(person: Project, baseline: bool) -> None:
    committed(person, SCRIPTS)
    hides = leaves({"which": "SKIP=; rm t/b.sh\n", "t/c.sh": "grep -q skipped run\n"})

    end, made = run(person, REPORTED, hides, baseline=baseline)

    assert end.ending is Ending.BLOCKED
    assert "t/b.sh:1: the test `b.sh` ran on the base and no longer runs, but is still there" in said(made)


def test_a_test_that_the_report_says_is_skipped_now_fails_the_attempt(person: Project) -> None:
    committed(person, SCRIPTS)
    end, made = run(person, REPORTED, leaves({"which": "SKIP=b\n"}))
    assert end.ending is Ending.BLOCKED
    assert "t/b.sh:1: the test `b.sh` ran on the base and is skipped now" in said(made)


def test_fewer_tests_in_the_runners_own_count_fail_the_attempt(person: Project) -> None:
    cases = {f"tests/test_{number}.py": CASE.format(number) for number in (1, 2, 3)}
    committed(person, {**cases, "tests/__init__.py": ""})
    end, made = run(person, COUNTED, leaves({"tests/__init__.py": FEWER}))
    assert end.ending is Ending.BLOCKED
    assert "gate t: it ran 0 tests, and 3 on the base" in said(made)


def test_further_tests_raise_no_concern(person: Project) -> None:
    committed(person, SCRIPTS)
    end, made = run(person, REPORTED, leaves({"t/c.sh": "grep -q skipped run\n"}))
    assert end.ending is Ending.DONE
    assert said(made) == []


@pytest.mark.parametrize(
    ("work", "evidence"),
    [
        ({"check": "echo ok\n"}, Evidence.REGRESSION_ONLY),
        ({"check": "test -f done && echo ok\n", "done": ""}, Evidence.PROVEN),
    ],
)
def test_a_gate_that_the_work_redefines_does_not_prove_its_own_change(
    person: Project, work: dict[str, str], evidence: Evidence
) -> None:
    committed(person, {"check": "test -f done\n"})
    end, made = run(person, {"name": "t", "command": "sh ./check"}, leaves(work))
    assert end.ending is Ending.BLOCKED, "it is held"
    changed = f"`test -f done` is now `{work['check'].strip()}`"
    assert said(made) == [f"check:1: in the script of the gate `check`, {changed}"]
    assert [event.evidence for event in made.told(EvidenceEnded)] == [evidence]


def test_unproven_work_is_told_that_it_alters_what_the_gates_run(person: Project) -> None:
    committed(person, {"check": "test -f app.txt\n"})
    _, made = run(person, {"name": "t", "command": "sh ./check"}, leaves({"check": "echo ok\n"}), require="proven")
    assert "Write a test that fails without your change" in made.task().notes
    assert "take it back: check:1: in the script of the gate `check`, `test -f app.txt` is now" in made.task().notes
