"""Numbers and states as a person reads them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from ralph.plan.evidence import Evidence
from ralph.plan.model import Acceptance, GateResult, Severity, Task, TaskState
from ralph.plan.usage import Usage

ERROR = re.compile(r"\b\w*(Error|Exception)\b|\b(error|panicked)\b|^\s*(✗|✖|×|not ok)|^E {2,}\S", re.MULTILINE)
MARKS = {TaskState.PASSED: "✓", TaskState.BLOCKED: "✗", TaskState.PENDING: "·"}
ACCEPTED_MARK, HELD_MARK = "☑", "‖"
COLOURS = {TaskState.PASSED: "green", TaskState.BLOCKED: "red", TaskState.PENDING: "white"}
IN_PLACE = "in place"
"""The mark for work whose gates ran where the agent worked (`verify.where: "slot"`)."""
SEVERITY_COLOURS = {Severity.CRITICAL: "red", Severity.MAJOR: "yellow", Severity.MINOR: "cyan"}


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} m"


def elapsed(seconds: float) -> str:
    """A running time: whole seconds."""
    return duration(int(seconds)) if seconds >= 10 else f"{int(seconds)} s"


def time_of_day(at: float, now: float) -> str:
    """The local time of a moment; with the weekday if it is not within the next twelve hours."""
    form = "%H:%M" if at - now < 12 * 3600 else "%a %H:%M"
    return time.strftime(form, time.localtime(at))


def count(number: int, word: str) -> str:
    return f"{number} {word if number == 1 else plural(word)}"


def plural(word: str) -> str:
    if word.endswith("criterion"):
        return word[:-2] + "a"
    return word[:-1] + "ies" if word.endswith("y") else word + "s"


def tokens(usage: Usage) -> str:
    """Tokens in and out, or unknown."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return "tokens unknown"
    read = (usage.input_tokens or 0) + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    return f"{_short(read)} tokens in, {_short(usage.output_tokens or 0)} out"


def cost(usage: Usage) -> str:
    """The reported cost, and how many calls reported none; unknown is never 0."""
    if usage.cost_usd is None:
        return "cost unknown"
    known = _dollars(usage.cost_usd)
    about = f"{'about ' if known.startswith('$') else ''}{known}, estimated" if usage.estimated else known
    return f"{about} (unknown for {usage.unpriced} of {usage.calls} calls)" if usage.unpriced else about


def _dollars(cost: float) -> str:
    if not cost or cost >= 0.005:
        return f"${cost:.2f}"
    return f"${cost:.4f}" if cost >= 0.00005 else "less than $0.0001"


def first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""


def telling(output: str, max_lines: int = 3) -> list[str]:
    """The most useful lines of a red gate's output, each once: those that name an error, else the last ones."""
    shown = (line for line in reversed(output.splitlines()) if line.strip(" -=_."))
    lines = [*reversed({line.strip(): line for line in shown}.values())]
    return [line for line in lines if ERROR.search(line)][:max_lines] or lines[-max_lines:]


def cut(text: str, width: int) -> str:
    """The text in one line, or as many whole words as fit; only a very long word is split."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    whole = text[: max(width - 1, 0)].rpartition(" ")[0]
    return f"{whole} …" if len(whole) > width // 2 else text[: max(width - 1, 0)] + "…"


def bar(done: int, total: int, width: int = 10) -> str:
    full = round(width * done / total) if total else 0
    return "[" + "█" * full + "░" * (width - full) + "]"


def mark(task: Task) -> str:
    return ACCEPTED_MARK if task.acceptance else HELD_MARK if task.standing == "held" else MARKS[task.state]


def colour(task: Task) -> str:
    return "cyan" if task.acceptance else "yellow" if task.standing == "held" else COLOURS[task.state]


def accepted(acceptance: Acceptance) -> str:
    """Who accepted a task, and why."""
    return f"accepted{f' by {acceptance.by}' if acceptance.by else ''}: {acceptance.why}"


def state_of(task: Task) -> str:
    retries = count(task.failures, "retry") if task.failures else ""
    return ", ".join(filter(None, (task.standing, how(task) or without(task), retries)))


def passed(number: int, accepted: int, total: int | None = None) -> str:
    """How many tasks passed their gates, and how many a person accepted."""
    of = "" if total is None else f" of {total}"
    return f"{number}{of} passed" + (f", {accepted} accepted manually" if accepted else "")


def blocked(number: int, held: int) -> str:
    """How many tasks are blocked, and how many are held; begins with a comma."""
    counts = ((number - held, "blocked"), (held, "held"))
    return "".join(f", {count} {what}" for count, what in counts if count)


def how(task: Task) -> str:
    """How a passed task is known to work: its evidence, where its gates ran, and which a person waived."""
    if not task.result or task.acceptance:
        return ""
    evidence = task.result.evidence
    where = IN_PLACE if task.result.in_place else ""
    return ", ".join(filter(None, (evidence.value if evidence else "", where, flaky(task.result.gates), without(task))))


def flaky(gates: Iterable[GateResult]) -> str:
    """The gates that were red and then green on the same files."""
    names = [f"`{gate.name}`" for gate in gates if gate.flaky]
    return f"flaky {', '.join(names)}" if names else ""


def gate_mark(gate: GateResult) -> str:
    return "–" if gate.not_run else "✓" if gate.passed else "✗"


def without(task: Task) -> str:
    """The gates that a person waived for a task."""
    return f"without {', '.join(f'`{name}`' for name in task.waived)}" if task.waived else ""


def proof(evidence: Evidence, names: tuple[str, ...]) -> str:
    """What shows that work does what it should, in one line."""
    match evidence:
        case Evidence.PROVEN:
            shown = ", ".join(f"`{name}`" if not name.startswith("and ") else name for name in names)
            return f"proven: {shown} {'fails' if len(names) == 1 else 'fail'} without this work"
        case Evidence.REGRESSION_ONLY:
            return "regression-only: nothing fails without this work"
        case _:
            return f"{evidence.value}: no gate is required"


def acceptance(files: tuple[str, ...], red: tuple[str, ...], agent: str, *, is_new: bool) -> str:
    """What is known about acceptance tests before the work begins, in one line; without files, they are held out."""
    by = f" by {agent}" if agent else ""
    what = f"acceptance tests{by}" if is_new else f"acceptance tests{by}, written before"
    where = f": {', '.join(files)}" if files else ", held out"
    fails = f" · {_few(red)} {'fails' if len(red) == 1 else 'fail'} without the work" if red else ""
    return f"{what}{where}{fails}"


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _short(number: int) -> str:
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
