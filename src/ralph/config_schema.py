"""Pydantic models of the configuration's sections: they explain mistakes in the file and publish its schema."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Optional, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Discriminator, Tag, create_model
from pydantic import Field as Constraint

from ralph import validation
from ralph.config_section import Bounds, ConfigSection, Kind, noted
from ralph.validation import OTHER, TEXT, Json, Rules

S = TypeVar("S", bound=ConfigSection)
Made = Any  # an annotation or a default, made at run time
_MODELS: dict[type[ConfigSection], type[BaseModel]] = {}
_SECTIONS: dict[type[BaseModel], type[ConfigSection]] = {}


def load(of: type[S], data: bytes, *, name: str, rules: Rules, remedy: str) -> S:
    """Return a section in whatever form, or raise an error that lists all mistakes."""
    value = _value(validation.parse(model(of), data, name=name, rules=rules, remedy=remedy))
    assert isinstance(value, of)
    return value


def schema(of: type[ConfigSection]) -> Json:
    return model(of).model_json_schema(by_alias=True)


def model(of: type[ConfigSection]) -> type[BaseModel]:
    """Return the model of a section."""
    if of not in _MODELS:
        names = {name: key for key, (name, _) in of.keys.items()}
        settings = ConfigDict(extra="forbid", alias_generator=names.__getitem__)
        given: dict[str, Made] = {one.name: (_annotation(one.type), _default(one)) for one in fields(of)}
        made = _MODELS[of] = create_model(of.__name__, __config__=settings, __doc__=of.__doc__, **given)
        _SECTIONS[made] = of
    return _MODELS[of]


def _annotation(kind: Kind) -> Made:
    form: Kind = get_origin(kind)
    inner = get_args(kind)
    if form is Annotated:
        given = {
            name: limit
            for bounds in inner[1:]
            if isinstance(bounds, Bounds)
            for name, limit in vars(bounds).items()
            if limit is not None
        }
        return Annotated[_annotation(inner[0]), Constraint(**given)] if given else _annotation(inner[0])
    if form in (Union, UnionType):
        return _union([one for one in inner if one is not NoneType], or_none=NoneType in inner)
    if form is tuple:
        return tuple[_annotation(inner[0]), ...]  # type: ignore[misc]  # likewise
    if form is dict:
        return dict[inner[0], _annotation(inner[1])]  # type: ignore[misc, valid-type]  # likewise
    return model(kind) if isinstance(kind, type) and issubclass(kind, ConfigSection) else kind


def _union(kinds: list[Kind], *, or_none: bool) -> Made:
    """Return the union of kinds. Of two, the first is a text; a mistake is told as one of the kind that was meant."""
    made = [_annotation(kind) for kind in kinds]
    if len(made) == 1:
        return Optional[made[0]] if or_none else made[0]  # noqa: UP045 - made at run time
    text, other = made
    choose = Discriminator(lambda value: TEXT if isinstance(value, str) else OTHER)
    return Annotated[Annotated[text, Tag(TEXT)] | Annotated[other, Tag(OTHER)], choose]


def _default(one: Field[Made]) -> Made:
    about = next((text for text in noted(one.type) if isinstance(text, str)), None)
    if one.default_factory is not MISSING:
        return Constraint(default_factory=one.default_factory, description=about)
    if one.default is MISSING:
        return Constraint(description=about)
    if isinstance(one.default, ConfigSection):
        return Constraint(default_factory=lambda: one.default, description=about)
    return Constraint(default=one.default, description=about)


def _value(checked: object) -> object:
    """Return what a model holds, as sections."""
    match checked:
        case BaseModel():
            return _SECTIONS[type(checked)](
                **{name: _value(getattr(checked, name)) for name in checked.model_fields_set}
            )
        case tuple():
            return tuple(_value(one) for one in checked)
        case dict():
            return {key: _value(one) for key, one in checked.items()}
        case _:
            return checked
