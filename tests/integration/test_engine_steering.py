"""Steering, in this process: what a person asks of a run in each of its phases, and that it happens once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from ralph.engine.loop import work_through
from ralph.journal.events import AttemptStarted, Steered
from ralph.plan.attempt import StepResult
from ralph.plan.instruction import Acknowledgement, Command, Instruction, TaskText
from ralph.plan.model import Need, NeedKind, TaskState
from ralph.plan.work import Ending, Finished, Verdict
from ralph.steps.base import Context
from ralph.stores import crash_file, instructions, lock, records
from tests.conftest import Project
from tests.integration.engine import Engine, Turn, engine, says, writes

pytestmark = pytest.mark.usefixtures("played", "nobody_left")

SECONDS = 30.0
DONE = writes(one="1")


@dataclass
class Stage:
    """A run that stands still at one point of its story US-001 until a person has asked for something."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    seen: list[Context] = field(default_factory=list)

    async def wait(self) -> None:
        self.reached.set()
        await self.go_on.wait()

    def turns(self, *first: Turn) -> dict[str, list[Turn]]:
        async def works(context: Context) -> StepResult:
            self.seen.append(context)
            return await DONE(context)

        return {"US-001": [*first, works], "US-002": [writes(two="2")]}


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 what another process or a file says cannot be awaited
            await asyncio.sleep(0.01)


async def ask(made: Engine, command: Command, *tasks: str, **more: Any) -> Acknowledgement:
    """Ask as a person does, and wait for the answer."""
    about = Instruction(
        id=instructions.new_id(), command=command, target="auth", run=made.run.id, tasks=tasks, **{"by": "Ada", **more}
    )
    found: list[Acknowledgement] = []
    instructions.post(made.run.workspace, about)
    await until(lambda: found or found.extend(filter(None, [instructions.answer_to(made.run.workspace, about)])))
    assert instructions.waiting(made.run.workspace, "auth") == []
    return found[0]


@asynccontextmanager
async def steered(made: Engine) -> AsyncIterator[None]:
    async with made.run.steering.listening(), made.run.steering.changing():
        yield


Person = Callable[[Engine, Stage], Awaitable[Any]]


def play(
    project: Project, person: Person, *, phase: str = "agent", stories: tuple[Any, ...] = ("One", "Two"), **more: Any
) -> tuple[Finished, Engine, Stage]:
    """Work a plan through; a person acts when the run has reached a phase."""
    stage = Stage()

    async def waits(context: Context) -> StepResult:
        await stage.wait()
        stage.seen.append(context)
        return await DONE(context)

    async def body(made: Engine) -> tuple[Finished, Engine, Stage]:
        if phase == "limit":

            async def sleep(_: float) -> None:
                await stage.wait()

            made.run.sleep = sleep
        async with steered(made):
            if phase == "before":
                await person(made, stage)
            loop = asyncio.create_task(work_through(made.run, made.slots))
            if phase != "before":
                if phase == "gates":
                    await until((project.folder / "reached").exists)
                else:
                    await asyncio.wait_for(stage.reached.wait(), SECONDS)
                await person(made, stage)
            stage.go_on.set()
            (project.folder / "go").touch()
            end = await asyncio.wait_for(loop, SECONDS)
        assert records.load(made.run.workspace.records) == [] or end.ending is Ending.INTERRUPTED
        return end, made, stage

    first = {"agent": [waits], "limit": [says(Verdict.LIMITED, "usage limit")], "between": [says(Verdict.FAILED)]}
    gate = "true"
    if phase == "gates":
        gate = f"touch {project.folder}/reached; until test -e {project.folder}/go; do sleep 0.02; done"
    done: tuple[Finished, Engine, Stage] = engine(
        project, body, stories=stories, turns=stage.turns(*first.get(phase, [])), gate=gate, **more
    )
    return done


def attempts(made: Engine, story: str = "US-001") -> int:
    return sum(event.work == story for event in made.told(AttemptStarted))


PHASES = ("before", "agent", "gates", "limit")
CUT = {"agent": 1, "gates": 1, "limit": 1, "before": 0}
"""How many attempts are under way, which an instruction can end."""


