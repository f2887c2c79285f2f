"""Pairs the tests of base and work, and finds the tests that are gone without anything in their place.

A test is *absorbed* if what it was about, the names that it used and the values that it had, is for the most part in
tests that are new or changed in the work. So a test may be renamed, moved, merged, split, parametrized or rewritten.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ralph.audit.conventions import is_test_file
from ralph.audit.files import ChangedFile, Tree
from ralph.audit.found import FoundTest
from ralph.audit.languages import may_have_tests, tests_in
from ralph.audit.tokens import is_value

MOST = 0.6  # of all that a test was about
HALF = 0.5  # of the values that it had
MAX_CANDIDATES = 8
MAX_FILES = 300  # unchanged files that are searched, for a copy of a test or a name that it used
_WORD = re.compile(r"\w+")
MAX_POSTINGS = 60  # a name that more tests use says little about any of them


@dataclass(frozen=True)
class Pair:
    """A test that is in both base and work, perhaps under another name or in another file."""

    before: FoundTest
    after: FoundTest


@dataclass(kw_only=True)
class Compared:
    """The tests of all changed files, before and after."""

    pairs: list[Pair] = field(default_factory=list)
    gone: list[FoundTest] = field(default_factory=list)  # not paired, or with nothing of what the test was
    lost: list[FoundTest] = field(default_factory=list)  # those of them that are not absorbed either
    after: list[FoundTest] = field(default_factory=list)  # all tests of the work in changed files
    new: list[FoundTest] = field(default_factory=list)  # those of them that are not in a pair

    @cached_property
    def new_tokens(self) -> Counter[str]:
        """What the new tests are about, all together."""
        found: Counter[str] = Counter()
        for test in self.new:
            found.update(test.tokens)
        return found


def compare(changes: Sequence[ChangedFile], is_collected: Callable[[str], bool], base: Tree) -> Compared:
    """Compare the tests of base and work; `is_collected` tells the files of the work whose tests run."""
    before: list[FoundTest] = []
    after: list[FoundTest] = []
    for change in changes:
        if may_have_tests(change.path) and change.old != change.new:
            before += tests_in(change.path, change.old)
            after += tests_in(change.path, change.new) if is_collected(change.path) else []
    compared = Compared(after=after)
    lost, compared.new = _pair(before, after, compared.pairs)
    hollow = [pair for pair in compared.pairs if _is_hollow(pair)]
    compared.pairs = [pair for pair in compared.pairs if pair not in hollow]
    lost += [pair.before for pair in hollow]
    compared.gone = list(lost)
    if lost:
        unchanged = sorted(base.paths.difference(change.path for change in changes))
        lost = _not_absorbed(lost, _Pool(compared.new, compared.pairs), changes, base, unchanged)
        compared.lost = list(_without_copies(lost, base, list(filter(is_collected, unchanged)))) if lost else []
    return compared


def _not_absorbed(
    lost: list[FoundTest], pool: _Pool, changes: Sequence[ChangedFile], base: Tree, unchanged: list[str]
) -> list[FoundTest]:
    """Return the tests that no other test absorbs; read unchanged files only if that can decide about one."""
    lost = [test for test in lost if not pool.absorbs(test, ())]
    gone = _gone_names(changes, lost)
    doubtful = [test for test in lost if pool.absorbs(test, gone)]
    if not doubtful:
        return lost
    gone -= _names_in_use(gone, doubtful, base, unchanged)
    absorbed = {test for test in doubtful if pool.absorbs(test, gone)}
    return [test for test in lost if test not in absorbed]


def _without_copies(lost: list[FoundTest], base: Tree, unchanged: list[str]) -> Iterator[FoundTest]:
    """Leave out the tests that an unchanged file has too, word for word."""
    deeds: set[str] = set()
    paths = [path for path in unchanged if is_test_file(path)][:MAX_FILES]
    base.prepare(paths)
    for path in paths:
        text = base.text(path) or ""
        if any(test.body[-1].code.strip() in text for test in lost):
            deeds.update(test.deeds for test in tests_in(path, text) if not test.marks)
    yield from (test for test in lost if test.deeds not in deeds)


Key = Callable[[FoundTest], object]
_SAME: tuple[Key, ...] = (
    lambda test: (test.path, test.name),
    lambda test: (test.path, test.short),
    lambda test: test.text,
    lambda test: test.deeds,
    lambda test: test.name,
    lambda test: test.short,
)
"""What makes two tests the same, the surest sign first."""


def _pair(
    before: list[FoundTest], after: list[FoundTest], pairs: list[Pair]
) -> tuple[list[FoundTest], list[FoundTest]]:
    """Add the pairs; return what is left of both sides."""
    for key in _SAME:
        if not before or not after:
            break
        by_key: dict[object, list[FoundTest]] = defaultdict(list)
        for test in reversed(after):
            by_key[key(test)].append(test)
        left, taken = [], set()
        for test in before:
            if found := by_key.get(key(test)):
                pairs.append(Pair(test, found.pop()))
                taken.add(pairs[-1].after)
            else:
                left.append(test)
        before, after = left, [test for test in after if test not in taken]
    return before, after


def _is_hollow(pair: Pair) -> bool:
    """Whether a test of the same name has nothing in common with what it was."""
    if pair.before.text == pair.after.text:
        return False
    if {one.code for one in pair.before.body}.intersection(one.code for one in pair.after.body):
        return False
    return len(pair.before.tokens) > 1 and not pair.before.tokens & pair.after.tokens


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A test that is new or changed, and may check what another one checked."""

    test: FoundTest
    was: Counter[str]
    gained: Counter[str]

    def offers(self, wanted: Counter[str]) -> Counter[str]:
        """What it has of what a lost test was about; nothing if it had that before already."""
        own = wanted - self.was
        if self.was and own and _share(own & self.gained, own) < MOST:
            return Counter()
        if self.was and not own and _share(wanted & self.gained, wanted) < HALF:
            return Counter()
        return wanted & self.test.tokens


