"""Whatever an agent answers, what was done or tried stays; what the answer lacks or confuses is named."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.validation import Mistakes
from ralph.workflows.formats import SPECS
from ralph.workflows.specs.merge import TASK_STATE, MergeResult, merge
from ralph.workflows.specs.planning import check
from ralph.workflows.specs.spec_files import SpecFile, parse

Json = dict[str, Any]
STATE = {"retries": 2, "attempts": 3, "notes": "n", "tried": ["Attempt 1: no."], "seconds": 5.0}
DONE = {**STATE, "status": "completed", "result": {"completedAt": "t", "commit": "c"}, "baseCommit": "b"}
STUCK = {**STATE, "status": "blocked"}
TRIED = {**STATE, "status": "pending"}


def task(name: str, description: str = "", **more: Any) -> Json:
    return {"id": name, "description": description or f"Build part {name}", **more}


def entry(name: str, *tasks: Json, **more: Any) -> Json:
    return {"id": name, "file": f"specs/{name}.md", "name": name.title(), "tasks": list(tasks), **more}


def plan(*specs: Json, **more: Any) -> Json:
    return {"version": 1, "specs": list(specs), **more}


def file(name: str, *tasks: str, criteria: tuple[str, ...] = ()) -> SpecFile:
    lines = [f"# {name.title()}", "", "## Tasks", *(f"- {text}" for text in tasks)] if tasks else [f"# {name.title()}"]
    lines += ["", "## Acceptance criteria", *(f"- {text}" for text in criteria)] if criteria else []
    return parse("\n".join(lines) + "\n", f"specs/{name}.md")


def tasks_of(merged: MergeResult) -> dict[str, Json]:
    return {one["id"]: one for one in listed(merged.document)}


def listed(document: Json) -> list[Json]:
    return [one for spec in document["specs"] for one in spec["tasks"]]


# what was done or tried


@pytest.mark.parametrize("state", [DONE, STUCK, TRIED], ids=["completed", "blocked", "tried"])
def test_what_an_answer_leaves_out_comes_back_where_it_was(state: Json) -> None:
    old = plan(entry("a", task("a-1"), task("a-2", **state), task("a-3")))
    answer = plan(entry("a", task("a-1"), task("a-3"), task("a-4")))
    merged = merge(answer, old, [file("a")])
    assert [one["id"] for one in listed(merged.document)] == ["a-1", "a-2", "a-3", "a-4"]
    assert tasks_of(merged)["a-2"] == task("a-2", **state)
    assert merged.changes == ("new task a-4: Build part a-4",)


def test_what_nobody_has_begun_may_change_or_go_and_that_is_told() -> None:
    old = plan(entry("a", task("a-1"), task("a-2")))
    merged = merge(plan(entry("a", task("a-1", "Build something else"))), old, [file("a")])
    assert [one["description"] for one in listed(merged.document)] == ["Build something else"]
    assert merged.changes == ("a-1 now says: Build something else", "removed a-2")
    assert not merged.mistakes


def test_a_completed_task_in_other_words_stays_as_it_was() -> None:
    done = task("a-1", "Add a login page", covers=["a.1"], **DONE)
    said = task("a-1", "Create the login page", covers=["a.1"])
    merged = merge(plan(entry("a", said)), plan(entry("a", done)), [file("a", "Login")])
    assert listed(merged.document) == [done]
    assert (merged.changes, merged.mistakes) == ((), ())


def test_a_completed_task_can_be_found_to_cover_more() -> None:
    done = task("a-1", "Add a login page", **DONE)
    said = task("a-1", "add a  login page", covers=["a.1"])
    merged = merge(plan(entry("a", said)), plan(entry("a", done)), [file("a", "Login")])
    assert listed(merged.document) == [{**done, "covers": ["a.1"]}]


@pytest.mark.parametrize("state", [STUCK, TRIED], ids=["blocked", "tried"])
@pytest.mark.parametrize(("lists", "covers"), [((), []), (("Login",), ["a.1"])], ids=["prose", "a list"])
def test_a_tried_task_may_be_reworded_and_keeps_its_state(
    state: Json, lists: tuple[str, ...], covers: list[str]
) -> None:
    old = plan(entry("a", task("a-1", "Add a login page", covers=covers, **state)))
    said = task("a-1", "Add a login page in blue", covers=covers)
    merged = merge(plan(entry("a", said)), old, [file("a", *lists)])
    assert listed(merged.document) == [{**said, **state}]
    assert merged.changes == ("a-1 now says: Add a login page in blue",)


@pytest.mark.parametrize("state", [DONE, STUCK, TRIED], ids=["completed", "blocked", "tried"])
def test_the_id_of_a_task_that_was_tried_cannot_be_given_to_other_work(state: Json) -> None:
    old = plan(entry("a", task("a-1", "Add a login page", covers=["a.1"], **state)))
    said = task("a-1", "Translate everything into Klingon", covers=["a.2"])
    merged = merge(plan(entry("a", said)), old, [file("a", "Login", "Klingon")])
    assert merged.mistakes == (
        f"the task id 'a-1' is taken: it is {state['status']} and says 'Add a login page'; "
        "keep its text or what it covers, or use another id",
    )


def test_a_task_cannot_move_to_another_spec() -> None:
    old = plan(entry("a", task("a-1", **DONE), task("a-2")), entry("b", task("b-1")))
    answer = plan(entry("a", task("a-2")), entry("b", task("b-1"), task("a-1")))
    merged = merge(answer, old, [file("a"), file("b")])
    assert merged.mistakes == ("the task id 'a-1' belongs to another spec; give this one another id",)


def test_states_in_an_answer_do_not_count() -> None:
    lies = {**DONE, "seconds": 99.0, "usage": {"calls": 7}}
    old = plan(entry("a", task("a-1", **STUCK)))
    claims = entry("a", task("a-1", **lies), task("a-2", **lies), status="completed", notes="!", attempts=9, result={})
    merged = merge(plan(claims), old, [file("a")])
    assert listed(merged.document) == [task("a-1", **STUCK), task("a-2", status="pending")]
    [spec] = merged.document["specs"]
    assert spec["status"] == "in_progress"
    assert not {"notes", "attempts", "result"} & spec.keys()


@pytest.mark.parametrize("status", ["completed", "blocked"])
def test_a_closed_spec_stays_closed_unless_it_gets_a_new_task(status: str) -> None:
    spec = entry("a", task("a-1", **DONE), status=status, attempts=1, notes="n", result=DONE["result"])
    same = merge(plan(entry("a", task("a-1"))), plan(spec), [file("a")]).document["specs"][0]
    assert {key: same[key] for key in ("status", "attempts", "notes", "result")} == {
        key: spec[key] for key in ("status", "attempts", "notes", "result")
    }
    more = merge(plan(entry("a", task("a-1"), task("a-2"))), plan(spec), [file("a")]).document["specs"][0]
    assert more["status"] == "in_progress"
    assert more["result"] == spec["result"]


# which spec is meant


def test_a_spec_can_be_named_by_its_id_alone_and_is_called_as_its_file_says() -> None:
    merged = merge({"specs": [{"id": "a", "tasks": [task("a-1")]}]}, {}, [file("a")])
    [spec] = merged.document["specs"]
    assert (spec["file"], spec["name"], spec["priority"], spec["status"]) == ("specs/a.md", "A", 1, "pending")
    assert merged.mistakes == ()
    assert merged.changes == ("new spec a", "new task a-1: Build part a-1")


def test_a_spec_gets_the_id_of_its_file_whatever_the_answer_calls_it() -> None:
    merged = merge(plan(entry("a", task("a-1"), id="other", file="./specs/a.md")), {}, [file("a")])
    assert [spec["id"] for spec in merged.document["specs"]] == ["a"]


def test_a_spec_that_was_forgotten_is_asked_for() -> None:
    merged = merge(plan(entry("a", task("a-1"))), {}, [file("a"), file("b")])
    assert merged.mistakes == ("specs/b.md: the plan has no spec for this file; add it with id 'b'",)


def test_a_spec_whose_tasks_are_all_ticked_need_not_be_planned() -> None:
    ticked = parse("# B\n\n## Tasks\n- [x] done\n", "specs/b.md")
    assert merge(plan(entry("a", task("a-1"))), {}, [file("a"), ticked]).mistakes == ()


def test_two_entries_for_one_file_are_a_mistake() -> None:
    merged = merge(plan(entry("a", task("a-1")), {"id": "a", "tasks": [task("a-2")]}), {}, [file("a")])
    assert merged.mistakes == ("specs/a.md: the plan has two specs for this file; merge them",)


@pytest.mark.parametrize(
    ("invented", "told"),
    [
        (entry("z", task("z-1")), "specs/z.md"),
        ({"tasks": []}, "a spec without a file"),
        ({"file": 3}, "a spec without"),
    ],
)
def test_a_spec_that_nobody_wrote_is_a_mistake(invented: Json, told: str) -> None:
    [mistake] = merge(plan(entry("a", task("a-1")), invented), {}, [file("a")]).mistakes
    assert mistake.startswith(told)
    assert mistake.endswith("there is no such spec file")


def test_what_was_settled_of_a_spec_whose_file_is_gone_stays_on_record() -> None:
    old = plan(
        entry("a", task("a-1")),
        entry("b", task("b-1", **DONE), task("b-2", **STUCK), task("b-3"), status="blocked"),
        entry("c", task("c-1")),
    )
    merged = merge(plan(entry("a", task("a-1"))), old, [file("a")])
    assert [one["id"] for one in listed(merged.document)] == ["a-1", "b-1", "b-2"]
    assert tasks_of(merged)["b-1"] == task("b-1", **DONE)
    assert tasks_of(merged)["b-2"] == task("b-2", **STUCK)
    assert merged.document["specs"][1]["status"] == "blocked"
    assert merged.changes == ("specs/b.md no longer exists: removed b-3", "specs/c.md no longer exists: removed c-1")


def test_passed_work_that_waits_for_its_commit_still_gets_it_when_its_spec_is_gone() -> None:
    old = plan(entry("a", task("a-1")), entry("b", task("b-1", **DONE), task("b-2"), status="in_progress"))
    merged = merge(plan(entry("a", task("a-1"))), old, [file("a")])
    assert merged.document["specs"][1]["status"] == "in_progress"


def test_a_spec_whose_file_was_renamed_to_the_same_id_keeps_its_tasks() -> None:
    old = plan(entry("user-login", task("user-login-1", **DONE), task("user-login-2"), file="specs/User Login.md"))
    answer = plan(entry("user-login", task("user-login-1"), task("user-login-2")))
    merged = check(answer, old, [file("user-login")])
    assert merged.changes == ("specs/User Login.md is now specs/user-login.md",)
    assert check(answer, merged.document, [file("user-login")]).changes == ()
    assert [{"status": "pending", **one} for one in listed(old)] == listed(merged.document)
    assert merged.document["specs"][0]["file"] == "specs/user-login.md"


def test_a_new_spec_whose_name_is_a_task_s_id_gets_another_id() -> None:
    old = plan(entry("a", task("a-1", **DONE)))
    answer = plan(entry("a", task("a-1")), entry("a-1", task("a-1-1")))
    merged = check(answer, old, [file("a"), file("a-1")])
    assert [spec["id"] for spec in merged.document["specs"]] == ["a", "a-1-spec"]
    assert check(answer, merged.document, [file("a"), file("a-1")]).changes == ()


def test_a_new_spec_whose_name_is_another_spec_s_id_gets_another_id() -> None:
    old = plan(entry("b", task("b-1", **DONE), file="specs/a.md"))
    answer = plan({"file": "specs/a.md", "tasks": [task("b-1")]}, {"file": "specs/b.md", "tasks": [task("n-1")]})
    merged = check(answer, old, [file("a"), file("b")])
    assert [spec["id"] for spec in merged.document["specs"]] == ["b", "b-spec"]


# acceptance criteria


def test_criteria_that_the_answer_has_nowhere_are_added() -> None:
    spec = file("a", criteria=("Users can upload JPG", "The page loads in a second"))
    answer = plan(entry("a", task("a-1", acceptanceCriteria=["Users can upload JPG"]), acceptanceCriteria=["Own"]))
    merged = merge(answer, {}, [spec])
    assert merged.document["specs"][0]["acceptanceCriteria"] == ["Own", "The page loads in a second"]
    assert merged.added_criteria == 1


# anything at all

IDS = ("a-1", "a-2", "b-1", "b-2", "new-1")
TEXTS = ("Add a login page", "Create the login page", "Translate it into Klingon", "Store avatars in S3")
FILES = [file("a"), file("b", "Store avatars in S3", criteria=("Avatars are stored",))]


@st.composite
def old_tasks(draw: st.DrawFn, name: str) -> Json:
    state = draw(st.sampled_from([{}, {"status": "pending"}, {"status": "in_progress"}, DONE, STUCK, TRIED]))
    return {**task(name, draw(st.sampled_from(TEXTS))), **copy.deepcopy(state)}


@st.composite
def plans(draw: st.DrawFn) -> Json:
    """A plan as Ralph may have left it, with what a person has put into it."""
    specs = []
    for name in draw(st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("a", "b", "gone")])):
        numbers = range(1, draw(st.integers(1, 2)) + 1)
        closed = draw(st.sampled_from(["pending", "in_progress", "completed", "blocked"]))
        specs.append(entry(name, *(draw(old_tasks(f"{name}-{number}")) for number in numbers), status=closed, mine=1))
    return plan(*specs, learnings=["l"]) if specs else {}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text(max_size=3) | st.sampled_from(IDS + TEXTS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


def perhaps(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Nearly always as it should be."""
    return st.integers(0, 14).flatmap(lambda number: ANYTHING if number == 0 else value)


