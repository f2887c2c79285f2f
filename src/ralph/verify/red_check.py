"""Which tests or gates fail once a task's acceptance tests are there, and did not before. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.frozen import Frozen
from ralph.plan.model import GateResult
from ralph.verify.gates import called
from ralph.verify.reports import load_tests, ran_nothing

MAX_NAMES = 20
MUST_FAIL = "Each test must fail now, and pass once the task is done"


class RedCheck(Frozen):
    """What gates say about acceptance tests without the work."""

    red: tuple[str, ...] = ()  # the tests that fail, by name; the gate, if its report does not tell
    gates: tuple[str, ...] = ()  # the gates that run them
    unclear: tuple[str, ...] = ()  # gates that failed before too, and do not say by which tests
    mistake: str = ""  # why the tests cannot be used


def compare(before: Iterable[GateResult], after: Iterable[GateResult]) -> RedCheck:
    """Compare the gates on the base with the same gates on the base with the tests in it, in the same order."""
    red: list[str] = []
    gates: list[str] = []
    unclear: list[str] = []
    told: list[str] = []
    for old, new in zip(before, after, strict=True):
        if new.passed or ran_nothing(new):
            told.append(_unseen(old, new) or f"{called(old)} passes")
            continue
        names = _failed(old, new)
        if names is None:
            unclear.append(old.name)
        elif names:
            red += names
            gates.append(old.name)
        else:
            told.append(f"{called(old)} fails only by tests that failed before")
    mistake = "" if red or unclear else f"Nothing is implemented yet, but {'; '.join(told)}. {MUST_FAIL}."
    first = tuple(dict.fromkeys(red))[:MAX_NAMES]
    return RedCheck(red=first, gates=tuple(gates), unclear=tuple(unclear), mistake=mistake)


def _failed(old: GateResult, new: GateResult) -> list[str] | None:
    """Return what newly fails in a red gate; None if that cannot be told."""
    was, now = load_tests(old.report), load_tests(new.report)
    if now and now.failed:
        names = sorted(set(now.failed).difference(was.failed if was else ()))
        return names if was or old.passed else None
    return [old.name] if old.passed or ran_nothing(old) else None


def _unseen(old: GateResult, new: GateResult) -> str:
    """Say that a gate does not run the tests, if its reports show that."""
    was, now = load_tests(old.report), load_tests(new.report)
    if was is None or now is None or now.passed.difference(was.passed):
        return ""
    return f"{called(old)} does not run any new test: put them where it finds them"
