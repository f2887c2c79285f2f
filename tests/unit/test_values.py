"""Values as people write them: durations, numbers and flags as text, and variables from the environment."""

from __future__ import annotations

import copy
from typing import Annotated, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from pydantic_core import to_json

from ralph import validation
from ralph.values import MAX_SECONDS, Duration, Flag, Pause, Whole, seconds, substitute


class Settings(BaseModel):
    limit: Duration = 1.0
    pause: Pause = 0.0
    count: Whole = 0
    few: Annotated[Whole, Field(ge=1, le=9)] = 1
    flag: Flag = False


SCHEMA = jsonschema.Draft202012Validator(Settings.model_json_schema())


def read(**values: Any) -> Settings:
    made, mistakes = validation.check(Settings, to_json(values))
    assert made is not None, mistakes
    return made


def mistakes(**values: Any) -> list[str]:
    made, found = validation.check(Settings, to_json(values))
    assert made is None
    return found


DURATIONS = [
    ("20m", 1200),
    ("1h30m", 5400),
    ("45s", 45),
    ("90", 90),
    ("1h30m15s", 5415),
    ("2h", 7200),
    ("1h5s", 3605),
    ("1.5s", 1.5),
    ("0.5", 0.5),
    ("90m", 5400),
    (30, 30),
    (0.25, 0.25),
]


@pytest.mark.parametrize(("written", "meant"), DURATIONS)
def test_a_duration_is_read_as_seconds(written: object, meant: float) -> None:
    assert read(limit=written).limit == meant
    assert read(pause=written).pause == meant
    SCHEMA.validate({"limit": written, "pause": written})


@pytest.mark.parametrize("written", [" 20m ", "20M", "1H", "1H30m"])
def test_spaces_around_a_duration_and_capital_letters_do_not_matter(written: str) -> None:
    assert read(limit=written).limit == seconds(written.strip().lower())


@pytest.mark.parametrize("written", ["", " ", "soon", "20 m", "m", "1.5h", "5m1h", "-5s", "-5", "1e3", "20min", "1d"])
def test_text_that_is_no_duration_is_refused_with_an_example_of_one(written: str) -> None:
    [mistake] = mistakes(limit=written)
    assert mistake.startswith('limit: expected a duration such as "20m"')
    assert not SCHEMA.is_valid({"limit": written})


@pytest.mark.parametrize("written", [True, False, [20], {"m": 20}, -1, MAX_SECONDS + 1, 1e300])
def test_a_value_that_is_no_duration_is_refused(written: object) -> None:
    assert mistakes(limit=written)[0].startswith("limit: expected")
    assert mistakes(pause=written)[0].startswith("pause: expected")
    assert not SCHEMA.is_valid({"limit": written})
    assert not SCHEMA.is_valid({"pause": written})


@pytest.mark.parametrize("written", ["169h", "604801", "9" * 400, f"{'9' * 400}h", f"{'9' * 5000}m"])
def test_nothing_takes_longer_than_a_week(written: str) -> None:
    assert mistakes(limit=written)[0].startswith("limit: expected")


@pytest.mark.parametrize("written", [0, "0", "0s", "0h0m"])
def test_a_time_limit_is_more_than_nothing_but_a_pause_may_be_nothing(written: object) -> None:
    assert mistakes(limit=written)[0].startswith("limit: expected")
    assert read(pause=written).pause == 0


@given(st.integers(0, 48), st.integers(0, 600), st.integers(0, 600))
def test_hours_minutes_and_seconds_add_up(hours: int, minutes: int, rest: int) -> None:
    assert seconds(f"{hours}h{minutes}m{rest}s") == hours * 3600 + minutes * 60 + rest
    assert seconds(f"{minutes}m") == minutes * 60
    assert seconds(str(rest)) == seconds(f"{rest}s") == rest


@given(st.none() | st.booleans() | st.integers() | st.lists(st.integers(), max_size=2))
def test_what_is_not_text_is_left_for_the_validator(value: object) -> None:
    assert seconds(value) is value


@pytest.mark.parametrize(("written", "meant"), [(3, 3), ("3", 3), (" 12 ", 12), ("007", 7)])
def test_a_whole_number_may_be_text(written: object, meant: int) -> None:
    assert read(count=written).count == meant


@pytest.mark.parametrize("written", ["", "three", "1.5", "-1", "1_000", "0x10", 1.5, True, None, [1], "9" * 5000])
def test_what_is_no_whole_number_is_refused(written: object) -> None:
    assert mistakes(count=written)[0].startswith("count: ")


@pytest.mark.parametrize("written", [0, 10, "0", "10"])
def test_the_bounds_of_a_number_hold_for_its_text_too(written: object) -> None:
    assert mistakes(few=written)[0].startswith("few: expected")


@pytest.mark.parametrize("written", [0, 10])
def test_the_schema_knows_the_bounds_of_a_number(written: int) -> None:
    assert SCHEMA.is_valid({"few": 9})
    assert not SCHEMA.is_valid({"few": written})


