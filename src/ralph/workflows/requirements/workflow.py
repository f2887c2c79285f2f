"""The requirements workflow: tasks in their order, a configurable pipeline of steps, gates after each."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ralph import prompts, validation
from ralph.config import Config
from ralph.engine.settle import Policy
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.plan.learnings import choose
from ralph.plan.model import Gate, Plan, Task, TaskState
from ralph.plan.prompting import PlanClaims, Prompt, PromptRequest
from ralph.plan.select import ready
from ralph.plan.work import Ending, Finished, StepSpec, Verdict, Waiting, Work, WorkKind
from ralph.steps import pipeline
from ralph.steps.agent_settings import CallSettings
from ralph.steps.pipeline import PLAN, Pipeline
from ralph.text import plain
from ralph.validation import Json
from ralph.workflows.acceptance import with_acceptance
from ralph.workflows.defaults import WorkflowDefaults
from ralph.workflows.prompt_text import (
    BLOCKED_MARKER,
    DISPUTE_MARKER,
    LEARNING_MARKER,
    bullets,
    commands,
    criteria,
    gate_list,
    unfinished,
)
from ralph.workflows.requirements import store as tasks_store
from ralph.workflows.requirements.store import TasksStore, notes
from ralph.workflows.requirements.targets import source
from ralph.workflows.review import TEMPLATE, review_prompt, reviewed, with_rounds
from ralph.workflows.target import Target
from ralph.workspace import RALPH, Workspace

TARGET = "requirements"
DEFAULT = "default"
"""The name of the step configuration that is used if none is named."""
REQUIREMENTS = f"{RALPH}/requirements.md"
LEARNINGS = f"{RALPH}/learnings.md"
ARCHIVE = f"{RALPH}/prd_archive.json"
MAX_CONTEXT, MAX_FENCES = 2_500, 320
MAX_DESCRIPTION = 900


class Layout(Frozen):
    """Where the files of this workflow are."""

    workspace: Workspace
    plan: str = PLAN

    @property
    def exists(self) -> bool:
        return (self.workspace.root / self.plan).is_file()

    def store(self, pipeline: Pipeline | None = None) -> TasksStore:
        root = self.workspace.root
        return TasksStore(root / self.plan, TARGET, root / LEARNINGS, markers(root, pipeline) if pipeline else {})

    def read(self, data: bytes | None = None) -> tuple[Json, Plan]:
        """The plan's document, and the plan; `data`: the version from a branch."""
        found = validation.read(self.workspace.root / self.plan) if data is None else data
        return tasks_store.read(found, name=self.plan)


def carried(workspace: Workspace, plan: str) -> tuple[str, ...]:
    """Uncommitted files that go onto the plan's branch: the plan and the files that agents read."""
    more = sorted(path for name in ("configs", "prompts") for path in (workspace.ralph / name).glob("*"))
    names = (str(path.relative_to(workspace.root)) for path in more if path.is_file())
    return (plan, REQUIREMENTS, LEARNINGS, ARCHIVE, *names)


def markers(root: Path, pipeline: Pipeline) -> dict[str, Path]:
    """The marker files of the steps that run once."""
    return {spec.label: root / marker for spec in pipeline.once if (marker := marker_of(spec))}


def marker_of(spec: StepSpec) -> str:
    return str(getattr(spec.settings, "marker_file", None) or "")


