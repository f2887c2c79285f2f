"""Reading JSON that people and agents wrote: all of its mistakes at once, each with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ralph import limits, safe_files
from ralph.errors import RalphError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound="BaseModel")
Json = dict[str, object]
Rules = Callable[[Json], Iterable[str]]
MAX_SHOWN = 50
TEXT, OTHER = "(text)", "(other)"
"""The two forms of a value that may be a text or something else; no part of a place in a file."""
NUL = b"\\u0000"
TOO_DEEP = "it is nested too deeply: it has more than 200 levels"
EXACT = 1 << 53  # whole numbers up to here are exact as floats
WORDS = frozenset({"notes", "learnings", "reason", "summary", "output"})  # said, and never made a command of


class UnusualForm(Exception):
    """The value is not in the usual form; the schema decides whether it is valid."""


class Mistakes(RalphError):
    """A file that is not what it should be."""

    def __init__(self, name: str, mistakes: list[str], remedy: str = "") -> None:
        count = f"{len(mistakes)} mistake{'s' if len(mistakes) != 1 else ''}"
        shown = mistakes[:MAX_SHOWN]
        if len(mistakes) > MAX_SHOWN:
            shown.append(f"… and {len(mistakes) - MAX_SHOWN} more")
        super().__init__(f"{name} has {count}:", details=tuple(shown), remedy=remedy)
        self.mistakes = mistakes


def read(path: Path, most: int = limits.FILE) -> bytes:
    """A file's bytes, or an error that says why it cannot be read."""
    try:
        data = safe_files.beginning(path, most + 1)
    except FileNotFoundError:
        raise RalphError(f"{path} does not exist.") from None
    except OSError as error:
        raise RalphError(f"{path} could not be read: {error.strerror}.") from None
    if len(data) > most:
        raise too_large(str(path), path.stat().st_size, most)
    return data


def found(path: Path, most: int = limits.FILE) -> bytes | None:
    """A file's bytes; None if there is no such file, and an error if it is too large."""
    try:
        return read(path, most)
    except RalphError:
        if path.is_file() and path.stat().st_size > most:
            raise
        return None


def too_large(name: str, size: int, most: int) -> RalphError:
    return RalphError(
        f"{name} is too large: it has {size / 1e6:,.1f} MB, and Ralph reads at most {most / 1e6:,.1f} MB.",
        remedy="Remove what does not belong there, or divide it into several plans or files.",
    )


def weigh(data: bytes, *, name: str) -> None:
    """Refuse JSON that would take too much time or memory, before it is parsed."""
    if len(data) > limits.FILE:
        raise too_large(name, len(data), limits.FILE)
    count = data.count(b"{") + data.count(b"[")
    if count > limits.VALUES:
        raise Mistakes(
            name,
            [f"it has {count:,} objects and lists, and Ralph reads at most {limits.VALUES:,}"],
            "Divide it into several plans or files.",
        )


def parse(model: type[M], data: bytes, *, name: str, rules: Rules | None = None, remedy: str = "") -> M:
    """`data` as a `model`; every mistake of shape, and every rule it breaks, in one error."""
    document = parse_object(data, name=name)
    checked, mistakes = check(model, without_mark(data))
    mistakes += list(rules(document)) if rules else []
    if mistakes or checked is None:
        raise Mistakes(name, mistakes, remedy)
    return checked


def check(model: type[M], data: bytes, where: tuple[int | str, ...] = ()) -> tuple[M | None, list[str]]:
    """`data` as a `model`, or every mistake of its shape; `where` is its own place in a larger file."""
    from pydantic import ValidationError

    try:
        return model.model_validate_json(data, strict=True, by_alias=True, by_name=False), []
    except ValidationError as error:
        return None, [_describe(item, model, where) for item in error.errors(include_url=False)]


def check_lengths(document: Json, *, name: str) -> None:
    """Refuse a document with too many tasks: everything that Ralph does with it would take minutes."""
    for key, value in document.items():
        if isinstance(value, list) and len(value) > limits.TASKS:
            mistake = f"{key}: it has {len(value):,} entries, and Ralph reads at most {limits.TASKS:,}"
            raise Mistakes(name, [mistake], "Divide it into several plans.")


