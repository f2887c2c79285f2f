"""What commands can be pointed at: a feature, or another workflow's plan; each says where its truth lies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ralph.errors import RalphError
from ralph.git.read import Branch
from ralph.plan.model import Plan, Task
from ralph.validation import nearest
from ralph.workflows.feature import locate as features
from ralph.workflows.feature.locate import LocatedFeature
from ralph.workflows.feature.store import PrdStore
from ralph.workflows.plan_source import BRANCH_PREFIX, PlanSource, plan_source
from ralph.workflows.request import locate as requests
from ralph.workflows.request.files import STATE, all_paths
from ralph.workflows.request.phases import FOLLOWING, GOING_ON, UNPLANNED, Phase
from ralph.workflows.session import locate as sessions
from ralph.workflows.session.files import PROGRESS
from ralph.workflows.session.store import SessionStore
from ralph.workspace import RALPH, SESSIONS, SPECS_PLAN, TARGETS, Workspace, is_inside

if TYPE_CHECKING:
    from ralph.workflows.request.store import RequestStore
    from ralph.workflows.requirements.store import TasksStore
    from ralph.workflows.specs.store import ImplementationStore

REQUIREMENTS, SPECS, REQUEST = TARGETS
PLAN = f"{RALPH}/prd.json"
CONFIG = f"{RALPH}/configs/default.json"
NO_PLANS = """No plans yet. Make one with `ralph plan "REQUEST"`, `ralph session "REQUEST"`, `ralph prd NAME`,
`ralph init --requirements FILE` or `ralph init --specs`."""


class PlanStore(Protocol):
    """A store that can also read bytes which lie somewhere else."""

    def load(self, data: bytes | None = None) -> Plan: ...

    def save(self, plan: Plan) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Target:
    """A plan, whichever workflow it belongs to."""

    name: str
    workflow: str
    noun: str
    command: str  # what goes on with it
    file: str  # its plan, relative to the project's root
    folder: Path | None  # a project root on disk that has it; None: only on its branch
    repo: Path  # where git knows its attempts
    branch: Branch | None
    where: str
    read: Callable[[], bytes | None]
    store: Callable[[], PlanStore]
    files: tuple[str, ...] = ()  # what a state commit holds beside the plan
    draft: str = "PRD drafted, not finalized"  # how far it has come while there is no plan
    unplanned: RalphError | None = None  # what to say to whoever needs one
    marked_by: str = ""  # why `ralph retry` cannot change it; empty: it can

    def plan(self) -> Plan | None:
        """The plan; None while there is only a draft."""
        data = self.read()
        plan = None if data is None else self.store().load(data)
        return plan if plan is None or self.unplanned is None else None

    def needed_plan(self) -> Plan:
        """The plan, or an error that says how to get one."""
        plan = self.plan()
        if plan is None:
            raise self.unplanned or no_plan(self.name)
        return plan


def no_plan(name: str) -> RalphError:
    return RalphError(f"The feature {name!r} has no prd.json yet.", remedy=f"Finalize its PRD with `ralph prd {name}`.")


def find(workspace: Workspace, name: str) -> Target:
    """The target of this name, or an error that lists what there is."""
    match name:
        case "requirements":
            if not has_requirements(workspace):
                raise RalphError(
                    "There is no requirements plan here: .ralph/prd.json does not exist.",
                    remedy="Make one with `ralph init --requirements FILE`.",
                )
            return _requirements(workspace)
        case "specs":
            if not has_specs(workspace):
                raise RalphError(
                    f"There is no plan of specs here: {SPECS_PLAN} does not exist.",
                    remedy="Write specs/NAME.md, then `ralph start plan`. `ralph init --specs` prepares a project.",
                )
            return _specs(workspace)
        case "request":
            located = requests.locate(workspace)
            if located is None:
                raise RalphError(
                    "There is no request here: .ralph/state.json does not exist.",
                    remedy='Begin with `ralph plan "REQUEST"`.',
                )
            return _request(workspace, located)
        case _ if sessions.has(workspace, name):
            return _session(workspace, name)
        case _:
            return _feature(workspace, features.locate(workspace, name))


def everything(workspace: Workspace) -> list[Target]:
    """Every plan of the project: the request's, the requirements', the specs', then features and sessions, oldest
    first."""
    request = requests.locate(workspace)
    found = [_request(workspace, request)] if request else []
    found += [_requirements(workspace)] if has_requirements(workspace) else []
    found += [_specs(workspace)] if has_specs(workspace) else []
    found += [_feature(workspace, located) for located in features.everything(workspace)]
    return [*found, *(_session(workspace, name) for name in sessions.ids(workspace))]


def has_requirements(workspace: Workspace) -> bool:
    return requirements_source(workspace).read(_plan_file(workspace)) is not None


def has_specs(workspace: Workspace) -> bool:
    return specs_source(workspace).read(SPECS_PLAN) is not None


def requirements_source(workspace: Workspace) -> PlanSource:
    """Where the requirements' plan is; with an application in a repository of its own, always in this folder."""
    file = _plan_file(workspace)
    return plan_source(workspace, f"{BRANCH_PREFIX}{REQUIREMENTS}", file)


def specs_source(workspace: Workspace) -> PlanSource:
    return plan_source(workspace, f"{BRANCH_PREFIX}{SPECS}", SPECS_PLAN, target=SPECS)


