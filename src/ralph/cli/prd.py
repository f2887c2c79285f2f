"""`ralph prd FEATURE`: questions, a PRD, its stories. In a terminal or without one."""

from __future__ import annotations

import asyncio
import datetime
import os
import shlex
import string
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from ralph import config as configuration
from ralph import validation
from ralph import workspace as workspaces
from ralph.agent.call import check_installed
from ralph.cli.complete import features
from ralph.errors import RalphError
from ralph.journal.writer import Journal, new_run_id
from ralph.loop.recover import end_orphans
from ralph.loop.run import Run
from ralph.process import tree
from ralph.process.environment import Redactor, secrets_in
from ralph.process.now import hand_over
from ralph.stores import lock, prd_schema
from ralph.verify.services import Services
from ralph.views import words
from ralph.views.terminal import TerminalView
from ralph.workflows.features import everything
from ralph.workflows.prd import PrdMaker, PrdWorkflow, Question
from ralph.workspace import Feature, Workspace, check_name

T = TypeVar("T")
DRAFTED = {"refine": "Keep refining", "finalize": "Finalize for execution", "edit": "Edit manually ($EDITOR)"}
FINALIZED = {
    "refine": "Refine further",
    "update": "Update prd.json",
    "edit": "Edit markdown ($EDITOR)",
    "edit-json": "Edit prd.json ($EDITOR)",
    "run": "Start execution (ralph run)",
}
ACTIONS = tuple(dict.fromkeys((*DRAFTED, *FINALIZED)))


