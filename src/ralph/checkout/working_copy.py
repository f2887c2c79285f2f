"""A folder with the files of one commit, in which an agent works or gates run.

It is a small repository of its own that borrows the project's objects. Changes to its refs, hooks, configuration or
index stay in it: Ralph reads only the files, with its own index.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph import safe_files
from ralph.checkout import submodules
from ralph.checkout.branch import STRAYS
from ralph.checkout.caches import is_cache
from ralph.checkout.commit_subject import SHOWN
from ralph.checkout.leaks import without_secrets
from ralph.checkout.own_folder import OwnFolder, not_made
from ralph.checkout.uncommittable import MAX_NAMED, OTHER_REPOSITORY, named, untaken
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git.files import beside, remove
from ralph.git.objects import GITLINK, blob_name, commit_object, write_object
from ralph.git.parse import TreeChange
from ralph.git.repo import failed, nul
from ralph.git.soundness import discard, not_sound, unsound
from ralph.git.trees import changes_between, entries_at, file_entry, loose_files, with_entries


class TakenWork(Frozen):
    """What an agent left in a working copy, as Ralph's own commit."""

    commit: str
    tree: str
    changes: tuple[TreeChange, ...]  # since the base, without Ralph's own files
    left_out: tuple[str, ...] = ()  # what git did not add, each with the reason
    forged: tuple[str, ...] = ()  # objects of the project's store whose content was replaced
    leaked: tuple[str, ...] = ()  # files with secrets, which are not in the commit

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes)


