"""Collects everything that a report says about a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

from ralph.frozen import Frozen
from ralph.git.read import one_moment
from ralph.journal.reader import with_results
from ralph.plan.budget import AmountSpent
from ralph.plan.model import Plan, Task, TaskState
from ralph.report import changes, history
from ralph.report.facts import AttemptHistory, History, PlanReport, TaskFacts
from ralph.stores import lock, spending
from ralph.workflows.target import Target
from ralph.workspace import RALPH, Workspace


@one_moment()
def collect(
    workspace: Workspace,
    target: Target,
    plan: Plan,
    *,
    unseen: Mapping[str, str] = MappingProxyType({}),
    only: str = "",
    tests: bool = True,
    sizes: bool = True,
    past: History | None = None,
) -> PlanReport:
    """Return the report about a plan.

    `unseen`: why no page of a UI task was opened, by task. `only`: the one task that it is about. Without `tests`,
    nobody looks at which tests changed; without `sizes`, git is not asked what each task changed. `past`: what its
    journals tell, if the caller has read them.
    """
    if target.workflow == "session":
        plan = with_results(plan, workspace.logs)
    past = past or history.read(workspace.logs, target.name)
    spent = spending.of_target(workspace.records, target.name)
    own = (RALPH, *workspace.own_files)
    bases = [attempt.base for attempt in past.attempts if attempt.kind == "task"]
    branch = target.branch.name if target.branch else plan.branch
    change, commits = changes.of_branch(target.repo, branch, bases, own) if branch else (None, 0)
    owner = lock.holder(workspace.lock)
    tasks = _Tasks(
        target=target, plan=plan, past=past, spent=spent.tasks, own=own, unseen=unseen, tests=tests, sizes=sizes
    )
    return PlanReport(
        target=target.name,
        workflow=target.workflow,
        plan=plan,
        tasks=tuple(tasks.facts(only)),
        history=past,
        spent=spent.total,
        change=change,
        branch=branch if change else "",
        commits=commits,
        is_merged=bool(change) and changes.is_merged(target.repo, branch),
        running=owner.run if owner and owner.target == target.name else "",
        at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


class _Tasks(Frozen):
    """Collects what is known about each task."""

    target: Target
    plan: Plan
    past: History
    spent: Mapping[str, AmountSpent]
    own: tuple[str, ...]
    unseen: Mapping[str, str]
    tests: bool
    sizes: bool

    def facts(self, only: str) -> Iterator[TaskFacts]:
        commits = Counter(task.result.commit for task in self.plan if task.result)
        attempts: dict[str, list[AttemptHistory]] = {}
        for attempt in self.past.attempts:
            attempts.setdefault(attempt.work, []).append(attempt)
        for task in self.plan:
            if only in ("", task.id):
                is_shared = bool(task.spec) or bool(task.result and commits[task.result.commit] > 1)
                yield self._of(task, tuple(attempts.get(task.id, ())), is_shared=is_shared)

    def _of(self, task: Task, attempts: tuple[AttemptHistory, ...], *, is_shared: bool) -> TaskFacts:
        facts = TaskFacts(
            task=task,
            attempts=attempts,
            spent=self.spent.get(task.id, AmountSpent()),
            no_page=self.unseen.get(task.id, ""),
        )
        if task.state is not TaskState.PASSED or not self.sizes:
            return facts
        change = changes.of_task(self.target.repo, facts, is_shared=is_shared, own=self.own, tests=self.tests)
        return replace(facts, change=change)
