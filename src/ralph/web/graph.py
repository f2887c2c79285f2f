"""The tasks of a plan and what they depend on, as a drawing made on the server. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from ralph.frozen import Frozen
from ralph.plan.model import Plan, Task
from ralph.text import one_line
from ralph.views import words

BOX, HIGH, GAP, STEP, EDGE = 190, 46, 16, 70, 12
MAX_TASKS = 300


class Place(Frozen):
    """Where a task is drawn: its layer from the left, and its row."""

    task: Task
    layer: int
    row: int

    @property
    def x(self) -> int:
        return EDGE + self.layer * (BOX + STEP)

    @property
    def y(self) -> int:
        return EDGE + self.row * (HIGH + GAP)


def places(plan: Plan) -> tuple[Place, ...]:
    """Return each task to the right of all that it depends on; what stands in a circle counts as the first layer."""
    layers: dict[str, int] = {}
    for _ in range(len(plan.tasks)):
        waiting = [task for task in plan if task.id not in layers]
        ready = [task for task in waiting if all(one in layers for one in _needs(plan, task))]
        if not ready:
            break
        layers |= {task.id: max((layers[one] + 1 for one in _needs(plan, task)), default=0) for task in ready}
    rows: dict[int, int] = {}
    found: dict[str, Place] = {}
    for task in sorted(plan, key=lambda task: layers.get(task.id, 0)):
        layer = layers.get(task.id, 0)
        above = [found[one].row for one in _needs(plan, task) if one in found]
        row = max(rows.get(layer, 0), min(above, default=0))
        rows[layer] = row + 1
        found[task.id] = Place(task=task, layer=layer, row=row)
    return tuple(found.values())


def _needs(plan: Plan, task: Task) -> list[str]:
    return [one for one in task.depends_on if plan.find(one) and one != task.id]


def draw(plan: Plan, working: set[str], link: Callable[[Task], str]) -> str:
    """Return the drawing; empty if there is nothing to draw, or too much."""
    if not plan.tasks or len(plan.tasks) > MAX_TASKS:
        return ""
    known = {place.task.id: place for place in places(plan)}
    width = max(place.x for place in known.values()) + BOX + EDGE
    height = max(place.y for place in known.values()) + HIGH + EDGE
    body = "".join((*_edges(plan, known), *(part for place in known.values() for part in _box(place, working, link))))
    label = f"{words.count(len(plan.tasks), 'task')} and what they depend on"
    return (
        f'<svg class="graph" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{label}">{body}</svg>'
    )


def _edges(plan: Plan, known: dict[str, Place]) -> Iterator[str]:
    for place in known.values():
        for name in _needs(plan, place.task):
            other = known[name]
            x1, y1, x2, y2 = other.x + BOX, other.y + HIGH / 2, place.x, place.y + HIGH / 2
            bend = max((x2 - x1) / 2, 20)
            state = escape(other.task.standing.replace(" ", "-"))
            yield f'<path class="edge {state}" d="M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2 - 5} {y2}"/>'
            yield f'<path class="tip {state}" d="M{x2} {y2}l-7 -4v8z"/>'


def _box(place: Place, working: set[str], link: Callable[[Task], str]) -> Iterator[str]:
    task = place.task
    state = "working" if task.id in working else escape(task.standing.replace(" ", "-"))
    yield f'<a href="{escape(link(task))}"><g class="node {state}">'
    yield f"<title>{escape(one_line(f'{task.id} {task.title} · {state}'))}</title>"
    yield f'<rect x="{place.x}" y="{place.y}" width="{BOX}" height="{HIGH}" rx="8"/>'
    yield f'<rect class="bar" x="{place.x}" y="{place.y + 8}" width="4" height="{HIGH - 16}" rx="2"/>'
    name = words.cut(one_line(task.id), 22)
    yield f'<text class="id" x="{place.x + 14}" y="{place.y + 19}">{escape(name)}</text>'
    title = words.cut(one_line(task.title), 26)
    yield f'<text x="{place.x + 14}" y="{place.y + 36}">{escape(title)}</text></g></a>'