ANSWERED_TASKS = st.fixed_dictionaries(
    {"id": perhaps(st.sampled_from(IDS)), "description": perhaps(st.sampled_from(TEXTS))},
    optional={
        "status": st.sampled_from(["completed", "pending", "nonsense"]),
        "acceptanceCriteria": perhaps(st.lists(st.sampled_from(TEXTS), max_size=1)),
        "covers": perhaps(st.lists(st.sampled_from(TEXTS), max_size=1)),
        "retries": ANYTHING,
        "result": ANYTHING,
        "usage": ANYTHING,
    },
)
ANSWERED_SPECS = st.fixed_dictionaries(
    {"tasks": perhaps(st.lists(perhaps(ANSWERED_TASKS), min_size=1, max_size=3))},
    optional={
        "id": perhaps(st.sampled_from(["a", "b", "gone", "z"])),
        "file": perhaps(st.sampled_from(["specs/a.md", "./specs/b.md", "specs/gone.md", "specs/z.md"])),
        "name": perhaps(st.just("Name")),
        "priority": perhaps(st.integers(0, 3)),
        "status": ANYTHING,
        "acceptanceCriteria": perhaps(st.lists(st.sampled_from(TEXTS), max_size=1)),
        "attempts": ANYTHING,
    },
)
ANSWERS = st.fixed_dictionaries(
    {"specs": perhaps(st.lists(perhaps(ANSWERED_SPECS), max_size=3))}, optional={"version": ANYTHING, "x": ANYTHING}
)


