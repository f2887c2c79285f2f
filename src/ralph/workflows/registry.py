"""The table of the five workflows. Commands ask it for plans, and a plan's workflow for everything else."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, cast

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git.read import one_moment
from ralph.validation import nearest
from ralph.workflows.target import Target
from ralph.workspace import Workspace

if TYPE_CHECKING:
    from ralph.config import Config, RoleName
    from ralph.engine.lifecycle import Options
    from ralph.engine.workflow import Workflow
    from ralph.workflows.checks import Check
    from ralph.workflows.run_request import RunRequest

HOW_TO_PLAN = """Make a plan with `ralph plan "WHAT"`, or for a feature `ralph plan NAME "WHAT"`.
  From files: `ralph plan --from requirements.md`, `ralph plan --from specs/`."""
NO_PLANS = f"No plans yet. {HOW_TO_PLAN}"


class _Targets(Protocol):
    """What `targets.py` in a workflow's package provides: cheap to import, for commands that only read."""

    def find(self, workspace: Workspace, name: str) -> Target | None: ...

    def everything(self, workspace: Workspace) -> list[Target]: ...


class _Entry(Protocol):
    """What `entry.py` in a workflow's package provides."""

    def checks(self, workspace: Workspace, config: Config, target: Target, options: Options) -> Iterable[Check]:
        """Everything to check before a run starts, for a person to read."""
        ...

    def prepare(self, workspace: Workspace, config: Config, target: Target, options: Options) -> RunRequest:
        """A run that can start, or an error that says what is wrong."""
        ...

    def examine(self, workspace: Workspace, config: Config, target: Target) -> Iterable[Check]:
        """What `ralph doctor` reports about this plan."""
        ...


class _Opening(Protocol):
    """What `workflow.py` in a workflow's package provides."""

    def open_workflow(self, workspace: Workspace, config: Config, target: Target) -> Workflow: ...


class WorkflowType(Frozen):
    """One of the five workflows, as commands see it."""

    name: str
    one_at_a_time: str = ""  # `--jobs`: why its tasks cannot be independent; empty: they can
    default_config: str = ""  # `--config`: its steps come from a file, by default this one
    can_race: bool = True  # `--race`: several agents can attempt the same task
    can_halt: bool = False  # `--on-failure`: the first failed task ends the run
    more_roles: tuple[RoleName, ...] = ()  # other roles that a run needs, besides those that do and review tasks

    @property
    def targets(self) -> _Targets:
        return cast(_Targets, importlib.import_module(f"ralph.workflows.{self.name}.targets"))

    @property
    def entry(self) -> _Entry:
        return cast(_Entry, importlib.import_module(f"ralph.workflows.{self.name}.entry"))

    def open(self, workspace: Workspace, config: Config, target: Target) -> Workflow:
        """The workflow object, which knows what is next and which gates there are."""
        opening = cast(_Opening, importlib.import_module(f"ralph.workflows.{self.name}.workflow"))
        return opening.open_workflow(workspace, config, target)


WORKFLOWS = {
    kind.name: kind
    for kind in (
        WorkflowType(name="request", can_halt=True),
        WorkflowType(name="requirements", default_config="default"),
        WorkflowType(name="specs"),
        WorkflowType(
            name="session",
            one_at_a_time="A session's roles take turns, and each reads what the one before it has written.",
            can_race=False,
            more_roles=("planner", "questioner", "reviewer"),
        ),
        WorkflowType(name="feature", more_roles=("verifier",)),
    )
}
"""In the order in which a name is searched; the last also says which names cannot be."""
NAMELESS = "requirements"
"""Its plan has no name: a plain `ralph run` means this plan, even if there are others."""
SHOWN = ("request", "requirements", "specs", "feature", "session")
"""The order in which plans are listed."""


def workflow_of(target: Target) -> WorkflowType:
    return WORKFLOWS[target.workflow]


@one_moment()
def find(workspace: Workspace, name: str) -> Target:
    """The target of this name, or an error that lists the known ones."""
    for kind in WORKFLOWS.values():
        target = kind.targets.find(workspace, name)
        if target:
            return target
    names = list(dict.fromkeys(target.name for target in everything(workspace)))
    raise RalphError(
        f"There is no plan {name!r}{nearest(name, names) or '.'}",
        details=("Existing plans:", *(f"  {known}" for known in names)) if names else ("There are no plans yet.",),
        remedy=f'Make it: ralph plan {name} "What it should do"',
    )


@one_moment()
def everything(workspace: Workspace) -> list[Target]:
    """Every plan of the project."""
    return [target for name in SHOWN for target in WORKFLOWS[name].targets.everything(workspace)]


@one_moment()
def unfinished(workspace: Workspace) -> list[Target]:
    """The plans that a run can do something for: also what a killed run had done and not committed yet."""
    from ralph.stores import crash_file

    known = everything(workspace)
    return [target for target in known if not target.is_finished or crash_file.tip_of(workspace, target.name)]


@one_moment()
def only_target(workspace: Workspace) -> Target:
    """The only plan of a project, for a command without a name; an error that lists them if there are several."""
    known = everything(workspace)
    found = unfinished(workspace) or known
    first = next((target for target in known if target.workflow == NAMELESS), None)
    if first or len(found) == 1:
        return first or found[0]
    if not found:
        raise RalphError("There is nothing to run yet.", remedy=HOW_TO_PLAN)
    raise RalphError(
        "Which plan?",
        details=("Existing plans:", *(f"  {target.name}" for target in found)),
        remedy=f"For example: ralph run {found[0].name}",
    )


def find_by_task(workspace: Workspace, task_id: str) -> Target:
    """The one target that has a task of this id, or an error if there is none or more than one."""
    found = [target for target in everything(workspace) if (plan := target.plan()) and plan.find(task_id)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(target.name for target in found)
    what = f"{names} each have a task {task_id}." if found else f"No plan has a task {task_id}."
    raise RalphError(what, remedy="Name the plan before the task." if found else "`ralph status` lists the plans.")
