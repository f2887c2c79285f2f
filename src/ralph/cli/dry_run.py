"""`ralph run --dry-run`: what a run would do: its order, prompts, gates and agents. It calls nothing."""

from __future__ import annotations

import os
from dataclasses import asdict, replace

from ralph import prompts
from ralph.cli.running_options import RunFlags
from ralph.config import Config
from ralph.engine.acceptance_prompts import prompt_for
from ralph.engine.lifecycle import Options
from ralph.engine.workflow import Workflow
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.plan.estimate import Estimate, estimate
from ralph.plan.model import Gate, Plan, Task, TaskState
from ralph.plan.prompting import PromptRequest
from ralph.plan.select import waves
from ralph.plan.work import Ending, Finished, Work, WorkKind
from ralph.process.redaction import Secrets
from ralph.stores import spending
from ralph.views import words
from ralph.views.lines import say, say_json
from ralph.workflows.racing import check_races, with_race
from ralph.workflows.registry import WorkflowType, workflow_of
from ralph.workflows.target import Target
from ralph.workspace import Workspace

MAX_WORK = 500
ASKING = ("agent", "role", "final-review")
"""Steps whose prompt is known before they begin."""


class RunPreview(Frozen):
    """What a run would do."""

    target: Target
    plan: Plan
    works: tuple[Work, ...]
    end: str  # why there is nothing to do; empty: there is
    waves: tuple[tuple[Task, ...], ...]
    gates: tuple[Gate, ...]
    agents: dict[str, tuple[str, ...]]  # by role
    templates: dict[str, str]  # the file of each prompt
    texts: dict[str, str]  # the prompts by work; empty unless they are asked for
    estimate: Estimate | None
    jobs: int
    problem: RalphError | None  # why it could not start


def preview(
    workspace: Workspace, config: Config, target: Target, flags: RunFlags, *, config_name: str, with_texts: bool
) -> int:
    """Show what a run would do; exit with the error that would keep it from starting, if there is one."""
    kind = workflow_of(target)
    flags.check(kind, config_name)
    if flags.race is not None:
        config = with_race(config, flags.race)
    options = flags.options(config_name or kind.default_config)
    workflow, problem = _opened(workspace, config, target, kind, options)
    plan = target.plan()
    if plan is None:  # the run itself would plan it, or refuse
        plan = target.needed_plan() if problem else workflow.store.load()
    works = tuple(_order(workflow, plan))
    pending = tuple(task for task in plan if task.state is TaskState.PENDING)
    ahead = tuple(waves(replace(plan, tasks=pending)))
    passed = spending.of_passed_tasks(workspace.records)
    seen = RunPreview(
        target=target,
        plan=plan,
        works=works,
        end=_end(workflow, plan),
        waves=ahead,
        gates=workflow.gates(None),
        agents=_agents(config, kind),
        templates={work.prompt: _template(workspace, work.prompt) for work in works if _asks(work)},
        texts=_texts(workspace, config, workflow, plan, works) if with_texts else {},
        estimate=estimate(passed, [len(wave) for wave in ahead], options.jobs),
        jobs=options.jobs,
        problem=problem,
    )
    if flags.as_json:
        say_json(_as_json(seen))
    else:
        _show(seen)
    if problem:
        raise problem
    return 0


def _opened(
    workspace: Workspace, config: Config, target: Target, kind: WorkflowType, options: Options
) -> tuple[Workflow, RalphError | None]:
    try:
        bad = [one for one in kind.entry.checks(workspace, config, target, options) if one.state == "bad"]
        request = kind.entry.prepare(workspace, config, target, options)
        if kind.can_race:
            check_races(config, target.plan(), workspace.root, options.budget or config.budget)
        problem = RalphError(bad[0].what, remedy=bad[0].remedy) if bad else None
        return request.open(target.folder or workspace.root), problem
    except RalphError as error:
        return kind.open(workspace, config, target), error


def _order(workflow: Workflow, plan: Plan) -> list[Work]:
    """Return what comes one after another if every attempt passes."""
    found: list[Work] = []
    seen: set[tuple[WorkKind, str]] = set()
    while len(found) < MAX_WORK:
        work = workflow.next(plan)
        if not isinstance(work, Work) or (work.kind, work.id) in seen:
            break  # a session's agents decide what comes after their next call
        found.append(work)
        seen.add((work.kind, work.id))
        match work.kind:
            case WorkKind.TASK:
                plan = plan.change(work.id, lambda task: replace(task, state=TaskState.PASSED))
            case WorkKind.FINISH:
                plan = plan.change_spec(work.id, lambda spec: replace(spec, state=TaskState.PASSED))
            case WorkKind.SETUP:
                plan = replace(plan, setup=replace(plan.setup, done=plan.setup.done | {work.id}))
            case _:
                break
    return found


