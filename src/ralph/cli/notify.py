"""`ralph notify test`: sends a test message to everybody whom the configuration names."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.checks import show
from ralph.cli.trusting import load_trusted, trust_option
from ralph.errors import EXIT_ERROR, RalphError
from ralph.notify.channels import Delivery, NotifyChannel, channels
from ralph.notify.message import trial_message
from ralph.trust.programs import Kind
from ralph.views.lines import say_json
from ralph.workflows.checks import Check


@click.group(name="notify")
def command() -> None:
    """Notifications: whom Ralph tells what happens in a run. `notify` in ralph.config.json names them."""


@command.command(
    name="test",
    epilog="""\b
Examples:
  ralph notify test          send a test message to each, and say what each answered
  ralph notify test --json   the same for programs

\b
Exit codes: 0 all were delivered, 1 one was not.""",
)
@trust_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def test(as_json: bool) -> int:
    """Send a test message to everybody whom `notify` in ralph.config.json names."""
    workspace = workspaces.find(Path.cwd())
    settings = load_trusted(workspace, kinds=frozenset((Kind.NOTIFIER,))).notify
    if not settings:
        raise RalphError(
            "ralph.config.json names nobody to notify.", remedy='Add "notify": [{"to": "desktop"}], for example.'
        )
    found = channels(settings, workspace)
    answers = asyncio.run(_tested(found, workspace.root.name))
    if as_json:
        say_json([{"to": one.name, "ok": answer.ok, "answer": answer.said} for one, answer in answers])
    else:
        for one, answer in answers:
            show(Check("good" if answer.ok else "bad", f"{one.name}: {answer.said}", "" if answer.ok else _remedy(one)))
    return 0 if all(answer.ok for _, answer in answers) else EXIT_ERROR


def _remedy(channel: NotifyChannel) -> str:
    """Return what to do where nothing could be sent; "" where somebody else has to."""
    try:
        channel.check()
    except RalphError as error:
        return error.remedy
    return ""


async def _tested(found: tuple[NotifyChannel, ...], project: str) -> list[tuple[NotifyChannel, Delivery]]:
    message = trial_message(project)
    answers = await asyncio.gather(*(one.send(message) for one in found))
    return list(zip(found, answers, strict=True))
