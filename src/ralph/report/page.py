"""A report as one page of HTML that needs nothing else: no script, no download, no other file."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from html import escape
from importlib import resources
from pathlib import Path

from ralph.report import summary, timeline
from ralph.report.facts import AttemptHistory, Notice, PlanReport, TaskFacts
from ralph.report.pictures import picture
from ralph.text import one_line, plain
from ralph.views import words

MAX_PICTURES = 30_000_000
MAX_OUTPUT = 4_000
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""What the page may load: nothing. A browser holds to this even if some text were not escaped."""


def render(report: PlanReport, notices: Iterable[Notice], root: Path) -> str:
    """Return the page; screenshots are read below `root`."""
    body = "".join(_body(report, list(notices), _Pictures(root)))
    style = resources.files("ralph.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(report.target)} · Ralph</title><style>{style}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


class _Pictures:
    """Reads screenshots as long as the page stays of a reasonable size."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._left = MAX_PICTURES

    def data(self, path: str) -> str:
        """Return a picture as a `data:` address; empty if there is none that can be shown."""
        content = picture(self._root, path)
        if not content or len(content) > self._left:
            return ""
        self._left -= len(content)
        return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def _body(report: PlanReport, notices: list[Notice], pictures: _Pictures) -> Iterator[str]:
    yield f"<header><h1>{_text(report.target)}</h1>"
    if report.plan.description:
        yield f"<p>{_text(report.plan.description)}</p>"
    done, total = report.plan.passed + report.plan.accepted, len(report.plan.tasks)
    yield f'<p class="headline">{_text(summary.headline(report))}</p>'
    yield f'<progress max="{max(total, 1)}" value="{done}">{done} of {total}</progress></header>'
    yield from _figures(report)
    yield from _notices(notices)
    yield "<section><h2>Tasks</h2>"
    for facts in report.tasks:
        yield from _task(facts, pictures)
    yield "</section>"
    yield from _timelines(report)
    commands = summary.merge_commands(report)
    if commands:
        yield f"<section><h2>Review and merge</h2><pre>{_text(chr(10).join(commands), lines=True)}</pre></section>"
    yield f"<footer>Made by Ralph, {_text(report.at)}</footer>"


def _figures(report: PlanReport) -> Iterator[str]:
    yield '<dl class="figures">'
    for name, text in (
        ("branch", summary.landed(report)),
        ("when", summary.date(report)),
        ("time", summary.times(report)),
        ("agents", summary.agents(report)),
        ("used", summary.cost(report)),
    ):
        if text:
            yield f"<div><dt>{name}</dt><dd>{_text(text)}</dd></div>"
    yield "</dl>"


def _notices(notices: list[Notice]) -> Iterator[str]:
    if not notices:
        return
    yield '<section class="first"><h2>Look at this first</h2><ul>'
    for notice in notices:
        about = f"<b>{_text(notice.task)}</b> " if notice.task else ""
        commands = "".join(f"<code>{_text(command)}</code>" for command in notice.commands)
        yield f"<li>{about}{_text(notice.text)}{commands}</li>"
    yield "</ul></section>"


def _task(facts: TaskFacts, pictures: _Pictures) -> Iterator[str]:
    task = facts.task
    state = escape(task.standing.replace(" ", "-"))
    how = summary.evidence(facts) or task.standing
    yield f'<details class="task {state}"><summary><span class="mark">{words.mark(task)}</span>'
    yield f"<b>{_text(task.id)}</b> {_text(task.title)}"
    parts = [
        how,
        words.count(summary.tried(facts), "attempt") if summary.tried(facts) else "",
        words.duration(facts.spent.seconds) if facts.spent.seconds else "",
        words.cost(facts.spent.usage) if facts.spent.usage.calls else "",
        summary.commit_of(facts),
    ]
    yield f"<small>{_text(' · '.join(filter(None, parts)))}</small></summary>"
    if task.criteria:
        yield f"<ul>{''.join(f'<li>{_text(one)}</li>' for one in task.criteria)}</ul>"
    if proof := summary.proof(facts):
        yield f"<p>{_text(proof)}</p>"
    if facts.change:
        yield f"<p>{_text(summary.size(facts.change))}</p>"
        yield from _tests(facts)
    for page in facts.pages:
        if data := pictures.data(page.screenshot):
            yield f'<figure><img src="{data}" alt="Screenshot of {_text(page.page)}">'
            yield f"<figcaption>{_text(page.page)}</figcaption></figure>"
    for attempt in facts.attempts:
        yield from _attempt(attempt)
    yield "</details>"


def _tests(facts: TaskFacts) -> Iterator[str]:
    assert facts.change, "the caller looks"
    changed = facts.change.tests
    for what, names in (("added", changed.added), ("changed", changed.changed), ("removed", changed.removed)):
        if names:
            listed = ", ".join(f"<code>{_text(name)}</code>" for name in names[:50])
            yield f"<p>Tests {what}: {listed}{f' and {len(names) - 50} more' if len(names) > 50 else ''}</p>"


def _attempt(attempt: AttemptHistory) -> Iterator[str]:
    verdict = attempt.verdict or "killed"
    parts = (attempt.agent, words.duration(attempt.seconds), words.cost(attempt.usage), attempt.evidence)
    yield f'<div class="tried {escape(verdict)}"><h4>{_text(attempt.name)} {escape(verdict)}</h4>'
    yield f"<small>{_text(' · '.join(filter(None, parts)))}</small>"
    if attempt.reason:
        yield f"<p>{_text(words.first_line(attempt.reason))}</p>"
    for gate in attempt.gates:
        mark, red = words.gate_mark(gate), "" if gate.passed else ' class="red"'
        counted = f" · {gate.tests}" if gate.tests else ""
        line = (
            f"{mark} {gate.name} · {words.duration(gate.seconds)}{counted}{f' · {gate.reason}' if gate.reason else ''}"
        )
        yield f"<div{red}>{_text(line)}</div>"
        if gate.output and not gate.passed:
            yield f"<pre>{_text(gate.output[-MAX_OUTPUT:], lines=True)}</pre>"
    yield "</div>"


def _timelines(report: PlanReport) -> Iterator[str]:
    drawn = []
    for run in report.history.runs:
        attempts = tuple(one for one in report.history.attempts if one.run == run.id)
        if picture := timeline.draw(run, attempts):
            what = "planning" if run.plans else run.ending or "cut short"
            drawn.append(f"<h3>{_text(run.id)} <small>{_text(what)}</small></h3>{picture}")
    if drawn:
        yield f"<section><h2>Timeline</h2>{''.join(drawn)}"
        yield '<p class="legend"><i class="agent"></i> agent <i class="gate"></i> gate'
        yield ' <i class="gate red"></i> red gate <i class="page"></i> page</p></section>'


def _text(text: str, *, lines: bool = False) -> str:
    """Return a text that HTML shows as it is, on one line unless `lines`."""
    return escape(plain(text) if lines else one_line(text))
