"""Finds secret values: in environment variables, in the project's `.env` files, and in addresses with a password."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote

from ralph import safe_files

MIN_SECRET = 8
"""A shorter value is not hidden: it would occur in ordinary text as well."""
MIN_LINE = 16
"""The same for one line of a value that has several."""
MAX_PIECE, PIECE, MAX_PIECES = 256, 128, 64
"""A longer value is hidden in pieces, so that no more than one piece has to be held back of a stream."""
MAX_ENV_FILE, MAX_ENV_FILES = 1 << 18, 20

SECRET_NAME = re.compile(
    r"KEY(?!BOARD|CLOAK|MAP|CHAIN|SPACE)|TOKEN(?!IZER|S_PARALLELISM)|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL"
    r"|(?<![A-Z])PASS(?![A-Z])|(?<=_)PWD|AUTH(?!OR)",
    re.IGNORECASE,
)
AUTH_ONLY = re.compile(r"(?:(?!KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL).)*", re.IGNORECASE)
WORD = re.compile(r"[a-z]+")
RANDOM = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{20,}")
"""A part of a `.env` value that nobody made up, whatever the variable is called: the key in an address, for example."""
BETWEEN_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
PLAIN_PART = re.compile(r"(?:[A-Z]?[a-z]{0,14}|[A-Z]{1,14})[0-9]{0,4}|[0-9]{1,12}")
MAX_WORDS = 3
"""More words than these are a passphrase."""
PATH = re.compile(r"(?:~|\.{1,2})?/")
AWS_KEY = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9/+]{40}")
REFERENCE = re.compile(r"\$\{?\w+\}?|<[^<>]*>")
PLAIN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#@]*/?")
URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@")
ENV_LINE = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*
        ("(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|[^\r\n]*)""",
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
COMMENT = re.compile(r"(?:^|\s)#.*")
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
FOR_URLS = bytes.maketrans(b"+/", b"-_")
EXAMPLES = frozenset({"example", "sample", "template", "dist", "defaults"})
"""The last part of a file's name: the values in it are public."""


def secrets_in(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values of variables that look secret, and the passwords in addresses, each with its variable."""
    found = {word: name for name, value in environment.items() for word in _passwords(value)}
    return found | {value: name for name, value in environment.items() if _is_secret(name, value)}


def secrets_of_project(folder: Path) -> dict[str, str]:
    """Return the secrets in the `.env` and `.env.*` files directly in a folder, each with its variable.

    Such a file is for secrets, so random parts of any value count.
    """
    found: dict[str, str] = {}
    for path in _env_files(folder):
        data = safe_files.read(path, MAX_ENV_FILE) or b""
        for name, value in _assignments(data.decode(errors="surrogateescape")):
            found |= dict.fromkeys(RANDOM.findall(value), name) | secrets_in({name: value})
    return found


def is_ordinary(value: str) -> bool:
    """Return whether a value is made of a few plain words, as `postgres` or `my-dev-secret-1`.

    Such a value is in ordinary files as well, so a file that contains it tells nothing.
    """
    parts = [part for part in BETWEEN_WORDS.split(value) if part]
    return all(map(PLAIN_PART.fullmatch, parts)) and (len(parts) <= MAX_WORDS or "://" in value)


def _is_secret(name: str, value: str) -> bool:
    if len(value) < MIN_SECRET or not SECRET_NAME.search(name):
        return False
    if PATH.match(value):
        return AWS_KEY.fullmatch(value) is not None
    if AUTH_ONLY.fullmatch(name) and WORD.fullmatch(value):
        return False  # such as AUTH_MODE=development
    return not REFERENCE.fullmatch(value) and not PLAIN_URL.fullmatch(value)


def _passwords(text: str) -> Iterator[str]:
    for word in URL_PASSWORD.findall(text) if "://" in text else ():
        for form in (word, unquote(word)):
            if len(form) >= MIN_SECRET and not REFERENCE.fullmatch(form):
                yield form


def _env_files(folder: Path) -> list[Path]:
    """Return the plain files, and links to files in the same folder or below it."""
    top = folder.resolve()
    found = []
    for path in sorted(folder.glob(".env*")):
        is_named = path.name == ".env" or path.name.startswith(".env.")
        real = path.resolve()
        if is_named and path.name.rpartition(".")[2] not in EXAMPLES and real.is_relative_to(top) and real.is_file():
            found.append(real)
    return found[:MAX_ENV_FILES]


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each line; a value in double quotes both as written and without escapes."""
    for name, raw in ENV_LINE.findall(text):
        if raw[:1] in ('"', "'", "`") and len(raw) > 1 and raw[-1] == raw[0]:
            yield name, raw[1:-1]
            if raw[0] == '"' and "\\" in raw:
                yield name, re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), raw[1:-1], flags=re.DOTALL)
        else:
            yield name, COMMENT.sub("", raw).strip()


def encoded(values: Iterable[str]) -> dict[bytes, str]:
    """Return all the forms in which values are hidden, each with its value."""
    return {form: value for value in values for piece in _pieces(value) for form in _forms(piece)}


def _pieces(value: str) -> Iterator[bytes]:
    lines = [line.strip() for line in value.splitlines()]
    for line in lines if len(lines) > 1 else ():
        if len(line) >= MIN_LINE and not line.startswith("-----"):
            yield from _cut(os.fsencode(line))
    yield from _cut(os.fsencode(value.strip() or value))


def _cut(data: bytes) -> list[bytes]:
    if len(data) <= MAX_PIECE:
        return [data]
    cut = [data[at : at + PIECE] for at in range(0, len(data), PIECE)][:MAX_PIECES]
    return [*cut[:-2], cut[-2] + cut[-1]]  # the last one alone may be short


def _forms(value: bytes) -> Iterator[bytes]:
    yield value
    yield from _as_json(value)
    for form in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield form.encode()
        yield re.sub("%..", lambda found: found[0].lower(), form).encode()
    yield value.hex().encode()
    yield value.hex().upper().encode()
    for core in (base64.b64encode(value), *(_in_base64(value, before) for before in range(3))):
        yield core
        yield core.translate(FOR_URLS)


def _as_json(value: bytes) -> Iterator[bytes]:
    """Yield a value as JSON writes it, also in JSON inside JSON."""
    text = os.fsdecode(value)
    for is_ascii in (True, False):
        once = json.dumps(text, ensure_ascii=is_ascii)[1:-1]
        twice = json.dumps(once, ensure_ascii=is_ascii)[1:-1]
        for form in (once, once.replace("/", "\\/"), twice):
            yield os.fsencode(form)


def _in_base64(value: bytes, before: int) -> bytes:
    """Return the part of an encoded value that is the same whatever follows it, after `before` bytes modulo 3."""
    whole = base64.b64encode(bytes(before) + value)
    bits = 8 * (before + len(value))
    return whole[-(-8 * before // 6) : bits // 6]