@st.composite
def sensible(draw: st.DrawFn) -> Json:
    """An answer as an agent means it: each spec once, each id once."""
    names = iter(draw(st.permutations(["a-1", "a-2", "a-3"]))), iter(draw(st.permutations(["b-1", "b-2", "b-3"])))
    specs = [
        entry(
            name,
            *(task(next(ids), draw(st.sampled_from(TEXTS))) for _ in range(draw(st.integers(1, 3)))),
            priority=draw(st.integers(0, 3)),
        )
        for name, ids in zip("ab", names, strict=True)
    ]
    specs[1]["tasks"][0]["covers"] = ["Store avatars in S3"]
    return plan(*draw(st.permutations(specs)))


def answered(answer: Json, old: Json) -> MergeResult | None:
    try:
        return check(copy.deepcopy(answer), copy.deepcopy(old), FILES)
    except Mistakes as error:
        assert error.mistakes
        return None


@given(ANSWERS | st.dictionaries(st.sampled_from(["specs", "version", "tasks"]), ANYTHING), plans())
def test_any_answer_is_either_a_plan_or_a_list_of_mistakes(answer: Json, old: Json) -> None:
    merged = answered(answer, old)
    if merged:
        SPECS.check(json.dumps(merged.document).encode(), name="the plan")


