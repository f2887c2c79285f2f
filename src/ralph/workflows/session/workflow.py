"""The session workflow: a router that only reads, and four roles that write their own artifacts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph import prompts
from ralph.config import Config
from ralph.engine.settle import Policy
from ralph.plan.model import Plan, Task, TaskState
from ralph.plan.prompting import Prompt, PromptRequest
from ralph.plan.work import (
    ASKED_AGAIN,
    ContractResult,
    Ending,
    FileTexts,
    Finished,
    Resilience,
    StepSpec,
    Waiting,
    Work,
    WorkKind,
    listed,
)
from ralph.verify.gate_list import red
from ralph.verify.gates import explain
from ralph.workflows.acceptance import with_acceptance
from ralph.workflows.defaults import WorkflowDefaults
from ralph.workflows.prompt_text import BLOCKED_MARKER, DISPUTE_MARKER, bullets, gate_list
from ralph.workflows.session import locate, router
from ralph.workflows.session.contracts import artifacts, check_call
from ralph.workflows.session.files import findings, read_verdict, review_part
from ralph.workflows.session.router import Mode, RoleCall, Stuck
from ralph.workflows.session.store import Session, SessionStore
from ralph.workflows.target import Target
from ralph.workspace import SESSIONS, Workspace

SESSION_REVIEW = "session-review"
UPDATE = "plan-update"
TITLES = {
    Mode.INITIALIZE: "Initialize the session",
    Mode.UPDATE: "Update the plan",
    Mode.TASK_BREAKDOWN: "Break it down into tasks",
    Mode.BRAINSTORM: "Find the questions",
    Mode.RESEARCH: "Answer the questions",
    Mode.SESSION_REVIEW: "Review the whole session",
}


class SessionWorkflow(WorkflowDefaults):
    """`ralph session`."""

    name = "session"

    def __init__(
        self,
        config: Config,
        project: Path,
        session_id: str,
        *,
        request: str = "",
        update: str = "",
        templates: Path | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__(config, templates or project)
        self.target = session_id
        self.store = SessionStore(project, session_id, files=files)
        self.state_message = f"chore: update session {session_id}"
        self.policy = Policy(max_failures=config.max_retries, max_setup_failures=1)
        self._request = request
        self._update = update
        self._reviewed = router.last_iteration(self.session.texts)

    @property
    def session(self) -> Session:
        """The folder as of the last time the plan was read."""
        return self.store.session

    @property
    def state_paths(self) -> tuple[str, ...]:
        return tuple(f"{self.session.path}/{name}" for name in self.session.texts)

    @property
    def plan_paths(self) -> tuple[str, ...]:
        """The existing files, and those that the next call will write: they are removed if it is interrupted."""
        call, names = self.session.call, self.state_paths
        calls = [call] if isinstance(call, RoleCall) else []
        if isinstance(call, RoleCall) and call.mode in (Mode.EXECUTE, Mode.TASK_REVIEW):
            calls += [router.execute(item.id, self.session.texts) for item in self.session.tasks]
        return tuple(dict.fromkeys((*names, *(path for one in calls for path in self._paths(one)))))

    def next(self, plan: Plan, running: frozenset[str] = frozenset()) -> Work | Waiting | Finished:
        session = self.session
        if self._update and UPDATE not in plan.setup.done and not plan.setup.failures:
            return self._role(RoleCall(mode=Mode.UPDATE), UPDATE, WorkKind.SETUP)
        ended = _bounds(plan, session, self._reviewed + self._config.session.max_reviews)
        if ended:
            return ended
        call = session.call
        if isinstance(call, Stuck):
            return Finished(ending=Ending.BLOCKED, reason=call.reason)
        match call.mode:
            case Mode.EXECUTE:
                return self._execute(_first_ready(plan) or call.task)
            case Mode.TASK_REVIEW:
                return self._review(plan, call)
            case Mode.SESSION_REVIEW if session.is_finished:
                return Finished(ending=Ending.DONE)
            case Mode.SESSION_REVIEW:
                return self._role(call, SESSION_REVIEW, WorkKind.REVIEW)
            case _:
                return self._role(call, call.task, WorkKind.SETUP)

    def work(self, plan: Plan, kind: WorkKind, work_id: str) -> Work | None:
        """An attempt of a killed run resumes only if it is still the next one."""
        following = self.next(plan)
        same = isinstance(following, Work) and (following.kind, following.id) == (kind, work_id)
        if kind is WorkKind.TASK and not same:
            task = plan.find(work_id)
            return self._with_executor(work_id, router.last_report(work_id, self.session.texts)) if task else None
        return following if same and isinstance(following, Work) else None

    def _execute(self, task_id: str) -> Work:
        """A task's whole attempt: executor, gates, reviewer, commit."""
        return self._with_executor(task_id, router.last_report(task_id, self.session.texts) + 1)

    def _with_executor(self, task_id: str, number: int) -> Work:
        steps = (StepSpec(type="agent", name="executor", resilience=ASKED_AGAIN), *_JUDGING)
        return self._task(task_id, number, with_acceptance(steps, self._config))

    def _review(self, plan: Plan, call: RoleCall) -> Work:
        """Work that an earlier run left for review; work that was red or has no report goes back to the executor."""
        task = plan.find(call.task)
        if not call.number or (task and task.failures):
            return self._execute(call.task)
        return self._task(call.task, call.number, _JUDGING)

    def _task(self, task_id: str, number: int, steps: tuple[StepSpec, ...]) -> Work:
        execute = RoleCall(mode=Mode.EXECUTE, task=task_id, number=number)
        review = RoleCall(mode=Mode.TASK_REVIEW, task=task_id, number=number)
        item = next((item for item in self.session.tasks if item.id == task_id), None)
        return Work(
            kind=WorkKind.TASK,
            id=task_id,
            title=item.title if item and item.title else task_id,
            steps=steps,
            prompt="session-call",
            writable=self._paths(execute),
            was_tried=router.last_report(task_id, self.session.texts) > 0,
            duties={"executor": execute.duty, "reviewer": review.duty},
        )

    def _role(self, call: RoleCall, work_id: str, kind: WorkKind) -> Work:
        step = StepSpec(type="role", name=call.role, resilience=ASKED_AGAIN)
        suite = StepSpec(type="verify", resilience=Resilience(continue_on_error=True))
        return Work(
            kind=kind,
            id=work_id,
            title=TITLES[call.mode],
            steps=(suite, step) if kind is WorkKind.REVIEW else (step,),
            role=call.role,
            prompt="session-call",
            writable=self._paths(call),
            duties={call.role: call.duty},
        )

    def _paths(self, call: RoleCall) -> tuple[str, ...]:
        return tuple(f"{SESSIONS}/{self.target}/{name}" for name in artifacts(call, self.target))

    def check_contract(self, work: Work, step: str, before: FileTexts, after: FileTexts) -> ContractResult:
        return check_call(RoleCall.of(work.duties[step]), self.session.path, self.target, before, after)

    def commit_message(self, plan: Plan, work: Work) -> str:
        return f"feat: {work.id} - {work.title}"

    def prompt(self, occasion: PromptRequest) -> Prompt:
        """The role's general prompt, and the routing of this call."""
        call = RoleCall.of(occasion.work.duties[occasion.step.label])
        return Prompt(
            text=prompts.render("session-call", self._variables(occasion, call), self.templates),
            context=prompts.render(f"role-{call.role}", {}, self.templates),
        )

    def _variables(self, occasion: PromptRequest, call: RoleCall) -> dict[str, object]:
        session, mode = self.session, call.mode
        is_task = mode in (Mode.EXECUTE, Mode.TASK_REVIEW)
        task = occasion.plan.find(call.task) if is_task else None
        report = f"{session.path}/{router.report_name(call.task, call.number)}" if is_task else ""
        last = session.newest_report(call.task) if mode is Mode.EXECUTE else ""
        earlier = [gate for result in occasion.earlier for gate in result.gates]
        executes = mode is Mode.EXECUTE
        return {
            "sessionPath": session.path,
            "mode": "" if is_task else mode.value,
            "request": {Mode.INITIALIZE: self._request, Mode.UPDATE: self._update}.get(mode, ""),
            "cycle": call.number if mode in (Mode.BRAINSTORM, Mode.RESEARCH) else 0,
            "taskId": call.task if is_task else "",
            "attemptNumber": call.number if executes else 0,
            "reportPath": report,
            "reports": bullets(self._inherited(task)) if executes and task else "",
            "iteration": call.number if mode is Mode.SESSION_REVIEW else 0,
            "lastReport": f"{session.path}/{last}" if last and last != Path(report).name else "",
            "failure": task.notes if executes and task else "",
            "mistakes": occasion.mistakes,
            "suiteIsRed": explain(red(earlier)) if mode is Mode.SESSION_REVIEW else "",
            "verifyCommands": gate_list(self.gates(task)) if executes else "",
            "blockedMarker": BLOCKED_MARKER,
            "disputeMarker": DISPUTE_MARKER,
            "protected": ", ".join(f"`{glob}`" for glob in self._config.protect) if executes else "",
        }

    def _inherited(self, task: Task) -> list[str]:
        """The newest report of each task that this one inherits from."""
        names = (self.session.newest_report(name) for name in task.depends_on)
        return [f"`{self.session.path}/{name}`" for name in names if name]


