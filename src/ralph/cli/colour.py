"""Whether output is coloured: by `--color`, else by the environment, else if it is a terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

CHOICES = ("auto", "always", "never")


def wanted(choice: str, environment: Mapping[str, str]) -> bool | None:
    """True or False for every stream; None: only terminals are coloured."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if any(environment.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return False if environment.get("TERM") == "dumb" else None


def _apply(context: click.Context, _: click.Parameter, choice: str | None) -> None:
    if choice is not None:
        context.color = wanted(choice, os.environ)


def option(*, is_group: bool) -> click.Option:
    """`--color`: accepted before and after the command; the help shows it once."""
    return click.Option(
        ["--color"],
        type=click.Choice(CHOICES),
        default="auto" if is_group else None,
        show_default=is_group,
        hidden=not is_group,
        expose_value=False,
        callback=_apply,
        help="Colour the output; auto: on a terminal, unless NO_COLOR is set.",
    )