@pytest.mark.parametrize(
    ("written", "meant"), [(True, True), (False, False), ("true", True), ("false", False), (" True ", True)]
)
def test_a_flag_may_be_text(written: object, meant: bool) -> None:
    assert read(flag=written).flag is meant


@pytest.mark.parametrize("written", ["", "yes", "no", "1", "on", 1, 0, None, []])
def test_what_is_no_flag_is_refused(written: object) -> None:
    assert mistakes(flag=written)[0].startswith("flag: ")
    assert not SCHEMA.is_valid({"flag": written})


@pytest.mark.parametrize(
    "values", [{"limit": "${T}"}, {"pause": "${T:-20m}"}, {"count": "${N:-3}"}, {"few": "${N}"}, {"flag": "${F}"}]
)
def test_the_schema_takes_a_variable_wherever_text_may_stand_for_a_value(values: dict[str, str]) -> None:
    SCHEMA.validate(values)


@pytest.mark.parametrize("values", [{"limit": "T}"}, {"count": "$N"}, {"flag": "maybe"}, {"count": "three"}])
def test_the_schema_refuses_text_that_stands_for_nothing(values: dict[str, str]) -> None:
    assert not SCHEMA.is_valid(values)


KNOWN = {"NAME": "value", "EMPTY": "", "_X1": "x", "LOOKS": "${NAME}"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${NAME}", "value"),
        ("a ${NAME} b ${_X1}", "a value b x"),
        ("${NAME}${NAME}", "valuevalue"),
        ("${NAME:-other}", "value"),
        ("${GONE:-other}", "other"),
        ("${GONE:-}", ""),
        ("${GONE:-a b:-c}", "a b:-c"),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("$${NAME}", "${NAME}"),
        ("$${GONE}", "${GONE}"),
        ("$${GONE:-x}", "${GONE:-x}"),
        ("$${NAME} ${NAME}", "${NAME} value"),
        ("$$${NAME}", "$${NAME}"),
        ("${LOOKS}", "${NAME}"),
        ("$NAME", "$NAME"),
        ("${}", "${}"),
        ("${1X}", "${1X}"),
        ("${NAME", "${NAME"),
        ("${NAME-x}", "${NAME-x}"),
        ("{NAME}", "{NAME}"),
    ],
)
def test_variables_are_replaced_as_a_shell_would(written: str, meant: str) -> None:
    assert substitute({"key": written}, KNOWN) == ({"key": meant}, [])


def test_variables_are_replaced_in_values_at_any_depth_but_never_in_keys() -> None:
    document = {
        "steps": [{"config": {"model": "${NAME}", "list": ["${NAME}", ["${_X1}", 3]]}}, "${NAME}"],
        "${NAME}": {"${NAME}": "${NAME}"},
    }
    before = copy.deepcopy(document)
    assert substitute(document, KNOWN) == (
        {
            "steps": [{"config": {"model": "value", "list": ["value", ["x", 3]]}}, "value"],
            "${NAME}": {"${NAME}": "value"},
        },
        [],
    )
    assert document == before


def test_every_variable_that_is_missing_is_named_with_its_place() -> None:
    document = {
        "name": "${ONE} and ${TWO}",
        "steps": [{"timeout": "1h"}, {"config": {"tools": ["a", "${THREE}"], "model": "${FOUR:-ok}"}}],
        "also": "${ONE}",
    }
    filled, missing = substitute(document, {})
    assert missing == [
        "name: the environment variable ONE is not set",
        "name: the environment variable TWO is not set",
        "steps[1].config.tools[1]: the environment variable THREE is not set",
        "also: the environment variable ONE is not set",
    ]
    assert filled["name"] == "${ONE} and ${TWO}"


TEXTS = st.text(st.sampled_from("${}:-NAME_ab\n é") | st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(TEXTS, JSON, max_size=4)


def without_variables(value: object) -> object:
    match value:
        case str():
            return value.replace("${", "$ {")
        case list():
            return [without_variables(item) for item in value]
        case dict():
            return {key: without_variables(item) for key, item in value.items()}
        case _:
            return value


@given(DOCUMENTS)
def test_text_without_variables_is_never_changed(document: dict[str, Any]) -> None:
    plain = without_variables(document)
    assert isinstance(plain, dict)
    assert substitute(plain, KNOWN) == (plain, [])


@given(st.text("${}:-NAME_ab ", max_size=20))
def test_text_with_every_variable_escaped_comes_out_as_it_was_meant(text: str) -> None:
    plain = text.replace("$", "")
    assert substitute({"key": f"{plain}$${{NAME}}{plain}"}, {}) == ({"key": f"{plain}${{NAME}}{plain}"}, [])


@given(TEXTS, TEXTS, st.text(max_size=8))
def test_what_a_variable_holds_is_put_in_as_it_is(before: str, after: str, value: str) -> None:
    before, after = before.replace("$", ""), after.replace("$", "")
    assert substitute({"key": f"{before}${{NAME}}{after}"}, {"NAME": value}) == ({"key": before + value + after}, [])