@click.command(
    name="prd",
    epilog="""\b
Examples:
  ralph prd auth                                      asks you what it needs to know
  ralph prd auth --request "log in with a passkey"    says at once what it is about
  ralph prd auth --yes                                takes the recommended answers and finalizes
  ralph prd auth --answers answers.json               {"answers": {"goal": "…"}}
  ralph prd auth --action refine --request "split US-002"

It can be called again at any time: it sees how far the plan has come and offers what fits.""",
)
@click.argument("feature", shell_complete=features)
@click.option("--request", default="", help="What it is about, or what to change.")
@click.option("--answers", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Answers, as JSON.")
@click.option("--yes", is_flag=True, help="Take the recommended answers, and finalize.")
@click.option("--action", type=click.Choice(ACTIONS), help="Choose from the menu without being asked.")
def command(feature: str, request: str, answers: Path | None, yes: bool, action: str | None) -> int:
    """Make or change the plan of FEATURE."""
    workspace = workspaces.find(Path.cwd())
    conversation = Conversation(request=request, answers=_answers(answers), yes=yes, action=action)
    with _opened(workspace, check_name(feature)) as maker:
        if not maker.prd_md.exists() and not maker.prd_json.exists():
            start = conversation.new(maker)
        else:
            start = conversation.again(maker)
    if start:
        click.echo()
        from ralph.cli.run import command as run

        return int(run.main([feature], standalone_mode=False) or 0)
    return 0


class Conversation:
    """What a person wants, asked for in a terminal or given beforehand."""

    def __init__(self, *, request: str, answers: dict[str, str] | None, yes: bool, action: str | None) -> None:
        self.request = request
        self.answers = answers
        self.yes = yes
        self.action = action
        self.interactive = sys.stdin.isatty()

    def new(self, maker: PrdMaker) -> bool:
        """State 1: nothing is there yet."""
        click.echo(f'Starting PRD for "{maker.feature.name}"...')
        if not (self.request or self.yes or self.answers) and self.interactive:
            self.request = click.prompt("What should it do? (a sentence or two)", default="", show_default=False)
        self._need_a_person("--yes or --answers FILE", self.yes or self.answers is not None)
        questions = _wait(maker, maker.questions(self.request))
        told = "\n".join(f"- {question.question}\n  {self._answer(question)}" for question in questions)
        _wait(maker, maker.draft(self.request, told or "- (no questions)"))
        click.echo(f"\nSaved to {maker.feature.prd_md}\n")
        if self.yes or self.answers is not None or click.confirm("Ready to finalize?", default=True):
            self._finalize(maker)
        else:
            click.echo(f"Run 'ralph prd {maker.feature.name}' to continue.")
        return False

    def again(self, maker: PrdMaker) -> bool:
        """States 2 and 3: a PRD is there, finalized or not; says whether execution is to start."""
        finalized = maker.matches()
        menu = FINALIZED if finalized else DRAFTED
        where = f".ralph/{maker.feature.folder}/" if finalized else maker.feature.prd_md
        click.echo(f"{'PRD is ready' if finalized else 'PRD exists'}: {where}")
        action = self.action or self._choose(maker, menu, finalized)
        if action is None:
            return False
        if action not in menu and not (action == "finalize" and finalized) and not (action == "update"):
            raise RalphError(f"{action!r} does not fit now.", remedy=f"Choose one of: {', '.join(menu)}.")
        return self._act(maker, action)

    def _act(self, maker: PrdMaker, action: str) -> bool:
        match action:
            case "refine":
                _wait(maker, maker.refine(self._what_to_change()))
                click.echo(f"Saved to {maker.feature.prd_md}. `ralph prd {maker.feature.name}` again to finalize.")
            case "finalize" | "update":
                self._finalize(maker)
            case "edit":
                _edit(maker.prd_md)
            case "edit-json":
                _edit(maker.prd_json)
                prd_schema.parse(validation.read(maker.prd_json), name=maker.feature.prd_json)
            case "run":
                return True
        return False

    def _finalize(self, maker: PrdMaker) -> None:
        stories = _wait(maker, maker.finalize())
        click.echo(f"\nSaved to {maker.feature.prd_json}: {words.count(stories, 'story')}.")
        click.secho(f"Ready! Run 'ralph run {maker.feature.name}'.", fg="green")

    def _choose(self, maker: PrdMaker, menu: dict[str, str], finalized: bool) -> str | None:
        if self.yes:
            if not finalized:
                return "finalize"
            click.echo(f"Nothing to do. Run 'ralph run {maker.feature.name}'.")
            return None
        self._need_a_person(f"--action ({', '.join(menu)})", False)
        click.echo("\nWhat would you like to do?")
        letters = string.ascii_uppercase[: len(menu)]
        for letter, text in zip(letters, menu.values(), strict=True):
            click.echo(f"  {letter}) {text}")
        chosen = click.prompt("Choice", type=click.Choice(list(letters), case_sensitive=False), show_choices=False)
        return list(menu)[letters.index(chosen.upper())]

    def _answer(self, question: Question) -> str:
        given = (self.answers or {}).get(question.id)
        if given is not None:
            return given
        if self.answers is not None and not self.yes:
            raise RalphError(
                f"The answers have none for {question.id!r}: {question.question}",
                remedy=f"Add it ({' / '.join(question.options)}), or use --yes for the recommended one.",
            )
        if self.yes:
            return question.options[0] if question.options else "As you recommend."
        return _ask_person(question)

    def _what_to_change(self) -> str:
        if self.request:
            return self.request
        self._need_a_person("--request TEXT", False)
        return str(click.prompt("What would you like to improve?"))

    def _need_a_person(self, instead: str, given: bool) -> None:
        if not given and not self.interactive:
            raise RalphError("There is no terminal to ask you in.", remedy=f"Use {instead}.")


def _ask_person(question: Question) -> str:
    click.echo(f"\n{question.question}")
    for letter, option in zip(string.ascii_uppercase, question.options, strict=False):
        click.echo(f"  {letter}. {option}")
    click.echo("  or in your own words" if question.options else "")
    answer = str(click.prompt("Answer", default="A" if question.options else None)).strip()
    position = string.ascii_uppercase.find(answer.upper()) if len(answer) == 1 else -1
    return question.options[position] if 0 <= position < len(question.options) else answer


class _opened:
    """The lock, a journal and an agent, for as long as the conversation goes on."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace, self._name = workspace, name

    def __enter__(self) -> PrdMaker:
        workspace, name = self._workspace, self._name
        config = configuration.load(workspace.root)
        check_installed(config.provider_for("planner"), workspace.root)
        feature = _feature(workspace, name)
        run_id = new_run_id()
        owner = lock.me(run_id, name)
        self._lock = lock.hold(workspace.lock, owner)
        left_by = self._lock.__enter__()
        workspace.keep_out_of_git()
        asyncio.run(end_orphans(left_by, workspace.records))
        self._journal = Journal(workspace.logs / run_id, Redactor(secrets_in(os.environ)).text).__enter__()
        self._journal.listen(TerminalView(folder=workspace.root))
        workflow = PrdWorkflow(feature=feature, project=workspace.root)
        run = Run(
            id=run_id,
            workspace=workspace,
            config=config,
            workflow=workflow,
            plan=workflow.store.load(),
            journal=self._journal,
            owner=owner,
            place=None,
            services=Services((), workspace.root, self._journal.folder, run_id, lambda *_: None),
        )
        return PrdMaker(run=run, workflow=workflow, feature=feature)

    def __exit__(self, *error: object) -> None:
        self._journal.__exit__(*error)
        self._lock.__exit__(None, None, None)


def _feature(workspace: Workspace, name: str) -> Feature:
    """The feature of this name, or a new one with today's date."""
    found = [located for located in everything(workspace) if located.feature.name == name]
    if not found:
        return Feature(name=name, date=datetime.date.today().isoformat())
    located = found[-1]
    if located.folder is None or located.folder.resolve() != workspace.root.resolve():
        branch = located.branch.name if located.branch else ""
        way = f"git switch {branch}" if located.folder is None else f"cd {located.folder}"
        raise RalphError(f"The plan of {name} lives on the branch {branch}.", remedy=f"Go there first: {way}")
    return located.feature


def _wait(maker: PrdMaker, work: Coroutine[Any, Any, T]) -> T:
    """Run one planning call to its end."""

    async def guarded() -> T:
        tree.adopt_orphans()
        with maker.run.interrupt.on_signals():
            return await work

    return asyncio.run(guarded())


def _answers(path: Path | None) -> dict[str, str] | None:
    if path is None:
        return None
    document = validation.parse_object(validation.read(path), name=str(path))
    answers = document.get("answers")
    if not isinstance(answers, dict) or not all(isinstance(value, str) for value in answers.values()):
        raise RalphError(f"{path} has no answers.", remedy='It should look like {"answers": {"goal": "…"}}.')
    return answers


def _edit(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise RalphError("$EDITOR is not set.", remedy=f"Set it, or edit {path} yourself.")
    hand_over([*shlex.split(editor), str(path)])
