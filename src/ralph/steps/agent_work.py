"""What in a working copy is an agent's own work, and what it must leave as it is."""

from __future__ import annotations

from ralph.checkout.commit_message import TRAILER
from ralph.checkout.working_copy import WorkingCopy
from ralph.git.parse import literal
from ralph.steps.base import Context


def given_paths(context: Context, copy: WorkingCopy) -> set[str]:
    """Return the acceptance tests as the repository names them: they are no work of the agent's."""
    tests = context.attempt.acceptance
    return {f"{copy.repo.prefix}{path}" for path in tests.paths} if tests else set()


def protected(context: Context) -> tuple[str, tuple[str, ...]]:
    """Return the commit that has the protected files as they must be, and the globs of these files."""
    tests, globs = context.attempt.acceptance, context.attempt.protect
    return (tests.commit, (*globs, *map(literal, tests.paths))) if tests else (context.base, globs)


async def person_worked(context: Context, copy: WorkingCopy) -> bool:
    """Return whether a person has committed work on the branch since the task's first attempt began."""
    task, repo, tip = context.task, copy.repo, context.base
    if not task or task.base in ("", tip) or not await repo.exists(task.base):
        return False
    ours = ("--invert-grep", f"--grep=^{TRAILER}: ")
    for commit in (await repo.git("log", "--format=%H", "--no-merges", *ours, f"{task.base}..{tip}")).split():
        if any(path not in copy.own for path in await repo.between(f"{commit}^", commit)):
            return True
    return False
