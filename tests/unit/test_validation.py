"""Mistakes in files: all at once, each with its place and what was there instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from ralph import validation
from ralph.errors import RalphError
from ralph.validation import MAX_SHOWN, Mistakes, parse_object


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    colour: str
    size: int = 0


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    items: list[Inner] = []
    one: Inner | None = None


def mistakes(document: object) -> list[str]:
    with pytest.raises(Mistakes) as found:
        validation.parse(Outer, json.dumps(document).encode(), name="file.json")
    return found.value.mistakes


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ((), "(top)"),
        (("name",), "name"),
        (("userStories", 2, "id"), "userStories[2].id"),
        ((0, "a"), "[0].a"),
        (("a", 0, 1), "a[0][1]"),
    ],
)
def test_a_place_is_written_as_a_person_would(location: tuple[int | str, ...], text: str) -> None:
    assert validation.location_text(location) == text


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({}, ["name: missing, and required"]),
        ({"name": 1}, ["name: expected a valid string, found number 1"]),
        ({"name": None}, ["name: expected a valid string, found null"]),
        ({"name": True}, ["name: expected a valid string, found true"]),
        ({"name": []}, ["name: expected a valid string, found a list of 0"]),
        ({"name": {}}, ["name: expected a valid string, found an object"]),
        (
            {"name": "x", "items": [{"colour": "red", "size": "9"}]},
            ["items[0].size: expected a valid integer, found text '9'"],
        ),
        (
            {"name": "x", "items": [{"colour": "red", "size": ""}]},
            ["items[0].size: expected a valid integer, found empty text"],
        ),
        ({"name": "x", "nam": 1}, ["nam: unknown key; did you mean 'name'?"]),
        (
            {"name": "x", "items": [{"colour": "red"}, {"color": "red"}]},
            ["items[1].colour: missing, and required", "items[1].color: unknown key; did you mean 'colour'?"],
        ),
        ({"name": "x", "one": {"colour": "r", "sise": 1}}, ["one.sise: unknown key; did you mean 'size'?"]),
        ({"name": "x", "qqqq": 1}, ["qqqq: unknown key"]),
    ],
)
def test_each_mistake_says_where_it_is_and_what_was_found(document: object, expected: list[str]) -> None:
    assert mistakes(document) == expected


def test_all_mistakes_are_told_at_once_and_counted() -> None:
    with pytest.raises(Mistakes) as found:
        validation.parse(Outer, b'{"items": [{}, {"colour": 1}], "zz": 0}', name="file.json", remedy="Look it up.")
    assert len(found.value.mistakes) == 4
    assert found.value.what == "file.json has 4 mistakes:"
    assert found.value.details == tuple(found.value.mistakes)
    assert found.value.remedy == "Look it up."


def test_one_mistake_is_not_several() -> None:
    with pytest.raises(Mistakes, match=r"file\.json has 1 mistake:"):
        validation.parse(Outer, b"{}", name="file.json")


def test_rules_are_checked_even_where_the_shape_is_wrong() -> None:
    with pytest.raises(Mistakes) as found:
        validation.parse(Outer, b'{"name": 1}', name="f", rules=lambda document: [f"rule: {document['name']}"])
    assert [line.split(":")[0] for line in found.value.mistakes] == ["name", "rule"]


def test_a_broken_rule_alone_is_enough() -> None:
    with pytest.raises(Mistakes) as found:
        validation.parse(Outer, b'{"name": "x"}', name="f", rules=lambda _: ["no"])
    assert found.value.mistakes == ["no"]


def test_a_flood_of_mistakes_is_cut_and_says_how_many_are_left() -> None:
    with pytest.raises(Mistakes) as found:
        validation.parse(Outer, json.dumps({"name": "x", "items": [{}] * 80}).encode(), name="f")
    assert len(found.value.details) == MAX_SHOWN + 1
    assert found.value.details[-1] == "… and 30 more"
    assert found.value.what == "f has 80 mistakes:"


def test_as_many_mistakes_as_fit_are_all_shown() -> None:
    with pytest.raises(Mistakes) as found:
        validation.parse(Outer, json.dumps({"name": "x", "items": [{}] * MAX_SHOWN}).encode(), name="f")
    assert list(found.value.details) == found.value.mistakes


@pytest.mark.parametrize("data", [b"", b"{", b"{'a': 1}", b'{"a": NaN}', b'{"a": 1,}', b"\xff", b"{}{}"])
def test_what_is_no_json_is_told_as_such(data: bytes) -> None:
    with pytest.raises(Mistakes) as found:
        validation.parse_object(data, name="f")
    assert found.value.mistakes[0].startswith("not valid JSON: ")


def test_json_too_deep_to_be_meant_is_told_as_such() -> None:
    with pytest.raises(Mistakes, match="1 mistake"):
        validation.parse_object(b'{"a":' * 10_000 + b"1" + b"}" * 10_000, name="f")


ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


@given(st.dictionaries(ANY, st.integers() | ANY, max_size=5), st.booleans())
def test_any_object_is_read_with_or_without_a_byte_order_mark(document: dict[str, object], mark: bool) -> None:
    data = (b"\xef\xbb\xbf" if mark else b"") + json.dumps(document).encode()
    assert validation.parse_object(data, name="f") == document


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match="missing does not exist"):
        validation.read(tmp_path / "missing")
    with pytest.raises(RalphError, match="could not be read: Is a directory"):
        validation.read(tmp_path)
    (tmp_path / "file").write_bytes(b"x")
    assert validation.read(tmp_path / "file") == b"x"


@pytest.mark.parametrize(
    ("word", "known", "text"),
    [
        ("timout", ["timeout", "command"], "; did you mean 'timeout'?"),
        ("zzz", ["timeout", "command"], ""),
        ("timout", [], ""),
    ],
)
def test_a_word_that_is_almost_right_is_suggested(word: str, known: list[str], text: str) -> None:
    assert validation.nearest(word, known) == text


def test_a_nul_character_is_a_mistake_with_its_place() -> None:
    data = b'{"title": "a\\u0000b", "tasks": [{"id": "x", "a\\u0000": 1}], "notes": "\\u0000", "fine": "\\\\u0000"}'
    with pytest.raises(Mistakes) as error:
        parse_object(data, name="plan.json")
    assert error.value.mistakes == [
        "title: contains a NUL character",
        "tasks[0].a\\u0000: contains a NUL character",
    ]
    assert "plan.json" in error.value.what


@pytest.mark.parametrize("depth", [250, 5_000, 200_000])
def test_json_that_is_nested_deeply_is_an_ordinary_mistake(depth: int) -> None:
    data = b'{"a": ' + b"[" * depth + b"]" * depth + b"}"
    with pytest.raises(Mistakes, match=r"plan\.json has 1 mistake"):
        parse_object(data, name="plan.json")
