from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest
from pydantic import TypeAdapter

from ralph.frozen import Frozen


class Point(Frozen):
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    secret: str = field(default="", repr=False)
    mark: int = field(default=0, compare=False)


class Named(Point):
    name: str  # it needs no default, though fields above it have one


def test_defaults_and_their_factories() -> None:
    one, other = Point(x=1), Point(x=1)
    assert (one.x, one.y, one.tags) == (1, 0, [])
    assert one.tags is not other.tags


@pytest.mark.parametrize(
    ("given", "message"), [({}, "Point lacks x"), ({"x": 1, "z": 2}, "Point has no field z"), ({"z": 2}, "lacks x")]
)
def test_wrong_arguments_are_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Point(**given)


def test_nothing_can_be_assigned_or_deleted() -> None:
    point = Point(x=1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert point.x == 1


def test_values_are_equal_if_their_compared_fields_and_their_class_are() -> None:
    assert Point(x=1, mark=1) == Point(mark=2, x=1)
    assert Point(x=1) != Point(x=2)
    assert Point(x=1) != Named(x=1, name="")
    assert hash(Point(x=1, tags=())) == hash(Point(tags=(), x=1, mark=2))  # type: ignore[arg-type]  # () has a hash


def test_a_field_that_must_not_be_shown_is_not() -> None:
    assert repr(Point(y=2, x=1, secret="s")) == "Point(x=1, y=2, tags=[], mark=0)"


def test_fields_come_in_the_order_of_their_definition() -> None:
    assert [one.name for one in fields(Named)] == ["x", "y", "tags", "secret", "mark", "name"]


def test_a_value_survives_what_the_standard_library_and_pydantic_do_with_dataclasses() -> None:
    named = Named(x=1, name="a", tags=["t"])
    assert replace(named, x=2) == Named(x=2, name="a", tags=["t"])
    assert deepcopy(named) == pickle.loads(pickle.dumps(named)) == named
    adapter = TypeAdapter(Named)
    assert adapter.validate_json(adapter.dump_json(named)) == named
