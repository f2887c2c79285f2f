"""The engine in this process: a run with real git and real gates, whose agents are played by a step of the test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ralph import config
from ralph.checkout.open import CheckoutRequest, open_checkout
from ralph.engine.run import Run
from ralph.engine.worktree_pool import WorktreePool
from ralph.journal.events import Event, Noted
from ralph.journal.writer import Journal
from ralph.plan.attempt import Record, StepResult
from ralph.plan.model import Plan, Task
from ralph.plan.work import Finished, Outcome, StepSpec, Verdict, Waiting, Work, WorkKind
from ralph.process.redaction import Secrets
from ralph.steps.base import Context, Step
from ralph.stores import lock
from ralph.workflows.feature.workflow import FeatureWorkflow
from ralph.workspace import Feature, Workspace
from tests.conftest import Project

FEATURE = Feature(name="auth", date="2026-01-01")
Turn = Callable[[Context], Awaitable[StepResult]]


class PlayedStep(Step):
    """An agent that is played: its turns are its settings, and the last one is repeated."""

    runs_agent = True

    def role(self, work: Work) -> str:
        return work.role

    async def run(self, context: Context) -> StepResult:
        turns = self.spec.settings
        assert isinstance(turns, list) and turns, f"nobody plays {context.work.id}"
        turn: Turn = turns.pop(0) if len(turns) > 1 else turns[0]
        return await turn(context)


class PlayedWorkflow(FeatureWorkflow):
    """The feature workflow, with played agents; what has no turns is done, and so is the final verification."""

    def __init__(self, turns: dict[str, list[Turn]], *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.turns = turns

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Waiting | Finished:
        found = super().next(plan, running)
        return self._played(found) if isinstance(found, Work) else found

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        found = super().work(plan, kind, work_id)
        return self._played(found) if found else None

    def _played(self, work: Work) -> Work:
        turns = self.turns.setdefault(work.id, [agrees if work.kind is WorkKind.REVIEW else says(Verdict.PASSED)])
        tests, ruling = ([spec for spec in work.steps if spec.type == kind] for kind in ("acceptance-tests", "ruling"))
        return replace(work, steps=(*tests, StepSpec(type="played", settings=turns), StepSpec(type="verify"), *ruling))


def writes(**files: str) -> Turn:
    """A turn that writes files (`one="x"` is one.txt) and says that it is done."""

    async def turn(context: Context) -> StepResult:
        assert context.copy
        for name, text in files.items():
            (context.cwd / f"{name}.txt").write_text(text)
        taken = await context.copy.take(context.base, f"{context.label} made this")
        result = StepResult(step="played", verdict=Verdict.PASSED, commit=taken.commit, changed=bool(taken.changes))
        return replace(result, summary=f"feat: {context.work.id}")

    return turn


def says(verdict: Verdict, reason: str = "", **more: Any) -> Turn:
    async def turn(context: Context) -> StepResult:
        return StepResult(step="played", verdict=verdict, reason=reason, **more)

    return turn


async def agrees(context: Context) -> StepResult:
    return StepResult(step="played", verdict=Verdict.PASSED, claims=frozenset({"VERIFIED"}))


@dataclass
class Engine:
    """A run that has been opened, and what it told; its clock moves only while it sleeps."""

    run: Run
    slots: WorktreePool
    project: Project
    heard: list[Event]
    slept: list[float]

    def told(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.heard if isinstance(event, kind)]

    @property
    def notes(self) -> str:
        return "\n".join(event.text for event in self.told(Noted))

    def task(self, name: str = "US-001") -> Task:
        found = self.run.plan.find(name)
        assert found
        return found

    def work(self, name: str = "US-001") -> Work:
        found = self.run.workflow.work(self.run.plan, WorkKind.TASK, name)
        assert found
        return found

    async def tip(self) -> str:
        assert self.run.branch
        return await self.run.branch.tip()

    def commit(self, base: str, message: str = "Somebody's", **files: str) -> str:
        """A commit that nothing names, made without any working copy."""
        git = self.project.git
        index = f"--index-output={self.project.folder / 'index'}"
        self.project.env["GIT_INDEX_FILE"] = str(self.project.folder / "index")
        try:
            git("read-tree", index, base)
            for name, text in files.items():
                (self.project.folder / "blob").write_text(text)
                blob = git("hash-object", "-w", str(self.project.folder / "blob"))
                git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}.txt")
            return git("commit-tree", "-p", base, "-m", message, git("write-tree"))
        finally:
            del self.project.env["GIT_INDEX_FILE"]

    def record(self, base: str, name: str = "US-001", number: int = 1, **more: Any) -> Record:
        given = {"run": "r0", "target": "auth", "kind": WorkKind.TASK, "branch": "ralph/auth", "began": 0.0, **more}
        return Record(work=name, number=number, base=base, **given)

    def passed(self, commit: str, name: str = "US-001", number: int = 1, **more: Any) -> Outcome:
        return Outcome(work_id=name, number=number, verdict=Verdict.PASSED, commit=commit, at="2026-01-01", **more)


Body = Callable[[Engine], Awaitable[Any]]


def engine(
    project: Project,
    body: Body,
    *,
    gate: str = "true",
    stories: tuple[str | dict[str, Any], ...] = ("One",),
    jobs: int = 1,
    turns: dict[str, list[Turn]] | None = None,
    **settings: Any,
) -> Any:
    """Open a run of a feature and do something with its engine."""
    played = {} if turns is None else turns
    project.stories(*stories)
    document = {"provider": {"command": "nobody"}, "verify": {"default": [gate]}, "browser": {"enabled": False}}

    async def main() -> Any:
        async with _opened(project, json.dumps(document | settings).encode(), jobs, played) as made:
            return await body(made)

    return asyncio.run(main())


@asynccontextmanager
async def _opened(project: Project, data: bytes, jobs: int, turns: dict[str, list[Turn]]) -> AsyncIterator[Engine]:
    workspace, settings = Workspace(root=project.path), config.parse(data)
    request = CheckoutRequest(target="auth", branch="ralph/auth", carry=(FEATURE.prd_json,))
    opened = await open_checkout(workspace, request, "r1", secrets=Secrets())
    workflow = PlayedWorkflow(turns, FEATURE, settings, opened.project, templates=project.path)
    heard: list[Event] = []
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with Journal(workspace.logs / "r1") as journal:
        journal.listen(lambda event, _: heard.append(event))
        run = Run(
            id="r1",
            workspace=workspace,
            config=settings,
            workflow=workflow,
            plan=workflow.store.load(),
            journal=journal,
            owner=lock.me("r1", "auth"),
            branch=opened.branch,
            plans=opened.plans,
            own=opened.own,
            jobs=jobs,
            clock=lambda: 1000.0 + sum(slept),
            elapsed=lambda: sum(slept),
            sleep=sleep,
        )
        run.limits.jitter = lambda: 0.0
        async with aclosing(run), WorktreePool.opened(run) as slots:
            await opened.branch.watch()
            run.secure()
            yield Engine(run=run, slots=slots, project=project, heard=heard, slept=slept)
    await opened.close(committed=True)


def install(folder: Path) -> None:
    """Make the played step known, as another package would (`sys.path` must have the folder)."""
    about = folder / "played_steps-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: played-steps\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[ralph.steps]\nplayed = {__name__}:{PlayedStep.__name__}\n")