class _Pool:
    """The new and changed tests, by the names and values that they have."""

    def __init__(self, new: Iterable[FoundTest], pairs: Iterable[Pair]) -> None:
        self._candidates = [*self._new(new), *self._changed(pairs)]
        self._by_token: dict[str, list[_Candidate]] = defaultdict(list)
        for candidate in self._candidates:
            for token in candidate.test.tokens:
                self._by_token[token].append(candidate)

    @staticmethod
    def _new(tests: Iterable[FoundTest]) -> Iterator[_Candidate]:
        for test in tests:
            yield _Candidate(test, Counter(), test.tokens)

    @staticmethod
    def _changed(pairs: Iterable[Pair]) -> Iterator[_Candidate]:
        for pair in pairs:
            if pair.before.text != pair.after.text:
                yield _Candidate(pair.after, pair.before.tokens, pair.after.tokens - pair.before.tokens)

    def absorbs(self, test: FoundTest, gone: Collection[str]) -> bool:
        wanted = Counter({token: count for token, count in test.tokens.items() if token not in gone})
        if not wanted:
            return False
        left, used = Counter(wanted), []
        marks = {mark.key for mark in test.marks}
        for candidate in self._nearest(wanted):
            if {mark.key for mark in candidate.test.marks} - marks:
                continue  # it does not run where this one did
            offered = candidate.offers(wanted)
            if left & offered:
                left -= offered
                used.append(candidate)
        if test.checks and not any(candidate.test.checks for candidate in used):
            return False
        values = Counter({token: count for token, count in wanted.items() if is_value(token)})
        return _share(wanted - left, wanted) >= MOST and (not values or _share(values - left, values) >= HALF)

    def _nearest(self, wanted: Counter[str]) -> list[_Candidate]:
        """The candidates that have most in common with what is wanted."""
        shared: Counter[_Candidate] = Counter()
        for token in sorted(wanted, key=lambda one: len(self._by_token.get(one, ())))[:24]:
            for candidate in self._by_token.get(token, ())[:MAX_POSTINGS]:
                shared[candidate] += 1
        return [candidate for candidate, _ in shared.most_common(MAX_CANDIDATES)]


def _share(part: Counter[str], whole: Counter[str]) -> float:
    return part.total() / whole.total()


def _gone_names(changes: Iterable[ChangedFile], lost: Iterable[FoundTest]) -> set[str]:
    """The names of lost tests that no changed file has any more."""
    wanted = {token for test in lost for token in test.tokens if not is_value(token)}
    left: set[str] = set()
    for change in changes:
        left.update(wanted.intersection(_WORD.findall(change.new)))
    return wanted - left


def _names_in_use(names: set[str], lost: Iterable[FoundTest], base: Tree, unchanged: Iterable[str]) -> set[str]:
    """Return the names that unchanged code still has: a test that is gone has left that code without a check."""
    like = {posixpath.splitext(test.path)[1] for test in lost}

    def distance(path: str) -> tuple[bool, bool]:
        stem, suffix = posixpath.splitext(posixpath.basename(path))
        return stem not in names, suffix not in like

    paths = sorted((path for path in unchanged if not is_test_file(path)), key=distance)[:MAX_FILES]
    base.prepare(paths)
    return {name for path in paths for name in names.intersection(_WORD.findall(base.text(path) or ""))}
