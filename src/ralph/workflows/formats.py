"""The files that hold plans, one table each: a field is one line here, and nothing anywhere else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from ralph.plan.model import (
    Acceptance,
    Failure,
    FinalReview,
    GateResult,
    Plan,
    SetupState,
    Spec,
    Task,
    TaskResult,
    TaskState,
)
from ralph.plan.usage import Usage
from ralph.stores.fields import (
    ITS_FIELDS,
    ONLY_CHECKED,
    TEXT,
    Choice,
    Field,
    Flag,
    ListOf,
    Maybe,
    Number,
    Part,
    States,
    TableOf,
    Text,
    Value,
    given,
    own,
)
from ralph.stores.findings import FINDING
from ralph.stores.task_codec import Codec, Format
from ralph.workflows import plan_rules as rules
from ralph.workflows.request.phases import Phase

FLAG, WHOLE, COUNT, SECONDS = Flag(), Number(), Number(least=0), Number(whole=False, rounded=True)
TEXTS, TIME, TITLE, FILLED = ListOf(of=TEXT), Maybe(TEXT, none=""), Text(shortest=1), Text(shortest=1, pattern=r"\S")
BRANCH = Text(pattern=rules.BRANCH, longest=rules.LONGEST_BRANCH)
NAME = Text(pattern=rules.STORY_ID, longest=rules.LONGEST_ID)
ID = given("id", NAME, required=True)
_plan = partial(Plan, target="")
CRITERIA = given("acceptance_criteria", TEXTS, "criteria")


# What the formats share

USED = Part(
    "Used",
    "What the agent's calls used; null: nobody said, and that is not 0.",
    Usage,
    own("calls", COUNT),
    own("input_tokens", Maybe(WHOLE)),
    own("output_tokens", Maybe(WHOLE)),
    own("cache_read_tokens", Maybe(WHOLE)),
    own("cache_write_tokens", Maybe(WHOLE)),
    own("cost_usd", Maybe(Number(whole=False))),
    own("unpriced", COUNT, about="Calls whose cost nobody knows."),
    own("estimated", COUNT, about="Calls whose cost was worked out from their tokens."),
    own("model"),
)


ACCEPTED = Part(
    "AcceptedEntry",
    "Set by `ralph accept`: a person vouched for the task, and no gate did.",
    Acceptance,
    own("by", about="The person's name, as git knows it."),
    own("why", Text(longest=rules.LONGEST_WHY)),
)


def _result(name: str, when: str, summary: Field, gates: str, gate: str, required: Field) -> Maybe:
    """What a passed task left behind, and the gates it passed."""
    one = Part(
        gate,
        "",
        GateResult,
        own("name", required=True),
        own("command", required=True),
        own("passed", FLAG, required=True),
        required,
        own("seconds", SECONDS),
        own("in_place", FLAG, about="Set by Ralph: it ran where the agent worked.", when_set=True),
    )
    return Maybe(
        Part(
            name,
            f"Set by Ralph when {when}.",
            TaskResult,
            own("completed_at", required=True),
            own("commit", required=True),
            summary,
            own("accepted", Maybe(ACCEPTED), about="Set by Ralph: no gate decided, a person did.", when_set=True),
            own(gates, ListOf(of=one), "gates"),
        )
    )


def _tried(by: str) -> tuple[Field, ...]:
    return (
        own("tried", TEXTS, about=f"Set by Ralph: what earlier {by} did and came to."),
        own("review_rounds", COUNT, "rounds", "Set by Ralph: how often a review sent it back."),
        own("findings", ListOf(of=FINDING), about="Set by Ralph: what its last review found."),
    )


SUMMARY, LATE_SUMMARY = own("summary", required=True), own("summary")
REQUIRED = own("required", FLAG, default=True)
UNLESS_REQUIRED = own("required", FLAG, default=True, when_set=True)
RETRIES = own("retries", COUNT, "failures", "Set by Ralph: attempts that failed.")
ATTEMPTS = own("attempts", COUNT, about="Set by Ralph: attempts that were made.")
SPENT = (
    own("seconds", Number(whole=False, least=0, rounded=True), about="Set by Ralph."),
    own("usage", USED, about="Set by Ralph."),
)
LEARNINGS = own("learnings", TEXTS, about="Set by Ralph: what agents learned on the way.", when_set=True)


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
    own("passes", FLAG),
    own("retries", COUNT, "failures"),
    own("blocked", FLAG),
    own(
        "last_result",
        _result("LastResult", "a story passes", SUMMARY, "verify", "VerifyResult", UNLESS_REQUIRED),
        "result",
    ),
    own("notes"),
    *_tried("attempts"),
    own("resets", COUNT, about="Set by Ralph: how often the final verification sent it back."),
    own("attempts", COUNT, about="Set by Ralph."),
    own("base_commit", attr="base", about="Set by Ralph: where the story's work began."),
)
VERIFICATION = Part(
    "Verification",
    "How the final verification stands; set by Ralph.",
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
    own("current_story_id", Maybe(TEXT), "current"),
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
        given("user_stories", ListOf(of=STORY, shortest=1), "tasks", required=True),
    ),
)


# The requirements' .ralph/prd.json

TASK = Part(
    "Task",
    "One task for one fresh agent.",
    Task,
    ID,
    given("title", TITLE, required=True),
    given("description"),
    CRITERIA,
    given("depends_on", TEXTS),
    own("status", Choice(("todo", "in_progress", "done", "failed")), default="todo"),
    own("notes", about="Why it is not done yet."),
    *_tried("loops"),
    own("loops", COUNT, "failures", "Set by Ralph: loops that did not finish it."),
    own("idle_loops", COUNT, "idle", "Set by Ralph: loops in a row that changed nothing."),
    own("attempts", COUNT, about="Set by Ralph."),
    own("base_commit", attr="base", about="Set by Ralph: where the task's work began."),
    own("result", _result("Result", "a task is done", SUMMARY, "verify", "Gate", UNLESS_REQUIRED)),
)
SETUP = Part(
    "Setup",
    "How the steps that run once have fared; set by Ralph.",
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
        given("app", attr=ONLY_CHECKED, about="The application's folder below the project's root; empty: the root."),
        given("description"),
        own("started_at", TIME),
        own("setup", SETUP, when_set=True),
        given("tasks", ListOf(of=TASK, shortest=1), required=True),
    ),
)


# The specs' implementation.json

SPEC_STATUS = own("status", Choice(("pending", "in_progress", "completed", "blocked")), default="pending")
SPEC_RESULT = own(
    "result", _result("Result", "a task has passed, or a spec is closed", LATE_SUMMARY, "gates", "Gate", REQUIRED)
)
SPEC_TASK = Part(
    "TaskEntry",
    "One task for one fresh agent.",
    Task,
    ID,
    given("description", FILLED, "title", required=True),
    SPEC_STATUS,
    CRITERIA,
    given("covers", TEXTS, ONLY_CHECKED, "Which of the tasks that the spec lists it does: a.1 is the first of spec a."),
    own("notes", about="Set by Ralph: why it has not passed, or why it is blocked."),
    *_tried("attempts"),
    RETRIES,
    ATTEMPTS,
    own("base_commit", attr="base", about="Set by Ralph: the files its work began with."),
    *SPENT,
    SPEC_RESULT,
)


def _spec(*, tasks: tuple[Task, ...], state: TaskState, **values: Value) -> tuple[Spec, tuple[Task, ...]]:
    """A spec is closed when it says so and nothing in it is left to do: a person may have opened a task again."""
    settled = all(task.state is not TaskState.PENDING for task in tasks)
    spec = Spec(**values, state=state if settled else TaskState.PENDING)
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
    SPEC_STATUS,
    given("context"),
    given("tasks", ListOf(of=SPEC_TASK, shortest=1, by_rule=True), required=True),
    CRITERIA,
    own("notes", about="Set by Ralph."),
    own("attempts", COUNT, about="Set by Ralph: attempts at committing it."),
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


@dataclass(frozen=True, kw_only=True)
class RequestState:
    """What state.json says of a plan."""

    request: str
    order: tuple[str, ...]
    statuses: dict[str, str]
    failure: Failure | None
    started_at: str
    branch: str
    learnings: tuple[str, ...]


REQUEST_RESULT = _result("Result", "a task has passed", LATE_SUMMARY, "gates", "Gate", REQUIRED)
LAST_FAILURE = Part(
    "LastFailure",
    "Why it has halted; set by Ralph.",
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
        own("last_failure", Maybe(LAST_FAILURE), "failure", required=True),
        given("summary", attr=ONLY_CHECKED, about="What it is about, for every agent that does a part of it."),
        own("started_at", TIME, about="Set by Ralph: when the first task was begun.", when_set=True),
        given(
            "branch",
            Maybe(BRANCH, none=""),
            about="Set by Ralph: where the plan lives once tasks are done side by side.",
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
        RETRIES,
        ATTEMPTS,
        own("notes", about="Set by Ralph: why it has not passed."),
        *_tried("attempts"),
        own("base_commit", attr="base", about="Set by Ralph: where its work began."),
        *SPENT,
        own("result", REQUEST_RESULT),
    ),
)
