"""A request's plan as `ralph plan` shows it: for a person, and for a program."""

from __future__ import annotations

import json
from dataclasses import asdict

from ralph.errors import RalphError
from ralph.plan.select import waves
from ralph.views import words
from ralph.views.lines import say, say_json
from ralph.views.plan_tree import draw
from ralph.workflows.registry import find
from ralph.workflows.request.answers import parse_decisions
from ralph.workflows.request.files import DECISIONS, PRD, RESEARCH, STATE
from ralph.workflows.request.locate import LocatedRequest, locate
from ralph.workflows.request.phases import NEXT_STEP, Phase
from ralph.workflows.request.targets import REQUEST
from ralph.workspace import Workspace


def needed(workspace: Workspace) -> LocatedRequest:
    """The request, or an error that says how to start one."""
    located = locate(workspace)
    if located is None:
        raise RalphError("There is no request here.", remedy='Make one with `ralph plan "What you want"`.')
    return located


def show_plan(workspace: Workspace, as_json: bool) -> int:
    """Print the plan as a tree, or its phase, and what to do next."""
    located = needed(workspace)
    if as_json:
        say_json(_as_json(workspace, located))
        return 0
    say(f"\n{words.cut(located.request, 300)}", bold=True, hang=0)
    plan = find(workspace, REQUEST).plan()
    phase = located.phase
    where = f" · on the branch {located.branch.name}" if located.branch else ""
    say(f"  phase {phase.value if phase else 'unknown'}{where}")
    for line in _decided(located):
        say(f"  {line}")
    if plan is not None:
        say()
        draw(plan)
    say()
    if phase is Phase.PLANNING_COMPLETE:
        say(f"→ Read {PRD} and .ralph/tasks/, edit them if you like (`ralph plan --edit`), then `ralph run request`.")
    elif phase:
        say(f"→ {NEXT_STEP[phase][0].upper()}{NEXT_STEP[phase][1:]}.")
    return 0


def _decided(located: LocatedRequest) -> list[str]:
    data = located.files.read(DECISIONS)
    decisions = parse_decisions(data, name=DECISIONS).decisions if data else []
    return [f"{words.cut(one.question, 100)} {words.cut(one.answer or '(not decided yet)', 100)}" for one in decisions]


def _as_json(workspace: Workspace, located: LocatedRequest) -> dict[str, object]:
    plan = find(workspace, REQUEST).plan()
    research, decisions, prd = (located.files.read(path) for path in (RESEARCH, DECISIONS, PRD))
    return {
        "state": json.loads(located.files.read(STATE) or b"{}"),
        "where": located.where,
        "research": json.loads(research) if research else None,
        "decisions": json.loads(decisions)["decisions"] if decisions else None,
        "prd": prd.decode(errors="replace") if prd else None,
        "tasks": [
            {
                "id": task.id,
                "title": task.title,
                "description": task.description,
                "acceptance_criteria": list(task.criteria),
                "dependencies": list(task.depends_on),
                "state": task.standing,
                "accepted": asdict(task.acceptance) if task.acceptance else None,
                "in_place": bool(task.result and task.result.in_place),
            }
            for task in plan or ()
        ],
        "waves": [[task.id for task in wave] for wave in waves(plan)] if plan else [],
    }