class RequirementsWorkflow(WorkflowDefaults):
    """`ralph run` without a feature."""

    name = "requirements"
    target = TARGET

    def __init__(
        self,
        workspace: Workspace,
        config: Config,
        pipeline: Pipeline,
        folder: Path,
        templates: Path | None = None,
        *,
        title: str = "",
        marked: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(config, templates or workspace.root)
        self.store = Layout(workspace=workspace, plan=pipeline.plan).store(pipeline)
        marker_files = tuple(filter(None, map(marker_of, pipeline.once)))
        self.plan_paths: tuple[str, ...] = (pipeline.plan,)
        self.state_paths: tuple[str, ...] = (pipeline.plan, LEARNINGS, ARCHIVE, *marker_files)
        self.state_message = config.commits.message
        self.policy = with_rounds(Policy(max_failures=pipeline.max_loops, max_idle=pipeline.stuck_after), config)
        self._root = workspace.root
        with_reviews = reviewed(pipeline, config)
        self._pipeline = replace(with_reviews, each=with_acceptance(with_reviews.each, config))
        self._folder = folder  # where agents work: paths in prompts are relative to it
        self._title = title or folder.name  # what the application is called in prompts
        self._marked = marked  # the steps that ran once, for a plan which is read from where it is

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Waiting | Finished:
        for spec in self._pipeline.once:
            if spec.label not in plan.setup.done | self._marked:
                if plan.setup.failures >= self.policy.max_setup_failures:
                    return Finished(ending=Ending.BLOCKED, reason=f"{spec.label} failed: {plan.setup.notes}")
                return self._once(spec)
        task = ready(plan, running)
        if task:
            return self._task(task)
        if running:
            return Waiting()
        if plan.count(TaskState.PASSED) < len(plan.tasks):
            return Finished(ending=Ending.BLOCKED, reason=unfinished(plan, "failed"))
        return Finished(ending=Ending.DONE)

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        if kind is WorkKind.SETUP:
            return next((self._once(spec) for spec in self._pipeline.once if spec.label == work_id), None)
        task = plan.find(work_id)
        return self._task(task) if task else None

    def _once(self, spec: StepSpec) -> Work:
        """A step that runs once; its work is committed before the first task starts."""
        commits = tuple(step for step in self._pipeline.each if step.type == "git-commit")
        return Work(
            kind=WorkKind.SETUP,
            id=spec.label,
            title=f"Set-up: {spec.label}",
            steps=(spec, *(commits or (StepSpec(type="git-commit"),))),
            writable=(LEARNINGS,),
            alone=True,
        )

    def _task(self, task: Task) -> Work:
        return Work(
            kind=WorkKind.TASK,
            id=task.id,
            title=task.title,
            steps=self._pipeline.each,
            claims=frozenset({"DONE"}),
            unclaimed=Verdict.UNFINISHED,
            writable=(LEARNINGS,),
            claimable=self._pipeline.plan,
        )

    def claimed(self, plan: Plan, work: Work, data: bytes) -> PlanClaims:
        return claimed(plan, work, data)

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        return super().gates(task) if self._pipeline.verifies else ()

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        return super().ui_gates(task) if self._pipeline.verifies else ()

    def commit_message(self, plan: Plan, work: Work) -> str:
        return f"chore: {work.title}" if work.kind is WorkKind.SETUP else f"feat: {work.id} - {work.title}"

    def prompt(self, occasion: PromptRequest) -> Prompt:
        plan, work = occasion.plan, occasion.work
        if occasion.review:
            return self._review_prompt(plan, occasion)
        template = prompt_name(work.kind, occasion.step)
        settings = occasion.step.settings
        file = settings.prompt_file if isinstance(settings, CallSettings) else None
        task = plan.find(work.id)
        variables = {
            "SETUP_PROMPT": lambda: self._setup_variables(plan),
            "LOOP_PROMPT": lambda: self._loop_variables(plan, task, occasion),
        }[template]()
        text = prompts.render(template, variables, self.templates, file=file)
        return Prompt(text=text, context=self.context(plan, task))

    def context(self, plan: Plan, task: Task | None) -> str:
        """What a fresh agent gets in addition to its prompt: the loop's progress, and earlier learnings."""
        head = [
            f"You work in Ralph's loop number {_loop(plan)} on {_cut(plan.description, 300) or self._title}.",
            f"Progress: {_progress(plan)} tasks done.",
        ]
        if task:
            head += [f"Current task: {task.id} {_cut(task.title, 300)}", _cut(task.description, MAX_DESCRIPTION)]
        text = plain("\n".join(filter(None, head)))[: MAX_CONTEXT - MAX_FENCES]
        known = self._learnings(task, MAX_CONTEXT - len(text) - MAX_FENCES)
        return f"{text}\nRecent learnings:\n{prompts.fenced(known)}" if known else text

    def _learnings(self, task: Task | None, limit: int) -> str:
        about = f"{task.title} {task.description} {' '.join(task.criteria)}" if task else ""
        return choose(notes(self._root / LEARNINGS), about, limit)

    def _setup_variables(self, plan: Plan) -> dict[str, object]:
        return {
            "project": self._title,
            "requirements": validation.read(self._root / REQUIREMENTS).decode(errors="replace"),
            "requirementsFile": self._path(REQUIREMENTS),
            "tasks": listed(plan),
            "failure": plan.setup.notes,
            "protected": self._protected(),
            "learningsFile": self._path(LEARNINGS),
            "learningMarker": LEARNING_MARKER,
        }

    def _loop_variables(self, plan: Plan, task: Task | None, occasion: PromptRequest) -> dict[str, object]:
        return {
            **self._task_variables(task, occasion),
            "requirementsFile": self._path(REQUIREMENTS),
            "prdFile": self._path(self._pipeline.plan),
            "loop": _loop(plan),
            "progress": _progress(plan),
            "tasks": listed(plan),
            "failure": task.notes if task else "",
            "tried": bullets(task.tried if task else ()),
            "decisions": bullets(task.decisions if task else ()),
            "goal": _cut(" ".join(plan.description.split()), 300),
            "protected": self._protected(),
            "verifyCommands": gate_list(self.gates(task)),
            "alreadyRed": commands(self.already_red),
            "learningsFile": self._path(LEARNINGS),
            "doneMarker": "<ralph>DONE</ralph>",
            "blockedMarker": BLOCKED_MARKER,
            "disputeMarker": DISPUTE_MARKER,
            "learningMarker": LEARNING_MARKER,
        }

    def _review_prompt(self, plan: Plan, occasion: PromptRequest) -> Prompt:
        task = plan.find(occasion.work.id)
        known = self._learnings(task, MAX_CONTEXT)
        text = review_prompt(occasion, self._config, self.templates, about=plan.description, learnings=known)
        return Prompt(text=text, context=self.context(plan, task))

    def _task_variables(self, task: Task | None, occasion: PromptRequest) -> dict[str, object]:
        return {
            "project": self._title,
            "taskId": occasion.work.id,
            "taskTitle": occasion.work.title,
            "taskDescription": task.description if task else "",
            "acceptanceCriteria": criteria(task.criteria if task else ()),
            "attempt": occasion.number,
            "learnings": self._learnings(task, MAX_CONTEXT) or "Nothing was learned so far.",
        }

    def _path(self, path: str) -> str:
        return os.path.relpath(self._root / path, self._folder)

    def _protected(self) -> str:
        return ", ".join(f"`{glob}`" for glob in self._config.protect)


def prompt_name(kind: WorkKind, step: StepSpec) -> str:
    """The template, and so the variables, of a step's prompt."""
    if step.type == "review":
        return TEMPLATE
    return "SETUP_PROMPT" if kind is WorkKind.SETUP or marker_of(step) else "LOOP_PROMPT"


def claimed(plan: Plan, work: Work, data: bytes) -> PlanClaims:
    """An agent's claims in the plan file: only the status of its own task counts."""
    try:
        document = validation.parse_object(data, name="the plan")
    except RalphError:
        return PlanClaims(note="The agent's version of the plan is not a JSON object. Ralph reverted it.")
    entries = document.get("tasks")
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    own = next((entry for entry in entries if entry.get("id") == work.id), {})
    others = [str(entry.get("id"))[:80] for entry in entries if entry is not own and _is_claim(plan, entry)][:5]
    note = (
        f"The agent also marked {', '.join(others)} in the plan. Ralph reverted that: only its own task counts."
        if others
        else ""
    )
    match own.get("status"):
        case "done":
            return PlanClaims(claims=frozenset({"DONE"}), note=note)
        case "failed":
            return PlanClaims(claims=frozenset({"BLOCKED"}), reason=str(own.get("notes") or ""), note=note)
        case _:
            return PlanClaims(note=note)


def _is_claim(plan: Plan, entry: Json) -> bool:
    """Whether an agent's entry for another task adds it, or marks it done although it has not passed."""
    task = plan.find(str(entry.get("id")))
    if task is None:
        return True
    return entry.get("status") == "done" and task.state is not TaskState.PASSED


def listed(plan: Plan) -> str:
    marks = {TaskState.PASSED: "done", TaskState.BLOCKED: "failed", TaskState.PENDING: "to do"}
    return bullets(f"{task.id} {task.title} ({marks[task.state]})" for task in plan)


def _loop(plan: Plan) -> int:
    return sum(task.attempts for task in plan) + plan.setup.attempts + 1


def _progress(plan: Plan) -> str:
    return f"{plan.count(TaskState.PASSED)} of {len(plan.tasks)}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def open_workflow(workspace: Workspace, config: Config, target: Target) -> RequirementsWorkflow:
    steps = pipeline.load(workspace, DEFAULT)
    found = source(workspace)
    marked = frozenset(spec.label for spec in steps.once if found.read(marker_of(spec)) is not None)
    return workflow_in(workspace, config, steps, app_of(workspace, steps), target.folder or workspace.root, marked)


def app_of(workspace: Workspace, steps: Pipeline) -> str:
    """The application's folder, as the plan names it."""
    data = source(workspace).read(steps.plan)
    return str(Layout(workspace=workspace, plan=steps.plan).read(data)[0].get("app", ""))


def workflow_in(
    workspace: Workspace,
    config: Config,
    steps: Pipeline,
    app: str,
    root: Path,
    marked: frozenset[str] = frozenset(),
) -> RequirementsWorkflow:
    """In a repository of its own, the application is where agents work; else it is a folder of the project."""
    is_inside = git_read.top(workspace.root / app) == git_read.top(workspace.root)
    where = root / app if is_inside else workspace.slots / "1"
    title = (workspace.root / app).name
    return RequirementsWorkflow(
        Workspace(root=root), config, steps, where, templates=workspace.root, title=title, marked=marked
    )
