"""Asks a person for decisions: in the terminal, from a file, or by taking the recommendations."""

from __future__ import annotations

import json
import string
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import click

from ralph import limits, validation
from ralph.cli.asking import forget_typed, letter_or_words
from ralph.errors import EXIT_INTERRUPTED, EXIT_UNDECIDED, RalphError
from ralph.frozen import Frozen
from ralph.validation import Mistakes, nearest
from ralph.views.lines import say, styled


class OpenQuestion(Frozen):
    """One question for a person."""

    id: str
    question: str
    options: Mapping[str, str]  # each option with its consequence
    recommendation: str
    why: str = ""


class DecisionOptions(Frozen):
    """How to ask a person."""

    answers: dict[str, str] | None = None
    file: str = ""
    yes: bool = False
    silent: bool = False  # standard output is read by a program
    kept_in: str = ""  # the file that keeps the open questions until they are answered; empty: they are asked again
    interrupted: str = "Your answers are saved. Run `ralph plan` to continue."

    @property
    def can_ask(self) -> bool:
        return sys.stdin.isatty() and not self.silent

    def check(self, asked: Iterable[OpenQuestion], answered: Collection[str] = ()) -> None:
        """Reports answers to unknown questions, and open questions that there is no way to ask."""
        known = {one.id: one for one in asked}
        answers = self.answers or {}
        stray = [name for name in answers if name not in known]
        if stray:
            mistakes = [f"answers.{name}: there is no such question{nearest(name, known)}" for name in stray]
            raise Mistakes(self.file, mistakes, f"The questions are: {', '.join(known) or 'none'}.")
        open_ones = [one for one in known.values() if one.id not in answered and one.id not in answers]
        if open_ones and not self.yes and not self.can_ask:
            raise _undecided(open_ones, self.kept_in) if self.kept_in else _missing(open_ones, len(known), self.file)
        if self.can_ask:
            forget_typed()

    def __call__(self, asked: OpenQuestion) -> tuple[str, str]:
        given = (self.answers or {}).get(asked.id)
        if given is not None:
            return _meant(asked, given), "answers"
        if self.yes:
            return asked.recommendation, "recommendation"
        try:
            return _ask(asked), "person"
        except click.Abort:
            raise RalphError("Interrupted.", remedy=self.interrupted, code=EXIT_INTERRUPTED) from None


def _undecided(open_ones: list[OpenQuestion], kept_in: str) -> RalphError:
    """The error for open decisions without a terminal: they are in a file, and the message says how to answer."""
    count = "1 decision is" if len(open_ones) == 1 else f"{len(open_ones)} decisions are"
    example = json.dumps({"answers": {one.id: one.recommendation for one in open_ones}}, ensure_ascii=False)
    return RalphError(
        f"{count} open, and there is no terminal to ask you. {kept_in} has the options and their consequences.",
        details=tuple(f"{one.id}: {one.question} ({' / '.join(_options(one))})" for one in open_ones),
        remedy=f"Write your answers to a file, for example {example}, and run `ralph plan --answers FILE`. Or accept"
        " the recommended ones with `ralph plan --yes`.",
        code=EXIT_UNDECIDED,
    )


def _missing(open_ones: list[OpenQuestion], asked: int, file: str) -> RalphError:
    return RalphError(
        f"{file} has no answer to {len(open_ones)} of {asked} questions:",
        details=tuple(f"{one.id}: {one.question} ({' / '.join(one.options)})" for one in open_ones),
        remedy="Add them to the file given with --answers, or accept the recommended ones with --yes.",
    )


def _options(asked: OpenQuestion) -> list[str]:
    return [name + " [recommended]" * (name == asked.recommendation) for name in asked.options]


def read_answers(path: Path | None) -> dict[str, str] | None:
    """`{"answers": {id: option or text}}`, or an error with all mistakes."""
    if path is None:
        return None
    remedy = 'It should look like {"answers": {"storage": "SQLite"}}.'
    document = validation.parse_object(validation.read(path, limits.SETTINGS), name=str(path))
    answers = document.get("answers")
    if not isinstance(answers, dict):
        raise Mistakes(str(path), ["answers: missing, and required"], remedy)
    wrong = [f"answers.{name}: expected text" for name, value in answers.items() if not _is_answer(value)]
    if wrong:
        raise Mistakes(str(path), wrong, remedy)
    return answers


def _is_answer(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _meant(asked: OpenQuestion, answer: str) -> str:
    """The matching option, ignoring case, or else the person's own text."""
    wanted = answer.strip().casefold()
    return next((name for name in asked.options if name.casefold() == wanted), answer.strip())


def _ask(asked: OpenQuestion) -> str:
    options = sorted(asked.options, key=lambda option: option != asked.recommendation)
    say(f"\n{asked.question}", bold=True, hang=0)
    for letter, option in zip(string.ascii_uppercase, options, strict=False):
        _show(letter, option, asked)
    say("  Or answer in your own words." if options else "")
    return _meant(asked, letter_or_words(options, default="A" if options else None))


def _show(letter: str, option: str, asked: OpenQuestion) -> None:
    is_recommended = option == asked.recommendation
    mark = styled("  (recommended)", fg="green") if is_recommended else ""
    say(f"  {letter}. {option}", mark, hang=3)
    if asked.options[option]:
        say(f"     {asked.options[option]}", hang=0)
    if is_recommended and asked.why:
        say(f"     why: {asked.why}")
