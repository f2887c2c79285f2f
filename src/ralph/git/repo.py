"""One checkout, as the engine uses it: few git processes, each asked for as much as it can tell."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph.errors import RalphError
from ralph.git import locks
from ralph.git.answers import Commit, Status, parse_log, parse_status
from ralph.git.files import is_behind_link, is_folder, remove
from ralph.process.environment import for_git
from ralph.process.spawn import Captured, capture
from ralph.process.table import birth_of

QUIET = (
    "-c", "core.quotePath=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "advice.detachedHead=false",
    "-c", "core.fsmonitor=false",
)  # fmt: skip
HOOKS = 1800.0
"""Seconds a commit may take: a project's hooks may run its tests."""

HALF_DONE = (
    "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply",
    "sequencer",
)  # fmt: skip

INDEX = "ralph-index-"
FAST = ("-c", "checkout.workers=4")
"""Many files are written at the same time: on a busy disk several times faster."""

OWN = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
"""Ralph's own commits and switches: no hooks, no signature that would ask a person for something."""


@dataclass
class Repo:
    """Git in one checkout."""

    top: Path
    prefix: str  # the project's root below `top`, "" or "sub/folder/"
    git_dir: Path
    common_dir: Path
    identity: Mapping[str, str] = field(default_factory=dict)  # used where a person has set none
    owner: str = ""  # the run on whose behalf git and its hooks work
    environment: Mapping[str, str] = field(default_factory=lambda: for_git(os.environ), repr=False)

    @property
    def env(self) -> dict[str, str]:
        return {
            **self.environment,
            **self.identity,
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }

    async def ask(
        self, *args: str, stdin: bytes = b"", index: Path | None = None, literal: bool = True, seconds: float = 120
    ) -> Captured:
        """Run git, whatever it answers."""
        env = self.env
        if index:
            env["GIT_INDEX_FILE"] = str(index)
        if literal:
            env["GIT_LITERAL_PATHSPECS"] = "1"
        return await capture(
            ["git", *QUIET, *args], cwd=self.top, env=env, stdin=stdin, seconds=seconds, owner=self.owner
        )

    async def git(self, *args: str, stdin: bytes = b"", index: Path | None = None, literal: bool = True) -> str:
        """Run git and insist that it succeeds."""
        done = await self.ask(*args, stdin=stdin, index=index, literal=literal)
        if done.code:
            verb = next((arg for arg in args if not arg.startswith("-") and "=" not in arg), args[0])
            message = done.err.decode(errors="replace").strip() or done.out.decode(errors="replace").strip()
            raise RalphError(
                f"git {verb} failed in {self.top}: {message.splitlines()[0] if message else 'no message'}",
                details=tuple(message.splitlines()[1:6]),
            )
        return done.out.decode(errors="surrogateescape")

    async def status(self) -> Status:
        out = await self.git(
            "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty"
        )
        return parse_status(out)

    async def head(self) -> str:
        """The commit that is checked out, read from its file where it has one: no process for that."""
        head = _line_in(self.git_dir / "HEAD")
        if head.startswith("ref: "):
            head = _line_in(self.common_dir / head.removeprefix("ref: "))
        return head if len(head) in (40, 64) and head.isalnum() else await self.resolve("HEAD")

    def linked(self, folder: Path) -> Repo:
        """A worktree of this repository, as its own file says; no process for that."""
        git_dir = Path(_line_in(folder / ".git").removeprefix("gitdir: "))
        return replace(self, top=folder, git_dir=git_dir)

    def is_on(self, branch: str) -> bool:
        """Whether this is the branch that is checked out."""
        return _line_in(self.git_dir / "HEAD") == f"ref: refs/heads/{branch}"

    def points_to(self, ref: str, commit: str) -> bool:
        """Whether a ref's own file says so; False may only mean that git keeps it elsewhere."""
        return _line_in(self.common_dir / ref) == commit

    async def commits_since(self, base: str) -> tuple[Commit, ...] | None:
        """What was committed on top of `base`, newest first; None if HEAD does not descend from it."""
        border = os.urandom(12).hex()  # a subject or a file name can hold anything but this
        done = await self.ask(
            "log", "-z", f"--format={border}%m%H %P{border}%s{border}", "--left-right", "--name-only", "--no-renames",
            "--diff-merges=first-parent", f"{base}...HEAD",
        )  # fmt: skip
        if done.code:
            return None
        return parse_log(done.out.decode(errors="surrogateescape"), border)

    async def said(self, commit: str, line: str) -> bool:
        """Whether a commit, or one before it, has this line in its message."""
        found = await self.git("log", "--fixed-strings", f"--grep={line}", "--format=%B", commit)
        return line in found.splitlines()

    async def changed_since(self, commit: str, *globs: str) -> tuple[str, ...]:
        """Tracked paths whose content on disk differs from `commit`'s, filtered by globs if there are any."""
        paths = [f":(top,glob){glob}" for glob in globs]
        out = await self.git(
            "diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=dirty", commit, "--", *paths,
            literal=False,
        )  # fmt: skip
        return tuple(filter(None, out.split("\0")))

    async def tampered_since(self, commit: str, globs: Sequence[str]) -> tuple[str, ...]:
        """Like `changed_since`, but through an index of our own: nothing an agent told git's index counts."""
        strict = ("-c", "core.trustctime=true", "-c", "core.ignoreStat=false", "-c", "core.checkStat=default")
        paths = [f":(top,glob){glob}" for glob in globs]
        async with self._index_of(commit) as index:
            await self.ask(*strict, "update-index", "-q", "--refresh", index=index)
            out = await self.git(
                *strict, "diff-files", "--name-only", "-z", "--ignore-submodules=dirty", "--", *paths,
                index=index, literal=False,
            )  # fmt: skip
        return tuple(filter(None, out.split("\0")))

    @asynccontextmanager
    async def _index_of(self, commit: str) -> AsyncIterator[Path]:
        """An index of our own that holds a commit's tree and knows nothing of what is on disk."""
        index = self.git_dir / f"{INDEX}{os.getpid()}"
        try:
            await self.git("read-tree", commit, index=index)
            yield index
        finally:
            index.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Killed runs leave indexes of their own, here and in other worktrees."""
        for folder in (self.common_dir, *(self.common_dir / "worktrees").glob("*")):
            for index in folder.glob(f"{INDEX}*"):
                owner = index.name.removeprefix(INDEX).removesuffix(".lock")
                if not owner.isdigit() or not birth_of(int(owner)):
                    index.unlink(missing_ok=True)

    async def reveal(self, paths: Iterable[str]) -> None:
        """Take back what an agent told git's index about paths it is not to look at."""
        for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
            await self.ask("update-index", flag, "-z", "--stdin", stdin=_nul(paths))

    async def untracked_matching(self, globs: Sequence[str]) -> tuple[str, ...]:
        """Untracked files, ignored ones too, that match a glob."""
        paths = [f":(top,glob){glob}" for glob in globs]
        out = await self.git("ls-files", "--others", "-z", "--full-name", "--", *paths, literal=False)
        return tuple(filter(None, out.split("\0")))

    async def between(self, old: str, new: str) -> tuple[str, ...]:
        """Paths that differ between two commits."""
        out = await self.git("diff-tree", "-r", "--name-only", "-z", "--no-renames", old, new)
        return tuple(filter(None, out.split("\0")))

    async def commit_own(self, paths: Iterable[str], message: str) -> bool:
        """Commit just these paths, without hooks and without touching anything else; False: nothing to do."""
        wanted = list(paths)
        done = await self._commit_only(wanted, message)
        if done.code and b"did not match any file" in done.err:
            wanted = [path for path in wanted if path not in await self._ignored(wanted)]
            await self._stage(wanted)
            done = await self._commit_only(wanted, message)
        if done.code and done.err:
            raise RalphError(f"git commit failed in {self.top}: {done.err.decode(errors='replace').strip()}")
        return done.code == 0

    async def _commit_only(self, paths: list[str], message: str) -> Captured:
        if not paths:
            return Captured(code=1, out=b"", err=b"")
        return await self.ask(
            *OWN, "commit", "--quiet", "--no-verify", "--message", message, "--only",
            "--pathspec-from-file=-", "--pathspec-file-nul", stdin=_nul(paths),
        )  # fmt: skip

    async def _ignored(self, paths: list[str]) -> set[str]:
        done = await self.ask("check-ignore", "-z", "--stdin", stdin=_nul(paths), literal=False)
        return set(filter(None, done.out.decode(errors="surrogateescape").split("\0")))

    async def staged(self) -> bool:
        return (await self.ask("diff", "--cached", "--quiet")).code != 0

    async def unstage(self) -> None:
        """The index as HEAD has it; files stay as they are."""
        await self.git("reset", "--quiet")

    async def commit_index(self, message: str) -> None:
        """Commit what Ralph itself has staged, without hooks."""
        await self.git(*OWN, "commit", "--quiet", "--no-verify", "--message", message)

    async def commit_first(self, message: str) -> None:
        """An empty first commit, for work needs something to begin on; what a person has staged stays staged."""
        tree = (await self.git("mktree", stdin=b"")).strip()
        commit = (await self.git(*OWN, "commit-tree", tree, "-m", message)).strip()
        await self.git("update-ref", "HEAD", commit)

    async def commit_work(self, paths: Iterable[str], message: str) -> Captured:
        """Commit what an agent left, as a person would: with the project's hooks."""
        await self.unstage()
        await self._stage(paths)
        if not await self.staged():
            return Captured(code=0, out=b"", err=b"")
        done = await self.ask("commit", "--quiet", "--message", message, seconds=HOOKS)
        if done.code:
            await self.unstage()
        return done

    async def _stage(self, paths: Iterable[str], index: Path | None = None) -> None:
        """Take paths into an index as they are on disk; gone ones are taken out, other repositories left out."""
        wanted = [path for path in paths if not path.endswith("/")]
        gone = [path for path in wanted if not self._is_here(path)]
        here = [path for path in wanted if path not in set(gone)]
        if gone:
            await self.git("update-index", "--force-remove", "-z", "--stdin", stdin=_nul(gone), index=index)
        if here:
            await self.git("update-index", "--add", "--replace", "-z", "--stdin", stdin=_nul(here), index=index)

    def _is_here(self, path: str) -> bool:
        """Whether a path is on disk as something git can hold, and not somewhere else behind a link."""
        target = self.top / path
        if is_folder(target):
            return (target / ".git").exists()  # a submodule
        return os.path.lexists(target) and not is_behind_link(self.top, path)

    async def snapshot(self, paths: Iterable[str], message: str, parent: str) -> str:
        """A commit of HEAD's tree with these paths as they are on disk; no index and no branch is touched."""
        async with self._index_of(parent) as index:
            await self._stage(paths, index)
            tree = (await self.git("write-tree", index=index)).strip()
        return (await self.git("commit-tree", tree, "-p", parent, "-m", message)).strip()

    async def graft(self, source: str, paths: Iterable[str], message: str, parent: str) -> str:
        """A commit of the parent's tree with these paths as `source` has them."""
        wanted = list(paths)
        listed = await self.git("ls-tree", "-r", "-z", "--full-tree", source)
        entries = {line.partition("\t")[2]: line for line in listed.split("\0") if line}
        gone = f"0 {'0' * len(parent)}\t"
        info = "".join(f"{entries.get(path) or gone + path}\0" for path in wanted)
        async with self._index_of(parent) as index:
            await self.git("update-index", "-z", "--index-info", stdin=os.fsencode(info), index=index)
            tree = (await self.git("write-tree", index=index)).strip()
        return (await self.git("commit-tree", tree, "-p", parent, "-m", message)).strip()

    async def fork(self, commit: str, tip: str) -> str:
        """Where a commit's history leaves that of a branch."""
        return (await self.git("merge-base", commit, tip)).strip()

    async def squash(self, work: str, base: str) -> str:
        """All that `work` changed since `base`, as one commit."""
        return (await self.git("commit-tree", f"{work}^{{tree}}", "-p", base, "-m", "What an attempt made")).strip()

    async def pick(self, commit: str) -> Captured:
        """Lay what one commit changed on what is checked out, staged and not committed."""
        return await self.ask(*OWN, "cherry-pick", "--no-commit", "--allow-empty", commit)

    async def advance(self, branch: str, paths: Iterable[str], message: str, tip: str) -> str:
        """Commit the index with these paths on the branch, if it still is at `tip`; else empty, and it is as it was.

        Git moves a branch only from where it found it, and its reflog tells where that was.
        """
        await self._stage(paths)
        if not self.is_on(branch) or await self.head() != tip:
            return ""
        await self.git(
            *OWN, "-c", "core.logAllRefUpdates=true", "commit", "--quiet", "--no-verify", "--allow-empty",
            "--cleanup=verbatim", "--message", message,
        )  # fmt: skip
        found, commit = self._last_move()
        if found == tip:
            return commit
        await self.git("update-ref", f"refs/heads/{branch}", found, commit)  # somebody was faster
        return ""

    def _last_move(self) -> tuple[str, str]:
        """From where to where HEAD went last."""
        moves = (self.git_dir / "logs/HEAD").read_bytes().rstrip(b"\n")
        found, commit = moves.rpartition(b"\n")[2].split(b" ")[:2]
        return found.decode(), commit.decode()

    async def tree_of(self, commit: str) -> str:
        return (await self.git("rev-parse", "--verify", f"{commit}^{{tree}}")).strip()

    async def refs(self, prefix: str) -> dict[str, str]:
        out = await self.git("for-each-ref", "--format=%(objectname) %(refname)", prefix)
        return {name: commit for commit, _, name in (line.partition(" ") for line in out.split("\n") if line)}

    async def keep(self, ref: str, commit: str) -> None:
        await self.git("update-ref", ref, commit)

    async def differing(self, commit: str, paths: Iterable[str]) -> set[str]:
        """Which of these paths, all of them in `commit` or removed by it, are on disk in another state."""
        async with self._index_of(commit) as index:
            await self.ask("update-index", "-q", "--refresh", index=index)
            out = await self.git("diff-files", "--name-only", "-z", index=index)
        wanted = set(paths)
        present = set(await self.paths_in(commit))
        back = {path for path in wanted - present if self._is_here(path)}
        return (wanted & set(out.split("\0"))) | back

    async def paths_in(self, commit: str) -> list[str]:
        out = await self.git("ls-tree", "-r", "--name-only", "-z", "--full-tree", commit)
        return list(filter(None, out.split("\0")))

    async def lay(self, commit: str, paths: Iterable[str], *, stage: bool) -> None:
        """Make these paths on disk (and in the index, if `stage`) as `commit` has them; absent there: removed.

        Through an index of our own: git's may take a file for unchanged that was rewritten within the same second.
        """
        wanted = list(paths)
        if not wanted:
            return
        present = set(await self.paths_in(commit))
        kept = [path for path in wanted if path in present]
        gone = [path for path in wanted if path not in present]
        for path in gone:
            remove(self.top, path)
        if gone and stage:
            await self.git("update-index", "--force-remove", "-z", "--stdin", stdin=_nul(gone))
        if kept:
            async with self._index_of(commit) as index:
                await self.git("checkout-index", "--force", "-z", "--stdin", stdin=_nul(kept), index=index)
            if stage:
                await self.git(
                    "restore", f"--source={commit}", "--staged", "--pathspec-from-file=-", "--pathspec-file-nul",
                    stdin=_nul(kept),
                )  # fmt: skip
            if (self.top / ".gitmodules").exists():
                await self.ask("submodule", "--quiet", "update", "--force", "--", *kept[:1000])

    async def fill_submodules(self) -> None:
        """A worktree begins with empty folders where the project has other repositories."""
        if not (self.top / ".gitmodules").exists():
            return
        done = await self.ask(*OWN, "submodule", "--quiet", "update", "--init", "--recursive", "--force")
        if done.code:
            raise RalphError(
                f"The submodules could not be checked out in {self.top}.",
                details=tuple(done.err.decode(errors="replace").strip().splitlines()[:5]),
                remedy="Make this work there: git submodule update --init --recursive. Or run without --jobs.",
            )

    async def untrack(self, paths: Iterable[str]) -> None:
        """Take paths out of the index and leave them on disk."""
        await self.git("update-index", "--force-remove", "-z", "--stdin", stdin=_nul(paths))

    def half_done(self) -> tuple[str, ...]:
        """A merge, pick or rebase that was begun and not finished."""
        return tuple(name for name in HALF_DONE if (self.git_dir / name).exists())

    def forget_half_done(self) -> None:
        for name in self.half_done():
            path = self.git_dir / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    async def release_lock(self) -> None:
        """A git that was killed leaves its locks: what no living process can hold is nobody's."""
        branch = _line_in(self.git_dir / "HEAD").removeprefix("ref: refs/heads/")
        await locks.release(self.common_dir, branches=(branch,))

    async def switch(self, branch: str, *, create: bool) -> None:
        await self.git(
            *OWN, "switch", "--quiet", "--no-overwrite-ignore", *(("--create", branch) if create else (branch,))
        )

    async def has_branch(self, branch: str) -> bool:
        return (await self.ask("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")).code == 0

    async def resolve(self, revision: str) -> str:
        return (await self.git("rev-parse", "--verify", f"{revision}^{{commit}}")).strip()