@given(ANSWERS | sensible(), plans())
def test_no_completed_task_disappears_or_changes(answer: Json, old: Json) -> None:
    merged = answered(answer, old)
    if merged:
        kept = listed(merged.document)
        assert all(one in kept for one in listed(old or plan()) if one.get("status") == "completed")


@given(ANSWERS | sensible(), plans())
def test_no_task_that_was_tried_loses_its_state(answer: Json, old: Json) -> None:
    merged = answered(answer, old)
    if merged is None:
        return
    now = tasks_of(merged)
    for spec in old.get("specs", []):
        for one in spec["tasks"] if spec["id"] != "gone" else ():
            if one.get("attempts") or one.get("status", "pending") != "pending":
                kept = now[one["id"]]
                assert {key: kept.get(key) for key in TASK_STATE} == {key: one.get(key) for key in TASK_STATE}
            elif one["id"] in now:
                assert now[one["id"]].get("status", "pending") == "pending"


@given(ANSWERS | sensible(), plans())
def test_nothing_is_completed_that_was_not(answer: Json, old: Json) -> None:
    before = {one["id"] for one in listed(old or plan())}
    done = {one["id"] for one in listed(old or plan()) if one.get("status") == "completed"}
    merged = answered(answer, old)
    for one in listed(merged.document) if merged else ():
        assert one.get("status", "pending") != "completed" or one["id"] in done
        assert one["id"] in before or one["status"] == "pending"


@given(sensible(), plans())
def test_the_same_answer_a_second_time_changes_nothing(answer: Json, old: Json) -> None:
    merged = answered(answer, old)
    if merged:
        again = check(copy.deepcopy(answer), copy.deepcopy(merged.document), FILES)
        assert again.document == merged.document
        assert again.changes == ()


@given(ANSWERS | sensible(), plans())
def test_neither_the_answer_nor_the_old_plan_is_changed_by_joining_them(answer: Json, old: Json) -> None:
    before = repr((answer, old))
    merge(answer, old, FILES)
    assert repr((answer, old)) == before
