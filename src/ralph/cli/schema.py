"""`ralph schema NAME`: the JSON Schema of a file, for editors and for other programs."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter

import click

from ralph.views.lines import say_exactly

SCHEMAS = {
    "config": ("ralph.config", "schema_text", "ralph.config.json"),
    "prd": ("ralph.workflows.formats", "PRD.schema_text", "a feature's prd.json"),
    "tasks": ("ralph.workflows.formats", "TASKS.schema_text", "the requirements' .ralph/prd.json"),
    "implementation": ("ralph.workflows.formats", "SPECS.schema_text", "the specs' implementation.json"),
    "request": ("ralph.workflows.formats", "STATE.schema_text", "a request's .ralph/state.json"),
    "request-task": ("ralph.workflows.formats", "REQUEST_TASK.schema_text", "a request's .ralph/tasks/*.json"),
    "research": ("ralph.workflows.request.answers", "research_schema", "a request's .ralph/research.json"),
    "decisions": ("ralph.workflows.request.answers", "decisions_schema", "a request's .ralph/decisions.json"),
    "session": ("ralph.workflows.session.report", "schema", "what `ralph session --json` prints"),
    "review": ("ralph.steps.review_answer", "ANSWER.schema_text", "what a reviewer answers about a task"),
    "steps": ("ralph.steps.pipeline", "schema_text", "a step configuration, .ralph/configs/*.json"),
    "run-state": ("ralph.views.reports", "state_schema", ".ralph/run_state.json"),
    "aggregate": ("ralph.views.reports", "aggregate_schema", ".ralph/aggregate.json"),
    "script": ("ralph.testing.script", "schema_text", "a scripted agent's script"),
    "recording": ("ralph.testing.recording", "schema_text", "a recorded agent call, calls/*/*.json"),
}
LISTED = "\b\nNAME is one of:\n" + "\n".join(f"  {name:14} {what}" for name, (_, _, what) in SCHEMAS.items())


@click.command(name="schema", epilog=LISTED)
@click.argument("name", type=click.Choice(list(SCHEMAS)))
def command(name: str) -> int:
    """Print the JSON Schema of a file."""
    module, function, _ = SCHEMAS[name]
    say_exactly(attrgetter(function)(import_module(module))())
    return 0
