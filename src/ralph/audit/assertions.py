"""Says which tests check less than they did: assertions that are gone, looser, or expect something else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ralph.audit.absorbed import HALF, Compared, Pair
from ralph.audit.around import weaker_around
from ralph.audit.checks import GO_FAILS, NOTHING, Assertion, checks_in
from ralph.audit.found import FoundTest
from ralph.audit.lines import shown
from ralph.audit.source import Statement, has_any
from ralph.audit.tokens import is_value
from ralph.plan.evidence import Concern, ConcernKind

MOST_COMPARED = 50  # assertions of one test
MOST_TOLD = 3  # for one test; more of them are one sentence
_TOLERANCE = re.compile(
    r"(?:\b|toBe)(?P<key>abs|rel|delta|rel_tol|abs_tol|atol|rtol|epsilon|tolerance|within|places|decimal|digits|CloseTo)"
    r"\s*(?:=|\(|:)\s*(?P<rest>[^=()]*)"
)
_PRECISION = ("places", "decimal", "digits", "CloseTo")
UNITTEST_PLACES = 7  # of assertAlmostEqual, if a test does not say how many
_AWAITED = re.compile(r"\b(?:await|return)\b")
_SETTLES = re.compile(r"\.\s*(?:rejects|resolves)\b")
_RAISES = re.compile(r"\braises\b|\btoThrow|assertRaises|assertThrows|should_panic")
_MATCHES = re.compile(rf"{_RAISES.pattern}|\bgrep\b|\bmatch")
_CATCHES = ("except", "suppress", "catch", "rescue", "||")
_SWALLOWS = re.compile(r"\bexcept\b[^:]*:|\bsuppress\s*\(|\bcatch\b|\brescue\b|\|\|\s*(?:true|:)(?!\w)")
_SHELL_SWALLOWS = re.compile(
    r"\|\|\s*(?:true|:|echo|printf)(?!\w)|(?:&&|;|\|)\s*(?:true|:|cat)\s*\)?\s*$|(?<!&)&\s*$|\bthen\s*:?\s*;\s*fi\b|.\bset\s+\+e"
)
"""What keeps a failure from ending a shell script, also under `set -e`."""


def loosened(compared: Compared) -> Iterator[Concern]:
    """Return a concern for each way in which a test that stayed checks less."""
    for pair in compared.pairs:
        if pair.before.text != pair.after.text:
            found = [_concern(pair.after, line, text) for line, text in _of_pair(pair, compared)]
            yield from found if len(found) <= MOST_TOLD else [_summary(pair, found)]


def _concern(test: FoundTest, line: int, text: str) -> Concern:
    return Concern(kind=ConcernKind.ASSERTIONS, path=test.path, line=line, text=f"{text} (in `{shown(test.name)}`)")


def _summary(pair: Pair, found: list[Concern]) -> Concern:
    text = f"the test `{shown(pair.after.name)}` checks less in {len(found)} places; the first: {found[0].text}"
    return Concern(kind=ConcernKind.ASSERTIONS, path=pair.after.path, line=found[0].line, text=text)


def _of_pair(pair: Pair, compared: Compared) -> Iterator[tuple[int, str]]:
    removed, added = _different_checks(pair)
    for check in removed[:MOST_COMPARED]:
        if GO_FAILS.search(check.masked):
            continue  # its words say nothing; the condition before it does
        now = _nearest(check, added)
        if now is None:
            if not _is_covered(check, compared.new_tokens + (pair.after.tokens - pair.before.tokens)):
                what = "the case" if check.is_case else "the assertion"
                yield pair.after.line, f"{what} `{shown(check.text)}` is gone"
            continue
        added.remove(now)
        if text := _difference(check, now):
            yield now.line, text
    for check in added:
        if check.strength == NOTHING:
            yield check.line, f"the assertion `{shown(check.text)}` is always true"
    yield from _swallowed(pair)
    yield from weaker_around(pair.before, pair.after)


def _different_checks(pair: Pair) -> tuple[list[Assertion], list[Assertion]]:
    """The assertions that only the base has, and those that only the work has."""
    old, new = pair.before.statements, pair.after.statements
    before = Counter(one.code.strip() for one in old)
    after = Counter(one.code.strip() for one in new)
    gone, added = before - after, after - before
    removed = list(checks_in((one for one in old if one.code.strip() in gone), pair.before.language))
    further = list(checks_in((one for one in new if one.code.strip() in added), pair.after.language))
    return _without(removed, further), _without(further, removed)


def _without(checks: list[Assertion], others: list[Assertion]) -> list[Assertion]:
    left = Counter(check.plain for check in others)
    found = []
    for check in checks:
        if left[check.plain] > 0:
            left[check.plain] -= 1
        else:
            found.append(check)
    return found


def _nearest(check: Assertion, added: list[Assertion]) -> Assertion | None:
    """The new assertion that is about the same thing, if there is one."""
    if len(added) > 50:
        added = [one for one in added if set(one.tokens) & set(check.tokens)][:50]
    best = max(added, key=lambda one: _likeness(check, one), default=None)
    return best if best and _likeness(check, best) > 0 else None


def _likeness(check: Assertion, other: Assertion) -> float:
    if check.is_case != other.is_case:
        return 0
    if not check.tokens and not other.tokens:
        return 1
    if _RAISES.search(check.text) and _RAISES.search(other.text):
        return 1
    return (check.tokens & other.tokens).total() / max(1, (check.tokens | other.tokens).total())


def _is_covered(check: Assertion, gained: Counter[str]) -> bool:
    wanted = check.tokens
    return not wanted or (wanted & gained).total() / wanted.total() > HALF


def _difference(old: Assertion, new: Assertion) -> str:
    """How the new assertion is weaker; empty if it is not."""
    if new.strength == NOTHING:
        return f"the assertion `{shown(old.text)}` is always true now: `{shown(new.text)}`"
    if new.repeats_itself and not old.repeats_itself:
        return f"the assertion `{shown(old.text)}` compares a thing with itself now: `{shown(new.text)}`"
    if _AWAITED.search(old.masked) and not _AWAITED.search(new.masked) and _SETTLES.search(new.masked):
        return f"nothing waits for the assertion `{shown(new.text)}` any more"
    if new.strength < old.strength:
        return f"the assertion `{shown(old.text)}` is loosened to `{shown(new.text)}`"
    if wider := _wider(old.text, new.text):
        return wider
    names_before = {token for token in old.tokens if not is_value(token)}
    names_after = {token for token in new.tokens if not is_value(token)}
    before = [token[1:] for token in (old.tokens - new.tokens) if is_value(token)]
    after = [token[1:] for token in (new.tokens - old.tokens) if is_value(token)]
    if names_before == names_after and before and after and not old.is_case:
        return f"the test expects `{shown(', '.join(after))}` where it expected `{shown(', '.join(before))}`"
    if before and not after and names_after <= names_before and _MATCHES.search(old.text):
        return f"the assertion `{shown(new.text)}` no longer says `{shown(', '.join(before))}`"
    return ""


def _wider(old: str, new: str) -> str:
    """Tolerances that grew, and precisions that shrank."""
    before, after = _tolerances(old), _tolerances(new)
    for key, now in after.items():
        was = before.get(key)
        if was is not None and ((now < was) if key in _PRECISION else (now > was)):
            return f"the tolerance `{key}` is {now:g} now, and was {was:g}"
        if was is None and key not in _PRECISION and "approx" not in old and "lose" not in old:
            return f"the assertion has a tolerance now: `{key}` is {now:g}"
        if was is None and key == "places" and now < UNITTEST_PLACES:
            return f"the tolerance `{key}` is {now:g} now, and was {UNITTEST_PLACES}"
    return ""


def _tolerances(text: str) -> dict[str, float]:
    found = {}
    for match in _TOLERANCE.finditer(text):
        numbers = re.findall(r"\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?", match["rest"])
        if numbers:
            found[match["key"]] = float((numbers[-1] if match["key"] == "CloseTo" else numbers[0]).replace("_", ""))
    return found


def _swallowed(pair: Pair) -> Iterator[tuple[int, str]]:
    """Failures that are caught and dropped inside the test."""
    now = _swallowing(pair.after)
    before = len(_swallowing(pair.before)) if now else 0
    if len(now) > before and pair.after.checks:
        yield now[-1].line, f"failures are caught now: `{shown(now[-1].code)}`"


def _swallowing(test: FoundTest) -> list[Statement]:
    if test.language == "shell":
        checks = {check.line for check in test.checks}
        return [one for one in test.body if one.line in checks and _SHELL_SWALLOWS.search(one.masked)]
    return [one for one in test.body if has_any(one.masked, _CATCHES) and _SWALLOWS.search(one.masked)]
