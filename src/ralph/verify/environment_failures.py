"""Detects gates that cannot run at all in a clean checkout or in the sandbox, before any agent is called."""

from __future__ import annotations

import re

from ralph.errors import RalphError
from ralph.plan.model import GateResult

UNTIL_DONE = "If the gate should fail until a task is done, use --keep-going."

REFUSED = "Read-only file system"


def last_lines(result: GateResult) -> tuple[str, ...]:
    return tuple(result.output.splitlines()[-6:])


def environment_failure(result: GateResult) -> RalphError | None:
    """Return an error that stops the run if a gate failed because something is missing rather than wrong."""
    if REFUSED in result.output:
        return RalphError(
            f"The gate `{result.command}` writes where the sandbox does not let it.",
            details=last_lines(result),
            remedy="Let it write into $TMPDIR or /tmp, or name the folder in sandbox.caches in ralph.config.json "
            f"(see docs/concepts/sandbox.md). {UNTIL_DONE}",
        )
    what = _what(result)
    if not what:
        return None
    return RalphError(
        f"The gate `{result.command}` cannot run in a clean checkout: {what}.",
        details=last_lines(result),
        remedy=(
            "Gates run on a fresh checkout of each commit. Set it up with "
            f"{_setup(result)} in ralph.config.json (see docs/guides/worktrees.md). {UNTIL_DONE}"
        ),
    )


def _what(result: GateResult) -> str:
    if result.code == 127:
        return "a command in it was not found"
    if result.code == 126:
        return "a command in it cannot be executed"
    return ""


def _setup(result: GateResult) -> str:
    command = result.command
    if re.search(r"node_modules|npm|npx|pnpm|yarn|jest|vitest|tsc|eslint", command):
        return '"worktrees": {"setup": ["npm ci"]}'
    if re.search(r"\buv\b", command):
        return '"worktrees": {"setup": ["uv sync"]}'
    if re.search(r"venv|pytest|python|mypy|ruff", command):
        return '"worktrees": {"setup": ["python3 -m venv .venv && .venv/bin/pip install -e ."]}'
    return '"worktrees": {"setup": ["…"]}'
