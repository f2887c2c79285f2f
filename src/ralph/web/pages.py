"""The pages that only show: each reads plain facts, and fills one template with them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from starlette.responses import HTMLResponse, PlainTextResponse, Response

from ralph.frozen import Frozen
from ralph.report import summary, timeline
from ralph.report.facts import AttemptHistory, PlanReport, TaskFacts
from ralph.report.pictures import picture
from ralph.views import words
from ralph.web import actions, files, graph, render
from ralph.web.activity import activity
from ralph.web.board import at_work, board
from ralph.web.guard import WebRequest, refusal
from ralph.web.overview import figures, overview, segments
from ralph.web.reading import ProjectReader, TargetReport
from ralph.web.render import drawing, link
from ralph.web.spending import spending
from ralph.web.stream import Hub
from ralph.web.task import last_words, task_page
from ralph.workflows.plan_rules import MAX_WHY
from ralph.workspace import Workspace

TABS = ("board", "timeline", "cost", "graph", "activity")
MAX_LOG = 400_000
MAX_RUNS = 20  # drawn in a timeline, the newest


class Found(Frozen):
    """What an address leads to."""

    reader: ProjectReader
    told: TargetReport

    def facts(self, task: str) -> TaskFacts | None:
        return next((facts for facts in self.told.report.tasks if facts.task.id == task), None)


class _Tried(Frozen):
    """An attempt, and where its files are."""

    workspace: Workspace
    attempt: AttemptHistory

    def text(self, name: str) -> Response:
        told = files.of_run(self.workspace, self.attempt.run, name, most=MAX_LOG).text
        return PlainTextResponse(render.shown(told))


class Pages:
    """All pages of one dashboard."""

    def __init__(self, readers: tuple[ProjectReader, ...], hub: Hub, base: str, *, read_only: bool) -> None:
        self._readers = readers
        self._hub = hub
        self._base = base
        self._read_only = read_only

    def plans(self, request: WebRequest) -> Response:
        cursor = self._hub.cursor()
        found = tuple(overview(reader) for reader in self._readers)
        return self._page("plans.html", cursor, title="Plans", projects=found)

    def board(self, request: WebRequest) -> Response:
        search, whole = request.query.get("q", "")[:200], request.query.get("all", "")

        def values(found: Found) -> dict[str, object]:
            report, workspace = found.told.report, found.reader.project.workspace
            said = {name: last_words(workspace, facts) for name, facts in at_work(report).items()}
            return {"columns": board(report, search=search, whole=whole, said=said), "search": search}

        return self._tab("board", request, values)

    def timeline(self, request: WebRequest) -> Response:
        def values(found: Found) -> dict[str, object]:
            history, now = found.told.report.history, time.time()
            drawn = []
            for run in reversed(history.runs[-MAX_RUNS:]):
                is_living = found.told.report.running == run.id
                attempts = tuple(_until(now, one, is_living) for one in history.attempts if one.run == run.id)
                ending = "planning" if run.plans else run.ending or ("at work" if is_living else "killed")
                drawn.append((run, ending, len(attempts), drawing(timeline.draw(run, attempts))))
            return {"drawn": drawn, "more": max(len(history.runs) - MAX_RUNS, 0)}

        return self._tab("timeline", request, values)

    def cost(self, request: WebRequest) -> Response:
        def values(found: Found) -> dict[str, object]:
            spent = spending(found.told.report)
            return {"spent": spent, "money": drawing(spent.money), "tokens": drawing(spent.tokens)}

        return self._tab("cost", request, values)

    def graph(self, request: WebRequest) -> Response:
        def values(found: Found) -> dict[str, object]:
            plan, place = found.told.report.plan, self._place(found)
            drawn = graph.draw(plan, set(at_work(found.told.report)), lambda task: f"{place}{link('task', task.id)}")
            return {"drawn": drawing(drawn), "most": graph.MAX_TASKS}

        return self._tab("graph", request, values)

    def activity(self, request: WebRequest) -> Response:
        def values(found: Found) -> dict[str, object]:
            logs = found.reader.project.workspace.logs
            run, before = request.query.get("run", ""), request.query.get("before", "")
            return {"log": activity(logs, found.told.report.target, run, before)}

        return self._tab("activity", request, values)

    def task(self, request: WebRequest) -> Response:
        cursor = self._hub.cursor()
        found = self.find(request)
        facts = found.facts(request.path["task"]) if found else None
        if found is None or facts is None:
            return _missing()
        report = found.told.report
        index, other = _number(request.path.get("index", "")), _number(request.query.get("with", ""))
        shown = task_page(
            found.reader.project.workspace,
            found.told.folder,
            facts,
            index,
            other,
            running=report.running,
            is_shared=_is_shared(facts, report),
        )
        offered = actions.offered(facts.task, in_session=bool(found.told.folder.marked_by))
        return self._page(
            "task.html",
            cursor,
            title=f"{facts.task.id} · {report.target}",
            found=found,
            place=self._place(found),
            report=report,
            facts=facts,
            page=shown,
            offered=() if self._read_only else offered,
            mark=words.mark(facts.task),
            how=summary.evidence(facts),
            most=MAX_WHY,
            is_at_work=facts.task.id in at_work(report),
        )

    def words(self, request: WebRequest) -> Response:
        """What an agent said, or what it was asked, as plain text."""
        tried, call = self._attempt(request), _number(request.path["call"])
        if tried is None or call is None or call >= len(tried.attempt.calls):
            return _missing()
        known = tried.attempt.calls[call]
        return tried.text(known.prompt if request.path["kind"] == "prompt" else known.words or known.log)

    def log(self, request: WebRequest) -> Response:
        """All output of a gate, as plain text."""
        tried, gate = self._attempt(request), _number(request.path["gate"])
        if tried is None or gate is None or gate >= len(tried.attempt.gates):
            return _missing()
        return tried.text(tried.attempt.gates[gate].log)

    def picture(self, request: WebRequest) -> Response:
        """The screenshot of a page that an attempt's gates opened."""
        tried, page = self._attempt(request), _number(request.path["page"])
        if tried is None or page is None or page >= len(tried.attempt.pages):
            return _missing()
        data = picture(tried.workspace.root, tried.attempt.pages[page].screenshot)
        return Response(data, media_type="image/png") if data else _missing()

    def find(self, request: WebRequest, *, afresh: bool = False) -> Found | None:
        """Return the plan that an address names; `afresh`: as its files are now."""
        number = _number(request.path["project"])
        if number is None or number >= len(self._readers):
            return None
        if afresh:
            self._readers[number].changed()
        told = self._readers[number].report(request.path["target"])
        return Found(reader=self._readers[number], told=told) if told else None

    def message(self, *, title: str, text: str, ok: bool, back: str, address: str = "") -> Response:
        """Return a page that says how something ended."""
        values = {"title": title, "text": text, "ok": ok, "back": back, "address": address}
        return self._page("message.html", self._hub.cursor(), **values)

    def _attempt(self, request: WebRequest) -> _Tried | None:
        found, index = self.find(request), _number(request.path["index"])
        facts = found.facts(request.path["task"]) if found else None
        if found is None or facts is None or index is None or index >= len(facts.attempts):
            return None
        return _Tried(workspace=found.reader.project.workspace, attempt=facts.attempts[index])

    def _steering(self, found: Found) -> tuple[actions.Action, ...]:
        if self._read_only:
            return ()
        return actions.of_run(is_running=bool(found.told.report.running), is_paused=found.told.paused)

    def _place(self, found: Found) -> str:
        return f"{self._base}{link('p', found.reader.project.number, found.told.report.target)}"

    def _tab(self, tab: str, request: WebRequest, values: Callable[[Found], dict[str, object]]) -> Response:
        cursor = self._hub.cursor()
        found = self.find(request)
        if found is None:
            return _missing()
        report = found.told.report
        return self._page(
            f"{tab}.html",
            cursor,
            title=f"{report.target} · {tab}",
            found=found,
            place=self._place(found),
            report=report,
            tab=tab,
            tabs=TABS,
            notices=found.told.notices,
            steering=self._steering(found),
            paused=found.told.paused,
            headline=summary.headline(report),
            figures=figures(report),
            segments=segments(report.plan, set(at_work(report))),
            **values(found),
        )

    def _page(self, name: str, cursor: str, **values: object) -> Response:
        many = len(self._readers) > 1
        shared = {"base": self._base, "cursor": cursor, "read_only": self._read_only, "many": many, "found": None}
        return HTMLResponse(render.page(name, **{**shared, **values}))


def _until(now: float, attempt: AttemptHistory, is_living: bool) -> AttemptHistory:
    """Return an attempt that is still at work as lasting until now."""
    return replace(attempt, end=max(now, attempt.end)) if is_living and not attempt.verdict else attempt


def _is_shared(facts: TaskFacts, report: PlanReport) -> bool:
    """Return whether the commit of a task has the work of other tasks too."""
    commit = facts.task.result.commit if facts.task.result else ""
    same = sum(bool(one.result and one.result.commit == commit) for one in report.plan)
    return bool(facts.task.spec) or same > 1


def _missing() -> Response:
    return refusal(404, "Not found", "There is no such page any more.")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None
