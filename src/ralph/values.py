"""Parses the values of step configurations: durations, numbers and flags as text, `${VARIABLES}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from ralph.validation import Json, location_text

DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
VARIABLE = re.compile(r"\$(\$)?\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
NUMBER = re.compile(r"\d+(\.\d+)?")
MAX_SECONDS = 7 * 24 * 3600.0


def seconds(value: object) -> object:
    """Return `"1h30m"`, `"20m"`, `"45s"`, `"90"` or a number as seconds; leave anything else to the validator."""
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    if NUMBER.fullmatch(text):
        return float(text)
    found = DURATION.fullmatch(text)
    if not text or not found:
        raise ValueError('expected a duration such as "20m", "1h30m", "45s" or a number of seconds')
    hours, minutes, rest = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + rest


def _whole(value: object) -> object:
    return int(value) if isinstance(value, str) and value.strip().isdecimal() else value


def flag(value: object) -> object:
    """Return `"true"` and `"false"` as booleans; leave anything else to the validator."""
    return {"true": True, "false": False}.get(value.strip().lower(), value) if isinstance(value, str) else value


BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum"}
"""Pydantic uses its own names for bounds if a validator comes before them."""


class _AlsoText:
    """Adds text as an alternative to a value in the published schema."""

    def __init__(self, pattern: str) -> None:
        self._text = {"type": "string", "pattern": rf"^(?:{pattern})$|^\$\{{.+\}}$"}

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        value = {BOUNDS.get(key, key): bound for key, bound in handler(schema).items()}
        return {"anyOf": [value, self._text]}


TEXT = r"\d+(\.\d+)?|(?=\d)(\d+h)?(\d+m)?(\d+(\.\d+)?s)?"
Duration = Annotated[float, BeforeValidator(seconds), Field(gt=0, le=MAX_SECONDS), _AlsoText(TEXT)]
Pause = Annotated[float, BeforeValidator(seconds), Field(ge=0, le=MAX_SECONDS), _AlsoText(TEXT)]
Whole = Annotated[int, BeforeValidator(_whole), _AlsoText(r"\d+")]
Flag = Annotated[bool, BeforeValidator(flag), _AlsoText("true|false")]


def substitute(document: Json, variables: Mapping[str, str]) -> tuple[Json, list[str]]:
    """Return the document with `${NAME}` and `${NAME:-default}` replaced, and what is missing."""
    missing: list[str] = []

    def text(value: str, where: tuple[int | str, ...]) -> str:
        def one(match: re.Match[str]) -> str:
            escaped, name, default = match.groups()
            if escaped:
                return match[0][1:]
            found = variables.get(name)
            if found and not found.isprintable() and found != found.encode(errors="replace").decode():
                missing.append(f"{location_text(where)}: the environment variable {name} is not UTF-8 text")
                return match[0]
            if default is not None:
                return found or default  # as a shell does: an empty one counts as missing
            if found is None:
                missing.append(f"{location_text(where)}: the environment variable {name} is not set")
            return match[0] if found is None else found

        return VARIABLE.sub(one, value)

    def walk(value: object, where: tuple[int | str, ...]) -> object:
        match value:
            case str():
                return text(value, where)
            case list():
                return [walk(item, (*where, index)) for index, item in enumerate(value)]
            case dict():
                return {key: walk(item, (*where, key)) for key, item in value.items()}
            case _:
                return value

    return {key: walk(item, (key,)) for key, item in document.items()}, missing
