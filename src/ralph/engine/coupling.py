"""Couples an attempt's work with the branch, or with work that lands before it, and says whether they conflict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from ralph.checkout.branch import TargetBranch
from ralph.engine.train import Car, Coupling, Train
from ralph.git.trees import changes_between
from ralph.journal.events import Coupled
from ralph.plan.work import Work

if TYPE_CHECKING:
    from ralph.engine.run import Run

MAX_CONFLICTS = 5
MAX_CONFLICT_TEXT = 3_000


def train_to(run: Run, line: str) -> Train:
    """Return a new train to a line, or to the branch."""
    branch = run.branch
    assert branch, "only work on a branch lands"

    def coupled(car: Car) -> None:
        ahead = tuple(one.name for one in car.ahead if not one.has_landed)
        run.emit(Coupled(work=car.name, attempt=car.number, ahead=ahead, again=car.couplings > 1))

    async def tip() -> str:
        return await branch.tip(line)

    places = run.config.verify.jobs or run.jobs
    return Train(tip=tip, couple=partial(couple, run, branch, tip), places=places, coupled=coupled)


def count_conflict(run: Run, work: Work) -> bool:
    """Count a conflict of some work with what has landed; return whether a person must decide now."""
    run.conflicts[work.id] = run.conflicts.get(work.id, 0) + 1
    return run.conflicts[work.id] > MAX_CONFLICTS


async def couple(run: Run, branch: TargetBranch, tip: Callable[[], Awaitable[str]], car: Car, onto: str) -> Coupling:
    """Return a car's work on top of a commit; its own commit, if nothing but state has changed since it began."""
    repo = branch.repo
    if car.base == onto:
        return Coupling(commit=car.commit, base=car.base)
    fork = await repo.merge_base(car.base, onto)
    if fork != car.base:
        # some of what is ahead has landed since it was coupled, as other commits, on which this attempt began
        landed = await tip()
        onto = repo.write_commit(await repo.tree_of(onto), (onto, landed), "What lands before, and has landed")
        fork = await repo.merge_base(car.base, onto)
    if await same_code(run, branch, await repo.tree_of(fork), await repo.tree_of(onto)):
        return Coupling(commit=car.commit, base=car.base)
    tree, conflicts = await merged(run, branch, car, onto)
    if conflicts:
        return Coupling(base=onto, is_merged=True, conflict=await _conflict(run, branch, onto, tree, conflicts))
    commit = repo.write_commit(tree, (onto,), f"{car.name} together with what lands before it")
    return Coupling(commit=commit, base=onto, is_merged=True)


async def merged(run: Run, branch: TargetBranch, car: Car, onto: str) -> tuple[str, list[str]]:
    """Merge a car's work with a commit; return the tree, and the files other than Ralph's own that conflict."""
    repo = branch.repo
    tree = await repo.tree_of(car.commit)
    if car.base == onto:
        return tree, []
    squashed = repo.write_commit(tree, (car.base,), "What an attempt made")
    tree, conflicts = await repo.merged(onto, squashed)
    return tree, [path for path in conflicts if path not in run.own]


async def same_code(run: Run, branch: TargetBranch, one: str, other: str) -> bool:
    """Return whether two trees differ in nothing but Ralph's own files."""
    return one == other or all(change.path in run.own for change in await changes_between(branch.repo, one, other))


async def _conflict(run: Run, branch: TargetBranch, onto: str, tree: str, paths: list[str]) -> str:
    both = await branch.repo.git("diff-tree", "-p", onto, tree, "--", *paths)
    both = run.secrets.text(both.encode(errors="replace").decode())
    shown = both if len(both) <= MAX_CONFLICT_TEXT else both[: MAX_CONFLICT_TEXT - 1] + "…"
    return f"It conflicts with work that landed after this attempt began, in {', '.join(paths)}:\n\n{shown}"
