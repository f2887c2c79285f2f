"""A run for other programs to read: `run_state.json` during the run, `aggregate.json` at its end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ralph import __version__, safe_files
from ralph.journal import events as e
from ralph.journal.events import Event
from ralph.journal.writer import now
from ralph.plan.usage import CostSource
from ralph.plan.work import Ending, Verdict, WorkKind
from ralph.stores import atomic

STATE, AGGREGATE = "run_state.json", "aggregate.json"
Status = Literal[
    "running",
    "waiting",
    "paused",
    "done",
    "failed",
    "unverified",
    "halted",
    "once",
    "limited",
    "stopped",
    "interrupted",
]
STATUS: dict[Ending, Status] = {
    Ending.DONE: "done",
    Ending.BLOCKED: "failed",
    Ending.UNVERIFIED: "unverified",
    Ending.HALTED: "halted",
    Ending.ONCE: "once",
    Ending.LIMITED: "limited",
    Ending.BUDGET: "limited",
    Ending.STOPPED: "stopped",
    Ending.INTERRUPTED: "interrupted",
}
Count = Annotated[int, Field(ge=0)]


class ReportPart(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid")


class CurrentWork(ReportPart):
    """The work in progress."""

    id: str
    title: str
    attempt: Count
    step: str = ""


class TasksReport(ReportPart):
    total: Count
    done: Count
    failed: Count


class BreakerReport(ReportPart):
    step: str
    state: Literal["closed", "open", "half-open"]
    failures: Count
    until: float | None = Field(description="When the next try is allowed, in seconds since 1970.")


class RunState(ReportPart):
    """A run at this moment. If `pid` is not alive and `status` is running, the run was killed."""

    version: Literal[1] = 1
    run_id: str
    pid: int
    status: Status
    reason: str = ""
    target: str
    config: str
    loop: Count = 0
    now: CurrentWork | None = None
    tasks: TasksReport
    in_place: bool = Field(default=False, description="Whether gates ran where the agent worked.")
    last_failure: str = ""
    breakers: list[BreakerReport] = []
    started_at: str
    updated_at: str


class Tokens(ReportPart):
    """null: unknown, not 0."""

    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None


class Cost(ReportPart):
    usd: float | None = Field(description="null: unknown, not 0.")
    source: CostSource
    unpriced_calls: Count = Field(description="Calls with an unknown cost, which the sum leaves out.")


class Aggregate(ReportPart):
    """The result of a whole run."""

    version: Literal[1] = 1
    run_id: str
    ralph_version: str
    target: str
    config: str
    model: str | None
    status: Status
    reason: str
    verified: bool = Field(description="Whether gates decided; false: no gate was required.")
    in_place: bool = Field(description="Whether gates ran where the agent worked, not on a clean checkout.")
    proven: Count = Field(description="Passed tasks with a test or a gate that fails without them.")
    started_at: str
    ended_at: str
    elapsed_seconds: float
    loops: Count
    calls: Count
    tasks: TasksReport
    tokens: Tokens
    cost: Cost


class Reports:
    """Listens to a run and keeps both files up to date."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state: RunState | None = None
        self._model = ""

    def __call__(self, event: Event, _line: str = "") -> None:
        if isinstance(event, e.RunStarted):
            self._begin(event)
        elif self._state:
            changed = self._after(self._state, event)
            if changed:
                self._save(changed)
            if isinstance(event, e.RunEnded):
                self._write(AGGREGATE, self._aggregate(event))

    def _begin(self, event: e.RunStarted) -> None:
        self._model = event.model
        self._save(
            RunState(
                run_id=event.run,
                pid=os.getpid(),
                status="running",
                target=event.target,
                config=event.config,
                in_place=event.in_place,
                tasks=TasksReport(total=event.tasks, done=event.passed + event.accepted, failed=event.blocked),
                started_at=now(),
                updated_at="",
            )
        )

    def _after(self, state: RunState, event: Event) -> RunState | None:
        """The state after an event; None if the event changes nothing."""
        match event:
            case e.AttemptStarted():
                doing = CurrentWork(id=event.work, title=event.title, attempt=event.attempt)
                return state.model_copy(
                    update={"status": "running", "reason": "", "now": doing, "loop": state.loop + 1}
                )
            case e.StepStarted() if state.now:
                return state.model_copy(update={"now": state.now.model_copy(update={"step": event.step})})
            case e.BreakerChanged():
                others = [breaker for breaker in state.breakers if breaker.step != event.step]
                changed = BreakerReport.model_validate(
                    {"step": event.step, "state": event.state, "failures": event.failures, "until": event.until}
                )
                return state.model_copy(update={"breakers": [*others, changed]})
            case e.Waited():
                return state.model_copy(update={"status": "waiting", "reason": event.reason})
            case e.Steered(command="pause", refused=False):
                return state.model_copy(update={"status": "paused", "reason": event.text})
            case e.Steered(command="resume", refused=False):
                return state.model_copy(update={"status": "running", "reason": ""})
            case e.AttemptEnded():
                passed = event.kind is WorkKind.TASK and event.verdict is Verdict.PASSED
                tasks = state.tasks.model_copy(update={"done": state.tasks.done + passed})
                failure = "" if event.verdict is Verdict.PASSED else event.reason
                return state.model_copy(update={"tasks": tasks, "now": None, "last_failure": failure, "reason": ""})
            case e.TaskBlocked():
                return state.model_copy(
                    update={"tasks": state.tasks.model_copy(update={"failed": state.tasks.failed + 1})}
                )
            case e.RunEnded():
                tasks = TasksReport(total=event.tasks, done=event.passed + event.accepted, failed=event.blocked)
                ended = {"status": STATUS[event.ending], "reason": event.reason, "now": None, "tasks": tasks}
                return state.model_copy(update=ended)
            case _:
                return None

    def _aggregate(self, event: e.RunEnded) -> Aggregate:
        assert self._state is not None, "a run that ends has begun"
        usage = event.usage
        return Aggregate(
            run_id=event.run,
            ralph_version=__version__,
            target=event.target,
            config=self._state.config,
            model=usage.model or self._model or None,
            status=STATUS[event.ending],
            reason=event.reason,
            verified=bool(event.gates),
            in_place=event.in_place,
            proven=event.proven,
            started_at=self._state.started_at,
            ended_at=now(),
            elapsed_seconds=round(event.seconds, 3),
            loops=self._state.loop,
            calls=usage.calls,
            tasks=self._state.tasks,
            tokens=Tokens(
                input=usage.input_tokens,
                output=usage.output_tokens,
                cache_read=usage.cache_read_tokens,
                cache_write=usage.cache_write_tokens,
            ),
            cost=Cost(usd=usage.cost_usd, source=usage.cost_source, unpriced_calls=usage.unpriced),
        )

    def _save(self, state: RunState) -> None:
        self._state = state.model_copy(update={"updated_at": now()})
        self._write(STATE, self._state)

    def _write(self, name: str, content: BaseModel) -> None:
        data = content.model_dump_json(indent=2).encode() + b"\n"
        atomic.write(self._folder / name, data, sync=name == AGGREGATE)


def read_state(folder: Path) -> RunState | None:
    """The state of the last run, if there was one and its file is valid."""
    try:
        return RunState.model_validate_json(safe_files.read(folder / STATE) or b"")
    except (OSError, ValueError):
        return None


def state_schema() -> str:
    return _schema(RunState, STATE)


def aggregate_schema() -> str:
    return _schema(Aggregate, AGGREGATE)


def _schema(model: type[BaseModel], title: str) -> str:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **model.model_json_schema(), "title": title}, indent=2) + "\n"
