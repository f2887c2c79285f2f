"""A new plan over an old one: what an agent claims about state is dropped, what Ralph knows is kept."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.workflows.feature.planning import CONTENT_FIELDS, STATE_FIELDS, digest, merge
from ralph.workflows.formats import PRD

Json = dict[str, Any]
SOURCE = b"# PRD\n"
PROVEN = {
    "passes": True,
    "retries": 2,
    "blocked": False,
    "lastResult": {"completedAt": "t", "commit": "c", "summary": "s", "verify": []},
    "notes": "n",
    "attempts": 4,
    "baseCommit": "b",
}
FRESH = {"passes": False, "retries": 0, "blocked": False, "lastResult": None, "notes": ""}


def content(name: str, **more: Any) -> Json:
    return {
        "id": name,
        "title": f"Title {name}",
        "description": "d",
        "acceptanceCriteria": ["works"],
        "tags": [],
        "priority": 1,
        "dependsOn": [],
        **more,
    }


def old_plan(*stories: Json, **run: Any) -> Json:
    return {"schemaVersion": 2, "branchName": "ralph/auth", "run": run, "userStories": list(stories)}


def merged(new: list[Any], old: Json | None = None, **more: Any) -> Json:
    return merge({"userStories": new, **more}, old or {}, branch="ralph/auth", prd=SOURCE)


def test_a_first_plan_starts_with_nothing_done_on_the_features_branch() -> None:
    made = merged([content("a")], project="p", branchName="main", schemaVersion=9)
    assert made["userStories"] == [{**content("a"), **FRESH}]
    assert made["schemaVersion"] == 2
    assert made["branchName"] == "ralph/auth"
    assert made["prdHash"] == digest(SOURCE)
    assert made["run"] == {"startedAt": None, "currentStoryId": None, "learnings": []}
    assert made["project"] == "p"
    assert PRD.check(json.dumps(made).encode(), name="prd.json")[1].tasks[0].id == "a"


@given(st.dictionaries(st.sampled_from(STATE_FIELDS), st.booleans() | st.integers(0, 9) | st.text(max_size=3)))
def test_an_agent_cannot_make_a_story_pass_by_writing_so(claims: Json) -> None:
    changed = content("a", title="Another title", **claims)
    [new] = merged([content("b", **claims)])["userStories"]
    assert {key: new[key] for key in FRESH} == FRESH
    [again] = merged([changed], old_plan({**content("a"), **PROVEN}))["userStories"]
    assert {key: again[key] for key in FRESH} == FRESH
    [kept] = merged([content("a", **claims)], old_plan({**content("a"), **PROVEN}))["userStories"]
    assert {key: kept[key] for key in PROVEN} == PROVEN


def test_what_was_tried_and_found_is_ralphs_too() -> None:
    known = {"tried": ["1: failed"], "reviewRounds": 2, "findings": [{"severity": "minor", "problem": "p"}]}
    claims = {"tried": ["I did it"], "reviewRounds": 0, "findings": []}
    [kept] = merged([content("a", **claims)], old_plan({**content("a"), **PROVEN, **known}))["userStories"]
    assert {key: kept[key] for key in known} == known
    [new] = merged([content("b", **claims)])["userStories"]
    assert not known.keys() & new.keys()


@pytest.mark.parametrize("field", CONTENT_FIELDS)
def test_a_story_whose_content_changed_begins_anew_with_new_numbers(field: str) -> None:
    other = "changed" if field in ("title", "description") else ["changed"]
    [story] = merged([content("a", **{field: other})], old_plan({**content("a"), **PROVEN}))["userStories"]
    assert {key: story[key] for key in FRESH} == FRESH
    assert story["attempts"] == 4
    assert "baseCommit" not in story


def test_a_new_order_alone_does_not_undo_a_story() -> None:
    old = old_plan({**content("a"), **PROVEN}, content("b"))
    made = merged([content("b"), content("a", priority=7)], old)
    assert [story["id"] for story in made["userStories"]] == ["b", "a"]
    assert made["userStories"][1] == {**content("a", priority=7), **PROVEN}


def test_a_story_that_was_dropped_is_gone() -> None:
    made = merged([content("b")], old_plan({**content("a"), **PROVEN}))
    assert [story["id"] for story in made["userStories"]] == ["b"]


def test_what_was_learned_stays_and_the_verification_is_to_be_made_again() -> None:
    verification = {"attempts": 1, "verifiedAt": "t"}
    old = old_plan(
        content("a"), learnings=["l"], startedAt="s", currentStoryId="a", verification=verification, custom=1
    )
    made = merged([content("a")], old, run={"learnings": ["invented"], "verification": verification})
    assert made["run"] == {"learnings": ["l"], "startedAt": "s", "currentStoryId": None, "custom": 1}


def test_neither_the_old_plan_nor_the_new_one_is_changed() -> None:
    old = old_plan({**content("a"), **PROVEN}, learnings=["l"], verification={"attempts": 1})
    new = {"userStories": [content("a", passes=True)], "run": {"verification": {"attempts": 9}}}
    before = copy.deepcopy((old, new))
    merge(new, old, branch="b", prd=SOURCE)
    assert (old, new) == before


@pytest.mark.parametrize("stories", [None, "stories", {"a": 1}, 3])
def test_stories_that_are_no_list_are_left_for_validation_to_explain(stories: object) -> None:
    assert merge({"userStories": stories}, {}, branch="b", prd=SOURCE)["userStories"] == stories


@pytest.mark.parametrize("story", ["text", 3, None, []])
def test_a_story_that_is_no_object_is_left_for_validation_to_explain(story: object) -> None:
    assert merged([story])["userStories"] == [story]


def test_a_plan_tells_which_text_it_was_made_from() -> None:
    assert digest(b"one") != digest(b"two")
    assert merged([content("a")])["prdHash"] == digest(SOURCE)
