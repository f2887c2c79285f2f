"""Whose the uncommitted files are when a run begins: a person's, another target's, or its own from last time."""

from __future__ import annotations

from ralph.errors import RalphError
from ralph.loop.place import Left, Place


async def claim(place: Place, target: str) -> None:
    """Find out whose the uncommitted files are; a person's tracked ones stop the run."""
    status = await place.repo.status()
    changed = [path for path in (*status.changed, *status.unmerged) if not place.is_own(path)]
    ours: set[str] = set()
    for left in place.lefts():
        untouched = await _untouched(place, left)
        ours |= untouched
        if left.target == target and left.held:  # passed work that a person has changed is neither lost nor taken
            changed += sorted((await _changed_by(place, left, left.held) - untouched).intersection(status.untracked))
        if left.target != target and untouched:
            # Another target's work makes room: it is safe in its ref, and comes back with its own run.
            await place.repo.lay(status.head, sorted(untouched), stage=True)
            changed = [path for path in changed if path not in untouched]
    theirs = sorted(path for path in changed if path not in ours)
    if theirs:
        raise dirty(theirs, holds=any(left.held for left in place.lefts()))
    present = {path for path in ours if path in status.untracked and (place.repo.top / path).exists()}
    place.made, place.foreign = present, set(status.untracked) - ours


async def bring_back(place: Place, target: str, passed: frozenset[str] = frozenset()) -> None:
    """Put a target's uncommitted work back on disk, if it is not there and nothing else was built since.

    Held work whose tasks have not `passed` any more, by the plan, was taken back by a person.
    """
    left = next((left for left in place.lefts() if left.target == target), None)
    if left is None or not await _exists(place, left):
        return
    if left.held and not passed.intersection(left.tasks.split(",")):
        place.forget_left(target)
        return
    moved = {path for path in await place.repo.between(left.parent, "HEAD") if not place.is_own(path)}
    if moved and not place.holds:
        place.forget_left(target)
        return
    paths = await _changed_by(place, left, left.commit) - moved
    status = await place.repo.status()
    theirs = {*status.changed, *status.untracked}  # whatever is on disk by now is a person's or as it should be
    missing = sorted(await place.repo.differing(left.commit, paths) - theirs)
    await place.repo.lay(left.commit, missing, stage=False)
    status = await place.repo.status()
    place.made |= set(status.untracked).intersection(paths) - place.foreign
    if left.held:
        place.held, place.held_for = left.held, tuple(left.tasks.split(","))
        place.held_on = await place.repo.resolve(f"{left.held}^")
        place.brought = tuple(missing)
        await place.ground()


async def _changed_by(place: Place, left: Left, commit: str) -> set[str]:
    return {path for path in await place.repo.between(left.parent, commit) if not place.is_own(path)}


async def _untouched(place: Place, left: Left) -> set[str]:
    """The files of a left-over that are on disk just as the attempt left them."""
    if not await _exists(place, left):
        return set()
    found: set[str] = set()
    commits = [commit for commit in (left.commit, left.also) if commit]
    paths = {path for commit in commits for path in await place.repo.between(left.parent, commit)}
    paths = {path for path in paths if not place.is_own(path)}
    for commit in commits:
        found |= paths - await place.repo.differing(commit, paths)
    return found


async def _exists(place: Place, left: Left) -> bool:
    commits = (left.commit, left.parent, left.also or left.commit)
    asked = [await place.repo.ask("cat-file", "-e", f"{commit}^{{commit}}") for commit in commits]
    if not any(done.code for done in asked):
        return True
    place.forget_left(left.target)
    return False


def dirty(paths: list[str], *, holds: bool = False) -> RalphError:
    shown = tuple(f"  {path}" for path in paths[:10])
    more = (f"  … and {len(paths) - 10} more",) if len(paths) > 10 else ()
    return RalphError(
        "There are uncommitted changes that are not Ralph's:",
        details=shown + more,
        remedy="Commit them, or put them back as they were."
        if holds
        else "Commit or stash them; a feature can also leave them alone and run with --worktree.",
    )
