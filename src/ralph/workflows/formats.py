"""The files that hold plans, one table each: a field is one line here, and nothing anywhere else."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ralph.frozen import Frozen
from ralph.plan.model import (
    Failure,
    FinalReview,
    Plan,
    SetupState,
    Spec,
    Task,
    TaskState,
)
from ralph.stores.fields import (
    ITS_FIELDS,
    ONLY_CHECKED,
    TEXT,
    Choice,
    ListOf,
    Nullable,
    Part,
    States,
    TableOf,
    Value,
    given,
    own,
)
from ralph.stores.task_codec import Codec, Format
from ralph.workflows import plan_rules as rules
from ralph.workflows.request.phases import Phase
from ralph.workflows.task_parts import (
    ATTEMPTS,
    BRANCH,
    COUNT,
    CRITERIA,
    DECIDED,
    FILLED,
    FLAG,
    ID,
    LATE_SUMMARY,
    LEARNINGS,
    NAME,
    RACE,
    REQUIRED,
    RETRIES,
    SPENT,
    SUMMARY,
    TEXTS,
    TIME,
    TITLE,
    UNLESS_REQUIRED,
    WHOLE,
    result_kind,
    tried_fields,
)

_plan = partial(Plan, target="")


# A feature's prd.json

STORY = Part(
    "Story",
    "One story: a task for one fresh agent.",
    Task,
    ID,
    given("title", TITLE, required=True),
    given("description"),
    CRITERIA,
    given("tags", ListOf(of=TEXT, into=frozenset)),
    given("priority", WHOLE),
    given("depends_on", TEXTS),
    *RACE,
    *DECIDED,
    own("passes", FLAG),
    own("retries", COUNT, "failures"),
    own("blocked", FLAG),
    own(
        "last_result",
        result_kind("LastResult", "a story passes", SUMMARY, "verify", "VerifyResult", UNLESS_REQUIRED),
        "result",
    ),
    own("notes"),
    *tried_fields("attempts"),
    own("resets", COUNT, about="Set by Ralph: how often the final verification reset it."),
    own("attempts", COUNT, about="Set by Ralph."),
    own("base_commit", attr="base", about="Set by Ralph: the commit that the story's work started from."),
)
VERIFICATION = Part(
    "Verification",
    "The state of the final verification; set by Ralph.",
    FinalReview,
    own("attempts", COUNT),
    own("failures", COUNT),
    own("notes"),
    own("verified_at"),
    own("verified_commit"),
)
RUN = Part[Value](
    "Run",
    "",
    dict,
    own("started_at", TIME),
    own("current_story_id", Nullable(TEXT), "current"),
    own("learnings", TEXTS),
    own("verification", VERIFICATION, "review", when_set=True),
)
PRD = Format(
    title="prd.json",
    remedy="`ralph schema prd` describes every field.",
    rules=rules.of_stories,
    codec=Codec(
        camel=True,
        states=States(
            fields=("passes", "blocked"), pending=(False, False), passed=(True, False), blocked=(False, True)
        ),
    ),
    part=Part(
        "Prd",
        "The whole file.",
        _plan,
        given("schema_version", Choice((2,)), ONLY_CHECKED, required=True),
        given("project", attr=ONLY_CHECKED),
        given("branch_name", BRANCH, "branch", required=True),
        given("description"),
        given("prd_hash", attr=ONLY_CHECKED, about="Which prd.md this was made from; set by Ralph."),
        own("run", RUN, ITS_FIELDS),
        given("user_stories", ListOf(of=STORY, min_length=1), "tasks", required=True),
    ),
)


# The requirements' .ralph/prd.json


def _task(*, depends_on: tuple[str, ...] | None, **values: Value) -> Task:
    return Task(**values, depends_on=depends_on or (), in_order=depends_on is None)


TASK = Part(
    "Task",
    "One task for one fresh agent.",
    _task,
    ID,
    given("title", TITLE, required=True),
    given("description"),
    CRITERIA,
    given("depends_on", Nullable(TEXTS), about="Tasks that must be done first; null or missing: those listed before."),
    *RACE,
    *DECIDED,
    own("status", Choice(("todo", "in_progress", "done", "failed")), default="todo"),
    own("notes", about="Why it is not done yet."),
    *tried_fields("loops"),
    own("loops", COUNT, "failures", "Set by Ralph: loops that did not finish it."),
    own("idle_loops", COUNT, "idle", "Set by Ralph: loops in a row that changed nothing."),
    own("attempts", COUNT, about="Set by Ralph."),
    own("base_commit", attr="base", about="Set by Ralph: the commit that the task's work started from."),
    own("result", result_kind("Result", "a task is done", SUMMARY, "verify", "Gate", UNLESS_REQUIRED)),
)
SETUP = Part(
    "Setup",
    "The state of the steps that run once; set by Ralph.",
    SetupState,
    own("attempts", COUNT),
    own("failures", COUNT),
    own("notes"),
)
TASKS = Format(
    title="prd.json (requirements)",
    remedy="`ralph schema tasks` describes every field.",
    rules=rules.of_tasks,
    codec=Codec(states=States(pending=("todo",), begun=("in_progress",), passed=("done",), blocked=("failed",))),
    part=Part(
        "Tasks",
        "The whole file.",
        _plan,
        given("version", Choice((1,)), ONLY_CHECKED, required=True),
        given("project", attr=ONLY_CHECKED),
        given(
            "app", attr=ONLY_CHECKED, about="The application's folder inside the project; empty: the project's root."
        ),
        given("description"),
        own("started_at", TIME),
        own("setup", SETUP, when_set=True),
        given("tasks", ListOf(of=TASK, min_length=1), required=True),
    ),
)


# The specs' implementation.json

SPEC_STATUS = own("status", Choice(("pending", "in_progress", "completed", "blocked")), default="pending")
SPEC_RESULT = own(
    "result", result_kind("Result", "a task has passed, or a spec is closed", LATE_SUMMARY, "gates", "Gate", REQUIRED)
)
SPEC_TASK = Part(
    "TaskEntry",
    "One task for one fresh agent.",
    Task,
    ID,
    given("description", FILLED, "title", required=True),
    SPEC_STATUS,
    CRITERIA,
    given(
        "covers",
        TEXTS,
        ONLY_CHECKED,
        "The tasks in the spec's own list that this task covers; a.1 is the first one of spec a.",
    ),
    *RACE,
    *DECIDED,
    own("notes", about="Set by Ralph: why it has not passed, or why it is blocked."),
    *tried_fields("attempts"),
    RETRIES,
    ATTEMPTS,
    own("base_commit", attr="base", about="Set by Ralph: the commit that its work started from."),
    *SPENT,
    SPEC_RESULT,
)


def _spec(
    *, tasks: tuple[Task, ...], state: TaskState, depends_on: tuple[str, ...] | None, **values: Value
) -> tuple[Spec, tuple[Task, ...]]:
    """A spec is closed when it says so and nothing in it is left to do: a person may have opened a task again."""
    settled = all(task.state is not TaskState.PENDING for task in tasks)
    if not settled and state is not TaskState.PENDING:
        state, values["notes"] = TaskState.PENDING, ""
    spec = Spec(**values, state=state, depends_on=depends_on or (), in_order=depends_on is None)
    return spec, tuple(replace(task, spec=spec.id) for task in tasks)


def _specs(*, specs: tuple[tuple[Spec, tuple[Task, ...]], ...], **values: Value) -> Plan:
    tasks = tuple(task for _, tasks in specs for task in tasks)
    return Plan(target="", tasks=tasks, specs=tuple(spec for spec, _ in specs), **values)


SPEC = Part(
    "SpecEntry",
    "One spec with its tasks, in their order.",
    _spec,
    ID,
    given("file", TITLE, required=True),
    given("name", FILLED, required=True),
    given("priority", WHOLE),
    given("depends_on", Nullable(TEXTS), about="Specs that must be complete first; null or missing: those before it."),
    SPEC_STATUS,
    given("context"),
    given("tasks", ListOf(of=SPEC_TASK, min_length=1, by_rule=True), required=True),
    CRITERIA,
    own("notes", about="Set by Ralph."),
    own("attempts", COUNT, about="Set by Ralph: attempts to commit it."),
    own("failures", COUNT, about="Set by Ralph: how many of them failed in a row."),
    SPEC_RESULT,
    given("listed", TEXTS, ONLY_CHECKED, "Set by Ralph: the tasks that its file listed when it was planned."),
)
SPECS = Format(
    title="implementation.json",
    remedy="`ralph schema implementation` describes every field.",
    rules=rules.of_specs,
    refuse=rules.refuse_newer_specs,
    codec=Codec(
        camel=True,
        states=States(pending=("pending",), begun=("in_progress",), passed=("completed",), blocked=("blocked",)),
    ),
    part=Part(
        "Implementation",
        "The whole file.",
        _specs,
        given("version", Choice((1,)), ONLY_CHECKED, required=True),
        given("updated_at", attr=ONLY_CHECKED),
        given("updated_by", Choice(("plan-mode", "build-mode")), ONLY_CHECKED, default="plan-mode"),
        own("started_at", TIME, about="Set by Ralph."),
        LEARNINGS,
        given("specs", ListOf(of=SPEC), required=True),
    ),
)


# A request's .ralph/state.json and .ralph/tasks/*.json

REQUEST_STATUS = Choice(("pending", "in_progress", "completed", "failed"))
REQUEST_STATES = States(pending=("pending",), begun=("in_progress",), passed=("completed",), blocked=("failed",))
REQUEST_CODEC = Codec(states=REQUEST_STATES)


class RequestState(Frozen):
    """What state.json says of a plan."""

    request: str
    order: tuple[str, ...]
    statuses: dict[str, str]
    failure: Failure | None
    started_at: str
    branch: str
    learnings: tuple[str, ...]


REQUEST_RESULT = result_kind("Result", "a task has passed", LATE_SUMMARY, "gates", "Gate", REQUIRED)
LAST_FAILURE = Part(
    "LastFailure",
    "Why it halted; set by Ralph.",
    Failure,
    own("task_id", attr="task", required=True),
    own("task_title", attr="title", required=True),
    own("error_message", attr="message", required=True),
    own("failed_at", attr="at", required=True),
    given("log_file", attr=ONLY_CHECKED),
)
STATE = Format(
    title="state.json",
    codec=REQUEST_CODEC,
    part=Part(
        "State",
        ".ralph/state.json.",
        RequestState,
        given("version", Choice(("1.0",)), ONLY_CHECKED, required=True),
        given("created_at", FILLED, ONLY_CHECKED, required=True),
        given("updated_at", attr=ONLY_CHECKED, required=True),
        given("phase", Choice(tuple(phase.value for phase in Phase)), ONLY_CHECKED, required=True),
        given("original_request", FILLED, "request", required=True),
        given("task_order", ListOf(of=NAME), "order", required=True),
        given("task_statuses", TableOf(of=REQUEST_STATUS), "statuses", required=True),
        own("last_failure", Nullable(LAST_FAILURE), "failure", required=True),
        given("summary", attr=ONLY_CHECKED, about="A summary of the request, for every agent that works on it."),
        own("started_at", TIME, about="Set by Ralph: when the first task started.", when_set=True),
        given(
            "branch",
            Nullable(BRANCH, none=""),
            about="Set by Ralph: the branch that has the plan once a run has started.",
        ),
        LEARNINGS,
    ),
)
REQUEST_TASK = Format(
    title="task-NNN.json",
    codec=REQUEST_CODEC,
    part=Part(
        "TaskFile",
        ".ralph/tasks/task-NNN.json; its status is in state.json.",
        Task,
        ID,
        given("title", FILLED, required=True),
        given("description"),
        CRITERIA,
        given("dependencies", TEXTS, "depends_on"),
        *RACE,
        *DECIDED,
        RETRIES,
        ATTEMPTS,
        own("notes", about="Set by Ralph: why it has not passed."),
        *tried_fields("attempts"),
        own("base_commit", attr="base", about="Set by Ralph: the commit that its work started from."),
        *SPENT,
        own("result", REQUEST_RESULT),
    ),
)
