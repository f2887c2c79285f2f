"""The checkout an attempt works in, and whose files are whose in it.

A file here is a person's, the agent's, or Ralph's own. Git tells what changed; what was there before the
agent began tells whose it is.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ralph.config import NAME
from ralph.errors import RalphError
from ralph.git.answers import Commit, Status
from ralph.git.files import remove
from ralph.git.repo import FAST, OWN, Repo
from ralph.process.spawn import Captured
from ralph.stores import atomic
from ralph.workspace import RALPH

LONGEST_COLLISION = 3_000
KEPT = "refs/ralph/attempts"
STRAYS = "refs/ralph/strays"
AGENT_EMAIL = "agent@ralph.invalid"
"""Who commits where no commit is the agent's to make: so its commits are told from a person's."""


@dataclass(frozen=True, kw_only=True)
class Tip:
    """Where the branch stands after an agent, with what was wrong about it already put right."""

    status: Status
    commits: tuple[Commit, ...] = ()
    wrongs: tuple[str, ...] = ()
    undone: str = ""  # the ref that keeps commits which were not the agent's to make


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What an agent did to the checkout since the attempt's base."""

    head: str
    commits: tuple[Commit, ...]
    committed: tuple[str, ...]
    left: tuple[str, ...]  # changed or new, and not committed
    wrongs: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.committed or self.left)


@dataclass(frozen=True, kw_only=True)
class Left:
    """Uncommitted work of an attempt, as Ralph left it on disk; `commit` holds the same files."""

    target: str
    commit: str = ""
    parent: str = ""
    also: str = ""  # while files are brought back to another commit, each may be as either has it
    held: str = ""  # of it, what has passed already, as a commit; empty: nothing
    tasks: str = ""  # whose work that is, with commas


