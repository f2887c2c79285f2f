"""`ralph learnings`: shows what agents learned, and can append it to the project's own notes."""

from __future__ import annotations

from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli.complete import targets
from ralph.errors import RalphError
from ralph.plan.model import learn
from ralph.stores import atomic
from ralph.views.lines import say, say_json
from ralph.workflows.registry import everything, find

HEADING = "## Learnings"


@click.command(
    name="learnings",
    epilog="""\b
Examples:
  ralph learnings                          the learnings of every plan
  ralph learnings auth --into AGENTS.md    append those that the file does not have yet""",
)
@click.argument("target", required=False, shell_complete=targets)
@click.option(
    "--into",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append the learnings that this file does not have yet.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(target: str | None, into: Path | None, as_json: bool) -> int:
    """Show what agents learned while they worked on TARGET (a feature, `request`, `requirements`, `specs`), or on every
    plan."""
    workspace = workspaces.find(Path.cwd())
    found = [find(workspace, target)] if target else everything(workspace)
    texts: tuple[str, ...] = ()
    for item in found:
        plan = item.plan()
        texts = learn(texts, tuple(map(_without_bullet, plan.learnings)) if plan else ())
    if into:
        added = _add(into, texts)
        say(f"{into}: {len(added)} added, {len(texts) - len(added)} already there")
    elif as_json:
        say_json(list(texts))
    elif not texts:
        say("No learnings yet.")
    else:
        for text in texts:
            say(f"- {text}")
    return 0


def _without_bullet(text: str) -> str:
    return text.lstrip().removeprefix("- ").removeprefix("* ")


def _add(path: Path, texts: tuple[str, ...]) -> list[str]:
    """Append what the file does not have yet, under its own heading. The rest of the file does not change."""
    path = path.resolve()  # AGENTS.md is often a link
    try:
        current = path.read_text(encoding="utf-8") if path.exists() else ""
    except UnicodeDecodeError:
        raise RalphError(f"{path} is not UTF-8 text.", remedy="Name another file.") from None
    missing = [text for text in texts if text not in current]
    if missing:
        gap = "" if not current else "\n" if current.endswith("\n") else "\n\n"
        head = gap if HEADING in current else f"{gap}{HEADING}\n\n"
        if HEADING in current and current.rstrip().splitlines()[-1].startswith("- "):
            head = "" if current.endswith("\n") else "\n"
        atomic.write(path, (current + head + "".join(f"- {text}\n" for text in missing)).encode())
    return missing
