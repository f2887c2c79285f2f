"""What is checked about UI work beside its gates: its services, its own gates, and the pages that its tasks name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph.journal.events import PageChecked
from ralph.plan.model import Task
from ralph.verify.pages import PageVisit, ScreenshotFolder
from ralph.verify.services import Services
from ralph.verify.suite import UiWork
from ralph.verify.urls import pages_in

if TYPE_CHECKING:
    from ralph.engine.run import Run


def ui_work(run: Run, services: Services, task: Task | None, work: str, number: int) -> UiWork | None:
    """Return what is checked beside the gates; None if this is not UI work."""
    if not run.workflow.is_ui(run.plan, task):
        return None
    return UiWork(services=services, gates=run.ui_gates(task), visit=_visit(run, ui_tasks(run, task), work, number))


def ui_tasks(run: Run, task: Task | None) -> list[Task]:
    """Return the tasks whose pages are opened: the given task, or all UI tasks."""
    return [task] if task else [one for one in run.plan if run.workflow.is_ui(run.plan, one)]


def _visit(run: Run, tasks: list[Task], work: str, number: int) -> PageVisit | None:
    if not run.browser or not tasks:
        return None
    root = run.workspace.root
    folder = root / run.config.browser.screenshot_dir
    return PageVisit(
        pages=pages_in(criterion for task in tasks for criterion in task.criteria),
        browser=run.browser,
        shots=ScreenshotFolder(root=root, folder=folder, work=work, attempt=str(number or "before")),
        seen=lambda result: run.emit(PageChecked(work=work, attempt=number, result=result)),
        secrets=run.secrets,
    )
