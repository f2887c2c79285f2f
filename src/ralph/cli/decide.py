"""Asking a person what only a person can decide: in the terminal, from a file, or as it is recommended."""

from __future__ import annotations

import string
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from ralph import validation
from ralph.errors import EXIT_INTERRUPTED, RalphError
from ralph.stores.request_answers import Decision, Option
from ralph.validation import Mistakes, nearest


@dataclass(frozen=True, kw_only=True)
class Deciding:
    """How a person wants to be asked."""

    answers: dict[str, str] | None = None
    file: str = ""
    yes: bool = False
    silent: bool = False  # standard output is for a program

    @property
    def can_ask(self) -> bool:
        return sys.stdin.isatty() and not self.silent

    def need_a_way(self) -> None:
        """Before anybody is called for nothing."""
        if not (self.yes or self.answers is not None or self.can_ask):
            raise RalphError(
                "There is no terminal to ask you in, and decisions are open.",
                remedy="Take the recommended answers with --yes, or give yours with --answers FILE.",
            )

    def check(self, decisions: list[Decision]) -> None:
        """Answers to what nobody asked, and open questions without any way to ask."""
        known = [decision.id for decision in decisions]
        stray = [name for name in self.answers or {} if name not in known]
        if stray:
            mistakes = [f"answers.{name}: nobody asked that{nearest(name, known)}" for name in stray]
            raise Mistakes(self.file, mistakes, f"Asked was: {', '.join(known) or 'nothing'}.")
        open_ones = [one for one in decisions if one.answer is None and one.id not in (self.answers or {})]
        if open_ones and not self.yes and not self.can_ask:
            raise RalphError(
                f"{self.file} has no answer to {len(open_ones)} of {len(decisions)} decisions:",
                details=tuple(f"{one.id}: {one.question} ({' / '.join(_names(one))})" for one in open_ones),
                remedy="Add them to the file given with --answers, or take the recommended ones with --yes.",
            )

    def __call__(self, decision: Decision) -> tuple[str, str]:
        given = (self.answers or {}).get(decision.id)
        if given is not None:
            return _meant(decision, given), "answers"
        if self.yes:
            return decision.recommendation, "recommendation"
        try:
            return _ask(decision), "person"
        except click.Abort:
            raise RalphError(
                "Interrupted.", remedy="The answers you gave are kept: `ralph plan` goes on.", code=EXIT_INTERRUPTED
            ) from None


def read_answers(path: Path | None) -> dict[str, str] | None:
    """`{"answers": {id: option or text}}`, or all of its mistakes."""
    if path is None:
        return None
    remedy = 'It should look like {"answers": {"storage": "SQLite"}}.'
    document = validation.parse_object(validation.read(path), name=str(path))
    answers = document.get("answers")
    if not isinstance(answers, dict):
        raise Mistakes(str(path), ["answers: missing, and required"], remedy)
    wrong = [f"answers.{name}: expected text" for name, value in answers.items() if not _is_answer(value)]
    if wrong:
        raise Mistakes(str(path), wrong, remedy)
    return answers


def _is_answer(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _names(decision: Decision) -> list[str]:
    return [option.option for option in decision.options]


def _meant(decision: Decision, answer: str) -> str:
    """An option whatever its case, else the person's own words."""
    wanted = answer.strip().casefold()
    return next((name for name in _names(decision) if name.casefold() == wanted), answer.strip())


def _ask(decision: Decision) -> str:
    options = sorted(decision.options, key=lambda option: option.option != decision.recommendation)
    click.secho(f"\n{decision.question}", bold=True)
    for letter, option in zip(string.ascii_uppercase, options, strict=False):
        _show(letter, option, decision)
    click.echo("  or in your own words")
    answer = str(click.prompt("Answer", default="A")).strip()
    position = string.ascii_uppercase.find(answer.upper()) if len(answer) == 1 else -1
    return options[position].option if 0 <= position < len(options) else _meant(decision, answer)


def _show(letter: str, option: Option, decision: Decision) -> None:
    is_recommended = option.option == decision.recommendation
    click.echo(f"  {letter}. {option.option}" + (click.style("  (recommended)", fg="green") if is_recommended else ""))
    click.echo(f"     {option.consequence}")
    if is_recommended and decision.why:
        click.echo(f"     why: {decision.why}")
