"""Fields and parts that several plan files have: what a task left behind, what was tried, what it used."""

from __future__ import annotations

from ralph.plan.evidence import Evidence
from ralph.plan.model import Acceptance, GateResult, Need, NeedKind, TaskResult
from ralph.plan.usage import Usage
from ralph.stores.fields import TEXT, Choice, Field, Flag, ListOf, Nullable, Number, Part, Text, given, own
from ralph.stores.findings import FINDING
from ralph.workflows import plan_rules as rules

FLAG, WHOLE, COUNT, SECONDS = Flag(), Number(), Number(least=0), Number(whole=False, rounded=True)
TEXTS, TIME, TITLE, FILLED = (
    ListOf(of=TEXT),
    Nullable(TEXT, none=""),
    Text(min_length=1),
    Text(min_length=1, pattern=r"\S"),
)
BRANCH = Text(pattern=rules.BRANCH, max_length=rules.MAX_BRANCH)
NAME = Text(pattern=rules.STORY_ID, max_length=rules.MAX_ID)
ID = given("id", NAME, required=True)
CRITERIA = given("acceptance_criteria", TEXTS, "criteria")
USED = Part(
    "Used",
    "What the agent's calls used; null: unknown, not 0.",
    Usage,
    own("calls", COUNT),
    own("input_tokens", Nullable(WHOLE)),
    own("output_tokens", Nullable(WHOLE)),
    own("cache_read_tokens", Nullable(WHOLE)),
    own("cache_write_tokens", Nullable(WHOLE)),
    own("cost_usd", Nullable(Number(whole=False))),
    own("unpriced", COUNT, about="Calls with an unknown cost."),
    own("estimated", COUNT, about="Calls whose cost was estimated from their tokens."),
    own("model"),
)
ACCEPTED = Part(
    "AcceptedEntry",
    "Set by `ralph accept`: a person accepted the task, and no gate decided.",
    Acceptance,
    own("by", about="The person's name from git's user.name."),
    own("why", Text(max_length=rules.MAX_WHY)),
)


EVIDENCE = Nullable(Choice(tuple(one.value for one in Evidence), into=Evidence))


def result_kind(name: str, when: str, summary: Field, gates: str, gate: str, required: Field) -> Nullable:
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
        own("held_out", FLAG, about="Set by Ralph: agents do not see it.", when_set=True),
        own("flaky", FLAG, about="Set by Ralph: it was red, then green on the same files.", when_set=True),
        own("not_run", FLAG, about="Set by Ralph: it did not run.", when_set=True),
        own("tests", about="Set by Ralph: what its report counted.", when_set=True),
    )
    return Nullable(
        Part(
            name,
            f"Set by Ralph when {when}.",
            TaskResult,
            own("completed_at", required=True),
            own("commit", required=True),
            summary,
            own(
                "accepted",
                Nullable(ACCEPTED),
                about="Set by Ralph: a person accepted it, and no gate decided.",
                when_set=True,
            ),
            own(gates, ListOf(of=one), "gates"),
            own("evidence", EVIDENCE, about="Set by Ralph: what shows that it does what it should.", when_set=True),
            own("proven_by", TEXTS, about="Set by Ralph: tests or gates that fail without it.", when_set=True),
            own("concerns", TEXTS, about="Set by Ralph: what it may have weakened about the checks.", when_set=True),
            own("agent", about="Set by Ralph: the agent that did it.", when_set=True),
            own("tester", about="Set by Ralph: the agent that wrote its acceptance tests.", when_set=True),
            own("usage", Nullable(USED), about="Set by Ralph: what the attempt that passed used.", when_set=True),
        )
    )


def tried_fields(by: str) -> tuple[Field, ...]:
    return (
        own("tried", TEXTS, about=f"Set by Ralph: what earlier {by} did, and their result."),
        own("review_rounds", COUNT, "rounds", "Set by Ralph: how often a review sent it back."),
        own("findings", ListOf(of=FINDING), about="Set by Ralph: what its last review found."),
    )


RACE = (
    given("race", TEXTS, about="The agents that race for it: two or more names from providers in ralph.config.json."),
    own("racing", ListOf(of=COUNT), about="Set by Ralph: attempts of its race that have not ended.", when_set=True),
)
NEED = Part(
    "NeedEntry",
    "Set by Ralph: the task waits for a person's decision.",
    Need,
    own("kind", Choice(tuple(one.value for one in NeedKind), into=NeedKind), required=True),
    own("why"),
    own("gate", about="The gate that it is about.", when_set=True),
    own("concerns", TEXTS, about="What must be approved.", when_set=True),
)
DECIDED = (
    given("may", TEXTS, about="Globs of tests and gate definitions that the task is meant to change."),
    own("need", Nullable(NEED), about="Set by Ralph: what a person must decide.", when_set=True),
    own("approved", TEXTS, about="Set by `ralph approve`: the concerns that a person approved.", when_set=True),
    own("waived", TEXTS, about="Set by `ralph decide`: gates that are not required for it.", when_set=True),
    own("decisions", TEXTS, about="Set by `ralph decide`: what a person decided about it.", when_set=True),
    own("left_out", FLAG, about="Set by `ralph decide`: it stays blocked and needs nobody.", when_set=True),
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
LEARNINGS = own("learnings", TEXTS, about="Set by Ralph: what agents learned.", when_set=True)
