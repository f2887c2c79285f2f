"""`ralph prd FEATURE`: questions, a PRD, its stories; with or without a terminal."""

from __future__ import annotations

import datetime
import os
import shlex
import string
import sys
from pathlib import Path

import click

from ralph import validation
from ralph import workspace as workspaces
from ralph.cli.complete import features
from ralph.cli.questions import DecisionOptions, OpenQuestion, read_answers
from ralph.cli.trusting import load_trusted, trust_option
from ralph.errors import RalphError
from ralph.process.blocking import hand_over
from ralph.stores import atomic
from ralph.views.lines import say
from ralph.views.plan_tree import draw
from ralph.views.terminal import TerminalView
from ralph.workflows.feature.locate import everything
from ralph.workflows.feature.planning import PrdMaker, Question
from ralph.workflows.formats import PRD
from ralph.workflows.planning import planner
from ralph.workspace import Feature, Workspace, check_name

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
  ralph prd auth --request "log in with a passkey"    starts with a description
  ralph prd auth --yes                                accepts the recommended answers and finalizes
  ralph prd auth --answers answers.json               {"answers": {"goal": "…"}}
  ralph prd auth --action refine --request "split US-002"

Run it again at any time: it offers what fits the state of the plan.""",
)
@click.argument("feature", shell_complete=features)
@click.option("--request", default="", help="What the feature should do, or what to change.")
@click.option("--answers", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Answers, as JSON.")
@click.option("--yes", is_flag=True, help="Accept the recommended answers, and finalize.")
@click.option("--action", type=click.Choice(ACTIONS), help="Choose from the menu without being asked.")
@trust_option
def command(feature: str, request: str, answers: Path | None, yes: bool, action: str | None) -> int:
    """Make or change the plan of FEATURE."""
    workspace = workspaces.find(Path.cwd())
    deciding = DecisionOptions(
        answers=read_answers(answers),
        file=str(answers or ""),
        yes=yes,
        interrupted=f"Run `ralph prd {feature}` to start again.",
    )
    conversation = Conversation(request=request, deciding=deciding, action=action)
    config = load_trusted(workspace)
    found, branch = _feature(workspace, check_name(feature))
    view = TerminalView(folder=workspace.root)
    with planner(workspace, config, feature, view, tick=view.tick, branch=branch) as opened:
        maker = PrdMaker(opened, found)
        if not maker.prd_md.exists() and not maker.prd_json.exists():
            start = conversation.new(maker)
        else:
            start = conversation.again(maker)
    if start:
        say()
        from ralph.cli.run import command as run

        return int(run.main([feature], standalone_mode=False) or 0)
    return 0


class Conversation:
    """What the person wants: asked in a terminal or given as options."""

    def __init__(self, *, request: str, deciding: DecisionOptions, action: str | None) -> None:
        self.request = request
        self.deciding = deciding
        self.given = deciding.yes or deciding.answers is not None
        self.action = action
        self.interactive = sys.stdin.isatty()

    def new(self, maker: PrdMaker) -> bool:
        """State 1: there is no PRD yet."""
        say(f'Starting PRD for "{maker.feature.name}"...')
        if not (self.request or self.given) and self.interactive:
            self.request = click.prompt("What should it do? (a sentence or two)", default="", show_default=False)
        self._need_a_person("Pass --yes or --answers FILE.", self.given)
        asked = [_asked(question) for question in maker.planner.wait(maker.questions(self.request))]
        self.deciding.check(asked)
        answers = "\n".join(f"- {one.question}\n  {self.deciding(one)[0]}" for one in asked)
        maker.planner.wait(maker.draft(self.request, answers or "- (no questions)"))
        say(f"\nSaved to {maker.feature.prd_md}\n")
        if self.given or click.confirm("Ready to finalize?", default=True):
            self._finalize(maker)
        else:
            say(f"Run 'ralph plan {maker.feature.name}' to continue.")
        return False

    def again(self, maker: PrdMaker) -> bool:
        """States 2 and 3: there is a PRD, finalized or not. Returns whether to start the run."""
        finalized = maker.matches()
        menu = FINALIZED if finalized else DRAFTED
        where = f".ralph/{maker.feature.folder}/" if finalized else maker.feature.prd_md
        say(f"{'PRD is ready' if finalized else 'PRD exists'}: {where}")
        action = self.action or self._choose(maker, menu, finalized)
        if action is None:
            return False
        if action not in menu and not (action == "finalize" and finalized) and not (action == "update"):
            raise RalphError(f"{action!r} is not possible now.", remedy=f"Choose one of: {', '.join(menu)}.")
        return self._act(maker, action)

    def _act(self, maker: PrdMaker, action: str) -> bool:
        match action:
            case "refine":
                maker.planner.wait(maker.refine(self._what_to_change()))
                say(f"Saved to {maker.feature.prd_md}. Run `ralph plan {maker.feature.name}` to finalize it.")
            case "finalize" | "update":
                self._finalize(maker)
            case "edit":
                _edit(maker.prd_md)
            case "edit-json":
                _edit(maker.prd_json)
                _check_edited(maker)
            case "run":
                return True
        return False

    def _finalize(self, maker: PrdMaker) -> None:
        maker.planner.wait(maker.finalize())
        _, plan = PRD.load(validation.read(maker.prd_json), name=maker.feature.prd_json)
        say()
        draw(plan)
        say(f"\nSaved to {maker.feature.prd_json}. Read it, and edit it if you like.", hang=0)
        say(f"Ready! Run 'ralph run {maker.feature.name}'.", fg="green")

    def _choose(self, maker: PrdMaker, menu: dict[str, str], finalized: bool) -> str | None:
        if self.deciding.yes:
            if not finalized:
                return "finalize"
            say(f"Nothing to do. Run 'ralph run {maker.feature.name}'.")
            return None
        self._need_a_person(f"Use `ralph prd {maker.feature.name} --action ACTION`: {', '.join(menu)}.", False)
        say("\nWhat would you like to do?")
        letters = string.ascii_uppercase[: len(menu)]
        for letter, text in zip(letters, menu.values(), strict=True):
            say(f"  {letter}) {text}")
        chosen = click.prompt("Choice", type=click.Choice(list(letters), case_sensitive=False), show_choices=False)
        return list(menu)[letters.index(chosen.upper())]

    def _what_to_change(self) -> str:
        if self.request:
            return self.request
        self._need_a_person("Pass --request TEXT.", False)
        return str(click.prompt("What would you like to improve?"))

    def _need_a_person(self, remedy: str, given: bool) -> None:
        if not given and not self.interactive:
            raise RalphError("There is no terminal to ask you.", remedy=remedy)


def _asked(question: Question) -> OpenQuestion:
    """The first option is the one that the agent recommends."""
    first = question.options[0] if question.options else "As you recommend."
    return OpenQuestion(
        id=question.id, question=question.question, options=dict.fromkeys(question.options, ""), recommendation=first
    )


def _feature(workspace: Workspace, name: str) -> tuple[Feature, str]:
    """The feature of this name, or a new one with today's date; and the branch that has its plan, if any."""
    found = [located for located in everything(workspace) if located.feature.name == name]
    if not found:
        return Feature(name=name, date=datetime.date.today().isoformat()), ""
    located = found[-1]
    is_here = located.folder is not None and located.folder.resolve() == workspace.root.resolve()
    return located.feature, located.branch.name if located.branch and not is_here else ""


def _check_edited(maker: PrdMaker) -> None:
    """Refuse an edited plan that has mistakes, and keep the person's text."""
    data = validation.read(maker.prd_json)
    try:
        PRD.load(data, name=maker.feature.prd_json)
    except validation.Mistakes as error:
        kept = maker.planner.run.logs / "prd.json"
        atomic.write(kept, data)
        remedy = f"Your version is in {kept}."
        raise validation.Mistakes(maker.feature.prd_json, error.mistakes, remedy) from None


def _edit(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise RalphError("$EDITOR is not set.", remedy=f"Set it, or edit {path} yourself.")
    hand_over([*shlex.split(editor), str(path)])
