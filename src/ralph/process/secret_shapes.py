"""Finds secrets by their shape: the tokens of well-known services, private keys, and passwords in addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_TOKEN, MAX_KEY = 8_192, 16_384
"""How many bytes of a token or of a private key are held back of a stream until it is complete."""
LONG_RUN = 16
"""Each token has at least this many letters, digits, `_` and `-` in a row."""

_START = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"  # in JSON, the letter before a token may belong to `\n`
_BEGIN = rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_BETWEEN = rb"""(?:[\s"'+,|#>*]|\\[nrt\\]|\xe2\x86\x92|\d{1,5}(?:\t|:|\xe2\x86\x92))"""
"""What stands between the lines of a key: line breaks, also escaped ones, quotation marks, line numbers."""
_HEADER = rb"(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n\\]{0,200}"
_KEY = (
    rb"%(begin)s(?:%(between)s*+(?:%(header)s|[A-Za-z0-9+/=]{16,}))++"
    rb"(?:%(between)s{1,16}[A-Za-z0-9+/=]{1,15}(?=%(between)s{0,16}-----END))?"
    rb"(?:%(between)s{0,16}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)
_OPEN_KEY = re.compile(
    rb"-----BEGIN(?: [A-Z0-9 ]{0,60}-{0,5}|%s(?:%s|%s|[A-Za-z0-9+/=:-])*+)\\?\Z" % (_BEGIN[10:], _BETWEEN, _HEADER)
)


TOKENS = tuple(
    re.compile(pattern)  # each begins with a literal, for which Python searches fast
    for pattern in (
        rb"sk(?:-ant-[A-Za-z0-9_-]{16,}|_live_[A-Za-z0-9]{16,}"
        # a digit and one long word, as no class name or file name has
        rb"|-(?=[A-Za-z_-]*\d)(?=(?:[A-Za-z0-9]{0,15}[_-])*[A-Za-z0-9]{16})[A-Za-z0-9_-]{20,})",
        rb"gh[pousr]_[A-Za-z0-9]{20,}",
        rb"github_pat_[A-Za-z0-9_]{20,}",
        rb"glpat-[A-Za-z0-9_.-]{20,}",
        rb"xox[A-Za-z]-[A-Za-z0-9-]{12,}",
        rb"npm_[A-Za-z0-9]{30,}",
        rb"A(?:(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])|Iza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-]))",
        rb"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}",
    )
)
_BEGINNINGS = (
    b"sk-", b"sk_live_", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"glpat-", b"npm_",
    b"AKIA", b"ASIA", b"AIza", b"eyJ", *(b"xox%c-" % kind for kind in b"abceoprs"),
)  # fmt: skip
KEY = re.compile(_KEY % {b"begin": _BEGIN, b"between": _BETWEEN, b"header": _HEADER})
PASSWORD = re.compile(rb"""://[^\s/:@"'<>`\\]{0,256}:([^\s/@"'<>`\\${}*]{1,256})@""")

_PARTS = sorted({whole[:n] for whole in (*_BEGINNINGS, b"-----BEGIN ") for n in range(1, len(whole))}, reverse=True)
_OPEN = re.compile(
    rb"""%s(?:%s|(?:%s)[A-Za-z0-9_.-]*)\Z|:(?:/(?:/[^\s/@"'<>`\\]{0,513})?)?\Z"""
    % (_START, b"|".join(map(re.escape, _PARTS)), b"|".join(map(re.escape, _BEGINNINGS)))
)
_IN_WORDS = bytes(byte for byte in range(33, 127) if byte not in b"\"'<>`")
_WORD_BYTES = frozenset(_IN_WORDS[at : at + 1] for at in range(len(_IN_WORDS)))
_STARTS = re.compile(_START)
_LONG_RUN = b"a" * LONG_RUN
_RUNS = bytes(97 if chr(byte).isalnum() or byte in b"_-" else 32 for byte in range(128)) + b" " * 128


def shapes_in(data: bytes) -> list[tuple[int, int]]:
    """Return where tokens, keys and passwords are. Searching for one rare byte first is many times as fast."""
    found = []
    if b"@" in data and b"://" in data:
        found += [match.span(1) for match in PASSWORD.finditer(data)]
    has_dash = b"-" in data
    if has_dash and b"PRIVATE KEY" in data:
        found += [match.span() for match in KEY.finditer(data)]
    may_have_tokens = len(data) > LONG_RUN and (has_dash or b"_" in data or b"I" in data or b"J" in data)
    if may_have_tokens and _LONG_RUN in data.translate(_RUNS):
        found += [span for token in TOKENS for span in _tokens(token, data)]
    return found


def _tokens(token: re.Pattern[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    match = token.search(data)
    while match:
        begin, end = match.span()
        is_whole = _STARTS.match(data, begin) is not None
        if is_whole:
            yield begin, end
        match = token.search(data, end if is_whole else begin + 1)


def open_at(data: bytes) -> int:
    """Return where a token or a key begins that may continue after the end of `data`; its length if there is none."""
    size = len(data)
    begins = size
    if data[-1:] in _WORD_BYTES:
        word = max(0, size - MAX_TOKEN) + len(data[-MAX_TOKEN:].rstrip(_IN_WORDS))
        found = _OPEN.search(data, max(0, word - 2)) if size - word < MAX_TOKEN else None
        begins = found.start() if found else size
        if data[max(0, begins - 1) : begins] == b"\\":
            begins -= 1  # the escape of a letter, which goes with it
    key = data.rfind(b"-----BEGIN", max(0, size - MAX_KEY)) if b"-" in data else -1
    return min(begins, key) if key >= 0 and _OPEN_KEY.match(data, key) else begins
