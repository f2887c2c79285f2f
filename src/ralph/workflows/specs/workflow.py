"""The specs workflow: the tasks of each spec in their order, from implementation.json; one commit for each spec."""

from __future__ import annotations

from pathlib import Path

from ralph import prompts
from ralph.config import Config
from ralph.engine.settle import Policy
from ralph.plan.model import Plan, Spec, Task, TaskState
from ralph.plan.prompting import Prompt, PromptRequest
from ralph.plan.select import following, open_specs
from ralph.plan.work import Ending, Finished, StepSpec, Waiting, Work, WorkKind
from ralph.views.progress import entry
from ralph.workflows.acceptance import with_other_agents
from ralph.workflows.defaults import WorkflowDefaults
from ralph.workflows.prompt_text import (
    DISPUTE_MARKER,
    LEARNING_MARKER,
    bullets,
    commands,
    gate_list,
    learned,
    unfinished,
)
from ralph.workflows.review import review_prompt, with_rounds
from ralph.workflows.specs.spec_files import FOLDER
from ralph.workflows.specs.store import TARGET, ImplementationStore
from ralph.workflows.target import Target
from ralph.workspace import PROGRESS, SPECS_PLAN, Workspace

TASK_STEPS = (StepSpec(type="agent"), StepSpec(type="verify"))
FINISH_STEPS = (StepSpec(type="git-commit"), StepSpec(type="verify"))
FIX_STEPS = (StepSpec(type="agent"), *FINISH_STEPS)
DONE_MARKER, BLOCKED_MARKER = "<TASK_DONE>", '<TASK_BLOCKED reason="...">'


class SpecsWorkflow(WorkflowDefaults):
    """`ralph start build`."""

    name = "specs"
    target = TARGET

    def __init__(self, config: Config, project: Path, templates: Path | None = None) -> None:
        super().__init__(config, templates or project)
        self.store = ImplementationStore(project, tell=entry)
        self.plan_paths: tuple[str, ...] = (SPECS_PLAN, PROGRESS)
        self.state_paths: tuple[str, ...] = (SPECS_PLAN, PROGRESS)
        self.guarded: tuple[str, ...] = (FOLDER,)
        self.state_message = config.commits.message.replace("prd.json", SPECS_PLAN)
        self.policy = with_rounds(Policy(max_failures=config.max_retries), config)

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Waiting | Finished:
        match following(plan, running, max_failures=self.policy.max_failures):
            case Task() as task:
                return self._task(task)
            case Spec() as spec:
                return self._finish(spec)
        if running:
            return Waiting()
        stuck = next((spec for spec in open_specs(plan) if spec.failures >= self.policy.max_failures), None)
        if stuck:
            return Finished(ending=Ending.BLOCKED, reason=f"{stuck.id} cannot be committed: {stuck.notes}")
        if plan.count(TaskState.PASSED) < len(plan.tasks):
            return Finished(ending=Ending.BLOCKED, reason=unfinished(plan, "blocked"))
        return Finished(ending=Ending.DONE)

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        if kind is WorkKind.FINISH:
            spec = plan.find_spec(work_id)
            return self._finish(spec) if spec else None
        task = plan.find(work_id)
        return self._task(task) if task else None

    def _task(self, task: Task) -> Work:
        return Work(
            kind=WorkKind.TASK,
            id=task.id,
            title=" ".join(task.title.split()),
            steps=with_other_agents(TASK_STEPS, self._config),
            prompt="task",
            claims=frozenset({"DONE"}),
            spelled=DONE_MARKER,
            line=task.spec,
        )

    def _finish(self, spec: Spec) -> Work:
        """Commit the spec; if that was refused, or conflicted with what landed before, an agent fixes it first."""
        return Work(
            kind=WorkKind.FINISH,
            id=spec.id,
            title=" ".join(spec.name.split()),
            steps=FIX_STEPS if spec.failures or spec.notes else FINISH_STEPS,
            prompt="spec-fix",
            claims=frozenset({"DONE"}),
            spelled=DONE_MARKER,
            trailer=f"Ralph-Spec: {spec.id}",
            closes=spec.id,
        )

    def commit_message(self, plan: Plan, work: Work) -> str:
        """The spec's name, then its tasks; blocked tasks are marked as such."""
        tasks = plan.of_spec(work.id)
        passed = [task for task in tasks if task.state is TaskState.PASSED]
        partial = "" if len(passed) == len(tasks) else " (partial)"
        lines = [f"- {task.id}: {' '.join(task.title.split())}" for task in passed]
        missing = [f"- {task.id}: {' '.join(task.title.split())}" for task in tasks if task not in passed]
        body = "\n".join([*lines, *(["", "Blocked:", *missing] if missing else [])])
        return f"feat: {work.title}{partial}\n\n{body}\n"

    def prompt(self, occasion: PromptRequest) -> Prompt:
        plan, work = occasion.plan, occasion.work
        task = plan.find(work.id)
        spec = plan.find_spec(task.spec if task else work.id)
        assert spec is not None, "work is made from the plan"
        if occasion.review:
            about = "\n\n".join(filter(None, (f"{spec.name} ({spec.file})", spec.context, bullets(spec.criteria))))
            return Prompt(
                text=review_prompt(occasion, self._config, self.templates, about=about, learnings=learned(plan))
            )
        variables = self._spec_variables(plan, spec, task, occasion.number)
        if task:
            variables |= _task_variables(spec, task)
        return Prompt(text=prompts.render(work.prompt, variables, self.templates))

    def _spec_variables(self, plan: Plan, spec: Spec, task: Task | None, number: int) -> dict[str, object]:
        done = [task.title for task in plan.of_spec(spec.id) if task.state is TaskState.PASSED]
        return {
            "specName": spec.name,
            "specFile": spec.file,
            "specContext": spec.context,
            "completedTasks": "\n".join(f"- [x] {title}" for title in done),
            "attempt": number,
            "failure": spec.notes,
            "protected": ", ".join(f"`{glob}`" for glob in self._config.protect),
            "gates": gate_list(self.gates(task)),
            "alreadyRed": commands(self.already_red),
            "learnings": learned(plan),
            "doneMarker": DONE_MARKER,
            "blockedMarker": BLOCKED_MARKER,
            "disputeMarker": DISPUTE_MARKER,
            "learningMarker": LEARNING_MARKER,
        }


def _task_variables(spec: Spec, task: Task) -> dict[str, object]:
    return {
        "taskId": task.id,
        "taskDescription": " ".join(task.title.split()),
        "taskQuoted": task.title.strip().replace("\n", "\n> "),
        "acceptanceCriteria": "\n".join(f"- [ ] {text}" for text in task.criteria) or "- (none of its own)",
        "specCriteria": bullets(spec.criteria),
        "failure": task.notes,
        "tried": bullets(task.tried),
        "decisions": bullets(task.decisions),
    }


def open_workflow(workspace: Workspace, config: Config, target: Target) -> SpecsWorkflow:
    return SpecsWorkflow(config, target.folder or workspace.root, templates=workspace.root)