@pytest.mark.parametrize("phase", PHASES)
def test_a_task_is_left_out_and_its_attempt_ends_at_no_cost(person: Project, phase: str) -> None:
    async def skips(made: Engine, _: Stage) -> None:
        said = await ask(made, Command.SKIP, "US-001")
        assert "US-001 is left out" in said.said
        assert not said.is_refused

    end, made, _ = play(person, skips, phase=phase)

    assert end.ending is Ending.BLOCKED
    assert (made.task().standing, made.task().failures, made.task().need) == ("left out", 0, None)
    assert made.task("US-002").state is TaskState.PASSED
    assert attempts(made) == CUT[phase]
    assert "one.txt" not in person.files_in("ralph/auth")
    story = person.plan_at("ralph/auth")["userStories"][0]
    assert (story["leftOut"], story["blocked"], story["passes"]) == (True, True, False)


@pytest.mark.parametrize("phase", PHASES)
def test_a_note_is_for_the_next_attempt_unless_it_ends_the_running_one(person: Project, phase: str) -> None:
    async def notes(made: Engine, _: Stage) -> None:
        said = await ask(made, Command.NOTE, "US-001", text="use <, not <=")
        assert ("--now would end it" in said.said) == (phase != "before")

    end, made, stage = play(person, notes, phase=phase)

    assert end.ending is Ending.DONE
    assert made.task().decisions == ("use <, not <=",)
    assert attempts(made) == 1, "the running attempt went on"
    assert stage.seen[-1].task
    assert stage.seen[-1].task.decisions == (("use <, not <=",) if phase == "before" else ())


@pytest.mark.parametrize("phase", PHASES)
def test_with_now_an_attempt_starts_again_with_the_note_and_costs_nothing(person: Project, phase: str) -> None:
    async def notes(made: Engine, _: Stage) -> None:
        await ask(made, Command.NOTE, "US-001", text="use <, not <=", now=True)

    end, made, stage = play(person, notes, phase=phase)

    assert end.ending is Ending.DONE
    assert attempts(made) == 1 + CUT[phase]
    assert stage.seen[-1].task
    assert stage.seen[-1].task.decisions == ("use <, not <=",)
    assert made.task().failures == 0
    assert person.landed("one.txt") == "1"


@pytest.mark.parametrize("phase", PHASES)
def test_what_a_task_asks_for_can_change(person: Project, phase: str) -> None:
    wanted = TaskText(title="Uno", description="better", criteria=("it is better",))

    async def edits(made: Engine, _: Stage) -> None:
        await ask(made, Command.EDIT, "US-001", wanted=wanted, now=True)

    end, made, stage = play(person, edits, phase=phase)

    assert end.ending is Ending.DONE
    assert stage.seen[-1].task
    assert (stage.seen[-1].task.title, stage.seen[-1].task.criteria) == ("Uno", ("it is better",))
    story = person.plan_at("ralph/auth")["userStories"][0]
    assert (story["title"], story["description"], story["acceptanceCriteria"]) == ("Uno", "better", ["it is better"])
    assert attempts(made) == 1 + CUT[phase]


@pytest.mark.parametrize("phase", PHASES)
def test_a_person_accepts_a_task_that_is_worked_on(person: Project, phase: str) -> None:
    async def accepts(made: Engine, _: Stage) -> None:
        assert "accepted by Ada" in (await ask(made, Command.ACCEPT, "US-001", text="it is there")).said

    end, made, _ = play(person, accepts, phase=phase)

    assert end.ending is Ending.DONE
    assert made.task().standing == "accepted"
    assert attempts(made) == CUT[phase]
    assert "one.txt" not in person.files_in("ralph/auth"), "what the agent made until then is not wanted"