def _plan_file(workspace: Workspace) -> str:
    """Where the default step configuration says that the plan is; what is wrong with it is told elsewhere."""
    try:
        steps = json.loads((workspace.root / CONFIG).read_bytes())["steps"]
        found = next((step["config"]["prd_file"] for step in steps if step.get("config", {}).get("prd_file")), PLAN)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return PLAN
    return found if isinstance(found, str) and is_inside(found) and "$" not in found else PLAN


def find_task(plan: Plan, task_id: str) -> Task:
    """A task by its id, or an error that names the nearest."""
    task = plan.find(task_id)
    if task is None:
        noun = "task" if plan.target in TARGETS else "story"
        names = [task.id for task in plan]
        raise RalphError(
            f"{plan.target} has no {noun} {task_id!r}{nearest(task_id, names)}",
            remedy=f"See them with `ralph status {plan.target}`.",
        )
    return task


def find_by_task(workspace: Workspace, task_id: str) -> Target:
    """The one target that has a task of this id, or an error that says why it cannot be told."""
    found = [target for target in everything(workspace) if (plan := target.plan()) and plan.find(task_id)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(target.name for target in found)
    what = f"{names} each have {task_id}." if found else f"No plan here has {task_id}."
    raise RalphError(what, remedy="Name the one you mean before it." if found else "See them with `ralph status`.")


def _feature(workspace: Workspace, located: LocatedFeature) -> Target:
    feature = located.feature
    folder = located.folder or workspace.root
    return Target(
        name=feature.name,
        workflow="feature",
        noun="story",
        command=f"ralph run {feature.name}",
        file=feature.prd_json,
        folder=located.folder,
        repo=workspace.root,
        branch=located.branch,
        where=located.where,
        read=lambda: located.read(workspace.root, feature.prd_json),
        store=lambda: PrdStore(folder / feature.prd_json, feature.name),
    )


def _requirements(workspace: Workspace) -> Target:
    file, source = _plan_file(workspace), requirements_source(workspace)
    folder = source.folder or workspace.root
    return Target(
        name=REQUIREMENTS,
        workflow=REQUIREMENTS,
        noun="task",
        command=f"ralph run {REQUIREMENTS}",
        file=file,
        folder=source.folder,
        repo=workspace.root / _app(source.read(file)),
        branch=source.branch,
        where=source.where,
        read=lambda: source.read(file),
        store=lambda: _tasks_store(folder, file),
    )


def _specs(workspace: Workspace) -> Target:
    source = specs_source(workspace)
    folder = source.folder or workspace.root
    return Target(
        name=SPECS,
        workflow=SPECS,
        noun="task",
        command="ralph start build",
        file=SPECS_PLAN,
        folder=source.folder,
        repo=workspace.root,
        branch=source.branch,
        where=source.where,
        read=lambda: source.read(SPECS_PLAN),
        store=lambda: _implementation_store(folder),
    )


def _request(workspace: Workspace, located: requests.LocatedRequest) -> Target:
    phase = located.phase
    return Target(
        name=REQUEST,
        workflow=REQUEST,
        noun="task",
        command="ralph start",
        file=STATE,
        folder=located.folder,
        repo=workspace.root,
        branch=located.branch,
        where=located.where,
        read=lambda: located.state,
        store=lambda: _request_store(workspace, located),
        files=all_paths(located.files),
        draft=f"not planned yet, phase {phase.value}" if phase else "",
        unplanned=_unplanned(phase) if phase in UNPLANNED else None,
    )


def _session(workspace: Workspace, session_id: str) -> Target:
    source = sessions.source_of(workspace, session_id)
    file = f"{SESSIONS}/{session_id}/{PROGRESS}"
    return Target(
        name=session_id,
        workflow="session",
        noun="task",
        command=f"ralph session --resume {session_id}",
        file=file,
        folder=source.folder,
        repo=workspace.root,
        branch=source.branch,
        where=source.where,
        read=lambda: source.read(file),
        store=lambda: SessionStore(
            source.folder or workspace.root, session_id, files=source.files_in(f"{SESSIONS}/{session_id}")
        ),
        draft="not planned yet",
        unplanned=None
        if source.read(file) is not None
        else RalphError("This session is not planned yet.", remedy=f"ralph session --resume {session_id}"),
        marked_by=f"`ralph session --resume {session_id}` gives what is blocked new attempts.",
    )


def _unplanned(phase: Phase) -> RalphError:
    return RalphError(
        f"The request is not planned yet: its phase is {phase.value!r}, and only {FOLLOWING[phase][0].value!r} "
        "can follow.",
        remedy=f"{GOING_ON[phase][0].upper()}{GOING_ON[phase][1:]}.",
    )


def _implementation_store(root: Path) -> ImplementationStore:
    from ralph.workflows.specs.store import ImplementationStore

    return ImplementationStore(root)


def _request_store(workspace: Workspace, located: requests.LocatedRequest) -> RequestStore:
    from ralph.workflows.request.store import RequestStore

    return RequestStore(located.folder or workspace.root, located.files)


def _tasks_store(root: Path, file: str) -> TasksStore:
    from ralph.workflows.requirements.store import TasksStore

    return TasksStore(root / file, REQUIREMENTS, root / RALPH / "learnings.md")


def _app(data: bytes | None) -> str:
    """The application's folder as the plan names it; a broken plan is explained by whoever reads all of it."""
    try:
        app = json.loads(data or b"{}").get("app", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return app if isinstance(app, str) and is_inside(app) else ""
