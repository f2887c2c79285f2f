"""Checks before a run that UI work has what it needs: reachable pages, a browser, services and free ports."""

from __future__ import annotations

from ralph.config import Config
from ralph.engine.run import Run
from ralph.engine.ui_pages import ui_tasks
from ralph.errors import RalphError
from ralph.plan.model import Task, TaskState
from ralph.plan.work import Work
from ralph.verify.browser import check_installed
from ralph.verify.services import PORT, check_before
from ralph.verify.urls import pages_in, why_unseen

EXAMPLE = f'{{"name": "dev", "start": "npm run dev -- --port ${PORT}", "ready": "http://localhost:${{{PORT}}}/"}}'


async def check_ui(run: Run) -> None:
    """Refuse a run in which every attempt would fail, or would pass unseen although pages are required."""
    if not run.workflow.is_ui(run.plan, None) or not isinstance(run.workflow.next(run.plan), Work):
        return
    tasks = ui_tasks(run, None)
    waiting = [task for task in tasks if task.state is TaskState.PENDING]
    _check_seen(run.config, waiting)
    if run.browser:
        _check_addresses(run.config, tasks)
        if any(not why_unseen(task.criteria, run.config) for task in waiting):
            check_installed(run.browser.settings)
    for service in run.config.services:
        await check_before(service)


def _check_seen(config: Config, waiting: list[Task]) -> None:
    unseen = {task.id: why for task in waiting if (why := why_unseen(task.criteria, config))}
    if config.browser.require and unseen:
        task, why = next(iter(unseen.items()))
        raise RalphError(
            f"browser.require is true, but Ralph would open no page for {', '.join(unseen)}: {why}.",
            remedy=f"Name the page in a criterion of {task} (`/login shows a form`) and configure its address: "
            f'"services": [{EXAMPLE}] or browser.baseUrl.',
        )


def _check_addresses(config: Config, tasks: list[Task]) -> None:
    """Refuse a relative page if nothing defines its base URL; no agent could fix that."""
    for task in () if config.has_address else tasks:
        page = next((page for page in pages_in(task.criteria) if not page.resolve("")), None)
        if page:
            raise RalphError(
                f"{task.id} is a UI task about the page {page.address}, but nothing configures its address.",
                remedy=f'Add "services": [{EXAMPLE}] to ralph.config.json, or set browser.baseUrl to the URL of the '
                'application. To open no pages, set "browser": {"enabled": false}.',
            )
