"""Asks whether what a project's configuration names may be started here. Every command that starts any of it asks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from ralph import config as configuration
from ralph.config import Config
from ralph.config_notify import without_addresses
from ralph.errors import RalphError
from ralph.stores import last_run, lock
from ralph.text import one_line, plain
from ralph.trust import own_edits, programs
from ralph.trust.approval import Approval, ApprovalStore
from ralph.trust.programs import Kind, NamedProgram
from ralph.views.lines import say
from ralph.workflows.checks import Check
from ralph.workspace import Workspace

TRUST = "RALPH_TRUST"
EVERYTHING = frozenset(Kind)
MAX_LINES, MAX_LINE = 60, 1_000
REMEDY = "Read it, then run `ralph trust`. Where there is no terminal, as in CI: --trust, or RALPH_TRUST=1."


def trust_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--trust` to a command."""
    text = "Start what the configuration names without asking, this time (or set RALPH_TRUST=1)."
    return click.option("--trust", is_flag=True, expose_value=False, callback=_trusted, help=text)(command)


def load_trusted(workspace: Workspace, *, kinds: frozenset[Kind] = EVERYTHING) -> Config:
    """Return the configuration of a project, once the person has approved what it starts; `kinds`: what may start."""
    config = configuration.load(workspace.root)
    if os.environ.get(TRUST) != "1":
        _need_approval(workspace, config, kinds)
    return config


def approve(workspace: Workspace, config: Config) -> None:
    """Keep that the person has approved the configuration as it is now."""
    files = programs.files(workspace.root, programs.programs(workspace.root, config))
    _save(workspace.root, ApprovalStore.of(workspace), files)


def approve_new(workspace: Workspace) -> None:
    """Approve a configuration that Ralph has just written, unless there are other files that somebody else wrote."""
    if any(found for pattern in programs.BESIDES for found in workspace.root.glob(pattern)):
        return
    with suppress(RalphError):  # it cannot be kept, and the next command that needs it says why
        approve(workspace, configuration.load(workspace.root))


@contextmanager
def extending_approval(workspace: Workspace) -> Iterator[None]:
    """Approve what Ralph itself writes meanwhile, if the person has approved what was there before."""
    was_approved = False
    with suppress(RalphError):
        was_approved = _is_approved(workspace)
    yield
    with suppress(RalphError):
        if was_approved:
            approve(workspace, configuration.load(workspace.root))


def _is_approved(workspace: Workspace) -> bool:
    named = programs.programs(workspace.root, configuration.load(workspace.root))
    approval = ApprovalStore.of(workspace).load()
    return bool(approval and not approval.changed(programs.files(workspace.root, named)))


def approval_check(workspace: Workspace, config: Config) -> Check:
    """Return for `ralph doctor` whether the person has approved the configuration."""
    named = programs.programs(workspace.root, config)
    try:
        approval = ApprovalStore.of(workspace).load()
    except RalphError as error:
        return Check("bad", error.what, error.remedy)
    if approval and not approval.changed(programs.files(workspace.root, named)):
        return Check("good", "you have approved what the configuration starts")
    what = "has changed since you approved it" if approval else "is not approved yet"
    return Check("note", f"what the configuration starts {what}", "`ralph trust` shows and approves it.")


def listed(named: Iterable[NamedProgram]) -> list[str]:
    """Return programs as lines for a person."""
    return [f"{program.kind.value:<8} {one_line(_shown(program.command))}" for program in named]


def differences(approval: Approval, files: dict[str, bytes]) -> list[str]:
    """Return what has changed since the approval as lines for a person."""
    return [_shown(without_addresses(line)) for line in approval.difference(files)]


def _trusted(_: click.Context, __: click.Parameter, given: bool) -> None:
    if given:
        os.environ[TRUST] = "1"


def _need_approval(workspace: Workspace, config: Config, kinds: frozenset[Kind]) -> None:
    named = programs.programs(workspace.root, config)
    if not any(program.kind in kinds for program in named):
        return
    store, files = ApprovalStore.of(workspace), programs.files(workspace.root, named)
    approval = store.load()
    changed = approval.changed(files) if approval else []
    if approval and not changed:
        return
    after_kill = last_run.was_cut_short(workspace) and lock.holder(workspace.lock) is None
    if approval and not after_kill and own_edits.are_own(workspace.root, changed, approval.origin):
        _save(workspace.root, store, files, approval)
        return
    what, lines = _question(named, files, approval, after_kill=after_kill)
    if not sys.stdin.isatty():
        raise RalphError(what, details=tuple(lines), remedy=REMEDY)
    from ralph.workflows.manual_edits import check_outside  # almost always, nothing is asked

    check_outside(workspace)
    say(what if approval else f"{what} It starts, as you:", err=True)
    for line in lines:
        say(f"  {line}", err=True)
    if not click.confirm("Do you approve it?", err=True):
        raise RalphError("Nothing was started.", remedy="`ralph trust` asks again.")
    _save(workspace.root, store, files)


def _question(
    named: tuple[NamedProgram, ...], files: dict[str, bytes], approval: Approval | None, *, after_kill: bool
) -> tuple[str, list[str]]:
    if approval is None:
        return f"You have not approved {configuration.NAME} of this project yet.", listed(named)
    who = ", and not by an edit of yours" if approval.origin.repository else ""  # without git, nothing tells
    if after_kill:
        who = ". The last run was killed, so an agent may have done it"
    what = f"What this project starts has changed since you approved it{who}."
    lines = differences(approval, files)
    more = len(lines) - MAX_LINES
    hint = [f"… and {more} more lines; `ralph trust --show` shows all of them"] if more > 0 else []
    return what, [*lines[:MAX_LINES], *hint]


def _save(root: Path, store: ApprovalStore, files: dict[str, bytes], before: Approval | None = None) -> None:
    store.save(Approval.of(files, own_edits.origin(root, files, before.origin if before else None)))


def _shown(line: str) -> str:
    """Return a line of a file without what a terminal would obey, and without the rest of a very long one."""
    more = len(line) - MAX_LINE
    text = plain(line[:MAX_LINE]).replace("\n", " ")
    return f"{text} … and {more:,} more characters" if more > 0 else text
