"""PROGRESS.md: the result of each spec, for people who read it later."""

from __future__ import annotations

from ralph.plan.model import GateResult, Plan, Spec, Task, TaskState
from ralph.plan.usage import Usage
from ralph.views import words


def entry(plan: Plan, spec: Spec) -> str:
    """A closed spec as a section. The comment in it identifies the spec, so that it is added once."""
    tasks = plan.of_spec(spec.id)
    attempts = sum(task.attempts for task in tasks)
    result = spec.result
    commit = result.commit if result else ""
    used = sum((task.usage for task in tasks), Usage())
    lines = [
        f"## {' '.join(spec.name.split())}: {_outcome(spec, tasks)}",
        "",
        f"<!-- ralph: {spec.id} {spec.state.value} {commit or 'no commit'} {attempts} -->",
        "",
        f"- Spec: `{spec.file}`",
        f"- Closed: {result.completed_at if result else 'unknown'}",
        f"- Commit: `{commit[:10]}` {result.summary}" if result and commit else "- Commit: none, nothing passed",
        f"- Attempts: {attempts} for {words.count(len(tasks), 'task')}",
        f"- Gates: {_gates(result.gates if result else ())}",
        f"- Time: {words.duration(sum(task.seconds for task in tasks))}",
        f"- Used: {words.tokens(used)}, {words.cost(used)}",
        "",
        *map(_task, tasks),
    ]
    return "\n".join(lines) + "\n"


def _outcome(spec: Spec, tasks: tuple[Task, ...]) -> str:
    passed = sum(task.state is TaskState.PASSED for task in tasks)
    if spec.state is TaskState.PASSED:
        return "completed"
    return f"partial, {passed} of {words.count(len(tasks), 'task')}" if passed else "blocked"


def _gates(gates: tuple[GateResult, ...]) -> str:
    if not any(gate.required for gate in gates):
        return "none required: UNVERIFIED" if not gates else f"{_marks(gates)} (none required: UNVERIFIED)"
    return _marks(gates)


def _marks(gates: tuple[GateResult, ...]) -> str:
    return ", ".join(
        f"{words.gate_mark(gate)} {gate.name}"
        f"{'' if gate.required else ' (optional)'}{f' ({words.IN_PLACE})' if gate.in_place else ''}"
        f"{' (flaky)' if gate.flaky else ''}"
        for gate in gates
    )


def _task(task: Task) -> str:
    box = "[x]" if task.state is TaskState.PASSED else "[ ]"
    how = [words.how(task)] if words.how(task) else []
    if task.acceptance:
        return f"- {box} `{task.id}` {words.cut(task.title, 200)} **{words.cut(words.accepted(task.acceptance), 300)}**"
    spent = [*how, words.count(task.attempts, "attempt"), words.duration(task.seconds)]
    tries = f" ({', '.join([*spent, *([words.cost(task.usage)] if task.usage.cost_usd is not None else [])])})"
    why = f": {words.cut(words.first_line(task.notes), 200)}" if task.notes else ""
    state = f" **{task.standing}**{why}" if task.state is not TaskState.PASSED else ""
    return f"- {box} `{task.id}` {words.cut(task.title, 200)}{tries}{state}"
