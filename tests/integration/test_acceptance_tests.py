"""Acceptance tests, in this process: the tester and the reviewer are scripts, the gates and git are real."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph.engine.decisions import decide
from ralph.engine.loop import work_through
from ralph.journal.events import AcceptanceReady, AgentStarted, Ruled, StepRetried
from ralph.plan.acceptance_tests import ACCEPTANCE
from ralph.plan.attempt import StepResult
from ralph.plan.decision import TaskDecision
from ralph.plan.evidence import Evidence
from ralph.plan.model import Need, NeedKind, Plan, TaskState
from ralph.plan.work import Ending, Finished, Verdict
from ralph.steps.base import Context
from tests.conftest import Project
from tests.integration.engine import Engine, Turn, engine, says, writes

pytestmark = pytest.mark.usefixtures("played", "nobody_left")

GATE = "for each in tests/*.sh; do [ ! -e $each ] || sh $each || exit 1; done"
TEST = "tests/one.sh"
WRITES = f"mkdir -p tests; echo 'grep -qs quagga one.txt' > {TEST}"
RIGHT, WRONG = writes(one="quagga\n"), writes(one="zebra\n")
DISPUTE = Need(kind=NeedKind.DISPUTE, why="it must say okapi", gate=ACCEPTANCE)


class Scripts:
    """The tester and the reviewer: what each does in its calls, as shell; the last one is repeated."""

    def __init__(self, project: Project) -> None:
        self.folder = project.folder / "scripts"
        self.folder.mkdir()
        self.program = self.folder / "agent"
        self.program.write_text(
            f"""#!/bin/sh
