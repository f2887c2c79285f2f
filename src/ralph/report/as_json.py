"""A report as data, for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime

from ralph.plan.model import GateResult, PageResult
from ralph.report.facts import AttemptHistory, Change, Notice, PlanReport, RunFacts, TaskFacts
from ralph.stores.findings import finding_entries
from ralph.views.spent import usage_entry


def render(report: PlanReport, notices: Iterable[Notice]) -> dict[str, object]:
    """Return everything that the report knows; null: unknown."""
    plan = report.plan
    return {
        "target": report.target,
        "workflow": report.workflow,
        "at": report.at,
        "description": plan.description,
        "branch": report.branch or None,
        "merged": report.is_merged,
        "running": report.running or None,
        "counts": {
            "tasks": len(plan.tasks),
            "passed": plan.passed,
            "accepted": plan.accepted,
            "held": plan.held,
            "proven": plan.proven,
        },
        "verifiedAt": plan.review.verified_at or None,
        "seconds": round(report.history.seconds, 3),
        "attemptSeconds": round(report.spent.seconds, 3),
        "used": usage_entry(report.spent.usage),
        "commits": report.commits,
        "change": _change(report.change),
        "lookAt": [asdict(notice) for notice in notices],
        "tasks": [_task(facts) for facts in report.tasks],
        "otherAttempts": [
            _attempt(attempt) for attempt in report.history.attempts if not report.plan.find(attempt.work)
        ],
        "runs": [_run(run) for run in report.history.runs],
    }


def _task(facts: TaskFacts) -> dict[str, object]:
    task, result = facts.task, facts.task.result
    return {
        "id": task.id,
        "title": task.title,
        "state": task.standing,
        "commit": (result.commit or None) if result else None,
        "evidence": result.evidence.value if result and result.evidence else None,
        "provenBy": list(result.proven_by) if result else [],
        "concerns": list(result.concerns) if result else [],
        "accepted": asdict(task.acceptance) if task.acceptance else None,
        "noPage": facts.no_page or None,
        "seconds": round(facts.spent.seconds, 3),
        "used": usage_entry(facts.spent.usage),
        "gates": [_gate(gate) for gate in (result.gates if result else ())],
        "change": _change(facts.change),
        "findings": finding_entries(facts.findings),
        "pages": [_page(page) for page in facts.pages],
        "attempts": [_attempt(attempt) for attempt in facts.attempts],
    }


def _attempt(attempt: AttemptHistory) -> dict[str, object]:
    return {
        "attempt": attempt.name,
        "run": attempt.run,
        "kind": attempt.kind,
        "verdict": attempt.verdict or None,
        "reason": attempt.reason,
        "agent": attempt.agent or None,
        "begin": _time(attempt.begin),
        "end": _time(attempt.end),
        "seconds": round(attempt.seconds, 3),
        "used": usage_entry(attempt.usage),
        "gates": [_gate(gate) for gate in attempt.gates],
        "evidence": attempt.evidence or None,
        "concerns": list(attempt.concerns),
        "undone": list(attempt.undone),
        "base": attempt.base or None,
        "commit": attempt.commit or None,
    }


def _gate(gate: GateResult) -> dict[str, object]:
    return {
        "name": gate.name,
        "command": gate.command,
        "passed": gate.passed,
        "required": gate.required,
        "flaky": gate.flaky,
        "notRun": gate.not_run,
        "seconds": round(gate.seconds, 3),
        "reason": gate.reason,
        "tests": gate.tests or None,
    }


def _page(page: PageResult) -> dict[str, object]:
    return {
        "page": page.page,
        "passed": page.passed,
        "screenshot": page.screenshot or None,
        "findings": [finding.line for finding in page.findings],
    }


def _change(change: Change | None) -> dict[str, object] | None:
    if change is None:
        return None
    tests = {name: list(getattr(change.tests, name)) for name in ("added", "changed", "removed")}
    return {**asdict(change), "tests": tests}


def _run(run: RunFacts) -> dict[str, object]:
    return {
        "run": run.id,
        "plans": run.plans,
        "begin": _time(run.begin),
        "end": _time(run.end),
        "seconds": round(run.seconds, 3),
        "ending": run.ending or None,
        "agent": run.agent or None,
        "jobs": run.jobs,
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
