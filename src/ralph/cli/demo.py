"""`ralph demo`: shows the main use, with nothing to install and no account."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from pathlib import Path

import click

from ralph import config as configuration
from ralph.cli import ui
from ralph.cli.run import run_target
from ralph.cli.running_options import RunFlags
from ralph.demo.show import FEATURE, Demo, prepare
from ralph.errors import EXIT_DONE, EXIT_UNFINISHED, RalphError
from ralph.plan.work import Ending
from ralph.process.blocking import hand_over
from ralph.views.lines import say
from ralph.workflows.registry import find
from ralph.workspace import Workspace

STORY = """This is a real run on a small sample project: real git, real gates, a real retry. Only the agent is scripted.
It claims to be done while a test fails. Watch Ralph catch it.
"""

HAPPENED = """
What happened
  US-001: the agent said DONE, but the gate failed. Ralph sent it back with the failure in its prompt.
  US-002: passed its gates, but the final verification found tests missing and reset it.
  The feature was complete only when every gate passed and the final verification agreed.
"""
OWN = """
With your own agent, in your own project
  ralph init --provider claude --verify "your test command"
  ralph plan my-feature "What it should do"
  ralph run my-feature"""


@click.command(name="demo")
@click.option(
    "--into", type=click.Path(path_type=Path), help="Create the sample project here instead of in a temporary folder."
)
@click.option("--ui", "with_ui", is_flag=True, help="Show it in the dashboard, in a browser.")
def command(into: Path | None, with_ui: bool) -> int:
    """Watch a complete run in seconds: a scripted agent makes a false claim, is caught, retries, and is reviewed."""
    if with_ui:
        ui.check_installed()
    if into and into.exists() and any(into.iterdir()):
        raise RalphError(f"{into} is not empty.", remedy="Name a folder that does not exist yet.")
    folder = into.resolve() if into else Path(tempfile.mkdtemp(prefix="ralph-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    demo = prepare(folder)
    say(STORY)
    workspace = Workspace(root=demo.project)
    target = find(workspace, FEATURE)
    if with_ui:
        return _in_dashboard(demo)
    ended = run_target(workspace, configuration.load(demo.project), target, RunFlags())
    return _tell(demo, ended.ending is Ending.DONE)


def _in_dashboard(demo: Demo) -> int:
    """Run the demo in a process of its own, and show it until the person has seen enough."""
    from ralph.web.address import Address

    codes: list[int] = []

    def run() -> None:
        command = [sys.executable, "-P", "-m", "ralph", "-C", str(demo.project), "run", FEATURE, "--trust"]
        codes.append(_tell(demo, hand_over(command) == EXIT_DONE))
        say("\nThe dashboard stays open until you press Ctrl-C.")

    running = threading.Thread(target=run)
    ui.show((demo.project,), Address(), then=running.start)
    if running.ident:
        running.join()
    return codes[0] if codes else EXIT_UNFINISHED


def _tell(demo: Demo, is_done: bool) -> int:
    """Say what happened, and what to try next."""
    if not is_done:
        return EXIT_UNFINISHED
    ralph = "ralph" if shutil.which("ralph") else sys.argv[0]
    commands = {
        f"git -C {demo.project} log --oneline ralph/kelvin": "one commit for each task, work and state together",
        f"{ralph} -C {demo.project} attempts {FEATURE}": "every attempt, including the failed ones",
        f"{ralph} -C {demo.project} logs": "what happened, event by event",
    }
    say(HAPPENED)
    say(f"To explore it ({demo.project})")
    for text, what in commands.items():
        say(f"  {text}\n      {what}")
    say(OWN)
    return 0