@dataclass
class WorkingCopy(OwnFolder):
    """A folder of Ralph's own with the files of one commit."""

    max_file_bytes: int = 0  # larger files are left out; 0: no limit
    head: str = ""  # the commit it is based on
    start: str = ""  # its files at the last reset: that commit, or a tree on top of it
    reset_at: float = 0.0  # when it was first reset for its current work
    continues: bool = False  # the next reset is for the same work as the last
    is_littered: bool = True  # it may contain files that are not in Ralph's index
    shown: dict[str, bytes] = field(default_factory=dict)  # files of Ralph's own that agents may write, as at the start
    is_new: bool = False  # the last reset created its folder, so there is nothing to clean
    _forged: set[str] = field(default_factory=set)  # objects whose content did not match their name
    _untaken: dict[str, str] = field(default_factory=dict)  # what git could not add, and why

    async def reset(self, commit: str, tree: str = "", *, plan: Mapping[str, Path] | None = None) -> None:
        """Check out `commit`, or a tree on top of it, and create a fresh small repository around the files.

        Only files that differ are written. Ignored files stay: they are caches, or were provided. With a `plan`,
        Ralph's own files come from there. The small repository has them in its newest commit, so that an agent's `git
        stash`, `git clean` or `git checkout .` does not remove them.
        """
        for repair in (self._make_writable, self._set_aside, None):
            try:
                await self._reset(commit, tree, plan)
                return
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT) or repair is None or not repair():
                    raise not_made(self.folder, RalphError(f"{error.strerror or error}.")) from None
            except RalphError:
                if repair is None or not repair():
                    raise

    async def _reset(self, commit: str, tree: str, plan: Mapping[str, Path] | None) -> None:
        self.is_new = not os.path.lexists(self.folder)
        self.check_folder()
        self._remove_untaken()
        if self.start and await self._writes_otherwise(tree or commit):
            self._wipe()
        self.head, self.start = commit, tree or commit
        self._make_repository()
        if safe_files.is_closed(self.folder):
            self._make_writable()
        shown, head = await self._with_plan(plan) if plan else (self.start, commit)
        if not self._index.is_as_left() and os.path.lexists(self.index):
            self._index.discard()
            await self._with_index("read-tree", shown, borrows=True)
            await self._with_index("update-index", "-q", "--refresh")
            self.is_littered = True
        args = ("read-tree", "--reset", "-u", shown)
        done = await self._with_index(*args, borrows=True)
        if done.code:  # something is in the way that git does not remove: start with an empty folder
            self._wipe()
            done = await self._with_index(*args, borrows=True)
        if done.code:
            raise not_made(self.folder, failed(args, self.folder, done))
        # the project may not be committed yet, so that the commit has no such folder
        self.root.mkdir(parents=True, exist_ok=True)
        self.reset_at = self.reset_at if self.continues and self.reset_at else time.time()
        (self._git / "refs" / "heads" / self.branch).write_text(f"{head}\n")
        shutil.copyfile(self.index, self._git / "index")
        await submodules.fill(self.repo, self.folder)

    def _remove_untaken(self) -> None:
        """Remove what git could not add. If a path is too long for the system, remove everything."""
        if any(len(os.fsencode(path)) > safe_files.MAX_PATH - len(os.fsencode(self.folder)) for path in self._untaken):
            self._wipe()
        else:
            for path in self._untaken:
                remove(self.folder, path)
        self._untaken.clear()

    async def _writes_otherwise(self, tree: str) -> bool:
        """Return whether `.gitattributes` differ from those of a tree; git would then write files differently."""
        before, after = await self.repo.tree_of(self.start), await self.repo.tree_of(tree)
        changes = await changes_between(self.repo, before, after)
        return any(change.path.rpartition("/")[2] == ".gitattributes" for change in changes)

    async def _with_plan(self, plan: Mapping[str, Path]) -> tuple[str, str]:
        """Return the tree to show and its parent commit, both with the plan's files.

        The new objects exist only in the small repository, where the person's `git gc` cannot delete them.
        """
        repo, store = self.repo, self._git
        files = {path: file_entry(repo, file, store=store) for path, file in plan.items()}
        without = dict.fromkeys(self.own.pathspecs)

        async def with_files(tree: str) -> str:
            return await with_entries(repo, await with_entries(repo, tree, without, store=store), files, store=store)

        commit = commit_object(await with_files(await repo.tree_of(self.head)), (self.head,), repo.ident, SHOWN)
        head = write_object(store, "commit", commit, repo.algorithm)
        return await with_files(await repo.tree_of(self.start)), head

    async def restore(self) -> None:
        """Restore tracked files to the last reset; keep everything else."""
        await self._repair_index(self.start)
        await self._insist("read-tree", "--reset", "-u", self.start)

    async def altered(self, globs: Iterable[str]) -> tuple[str, ...]:
        """Return the tracked files matching these globs that differ from the last reset or take."""
        paths = [f":(top,glob){self.repo.prefix}{glob}" for glob in globs]
        if not paths:
            return ()
        await self._repair_index(self.start)
        out = await self.repo.git(
            "diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules", "--", *paths,
            index=self.index, work_tree=self.folder, literal=False,
        )  # fmt: skip
        heads, names = out.split("\0")[:-1:2], out.split("\0")[1::2]
        changes = [
            TreeChange(path=path, old_mode=old_mode[1:], new_mode=new_mode, old=old, new=new)
            for (old_mode, new_mode, old, new, *_), path in zip((head.split(" ") for head in heads), names, strict=True)
        ]
        return tuple(change.path for change in changes if not self._is_as_in_base(change))

    async def clean(self, *, ignored: bool = True) -> None:
        """Remove everything but tracked files and what Ralph provided; ignored files only if `ignored` is set."""
        keep = [arg for path in sorted(self.provided) for arg in ("-e", f"/{path}")]
        how = "-ffdxq" if ignored else "-ffdq"
        await self._insist("clean", how, *keep, literal=False)
        self.is_littered = False
        self.root.mkdir(parents=True, exist_ok=True)

    def _make_repository(self) -> None:
        """Create a repository for the agent: it borrows objects and shares nothing else with the project's."""
        git = self._git
        remove(self.folder, git.name)
        (git / "objects" / "info").mkdir(parents=True)
        (git / "info").mkdir()
        (git / "refs" / "heads" / self.branch).parent.mkdir(parents=True)
        (git / "HEAD").write_text(f"ref: refs/heads/{self.branch}\n")
        (git / "objects" / "info" / "alternates").write_bytes(os.fsencode(self.repo.git_dir / "objects") + b"\n")
        (git / "config").write_text(self.repo.settings)
        for name in ("shallow", "info/exclude", "info/attributes"):
            if (self.repo.git_dir / name).is_file():
                shutil.copyfile(self.repo.git_dir / name, git / name)

    async def take(self, base: str, message: str, *, also: Iterable[str] = ()) -> TakenWork:
        """Commit the current files on `base`: every file that is not ignored.

        Ralph's own files are taken from `base`, except for those in `also`.
        """
        safe_files.make_accessible(self.folder.parent)
        safe_files.make_accessible(self.folder)
        if self.folder.is_symlink() or not self.folder.is_dir() or not self._index.exists():
            # the folder was removed or replaced: there is no work
            return TakenWork(commit=base, tree=await self.repo.tree_of(base), changes=())
        await self._repair_index(self.start or base)
        self._forged.clear()
        await self._stage()
        tree = await self._write_tree(base, also)
        changes = await changes_between(self.repo, await self.repo.tree_of(base), tree)
        left_out = await self._left_out(changes)
        not_taken = [change for change in changes if change.path in left_out or self._is_as_in_base(change)]
        if not_taken:
            self.is_littered |= bool(left_out)  # the next task must not find these files here
            await self._put_back(not_taken)
            tree = await self._write_tree(base, also)
            changes = await changes_between(self.repo, await self.repo.tree_of(base), tree)
        reasons = [f"{path} ({why})" for path, why in sorted(left_out.items()) if path not in self.provided]
        reasons += named(one for one in self._untaken.items() if one[0] not in left_out)
        changed = await submodules.changed(self.repo, self.folder)
        reasons += [f"{path}/ (its files changed, but it is a submodule)" for path in changed if path not in left_out]
        reasons += [f"{path} (git ignores it)" for path in await self._ignored(changes, tree)]
        clean, leaked = await without_secrets(self.repo, base, tree, changes)
        if leaked:
            tree, changes = clean, await changes_between(self.repo, await self.repo.tree_of(base), clean)
        return TakenWork(
            commit=self.repo.write_commit(tree, (base,), message),
            tree=tree,
            changes=tuple(one for one in changes if one.path not in self.own),
            left_out=tuple(reasons),
            forged=tuple(sorted(self._forged)),
            leaked=leaked,
        )

    async def _write_tree(self, base: str, also: Iterable[str] = ()) -> str:
        """Write Ralph's index as a tree; Ralph's own files come from `base`, or from disk if they are in `also`."""
        before = await self.repo.tree_of(base)
        tree = await self._indexed()
        wrong = await unsound(self.repo, before, tree)
        if wrong:
            await self._write_anew(wrong)
            tree = await self._indexed()
            if await unsound(self.repo, before, tree):
                raise not_sound(self.repo, wrong)
        entries = await entries_at(self.repo, before, self.own.pathspecs)
        written = {path: file_entry(self.repo, self.folder / path) for path in also if self.own.held}
        return await with_entries(self.repo, tree, entries | {path: entry for path, entry in written.items() if entry})

    async def tree_now(self) -> str:
        """Return the current files as a tree, without changing anything."""
        with tempfile.TemporaryDirectory(prefix="ralph-read-") as scratch:
            reader = replace(self, index_file=Path(shutil.copy2(self.index, scratch)), _own_index=None)
            return (await reader.take(await self.repo.head(), f"Seen in {self.folder}")).tree

    async def has_files_of(self, commit: str) -> bool:
        """Return whether the files at the last reset or take are those of a commit."""
        return self.index.exists() and await self._write_tree(commit) == await self.repo.tree_of(commit)

    async def _indexed(self) -> str:
        return (await self._insist("write-tree", "--missing-ok")).strip()

    async def _write_anew(self, wrong: frozenset[str]) -> None:
        """Delete these objects from the project's store and add the files again."""
        self._forged |= wrong
        discard(self.repo, wrong)
        known = await self._insist("ls-files", "--stage", "-z")  # re-adding the entries makes git check every file
        await self._insist("update-index", "-z", "--index-info", stdin=os.fsencode(known))
        await self._stage()

    async def _left_out(self, changes: tuple[TreeChange, ...]) -> dict[str, str]:
        """Return the changes that are not committed, with reasons."""
        old = await self._left_before(changes)
        odd = {change.path: old.get(change.path) or self._why_not(change) for change in changes}
        return {path: why for path, why in odd.items() if why}

    async def save_strays(self) -> str:
        """Keep files that appeared since Ralph last used this copy; return their ref, or "" if there are none."""
        safe_files.make_accessible(self.folder.parent)
        if not self.index.exists():
            return ""
        head = await self.repo.head()
        before = await self._write_tree(head)
        taken = await self.take(head, f"Found in {self.folder}")
        if taken.tree == before:
            return ""
        ref = f"{STRAYS}/{taken.commit[:12]}"
        await self.repo.keep(ref, taken.commit)
        return ref

    async def differs_from_start(self, taken: TakenWork) -> bool:
        """Return whether anything changed since the last reset."""
        if not self.start:
            return bool(taken.changes)
        changes = await changes_between(self.repo, await self.repo.tree_of(self.start), taken.tree)
        return any(change.path not in self.own for change in changes)

    def diff_command(self, base: str, now: str) -> str:
        """Return the command with which an agent sees the changes since `base`, without Ralph's own files."""
        without = (f":(top,exclude){path}" for path in self.own.pathspecs)
        return shlex.join(["git", "diff", base, now, "--", ":(top)", *without])

    async def _stage(self) -> None:
        outside = [f":(top,exclude,literal){path}" for path in (*self.own.pathspecs, *sorted(self.provided))]
        done = await self._with_index("add", "--all", "--ignore-errors", "--", ":(top)", *outside, literal=False)
        asks = done.code or done.err  # git only warns about a folder that it cannot read
        found = await untaken(self.repo, self.folder, self.index, (":(top)", *outside)) if asks else {}
        self._untaken = {path: why for path, why in found.items() if not self._is_ours(path.rstrip("/"))}

    async def _left_before(self, changes: tuple[TreeChange, ...]) -> dict[str, str]:
        """Return files that were ignored at the last reset; a changed `.gitignore` does not turn them into work."""
        if not self.reset_at or not any(change.path.endswith(".gitignore") for change in changes):
            return {}
        given = set(await self.repo.paths_in(self.start))
        return {
            change.path: "it existed before and was ignored"
            for change in changes
            if change.path not in given and self._is_older(change.path)
        }

    def _is_older(self, path: str) -> bool:
        try:
            return os.lstat(self.folder / path).st_ctime < self.reset_at
        except OSError:
            return False

    def _why_not(self, change: TreeChange) -> str:
        """Return why a change is not committed; "" if it is."""
        if change.new_mode == GITLINK and change.old_mode != GITLINK:
            self._untaken[change.path] = OTHER_REPOSITORY
            return OTHER_REPOSITORY
        if GITLINK in (change.new_mode, change.old_mode):
            return "it is a submodule, and no other repository has its new commit"
        if self.max_file_bytes and change.new_mode != "000000":
            try:
                size = os.lstat(self.folder / change.path).st_size
            except OSError:
                return ""
            if size > self.max_file_bytes:
                return f"it is {size / 1e6:.0f} MB, which exceeds commits.maxFileMb"
        return ""

    def _is_as_in_base(self, change: TreeChange) -> bool:
        """Return whether a file has exactly the base's bytes; new attributes can make git see a change."""
        if change.old_mode != change.new_mode or not change.old_mode.startswith("100"):
            return False
        return blob_name(self.folder / change.path, self.repo.algorithm) == change.old

    async def _put_back(self, changes: Iterable[TreeChange]) -> None:
        info = "".join(f"{change.old_mode} {change.old}\t{change.path}\0" for change in changes)
        await self._insist("update-index", "-z", "--index-info", stdin=os.fsencode(info))

    async def _ignored(self, changes: tuple[TreeChange, ...], tree: str) -> list[str]:
        """Return the first few ignored files that are not known caches."""
        if not await self._has_rules(changes, tree):
            return []
        out = await self.repo.git(
            "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z",
            index=self.index, work_tree=self.folder,
        )  # fmt: skip
        listed = [one for path in out.split("\0")[:-1] for one in beside(self.folder, path, self.provided)]
        return [path for path in listed if not self._is_cache(path.rstrip("/"))][:MAX_NAMED]

    async def _has_rules(self, changes: tuple[TreeChange, ...], tree: str) -> bool:
        """Return whether there are any ignore rules; the tree is read once, later changes are tracked."""
        if self.repo.ignores is None:
            known = loose_files(self.repo, tree)
            paths = await self._ignore_files() if known is None else known
            self.repo.ignores = self.repo.has_exclude_files or any(
                path.endswith(".gitignore") and path not in self.own for path in paths
            )
        self.repo.ignores |= any(change.path.endswith(".gitignore") for change in changes)
        return self.repo.ignores

    async def _ignore_files(self) -> list[str]:
        args = ("ls-files", "-z", "--", ":(top,glob)**/.gitignore")
        return (await self.repo.git(*args, index=self.index, work_tree=self.folder, literal=False)).split("\0")[:-1]

    def _is_cache(self, path: str) -> bool:
        return self._is_ours(path) or is_cache(path)

    def _is_ours(self, path: str) -> bool:
        if path in self.provided or f"{path}/" in self.own or path in self.own:
            return True
        return any(provided.startswith(f"{path}/") for provided in self.provided)  # Ralph created that folder

    async def checkout(self, commit: str, paths: Iterable[str]) -> None:
        """Check out these paths from `commit`, on disk and in Ralph's index; remove those that it lacks."""
        wanted = sorted(set(paths))
        if not wanted:
            return
        await self._repair_index(self.start or commit)
        listed = await self.repo.git("ls-tree", "-r", "-z", "--full-tree", commit)
        entries = {line.partition("\t")[2]: line for line in listed.split("\0") if line}
        info = "".join(f"{entries.get(path) or f'0 {self.repo.zero}{chr(9)}{path}'}\0" for path in wanted)
        await self._insist("update-index", "-z", "--index-info", stdin=os.fsencode(info))
        for path in wanted:
            if path not in entries:
                remove(self.folder, path)
        kept = [path for path in wanted if path in entries]
        if kept:
            await self._insist("checkout-index", "--force", "-z", "--stdin", stdin=nul(kept))
