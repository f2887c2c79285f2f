"""`ralph add`: adds work to a plan that was made from requirements."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import limits, validation
from ralph import workspace as workspaces
from ralph.cli.trusting import load_trusted, trust_option
from ralph.errors import RalphError
from ralph.views import words
from ralph.views.lines import say, say_json
from ralph.views.terminal import TerminalView
from ralph.workflows.planning import planner
from ralph.workflows.registry import find
from ralph.workflows.requirements.planning import AddResult, TaskMaker
from ralph.workflows.requirements.workflow import TARGET, Layout
from ralph.workspace import Workspace

MAX_NAME = 200


@click.command(
    name="add",
    epilog="""\b
Examples:
  ralph add "export the report as CSV"
  ralph add work.md
  ralph add work.md --model opus

\b
Tasks that are done move to .ralph/prd_archive.json, and long learnings are compacted. If the agent gives no
valid answer, nothing changes.""",
)
@click.argument("work")
@click.option("--model", help="The model that plans the tasks.")
@click.option("--json", "as_json", is_flag=True, help="Print the new tasks as JSON.")
@trust_option
def command(work: str, model: str | None, as_json: bool) -> int:
    """Turn WORK, a Markdown file or a sentence, into new tasks."""
    workspace = workspaces.find(Path.cwd())
    text = _text(work)
    target = find(workspace, TARGET)
    target.needed_plan()  # report a broken plan before calling an agent
    config = load_trusted(workspace).with_model("planner", model)
    view = TerminalView(as_json=as_json, folder=workspace.root)
    branch = target.branch.name if target.branch else ""
    with planner(workspace, config, TARGET, view, tick=view.tick, branch=branch) as opened:
        layout = Layout(workspace=Workspace(root=opened.root), plan=target.file)
        added = opened.wait(TaskMaker(opened, layout, workspace.root).add(text))
    if as_json:
        say_json({"tasks": added.tasks, "archived": added.archived, "compacted": added.compacted}, indent=None)
    else:
        _print_added(added)
    return 0


def _print_added(added: AddResult) -> None:
    say()
    if added.archived:
        say(f"{words.count(added.archived, 'done task')} moved to .ralph/prd_archive.json")
    if added.compacted:
        say("learnings compacted; the long version is in .ralph/learnings_archive.md")
    say(f"{words.count(len(added.tasks), 'new task')}:", bold=True)
    for task in added.tasks:
        say(f"  {task['id']}  {task['title']}")
    say("→ ralph run")


def _text(work: str) -> str:
    """The text of the work, or the content of the file with this name."""
    path = Path(work) if len(work) <= MAX_NAME and "\n" not in work else None
    if path and path.is_file():
        try:
            work = validation.read(path, limits.NOTES).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise RalphError(f"{path} is not UTF-8 text.", remedy="Save it as UTF-8 Markdown.") from None
    elif path and path.suffix in (".md", ".txt") and " " not in work:
        raise RalphError(f"{path} does not exist.", remedy="Name an existing file, or describe the work in a sentence.")
    if not work.strip():
        raise RalphError("The description of the work is empty.", remedy='For example: ralph add "export as CSV"')
    return work
