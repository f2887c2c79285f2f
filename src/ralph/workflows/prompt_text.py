"""Lists and lines that every workflow's prompts use."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.plan.model import Gate, NeedKind, Plan, Task, TaskState, Tells

LEARNING_MARKER = "<ralph>LEARNING:what you learned</ralph>"
BLOCKED_MARKER = "<ralph>BLOCKED:why</ralph>"
DISPUTE_MARKER = "<ralph>DISPUTE:which command — why</ralph>"
MAX_LEARNINGS = 60


WAITING = {
    NeedKind.APPROVAL: "held",
    NeedKind.DISPUTE: "a gate is disputed",
    NeedKind.RED_BEFORE: "was red before",
    NeedKind.TESTS: "no acceptance tests",
}


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def criteria(texts: Iterable[str]) -> str:
    return bullets(texts) or "- (none given)"


def gate_list(gates: Iterable[Gate]) -> str:
    """The gates that will run, and which of them only warn."""
    told = (gate for gate in gates if not gate.held_out or gate.held_out.tells is not Tells.NOTHING)
    return bullets(_gate(gate) for gate in told) or "- (none are configured)"


def commands(lines: Iterable[str]) -> str:
    return bullets(f"`{line}`" for line in lines)


def learned(plan: Plan) -> str:
    return bullets(plan.learnings[-MAX_LEARNINGS:])


def unfinished(plan: Plan, word: str) -> str:
    """Which tasks a run leaves unfinished, and which of them only wait for others."""
    stopped = [_stopped(task) for task in plan if task.state is TaskState.BLOCKED]
    waiting = [task.id for task in plan if task.state is TaskState.PENDING]
    return f"{word}: {', '.join(stopped)}" + (f"; waiting for them: {', '.join(waiting)}" if waiting else "")


def _stopped(task: Task) -> str:
    if task.left_out:
        return f"{task.id} (left out)"
    if task.need and task.need.kind in WAITING:
        return f"{task.id} ({WAITING[task.need.kind]})"
    return f"{task.id} (stuck)" if task.notes.startswith("Stuck") else task.id


def _gate(gate: Gate) -> str:
    name = "" if gate.name == gate.command else f"{gate.name}: "
    text = "(held out: Ralph runs it, and you cannot see it)" if gate.held_out else ""
    notes = [text] if text else []
    notes += [f"(only for {', '.join(gate.tasks)}, and after that)"] if gate.tasks else []
    notes += [] if gate.required else ["(optional: a failure only warns)"]
    return " ".join((gate.name if gate.held_out else f"{name}`{gate.command}`", *notes))


def quoted(text: str) -> str:
    """A person's text as a Markdown quotation; the template starts its first line."""
    return text.strip().replace("\n", "\n> ")
