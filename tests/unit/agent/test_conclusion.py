"""Whether a call failed, from how its program ended and from its own last lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.agent.conclusion import failure_of
from ralph.agent.dialects import DIALECTS, dialect_of
from ralph.agent.dialects.base import DialectReport
from ralph.agent.failure import CallFailure, FailureKind
from ralph.agent.remedy import remedy_of
from ralph.config import Provider
from ralph.process.spawn import ExitKind, Limits, ProcessEnd

DATA = Path(__file__).parents[2] / "data"
LIMITS = Limits(total=60, idle=30)
NETWORK = CallFailure(kind=FailureKind.NETWORK, said="no route")
ERROR = CallFailure(kind=FailureKind.ERROR, said="oops")


def concluded(
    dialect: str = "text",
    *,
    how: ExitKind = ExitKind.EXITED,
    code: int = 0,
    said: str = "",
    errors: str = "",
    report: DialectReport | None = None,
) -> CallFailure | None:
    ended = ProcessEnd(how=how, code=code, seconds=1)
    return failure_of(ended, report or DialectReport(), DIALECTS[dialect], LIMITS, said=said, errors=errors)


def kind(*args: object, **options: object) -> FailureKind | None:
    found = concluded(*args, **options)  # type: ignore[arg-type]
    return found.kind if found else None


def recorded(name: str) -> str:
    return (DATA / name).read_text()


def test_a_call_that_ended_well_has_not_failed() -> None:
    assert concluded(said="fine") is None
    assert concluded("claude") is None
    assert concluded(how=ExitKind.LINGERED, code=-15, said="fine") is None


def test_an_exit_code_or_a_signal_is_a_crash() -> None:
    assert concluded(code=3) == CallFailure(kind=FailureKind.CRASH, said="exit code 3")
    assert concluded(code=-11) == CallFailure(kind=FailureKind.CRASH, said="signal 11")


def test_claude_code_that_refuses_to_work_as_root_cannot_be_used() -> None:
    said = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
    assert concluded("claude", code=1, errors=f"{said}\n") == CallFailure(kind=FailureKind.UNUSABLE, said=said)
    assert remedy_of(CallFailure(kind=FailureKind.UNUSABLE, said=said), Provider(command="claude")) == (
        "Run Ralph as another user. In a container you can set IS_SANDBOX=1 instead."
    )
    assert kind("claude", code=1, said=said) is FailureKind.CRASH, "the agent may say what it likes"


def test_a_program_that_ralph_ended_while_it_tried_again_reports_why() -> None:
    assert concluded("codex", how=ExitKind.GAVE_UP, code=-15, report=DialectReport(failure=NETWORK)) == NETWORK


@pytest.mark.parametrize("code", [126, 127])
def test_a_program_that_is_missing_has_not_started(code: int) -> None:
    found = concluded(code=code, errors="env: node: No such file\n")
    assert found == CallFailure(kind=FailureKind.NOT_STARTED, said=f"exit code {code}, env: node: No such file")
    assert kind(code=code, said="it ran") is FailureKind.CRASH


def test_what_the_program_reports_comes_before_how_it_ended() -> None:
    assert kind("codex", code=1, report=DialectReport(failure=ERROR)) is FailureKind.ERROR
    assert kind("codex", code=0, report=DialectReport(failure=ERROR)) is FailureKind.ERROR, (
        "success with an error inside"
    )
    assert kind("codex", how=ExitKind.TIMED_OUT, report=DialectReport(failure=NETWORK)) is FailureKind.NETWORK
    assert kind("codex", how=ExitKind.TIMED_OUT, report=DialectReport(failure=ERROR)) is FailureKind.TIME_OUT


def test_a_time_out_is_the_models_if_it_never_answered() -> None:
    assert concluded("gemini", how=ExitKind.TIMED_OUT) == CallFailure(kind=FailureKind.TIME_OUT, said="60 s")
    assert kind("gemini", how=ExitKind.TIMED_OUT, report=DialectReport(answered=False)) is FailureKind.HANGING_MODEL


def test_silence_is_the_models_if_no_tool_was_running() -> None:
    waiting, working = DialectReport(waiting=True), DialectReport(waiting=False)
    assert kind("claude", how=ExitKind.SILENT, report=waiting) is FailureKind.HANGING_MODEL
    assert concluded("claude", how=ExitKind.SILENT, report=working) == CallFailure(kind=FailureKind.IDLE, said="30 s")
    assert kind("text", how=ExitKind.SILENT) is FailureKind.IDLE, "plain text does not show it"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (145, FailureKind.AUTHENTICATION),
        (173, FailureKind.RATE_LIMIT),
        (244, FailureKind.OVERLOAD),
        (17, FailureKind.OVERLOAD),
    ],
)
def test_geminis_exit_code_is_an_http_status(code: int, expected: FailureKind) -> None:
    assert kind("gemini", code=code, report=DialectReport(failure=ERROR)) is expected
    assert kind("codex", code=code, report=DialectReport(failure=ERROR)) is FailureKind.ERROR
    assert kind("gemini", code=1, report=DialectReport(failure=ERROR)) is FailureKind.ERROR


@pytest.mark.parametrize(
    ("dialect", "code", "said", "errors", "expected", "quoted"),
    [
        ("aider", 0, "aider/bad-key-401.txt", "", FailureKind.AUTHENTICATION, "invalid x-api-key The API provider is"),
        (
            "mini",
            1,
            "mini/bad-key-401.out.txt",
            "mini/bad-key-401.txt",
            FailureKind.AUTHENTICATION,
            "invalid x-api-key",
        ),
        ("mini", 1, "mini/bad-key-401.out.txt", "", FailureKind.AUTHENTICATION, "invalid x-api-key You can"),
        ("gemini", 41, "", "gemini/no-login.err.txt", FailureKind.AUTHENTICATION, "Please set an Auth method"),
        ("gemini", 41, "", "gemini/no-key.err.txt", FailureKind.AUTHENTICATION, "you must specify the GEMINI_API_KEY"),
        ("pi", 1, "", "pi/no-login.err.txt", FailureKind.AUTHENTICATION, "No API key found for the selected model."),
    ],
)
def test_the_last_lines_of_a_program_are_understood(dialect, code, said, errors, expected, quoted) -> None:
    found = concluded(
        dialect, code=code, said=recorded(said) if said else "", errors=recorded(errors) if errors else ""
    )
    assert found
    assert found.kind is expected
    assert quoted in found.said


@pytest.mark.parametrize(
    ("command", "said", "errors"),
    [("claude", "claude/bad-key-401.txt", ""), ("codex", "", "codex/bad-key-401.err.txt")],
)
def test_a_structured_program_is_understood_as_text_too(command: str, said: str, errors: str) -> None:
    dialect = dialect_of(Provider(command=command, args=("-p",)))
    ended = ProcessEnd(how=ExitKind.EXITED, code=1, seconds=1)
    texts = {"said": recorded(said) if said else "", "errors": recorded(errors) if errors else ""}
    found = failure_of(ended, DialectReport(), dialect, LIMITS, **texts)
    assert not dialect.is_structured
    assert found
    assert found.kind is FailureKind.AUTHENTICATION
    assert "Create hello.txt" not in found.said


def test_aider_that_was_stopped_while_it_tried_again_was_limited() -> None:
    said = recorded("aider/rate-limit-429.txt")
    assert kind("aider", how=ExitKind.TIMED_OUT, said=said) is FailureKind.RATE_LIMIT


def test_words_of_a_model_are_no_error_of_its_program() -> None:
    error = "litellm.AuthenticationError: AuthenticationError: no key"
    good = recorded("aider/success.txt")
    assert concluded("aider", said=good) is None
    assert concluded("aider", said=good.replace("<ralph>DONE</ralph>", error)) is None, "it answered after it"
    assert kind("aider", said=good + error) is FailureKind.AUTHENTICATION
    assert concluded("aider", said=f"I saw {error} in the log\n") is None
    assert concluded("mini", said=error) is None, "exit code 0 means well there"
    assert concluded("text", said=error, errors=error) is None


@pytest.mark.parametrize("line", ["API Error: 401 no", "ERROR: unexpected status 429", "litellm.RateLimitError: slow"])
def test_an_unknown_command_has_no_words_of_its_own(line: str) -> None:
    assert kind("text", code=1, said=line, errors=line) is FailureKind.CRASH


def test_speech_of_a_structured_program_is_never_searched_for_errors() -> None:
    assert kind("codex", code=1, said="ERROR: unexpected status 401 Unauthorized") is FailureKind.CRASH


@pytest.mark.parametrize("command", ["codex", "opencode", "copilot", "pi", "gemini"])
def test_a_transcript_on_standard_output_is_never_searched_for_errors(command: str) -> None:
    dialect = dialect_of(Provider(command=command, args=()))
    ended = ProcessEnd(how=ExitKind.EXITED, code=1, seconds=1)
    words = "ERROR: unexpected status 401 Unauthorized\nError: 429 Too Many Requests\n"
    found = failure_of(ended, DialectReport(), dialect, LIMITS, said=words, errors="")
    assert found == CallFailure(kind=FailureKind.CRASH, said="exit code 1")


def test_a_program_that_lingers_had_ended_well() -> None:
    assert concluded("codex", how=ExitKind.LINGERED, code=-15, errors="ERROR: unexpected status 401\n") is None


def test_only_the_last_lines_count() -> None:
    early = "ERROR: unexpected status 401 Unauthorized\n" + "and more\n" * 10
    assert kind("codex", code=1, errors=early) is FailureKind.CRASH