_JUDGING = (
    StepSpec(type="verify"),
    StepSpec(type="role", name="reviewer", resilience=ASKED_AGAIN),
    StepSpec(type="git-commit"),
)


def _bounds(plan: Plan, session: Session, last_review: int) -> Finished | None:
    """Why no role can be called, although work is left."""
    blocked = next((task for task in plan if task.state is TaskState.BLOCKED), None)
    if blocked:
        return _blocked(f"{blocked.id}: {blocked.notes}")
    if plan.setup.failures:
        return _blocked(plan.setup.notes)
    if plan.review.failures:
        return _blocked(plan.review.notes)
    for task in plan:
        if task.failures and _same_again(session, task.id):
            return _blocked(f"{task.id}: the reviewer reported the same findings twice. {task.notes}")
    iteration = router.last_iteration(session.texts)
    found = session.gaps if read_verdict(session.last_review) == "gaps" else ()
    before = session.texts.get(router.review_name(iteration - 1), "")
    if plan.review.attempts and found and read_verdict(before) == "gaps" and findings(before) == found:
        return _blocked(listed("The session review found the same gaps twice", found))
    is_over = (
        isinstance(session.call, RoleCall) and session.call.mode is Mode.SESSION_REVIEW and not session.is_finished
    )
    if is_over and found and iteration >= last_review:
        return _blocked(
            listed("Session reviews found gaps as often as session.maxReviews allows. The last one found", found)
        )
    return None


def _blocked(reason: str) -> Finished:
    return Finished(ending=Ending.BLOCKED, reason=reason)


def _same_again(session: Session, task_id: str) -> bool:
    """Whether the last two reviews of a task have the same findings."""
    number = router.last_report(task_id, session.texts)
    last, before = (review_part(session.report(task_id, count)) for count in (number, number - 1))
    return number > 1 and read_verdict(last) == read_verdict(before) == "failed" and findings(last) == findings(before)


def _first_ready(plan: Plan) -> str:
    """The first task in the list whose inherited tasks are done."""
    passed = {task.id for task in plan if task.state is TaskState.PASSED}
    waiting = (task for task in plan if task.state is TaskState.PENDING)
    return next((task.id for task in waiting if passed.issuperset(task.depends_on)), "")


def open_workflow(workspace: Workspace, config: Config, target: Target) -> SessionWorkflow:
    source = locate.source_of(workspace, target.name)
    files = source.files_in(f"{SESSIONS}/{target.name}")
    update = locate.waiting_update(workspace, target.name)
    return SessionWorkflow(
        config, target.folder or workspace.root, target.name, update=update, templates=workspace.root, files=files
    )
