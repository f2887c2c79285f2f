"""Which task comes next, and circles among dependencies."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ralph.plan.model import Plan, Spec, Task, TaskResult, TaskState
from ralph.plan.select import cycle, following, open_specs, ready
from ralph.plan.select import waves as waves_of

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


@given(plans(), st.sets(st.sampled_from(IDS)), st.sets(st.sampled_from(IDS)))
def test_a_task_that_says_nothing_of_its_dependencies_never_starts_beside_an_earlier_one(
    plan: Plan, running: set[str], silent: set[str]
) -> None:
    plan = replace(plan, tasks=tuple(replace(task, in_order=task.id in silent) for task in plan))
    found = ready(plan, frozenset(running))
    ids = [task.id for task in plan]
    if found:
        assert found.id not in running
        assert not found.in_order or running.isdisjoint(ids[: ids.index(found.id)])
    assert bool(ready(plan)) == any(can_begin(plan, task) for task in plan), "alone, each task can start"


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
    specs, tasks = list[Spec](), list[Task]()
    for name in names:
        own = list[Task]()
        for number in range(1, draw(st.integers(1, 3)) + 1):
            standing = draw(st.sampled_from(TaskState))
            at = done(draw(st.sampled_from("135"))) if standing is PASSED else None
            own.append(Task(id=f"{name}-{number}", title="t", spec=name, state=standing, result=at))
        is_open = any(task.state is PENDING for task in own)
        spec = Spec(
            id=name,
            name=name,
            priority=draw(st.integers(0, 2)),
            state=PENDING if is_open else draw(st.sampled_from(TaskState)),
            result=draw(st.none() | st.sampled_from("024").map(done)),
            depends_on=tuple(draw(st.sets(st.sampled_from([one.id for one in specs])))) if specs else (),
            in_order=draw(st.booleans()),
            failures=0 if is_open else draw(st.integers(0, 3)),
        )
        specs.append(replace(spec, depends_on=()) if spec.in_order else spec)
        tasks += own
    current = draw(st.none() | st.sampled_from(tasks).map(lambda task: task.id))
    return Plan(target="t", tasks=tuple(tasks), specs=tuple(specs), current=current)


def all_that_starts(plan: Plan) -> list[Task | Spec]:
    """What runs at the same time when there are slots for everything."""
    running: list[Task | Spec] = []
    while found := following(plan, frozenset(one.id for one in running), max_failures=3):
        running.append(found)
    return running


@given(plans_with_specs())
def test_what_runs_at_the_same_time_is_one_piece_of_work_of_each_of_several_specs(plan: Plan) -> None:
    running = all_that_starts(plan)
    where = [one.spec if isinstance(one, Task) else one.id for one in running]
    assert len(set(where)) == len(where)
    for one, name in zip(running, where, strict=True):
        tasks, spec = plan.of_spec(name), plan.find_spec(name)
        assert spec and spec.state is PENDING
        assert all((before := plan.find_spec(other)) and before.state is PASSED for other in spec.depends_on)
        first = next((task for task in tasks if task.state is PENDING), None)
        assert one in (first, plan.find(plan.current or "")) if first else one is spec


@given(plans_with_specs())
def test_a_spec_that_says_nothing_of_its_dependencies_never_runs_beside_an_earlier_one(plan: Plan) -> None:
    where = [one.spec if isinstance(one, Task) else one.id for one in all_that_starts(plan)]
    silent = [name for name in where if (spec := plan.find_spec(name)) and spec.in_order]
    assert silent in ([], where[:1]), "it is the first, and alone among its kind"


@given(plans_with_specs())
def test_only_what_waits_for_a_blocked_or_a_stuck_spec_never_starts(plan: Plan) -> None:
    if all_that_starts(plan):
        return
    left = open_specs(plan)
    stuck = [spec for spec in left if spec.failures >= 3]
    for spec in left:
        needs = [before for name in spec.depends_on if (before := plan.find_spec(name))]
        waits = any(before.state is not PASSED for before in needs)
        assert spec in stuck or waits or (spec.in_order and stuck)


@given(plans_with_specs())
def test_the_task_that_was_begun_comes_first_if_its_spec_can_start(plan: Plan) -> None:
    begun = plan.find(plan.current) if plan.current else None
    running = all_that_starts(plan)
    if begun in running:
        assert running[0] is begun


@given(plans_with_specs())
def test_open_specs_come_by_priority_after_those_whose_work_waits_for_a_commit(plan: Plan) -> None:
    plan = replace(plan, current=None)
    found = open_specs(plan)
    assert {spec.id for spec in found} == {spec.id for spec in plan.specs if spec.state is PENDING}
    keys = [(not waits(plan, spec), spec.priority) for spec in found]
    assert keys == sorted(keys)


def waits(plan: Plan, spec: Spec) -> bool:
    closed = spec.result.completed_at if spec.result else ""
    return any(task.result.completed_at > closed for task in plan.of_spec(spec.id) if task.result)


def in_waves(plan: Plan) -> list[str]:
    return [" ".join(task.id for task in wave) for wave in waves_of(plan)]


def test_waves_are_what_can_run_at_the_same_time() -> None:
    free, after, silent = Task(id="a", title="t"), Task(id="b", title="t", depends_on=("a",)), Task(id="c", title="t")
    last = Task(id="d", title="t", depends_on=("c",))
    assert in_waves(Plan(target="t", tasks=(free, after, silent, last))) == ["a c", "b d"]
    assert in_waves(Plan(target="t", tasks=(free, after, replace(silent, in_order=True), last))) == ["a", "b", "c", "d"]
    forward = replace(free, depends_on=("c",))
    assert in_waves(Plan(target="t", tasks=(forward, replace(silent, in_order=True)))) == ["c", "a"]


def test_waves_of_specs_have_one_task_of_each_spec_that_may_run() -> None:
    tasks = tuple(Task(id=name, title="t", spec=name[0]) for name in ("a-1", "a-2", "b-1", "c-1", "d-1"))
    a, b, c, d = (Spec(id=name, name=name, priority=number) for number, name in enumerate("abcd"))
    specs = (a, b, replace(c, depends_on=("b",)), replace(d, in_order=True))
    assert in_waves(Plan(target="t", tasks=tasks, specs=specs)) == ["a-1 b-1", "a-2 c-1", "d-1"]


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
