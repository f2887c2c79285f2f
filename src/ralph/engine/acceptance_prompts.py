"""The prompts that acceptance tests add: for the tester, for the agent that sees them, and for a dispute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ralph import prompts
from ralph.config import Config
from ralph.plan.acceptance_tests import ABOUT_TESTS, ACCEPTANCE, spec_of
from ralph.plan.model import Gate, Plan, Task
from ralph.plan.prompting import Prompt, PromptRequest

if TYPE_CHECKING:
    from ralph.engine.workflow import Workflow

MAX_ABOUT = 4_000


def prompt_for(workflow: Workflow, config: Config, request: PromptRequest) -> Prompt:
    """Return the prompt of a step: the workflow's, unless it is about acceptance tests."""
    if request.step.type == "acceptance-tests":
        return Prompt(text=_tester(workflow, config, request))
    if request.step.type == "ruling":
        return Prompt(text=_ruling(workflow, request))
    prompt = workflow.prompt(request)
    if not request.tests:
        return prompt
    variables = {
        "tests": _bullets(f"`{path}`" for path in request.tests),
        "disputeMarker": f"<ralph>DISPUTE:{ACCEPTANCE} — which one, and why</ralph>",
    }
    section = prompts.render("acceptance-tests", variables, workflow.templates)
    return replace(prompt, text=f"{prompt.text.rstrip()}\n\n{section}")


def _tester(workflow: Workflow, config: Config, request: PromptRequest) -> str:
    task = _task(request)
    gates = [gate for gate in workflow.gates(task) if not gate.held_out]
    variables = {
        **_about(request.plan, task),
        "verifyCommands": _bullets(map(_shown, gates)),
        "files": ", ".join(f"`{glob}`" for glob in config.acceptance.files),
        "decisions": _bullets(text for text in task.decisions if text.startswith(ABOUT_TESTS)),
        "blockedMarker": "<ralph>BLOCKED:why</ralph>",
        "mistakes": request.mistakes,
    }
    return prompts.render("tester", variables, workflow.templates)


def _ruling(workflow: Workflow, request: PromptRequest) -> str:
    assert request.review, "a reviewer was asked"
    said = next((result.need for result in request.earlier if result.need), None)
    gates = [result.reason for result in request.earlier if result.gates and result.reason]
    variables = {
        **_about(request.plan, _task(request)),
        "dispute": said.why if said else "",
        "tests": _bullets(f"`{path}`" for path in request.tests),
        "gates": gates[-1] if gates else "",
        "answerFile": request.review.answer,
        "mistakes": request.mistakes,
    }
    return prompts.render("ruling", variables, workflow.templates)


def _about(plan: Plan, task: Task) -> dict[str, object]:
    """Return what a task asks for, and what it belongs to."""
    spec = spec_of(plan, task)
    about = "\n\n".join(filter(None, (spec.name, spec.context))) if spec else plan.description
    return {
        "about": about[:MAX_ABOUT],
        "taskId": task.id,
        "taskTitle": " ".join(task.title.split()),
        "taskDescription": task.description,
        "acceptanceCriteria": _bullets((*task.criteria, *(spec.criteria if spec else ()))),
    }


def _task(request: PromptRequest) -> Task:
    task = request.plan.find(request.work.id)
    assert task, "only tasks have acceptance tests"
    return task


def _shown(gate: Gate) -> str:
    return f"`{gate.command}`" if gate.name == gate.command else f"{gate.name}: `{gate.command}`"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