@pytest.mark.parametrize("phase", PHASES)
def test_a_task_starts_from_the_beginning_with_a_note(person: Project, phase: str) -> None:
    async def retries(made: Engine, _: Stage) -> None:
        await ask(made, Command.RETRY, "US-001", text="the key is in .env")

    end, made, stage = play(person, retries, phase=phase)

    assert end.ending is Ending.DONE
    assert attempts(made) == 1 + CUT[phase]
    assert stage.seen[-1].task
    assert stage.seen[-1].task.decisions == ("the key is in .env",)
    assert stage.seen[-1].task.base == ""


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("now", [False, True])
def test_a_paused_run_starts_nothing_keeps_its_lock_and_spends_nothing(person: Project, phase: str, now: bool) -> None:
    async def pauses(made: Engine, stage: Stage) -> None:
        run = made.run
        said = await ask(made, Command.PAUSE, now=now)
        assert said.said.startswith("Paused")
        owner = lock.Owner(pid=1, run=run.id, target="auth")
        paused = instructions.paused_run(run.workspace, "auth", owner)
        assert paused
        assert paused.now == now
        if phase != "before":
            stage.go_on.set()
            (person.folder / "go").touch()
        if not now and phase != "before":
            await until(lambda: made.task().state is TaskState.PASSED)
        before = len(made.told(AttemptStarted))
        await until(lambda: run.steering.stands_still)
        made.slept.append(3600.0)  # the clock of the run
        await asyncio.sleep(0.3)
        assert len(made.told(AttemptStarted)) == before
        assert made.task("US-002").attempts == 0
        assert run.spending.seconds_left == pytest.approx(3600.0), "the clock of the budget stands still"
        await ask(made, Command.RESUME)
        assert instructions.paused_run(run.workspace, "auth", owner) is None

    end, made, _ = play(person, pauses, phase=phase, budget={"hours": 1})

    assert end.ending is Ending.DONE
    assert attempts(made) == 1
    assert made.told(Steered)[0].command == "pause"


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("now", [False, True])
def test_a_run_is_stopped_by_a_person(person: Project, phase: str, now: bool) -> None:
    async def stops(made: Engine, _: Stage) -> None:
        assert "run" in (await ask(made, Command.STOP, now=now)).said

    end, made, _ = play(person, stops, phase=phase)

    assert end.ending is Ending.INTERRUPTED
    is_done = not now and phase in ("agent", "gates")
    assert (made.task().state is TaskState.PASSED) == is_done
    assert made.task().failures == 0
    assert attempts(made, "US-002") == 0


def test_a_stopped_run_goes_on_with_an_attempt_that_stood_still(person: Project) -> None:
    async def stops(made: Engine, stage: Stage) -> None:
        await ask(made, Command.PAUSE, now=True)
        stage.go_on.set()
        await ask(made, Command.STOP)

    end, made, _ = play(person, stops)
    assert (end.ending, made.task().state) == (Ending.INTERRUPTED, TaskState.PASSED)


def test_while_it_is_paused_the_plan_can_change(person: Project) -> None:
    async def changes(made: Engine, _: Stage) -> None:
        await ask(made, Command.PAUSE)
        await ask(made, Command.SKIP, "US-001")
        await ask(made, Command.NOTE, "US-002", text="gently")
        assert attempts(made) == 0
        await ask(made, Command.RESUME)

    end, made, _ = play(person, changes, phase="before")
    assert end.ending is Ending.BLOCKED
    assert (made.task().standing, made.task("US-002").decisions) == ("left out", ("gently",))
    assert made.task("US-002").state is TaskState.PASSED


def test_a_blocked_task_is_tried_again_while_the_run_is_under_way(person: Project) -> None:
    async def retries(made: Engine, stage: Stage) -> None:
        await until(lambda: made.task("US-002").state is TaskState.BLOCKED)
        refused = await ask(made, Command.NOTE, "US-002", text="too late")
        assert refused.is_refused
        assert "--note" in refused.remedy
        said = await ask(made, Command.DECIDE, "US-002", decision="--note", text="the key is in .env")
        assert "tried again" in said.said

    stuck = says(Verdict.BLOCKED, "no key")
    end, made, _ = _parallel(person, retries, stuck)
    assert end.ending is Ending.DONE
    assert made.task("US-002").decisions == ("the key is in .env",)


