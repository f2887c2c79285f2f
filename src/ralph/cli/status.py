"""`ralph status`: shows the state of every task, from the plan's current source."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.complete import targets
from ralph.cli.complete import tasks as task_ids
from ralph.cli.show_task import MAX_LINE, show_pages, show_task
from ralph.errors import RalphError
from ralph.git.read import one_moment
from ralph.journal.reader import Figures, figures, flaky_gates, seen_pages, with_results
from ralph.plan.model import Plan, Spec, Task, TaskState
from ralph.plan.select import find_task
from ralph.stores import instructions, lock
from ralph.stores.findings import finding_entries
from ralph.views import inbox, spent, words
from ralph.views.lines import Styled, say, say_json, styled
from ralph.workflows.inbox import gathered
from ralph.workflows.registry import NO_PLANS, everything, find, find_by_task
from ralph.workflows.request.files import ERRORS
from ralph.workflows.target import Target
from ralph.workspace import Workspace


@click.command(
    name="status",
    epilog="""\b
Examples:
  ralph status                       every plan of this project
  ralph status auth                  every task of one feature
  ralph status auth --task US-003    everything about one task
  ralph status --task US-003         the same, if only one plan has this task
  ralph status requirements          the tasks made from requirements
  ralph status request               the tasks of a request
  ralph status specs                 the tasks of every spec""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option("--task", shell_complete=task_ids, help="Show one task with its notes and results.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@one_moment()
def command(target: str | None, task: str | None, as_json: bool) -> int:
    """Show the state of TARGET (a feature, a session, `request`, `requirements`, `specs`), or of every plan."""
    workspace = workspaces.find(Path.cwd())
    if task and not target:
        target = find_by_task(workspace, task).name
    if not target and not as_json:
        return _show_all(workspace)
    found = [find(workspace, target)] if target else everything(workspace)
    if as_json:
        say_json([_as_json(workspace, item, plan_of(workspace, item)) for item in found])
    else:
        plan = _with_blocked(workspace, found[0], found[0].needed_plan())
        if task:
            show_task(find_task(plan, task))
            show_pages(workspace, found[0], task)
            for why in unseen_pages(workspace, plan, task).values():
                say(f"\nNo page was opened: {why}.", fg="yellow")
        else:
            _show(workspace, found[0], plan)
    return 0


def _show_all(workspace: Workspace) -> int:
    """A line for each plan. A plan that cannot be read does not hide the others."""
    found = everything(workspace)
    owner = lock.holder(workspace.lock)
    if owner:
        say(_under_way(workspace, owner), fg="cyan")
    inbox.show(gathered(workspace, _readable(workspace, found)))
    for target in found:
        try:
            plan = plan_of(workspace, target)
            say(f"{target.name:20} {_progress(target, plan) if plan else target.draft}", hang=21)
            _show_session(workspace, target)
            if unseen := unseen_pages(workspace, plan) if plan else {}:
                say(f"  no page was opened: {', '.join(unseen)}", fg="yellow")
        except RalphError as error:
            say(f"{target.name:20} {error.what} See `ralph validate`.", hang=21, fg="red")
    if not found:
        say(NO_PLANS)
    return 0


def _readable(workspace: Workspace, found: list[Target]) -> Iterator[tuple[Target, Plan | None]]:
    """The plans that can be read."""
    for target in found:
        with suppress(RalphError):
            yield target, plan_of(workspace, target)


def plan_of(workspace: Workspace, target: Target) -> Plan | None:
    """The plan as views show it."""
    plan = target.plan()
    return _with_blocked(workspace, target, plan) if plan else None


def _with_blocked(workspace: Workspace, target: Target, plan: Plan) -> Plan:
    """A session's files do not say whether it is blocked, and what showed that a task works; its runs do."""
    if target.workflow == "session":
        plan = with_results(plan, workspace.logs)
    why = _session(workspace, target)["blockedReason"] or ""
    blocked = plan.find(why.partition(":")[0])
    if blocked is None:
        return plan
    notes = why.removeprefix(f"{blocked.id}: ")
    return plan.change(blocked.id, lambda task: replace(task, state=TaskState.BLOCKED, notes=notes))


def _session(workspace: Workspace, target: Target) -> dict[str, str | None]:
    """Why a session is blocked, and the review that finished it."""
    if target.workflow != "session":
        return {"blockedReason": None, "finalReview": None}
    from ralph.workflows.session import locate as sessions

    found = sessions.read(workspace, target.name)
    review = found.session.final_review if sessions.is_finished(found) else ""
    return {"blockedReason": sessions.why_blocked(workspace, found) or None, "finalReview": review or None}


def _show_session(workspace: Workspace, target: Target) -> None:
    standing = _session(workspace, target)
    if standing["blockedReason"]:
        say(f"  blocked: {words.cut(words.first_line(standing['blockedReason']), 200)}", fg="red")
    if standing["finalReview"]:
        say(f"  final review: {standing['finalReview']}")


def _progress(target: Target, plan: Plan) -> str:
    done, total = plan.count(TaskState.PASSED), len(plan.tasks)
    blocked = plan.count(TaskState.BLOCKED) - plan.held
    parts = [f"{words.bar(done, total)} {plan.passed}/{total} passed"]
    if plan.accepted:
        parts.append(f"{plan.accepted} accepted")
    if blocked:
        parts.append(f"{blocked} blocked")
    if plan.held:
        parts.append(f"{plan.held} held")
    if plan.passed and not _is_verified(plan) and target.workflow != "session":  # its files do not record gates
        parts.append("UNVERIFIED: no required gates")
    elif plan.unverified:
        parts.append(f"{len(plan.unverified)} UNVERIFIED: no required gates")
    elif plan.review.verified_at:
        parts.append("verified")
    elif done == total and target.workflow == "feature":
        parts.append("not yet verified")
    if plan.in_place:
        parts.append(f"gates ran {words.IN_PLACE}")
    if plan.proven:
        parts.append(f"{plan.proven} proven")
    return ", ".join(parts)


def _is_verified(plan: Plan) -> bool:
    """Whether required gates decided about any task."""
    return any(task.result and any(gate.required for gate in task.result.gates) for task in plan)


def _show(workspace: Workspace, target: Target, plan: Plan) -> None:
    inbox.show(gathered(workspace, [(target, plan)]))
    say(f"{plan.target}: {plan.description}" if plan.description else plan.target, bold=True)
    say(f"  {_progress(target, plan)}")
    if plan.branch:
        say(f"  branch {plan.branch}" + ("" if target.branch else " (not made yet)"))
    _show_session(workspace, target)
    owner = lock.holder(workspace.lock)
    if owner:
        say(f"  {_under_way(workspace, owner)}", fg="cyan")
    if target.workflow == "requirements":
        _show_run(workspace, owner)
    if plan.setup.notes:
        say(f"  set-up failed: {words.cut(words.first_line(plan.setup.notes), MAX_LINE)}", fg="red")
    if plan.failure:
        why = words.cut(words.first_line(plan.failure.message), MAX_LINE)
        say(f"  halted: {plan.failure.task} failed. {why}", fg="red")
        say(f"  The full error is in {ERRORS}.", dim=True)
    begun, unseen = _begun(workspace, plan), unseen_pages(workspace, plan)
    for spec in sorted(plan.specs, key=lambda spec: spec.priority):
        _show_spec(spec)
        _show_tasks(plan.of_spec(spec.id), begun, unseen)
    if not plan.specs:
        _show_tasks(plan.tasks, begun, unseen)
    if plan.review.notes:
        say(f"  final verification: {words.cut(words.first_line(plan.review.notes), MAX_LINE)}")
    _show_figures(figures(workspace.logs, plan.target))
    cost = spent.summary(workspace.records, target.name)
    if cost:
        say(f"  {cost}", dim=True)


def _under_way(workspace: Workspace, owner: lock.Owner) -> str:
    paused = instructions.paused_run(workspace, owner.target, owner)
    what = f"paused for {words.duration(max(time.time() - paused.since, 0))} on" if paused else "working on"
    return f"run {owner.run} is {what} {owner.target} (process {owner.pid})"


def _paused(workspace: Workspace, target: str) -> dict[str, object] | None:
    found = instructions.paused_run(workspace, target)
    return asdict(found) if found else None


def _begun(workspace: Workspace, plan: Plan) -> dict[str, str]:
    """The tasks that a run is working on now, or that were started and are not running."""
    running = _running(workspace, plan.target)
    begun = {plan.current: "begun"} if plan.current else {}
    return {**begun, **dict.fromkeys(running, "now")}


def _running(workspace: Workspace, target: str) -> list[str]:
    """The attempts that a live run has recorded as in progress."""
    owner = lock.holder(workspace.lock)
    if not owner or owner.target != target:
        return []
    from ralph.stores import records

    return list(dict.fromkeys(record.work for record in records.load(workspace.records, target)))


def unseen_pages(workspace: Workspace, plan: Plan, only: str = "") -> dict[str, str]:
    """UI tasks that passed without any checked page, each with the reason."""
    passed = [task for task in plan if task.state is TaskState.PASSED and "ui" in task.tags and only in ("", task.id)]
    if not passed:
        return {}
    from ralph import config as configuration
    from ralph.verify.urls import why_unseen

    try:
        config = configuration.load(workspace.root)
    except RalphError:
        return {}  # `ralph validate` reports it
    return {task.id: why for task in passed if (why := why_unseen(task.criteria, config))}


def _show_tasks(tasks: tuple[Task, ...], begun: dict[str, str], unseen: dict[str, str]) -> None:
    parts: list[str | Styled] = []
    for task in tasks:
        title = styled(f"  {words.mark(task)} {task.id:10} {words.cut(task.title, 160)}", fg=words.colour(task))
        page = styled("  no page was opened" if task.id in unseen else "", fg="yellow")
        parts += ["\n" if parts else "", title, _remark(task, begun.get(task.id, "")), page]
    if parts:
        say(*parts, hang=13)


def _show_spec(spec: Spec) -> None:
    commit = f"  {spec.result.commit[:10]}" if spec.result and spec.result.commit else ""
    notes = styled(f"  {words.cut(words.first_line(spec.notes), MAX_LINE)}", fg="red") if spec.notes else ""
    say(styled(f"  {spec.name}", bold=True), styled(f"  {spec.file}{commit}", dim=True), notes)


def _show_figures(found: Figures) -> None:
    """How much agents had to read, and how often the gates were green at the first try."""
    if found.prompts:
        average, largest = sum(found.prompts) // len(found.prompts), max(found.prompts)
        first = f" · gates green at the first attempt: {found.at_first} of {found.tasks}" if found.tasks else ""
        say(f"  prompts {average:,} characters on average, {largest:,} at most{first}", dim=True)


def _show_run(workspace: Workspace, owner: lock.Owner | None) -> None:
    """The last run, or the current one: its loop, its step, and its circuit breakers."""
    from ralph.views.reports import read_state

    state = read_state(workspace.ralph)
    if state is None:
        return
    if owner and owner.run == state.run_id and state.now:
        say(f"  loop {state.loop}: {state.now.id}, step {state.now.step or '…'}", fg="cyan")
    else:
        killed = not owner and state.status in ("running", "waiting", "paused")
        how = "killed" if killed else state.status
        say(f"  last run {state.run_id}: {how}, {words.count(state.loop, 'loop')}")
    for breaker in state.breakers:
        left = max(breaker.until - time.time(), 0) if breaker.until else 0
        what = f"{breaker.state}, {words.count(breaker.failures, 'failure')} in a row"
        until = f", next try in {words.duration(left)}" if breaker.state == "open" and owner else ""
        colour = "green" if breaker.state == "closed" else "red"
        say(f"  circuit breaker of {breaker.step}: {what}{until}", fg=colour)


def _remark(task: Task, begun: str) -> str | Styled:
    if task.acceptance:
        return styled(f"  {words.cut(words.accepted(task.acceptance), MAX_LINE)}", dim=True)
    if task.state is TaskState.PASSED and task.result:
        how = f"  ({words.how(task)})" if words.how(task) else ""
        return styled(f"  {task.result.commit[:10]}{how}", dim=True)
    tried = f"{task.failures} failed" if task.failures else ""
    standing = task.standing if task.standing in ("held", "left out") else ""
    why = words.cut(words.first_line(task.notes), MAX_LINE)
    remark = ", ".join(filter(None, (standing, begun, tried, words.without(task))))
    return "".join((f"  ({remark})" if remark else "", f"  {why}" if why else ""))


def _as_json(workspace: Workspace, target: Target, plan: Plan | None) -> dict[str, object]:
    head: dict[str, object] = {"target": target.name, "workflow": target.workflow, "file": target.file}
    if plan is None:
        return {**head, "finalized": False}
    pages, unseen = seen_pages(workspace.logs, target.name), unseen_pages(workspace, plan)
    return {
        **head,
        "finalized": True,
        "branch": plan.branch,
        "where": target.where,
        "current": plan.current,
        "running": _running(workspace, target.name),
        "passed": plan.passed,
        "accepted": plan.accepted,
        "blocked": plan.count(TaskState.BLOCKED),
        "verified": _is_verified(plan),
        "inPlace": plan.in_place,
        "proven": plan.proven,
        "needs": inbox.as_json(gathered(workspace, [(target, plan)])),
        "paused": _paused(workspace, target.name),
        **_session(workspace, target),
        "failure": asdict(plan.failure) if plan.failure else None,
        "verifiedAt": plan.review.verified_at or None,
        "run": _run_as_json(workspace) if target.workflow == "requirements" else None,
        "tasks": [
            {
                **_task_entry(target.name, task),
                "pages": [asdict(seen) for seen in pages.get(task.id, ())],
                "noPage": unseen.get(task.id),
            }
            for task in plan
        ],
        "specs": [
            {
                "id": spec.id,
                "name": spec.name,
                "file": spec.file,
                "state": spec.state.value,
                "commit": spec.result.commit if spec.result else None,
                "inPlace": bool(spec.result and spec.result.in_place),
                "notes": spec.notes,
                "tasks": [task.id for task in plan.of_spec(spec.id)],
            }
            for spec in plan.specs
        ],
        "flakyGates": flaky_gates(workspace.logs),
        "figures": _figures_as_json(figures(workspace.logs, target.name)),
        "spent": spent.as_json(workspace.records, target.name),
    }


def _task_entry(target: str, task: Task) -> dict[str, object]:
    return {
        "id": task.id,
        "title": task.title,
        "state": task.standing,
        "accepted": asdict(task.acceptance) if task.acceptance else None,
        "retries": task.failures,
        "attempts": task.attempts,
        "commit": task.result.commit if task.result else None,
        "inPlace": bool(task.result and task.result.in_place),
        "evidence": task.result.evidence.value if task.result and task.result.evidence else None,
        "provenBy": list(task.result.proven_by) if task.result else [],
        "concerns": list(task.result.concerns) if task.result else [],
        "tester": task.result.tester or None if task.result else None,
        "need": inbox.as_need(target, task) if task.needs_person else None,
        "waived": list(task.waived),
        "decisions": list(task.decisions),
        "notes": task.notes,
        "reviewRounds": task.rounds,
        "findings": finding_entries(task.findings),
        "spec": task.spec or None,
    }


def _figures_as_json(found: Figures) -> dict[str, object]:
    return {
        "prompts": len(found.prompts),
        "promptChars": {
            "average": sum(found.prompts) // len(found.prompts) if found.prompts else None,
            "largest": max(found.prompts, default=None),
        },
        "tasksTried": found.tasks,
        "greenAtFirstAttempt": found.at_first,
    }


def _run_as_json(workspace: Workspace) -> object:
    from ralph.views.reports import read_state

    state = read_state(workspace.ralph)
    return state.model_dump() if state else None