def _end(workflow: Workflow, plan: Plan) -> str:
    end = workflow.next(plan)
    if not isinstance(end, Finished):
        return ""
    what = "Nothing is left to do" if end.ending is Ending.DONE else "Nothing can start"
    return f"{what}: {words.first_line(end.reason)}" if end.reason else f"{what}."


def _agents(config: Config, kind: WorkflowType) -> dict[str, tuple[str, ...]]:
    racing = tuple(config.executor(name) for name in config.race.agents)
    roles = dict.fromkeys((*config.working_roles, *kind.more_roles))
    found = {role: racing if role == "executor" and racing else config.agents_for(role) for role in roles}
    return {
        role: tuple(f"{one.name} ({one.provider.model})" if one.provider.model else one.name for one in agents)
        for role, agents in found.items()
    }


def _asks(work: Work) -> bool:
    return any(spec.type in ASKING for spec in work.steps)


def _template(workspace: Workspace, name: str) -> str:
    path = prompts.source(name, workspace.root)
    inside = path.is_relative_to(workspace.root)
    return str(path.relative_to(workspace.root)) if inside else str(path)


def _texts(
    workspace: Workspace, config: Config, workflow: Workflow, plan: Plan, works: tuple[Work, ...]
) -> dict[str, str]:
    """Return the prompts as they would be now: later ones also get what agents learn until then."""
    secrets = Secrets.of(os.environ, workspace.root)
    found = {}
    for work in works:
        step = next((spec for spec in work.steps if spec.type in ASKING), None)
        if step is None:
            continue
        task = plan.find(work.id)
        number = (task.attempts if task else 0) + 1
        asked = PromptRequest(plan=plan, work=work, step=step, number=number, earlier=())
        found[work.id] = secrets.text(prompt_for(workflow, config, asked).text)
    return found


def _show(seen: RunPreview) -> None:
    say(f"{seen.target.name}: what `{seen.target.command}` would do. Nothing is called or changed.", bold=True)
    say("Agents")
    for role, names in seen.agents.items():
        say(f"  {role}: {', '.join(names)}")
    say("Gates")
    for gate in seen.gates:
        more = ", ".join(filter(None, ("" if gate.required else "only warns", "parallel" if gate.parallel else "")))
        say(f"  {gate.name if gate.held_out else gate.command}{f' ({more})' if more else ''}")
    if not seen.gates:
        say("  none: nothing would be verified", fg="yellow")
    wave_of = {task.id: number for number, wave in enumerate(seen.waves, 1) for task in wave}
    if seen.end:
        say(seen.end)
        return
    say("Order, if every attempt passes")
    for number, work in enumerate(seen.works, 1):
        wave = f" · wave {wave_of[work.id]}" if work.id in wave_of and len(seen.waves) < len(wave_of) else ""
        say(f"  {number}. {work.id} {work.title}{wave} · {', '.join(step.label for step in work.steps)}")
    left = [name for name in wave_of if name not in {work.id for work in seen.works}]
    if left:
        say(f"  then {words.count(len(left), 'task')}, in an order that is decided on the way")
    for template, path in seen.templates.items():
        say(f"Prompt {template}: {path}")
    say(_estimated(seen))
    for name, text in seen.texts.items():
        say(f"\n── {name} ──", bold=True)
        say(text)


def _estimated(seen: RunPreview) -> str:
    found = seen.estimate
    if found is None:
        return "No estimate: too few tasks have passed in this project."
    cost = f", about ${found.usd:.2f}" if found.usd is not None else ""
    tokens = f", about {found.tokens:,} tokens" if found.tokens else ""
    basis = f"from {words.count(found.basis, 'task')} that passed in this project"
    jobs = f" with {seen.jobs} at once" if seen.jobs > 1 else ""
    what = words.count(found.tasks, "task")
    return f"Estimate for {what}{jobs}: about {words.duration(found.seconds)}{tokens}{cost}, {basis}."


def _as_json(seen: RunPreview) -> dict[str, object]:
    wave_of = {task.id: number for number, wave in enumerate(seen.waves, 1) for task in wave}
    return {
        "target": seen.target.name,
        "workflow": seen.target.workflow,
        "ready": seen.problem is None,
        "problem": seen.problem.what if seen.problem else None,
        "agents": {role: list(names) for role, names in seen.agents.items()},
        "gates": [
            {"name": one.name, "command": one.command, "required": one.required, "parallel": one.parallel}
            for one in seen.gates
        ],
        "end": seen.end or None,
        "order": [
            {
                "id": work.id,
                "kind": work.kind.value,
                "title": work.title,
                "wave": wave_of.get(work.id),
                "steps": [step.label for step in work.steps],
                "prompt": work.prompt if _asks(work) else None,
            }
            for work in seen.works
        ],
        "waves": [[task.id for task in wave] for wave in seen.waves],
        "templates": seen.templates,
        "prompts": seen.texts,
        "estimate": asdict(seen.estimate) if seen.estimate else None,
    }