def _parallel(project: Project, person: Person, stuck: Turn) -> tuple[Finished, Engine, Stage]:
    """US-001 waits in its agent, and US-002 is blocked meanwhile."""
    stage = Stage()

    async def waits(context: Context) -> StepResult:
        await stage.wait()
        return await DONE(context)

    async def blocked(context: Context) -> StepResult:
        result = await stuck(context)
        return replace(result, need=Need(kind=NeedKind.BLOCKED, why="no key"))

    async def body(made: Engine) -> tuple[Finished, Engine, Stage]:
        async with steered(made):
            loop = asyncio.create_task(work_through(made.run, made.slots))
            await person(made, stage)
            stage.go_on.set()
            return await asyncio.wait_for(loop, SECONDS), made, stage

    turns = {"US-001": [waits], "US-002": [blocked, writes(two="2")]}
    done: tuple[Finished, Engine, Stage] = engine(project, body, stories=("One", "Two"), turns=turns, jobs=2)
    return done


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"command": Command.SKIP, "tasks": ("US-009",)}, "has no task"),
        ({"command": Command.NOTE, "tasks": ("US-002",), "text": "late"}, "has passed"),
        ({"command": Command.EDIT, "tasks": ("US-002",), "wanted": TaskText(title="Two")}, "has passed"),
        ({"command": Command.DECIDE, "tasks": ("US-001",), "decision": "--approve"}, "Nothing to approve"),
        ({"command": Command.RESUME}, "is not paused"),
        ({"command": Command.PAUSE, "run": "another"}, "has ended"),
        ({"command": Command.EDIT, "tasks": ("US-001",), "wanted": TaskText(title="")}, "needs a title"),
    ],
)
def test_what_does_not_fit_is_refused_and_ends_no_attempt(person: Project, asked: dict[str, Any], why: str) -> None:
    async def tries(made: Engine, stage: Stage) -> None:
        if "US-002" in asked.get("tasks", ()):
            stage.go_on.set()
            await until(lambda: made.task("US-002").state is TaskState.PASSED)
        about = Instruction(id=instructions.new_id(), target="auth", **{"run": made.run.id, "now": True, **asked})
        instructions.post(made.run.workspace, about)
        await until(lambda: made.told(Steered))
        (event,) = made.told(Steered)
        assert event.refused
        assert why in event.text

    last = {"title": "Three", "dependsOn": ["US-002"]}
    end, made, _ = play(person, tries, stories=("One", "Two", last))
    assert end.ending is Ending.DONE
    assert attempts(made) == 1


def test_nobody_else_can_write_an_instruction(person: Project) -> None:
    async def forges(made: Engine, _: Stage) -> None:
        workspace = made.run.workspace
        about = Instruction(id=instructions.new_id(), command=Command.SKIP, target="auth", tasks=("US-001",))
        instructions.post(workspace, about)
        (path,) = (workspace.instructions / "auth").glob("*.asked")
        sealed = path.read_bytes()
        path.unlink()
        later = path.with_name(f"{instructions.new_id()}.asked")
        later.write_bytes(sealed)  # a copy under another name
        path.with_name("0-forged.asked").write_bytes(sealed.replace(b"US-001", b"US-002"))
        path.with_name("1-link.asked").symlink_to("/etc/passwd")
        other = workspace.instructions / "other" / path.name
        other.parent.mkdir()
        other.write_bytes(sealed)  # a copy for another plan
        assert instructions.waiting(workspace, "other") == []
        await until(lambda: not list((workspace.instructions / "auth").glob("*.asked")))

    end, made, _ = play(person, forges)
    assert end.ending is Ending.DONE
    assert made.told(Steered) == []


def test_what_the_plan_of_a_killed_run_contains_is_not_done_again(person: Project) -> None:
    """`kill -9` after the plan was saved, and before anybody was told: the next run says so, and does nothing."""

    async def body(made: Engine) -> Any:
        about = Instruction(id=instructions.new_id(), command=Command.RETRY, target="auth", tasks=("US-001",), text="x")
        made.run.steering.done.append(about.id)
        made.run.secure()
        assert crash_file.done_of(made.run.workspace, "auth") == (about.id,)
        before = made.run.plan
        instructions.post(made.run.workspace, about)
        async with steered(made):
            await until(lambda: made.told(Steered))
        assert made.run.plan == before
        return made.told(Steered)[0]

    event = engine(person, body)
    assert event.text.startswith("Done")
    assert not event.refused


def test_what_was_asked_of_an_ended_run_is_done_by_the_next_but_for_its_pause(person: Project) -> None:
    async def body(made: Engine) -> Any:
        for command, more in ((Command.PAUSE, {"run": "old"}), (Command.SKIP, {"tasks": ("US-001",), "run": "old"})):
            about = Instruction(id=instructions.new_id(), command=command, target="auth", **more)
            instructions.post(made.run.workspace, about)
        async with steered(made):
            assert not made.run.steering.is_paused
            assert made.task().standing == "left out"
        return [event.refused for event in made.told(Steered)]

    assert engine(person, body) == [True, False]


def test_held_work_is_approved_while_the_run_is_under_way(person: Project) -> None:
    """With `land: review` green work waits in its ref, rides no train, and lands without an agent."""

    async def approves(made: Engine, stage: Stage) -> None:
        stage.go_on.set()
        await until(lambda: made.task().standing == "held")
        assert made.run.train("").cars == []
        assert "one.txt" not in person.files_in("ralph/auth")
        assert "one.txt" in person.files_in("refs/ralph/attempts/auth/US-001/1")
        assert "approved" in (await ask(made, Command.DECIDE, "US-001", decision="--approve")).said
        await until(lambda: made.task().state is TaskState.PASSED)
        await until(lambda: made.task("US-002").standing == "held")

    end, made, _ = _waiting_story(person, approves)

    assert end.ending is Ending.BLOCKED
    assert person.landed("one.txt") == "1"
    assert [event.command for event in made.told(Steered)] == ["decide"]
    assert person.plan_at("ralph/auth")["userStories"][1]["need"]["kind"] == "review"


