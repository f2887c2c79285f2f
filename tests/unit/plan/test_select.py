"""Which task comes next, and circles among dependencies."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.model import Plan, Spec, Task, TaskResult, TaskState
from ralph.plan.select import cycle, following, open_specs, ready

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


# specs

PASSED, BLOCKED, PENDING = TaskState.PASSED, TaskState.BLOCKED, TaskState.PENDING


def done(at: str) -> TaskResult:
    return TaskResult(completed_at=at, commit="c", summary="")


@st.composite
def plans_with_specs(draw: st.DrawFn) -> Plan:
    names = "xyz"[: draw(st.integers(1, 3))]
    specs, tasks = [], []
    for name in names:
        result = draw(st.none() | st.sampled_from("024").map(done))
        state = draw(st.sampled_from(TaskState))
        specs.append(Spec(id=name, name=name, priority=draw(st.integers(0, 2)), state=state, result=result))
        for number in range(1, draw(st.integers(1, 3)) + 1):
            standing = draw(st.sampled_from(TaskState))
            at = done(draw(st.sampled_from("135"))) if standing is PASSED else None
            tasks.append(Task(id=f"{name}-{number}", title="t", spec=name, state=standing, result=at))
    current = draw(st.none() | st.sampled_from(tasks).map(lambda task: task.id))
    return Plan(target="t", tasks=tuple(tasks), specs=tuple(specs), current=current)


@given(plans_with_specs())
def test_what_follows_is_a_pending_task_or_an_open_spec_without_one(plan: Plan) -> None:
    match following(plan):
        case Task() as task:
            assert task.state is PENDING
        case Spec() as spec:
            assert spec.state is PENDING
            assert all(task.state is not PENDING for task in plan.of_spec(spec.id))
        case _:
            assert not open_specs(plan)
            assert all(task.state is not PENDING for task in plan)


@given(plans_with_specs())
def test_the_task_that_was_begun_follows_before_any_spec(plan: Plan) -> None:
    begun = plan.find(plan.current) if plan.current else None
    if begun and begun.state is PENDING:
        assert following(plan) is begun


@given(plans_with_specs())
def test_a_spec_is_finished_before_the_next_one_begins(plan: Plan) -> None:
    plan = replace(plan, current=None)
    first = next(iter(open_specs(plan)), None)
    found = following(plan)
    if first:
        assert (found.spec if isinstance(found, Task) else found.id if found else "") == first.id


@given(plans_with_specs())
def test_open_specs_come_by_priority_after_those_whose_work_waits_for_a_commit(plan: Plan) -> None:
    found = open_specs(plan)
    assert {spec.id for spec in found} == {spec.id for spec in plan.specs if spec.state is PENDING}
    keys = [(not waits(plan, spec), spec.priority) for spec in found]
    assert keys == sorted(keys)


def waits(plan: Plan, spec: Spec) -> bool:
    closed = spec.result.completed_at if spec.result else ""
    return any(task.result.completed_at > closed for task in plan.of_spec(spec.id) if task.result)


def test_tasks_of_a_spec_come_as_listed_and_specs_by_priority() -> None:
    tasks = tuple(Task(id=name, title="t", spec=name[0]) for name in ("b-1", "a-1", "a-2", "b-2"))
    plan = Plan(target="t", tasks=tasks, specs=(Spec(id="b", name="B", priority=2), Spec(id="a", name="A", priority=1)))
    order = []
    while found := following(plan):
        order.append(found.id)
        if isinstance(found, Task):
            plan = plan.change(found.id, lambda task: replace(task, state=PASSED))
        else:
            plan = plan.change_spec(found.id, lambda spec: replace(spec, state=PASSED))
    assert order == ["a-1", "a-2", "a", "b-1", "b-2", "b"]


def test_a_spec_of_which_everything_is_blocked_is_closed_too() -> None:
    plan = Plan(
        target="t", tasks=(Task(id="a-1", title="t", spec="a", state=BLOCKED),), specs=(Spec(id="a", name="A"),)
    )
    assert following(plan) == plan.specs[0]
