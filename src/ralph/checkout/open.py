"""Opens what a run works on: the repository, the target's branch and the plan on it."""

from __future__ import annotations

from pathlib import Path

from ralph.checkout.branch import TargetBranch
from ralph.checkout.own_files import OwnFiles
from ralph.checkout.pending import follow
from ralph.checkout.plan_worktree import PlanWorktree
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git import locks
from ralph.git.repo import SEALED, Repo, open_repo
from ralph.process.redaction import Secrets
from ralph.process.spawn import capture
from ralph.workspace import Workspace

BRANCH_PREFIX = "ralph/"


class CheckoutRequest(Frozen):
    """Which branch a target's work lands on, and which files of the person's checkout are copied to it."""

    target: str
    branch: str
    carry: tuple[str, ...] = ()  # files of an uncommitted plan, relative to the project root
    own_files: tuple[str, ...] = ()  # Ralph's files outside `.ralph/`, relative to the project root; folders end in "/"
    defers_commit: bool = False  # passed work stays pending until its spec is complete
    folder: str = ""  # the application's folder, relative to the project root; it may be a repository of its own

    @property
    def name(self) -> str:
        """The name of its worktree."""
        return self.branch.removeprefix(BRANCH_PREFIX).replace("/", "-")


class OpenCheckout(Frozen):
    """What a run needs from git."""

    branch: TargetBranch
    plans: PlanWorktree
    own: OwnFiles
    project: Path  # the folder with the plan's files

    async def close(self, *, committed: bool) -> None:
        """Release the branch to the person; a plan that is not committed keeps its files."""
        if self.own.held and not committed:
            self.branch.expected = self.branch.expected or await self.branch.plan_tip()
            self.plans.release()
        else:
            await self.plans.remove()

    async def cancel(self, *, committed: bool) -> None:
        """Close after a run that was refused: a branch that this run created is deleted, so the plan stays editable."""
        if self.plans.is_new:
            await self.plans.remove()
            await self.branch.repo.move((self.branch.ref, "", await self.branch.tip()))
        else:
            await self.close(committed=committed)


async def open_checkout(
    workspace: Workspace,
    wanted: CheckoutRequest,
    owner: str,
    *,
    secrets: Secrets,
    known_tip: str = "",
    committed: bool = True,
    catch_up: bool = False,
) -> OpenCheckout:
    """Open the branch, created from the person's last commit if it is new; the person's files are not touched.

    No commit that Ralph makes in it contains one of `secrets`.

    `catch_up`: fast-forward the branch to the person's newer commits, unless a killed run's plan belongs to its tip.
    """
    repo = await open_repo(workspace.root / wanted.folder)
    repo.owner, repo.secrets = owner, secrets
    await locks.release(repo.git_dir, branches=(wanted.branch,))
    head = repo.opened_at
    if not head:
        raise RalphError(
            "This repository has no commits yet.", remedy="Create the first commit: git add . && git commit"
        )
    own = _own_files(workspace, repo, wanted)
    branch = TargetBranch(repo=repo, name=wanted.branch, target=wanted.target, defers_commit=wanted.defers_commit)
    plans = PlanWorktree(
        repo=repo, folder=workspace.worktrees / wanted.name, branch=branch, own=own, committed=committed
    )
    for lock in (*workspace.worktrees.glob("*/*.index*.lock"), *workspace.clean_copies.glob("*.index*.lock")):
        lock.unlink(missing_ok=True)  # a killed git left it; only this run uses these indexes
    if catch_up and not known_tip:
        await branch.catch_up(head)
    await follow(branch, own)
    await plans.open(known_tip=known_tip)
    if own.held:
        plans.carry(workspace.root, wanted.carry, over=plans.is_new)
    project = plans.root if own.held else workspace.root
    return OpenCheckout(branch=branch, plans=plans, own=own, project=project)


def _own_files(workspace: Workspace, repo: Repo, wanted: CheckoutRequest) -> OwnFiles:
    names = tuple(dict.fromkeys((*workspace.own_files, *wanted.own_files)))
    top, root = repo.top.resolve(), workspace.root.resolve()
    if not root.is_relative_to(top):
        return OwnFiles(names=names, held=False)
    prefix = f"{root.relative_to(top)}/" if root != top else ""
    return OwnFiles(prefix=prefix, names=names)


async def fast_forward(repo: Repo, branch: str) -> str:
    """Fast-forward the person's current branch, as `git merge --ff-only` does; return why it failed, or ""."""
    current = await repo.current()
    if not current:
        return f"No branch is checked out in {repo.top}, so Ralph fast-forwarded none to {branch}."
    env = {**repo.environment, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    args = [
        "git",
        *SEALED,
        "-c",
        "advice.diverging=false",
        "merge",
        "--ff-only",
        "--no-overwrite-ignore",
        "--quiet",
        branch,
    ]
    done = await capture(args, cwd=repo.top, env=env)
    if done.code == 0:
        return ""
    message = done.err.decode(errors="replace").strip().splitlines()
    why = message[0].removeprefix("fatal: ").removeprefix("error: ") if message else "git refused."
    files = ", ".join(line.strip() for line in message if line.startswith("\t"))  # the files that block the merge
    why += f" {files}." if files else ""
    what = f"Ralph could not fast-forward your branch {current} to {branch}"
    return f"{what}: {why} To merge it yourself: git merge {branch}"
