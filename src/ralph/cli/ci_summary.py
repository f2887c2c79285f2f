"""Adds a plan's report to the summary of a CI job: GitHub Actions names the file in `GITHUB_STEP_SUMMARY`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ralph.views.lines import say
from ralph.workspace import Workspace

VARIABLE = "GITHUB_STEP_SUMMARY"


def add(workspace: Workspace, target: str, environment: Mapping[str, str] = os.environ) -> None:
    """Append the report, if a CI job asks for it. A summary that cannot be written fails no run."""
    path = environment.get(VARIABLE, "")
    if not path:
        return
    from ralph.cli.report import make
    from ralph.report import markdown
    from ralph.workflows.registry import find

    text = markdown.render(*make(workspace, find(workspace, target)))
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        say(f"! The summary {path} could not be written: {error.strerror}.", fg="yellow", err=True)
