"""The checkout on whose branch tasks land: Ralph's alone while they are done, let go when the run ends."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from ralph.errors import RalphError
from ralph.git.repo import OWN, Repo
from ralph.loop.place import STRAYS, Place

ELSEWHERE = re.compile(r"already (?:checked out|used by worktree) at '(.+)'")


async def take(inside: Repo, outside: Repo, branch: str, option: str) -> None:
    """A worktree that stands on no branch goes to its own; what only it had is kept."""
    status = await inside.status()
    if status.branch:
        return
    exists = await inside.has_branch(branch)
    goal = branch if exists else await outside.head()
    if (await inside.ask("merge-base", "--is-ancestor", status.head, goal)).code:
        await inside.keep(f"{STRAYS}/{status.head[:12]}", status.head)
    where = (branch,) if exists else ("--create", branch, goal)
    try:
        await inside.git(*OWN, "switch", "--quiet", "--no-overwrite-ignore", *where)
    except RalphError as error:
        raise elsewhere(error, branch, option) or error from None


def elsewhere(error: RalphError, branch: str, option: str) -> RalphError | None:
    """What to say if git refuses because another checkout has the branch; None: that is not why."""
    found = ELSEWHERE.search("\n".join((error.what, *error.details)))
    if not found:
        return None
    return RalphError(
        f"The branch {branch} is checked out in {found[1]}.",
        remedy=f"Check another one out there (git -C {found[1]} switch -), or run without {option}.",
    )


async def not_made(repo: Repo, folder: Path, error: RalphError) -> RalphError:
    """What could not be made goes again; what to say about it."""
    shutil.rmtree(folder, ignore_errors=True)
    await repo.ask("worktree", "prune")
    return RalphError(
        f"The worktree {folder} could not be made.",
        details=(error.what, *error.details),
        remedy="Free some space or correct the permissions, then run again; nothing is lost.",
    )


async def let_go(inside: Repo, branch: str) -> None:
    """The checkout stays where it is, and the branch is free for a person to check out."""
    if inside.is_on(branch):
        await inside.ask("update-ref", "--no-deref", "-m", "ralph: let go", "HEAD", await inside.head())


async def let_go_if_clean(inside: Repo, branch: str) -> None:
    """A killed run could not let go of its branch. Where somebody's work is, it stays."""
    status = await inside.status()
    if status.branch == branch and not (status.changed or status.unmerged or status.untracked):
        await let_go(inside, branch)


async def reclaim(home: Place) -> str:
    """While tasks are done side by side only Ralph moves their branch: anybody else's move is kept, and undone.

    Returns the ref under which it is kept; empty: the branch is where Ralph put it.
    """
    repo, ref = home.repo, f"refs/heads/{home.branch}"
    if not home.tip or (repo.is_on(home.branch) and await repo.head() == home.tip):
        return ""
    kept = ""
    for name in ("HEAD", ref):
        commit = (await repo.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).out.decode().strip()
        if commit and commit != home.tip:
            kept = f"{STRAYS}/{commit[:12]}"
            await repo.keep(kept, commit)
    await repo.git("symbolic-ref", "HEAD", ref)
    await repo.git("update-ref", ref, home.tip)
    await tidy(home)
    return kept or ref


async def tidy(home: Place, *, after_gates: bool = False) -> None:
    """Before work is brought together here: nothing lies about that is not the branch's own."""
    status = await home.repo.status()
    half_done = set(home.repo.half_done()) - {"MERGE_MSG"}  # this one stays when work has landed
    if status.changed or status.unmerged or status.untracked or half_done:
        if not after_gates:
            await home.keep_strays()
        await sweep(home)


async def sweep(home: Place) -> None:
    """Back to the branch's own files; what gates left is nobody's."""
    await home.clear()
    await home.repo.git("clean", "--quiet", "-d", "--force")
