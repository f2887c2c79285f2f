"""prd.json: what Ralph does not know survives, and every mistake is told with its place."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import RalphError
from ralph.plan.model import FinalReview, Finding, GateResult, Plan, Severity, Task, TaskResult, TaskState
from ralph.validation import Mistakes
from ralph.workflows.feature.store import PrdStore
from ralph.workflows.formats import PRD

OWNED = {"passes", "retries", "blocked", "lastResult", "notes", "attempts", "baseCommit", "reviewRounds", "findings"}
SCHEMA = jsonschema.Draft202012Validator(json.loads(PRD.schema_text()))


def document(*stories: dict[str, Any], **more: Any) -> dict[str, Any]:
    full = [{"title": "T", **story} for story in stories] or [{"id": "US-001", "title": "One"}]
    return {"schemaVersion": 2, "branchName": "ralph/auth", "userStories": full, **more}


def store(content: dict[str, Any]) -> tuple[PrdStore, Plan]:
    made = PrdStore(Path("prd.json"), "auth")
    return made, made.load(json.dumps(content).encode())


def mistakes(content: object) -> list[str]:
    with pytest.raises(Mistakes) as found:
        PRD.check(json.dumps(content).encode(), name="prd.json")
    return found.value.mistakes


def test_a_story_is_read_with_all_that_it_says() -> None:
    full = {
        "id": "US-001",
        "title": "One",
        "description": "d",
        "acceptanceCriteria": ["works"],
        "tags": ["ui"],
        "priority": 2,
        "dependsOn": [],
        "passes": True,
        "retries": 1,
        "blocked": False,
        "lastResult": {
            "completedAt": "then",
            "commit": "c1",
            "summary": "s",
            "verify": [{"name": "t", "command": "make", "passed": True, "seconds": 2}],
        },
        "notes": "n",
        "attempts": 2,
        "baseCommit": "b0",
    }
    _, plan = store(document(full, description="D", run={"startedAt": "s", "learnings": ["l"]}))
    assert plan.tasks == (
        Task(
            id="US-001",
            title="One",
            description="d",
            criteria=("works",),
            tags=frozenset({"ui"}),
            priority=2,
            state=TaskState.PASSED,
            failures=1,
            attempts=2,
            base="b0",
            notes="n",
            result=TaskResult(
                completed_at="then",
                commit="c1",
                summary="s",
                gates=(GateResult(name="t", command="make", passed=True, seconds=2),),
            ),
        ),
    )
    assert (plan.target, plan.branch, plan.description) == ("auth", "ralph/auth", "D")
    assert (plan.started_at, plan.learnings, plan.current) == ("s", ("l",), None)


def test_the_smallest_file_is_a_plan_with_nothing_done() -> None:
    _, plan = store(document())
    assert plan.tasks == (Task(id="US-001", title="One"),)
    assert plan.review == FinalReview()


def test_a_file_with_a_byte_order_mark_is_read() -> None:
    assert PRD.check(b"\xef\xbb\xbf" + json.dumps(document()).encode(), name="x")[1].branch == "ralph/auth"


ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.text("xyzXYZ_é0", min_size=1, max_size=5).map(lambda name: f"x{name}")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(ANY, max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(ANY, max_size=4), inner, max_size=3),
    max_leaves=5,
)
UNKNOWN = st.dictionaries(NAMES, JSON, max_size=3)


@st.composite
def shuffled(draw: st.DrawFn, content: dict[str, Any]) -> dict[str, Any]:
    return dict(draw(st.permutations(list({**content, **draw(UNKNOWN)}.items()))))


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 3))
    stories = []
    for number in range(count):
        story: dict[str, Any] = {"id": f"US-{number}", "title": draw(st.text(ANY, min_size=1, max_size=8))}
        if draw(st.booleans()):
            story |= {"passes": draw(st.booleans()), "retries": draw(st.integers(0, 9)), "blocked": False}
        if draw(st.booleans()):
            story |= {"lastResult": None, "notes": draw(st.text(ANY, max_size=5)), "tags": ["ui"]}
        stories.append(draw(shuffled(story)))
    content = {"schemaVersion": 2, "branchName": "b", "userStories": stories}
    if draw(st.booleans()):
        content["run"] = draw(shuffled({"startedAt": None, "learnings": draw(st.lists(st.text(ANY, max_size=4)))}))
    return draw(shuffled(content))


def same(old: object, new: object) -> bool:
    """Equal in values, in types and in the order of keys."""
    return json.dumps(old) == json.dumps(new)


@given(documents())
def test_saving_what_was_read_changes_nothing_but_ralphs_own_part(content: dict[str, Any]) -> None:
    made, plan = store(content)
    saved = json.loads(made.render(plan))
    assert list(saved)[: len(content)] == list(content)
    assert same(saved["userStories"], content["userStories"])
    assert all(same(saved[key], content[key]) for key in content if key != "run")
    run = content.get("run", {})
    assert list(saved["run"])[: len(run)] == list(run)
    assert all(same(saved["run"][key], run[key]) for key in run)
    assert store(saved)[1] == plan


@given(documents(), st.data())
def test_a_changed_story_keeps_its_unknown_fields_and_their_order(content: dict[str, Any], data: st.DataObject) -> None:
    made, plan = store(content)
    chosen = data.draw(st.sampled_from(plan.tasks))
    changed = replace(
        chosen,
        state=data.draw(st.sampled_from(TaskState)),
        failures=data.draw(st.integers(0, 3)),
        attempts=data.draw(st.integers(0, 9)),
        notes=data.draw(st.text(ANY, max_size=8)),
        base="b1",
        result=data.draw(st.none() | st.just(TaskResult(completed_at="t", commit="c", summary="s"))),
    )
    new_plan = replace(plan.change(chosen.id, lambda _: changed), current=chosen.id, learnings=("l",))
    saved = json.loads(made.render(new_plan))
    for old, new in zip(content["userStories"], saved["userStories"], strict=True):
        assert list(new)[: len(old)] == list(old)
        assert all(same(new[key], old[key]) for key in old if key not in OWNED)
        if old["id"] != chosen.id:
            assert same(new, old)
    assert store(saved)[1] == new_plan


@given(documents())
def test_saving_twice_writes_the_same_bytes(content: dict[str, Any]) -> None:
    made, plan = store(content)
    first = made.render(plan)
    assert made.render(plan) == first
    assert first.endswith(b"}\n")


def test_how_the_final_verification_stands_survives_a_save() -> None:
    made, plan = store(document())
    review = FinalReview(attempts=2, failures=1, notes="n", verified_at="t", verified_commit="c")
    assert store(json.loads(made.render(replace(plan, review=review))))[1].review == review


def test_what_a_review_found_survives_a_save_with_what_ralph_does_not_know_of_it() -> None:
    known = {"severity": "minor", "problem": "Short", "ticket": 7}
    made, plan = store(document({"id": "US-001", "reviewRounds": 2, "findings": [known]}))
    assert plan.tasks[0].findings == (Finding(severity=Severity.MINOR, problem="Short"),)
    long = Finding(severity=Severity.MAJOR, file="a.py", line=3, problem="p" * 1500, remedy="r")
    task = replace(plan.tasks[0], rounds=3, findings=(long,))
    saved = json.loads(made.render(replace(plan, tasks=(task,))))
    assert saved["userStories"][0]["findings"][0]["ticket"] == 7
    assert store(saved)[1].tasks[0] == task


def test_what_a_gate_took_is_saved_to_the_millisecond() -> None:
    made, plan = store(document())
    gate = GateResult(name="t", command="make", passed=True, seconds=1.23456)
    passed = replace(plan.tasks[0], result=TaskResult(completed_at="t", commit="c", summary="s", gates=(gate,)))
    saved = json.loads(made.render(plan.change("US-001", lambda _: passed)))
    assert saved["userStories"][0]["lastResult"]["verify"] == [
        {"name": "t", "command": "make", "passed": True, "seconds": 1.235}
    ]


FULL = document(
    {
        "id": "a",
        "title": "t",
        "description": "d",
        "acceptanceCriteria": ["x"],
        "tags": ["ui"],
        "priority": 1,
        "dependsOn": [],
        "passes": False,
        "retries": 0,
        "blocked": False,
        "notes": "",
        "attempts": 0,
        "baseCommit": "",
        "lastResult": {
            "completedAt": "t",
            "commit": "c",
            "summary": "s",
            "verify": [{"name": "n", "command": "c", "passed": True, "seconds": 1.5}],
        },
    },
    description="d",
    run={
        "startedAt": None,
        "currentStoryId": None,
        "learnings": ["l"],
        "verification": {"attempts": 0, "failures": 0, "notes": "", "verifiedAt": "", "verifiedCommit": ""},
    },
)


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


@pytest.mark.parametrize("path", list(places(FULL)), ids=lambda path: ".".join(map(str, path)))
def test_a_plan_is_read_exactly_when_the_schema_takes_it(path: tuple[str | int, ...]) -> None:
    for value in (None, True, 0, 2.0, -1, 1.5, 10**30, "", "x", "a\n", "2", [], ["x"], [1], {}, {"a": 1}, ...):
        content = copy.deepcopy(FULL)
        parent: Any = content
        for key in path[:-1]:
            parent = parent[key]
        if value is ...:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
        data = json.dumps(content).encode()
        try:
            PRD.check(data, name="prd.json")
        except Mistakes as mistakes:
            with pytest.raises(Mistakes) as found:
                PrdStore(Path("prd.json"), "auth").load(data)
            assert found.value.mistakes == mistakes.mistakes
        else:
            made = PrdStore(Path("prd.json"), "auth")
            plan = made.load(data)
            assert PrdStore(Path("prd.json"), "auth").load(made.render(plan)) == plan


def test_a_plan_is_saved_to_its_file_as_text_that_a_person_can_read(tmp_path: Path) -> None:
    path = tmp_path / "prd.json"
    path.write_text(json.dumps(document({"id": "US-001", "title": "Größe"})))
    made = PrdStore(path, "auth")
    plan = made.load()
    made.save(plan)
    data = path.read_bytes()
    assert "Größe" in data.decode()
    assert data.count(b"\n") > 5


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RalphError, match=r"prd\.json does not exist"):
        PrdStore(tmp_path / "prd.json", "auth").load()


def test_all_mistakes_are_told_at_once_with_their_places() -> None:
    found = mistakes(
        {
            "schemaVersion": 1,
            "run": {"learnings": [1]},
            "userStories": [
                {"id": "US 1", "title": ""},
                {"title": "T", "passes": "yes"},
                {"id": "US-3", "title": "T", "retries": -1, "dependsOn": ["US-4"]},
                "story",
            ],
        }
    )
    assert [line.split(":")[0] for line in found] == [
        "schemaVersion",
        "branchName",
        "run.learnings[0]",
        "userStories[0].id",
        "userStories[0].title",
        "userStories[1].id",
        "userStories[1].passes",
        "userStories[2].retries",
        "userStories[3]",
        "userStories[2].dependsOn",
    ]


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        (document(userStories=[]), "userStories: "),
        (document({"id": "a"}, {"id": "b"}, {"id": "a"}), "userStories[2].id: 'a' is already userStories[0]"),
        (document({"id": "final"}), "userStories[0].id: 'final' is a reserved name"),
        (document({"id": "x.lock"}), "userStories[0].id: 'x.lock' is a reserved name"),
        (document({"id": "a", "passes": True, "blocked": True}), "userStories[0]: passes and blocked are both true"),
        (
            document({"id": "US-001"}, {"id": "b", "dependsOn": ["US-01"]}),
            "userStories[1].dependsOn: there is no 'US-01'; did you mean 'US-001'?",
        ),
        (
            document({"id": "a", "dependsOn": ["b"]}, {"id": "b", "dependsOn": ["a"]}),
            "userStories: dependencies form a cycle: a → b → a",
        ),
        (document({"id": "a", "dependsOn": ["a"]}), "userStories: dependencies form a cycle: a → a"),
        (
            document({"id": "US-001"}, run={"currentStoryId": "US-002"}),
            "run.currentStoryId: there is no story 'US-002'; did you mean 'US-001'?",
        ),
        (document(branchName="a.lock"), "branchName: git does not allow names that end in .lock"),
        (document(branchName="a.lock/b"), "branchName: git does not allow names that end in .lock"),
    ],
)
def test_what_the_shape_alone_cannot_say_is_checked(content: dict[str, Any], mistake: str) -> None:
    found = mistakes(content)
    assert len(found) == 1
    assert found[0].startswith(mistake)


@pytest.mark.parametrize(
    "name", ["", "../x", "a/b", "a..b", ".a", "-a", "a b", "a\n", "a.", "é", "a" * 81, "a:b", "a~1"]
)
def test_a_story_id_that_could_not_name_a_file_or_a_ref_is_refused(name: str) -> None:
    assert mistakes(document({"id": name}))[0].startswith("userStories[0].id: ")


@pytest.mark.parametrize(
    "name", ["", "-a", "a..b", "a//b", "/a", "a/", "a b", "a~b", "a^", "a:b", "a\\b", "@{", "a.", "b\n"]
)
def test_a_branch_name_that_git_would_refuse_is_refused(name: str) -> None:
    assert mistakes(document(branchName=name))[0].startswith("branchName: ")


@pytest.mark.parametrize("name", ["US-001", "1", "a.b.c", "a_b", "Final", "lock"])
def test_ordinary_story_ids_are_taken(name: str) -> None:
    assert store(document({"id": name}))[1].tasks[0].id == name


def test_text_that_is_no_json_is_one_mistake_with_its_line() -> None:
    with pytest.raises(Mistakes, match="1 mistake") as found:
        PRD.check(b'{\n  "schemaVersion": 2,\n  oops\n}', name="prd.json")
    assert "line 3" in found.value.mistakes[0]


@pytest.mark.parametrize(("data", "kind"), [(b"[]", "a list of 0"), (b"null", "null"), (b"3", "number 3")])
def test_a_file_that_is_no_object_is_refused(data: bytes, kind: str) -> None:
    with pytest.raises(Mistakes) as found:
        PRD.check(data, name="prd.json")
    assert found.value.mistakes == [f"expected an object at the top, found {kind}"]


@given(documents())
def test_the_published_schema_takes_what_ralph_takes(content: dict[str, Any]) -> None:
    SCHEMA.validate(content)


@pytest.mark.parametrize(
    "content",
    [document({"id": "a b"}), document(schemaVersion=1), {"schemaVersion": 2}, document({"id": "a", "retries": -1})],
)
def test_the_published_schema_refuses_what_ralph_refuses(content: dict[str, Any]) -> None:
    assert mistakes(content)
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(content)
