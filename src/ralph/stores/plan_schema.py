"""Pydantic models of the tables in `formats`: they explain mistakes in a file and publish its schema."""

from __future__ import annotations

import json
from typing import Annotated, Literal, Optional

from pydantic import BaseModel, ConfigDict, create_model
from pydantic import Field as Constraint

from ralph.stores.fields import (
    NO_LIMIT,
    Choice,
    Field,
    Flag,
    Kind,
    ListOf,
    Nullable,
    Number,
    Part,
    TableOf,
    Text,
    Value,
)
from ralph.stores.task_codec import Codec

_MODELS: dict[tuple[Codec, Part[Value]], type[BaseModel]] = {}


def model(codec: Codec, part: Part[Value]) -> type[BaseModel]:
    """Return the model of a part; unknown fields are kept."""
    if (codec, part) not in _MODELS:
        made: dict[str, Value] = {one.name: (_annotation(codec, one.kind), _default(codec, one)) for one in part.fields}
        settings = ConfigDict(extra="allow", alias_generator=codec.key, populate_by_name=True)
        _MODELS[codec, part] = create_model(part.name, __config__=settings, __doc__=part.about or None, **made)
    return _MODELS[codec, part]


def text(made: type[BaseModel], title: str) -> str:
    """Return the published schema of a file."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **made.model_json_schema(by_alias=True), "title": title}, indent=2) + "\n"


def _default(codec: Codec, one: Field) -> Value:
    about = one.about or None
    least: Value = {"minItems": one.kind.min_length} if isinstance(one.kind, ListOf) and one.kind.by_rule else None
    if one.required:
        return Constraint(description=about, json_schema_extra=least)
    if isinstance(one.kind, Part):
        return Constraint(default_factory=model(codec, one.kind), description=about)
    return Constraint(default=one.absent, description=about)


def _annotation(codec: Codec, kind: Kind) -> Value:
    match kind:
        case Text():
            return _limited(str, pattern=kind.pattern or None, **_lengths(kind.min_length, kind.max_length))
        case Number(whole=whole, least=least):
            return _limited(int if whole else float, ge=least)
        case Flag():
            return bool
        case Choice(values):
            return Literal[values]
        case Nullable(of):
            return Optional[_annotation(codec, of)]  # noqa: UP045 - made at run time
        case ListOf(of=of):
            lengths = {} if kind.by_rule else _lengths(kind.min_length, kind.max_length)
            return _limited(list[_annotation(codec, of)], **lengths)  # type: ignore[misc]  # made at run time
        case TableOf(of=of):
            return dict[str, _annotation(codec, of)]  # type: ignore[misc]  # likewise
        case _:
            return model(codec, kind)


def _lengths(min_length: int, max_length: int) -> dict[str, int | None]:
    return {"min_length": min_length or None, "max_length": max_length if max_length < NO_LIMIT else None}


def _limited(of: Value, **limits: Value) -> Value:
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return Annotated[of, Constraint(**given)] if given else of
