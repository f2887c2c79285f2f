"""The feature workflow: stories by priority, gates after each, a final verification at the end."""

from __future__ import annotations

from pathlib import Path

from ralph import prompts
from ralph.config import Config
from ralph.engine.settle import Policy
from ralph.plan.attempt import StepResult
from ralph.plan.model import Gate, GateResult, Plan, Task, TaskState
from ralph.plan.prompting import Prompt, PromptRequest
from ralph.plan.select import ready
from ralph.plan.work import Ending, Finished, Resilience, StepSpec, Waiting, Work, WorkKind
from ralph.verify.gate_list import red, simple_gates, waived
from ralph.views import words
from ralph.workflows.acceptance import with_other_agents
from ralph.workflows.defaults import WorkflowDefaults
from ralph.workflows.feature.locate import locate
from ralph.workflows.feature.store import PrdStore
from ralph.workflows.prompt_text import (
    BLOCKED_MARKER,
    DISPUTE_MARKER,
    LEARNING_MARKER,
    bullets,
    commands,
    criteria,
    gate_list,
    learned,
    unfinished,
)
from ralph.workflows.review import review_prompt, with_rounds
from ralph.workflows.target import Target
from ralph.workspace import Feature, Workspace

FINAL = "final"
MAX_GOAL = 600

STORY_STEPS = (StepSpec(type="agent"), StepSpec(type="git-commit"), StepSpec(type="verify"))
UI_STEPS = (StepSpec(type="screenshot"), *STORY_STEPS)
FINAL_STEPS = (
    StepSpec(type="verify", resilience=Resilience(continue_on_error=True)),
    StepSpec(type="final-review", name="review"),
)


class FeatureWorkflow(WorkflowDefaults):
    """`ralph run FEATURE`."""

    name = "feature"

    def __init__(self, feature: Feature, config: Config, project: Path, templates: Path | None = None) -> None:
        super().__init__(config, templates or project)
        self.target = feature.name
        self.store = PrdStore(project / feature.prd_json, feature.name)
        self.plan_paths: tuple[str, ...] = (feature.prd_json,)
        self.state_paths: tuple[str, ...] = (feature.prd_json, feature.prd_md)
        self.state_message = config.commits.message
        self.policy = with_rounds(Policy(max_failures=config.max_retries), config)

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Waiting | Finished:
        task = ready(plan, running)
        if task:
            return self._story(task)
        if running:
            return Waiting()
        if plan.count(TaskState.PASSED) < len(plan.tasks):
            return Finished(ending=Ending.BLOCKED, reason=unfinished(plan, "blocked"))
        if plan.review.verified_at:
            return Finished(ending=Ending.DONE)
        if plan.review.failures >= self.policy.max_failures:
            reason = f"the final verification did not agree: {plan.review.notes}"
            return Finished(ending=Ending.UNVERIFIED, reason=reason)
        return self._final()

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        if kind is WorkKind.REVIEW:
            return self._final()
        task = plan.find(work_id)
        return self._story(task) if task else None

    def _story(self, task: Task) -> Work:
        return Work(
            kind=WorkKind.TASK,
            id=task.id,
            title=task.title,
            steps=with_other_agents(UI_STEPS if "ui" in task.tags else STORY_STEPS, self._config),
            claims=frozenset({"DONE"}),
        )

    def _final(self) -> Work:
        return Work(
            kind=WorkKind.REVIEW,
            id=FINAL,
            title="Final verification",
            steps=FINAL_STEPS,
            prompt="verify",
            alone=True,
        )

    def ui_gates(self, task: Task | None) -> tuple[Gate, ...]:
        if task and "ui" not in task.tags:
            return ()
        return waived(simple_gates(self._config.verify.ui, self._config), task.waived if task else ())

    def is_ui(self, plan: Plan, task: Task | None) -> bool:
        return "ui" in task.tags if task else bool(self._config.verify.ui) or any("ui" in t.tags for t in plan)

    def commit_message(self, plan: Plan, work: Work) -> str:
        return f"feat: {work.id} - {work.title}"

    def prompt(self, occasion: PromptRequest) -> Prompt:
        plan, work = occasion.plan, occasion.work
        if occasion.review:
            return Prompt(
                text=review_prompt(
                    occasion, self._config, self.templates, about=plan.description, learnings=learned(plan)
                )
            )
        if work.kind is WorkKind.REVIEW:
            variables = self._final_variables(plan, occasion.earlier)
        else:
            task = plan.find(work.id)
            assert task is not None, "work is made from the plan"
            variables = self._story_variables(plan, task, occasion.number)
        return Prompt(text=prompts.render(work.prompt, variables, self.templates))

    def _story_variables(self, plan: Plan, task: Task, number: int) -> dict[str, object]:
        return {
            "feature": plan.target,
            "goal": words.cut(plan.description, MAX_GOAL),
            "storyId": task.id,
            "storyTitle": task.title,
            "storyDescription": task.description,
            "acceptanceCriteria": criteria(task.criteria),
            "attempt": number,
            "failure": task.notes,
            "tried": bullets(task.tried),
            "decisions": bullets(task.decisions),
            "ui": "ui" in task.tags,
            "pages": self._pages(task),
            "protected": ", ".join(f"`{glob}`" for glob in self._config.protect),
            "verifyCommands": gate_list((*self.gates(task), *self.ui_gates(task))),
            "alreadyRed": commands(self.already_red),
            "learnings": learned(plan),
            "doneMarker": "<ralph>DONE</ralph>",
            "blockedMarker": BLOCKED_MARKER,
            "disputeMarker": DISPUTE_MARKER,
            "learningMarker": LEARNING_MARKER,
        }

    def _pages(self, task: Task) -> str:
        """The pages that the browser will check, as the story names them."""
        if "ui" not in task.tags or not self._config.browser.enabled:
            return ""
        from ralph.verify.urls import pages_in  # only UI stories have pages

        return ", ".join(f"`{page.address}`" for page in pages_in(task.criteria))

    def _final_variables(self, plan: Plan, earlier: tuple[StepResult, ...]) -> dict[str, object]:
        gates = [gate for result in earlier for gate in result.gates]
        lines = [f"`{gate.command}`: {_said(gate)}" for gate in gates]
        problems = [result.reason for result in earlier if result.reason and not red(result.gates)]
        return {
            "feature": plan.target,
            "verifyCommands": bullets([*lines, *problems]) or "- (none are configured)",
            "suiteIsRed": bool(red(gates)) or bool(problems),
            "failure": plan.review.notes,
            "storySummaries": "\n".join(_summary(task) for task in plan),
            "learnings": learned(plan),
            "verifiedMarker": "<ralph>VERIFIED</ralph>",
            "resetMarker": "<ralph>RESET:US-001,US-003</ralph>",
            "reasonMarker": "<ralph>REASON:what is missing</ralph>",
        }


def _summary(task: Task) -> str:
    done = f" ({task.result.commit[:10]}: {task.result.summary})" if task.result else ""
    criteria = "".join(f"\n  - {criterion}" for criterion in task.criteria)
    return f"- **{task.id}** {task.title}{done}{criteria}"


def open_workflow(workspace: Workspace, config: Config, target: Target) -> FeatureWorkflow:
    feature = locate(workspace, target.name).feature
    return FeatureWorkflow(feature, config, target.folder or workspace.root, templates=workspace.root)


def _said(gate: GateResult) -> str:
    if gate.not_run:
        return f"{gate.how_missed}: {gate.reason}"
    if gate.passed:
        return f"passed, but is {gate.reason}" if gate.flaky else "passed"
    return f"FAILED, {gate.reason}\n\n{gate.output}\n"
