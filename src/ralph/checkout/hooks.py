"""The person's commit hooks, run in a working copy on the work that is to be committed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ralph.checkout.subject import head_of
from ralph.checkout.working_copy import WorkingCopy
from ralph.errors import RalphError
from ralph.git.repo import HOOKS_TIMEOUT
from ralph.process.spawn import capture


@dataclass(frozen=True, kw_only=True)
class HookedCommit:
    """What came of a commit with hooks."""

    commit: str = ""
    refused: str = ""  # why there is none
    output: str = ""


async def commit_with_hooks(
    copy: WorkingCopy, base: str, work: str, message: str, env: Mapping[str, str], *, owner: str
) -> HookedCommit:
    """Commit `work` on `base` as a person would; hooks may change what is staged. The copy has the files of `work`."""
    repo, copy.is_littered = copy.repo, True  # hooks may leave anything
    marked = {**env, "GIT_OBJECT_DIRECTORY": str(repo.git_dir / "objects"), "GIT_TERMINAL_PROMPT": "0"}
    argv = [
        "git", "-c", f"core.hooksPath={repo.hooks()}", "-c", "commit.gpgSign=false", "-c", "gc.auto=0",
        "commit", "--quiet", "--allow-empty", "--message", message,
    ]  # fmt: skip
    try:
        done = await capture(argv, cwd=copy.folder, env=marked, seconds=HOOKS_TIMEOUT, owner=owner)
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
    if tree == await repo.tree_of(work):
        return HookedCommit(commit=work)
    return HookedCommit(commit=repo.write_commit(tree, (base,), "What the hooks made of it"))
