"""Parses the Markdown files of a session as people and agents write them, or reports mistakes by line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph import limits
from ralph.frozen import Frozen
from ralph.plan.select import cycle
from ralph.validation import Mistakes
from ralph.workflows.session.router import Mark, ProgressItem

PLAN, TASKS, PROGRESS, QUESTIONS = "plan.md", "tasks.md", "progress.md", "plan.questions.md"
FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
BOX = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[([^\]]*)\](?:\s+(.*))?$")
LOOSE_BOX = re.compile(r"(\s*+)(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})\s*+)?\[([^\]]{0,9})\]\s*([*_`~\[(]*(?:plan|task)-.*)$")
IDENTITY = re.compile(r"[*_`~\[(]*((?:plan|task)-[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*)[*_`~\])]*\s*(?:[:.–—-]+\s*)?(.*)")
ENTRY = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)]|#{1,6})\s+(?:\[.?\]\s+)?(.*)$")
LISTED = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
INHERITS = re.compile(
    r"\s*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})\s+)?[*_`]*inherits[ -]from[*_`]*\s*(?::[*_`]*\s*|$)(.*)", re.IGNORECASE
)
NOTHING = re.compile(r"[*_`(]*(?:(?:none|nothing|nobody|n/a)\b.*|-+|–|—|\[\])[*_`).]*", re.IGNORECASE)
CYCLE = re.compile(r"##\s+Cycle\s+(\d{1,9})\b", re.IGNORECASE)
VERDICT = re.compile(
    r"[\s>#*_`-]*verdict[*_`]*\s*[:=–—-]+[\s*_`]*([A-Za-z]+)\b(?![\s*_`]*(?:[/|]|or\b))", re.IGNORECASE
)  # two of them with a bar between are the template, not a verdict
HEADING = re.compile(r"#{1,6}\s.*\breview\b", re.IGNORECASE)
MARKS = {" ": Mark.TODO, "": Mark.TODO, "/": Mark.BEGUN, "P": Mark.TO_REVIEW, "p": Mark.TO_REVIEW}
MARKS |= {"x": Mark.DONE, "X": Mark.DONE}


class TaskEntry(Frozen):
    """A task as tasks.md describes it."""

    id: str
    title: str
    line: int
    text: str  # the whole text
    inherits: tuple[str, ...] = ()


def read_progress(text: str) -> tuple[ProgressItem, ...]:
    """The marked items of progress.md; boxes without an id below an item are its own small steps."""
    items: dict[str, ProgressItem] = {}
    mistakes = _endless(text)
    depth = -1  # the indentation of the last item
    for number, line in _lines(text):
        box = BOX.match(line) or LOOSE_BOX.match(line)
        if not box:
            continue
        indent, mark = len(box[1].expandtabs(4)), MARKS.get(box[2].strip() if box[2].strip() else " ")
        named = IDENTITY.match(box[3] or "")
        if not named:
            if depth < 0 or indent <= depth:
                mistakes.append(f"line {number}: no id such as task-1 or plan-research: {line.strip()[:80]!r}")
            continue
        depth = indent if depth < 0 else min(depth, indent)
        if mark is None:
            mistakes.append(f"line {number}: [{box[2]}] is not a mark; use [ ], [/], [P] or [x]")
        elif named[1] in items:
            mistakes.append(f"line {number}: {named[1]} already has a mark in line {items[named[1]].line}")
        else:
            items[named[1]] = ProgressItem(id=named[1], mark=mark, title=_strip_markdown(named[2]), line=number)
    if not items and not mistakes:
        mistakes.append("no item has a mark, such as: - [ ] task-1: What to do")
    if mistakes:
        remedy = "Fix these lines, for example: - [ ] task-1: What to do"
        raise Mistakes(PROGRESS, mistakes, remedy)
    return tuple(items.values())


def read_tasks(text: str) -> tuple[TaskEntry, ...]:
    """The tasks of tasks.md with the tasks each inherits from; a wrong `Inherits From` is an error."""
    entries = list(_entries(text))
    mistakes = _endless(text) + [f"line {entry.line}: {entry.id} is listed twice" for entry in _repeated(entries)]
    tasks = [entry for entry in entries if entry.id.startswith("task-")]
    known = {entry.id for entry in tasks}
    for entry in tasks:
        for name in entry.inherits:
            if name not in known:
                mistakes.append(f"line {entry.line}: {entry.id} inherits from {name}, which is not in {TASKS}")
        mistakes += [f"line {entry.line}: {wrong}" for wrong in _unreadable(entry)]
    circle = cycle({entry.id: tuple(name for name in entry.inherits if name in known) for entry in tasks})
    if circle:
        mistakes.append(f"tasks inherit from each other in a cycle: {' → '.join(circle)}")
    if mistakes:
        raise Mistakes(TASKS, mistakes, "Fix these lines.")
    return tuple(entries)


def read_cycles(text: str) -> dict[int, str]:
    """The cycles of plan.questions.md: the text below each `## Cycle N`."""
    cycles: dict[int, list[str]] = {}
    current: list[str] | None = None
    for _, line in _lines(text):
        found = CYCLE.match(line)
        if found:
            current = cycles.setdefault(int(found[1]), [])
        elif current is not None:
            current.append(line)
    return {number: "\n".join(lines).strip() for number, lines in cycles.items()}


def read_verdict(text: str) -> str:
    """The last verdict in a review, in lower case; empty: there is none."""
    found = [match[1].lower() for _, line in _lines(text) if (match := VERDICT.match(line))]
    return found[-1] if found else ""


def findings(text: str) -> tuple[str, ...]:
    """A review's findings, one per line, as compared and shown: its list items, or else its text."""
    lines = [" ".join(line.split()) for _, line in _lines(text) if line.strip() and not VERDICT.match(line)]
    listed = tuple(line[2:].strip() for line in lines if line[:2] in ("- ", "* ", "+ "))
    return listed or tuple(line for line in lines if not line.startswith("#"))


