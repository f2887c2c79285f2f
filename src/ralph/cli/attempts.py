"""`ralph attempts`: lists every attempt, shows what it changed, restores it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from ralph import workspace as workspaces
from ralph.cli import patch
from ralph.cli.complete import attempts, targets
from ralph.errors import RalphError
from ralph.git import read as git_read
from ralph.git.read import AttemptRef, outside
from ralph.journal.reader import PastAttempt, past_attempts
from ralph.plan.model import Task
from ralph.plan.usage import Usage
from ralph.stores.findings import finding_entries
from ralph.views import spent, words
from ralph.views.lines import say, say_json, styled
from ralph.views.spent import usage_entry, used
from ralph.workflows.registry import find
from ralph.workspace import RALPH


@click.command(
    name="attempts",
    epilog="""\b
Examples:
  ralph attempts auth                      all of them, with outcome and size
  ralph attempts auth US-002/1 --diff      what an attempt changed
  ralph attempts auth US-002/1 --restore   its files, back in this checkout, uncommitted

\b
US-002 alone means its last attempt. Attempts are ordinary git refs: refs/ralph/attempts/auth/US-002/1""",
)
@click.argument("target", shell_complete=targets)
@click.argument("attempt", required=False, shell_complete=attempts)
@click.option("--diff", is_flag=True, help="Show what the attempt changed.")
@click.option("--restore", is_flag=True, help="Put the attempt's files into this checkout, uncommitted.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(target: str, attempt: str | None, diff: bool, restore: bool, as_json: bool) -> int:
    """List every attempt at the tasks of TARGET (a feature, `request`, `requirements`, `specs`), or show or
    restore one."""
    workspace = workspaces.find(Path.cwd())
    found = find(workspace, target)
    folder = found.repo
    own = (RALPH, *workspace.own_files)
    refs = git_read.attempts(folder, target)
    past = past_attempts(workspace.logs, target)
    if diff or restore:
        chosen = _choose(refs, target, attempt, "--diff" if diff else "--restore")
        base = _base(chosen, past)
        if diff:
            patch.show(git_read.show(folder, "diff", base, chosen.commit, "--", *outside(own)))
        else:
            _restore(folder, chosen, base, own)
        return 0
    shown = _matching(refs, attempt) if attempt else refs
    accepted = [task for task in found.plan() or () if task.acceptance and attempt in (None, task.id)]
    if attempt and not shown and not accepted:
        raise _no_such(refs, target, attempt, "")
    rows = [_row(folder, ref, past, own) for ref in shown]
    if as_json:
        say_json([*rows, *map(_accepted, accepted)])
        return 0
    if not rows and not accepted:
        say(f"{target} has no attempts yet.")
    for ref, row in zip(shown, rows, strict=True):
        _print(row, past.get((ref.task, ref.number)))
    for row in map(_accepted, accepted):
        _print(row, None)
    total = spent.summary(workspace.records, target)
    if total and not attempt:
        say(f"\n{total}", dim=True)
    return 0


def _accepted(task: Task) -> dict[str, object]:
    """A person's acceptance comes after a task's attempts; it is not an attempt."""
    assert task.acceptance and task.result, "only these are listed"
    return {
        "attempt": task.id,
        "outcome": task.standing,
        "inPlace": False,
        "noPage": None,
        "reason": task.acceptance.why,
        "findings": [],
        "diffstat": f"by {task.acceptance.by}" if task.acceptance.by else "by a person",
        "seconds": None,
        "agent": None,
        **usage_entry(Usage()),
        "at": task.result.completed_at,
        "commit": task.result.commit,
        "ref": "",
        "by": task.acceptance.by,
    }


def _row(
    folder: Path, ref: AttemptRef, past: dict[tuple[str, int], PastAttempt], own: tuple[str, ...]
) -> dict[str, object]:
    known = past.get((ref.task, ref.number))
    stat = git_read.show(folder, "diff", "--shortstat", _base(ref, past), ref.commit, "--", *outside(own))
    return {
        "attempt": f"{ref.task}/{ref.number}",
        "outcome": known.verdict if known else "unknown",
        "inPlace": bool(known and known.in_place),
        "evidence": (known.evidence or None) if known else None,
        "provenBy": list(known.proven_by) if known else [],
        "noPage": (known.no_page or None) if known else None,
        "reason": known.reason if known else "",
        "findings": finding_entries(known.findings) if known else [],
        "diffstat": stat.strip() or "no change",
        "seconds": known.seconds if known else None,
        "agent": (known.agent or None) if known else None,
        **usage_entry(known.usage if known else Usage()),
        "at": known.at if known else ref.date,
        "commit": ref.commit,
        "ref": ref.name,
    }


def _print(row: dict[str, object], known: PastAttempt | None) -> None:
    colours = {"passed": "green", "failed": "red", "blocked": "red", "accepted": "cyan"}
    outcome = styled(f"{row['outcome']!s:12}", fg=colours.get(str(row["outcome"]), "yellow"))
    where = f", {words.IN_PLACE}" if row["inPlace"] else ""
    evidence = f", {row['evidence']}" if row.get("evidence") else ""
    say(f"{row['attempt']!s:14} ", outcome, f" {row['diffstat']}{where}{evidence}", hang=28)
    if known:
        who = ":".join(filter(None, (known.agent, known.usage.model)))
        say(f"{'':15}{' · '.join(filter(None, (who, words.duration(known.seconds), used(known.usage))))}", dim=True)
    if row["reason"]:
        say(f"{'':15}{words.cut(words.first_line(str(row['reason'])), 300)}")
    if row["noPage"]:
        say(f"{'':15}no page was opened: {row['noPage']}", fg="yellow")
    for finding in known.findings if known else ():
        say(f"{'':15}{words.cut(str(finding), 300)}", fg=words.SEVERITY_COLOURS[finding.severity])


def _matching(refs: list[AttemptRef], wanted: str) -> list[AttemptRef]:
    task, _, number = wanted.partition("/")
    return [ref for ref in refs if ref.task == task and number in ("", str(ref.number))]


def _choose(refs: list[AttemptRef], feature: str, wanted: str | None, option: str) -> AttemptRef:
    found = _matching(refs, wanted) if wanted else []
    if not found:
        raise _no_such(refs, feature, wanted, option)
    return found[-1]


def _no_such(refs: list[AttemptRef], feature: str, wanted: str | None, option: str) -> RalphError:
    example = next((f"{ref.task}/{ref.number}" for ref in refs), "US-001/1")
    like = f"ralph attempts {feature} {example} {option}".rstrip()
    return RalphError(
        f"{feature} has no attempt {wanted!r}." if wanted else "Which attempt?",
        remedy=f"See `ralph attempts {feature}`, then for example: {like}",
    )


def _base(ref: AttemptRef, past: dict[tuple[str, int], PastAttempt]) -> str:
    """The base of the attempt: from the journal, or else the parent of its commit."""
    known = past.get((ref.task, ref.number))
    return known.base if known and known.base else f"{ref.commit}^"


def _restore(folder: Path, ref: AttemptRef, base: str, own: tuple[str, ...]) -> None:
    from ralph.git.repo import open_repo

    async def checkout() -> list[str]:
        repo = await open_repo(folder)
        ours = tuple(f"{repo.prefix}{name}" for name in own)
        status = await repo.status()
        changed = await repo.between(base, ref.commit)
        paths = [path for path in changed if not path.startswith(f"{ours[0]}/") and path not in ours]
        known = set(await repo.paths_in(await repo.head()))
        here = {path for path in paths if path not in known and os.path.lexists(repo.top / path)}
        in_the_way = sorted(here | set(paths).intersection(status.changed))
        if in_the_way:
            raise RalphError(
                "This would overwrite uncommitted changes in these files:",
                details=tuple(f"  {path}" for path in in_the_way[:10]),
                remedy="Commit or stash them first.",
            )
        await repo.checkout_paths(ref.commit, paths, repo.top)
        return paths

    paths = asyncio.run(checkout())
    say(f"Restored {words.count(len(paths), 'file')} of {ref.task}/{ref.number}, uncommitted: see `git status`.")
