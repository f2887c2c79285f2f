"""What a piece of code is about: the names that it uses and the values that it has."""

from __future__ import annotations

import re
from collections import Counter

_TOKEN = re.compile(
    r'"""(?P<long>.*?)"""'
    r"""|(?P<quote>["'`])(?P<string>(?:\\.|(?!(?P=quote))[^\\])*+)(?P=quote)?"""
    r"|(?P<number>(?<!\w)\d[\d_]*+(?:\.\d++)?+(?:[eE][-+]?\d++)?+)"
    r"|(?P<word>[^\W\d]\w*+)",
    re.DOTALL,
)
_NOISE_WORDS = """
    abstract actual and any arg args array as async await base begin bool boolean break by byte call case catch chai
    char class cls cmp cmp_eq console const continue data def default del delete describe do doc done each elif else
    end eq err error except expected export extends fail false False final finally float fn for from fun func function
    global go got if impl import in input int integer interface is it item items lambda let log long main map mark
    match mod mut name names new nil none None nonlocal not null number obj object of or out output override package
    param parametrize params pass print private protected pub public pytest raise raises ref require res response
    result results ret return rstest self setUp should some static str string struct super switch tb template tearDown
    test testing tests then this throw throws true True try type undefined unittest unwrap use val value values var
    Errorf Exception Fatalf Skip Test tt range fit only run set skip skipif to todo xfail xit exit
    vec void when where while with yield
"""
NOISE = frozenset(_NOISE_WORDS.split())
"""Words that say nothing about what a test is about: keywords, and what tests call things."""
_VOCABULARY = re.compile(
    r"assert|expect|require[A-Z]|to(?:Be|Have|Equal|Match|Contain|Throw|Strict|Not)|(?:is_?)?equal|refute|must_"
)


def tokens_of(code: str) -> Counter[str]:
    """Count the names and values in a piece of code; a value starts with a quote."""
    found: Counter[str] = Counter()
    for match in _TOKEN.finditer(code):
        if word := match["word"]:
            if len(word) > 1 and is_telling(word):
                found[word] += 1
        elif match["number"]:
            found["'" + match["number"].replace("_", "")] += 1
        else:
            text = match["string"] if match["long"] is None else match["long"]
            if text:
                found["'" + " ".join(text.split())] += 1
    return found


def is_telling(word: str) -> bool:
    return word not in NOISE and not _VOCABULARY.match(word)


def is_value(token: str) -> bool:
    return token.startswith("'")
