"""What was changed in a working copy, without adding any object to the project's repository."""

from __future__ import annotations

from ralph.checkout.caches import is_cache
from ralph.checkout.working_copy import WorkingCopy


async def changed_files(copy: WorkingCopy) -> tuple[str, ...]:
    """Return the paths of files in the project that were added, changed or removed since the last reset."""
    tracked = await copy.altered(("**",))
    out = await copy.repo.git(
        "ls-files", "--others", "--exclude-standard", "-z", "--", f":(top){copy.repo.prefix}",
        index=copy.index, work_tree=copy.folder, literal=False,
    )  # fmt: skip
    added = [path for path in out.split("\0")[:-1] if path not in copy.provided and not is_cache(path)]
    return tuple(path for path in dict.fromkeys((*tracked, *added)) if path not in copy.own)