cat > {self.folder}/prompt
who=tester; grep -q '^# A Dispute' {self.folder}/prompt && who=reviewer
echo $who >> {self.folder}/calls
number=$(grep -c $who {self.folder}/calls)
cp {self.folder}/prompt {self.folder}/$who.$number.prompt
while [ ! -e {self.folder}/$who.$number ]; do number=$((number - 1)); done
. {self.folder}/$who.$number
echo finished
"""
        )
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def play(self, who: str, *calls: str) -> None:
        for number, text in enumerate(calls, 1):
            (self.folder / f"{who}.{number}").write_text(f"{text}\n")

    def rule(self, *rulings: tuple[str, str]) -> None:
        answer = "set -- $(sed -n 's/.*to the file `\\(.*\\)`.*/\\1/p' %s/prompt); cat > $1 <<'END'\n%s\nEND"
        texts = [json.dumps({"tests": tests, "reason": reason}) for tests, reason in rulings]
        self.play("reviewer", *(answer % (self.folder, text) for text in texts))

    def calls(self, who: str) -> int:
        path = self.folder / "calls"
        return path.read_text().split().count(who) if path.exists() else 0

    def prompt(self, who: str, number: int) -> str:
        return (self.folder / f"{who}.{number}.prompt").read_text()


@pytest.fixture
def scripts(person: Project) -> Scripts:
    made = Scripts(person)
    made.play("tester", WRITES)
    return made


def run(
    project: Project,
    scripts: Scripts,
    *turns: Turn,
    first: Callable[[Engine], None] = lambda _: None,
    **more: Any,
) -> tuple[Finished, Engine]:
    """Work a plan of one story through, and say how the run ended."""

    async def body(made: Engine) -> tuple[Finished, Engine]:
        first(made)
        return await work_through(made.run, made.slots), made

    settings = {"acceptance": {}, "gate": GATE, "stories": ("One",), **more}
    provider = {"command": str(scripts.program)}
    done: tuple[Finished, Engine] = engine(
        project, body, turns={"US-001": list(turns or (RIGHT,))}, provider=provider, **settings
    )
    return done


def only_file(project: Project, text: str) -> Path:
    """A file with this content, outside of the project."""
    path = project.folder / "content"
    path.write_text(text)
    return path


def sees(seen: list[str], then: Turn) -> Turn:
    """A turn that first notes which tests its agent finds."""

    async def turn(context: Context) -> StepResult:
        seen.append(" ".join(sorted(path.name for path in context.cwd.glob("tests/*"))))
        return await then(context)

    return turn


def reading(plan: Plan, decision: TaskDecision, note: str = "") -> Plan:
    return decide(plan, "US-001", decision, note)


def test_tests_that_were_red_land_with_the_work_and_prove_it(person: Project, scripts: Scripts) -> None:
    seen: list[str] = []
    end, made = run(person, scripts, sees(seen, RIGHT))

    assert end.ending is Ending.DONE
    assert seen == ["one.sh"], "the agent sees them"
    assert "quagga" in person.landed(TEST)
    [told] = made.told(AcceptanceReady)
    assert (told.files, told.red, told.agent, told.is_new) == ((TEST,), (GATE,), "agent", True)
    result = made.task().result
    assert result and result.evidence is Evidence.PROVEN and TEST in result.proven_by
    assert result.tester == "agent"
    prompt = scripts.prompt("tester", 1)
    assert "It works" in prompt and GATE in prompt and "not implemented yet" in prompt


def test_the_next_attempt_has_the_same_tests_without_another_call(person: Project, scripts: Scripts) -> None:
    seen: list[str] = []
    end, made = run(person, scripts, sees(seen, WRONG), sees(seen, RIGHT))

    assert end.ending is Ending.DONE
    assert seen == ["one.sh", "one.sh"]
    assert scripts.calls("tester") == 1
    assert [event.is_new for event in made.told(AcceptanceReady)] == [True, False]


def test_the_agents_of_a_race_get_the_tests_of_one_call(person: Project, scripts: Scripts) -> None:
    providers = {name: {"command": str(scripts.program)} for name in ("one", "two")}
    race = {"agents": ["one", "two"]}
    run(person, scripts, RIGHT, RIGHT, jobs=2, providers=providers, race=race)

    assert scripts.calls("tester") == 1
    assert "quagga" in person.landed("one.txt")


BAD = {
    "nothing": (":", "there is no new or changed test file"),
    "green tests": (f"mkdir tests; echo true > {TEST}", "Nothing is implemented yet"),
    "the feature": (f"{WRITES}; echo quagga > one.txt", "one.txt is not a test file"),
    "deletes a file": (f"{WRITES}; rm app.txt", "app.txt is gone, but the tester may not delete files"),
    "changes a program": (f"{WRITES}; echo more >> app.txt", "app.txt is not a test file"),
    "deletes a test": (f"{WRITES}; sed -i /second/d tests/test_old.py", "the test `test_second` is gone"),
    "a link": (f"mkdir tests; ln -s ../app.txt {TEST}", "tests/one.sh is not a text file"),
    "not text": (f"mkdir tests; printf '\\000\\001' > {TEST}", "tests/one.sh is not a text file"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_tester_that_does_wrong_is_asked_again_and_then_a_person_is(
    person: Project, scripts: Scripts, what: str
) -> None:
    script, why = BAD[what]
    person.write("tests/test_old.py", "def test_first():\n    assert 1\n\n\ndef test_second(): assert 2 == len('ab')\n")
    person.git("add", ".")
    person.git("commit", "-q", "-m", "An old test")
    scripts.play("tester", script.replace("mkdir tests", "mkdir -p tests"))
    end, made = run(person, scripts)

    assert end.ending is Ending.BLOCKED
    assert scripts.calls("tester") == 3, "bounded"
    assert why in scripts.prompt("tester", 2), "it learns its mistake"
    task = made.task()
    assert task.need and task.need.kind is NeedKind.TESTS
    assert why in task.notes
    assert task.failures == 0, "not the fault of the agent that does the work"
    assert "one.txt" not in person.files_in("ralph/auth") and TEST not in person.files_in("ralph/auth")


def test_a_mistake_that_is_corrected_costs_nothing_else(person: Project, scripts: Scripts) -> None:
    corrects = f"test -f {TEST} || exit 1; {WRITES}"
    scripts.play("tester", f"mkdir -p tests; echo true > {TEST}; rm app.txt", corrects)
    end, made = run(person, scripts)

    assert end.ending is Ending.DONE
    assert scripts.calls("tester") == 2
    [retried] = made.told(StepRetried)
    assert "app.txt is gone" in retried.reason
    assert person.landed("app.txt") == "app", "it was gone only in the tester's copy"


@pytest.mark.parametrize(
    ("first", "mistake"),
    [
        (f"{WRITES}; echo '{{}}' > ralph.config.json", "Ralph's own files (ralph.config.json)"),
        (f"{WRITES}; kill -9 $$", "may be incomplete: finish them"),
        (f"{WRITES}; echo 'API Error: 529 overloaded_error'; exit 1", "may be incomplete: finish them"),
    ],
)
def test_what_a_call_left_that_broke_a_rule_or_did_not_end_is_not_used(
    person: Project, scripts: Scripts, first: str, mistake: str
) -> None:
    scripts.play("tester", first, f"test -f {TEST} || exit 1; {WRITES}")
    end, _ = run(person, scripts)

    assert end.ending is Ending.DONE
    assert scripts.calls("tester") == 2
    assert mistake in scripts.prompt("tester", 2)


def test_a_tester_can_say_that_there_is_nothing_to_test(person: Project, scripts: Scripts) -> None:
    scripts.play("tester", "echo '<ralph>BLOCKED:the criteria contradict each other</ralph>'")
    end, made = run(person, scripts)

    assert end.ending is Ending.BLOCKED
    assert scripts.calls("tester") == 1
    need = made.task().need
    assert need and need.kind is NeedKind.TESTS and "contradict each other" in need.why


def test_held_out_tests_decide_and_nobody_finds_them(person: Project, scripts: Scripts) -> None:
    seen: list[str] = []
    scripts.play("tester", f"{WRITES}; echo '<ralph>LEARNING:say quagga</ralph>'")
    end, made = run(person, scripts, sees(seen, WRONG), sees(seen, RIGHT), acceptance={"heldOut": True})

    assert end.ending is Ending.DONE
    assert seen == ["", ""]
    assert scripts.calls("tester") == 1
    result = made.task().result
    assert result and result.proven_by == (ACCEPTANCE,)
    assert TEST not in person.files_in("ralph/auth")
    objects = person.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    blob = person.git("hash-object", str(only_file(person, "grep -qs quagga one.txt\n")))
    assert blob not in objects, "they are no objects of git's"
    everything = [path for path in person.path.rglob("*") if path.is_file()]
    assert [path for path in everything if b"grep -qs" in path.read_bytes()] == []
    assert not any("quagga" in text for text in made.run.plan.learnings), "what the tester learned could tell"
    assert all(not event.log for event in made.told(AgentStarted)), "its log is elsewhere"


def test_held_out_tests_of_a_passed_task_bind_the_next_one(person: Project, scripts: Scripts) -> None:
    second = "mkdir -p tests; echo 'grep -qs okapi two.txt' > tests/two.sh"
    scripts.play("tester", WRITES, second)

    async def breaks(context: Context) -> StepResult:
        (context.cwd / "one.txt").write_text("zebra\n")
        return await writes(two="okapi\n")(context)

    async def body(made: Engine) -> Engine:
        await work_through(made.run, made.slots)
        return made

    turns = {"US-001": [RIGHT], "US-002": [breaks]}
    provider, hidden = {"command": str(scripts.program)}, {"heldOut": True}
    made = engine(
        person, body, gate=GATE, stories=("One", "Two"), turns=turns, provider=provider, acceptance=hidden, maxRetries=1
    )

    task = made.task("US-002")
    assert task.state is TaskState.BLOCKED and "earlier acceptance tests" in task.notes


@pytest.mark.parametrize("settings", [{}, {"heldOut": True}])
def test_work_that_changes_the_tests_while_they_run_does_not_pass(
    person: Project, scripts: Scripts, settings: dict[str, Any]
) -> None:
    async def cheats(context: Context) -> StepResult:
        (context.cwd / "tests").mkdir(exist_ok=True)
        (context.cwd / "tests/a.sh").write_text(f"[ ! -e {TEST} ] || echo true > {TEST}\n")
        return await WRONG(context)

    end, made = run(person, scripts, cheats, acceptance=settings, maxRetries=1)

    assert end.ending is Ending.BLOCKED
    assert made.task().state is TaskState.BLOCKED and not made.task().need


def test_a_secret_in_a_test_is_a_mistake(person: Project, scripts: Scripts) -> None:
    key = "AKIA" + "QWERTYUIOP234567"
    scripts.play("tester", f"{WRITES}; echo '# aws_access_key_id = {key}' >> {TEST}", WRITES)
    end, _ = run(person, scripts)

    assert end.ending is Ending.DONE
    assert "has a secret in it" in scripts.prompt("tester", 2)


def test_a_task_without_criteria_is_told_and_gets_none(person: Project, scripts: Scripts) -> None:
    end, made = run(person, scripts, stories=({"title": "One", "acceptanceCriteria": []},))

    assert end.ending is Ending.DONE
    assert scripts.calls("tester") == 0
    assert "no acceptance criteria" in made.notes


@pytest.mark.parametrize(
    ("settings", "tags", "called"),
    [
        ({"for": ["core"]}, ["core"], 1),
        ({"for": ["core"]}, [], 0),
        ({"notFor": ["chore"]}, ["chore"], 0),
        ({"enabled": False}, [], 0),
    ],
)
def test_tags_say_which_tasks_get_them(
    person: Project, scripts: Scripts, settings: dict[str, Any], tags: list[str], called: int
) -> None:
    run(person, scripts, acceptance=settings, stories=({"title": "One", "tags": tags},))

    assert scripts.calls("tester") == called


def test_other_files_can_be_allowed(person: Project, scripts: Scripts) -> None:
    scripts.play("tester", f"{WRITES}; mkdir checks; echo data > checks/data.txt")
    end, _ = run(person, scripts, acceptance={"files": ["checks/**"]})

    assert end.ending is Ending.DONE
    assert person.landed("checks/data.txt") == "data"


def test_a_gate_that_was_red_before_shows_nothing(person: Project, scripts: Scripts) -> None:
    red = f"test -f one.txt && {{ {GATE}; }}"
    end, made = run(person, scripts, gate=red)

    assert end.ending is Ending.DONE
    assert "failed before too" in made.notes


def test_a_dispute_without_reviews_waits_for_a_person(person: Project, scripts: Scripts) -> None:
    disputes = says(Verdict.BLOCKED, "wrong", need=DISPUTE)
    end, made = run(person, scripts, disputes)

    assert end.ending is Ending.BLOCKED
    need = made.task().need
    assert need == DISPUTE


@pytest.mark.parametrize(
    ("decision", "calls", "seen"),
    [(TaskDecision.NOTE, 2, "two.sh"), (TaskDecision.GATE_IS_RIGHT, 1, "one.sh"), (TaskDecision.SKIP, 1, "")],
)
def test_what_a_person_decides_about_disputed_tests_is_done(
    person: Project, scripts: Scripts, decision: TaskDecision, calls: int, seen: str
) -> None:
    """The tests are written again with the person's words, stay as they are, or are gone."""
    scripts.play("tester", WRITES, "mkdir -p tests; echo 'grep -qs okapi two.txt' > tests/two.sh")
    found: list[str] = []
    after = {"two.sh": writes(two="okapi\n"), "one.sh": RIGHT, "": writes(three="3")}

    async def body(made: Engine) -> Finished:
        await work_through(made.run, made.slots)
        made.run.save(reading(made.run.plan, decision, "it must say okapi" if decision is TaskDecision.NOTE else ""))
        return await work_through(made.run, made.slots)

    turns = {"US-001": [says(Verdict.BLOCKED, "wrong", need=DISPUTE), sees(found, after[seen])]}
    provider = {"command": str(scripts.program)}
    end = engine(person, body, gate=GATE, turns=turns, provider=provider, acceptance={})

    assert end.ending is Ending.DONE
    assert found == [seen]
    assert scripts.calls("tester") == calls
    if calls == 2:
        assert "it must say okapi" in scripts.prompt("tester", 2)


