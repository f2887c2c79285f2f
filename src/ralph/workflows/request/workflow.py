"""The request workflow: tasks with dependencies, one commit for each; the first failure halts it."""

from __future__ import annotations

from pathlib import Path

from ralph import prompts
from ralph.config import Config
from ralph.engine.settle import Policy
from ralph.plan.model import Plan, Task, TaskState
from ralph.plan.prompting import Prompt, PromptRequest
from ralph.plan.select import ready
from ralph.plan.work import Ending, Finished, StepSpec, Waiting, Work, WorkKind
from ralph.validation import parse_object
from ralph.workflows.acceptance import with_other_agents
from ralph.workflows.defaults import WorkflowDefaults
from ralph.workflows.prompt_text import (
    BLOCKED_MARKER,
    DISPUTE_MARKER,
    LEARNING_MARKER,
    bullets,
    commands,
    criteria,
    gate_list,
    learned,
    quoted,
    unfinished,
)
from ralph.workflows.request.files import PRD, STATE, FilesOnDisk, all_paths
from ralph.workflows.request.locate import branch_for, located_request
from ralph.workflows.request.store import TARGET, RequestStore
from ralph.workflows.review import review_prompt, with_rounds
from ralph.workflows.target import Target
from ralph.workspace import Workspace

STEPS = (StepSpec(type="agent"), StepSpec(type="git-commit"), StepSpec(type="verify"))
MAX_SUMMARY = 4_000


class RequestWorkflow(WorkflowDefaults):
    """`ralph start`."""

    name = "request"
    target = TARGET

    def __init__(
        self,
        config: Config,
        project: Path,
        branch: str = "",
        templates: Path | None = None,
        carried: tuple[str, ...] = (),
    ) -> None:
        super().__init__(config, templates or project)
        self.store = RequestStore(project, branch=branch)
        self.plan_paths: tuple[str, ...] = all_paths(FilesOnDisk(project))
        self.state_paths: tuple[str, ...] = tuple(dict.fromkeys((*self.plan_paths, *carried)))
        self.state_message = config.commits.message.replace("prd.json", "state.json")
        self.policy = with_rounds(Policy(max_failures=config.max_retries, halts=True), config)
        self._project = project

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Waiting | Finished:
        task = None if plan.failure else ready(plan, running)
        if task:
            return self._task(task)
        if running:
            return Waiting()
        if plan.failure:
            reason = f"{plan.failure.task} failed: {plan.failure.message}"
            return Finished(ending=Ending.HALTED, reason=reason)
        if plan.count(TaskState.PASSED) < len(plan.tasks):
            return Finished(ending=Ending.BLOCKED, reason=unfinished(plan, "failed"))
        return Finished(ending=Ending.DONE)

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        task = plan.find(work_id)
        return self._task(task) if task else None

    def _task(self, task: Task) -> Work:
        return Work(
            kind=WorkKind.TASK,
            id=task.id,
            title=" ".join(task.title.split()),
            steps=with_other_agents(STEPS, self._config),
            prompt="request-task",
            claims=frozenset({"DONE"}),
        )

    def commit_message(self, plan: Plan, work: Work) -> str:
        return f"feat: {work.id} - {work.title}"

    def prompt(self, occasion: PromptRequest) -> Prompt:
        plan = occasion.plan
        if occasion.review:
            about = f"> {quoted(plan.description)}\n\n{self._summary()}"
            return Prompt(
                text=review_prompt(occasion, self._config, self.templates, about=about, learnings=learned(plan))
            )
        task = plan.find(occasion.work.id)
        assert task is not None, "work is made from the plan"
        variables = self._variables(plan, task, occasion.number)
        return Prompt(text=prompts.render(occasion.work.prompt, variables, self.templates))

    def _variables(self, plan: Plan, task: Task, number: int) -> dict[str, object]:
        return {
            "taskId": task.id,
            "taskTitle": " ".join(task.title.split()),
            "taskDescription": task.description,
            "acceptanceCriteria": criteria(task.criteria),
            "requestQuoted": quoted(plan.description),
            "summary": self._summary(),
            "prdFile": PRD,
            "dependencies": bullets(_result(other) for name in task.depends_on if (other := plan.find(name))),
            "attempt": number,
            "failure": task.notes,
            "tried": bullets(task.tried),
            "decisions": bullets(task.decisions),
            "protected": ", ".join(f"`{glob}`" for glob in self._config.protect),
            "verifyCommands": gate_list(self.gates(task)),
            "alreadyRed": commands(self.already_red),
            "learnings": learned(plan),
            "doneMarker": "<ralph>DONE</ralph>",
            "blockedMarker": BLOCKED_MARKER,
            "disputeMarker": DISPUTE_MARKER,
            "learningMarker": LEARNING_MARKER,
        }

    def _summary(self) -> str:
        """The planner's summary for every agent; a plan that a person made may have only its PRD."""
        files = FilesOnDisk(self._project)
        summary = parse_object(files.read(STATE) or b"{}", name=STATE).get("summary")
        if isinstance(summary, str) and summary.strip():
            return summary.strip()[:MAX_SUMMARY]
        return (files.read(PRD) or b"").decode(errors="replace").strip()[:MAX_SUMMARY]


def _result(task: Task) -> str:
    """The result of a task that another one depends on."""
    if not task.result:
        return f"{task.id} {task.title}"
    return f"{task.id} {task.title}: {task.result.summary} ({task.result.commit[:10]})"


def open_workflow(workspace: Workspace, config: Config, target: Target) -> RequestWorkflow:
    branch = branch_for(workspace, located_request(workspace))
    return RequestWorkflow(config, target.folder or workspace.root, branch, templates=workspace.root)
