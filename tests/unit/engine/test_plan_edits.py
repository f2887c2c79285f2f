"""What is taken over from a person's own version of a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph.engine.plan_edits import adopted
from ralph.errors import RalphError
from ralph.plan.model import Plan, Spec, Task, TaskResult, TaskState


def plan(*tasks: Task, **more: Any) -> Plan:
    return Plan(target="auth", tasks=tasks, **more)


RESULT = TaskResult(completed_at="", commit="c", summary="")
ONE = Task(id="a", title="One", state=TaskState.PASSED, attempts=2, result=RESULT)
TWO = Task(id="b", title="Two", notes="red", failures=1, attempts=1, decisions=("gently",))
KNOWN = plan(ONE, TWO, description="old", learnings=("x",))


def test_what_is_asked_for_is_the_persons_and_what_was_done_stays() -> None:
    theirs = plan(
        replace(TWO, title="Zwei", criteria=("c",), priority=3, notes="", failures=0, state=TaskState.PASSED),
        replace(ONE, state=TaskState.PENDING, result=None, depends_on=("b",)),
        description="new",
    )
    after = adopted(KNOWN, theirs)
    assert [task.id for task in after] == ["b", "a"]
    assert after.find("b") == replace(TWO, title="Zwei", criteria=("c",), priority=3)
    assert after.find("a") == replace(ONE, depends_on=("b",))
    assert (after.description, after.learnings) == ("new", ("x",))


def test_a_new_task_begins_at_the_beginning_whatever_its_state_says() -> None:
    new = Task(id="c", title="Three", state=TaskState.PASSED, attempts=7, criteria=("x",))
    assert adopted(KNOWN, plan(ONE, TWO, new)).find("c") == Task(id="c", title="Three", criteria=("x",))


def test_a_task_that_nobody_has_begun_can_be_removed_and_no_other() -> None:
    fresh = Task(id="c", title="Three")
    known = plan(ONE, TWO, fresh)
    assert adopted(known, KNOWN).tasks == KNOWN.tasks
    with pytest.raises(RalphError, match="c cannot be removed, because it has been begun"):
        adopted(known, KNOWN, under_way={"c"})
    with pytest.raises(RalphError, match="b cannot be removed"):
        adopted(KNOWN, plan(ONE))
    with pytest.raises(RalphError, match="come and go only between runs"):
        adopted(known, KNOWN, can_come_and_go=False)


def test_specs_stay_and_their_words_change() -> None:
    spec = Spec(id="s", name="S", attempts=2, notes="hook")
    known = plan(replace(TWO, spec="s"), specs=(spec,))
    after = adopted(known, replace(known, specs=(replace(spec, name="T", criteria=("c",), attempts=0, notes=""),)))
    assert after.specs == (replace(spec, name="T", criteria=("c",)),)
    with pytest.raises(RalphError, match="specs come and go"):
        adopted(known, replace(known, specs=()))
