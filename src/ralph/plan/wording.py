"""Whether two texts speak of the same thing, though in other words. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

ENOUGH = 0.62  # three words of five are as often shared by two tasks of one feature
ENOUGH_IN_ORDER = 0.5  # of a text whose words all stand in what is wanted, side by side
LONGER = 1.5  # a text so much longer may deny something else
LITTLE = 0.25  # what a word such as "add" or "test" weighs: it says little about which task is meant
SAYING_NOTHING = (
    "a an and are as at be been but by can did do does for from given had has have how if in into is it its may "
    "must not of on only or our shall should so such than that the their them then there these they this those "
    "to via was we were when where which while will with would you your"
)
COMMON = frozenset(SAYING_NOTHING.split())
MAKING = "add build create define develop implement introduce make provide write"
CHANGING = "update adjust change extend modify"
ALLOWING = "allow enable let support"
TESTS = "test"
KINDS_OF_TEST = frozenset(("unit", "integration", "acceptance", "regression", "smoke", "e2e", "end"))
ALIKE = (
    MAKING,
    CHANGING,
    ALLOWING,
    "remove delete drop",
    "ensure check verify",
    "show display",
    "endpoint route",
    "field column property",
    "function method",
    "page screen",
)
DENIAL = re.compile(
    r"\b(?:not|no|never|none|without|cannot|nicht|nie|ohne|kein\w*)\b|n['\u2019]t\b|ない|ません|不|没|無", re.IGNORECASE
)
KANA, HAN = "\u3041-\u309f", "\u3400-\u4dbf\u4e00-\u9fff"
WORD = re.compile(
    rf"(?P<kana>[{KANA}]+)|(?P<han>[{HAN}]+)|[\u30a0-\u30ff]+"
    rf"|(?:(?![{KANA}{HAN}\u30a0-\u30ff])\w)+(?:(?:\+\+|#)(?!\w))?"
)
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
VOWEL = re.compile(r"[aeiouy]")

Unit = tuple[str, ...]
"""One word, or the words of a name such as `avatarUrl` or `user_id`."""


def says(text: str, wanted: str) -> bool:
    """Whether `text` is about what `wanted` says; more that `text` says beside it does no harm."""
    if text.split() == wanted.split():
        return bool(wanted)
    spoken, asked = units(text), units(wanted)
    if _is_opposite(text, wanted, longer=len(spoken) > LONGER * len(asked)):
        return False
    if _stands_in(asked, spoken):
        return True
    if not spoken or all(map(_is_common, asked)) or _lacks_tests(asked, spoken) or _lacks_tests(spoken, asked):
        return False
    missing, extra = _lacking(asked, spoken), _lacking(spoken, asked)
    if len(missing) == len(extra) == 1 and _around(missing[0], asked) & _around(extra[0], spoken):
        return False  # the same sentence about another thing: "tests for login" and "tests for logout"
    share = 1 - sum(map(_weight, missing)) / sum(map(_weight, _telling(asked)))
    return share >= ENOUGH or (share >= ENOUGH_IN_ORDER and _stands_in(_telling(spoken), _telling(asked)))


def _is_opposite(text: str, wanted: str, *, longer: bool) -> bool:
    """Whether one of the two denies what the other says."""
    denied, wants_denial = bool(DENIAL.search(text)), bool(DENIAL.search(wanted))
    return denied != wants_denial and (wants_denial or not longer)


def significant(text: str) -> frozenset[str]:
    """The stems of the words that tell what a text is about."""
    return frozenset(stem(word) for unit in units(text) if not _is_common(unit) for word in unit)


def units(text: str) -> list[Unit]:
    """A text's words in order; names in code stay together, scripts without spaces are cut where they can be."""
    found: list[Unit] = []
    for match in WORD.finditer(_plain(text)):
        if match["han"] and len(match[0]) > 2:
            found += [(match[0][at : at + 2],) for at in range(len(match[0]) - 1)]
        elif words := tuple(part.casefold() for part in HUMP.split(match[0]) if part):
            found.append(words)
    return found


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without its endings, as one of those that mean the same: `uploading` is `upload`, `creates` is `add`."""
    return SAME.get(cut := _cut(word), cut)


def _cut(word: str) -> str:
    """Rough on purpose: both texts are cut alike, so that a stem need not be a word."""
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    for ending, instead in (("ied", "y"), ("ie", "y"), ("ing", ""), ("ed", ""), ("tion", "t")):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and VOWEL.search(rest) and not word.endswith("eed"):
            word = rest + instead
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    doubled = len(word) > 2 and word[-1] == word[-2] and word[-1] not in "lsz0123456789+"
    return word[:-1] if doubled else word


SAME = {_cut(word): _cut(group.split()[0]) for group in ALIKE for word in group.split()}
LIGHT = frozenset(_cut(group.split()[0]) for group in (MAKING, CHANGING, ALLOWING, TESTS))


def _plain(text: str) -> str:
    """One form for each letter, and no marks that would cut a word in two."""
    if text.isascii():
        return text
    whole = unicodedata.normalize("NFKC", text)
    return "".join(letter for letter in whole if unicodedata.category(letter) not in ("Mn", "Mc", "Me", "Cf"))


def _is_common(unit: Unit) -> bool:
    """Japanese writes with kana what other languages say with words such as "the" and "to"."""
    return len(unit) == 1 and (unit[0] in COMMON or "\u3041" <= unit[0][0] <= "\u309f")


def _telling(words: list[Unit]) -> list[Unit]:
    return list({_key(unit): unit for unit in words if not _is_common(unit)}.values())


def _key(unit: Unit) -> Unit:
    return tuple(map(stem, unit))


def _weight(unit: Unit) -> float:
    return LITTLE if len(unit) == 1 and stem(unit[0]) in LIGHT else 1


def _lacks_tests(asked: list[Unit], spoken: list[Unit]) -> bool:
    """Tests of a thing share nearly all words with the thing itself, and are another task."""
    stems = [stem("".join(unit)) for unit in asked if not _is_common(unit)]
    first = next((word for word in stems if word not in KINDS_OF_TEST and word not in LIGHT - {TESTS}), "")
    return first == TESTS and all(TESTS not in _key(unit) for unit in spoken)


def _lacking(asked: list[Unit], spoken: list[Unit]) -> list[Unit]:
    """What of `asked` is not in `spoken`, where `log in` is also `login` and `avatarUrl` also `avatar URL`."""
    known = {stem(word) for unit in spoken for word in unit}
    known |= {stem("".join(unit)) for unit in spoken} | {stem(pair) for pair in _pairs(spoken)}
    joined = [stem(pair) in known for pair in _pairs(asked)]
    beside = [before or after for before, after in zip([False, *joined], [*joined, False], strict=True)]
    lacking = [
        unit
        for unit, in_pair in zip(asked, beside, strict=True)
        if not in_pair and stem("".join(unit)) not in known and not known.issuperset(_key(unit))
    ]
    return _telling(lacking)


def _around(unit: Unit, words: list[Unit]) -> set[tuple[str, Unit]]:
    """The words that stand before and after one."""
    keys = [_key(word) for word in words if not _is_common(word)]
    at = keys.index(_key(unit))
    return {("before", key) for key in keys[:at][-1:]} | {("after", key) for key in keys[at + 1 :][:1]}


def _pairs(words: list[Unit]) -> list[str]:
    return ["".join(one + other) for one, other in pairwise(words)]


def _stands_in(part: list[Unit], whole: list[Unit]) -> bool:
    wanted, there = list(map(_key, part)), list(map(_key, whole))
    return bool(part) and any(there[at : at + len(part)] == wanted for at in range(len(whole) - len(part) + 1))