def _line_in(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _nul(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


async def make_repo(folder: Path) -> Repo:
    """A new repository in `folder`."""
    outside = Repo(top=folder, prefix="", git_dir=folder, common_dir=folder)
    await outside.git("init", "--quiet")
    return await open_repo(folder)


async def open_repo(root: Path) -> Repo:
    """The repository that `root` is in, or an error that says what is missing."""
    outside = Repo(top=root, prefix="", git_dir=root, common_dir=root)
    done = await outside.ask(
        "rev-parse", "--path-format=absolute", "--show-toplevel", "--show-prefix", "--git-dir", "--git-common-dir"
    )
    if done.code:
        message = done.err.decode(errors="replace").strip()
        if "dubious ownership" in message:
            raise RalphError(f"git does not trust {root}.", details=tuple(message.splitlines()[:4]))
        raise RalphError(
            f"{root} is not in a git work tree.", remedy="Make it one: git init && git add . && git commit"
        )
    top, prefix, git_dir, common = done.out.decode(errors="surrogateescape").split("\n")[:4]
    repo = Repo(top=Path(top), prefix=prefix, git_dir=Path(git_dir), common_dir=Path(common))
    if (await repo.ask("var", "GIT_COMMITTER_IDENT")).code:
        repo.identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Ralph"), ("EMAIL", "ralph@localhost"))
        }
    return repo
