"""Says which limits are lower, which warnings are silenced, and which expected results are rewritten."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from posixpath import basename

from ralph.audit.conventions import is_snapshot
from ralph.audit.files import ChangedFile
from ralph.audit.languages import language_of
from ralph.audit.lines import LineNumbers, shown
from ralph.audit.source import SourceText
from ralph.plan.evidence import Concern, ConcernKind

_CONFIGURATION = re.compile(
    r".*\.(?:toml|cfg|ini|json|jsonc|ya?ml|mk|xml|gradle|kts|conf|sh|rc)|.*\.config\.[cm]?[jt]s|\..*rc(?:\.\w+)?"
    r"|(?:GNU)?[mM]akefile|[jJ]ustfile|noxfile\.py|\.simplecov|Rakefile|Taskfile.*"
)
_LIMIT = re.compile(
    r"(?P<key>(?:cov-)?fail[-_]under|minimum(?:_coverage|Coverage)?|min[-_](?:coverage|score)|branches|functions|lines|statements"
    r"|max[-_]warnings|max[-_]complexity|max[-_]line[-_]length|maxDiffPixels|maxDiffPixelRatio|failureThreshold|reruns)"
    r"""["']?\s*(?:[=:]|\s)\s*(?P<number>-?\d+(?:\.\d+)?)"""
)
_LESS_IS_STRICTER = ("max", "failureThreshold", "reruns")
_ONLY_FOR_COVERAGE = frozenset({"branches", "functions", "lines", "statements", "minimum"})
_SILENCED = re.compile(
    r"#\s*(?:noqa|type:\s*ignore|pylint:\s*disable|pragma:\s*no\s*cover|nosec|mypy:\s*ignore-errors|ruff:\s*noqa|pyright:\s*ignore"
    r"|flake8:\s*noqa|shellcheck\s+disable|rubocop:disable|:nocov:)"
    r"|(?://|/\*)\s*(?:eslint-disable[\w-]*|@ts-(?:ignore|nocheck|expect-error)|nolint|istanbul\s+ignore|c8\s+ignore|v8\s+ignore|biome-ignore|prettier-ignore|tslint:disable)"
    r"|#!?\[allow\(|@SuppressWarnings\b|@Suppress\("
)
_RULE = re.compile(
    r"""(?<![@\w/-])(?P<rule>[@\w/-]++)["']?\s*:\s*\[?\s*(?:["']?(?P<level>off|warn|error)["']?|(?P<number>[012])\b)"""
)
_LINTER = re.compile(r"\.eslintrc.*|eslint\.config\..*|package\.json|biome\.jsonc?|\.stylelintrc.*|tslint\.json")


def lowered(changes: Iterable[ChangedFile]) -> Iterator[Concern]:
    """Return the concerns about limits, lint rules, silenced warnings and snapshots."""
    known = [change for change in changes if change.is_readable]
    for change in known:
        if _CONFIGURATION.fullmatch(basename(change.path)) and change.before is not None and change.after is not None:
            yield from _limits(change)
            if _LINTER.fullmatch(basename(change.path)):
                yield from _rules(change)
    yield from _silenced(known)
    for change in changes:
        if is_snapshot(change.path) and _is_rewritten(change):
            yield _told(change.path, _first_difference(change), "the expected result is rewritten")


def _told(path: str, line: int | None, text: str) -> Concern:
    return Concern(kind=ConcernKind.ASSERTIONS, path=path, line=line, text=text)


def _limits(change: ChangedFile) -> Iterator[Concern]:
    before, after = _numbers(change.old), _numbers(change.new)
    for key, was in before.items():
        now = after.get(key)
        if now is None:
            if not key.startswith(_LESS_IS_STRICTER):
                yield _told(change.path, None, f"the threshold `{key}` is gone; it was {was[0][0]:g}")
            continue
        for (old, _), (new, line) in zip(was, now, strict=False):
            if (new > old) if key.startswith(_LESS_IS_STRICTER) else (new < old):
                yield _told(change.path, line, f"the threshold `{key}` is {new:g} now, and was {old:g}")


def _numbers(text: str) -> dict[str, list[tuple[float, int]]]:
    found: dict[str, list[tuple[float, int]]] = defaultdict(list)
    is_coverage = re.search("[cC]overage|nyc|thresholds|check-coverage|violationRules", text)
    numbers = LineNumbers(text)
    for match in _LIMIT.finditer(text):
        if is_coverage or match["key"] not in _ONLY_FOR_COVERAGE:
            found[match["key"]].append((float(match["number"]), numbers.at(match.start())))
    return found


def _rules(change: ChangedFile) -> Iterator[Concern]:
    before = {rule: level for rule, level, _ in _levels(change.old)}
    for rule, level, line in _levels(change.new):
        was = before.get(rule, 3 if change.path.endswith("package.json") else 2)
        if level < was and level == 0 and was != 3:
            yield _told(change.path, line, f"the lint rule `{rule}` is off now")
        elif level < was and was != 3 and rule in before:
            yield _told(change.path, line, f"the lint rule `{rule}` only warns now")


def _levels(text: str) -> Iterator[tuple[str, int, int]]:
    levels = {"off": 0, "warn": 1, "error": 2}
    numbers = LineNumbers(text)
    for match in _RULE.finditer(text):
        level = levels[match["level"]] if match["level"] else int(match["number"])
        yield match["rule"], level, numbers.at(match.start())


def _silenced(changes: list[ChangedFile]) -> Iterator[Concern]:
    """Warnings that are silenced in a line that was not silenced anywhere before."""
    known: Counter[str] = Counter()
    found: list[tuple[str, int, str, str]] = []
    for change in changes:
        if language_of(change.path):
            known.update(key for key, _, _ in _silences(change.path, change.old))
            found += [(change.path, line, key, sign) for key, line, sign in _silences(change.path, change.new)]
    for path, line, key, sign in found:
        known[key] -= 1
        if known[key] < 0:
            yield _told(path, line, f"a warning is silenced: `{sign}`")


def _silences(path: str, text: str) -> Iterator[tuple[str, int, str]]:
    language = language_of(path)
    if not language or not _SILENCED.search(text):
        return
    source, lines = SourceText(text, language.syntax), text.split("\n")
    for match in _SILENCED.finditer(text):
        is_comment = not source.code[match.start() : match.end()].strip()
        if is_comment or source.masked[match.start() : match.end()].strip():  # else it stands in a string
            line = source.line(match.start())
            yield "".join(lines[line - 1].split()), line, shown(match.group())


def _is_rewritten(change: ChangedFile) -> bool:
    """Whether something that was expected before is not expected any more; new results are no concern."""
    if change.before is None:
        return False
    if change.after is None:
        return False  # the test that used it is judged instead
    if not change.is_readable:
        return True
    return bool(Counter(_lines(change.old)) - Counter(_lines(change.new)))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _first_difference(change: ChangedFile) -> int | None:
    if not change.is_readable:
        return None
    known = set(change.old.splitlines())
    return next((number for number, line in enumerate(change.new.splitlines(), 1) if line not in known), 1)
