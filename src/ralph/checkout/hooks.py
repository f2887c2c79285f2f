"""The person's commit hooks, run in a working copy on the work that is to be committed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ralph.checkout.subject import head_of
from ralph.checkout.working_copy import WorkingCopy
from ralph.errors import RalphError
from ralph.git.repo import HOOKS_TIMEOUT
from ralph.process.spawn import Captured, capture

TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S")


@dataclass(frozen=True, kw_only=True)
class HookedCommit:
    """What came of a commit with hooks."""

    commit: str = ""
    refused: str = ""  # why there is none
    output: str = ""
    subject: str = ""  # the message's first line, which hooks may have changed
    trailers: tuple[str, ...] = ()  # what they added to the message, such as a Change-Id


async def commit_with_hooks(
    copy: WorkingCopy, base: str, work: str, message: str, env: Mapping[str, str], *, owner: str
) -> HookedCommit:
    """Commit `work` on `base` as a person would; hooks may change files and the message. The copy has those of `work`.

    A hook that formats files and refuses gets what it changed staged, and is asked once more: as people do.
    """
    repo, copy.is_littered = copy.repo, True  # hooks may leave anything
    marked = {**env, "GIT_OBJECT_DIRECTORY": str(repo.git_dir / "objects"), "GIT_TERMINAL_PROMPT": "0"}
    git = ("git", "-c", f"core.hooksPath={repo.hooks()}", "-c", "commit.gpgSign=false", "-c", "gc.auto=0")

    async def run(*args: str) -> Captured:
        return await capture([*git, *args], cwd=copy.folder, env=marked, seconds=HOOKS_TIMEOUT, owner=owner)

    commit = ("commit", "--quiet", "--allow-empty", "--message", message)
    try:
        done = await run(*commit)
        if done.code and (await run("diff", "--quiet")).code == 1:
            await run(
                "add", "--update", "--", ":(top)", *(f":(top,exclude,literal){path}" for path in copy.own.pathspecs)
            )
            done = await run(*commit)
    except RalphError as error:
        return HookedCommit(refused=error.what)
    output = (done.out + done.err).decode(errors="replace")
    if done.code:
        return HookedCommit(refused=f"exit code {done.code}", output=output)
    made = head_of(copy.folder)
    own = await repo.between(work, made) if made else ()
    if not made or any(path in copy.own and os.fsdecode(path) for path in own):
        return HookedCommit(refused="it changed Ralph's own files", output=output)
    tree = await repo.tree_of(made)
    if tree != await repo.tree_of(work):
        work = repo.write_commit(tree, (base,), "What the hooks made of it")
    lines = (await repo.git("log", "-1", "--format=%B", made)).strip().splitlines()
    added = tuple(line for line in lines[1:] if TRAILER.match(line) and line not in message)
    return HookedCommit(commit=work, subject=lines[0] if lines else "", trailers=added)
