"""Says which tests ran on the base and do not run on the work, as the gates themselves report.

Whatever keeps a test from running, in whichever file: it is missing in the report. A test that is missing and gone from
the source is no matter here: the comparison of the source judges whether another one took its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from ralph.audit.absorbed import MAX_FILES, Compared
from ralph.audit.files import Tree
from ralph.audit.found import FoundTest
from ralph.audit.languages import may_have_tests, tests_in
from ralph.audit.lines import listed, shown
from ralph.audit.reported import FilesByName, TestsByName, without_case
from ralph.frozen import Frozen
from ralph.plan.evidence import Concern, ConcernKind

MOST_TOLD = 5  # of one file; more of them are one sentence
Missing = tuple[FoundTest, bool]  # a test that stopped, and whether it is skipped now
_STOPPED = {
    ConcernKind.VANISHED: ("no longer runs, but is still there", "no longer run, but are still there"),
    ConcernKind.SKIPPED: ("is skipped now", "are skipped now"),
}


class GateCounts(Frozen):
    """How many tests a gate without a report ran, by its own last lines."""

    gate: str
    before: int
    after: int


class Observed(Frozen):
    """What green gates said about the tests that they ran on base and work; only what is known of both."""

    before: frozenset[str] = frozenset()  # names in the reports of the base, without those that were skipped
    after: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()  # on the work
    counts: tuple[GateCounts, ...] = ()


def stopped(observed: Observed, compared: Compared, known: Sequence[Concern], base: Tree, work: Tree) -> list[Concern]:
    """Return a concern for each test that ran and does not run; leave out the files about which `known` says so."""
    kinds = (ConcernKind.VANISHED, ConcernKind.SKIPPED)
    told = {concern.path for concern in known if concern.kind in kinds}
    by_file: dict[tuple[ConcernKind, str], list[FoundTest]] = defaultdict(list)
    search = _Search(observed, compared, base, work)
    for test, is_skipped in search.tests():
        by_file[kinds[is_skipped], test.path].append(test)
    found = [one for (kind, _), tests in by_file.items() for one in _told(kind, tests)]
    return [
        *(one for one in found if one.path not in told),
        *search.nameless(),
        *(one for counts in observed.counts if (one := _fewer(counts, compared))),
    ]


def _told(kind: ConcernKind, tests: list[FoundTest]) -> Iterator[Concern]:
    one, many = _STOPPED[kind]
    about = partial(Concern, kind=kind, path=tests[0].path)
    if len(tests) > MOST_TOLD:
        names = listed([test.name for test in tests])
        yield about(line=tests[0].line, text=f"{len(tests)} tests ran on the base and {many}: {names}")
        return
    for test in tests:
        yield about(line=test.line, text=f"the test `{shown(test.name)}` ran on the base and {one}")


def _fewer(counts: GateCounts, compared: Compared) -> Concern | None:
    """Say that fewer tests ran than the source explains.

    If tests changed or took the place of others, they may have fewer cases, so it is told. New tests explain nothing.
    """
    explained = max(0, len(compared.gone) - len(compared.new))
    if counts.after >= counts.before - explained:
        return None
    has_changed = (compared.new and compared.gone) or any(
        pair.before.text != pair.after.text for pair in compared.pairs
    )
    return Concern(
        kind=ConcernKind.ASSERTIONS if has_changed else ConcernKind.VANISHED,
        path=f"gate {counts.gate}",
        text=f"it ran {counts.after} test{'' if counts.after == 1 else 's'}, and {counts.before} on the base",
    )


class _Search:
    """Finds the tests behind the names that are missing in the reports of the work."""

    def __init__(self, observed: Observed, compared: Compared, base: Tree, work: Tree) -> None:
        self._observed = observed
        self._compared = compared
        self._base, self._work = base, work
        self._missing = _missing(observed)
        self._nameless: list[str] = []

    def tests(self) -> Iterator[Missing]:
        if self._missing:
            yield from self._in_changed_files()
            yield from self._in_other_files()

    def _in_changed_files(self) -> Iterator[Missing]:
        pairs = {pair.before: pair.after for pair in self._compared.pairs}
        files = FilesByName(filter(may_have_tests, self._base.paths))
        were = TestsByName((*pairs, *self._compared.gone), files)
        found, left = _behind(self._missing, were)
        self._missing = left
        now = TestsByName(pairs.values(), FilesByName(filter(may_have_tests, self._work.paths)))
        yield from self._stopped((pairs[test] for test in found if test in pairs), now)

    def _in_other_files(self) -> Iterator[Missing]:
        """Tests of files that are as they were; only these are read that a missing name may be in."""
        changed = {test.path for pair in self._compared.pairs for test in (pair.before, pair.after)}
        files = FilesByName(filter(may_have_tests, self._work.paths))
        wanted: set[str] = set()
        for name in self._missing:
            wanted.update(files.named_in(name) or files.paths)
        there = TestsByName(
            (
                test
                for path in sorted(self._base.paths & wanted - changed)[:MAX_FILES]
                for test in tests_in(path, self._work.text(path) or "")
            ),
            files,
        )
        found, self._nameless = _behind(self._missing, there)
        yield from self._stopped(found, there)

    def _stopped(self, tests: Iterable[FoundTest], now: TestsByName) -> Iterator[Missing]:
        """Leave out the tests of which at least one case runs."""
        wanted = dict.fromkeys(tests)
        if not wanted:
            return
        run, _ = _behind(self._observed.after, now)
        skipped, _ = _behind(self._observed.skipped, now)
        yield from ((test, test in skipped) for test in wanted if test not in run)

    def nameless(self) -> Iterator[Concern]:
        """Names that are in no test that is known: made while the tests run, or of a language that is not read."""
        if not self._nameless:
            return
        count = len(self._nameless)
        is_fewer = len(self._observed.after - self._observed.before) < count
        what = "1 test ran" if count == 1 else f"{count} tests ran"
        yield Concern(
            kind=ConcernKind.VANISHED if is_fewer else ConcernKind.ASSERTIONS,
            path="report",
            text=f"{what} on the base and not on the work: {listed(self._nameless)}",
        )


def _missing(observed: Observed) -> list[str]:
    """Return the names of tests that ran on the base, and of which no case ran on the work."""
    missing = observed.before - observed.after
    left = {without_case(name) for name in observed.after} if missing else ()
    return sorted(name for name in missing if without_case(name) not in left)


def _behind(names: Iterable[str], tests: TestsByName) -> tuple[Mapping[FoundTest, None], list[str]]:
    """Return the tests with these names, and the names without a test."""
    found: dict[FoundTest, None] = {}
    left: list[str] = []
    for name in names:
        behind = tests.behind(name)
        found.update(dict.fromkeys(behind))
        if not behind:
            left.append(name)
    return found, left