def test_a_reviewer_who_finds_the_tests_right_sends_the_work_back(person: Project, scripts: Scripts) -> None:
    scripts.rule(("right", "the criterion says quagga"))
    disputes = says(Verdict.BLOCKED, "wrong", need=DISPUTE)
    end, made = run(person, scripts, disputes, RIGHT, review={})

    assert end.ending is Ending.DONE
    assert (scripts.calls("tester"), scripts.calls("reviewer")) == (1, 1)
    assert [event.tests for event in made.told(Ruled)] == ["right"]
    task = made.task()
    assert (task.rounds, task.failures) == (1, 0), "it costs no retry"
    assert "the criterion says quagga" in " ".join(task.tried)
    prompt = scripts.prompt("reviewer", 1)
    assert "it must say okapi" in prompt and TEST in prompt


def test_tests_that_a_reviewer_finds_wrong_are_written_once_more(person: Project, scripts: Scripts) -> None:
    scripts.rule(("wrong", "the criterion says okapi"))
    scripts.play("tester", WRITES, f"echo 'grep -qs okapi one.txt' > {TEST}")
    disputes = says(Verdict.BLOCKED, "wrong", need=DISPUTE)
    end, _ = run(person, scripts, disputes, writes(one="okapi\n"), review={})

    assert end.ending is Ending.DONE
    assert (scripts.calls("tester"), scripts.calls("reviewer")) == (2, 1)
    assert "the criterion says okapi" in scripts.prompt("tester", 2)
    assert "okapi" in person.landed(TEST)


