"""One attempt: what its agent says, its gates, its difference, its prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ralph import safe_files
from ralph.plan.model import GateResult, Task
from ralph.text import one_line, plain
from ralph.views import cells, words
from ralph.views.inbox import InboxItem
from ralph.views.run_line import about
from ralph.views.watching.story import PROMPT, WORDS, WatchedAttempt

TABS = ("words", "gates", "diff", "prompt")
TAIL = 1 << 14
"""How many of an agent's last bytes are read for each drawing."""
LARGEST = 1 << 18
MOST_LINES = 4_000
Lines = Iterator[tuple[str, str]]
"""Lines, each with its colour; empty: none."""
DIFF = (("+++", "bold"), ("---", "bold"), ("diff ", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


def heading(attempt: WatchedAttempt | None, of: int, now: float) -> str:
    """Which attempt it is, of how many, and how it stands."""
    if attempt is None:
        return "no attempt yet"
    if attempt.verdict:
        how = f"{attempt.verdict.value} · {words.duration(attempt.seconds)}"
    elif attempt.is_cut_short:
        how = "cut short"
    else:
        how = f"{attempt.step or 'begins'} {about(now - attempt.step_began)} · {about(now - attempt.began)} in all"
    return " · ".join(filter(None, (f"{attempt.name} of {of}" if of > 1 else attempt.name, attempt.agent, how)))


def lines(
    attempt: WatchedAttempt | None, task: Task | None, item: InboxItem | None, tab: str, diff: Callable[[], str]
) -> Lines:
    """Yield what a tab shows; `item`: why the task needs a person; `diff` returns what the attempt changed."""
    if tab == "words":
        yield from _about(attempt, task, item)
    if attempt is None:
        return
    match tab:
        case "words":
            yield from _of_file(attempt.file(WORDS), "It has said nothing yet.", from_end=TAIL)
        case "gates":
            yield from _gates(attempt)
        case "diff":
            yield from _diff(diff())
        case _:
            yield from _of_file(attempt.file(PROMPT), "There is no prompt.")


def _about(attempt: WatchedAttempt | None, task: Task | None, item: InboxItem | None) -> Lines:
    """Why the task needs a person and how it is settled, or why its attempt did not pass."""
    if item and not (attempt and attempt.is_running):
        yield one_line(f"! {item.headline}"), "yellow"
        yield from ((f"  → {answer}", "") for answer in item.answers)
        yield "", ""
    elif attempt and attempt.reason and attempt.verdict and attempt.verdict.value != "passed":
        yield from ((line, "red") for line in plain(attempt.reason).split("\n")[:6])
        yield "", ""
    elif attempt is None and task:
        yield from ((line, "") for line in plain(task.notes).split("\n") if line.strip())
        yield from ((f"- {criterion}", "") for criterion in task.criteria)


def _of_file(path: Path | None, otherwise: str, from_end: int = 0) -> Lines:
    text = tail(path, from_end or LARGEST) if path else ""
    if not text.strip():
        yield otherwise, "dim"
        return
    yield from ((line, "") for line in text.split("\n"))


def tail(path: Path, most: int) -> str:
    """Return the end of a file, as text that only shows itself; empty if it is not there."""
    try:
        with safe_files.open_old(path) as file:
            size = file.seek(0, 2)
            file.seek(max(size - most, 0))
            data = file.read(most)
    except OSError:
        return ""
    if size > most:
        data = data.partition(b"\n")[2] or data
    return plain(data.decode(errors="replace")).expandtabs(4)


def _gates(attempt: WatchedAttempt) -> Lines:
    if not attempt.gates and not attempt.running:
        yield "No gate has run yet.", "dim"
    for command in attempt.running.values():
        yield f"▶ {plain(command)}", "cyan"
    for gate in attempt.gates.values():
        yield _gate(gate), "green" if gate.passed else "yellow" if not gate.required else "red"
        if not gate.passed:
            yield from ((f"    {line}", "") for line in plain(gate.output).expandtabs(4).split("\n") if line.strip())


def _gate(gate: GateResult) -> str:
    called = gate.name if gate.name == gate.command else f"{gate.name}: {gate.command}"
    parts = (f"{words.gate_mark(gate)} {called}", words.duration(gate.seconds), words.first_line(gate.reason))
    return plain(" · ".join(filter(None, parts))).replace("\n", " ")


def _diff(text: str) -> Lines:
    if not text.strip():
        yield "Nothing has been changed, as far as Ralph has taken it into a commit.", "dim"
    for line in plain(text).expandtabs(4).split("\n")[:MOST_LINES]:
        yield line, next((colour for mark, colour in DIFF if line.startswith(mark)), "")


def laid_out(found: Lines, width: int) -> list[tuple[str, str]]:
    """Break all lines to a width, at most so many of the last that it stays quick."""
    kept: list[tuple[str, str]] = []
    for line, colour in found:
        kept += [(piece, colour) for piece in cells.broken(cells.readable(line), width)]
    return kept[-MOST_LINES:]