def _waiting_story(project: Project, person: Person) -> tuple[Finished, Engine, Stage]:
    stage, second = Stage(), asyncio.Event()

    async def first(context: Context) -> StepResult:
        stage.seen.append(context)
        return await DONE(context)

    async def waits(context: Context) -> StepResult:
        await second.wait()
        return await writes(two="2")(context)

    async def body(made: Engine) -> tuple[Finished, Engine, Stage]:
        async with steered(made):
            loop = asyncio.create_task(work_through(made.run, made.slots))
            acting = asyncio.ensure_future(person(made, stage))
            await until(lambda: made.task().state is TaskState.PASSED)
            second.set()
            await acting
            return await asyncio.wait_for(loop, SECONDS), made, stage

    turns = {"US-001": [first], "US-002": [waits]}
    done: tuple[Finished, Engine, Stage] = engine(
        project, body, stories=("One", "Two"), turns=turns, jobs=2, land="review"
    )
    return done


def edited(made: Engine, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the plan's file as a person's editor does."""
    path = made.run.project / made.run.workflow.plan_paths[0]
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, indent=1))


def test_a_persons_own_edit_of_the_plan_between_two_attempts_is_taken_over(person: Project) -> None:
    def change(document: dict[str, Any]) -> None:
        first = document["userStories"][0]
        first |= {"title": "Uno", "acceptanceCriteria": ["it is better"], "mine": 7, "passes": True}
        document["userStories"].append({"id": "US-003", "title": "Three", "acceptanceCriteria": ["x"]})

    async def edits(made: Engine, _: Stage) -> None:
        edited(made, change)
        await until(lambda: made.told(Steered))
        assert made.task().state is TaskState.PENDING, "an edit passes no task"

    turns_end, made, stage = play(person, edits, phase="before")

    assert turns_end.ending is Ending.DONE
    (event,) = made.told(Steered)
    assert "US-001, US-003" in event.text
    assert "The state of US-001 stays as it was" in event.text
    assert stage.seen[-1].task
    assert stage.seen[-1].task.criteria == ("it is better",)
    plan = person.plan_at("ralph/auth")
    assert [story["passes"] for story in plan["userStories"]] == [True, True, True]
    assert (plan["userStories"][0]["title"], plan["userStories"][0]["mine"]) == ("Uno", 7)


@pytest.mark.parametrize("how", ["broken", "removed"])
def test_an_edit_that_is_wrong_is_refused_and_kept_aside(person: Project, how: str) -> None:
    async def edits(made: Engine, stage: Stage) -> None:
        await ask(made, Command.PAUSE)
        stage.go_on.set()
        await until(lambda: made.task().state is TaskState.PASSED and not made.run.steering.under_way)
        path = made.run.project / made.run.workflow.plan_paths[0]
        before = json.loads(path.read_text())
        if how == "broken":
            path.write_text("{ not JSON")
        else:
            edited(made, lambda document: document["userStories"].pop(0))
        await until(lambda: made.told(Steered)[1:])
        event = made.told(Steered)[1]
        assert event.refused
        assert (made.run.logs / "refused-edits" / "prd.json").exists()
        assert [story["id"] for story in json.loads(path.read_text())["userStories"]] == [
            story["id"] for story in before["userStories"]
        ]
        await ask(made, Command.RESUME)

    end, _, _ = play(person, edits)
    assert end.ending is Ending.DONE


def test_an_edit_just_before_ralph_saves_is_not_lost(person: Project) -> None:
    async def edits(made: Engine, stage: Stage) -> None:
        await ask(made, Command.PAUSE)
        edited(made, lambda document: document["userStories"][1].update(title="Dos"))
        made.run.save(made.run.plan.change("US-001", lambda task: replace(task, notes="saved meanwhile")))
        assert made.task("US-002").title == "Dos"
        await until(lambda: [event for event in made.told(Steered) if event.command == "edit"])
        await ask(made, Command.RESUME)

    end, made, _ = play(person, edits, phase="before")
    assert (end.ending, made.task("US-002").title) == (Ending.DONE, "Dos")
