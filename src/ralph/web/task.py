"""One task with its attempts side by side, and everything about one of them."""

from __future__ import annotations

import re

from ralph.frozen import Frozen
from ralph.git import read as git
from ralph.plan.model import GateResult, PageResult, Task
from ralph.report import changes
from ralph.report.facts import AttemptHistory, Change, TaskFacts
from ralph.views import words
from ralph.views.spent import used
from ralph.web import diff, files
from ralph.web.diff import Difference
from ralph.web.files import FileText
from ralph.workflows.target import Target
from ralph.workspace import RALPH, Workspace

COMMIT = re.compile(r"[0-9a-f]{40,64}")
SPOKEN = 60_000
"""Characters of what an agent said that a page shows; the whole text is a link away."""
MAX_PATHS = 500


class AttemptRow(Frozen):
    """An attempt in the comparison."""

    index: int  # its place among the attempts of the task, which addresses name
    name: str
    number: int
    verdict: str
    reason: str
    agent: str
    time: str
    used: str
    evidence: str
    gates: tuple[tuple[str, str], ...]  # mark and name
    now: str
    begin: float


class CallTexts(Frozen):
    """What one call of an agent was given, and what it said."""

    index: int
    step: str
    agent: str
    words: FileText
    prompt: FileText


class AttemptDetail(Frozen):
    """Everything about one attempt."""

    row: AttemptRow
    calls: tuple[CallTexts, ...]
    gates: tuple[GateResult, ...]
    pages: tuple[PageResult, ...]
    proof: str
    concerns: tuple[str, ...]
    undone: tuple[str, ...]
    difference: Difference
    against: str  # what the difference is to: its base, or another attempt
    commit: str


class TaskPage(Frozen):
    """The page of a task."""

    task: Task
    rows: tuple[AttemptRow, ...]
    gate_names: tuple[str, ...]
    detail: AttemptDetail | None  # None: nobody has tried it


def task_page(
    workspace: Workspace,
    target: Target,
    facts: TaskFacts,
    index: int | None,
    other: int | None,
    *,
    running: str,
    is_shared: bool = False,
) -> TaskPage:
    """Return the page; `index`: the attempt that is shown, or else the last; `other`: the one it is compared with.

    `running`: the run that is at work; empty: none. `is_shared`: its commit has the work of other tasks too.
    """
    rows = tuple(_row(index, attempt, is_living=attempt.run == running) for index, attempt in enumerate(facts.attempts))
    chosen = len(rows) - 1 if index is None or not 0 <= index < len(rows) else index
    names = dict.fromkeys(name for row in rows for _, name in row.gates)
    detail = None
    if rows:
        against = facts.attempts[other] if other is not None and 0 <= other < len(rows) and other != chosen else None
        tried = facts.attempts[chosen]
        landed = None
        if tried is next((one for one in reversed(facts.attempts) if one.verdict == "passed"), None):
            own = (RALPH, *workspace.own_files)
            landed = changes.of_task(target.repo, facts, is_shared=is_shared, own=own, tests=False)
        detail = _detail(workspace, target, tried, rows[chosen], against, landed)
    return TaskPage(task=facts.task, rows=rows, gate_names=tuple(names), detail=detail)


def _row(index: int, attempt: AttemptHistory, *, is_living: bool) -> AttemptRow:
    return AttemptRow(
        index=index,
        name=attempt.name,
        number=attempt.number,
        verdict=attempt.verdict or ("at work" if is_living else "killed"),
        reason=words.cut(words.first_line(attempt.reason), 400),
        agent=":".join(filter(None, (attempt.agent, attempt.usage.model))),
        time=words.duration(attempt.seconds),
        used=used(attempt.usage),
        evidence=attempt.evidence,
        gates=tuple((words.gate_mark(gate), gate.name) for gate in attempt.gates),
        now=attempt.now if is_living else "",
        begin=attempt.begin,
    )


def _detail(
    workspace: Workspace,
    target: Target,
    attempt: AttemptHistory,
    row: AttemptRow,
    other: AttemptHistory | None,
    landed: Change | None,
) -> AttemptDetail:
    """`landed`: what it put on the branch, without the work of others that it was verified with."""
    base, against = (other.commit, other.name) if other else (attempt.base, "its base")
    commit, paths = attempt.commit, _changed(workspace, target, attempt, other) if other else ()
    if landed and not other:
        base, commit = landed.base, landed.commit
    return AttemptDetail(
        row=row,
        calls=tuple(_call(workspace, attempt, index) for index in range(len(attempt.calls))),
        gates=attempt.gates,
        pages=attempt.pages,
        proof=_proof(attempt),
        concerns=attempt.concerns,
        undone=attempt.undone,
        difference=difference(workspace, target, base, commit, paths),
        against=against,
        commit=commit[:10],
    )


def _proof(attempt: AttemptHistory) -> str:
    return f"{attempt.evidence}: {', '.join(attempt.proven_by)}" if attempt.proven_by else attempt.evidence


def _call(workspace: Workspace, attempt: AttemptHistory, index: int) -> CallTexts:
    call = attempt.calls[index]
    said = files.of_run(workspace, attempt.run, call.words or call.log, end=True, most=SPOKEN)
    prompt = files.of_run(workspace, attempt.run, call.prompt)
    return CallTexts(index=index, step=call.step, agent=call.agent, words=said, prompt=prompt)


def difference(workspace: Workspace, target: Target, base: str, commit: str, paths: tuple[str, ...] = ()) -> Difference:
    """Return what changed between two commits of attempts, without Ralph's own files; `paths`: only in these."""
    if not COMMIT.fullmatch(base) or not COMMIT.fullmatch(commit):
        return Difference()
    options = ("--relative", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
    wanted = tuple(f":(literal){path}" for path in paths) or _outside(workspace)
    return diff.parse(git.show(target.repo, "diff", *options, base, commit, "--", *wanted))


def _changed(workspace: Workspace, target: Target, *attempts: AttemptHistory) -> tuple[str, ...]:
    """Return the files that these attempts changed: their bases differ by the work of others."""
    found: dict[str, None] = {}
    for attempt in attempts:
        if COMMIT.fullmatch(attempt.base) and COMMIT.fullmatch(attempt.commit):
            names = (
                "diff",
                "--relative",
                "--name-only",
                "-z",
                attempt.base,
                attempt.commit,
                "--",
                *_outside(workspace),
            )
            found |= dict.fromkeys(git.show(target.repo, *names).split("\0")[:-1])
    return tuple(found)[:MAX_PATHS]


def _outside(workspace: Workspace) -> tuple[str, ...]:
    return git.outside((RALPH, *workspace.own_files))


def last_words(workspace: Workspace, facts: TaskFacts) -> str:
    """Return the last thing that the agent of a task has said."""
    attempt = facts.attempts[-1] if facts.attempts else None
    if attempt is None or not attempt.calls:
        return ""
    said = files.of_run(workspace, attempt.run, attempt.calls[-1].words, end=True, most=4_000).text
    return words.cut(next((line for line in reversed(said.splitlines()) if line.strip()), ""), 200)
