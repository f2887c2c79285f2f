"""Which task comes next, and circles among dependencies."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.model import Plan, Task, TaskState
from ralph.plan.select import cycle, ready

IDS = tuple("abcdef")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    tasks = [
        Task(
            id=name,
            title=name,
            priority=draw(st.integers(-2, 2)),
            state=draw(st.sampled_from(TaskState)),
            depends_on=tuple(draw(st.lists(st.sampled_from((*IDS, "missing")), max_size=3))),
        )
        for name in draw(st.lists(st.sampled_from(IDS), unique=True, max_size=6))
    ]
    return Plan(target="t", tasks=tuple(tasks), current=draw(st.none() | st.sampled_from(IDS)))


def can_begin(plan: Plan, task: Task) -> bool:
    done = {other.id for other in plan.tasks if other.state is TaskState.PASSED}
    return task.state is TaskState.PENDING and set(task.depends_on) <= done


@given(plans())
def test_the_next_task_is_one_that_can_begin_if_there_is_any(plan: Plan) -> None:
    found = ready(plan)
    able = [task for task in plan.tasks if can_begin(plan, task)]
    assert (found in able) if able else found is None


@given(plans())
def test_the_task_that_was_begun_comes_before_all_others(plan: Plan) -> None:
    begun = plan.find(plan.current) if plan.current else None
    if begun and can_begin(plan, begun):
        assert ready(plan) is begun


@given(plans())
def test_without_a_task_that_was_begun_the_lowest_priority_number_wins_then_the_list(plan: Plan) -> None:
    plan = replace(plan, current=None)
    able = sorted((task for task in plan.tasks if can_begin(plan, task)), key=lambda task: task.priority)
    assert ready(plan) is (able[0] if able else None)


def test_a_task_that_waits_for_a_blocked_one_never_comes() -> None:
    plan = Plan(
        target="t",
        tasks=(Task(id="a", title="a", state=TaskState.BLOCKED), Task(id="b", title="b", depends_on=("a",))),
    )
    assert ready(plan) is None


@given(st.permutations(IDS), st.data())
def test_tasks_in_any_order_are_all_done_in_an_order_that_their_dependencies_allow(
    order: list[str], data: st.DataObject
) -> None:
    tasks = [
        Task(
            id=name,
            title=name,
            priority=data.draw(st.integers(0, 2)),
            depends_on=tuple(data.draw(st.lists(st.sampled_from(order[:place]), max_size=2)) if place else ()),
        )
        for place, name in enumerate(order)
    ]
    plan = Plan(target="t", tasks=tuple(data.draw(st.permutations(tasks))))
    done: list[str] = []
    while task := ready(plan):
        assert set(task.depends_on) <= set(done)
        done.append(task.id)
        plan = plan.change(task.id, lambda old: replace(old, state=TaskState.PASSED))
    assert sorted(done) == sorted(order)


GRAPHS = st.dictionaries(
    st.sampled_from(IDS), st.lists(st.sampled_from((*IDS, "missing")), max_size=3).map(tuple), max_size=6
)


def has_cycle(graph: dict[str, tuple[str, ...]]) -> bool:
    """By taking away whatever waits for nothing, until nothing more can be taken."""
    left = {node: {name for name in needs if name in graph} for node, needs in graph.items()}
    while free := {node for node, needs in left.items() if not needs & left.keys()}:
        left = {node: needs for node, needs in left.items() if node not in free}
    return bool(left)


@given(GRAPHS)
def test_a_circle_is_found_exactly_where_there_is_one_and_is_real(graph: dict[str, tuple[str, ...]]) -> None:
    found = cycle(graph)
    assert bool(found) == has_cycle(graph)
    if found:
        assert found[0] == found[-1]
        assert len(set(found)) == len(found) - 1
        assert all(after in graph[before] for before, after in pairwise(found))


def test_a_task_that_waits_for_itself_is_a_circle() -> None:
    assert cycle({"a": ("a",)}) == ("a", "a")


def test_a_long_chain_is_no_circle_and_no_trouble() -> None:
    chain = {str(number): (str(number + 1),) for number in range(3000)}
    assert cycle(chain) == ()
    assert len(cycle({**chain, "2999": ("0",)})) == 3001


def test_two_ways_to_the_same_task_are_no_circle() -> None:
    assert cycle({"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ()}) == ()
