"""`ralph edit`: a person changes what a task asks for, in their editor."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ralph import validation
from ralph import workspace as workspaces
from ralph.cli.complete import targets, tasks
from ralph.cli.steering import instruct, json_option
from ralph.errors import RalphError
from ralph.plan.instruction import Command, TaskText
from ralph.plan.model import Task
from ralph.plan.select import find_task
from ralph.process.blocking import hand_over
from ralph.validation import Json
from ralph.views.lines import say
from ralph.workflows.registry import find

KEPT = "edit-{task}.json"


@click.command(
    name="edit",
    epilog="""\b
Examples:
  ralph edit auth US-003          for the next attempt
  ralph edit auth US-003 --now    also end the running attempt, and start it again with the new text""",
)
@click.argument("target", shell_complete=targets)
@click.argument("task", shell_complete=tasks)
@click.option("--now", is_flag=True, help="End the running attempt, at no cost, and start the next one with the text.")
@json_option
def command(target: str, task: str, now: bool, as_json: bool) -> int:
    """Open the title, the description and the criteria of TASK of TARGET (a feature, `request`, `requirements`,
    `specs`) in $EDITOR, and take them over if they are valid, also while a run is under way."""
    workspace = workspaces.find(Path.cwd())
    found = find(workspace, target)
    known = find_task(found.needed_plan(), task)
    before = _text_of(known, has_description=found.workflow != "specs")
    with _kept(workspace.instructions / found.name / KEPT.format(task=known.id), before) as path:
        _open_editor(path)
        wanted = _read(path, before)
        if wanted == _wanted(before):
            say("Nothing changed.")
            return 0
        return instruct(Command.EDIT, target, tasks=(known.id,), wanted=wanted, now=now, as_json=as_json)


def _text_of(task: Task, *, has_description: bool) -> Json:
    described: Json = {"description": task.description} if has_description else {}
    return {"title": task.title, **described, "criteria": list(task.criteria)}


@contextmanager
def _kept(last: Path, before: Json) -> Iterator[Path]:
    """Yield a file with the task's text; if that goes wrong, the next edit continues with what the person wrote."""
    with TemporaryDirectory(prefix="ralph-edit-") as folder:
        path = Path(folder) / last.name
        is_continued = last.is_file()
        path.write_bytes(last.read_bytes() if is_continued else _rendered(before))
        if is_continued:
            say("Continuing your last edit, which could not be taken over.", err=True)
        try:
            yield path
        except RalphError:
            last.parent.mkdir(parents=True, exist_ok=True)
            last.write_bytes(path.read_bytes())
            raise
        last.unlink(missing_ok=True)


def _rendered(text: Json) -> bytes:
    return json.dumps(text, indent=2, ensure_ascii=False).encode() + b"\n"


def _open_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise RalphError("$EDITOR is not set.", remedy="Set it to your editor, such as `EDITOR=nano`.")
    hand_over([*shlex.split(editor), str(path)])


def _read(path: Path, before: Json) -> TaskText:
    """Return the text as the person left it, or all mistakes in it."""
    found = validation.parse_object(validation.read(path), name="Your edit")
    mistakes = [f"{key}: there is no such field" for key in found if key not in before]
    for key in (key for key in ("title", "description") if key in before):
        if not isinstance(found.get(key), str):
            mistakes.append(f"{key}: expected text")
    criteria = found.get("criteria")
    if not isinstance(criteria, list) or not all(isinstance(one, str) and one.strip() for one in criteria):
        mistakes.append("criteria: expected a list of texts, none of them empty")
    if not str(found.get("title") or "").strip():
        mistakes.append("title: it is empty")
    if mistakes:
        raise validation.Mistakes("Your edit", mistakes, "Nothing was changed. Run the command again to continue it.")
    return _wanted(found)


def _wanted(text: Json) -> TaskText:
    criteria = text["criteria"]
    assert isinstance(criteria, list), "it was checked"
    return TaskText(
        title=str(text["title"]), description=str(text.get("description", "")), criteria=tuple(map(str, criteria))
    )