def parse_plainly(data: bytes) -> Json:
    """`data` as a JSON object, without pydantic; raise `UnusualForm` if anything about it is unusual."""
    document = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse, parse_float=finite)
    if b"\\ud" in data.lower() or NUL in data or type(document) is not dict:
        raise UnusualForm
    return document


def _refuse(constant: str) -> object:
    raise UnusualForm(constant)


def finite(number: str) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise UnusualForm(number)
    return value


def parse_object(data: bytes, *, name: str) -> Json:
    """`data` as a JSON object."""
    from pydantic_core import from_json

    weigh(data, name=name)
    try:
        document = from_json(without_mark(data), allow_inf_nan=False)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise Mistakes(name, [TOO_DEEP], "Write it with fewer levels.") from None
        raise Mistakes(name, [f"not valid JSON: {error}"], "Fix the file at that position.") from None
    except RecursionError:
        raise Mistakes(name, [TOO_DEEP], "Write it with fewer levels.") from None
    if not isinstance(document, dict):
        raise Mistakes(name, [f"expected an object at the top, found {_kind(document)}"], "Write it as { … }.")
    check_lengths(document, name=name)
    if NUL in data:
        mistakes = [f"{location_text(where)}: contains a NUL character" for where in _with_nul(document)]
        if mistakes:
            raise Mistakes(name, mistakes, "Remove the character, \\u0000.")
    return document


def _with_nul(value: object, where: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """Where a text or a key has a character that no command, file name or commit can hold."""
    if isinstance(value, str) and "\0" in value:
        yield where
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        spot = (*where, key.replace("\0", "\\u0000") if isinstance(key, str) else key)
        if isinstance(key, str) and "\0" in key:
            yield spot
        if key not in WORDS:
            yield from _with_nul(below, spot)


def without_mark(data: bytes) -> bytes:
    """Some editors put a byte order mark in front."""
    return data.removeprefix(b"\xef\xbb\xbf")


def location_text(location: Iterable[int | str]) -> str:
    """`("userStories", 2, "id")` as `userStories[2].id`."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path or "(top)"


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` for a word that is almost one we know, else nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _describe(error: ErrorDetails, model: type[BaseModel], where: tuple[int | str, ...]) -> str:
    location = tuple(part for part in error["loc"] if part not in (TEXT, OTHER))
    if location[-1:] == ("[key]",):
        known = re.findall(r"'([^']*)'", error["msg"])
        return f"{location_text((*where, *location[:-1]))}: unknown key{nearest(str(location[-2]), known)}"
    spot = location_text((*where, *location))
    match error["type"]:
        case "extra_forbidden":
            return f"{spot}: unknown key{nearest(str(location[-1]), _keys_beside(model, location))}"
        case "missing":
            return f"{spot}: missing, and required"
        case _:
            return f"{spot}: {_expected(error)}, found {_kind(error['input'])}"


def _expected(error: ErrorDetails) -> str:
    if error["type"] == "string_pattern_mismatch":
        return f"expected a form like {error['ctx']['pattern']}"
    message = error["msg"]
    for prefix in ("Input should be ", "Value error, "):
        if message.startswith(prefix):
            message = ("expected " if prefix.startswith("Input") else "") + message.removeprefix(prefix)
    return message


def _keys_beside(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that are known where an unknown one was found."""
    current: type[BaseModel] | None = model
    in_table = False  # a table's own keys are names that people chose
    for part in location[:-1]:
        if isinstance(part, int) or in_table:
            in_table = False
        elif current is not None:
            current, in_table = _model_in(current, part)
    return [field.alias or name for name, field in current.model_fields.items()] if current else []


def _model_in(model: type[BaseModel], key: str) -> tuple[type[BaseModel] | None, bool]:
    """The model below a key, and whether it is the value of a table."""
    from typing import get_args, get_origin

    from pydantic import BaseModel

    for name, field in model.model_fields.items():
        if key in (name, field.alias):
            candidates = [field.annotation, *get_args(field.annotation)]
            candidates += [inner for outer in candidates for inner in get_args(outer)]
            found = next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)
            return found, get_origin(field.annotation) is dict
    return None, False


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"text {value[:60]!r}" if value else "empty text"
        case int() | float():
            return f"number {value}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
        case _:
            return type(value).__name__