def review_part(text: str) -> str:
    """What a reviewer has added to a report: from the last such heading on."""
    lines = text.splitlines()
    begins = [index for index, line in enumerate(lines) if HEADING.match(line)]
    return "\n".join(lines[begins[-1] :]) if begins else ""


def mentions(text: str, task_id: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(task_id)}(?![\w-]|\.\w)", text) is not None


def decode(data: bytes | None) -> str:
    return (data or b"")[: limits.SESSION_FILE].decode(errors="replace").removeprefix("\ufeff").replace("\0", "\ufffd")


def _entries(text: str) -> Iterator[TaskEntry]:
    lines = _lines(text)
    depth = limits.SESSION_FILE
    begins: list[tuple[int, re.Match[str]]] = []
    for index, (_, line) in enumerate(lines):
        found = ENTRY.match(line)
        named = IDENTITY.match(found[2]) if found else None
        if found and named and not INHERITS.match(line):
            indent = -1 if line.lstrip().startswith("#") else len(found[1].expandtabs(4))  # lists go below headings
            if indent <= depth:
                depth = indent
                begins.append((index, named))
    for position, (index, named) in enumerate(begins):
        end = begins[position + 1][0] if position + 1 < len(begins) else len(lines)
        block = [line for _, line in lines[index:end]]
        yield TaskEntry(
            id=named[1],
            title=_strip_markdown(named[2]),
            line=lines[index][0],
            text="\n".join(block).strip(),
            inherits=_inherited(block),
        )


def _inherited(block: list[str]) -> tuple[str, ...]:
    """The ids after `Inherits From`, on its line or in the list below it."""
    return next((_ids("\n".join(texts)) for texts in _heritages(block)), ())


def _unreadable(entry: TaskEntry) -> Iterator[str]:
    for texts in _heritages(entry.text.split("\n")):
        for text in texts:
            if not _ids(text) and not NOTHING.fullmatch(text):
                yield f"{entry.id}: cannot read what it inherits from: {text[:80]!r}"


def _heritages(block: list[str]) -> Iterator[list[str]]:
    """What each `Inherits From` names: the rest of its line, or else the items of the list below it."""
    for index, line in enumerate(block):
        found = INHERITS.match(line)
        if found:
            rest = found[1].strip()
            yield [rest] if rest else [LISTED.sub("", below).strip() for below in _below(block, index)]


def _below(block: list[str], index: int) -> Iterator[str]:
    """The items below a line: the nested ones if it is an item itself, else those that follow it."""
    depth = _indent(block[index]) if LISTED.match(block[index]) else -1
    for line in filter(str.strip, block[index + 1 :]):
        if _indent(line) <= depth or not LISTED.match(line):
            return
        yield line


def _indent(line: str) -> int:
    spaces = line.expandtabs(4)
    return len(spaces) - len(spaces.lstrip())


def _ids(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"(?<![\w.-])task-[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", text)))


def _repeated(entries: list[TaskEntry]) -> Iterator[TaskEntry]:
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            yield entry
        seen.add(entry.id)


def _strip_markdown(text: str) -> str:
    """A title without Markdown marks that the id before it left over, or that enclose all of it."""
    text = " ".join(text.split())
    for sign in ("**", "__", "`", "*", "_"):
        if text.count(sign) == 1 or (text.count(sign) == 2 and text.startswith(sign) and text.endswith(sign)):
            text = text.removeprefix(sign).removesuffix(sign).strip()
    return text


def _endless(text: str) -> list[str]:
    """A code block that is never closed hides everything after it."""
    _, opened = _split(text)
    return [f"line {opened}: this code block has no end"] if opened else []


def _lines(text: str) -> list[tuple[int, str]]:
    """The lines with their numbers, without those of code blocks."""
    return _split(text)[0]


def _split(text: str) -> tuple[list[tuple[int, str]], int]:
    """The lines outside code blocks, and the start of a block that does not end."""
    lines: list[tuple[int, str]] = []
    fence, opened = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if not fence and found:
            fence, opened = found[1], number
        elif fence and found and found[1].startswith(fence) and line.strip() == found[1]:
            fence, opened = "", 0
        elif not fence:
            lines.append((number, line))
    return lines, opened