@dataclass
class Place:
    """One checkout with its git, its branch, and the knowledge of whose files are in it."""

    repo: Repo
    branch: str
    root: Path  # where agents and gates work
    records: Path | None  # where is written down what is left here; None: all that is here can be made again
    project: Path | None = None  # where `.ralph/` is, as this checkout has it; None: at `root`
    own_files: tuple[str, ...] = ()  # Ralph's files and folders (`name/`) outside of `.ralph/`, below its root
    tip: str = ""  # where Ralph put the branch, if tasks land on it; empty: not known yet
    holds: bool = False  # what passes here stays uncommitted until its spec is complete
    held: str = ""  # that work, as a commit that no branch has; empty: there is none
    held_on: str = ""  # the commit it was held on top of
    held_for: tuple[str, ...] = ()  # the tasks whose work it is
    brought: tuple[str, ...] = ()  # files of it that were not on disk when the run began, and are again
    collided: tuple[str, ...] = ()  # files of it that somebody else has changed and committed meanwhile
    foreign: set[str] = field(default_factory=set)  # untracked files that no agent of ours made
    made: set[str] = field(default_factory=set)  # untracked files that an agent of ours made
    seen: bool = False  # nothing has run here since the last look
    refs: dict[str, str] | None = None  # what is kept, as Ralph knows it
    _keeping: list[asyncio.Task[None]] = field(default_factory=list)

    @cached_property
    def _prefix(self) -> str | None:
        """The project's root as git names it: "" at the top; None if the repository does not hold it."""
        if self.project in (None, self.root):
            return self.repo.prefix
        top, project = self.repo.top.resolve(), self.project.resolve()
        if not project.is_relative_to(top):
            return None
        return f"{project.relative_to(top)}/" if project != top else ""

    @property
    def holds_state(self) -> bool:
        """Whether the plan lies in the repository that is worked in."""
        return self._prefix is not None

    @property
    def own(self) -> str:
        """The folder of Ralph's own files, as git names it; empty if the repository does not hold it."""
        return f"{self._prefix}{RALPH}/" if self.holds_state else ""

    def is_own(self, path: str) -> bool:
        return bool(self.own) and (path.startswith(self._own_folders) or path in self._own_files)

    @cached_property
    def _own_folders(self) -> tuple[str, ...]:
        return (self.own, *(name for name in self._own_files if name.endswith("/")))

    @cached_property
    def _own_files(self) -> frozenset[str]:
        return frozenset(map(self.in_repo, self.own_files))

    def has(self, path: str) -> bool:
        """Whether a path below the project's root is there."""
        return ((self.project or self.root) / path).exists()

    def _is_none_of_ours(self, path: str) -> bool:
        """Ralph's own files, and other repositories inside this one, are not work to be committed."""
        return self.is_own(path) or path.endswith("/")

    def in_repo(self, path: str) -> str:
        """A path below the project's root as git names it."""
        return f"{self._prefix or ''}{path}"

    async def look(self) -> str:
        """Before an agent begins: what is untracked now and not known as an agent's is not an agent's.

        Returns the commit it begins on. Just after a task passed there is nothing new to see.
        """
        if self.refs is None:
            self.refs = await self.repo.refs(KEPT)
        if not self.seen:
            status = await self.repo.status()
            self.foreign |= set(status.untracked) - self.made
            self.seen = True
        return await self.repo.head()

    async def straighten(self, base: str, ground: str = "") -> Tip:
        """After an agent ended: where its branch stands, with its wrongs against the repository put right.

        `ground`: the files it began with, where passed work is held back. There no commit is the agent's to make.
        """
        self.seen = False
        if not (self.repo.top / ".git").exists():
            return await self._rebuild(base, ground)
        await self.repo.release_lock()
        status, commits, lost = await asyncio.gather(
            self.repo.status(), self.repo.commits_since(base), self._put_refs_back()
        )
        if status.branch != self.branch or not status.head or commits is None:
            wrong = _stray(self.branch, status)
            return Tip(status=await self._back_to(base, status, ground), wrongs=(*lost, wrong))
        half_done = [name for name in self.repo.half_done() if name != "MERGE_MSG"]
        wrongs = lost
        if status.unmerged or half_done:
            self.repo.forget_half_done()
            await self.repo.unstage()
            wrongs = (*lost, "it left a merge or rebase half done")
            status = await self.repo.status()
        undone = await self._uncommit(base, status.head) if ground and commits else ""
        if undone:
            return Tip(status=await self.repo.status(), wrongs=wrongs, undone=undone)
        return Tip(status=status, commits=commits, wrongs=wrongs)

    async def _rebuild(self, base: str, ground: str) -> Tip:
        """The agent removed its worktree: it is made again, and commits that were only there are kept."""
        repo = self.repo
        outside = replace(repo, top=repo.common_dir)
        if repo.git_dir.is_dir():  # git still knows it
            repo.top.mkdir(parents=True, exist_ok=True)
            (repo.top / ".git").write_text(f"gitdir: {repo.git_dir}\n")
        else:
            await outside.git(*OWN, "worktree", "add", "--quiet", "--force", "--detach", str(repo.top), base)
            where = await repo.git("rev-parse", "--path-format=absolute", "--git-dir")
            repo.git_dir = Path(where.rstrip("\n"))
        lost = await self._put_refs_back()
        status = await self._back_to(base, await repo.status(), ground)
        return Tip(status=status, wrongs=(*lost, "it removed its worktree"))

    async def _uncommit(self, base: str, head: str) -> str:
        """Take the agent's commits off the branch again; their files stay, and they are kept under a ref.

        A person may have committed meanwhile: the branch goes back no further than that.
        """
        out = await self.repo.git("log", "--format=%H %ce", f"{base}..HEAD")
        commits = [line.partition(" ") for line in out.split("\n") if line]
        stays = next((commit for commit, _, email in commits if email != AGENT_EMAIL), base)
        if stays == head:
            return ""
        ref = f"{STRAYS}/{head[:12]}"
        await self.repo.keep(ref, head)
        await self.repo.git("reset", "--quiet", stays)
        return ref

    async def _put_refs_back(self) -> tuple[str, ...]:
        """Attempts are kept in refs: what an agent did to those is undone."""
        known = self.refs or {}
        if all(self.repo.points_to(ref, commit) for ref, commit in known.items()):
            return ()
        found = await self.repo.refs(KEPT)
        lost = {ref: commit for ref, commit in known.items() if found.get(ref) != commit}
        for ref, commit in lost.items():
            await self.repo.keep(ref, commit)
        return ("it changed the refs in which attempts are kept",) if lost else ()

    async def changes(self, base: str, tip: Tip) -> Changes:
        """What the agent did since `base`, committed and not."""
        committed = tip.commits[0].paths if tip.commits else ()
        if len(tip.commits) > 1 or self.foreign.intersection(committed):
            committed = await self.repo.between(base, tip.status.head)
        status, wrongs = tip.status, tip.wrongs
        swept = self.foreign.intersection(committed)
        if swept:
            wrongs = (*wrongs, f"it committed files that are not its own: {', '.join(sorted(swept))}")
            await self.repo.unstage()
            await self.repo.untrack(swept)
            await self.repo.commit_index("chore: take a person's files out of the branch again")
            status = await self.repo.status()
        self.made = {path for path in status.untracked if path not in self.foreign and not self._is_none_of_ours(path)}
        changed = {path for path in status.changed if not self.is_own(path)}
        return Changes(
            head=status.head,
            commits=tip.commits,
            committed=tuple(path for path in committed if not self.is_own(path) and path not in swept),
            left=tuple(sorted(changed | self.made)),
            wrongs=wrongs,
        )

    async def _back_to(self, base: str, status: Status, ground: str) -> Status:
        """The agent left its branch or rewrote it: what it made is kept, and its branch is as it was."""
        made = {path for path in status.untracked if path not in self.foreign}
        dirty = {*status.changed, *status.unmerged, *made}
        stray = await self.repo.snapshot(dirty, "What a stray agent left", status.head or base)
        await self.repo.keep(f"{STRAYS}/{stray[:12]}", stray)
        self.repo.forget_half_done()
        if self.branch:
            await self.repo.git("symbolic-ref", "HEAD", f"refs/heads/{self.branch}")
            await self.repo.git("update-ref", f"refs/heads/{self.branch}", base)
        else:
            await self.repo.git("update-ref", "--no-deref", "HEAD", base)
        await self.repo.git("read-tree", base)
        right = ground or base
        touched = {*await self.repo.changed_since(base)}.union(
            *[await self.repo.between(commit, stray) for commit in {base, right}]
        )
        wanted = sorted(path for path in touched - self.foreign if not self.is_own(path))
        await self.repo.lay(right, wanted, stage=not ground)
        return await self.repo.status()

    async def keep(self, ref: str, changes: Changes, message: str) -> str:
        """Keep the attempt's tree under its ref; nothing is ever lost.

        What is committed already is safe on its branch: its ref is made while the gates run.
        """
        if changes.left:
            commit = await self.repo.snapshot(changes.left, message, changes.head)
            await self.repo.keep(ref, commit)
        else:
            commit = changes.head
            self._keeping.append(asyncio.create_task(self.repo.keep(ref, commit)))
        if self.refs is not None:
            self.refs[ref] = commit
        return commit

    async def kept(self) -> None:
        """Wait until every ref is made."""
        keeping, self._keeping = self._keeping, []
        await asyncio.gather(*keeping)

    async def changed_beside_own(self, since: str) -> bool:
        """Whether anything but Ralph's own files differs from `since`."""
        if self.held:
            now = await self.freeze("What is there now")
            return any(not self.is_own(path) for path in await self.repo.between(since, now))
        if self.made:
            return True
        return any(not self.is_own(path) for path in await self.repo.changed_since(since))

    async def to_commit(self) -> tuple[Status, tuple[str, ...]]:
        """What is left to commit: the agent's files, and tracked ones that a gate changed."""
        status = await self.repo.status()
        untracked = set(status.untracked)
        changed = {path for path in status.changed if not self.is_own(path)} - {self.in_repo(NAME)}
        self.foreign |= untracked - self.made
        self.seen = True
        return status, tuple(sorted(changed | (self.made & untracked)))

    async def ground(self) -> str:
        """What an attempt begins with: the branch's own files, and on top of them what is held."""
        head = await self.repo.head()
        if not self.held or self.held_on == head:
            return self.held or head
        moved = {path for path in await self.repo.between(self.held_on, head) if not self.is_own(path)}
        paths = {path for path in await self.repo.between(self.held_on, self.held) if not self.is_own(path)}
        self.collided = tuple(sorted(paths & moved & set(await self.repo.between(self.held, head))))
        self.held = await self.repo.graft(self.held, paths - moved, "What has passed", head)
        self.held_on = head
        return self.held

    async def bring_held_back(self) -> tuple[str, ...]:
        """An agent that tidies up with git throws away what earlier tasks made: that comes back, and is a wrong."""
        if not self.held:
            return ()
        ground, head = await self.ground(), await self.repo.head()
        paths = {path for path in await self.repo.between(head, ground) if not self.is_own(path)}
        gone = paths - await self.repo.differing(head, paths)
        old = set(await self.repo.paths_in(head))
        thrown = {path for kind in (paths & old, paths - old) if kind <= gone for path in kind}
        await self.repo.lay(ground, sorted(thrown), stage=False)
        return tuple(sorted(thrown))

    async def hold(self, ref: str, message: str, target: str, task: str) -> str:
        """Keep what passed without committing it: what comes next stands on it."""
        status, paths = await self.to_commit()
        commit = await self.repo.snapshot(paths, message, status.head) if paths else status.head
        await self.kept()  # the ref may be on its way to an earlier state of this very attempt
        await self.repo.keep(ref, commit)
        if self.refs is not None:
            self.refs[ref] = commit
        self.held_for = (*self.held_for, task)
        self._stand_on(commit, status.head, target)
        return commit

    def _stand_on(self, ground: str, head: str, target: str) -> None:
        self.held, self.held_on = (ground, head) if ground != head else ("", "")
        if self.held:
            self.remember_left(self.left(target, ground, head))
        else:
            self.forget_left(target)

    def left(self, target: str, commit: str, head: str, *, also: str = "") -> Left:
        """What is uncommitted here, as a commit, and what of it is held."""
        return Left(target=target, commit=commit, parent=head, also=also, held=self.held, tasks=",".join(self.held_for))

    async def commit_left(self, paths: Iterable[str], message: str) -> Captured:
        done = await self.repo.commit_work(paths, message)
        if done.code == 0:
            self.made, self.held, self.held_on, self.held_for = set(), "", "", ()
        return done

    async def last_subject(self) -> str:
        """The subject of the last commit that is not one of Ralph's own state commits."""
        own = (self.own, *self._own_files) if self.own else ()
        beside = [f":(top,exclude){path}" for path in own]
        out = await self.repo.git("log", "-1", "--format=%s", "--", ":(top)", *beside, literal=False)
        return out.strip()

    async def commit_with(self, trailer: str) -> str:
        """The newest commit that has this line in its message; empty if there is none."""
        return (await self.repo.git("log", "-1", "--format=%H", "--fixed-strings", f"--grep={trailer}")).strip()

    async def restore(self, base: str, message: str, target: str) -> None:
        """Bring back the files as they were at `base`, by a forward commit; the work stays in its ref."""
        base = await self.ground() if self.holds else base
        now = await self._begin_return(base, target)
        await self.repo.unstage()
        if self.holds:  # nothing of it was committed
            await self.put_back(base, now)
            self._stand_on(base, await self.repo.head(), target)
            return
        paths = {path for path in await self.repo.changed_since(base) if not self.is_own(path)}
        await self.repo.lay(base, sorted(paths), stage=True)
        for path in self.made:
            remove(self.repo.top, path)
        self.made = set()
        self.root.mkdir(parents=True, exist_ok=True)  # it may have held nothing but what is gone now
        if await self.repo.staged():
            await self.repo.commit_index(message)
        self.forget_left(target)

    async def _begin_return(self, before: str, target: str) -> str:
        """Write down that files are on their way back: whoever is killed now must know them as Ralph's own."""
        now = await self.freeze(f"{target}: what is not wanted")
        self.remember_left(self.left(target, now, await self.repo.head(), also=before))
        return now

    async def has_moved(self, kept: str) -> bool:
        """Whether somebody else has committed something since an attempt was kept."""
        fork = (await self.repo.ask("merge-base", kept, "HEAD")).out.decode().strip()
        return not fork or any(not self.is_own(path) for path in await self.repo.between(fork, "HEAD"))

    async def take_new(self) -> None:
        """What is new since the last look is work to be committed, whoever made it."""
        status = await self.repo.status()
        self.made |= {path for path in status.untracked if path not in self.foreign and not self._is_none_of_ours(path)}

    async def freeze(self, message: str) -> str:
        """The project as it is on disk, as a commit that no branch has."""
        status = await self.repo.status()
        dirty = {path for path in status.changed if not self.is_own(path)} | (self.made & set(status.untracked))
        return await self.repo.snapshot(dirty, message, status.head) if dirty else status.head

    async def put_back(self, before: str, now: str) -> bool:
        """The files as they were frozen; `now` holds what they have become. False: they are the same."""
        paths = [path for path in await self.repo.between(before, now) if not self.is_own(path)]
        if not paths:
            return False
        await self.repo.lay(before, paths, stage=False)
        self.made = {*self.made, *paths}.intersection((await self.repo.status()).untracked) - self.foreign
        return True

    async def undo_since(self, before: str, changes: Changes) -> Changes:
        """Put back what somebody changed who was only to look; the very same changes if that was nothing."""
        now = changes.head
        if changes.left:
            now = await self.repo.snapshot(changes.left, "What was undone", changes.head)
        if not await self.put_back(before, now):
            return changes
        changed = {path for path in (await self.repo.status()).changed if not self.is_own(path)}
        return replace(changes, left=tuple(sorted(changed | self.made)))

    def diff_command(self, base: str, now: str) -> str:
        """How an agent sees what became of `base`, without Ralph's own files."""
        own = (self.own, *sorted(self._own_files)) if self.own else ()
        return shlex.join(["git", "diff", base, now, "--", ":(top)", *(f":(top,exclude){path}" for path in own)])

    @property
    def is_empty(self) -> bool:
        """Whether this is a worktree that has just been made, and has no files yet."""
        return not any(entry.name != ".git" for entry in self.repo.top.iterdir())

    async def begin_on(self, tip: str) -> None:
        """A slot's checkout as a commit has it; what was here before is kept where it belongs."""
        was_empty = self.is_empty
        await self.repo.git(*OWN, *FAST, "checkout", "--quiet", "--force", "--detach", tip)
        if not was_empty:
            await self.repo.git("clean", "--quiet", "-d", "--force")
        await self.repo.fill_submodules()
        self.made, self.foreign, self.collided, self.seen = set(), set(), (), True

    async def continue_from(self, kept: str, tip: str) -> None:
        """Lay an earlier attempt's work on top; where it collides with newer work, both stand in the file."""
        await self.apply(await self.repo.squash(kept, await self.repo.fork(kept, tip)))
        status = await self.repo.status()
        self.repo.forget_half_done()
        await self.repo.unstage()
        self.collided = status.unmerged
        self.made = set((await self.repo.status()).untracked)

    async def apply(self, commit: str) -> str | None:
        """What one commit changed, onto what is checked out, staged; a text if the two collide."""
        done = await self.repo.pick(commit)
        if done.code == 0:
            return None
        unmerged = (await self.repo.status()).unmerged
        if not unmerged:
            message = (done.err or done.out).decode(errors="replace").strip()
            raise RalphError(f"git could not bring the work together: {message[:500]}")
        both = (await self.repo.git("diff")).encode(errors="replace").decode()
        shown = both if len(both) <= LONGEST_COLLISION else both[: LONGEST_COLLISION - 1] + "…"
        return f"It collides with what has landed meanwhile, in {', '.join(unmerged)}:\n\n{shown}"

    def with_collisions(self, notes: str) -> str:
        """Why the last attempt was not accepted, and what stands in the files now."""
        if not self.collided:
            return notes
        names = ", ".join(self.collided)
        text = f"Both versions stand in {names}, with conflict markers: join them, then go on."
        return f"{notes}\n\n{text}" if notes else text

    async def clear(self) -> None:
        """Back to the branch's own files; what was brought together and did not land is kept elsewhere."""
        self.repo.forget_half_done()
        await self.repo.git("reset", "--hard", "--quiet")

    async def keep_strays(self) -> str:
        """Somebody may have left something in a checkout of ours: it is kept before it goes, under this ref."""
        status = await self.repo.status()
        dirty = {*status.changed, *status.unmerged, *(path for path in status.untracked if not path.endswith("/"))}
        if not dirty or not status.head:
            return ""
        stray = await self.repo.snapshot(dirty, f"What was left in {self.root}", status.head)
        await self.repo.keep(f"{STRAYS}/{stray[:12]}", stray)
        return f"{STRAYS}/{stray[:12]}"

    def remember_left(self, left: Left) -> None:
        if self.records:
            atomic.write(self._left_file(left.target), (json.dumps(asdict(left)) + "\n").encode())

    def forget_left(self, target: str) -> None:
        if self.records:
            self._left_file(target).unlink(missing_ok=True)

    def lefts(self) -> list[Left]:
        """The uncommitted work of every target that has some here."""
        found = []
        for path in sorted(self.records.glob("left-*.json")) if self.records else ():
            try:
                data = json.loads(path.read_bytes())
                left = Left(**{name: str(data[name]) for name in Left.__dataclass_fields__})
            except (OSError, ValueError, KeyError, TypeError):
                continue
            found.append(left)
        return found

    def _left_file(self, target: str) -> Path:
        assert self.records is not None
        return self.records / f"left-{target}.json"


def _stray(branch: str, status: Status) -> str:
    if status.branch != branch:
        return f"it moved from the branch {branch} to {status.branch or 'a detached HEAD'}"
    return "it rewrote the history of its branch"