def test_a_second_dispute_goes_to_the_person(person: Project, scripts: Scripts) -> None:
    scripts.rule(("wrong", "the criterion says okapi"))
    scripts.play("tester", WRITES, f"echo 'grep -qs okapi one.txt' > {TEST}")
    end, made = run(person, scripts, says(Verdict.BLOCKED, "wrong", need=DISPUTE), review={})

    assert end.ending is Ending.BLOCKED
    assert (scripts.calls("tester"), scripts.calls("reviewer")) == (2, 1)
    assert made.task().need == DISPUTE


def test_without_a_usable_ruling_the_person_decides(person: Project, scripts: Scripts) -> None:
    scripts.play("reviewer", ":")
    end, made = run(person, scripts, says(Verdict.BLOCKED, "wrong", need=DISPUTE), review={})

    assert end.ending is Ending.BLOCKED
    assert scripts.calls("reviewer") == 3
    assert made.task().need == DISPUTE


def test_new_criteria_need_new_tests(person: Project, scripts: Scripts) -> None:
    scripts.play("tester", WRITES, "mkdir -p tests; echo 'grep -qs okapi two.txt' > tests/two.sh")
    seen: list[str] = []

    async def body(made: Engine) -> Finished:
        await work_through(made.run, made.slots, once=True)
        made.run.save(made.run.plan.change("US-001", lambda task: replace(task, criteria=("It says okapi",))))
        return await work_through(made.run, made.slots)

    turns = {"US-001": [WRONG, sees(seen, writes(two="okapi\n"))]}
    end = engine(person, body, gate=GATE, turns=turns, provider={"command": str(scripts.program)}, acceptance={})

    assert end.ending is Ending.DONE
    assert seen == ["two.sh"], "the old ones are gone"
    assert "okapi" in scripts.prompt("tester", 2)


def kept(project: Project) -> Path:
    [found] = (project.home / ".local/share/ralph/held-out").glob("*/acceptance/auth/US-001.tests.json")
    return found


@pytest.mark.parametrize("spoiled", [b"", b"{", b"[]", b'{"task": 1}'])
def test_kept_tests_that_cannot_be_read_are_written_again(person: Project, scripts: Scripts, spoiled: bytes) -> None:
    run(person, scripts, says(Verdict.BLOCKED, "cannot", need=Need(kind=NeedKind.BLOCKED, why="cannot")))
    kept(person).write_bytes(spoiled)

    def retried(made: Engine) -> None:
        made.run.save(reading(made.run.plan, TaskDecision.NOTE, "try again"))

    end, _ = run(person, scripts, RIGHT, first=retried)

    assert end.ending is Ending.DONE
    assert scripts.calls("tester") == 2
