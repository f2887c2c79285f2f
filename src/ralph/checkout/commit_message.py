"""Composes Ralph's commit messages: the subject, the criteria, the gate results and the attempt."""

from __future__ import annotations

from ralph.config import Config
from ralph.plan.model import GateResult, Task, is_in_place
from ralph.plan.work import Outcome

TRAILER = "Ralph-Attempt"
VERIFIED = "Ralph-Verified"
"""Present only if gates did not run on a clean checkout of the commit."""
EVIDENCE = "Ralph-Evidence"
MAX_SUBJECT = 120


def commit_message(
    subject: str, *, task: Task | None, outcome: Outcome, attempt: str, config: Config, model: str, trailer: str = ""
) -> str:
    """Return the whole message; `subject` may include a body."""
    head, _, body = "\n".join(line for line in subject.strip().splitlines() if not _is_ours(line)).partition("\n")
    parts = [head[:MAX_SUBJECT] or attempt, body.strip()]
    if task and not body.strip():
        parts.append("\n".join(f"- {_line(criterion)}" for criterion in task.criteria))
    parts.append("\n".join(_gate(gate, task.waived if task else ()) for gate in outcome.gates))
    own = [
        f"{TRAILER}: {attempt}",
        f"{VERIFIED}: in place" if is_in_place(outcome.gates) else "",
        f"{EVIDENCE}: {outcome.evidence.value}" if outcome.evidence else "",
    ]
    lines = [trailer, *(line for line in outcome.trailers if not _is_ours(line)), *own]
    if config.commits.assisted_by:
        agent = config.program(outcome.agent)
        lines.append(f"Assisted-by: {agent}:{model}" if model else f"Assisted-by: {agent}")
    return "\n\n".join(filter(None, (*parts, "\n".join(filter(None, lines))))) + "\n"


def _is_ours(line: str) -> bool:
    """Return whether a line is a trailer that only Ralph may write: Ralph reads from it what has landed."""
    return line.strip().lower().startswith("ralph-")


def _gate(gate: GateResult, waived: tuple[str, ...]) -> str:
    where = ", in place" if gate.in_place else ""
    failed = "failed, and a person waived it" if gate.name in waived else "failed, and is optional"
    how = f"{gate.how_missed}: {_line(gate.reason)}" if gate.not_run else "passed" if gate.passed else failed
    flaky = ", flaky: red at first, green on the same files" if gate.flaky else ""
    return f"Gate `{_line(gate.command)}`: {how}{flaky}{where}"


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
