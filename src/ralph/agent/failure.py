"""What can go wrong with a call, as values, and one rule for each: stop, wait and try again, or fail the attempt."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from ralph.frozen import Frozen


class FailureKind(Enum):
    """Why a call of an agent did not succeed."""

    AUTHENTICATION = "authentication"  # no login, or a key that was refused
    UNUSABLE = "unusable"  # no credit, no such model
    NOT_STARTED = "not started"  # no such program
    NO_WRITE_PERMISSION = "no write permission"  # it may not change files, so it cannot work at all
    USAGE_LIMIT = "usage limit"  # the plan or the quota is used up
    RATE_LIMIT = "rate limit"  # too many requests at the moment
    OVERLOAD = "overload"  # the service has a problem of its own
    NETWORK = "network"  # the service could not be reached, or the connection broke
    HANGING_MODEL = "hanging model"  # the program waited for an answer that did not come
    CONTEXT_TOO_LONG = "context too long"
    PERMISSION_REFUSED = "permission refused"  # a tool that it may not use
    CRASH = "crash"  # an exit code other than 0, or a signal
    TIME_OUT = "time-out"
    IDLE = "idle"  # no output for too long, while one of its tools ran
    SILENCE = "silence"  # exit code 0, but it said nothing and changed nothing
    ERROR = "error"  # an error of its own, whatever its exit code and its status say


class Response(Enum):
    """What a failure leads to."""

    STOP = "stop"  # the run ends at once: a person must act
    WAIT = "wait"  # the attempt is made again later, at no cost to the task
    FAIL = "fail"  # the attempt has failed


class Rule(Frozen):
    """What one kind of failure leads to, and the sentence that says so; `{said}` is what the program said."""

    response: Response
    text: str


RULES: Mapping[FailureKind, Rule] = {
    FailureKind.AUTHENTICATION: Rule(response=Response.STOP, text="The agent cannot be used: {said}"),
    FailureKind.UNUSABLE: Rule(response=Response.STOP, text="The agent cannot be used: {said}"),
    FailureKind.NOT_STARTED: Rule(response=Response.STOP, text="The agent cannot run: {said}."),
    FailureKind.NO_WRITE_PERMISSION: Rule(
        response=Response.STOP, text="The agent may not change files: it was refused the tool {tool}."
    ),
    FailureKind.USAGE_LIMIT: Rule(response=Response.WAIT, text="The agent has reached its usage limit: {said}"),
    FailureKind.RATE_LIMIT: Rule(response=Response.WAIT, text="The agent could not work: {said}"),
    FailureKind.OVERLOAD: Rule(response=Response.WAIT, text="The agent could not work: {said}"),
    FailureKind.NETWORK: Rule(response=Response.WAIT, text="The agent could not reach the model: {said}"),
    FailureKind.HANGING_MODEL: Rule(response=Response.WAIT, text="The model did not answer: {said}"),
    FailureKind.CONTEXT_TOO_LONG: Rule(
        response=Response.FAIL, text="The task does not fit into the model's context: {said}"
    ),
    FailureKind.PERMISSION_REFUSED: Rule(response=Response.FAIL, text="The agent was refused the tool {tool}."),
    FailureKind.CRASH: Rule(response=Response.FAIL, text="The agent ended with {said}."),
    FailureKind.TIME_OUT: Rule(
        response=Response.FAIL, text="The agent did not finish within {said}; its whole process tree was ended."
    ),
    FailureKind.IDLE: Rule(
        response=Response.FAIL, text="The agent printed nothing for {said}; its whole process tree was ended."
    ),
    FailureKind.SILENCE: Rule(response=Response.FAIL, text="The agent ended with exit code 0, but said nothing."),
    FailureKind.ERROR: Rule(response=Response.FAIL, text="The agent reported an error: {said}"),
}
MAX_SAID = 600


class CallFailure(Frozen):
    """Why a call failed, in the program's own words."""

    kind: FailureKind
    said: str = ""
    retry_at: float | None = None  # when a limit resets, in seconds since 1970
    tool: str = ""  # the tool that it was refused

    @property
    def response(self) -> Response:
        return RULES[self.kind].response

    @property
    def text(self) -> str:
        """The sentence that people read."""
        said = " ".join(self.said.split())
        short = said if len(said) <= MAX_SAID else f"{said[:MAX_SAID]} …"
        text = RULES[self.kind].text
        return text.replace("{said}", short or "it gave no reason").replace("{tool}", self.tool or "it needs")


WRITING_TOOLS = frozenset(
    ("write", "edit", "multiedit", "notebookedit", "write_file", "replace", "apply_patch", "patch", "create")
)
"""The names, in small letters, under which the known programs change files."""


def refusal(tools: tuple[str, ...], *, changed: bool) -> CallFailure | None:
    """Return the failure of a call that was refused tools; `changed`: it changed files anyway."""
    writing = next((tool for tool in tools if tool.lower() in WRITING_TOOLS), "")
    if writing and not changed:
        return CallFailure(kind=FailureKind.NO_WRITE_PERMISSION, tool=writing)
    return CallFailure(kind=FailureKind.PERMISSION_REFUSED, tool=", ".join(dict.fromkeys(tools))) if tools else None
