"""The notes that agents leave for later ones, and which of them fit into a prompt. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

SAYING_NOTHING = (
    "a an and are as at be been but by can did do does for from given had has have how if in into is it its may "
    "must not of on only or our shall should so such than that the their them then there these they this those "
    "to via was we were when where which while will with would you your"
)
COMMON = frozenset(SAYING_NOTHING.split())
HIRAGANA, KATAKANA, HAN = "\u3041-\u309f", "\u30a0-\u30ff", "\u3400-\u4dbf\u4e00-\u9fff"
WORD = re.compile(rf"[{HAN}]{{1,2}}|[{KATAKANA}]+|(?:(?![{HIRAGANA}{KATAKANA}{HAN}])\w)+")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
VOWEL = re.compile(r"[aeiouy]")
BULLET = re.compile(r"\s{0,3}(?:[-*+]|\d+[.)])\s+")


def entries(text: str) -> list[str]:
    """Split the notes, oldest first: a bullet with its continuation lines, or a paragraph. Headings are dropped."""
    found: list[list[str]] = []
    fresh = True
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            fresh = True
            continue
        if fresh or BULLET.match(line):
            found.append([])
        found[-1].append(line.rstrip())
        fresh = False
    return ["\n".join(lines) for lines in found]


def choose(text: str, about: str, limit: int) -> str:
    """Return the notes most relevant to `about`, best first, in at most `limit` characters of whole lines.

    Notes that share more words with the task come first; among equals, newer ones.
    """
    wanted = significant(about)
    ranked = sorted(
        enumerate(entries(text)), key=lambda item: (len(wanted & significant(item[1])), item[0]), reverse=True
    )
    lines: list[str] = []
    left = limit
    for _, entry in ranked:
        for line in entry.splitlines():
            if len(line) + 1 > left:
                break
            lines.append(line)
            left -= len(line) + 1
    return "\n".join(lines)


def significant(text: str) -> frozenset[str]:
    """Return the stems of the significant words in a text; identifiers are split into words."""
    whole = text if text.isascii() else unicodedata.normalize("NFKC", text)
    words = {part.casefold() for match in WORD.finditer(whole) for part in HUMP.split(match[0]) if part}
    return frozenset(map(stem, words - COMMON))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Strip a word's endings. This is rough, but both texts are treated alike, so a stem need not be a word."""
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    for ending, instead in (("ied", "y"), ("ie", "y"), ("ing", ""), ("ed", ""), ("tion", "t")):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and VOWEL.search(rest) and not word.endswith("eed"):
            word = rest + instead
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    doubled = len(word) > 2 and word[-1] == word[-2] and word[-1] not in "lsz0123456789"
    return word[:-1] if doubled else word
