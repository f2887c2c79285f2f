"""Slots: reusable working copies in which agents work, one for each attempt that is running."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count as counting
from pathlib import Path

from ralph import safe_files
from ralph.checkout.branch import TargetBranch
from ralph.checkout.commit_message import TRAILER
from ralph.checkout.set_aside import ASIDE, bring_back
from ralph.checkout.working_copy import WorkingCopy
from ralph.checkout.worktrees import note_use
from ralph.engine.host import LocalHost
from ralph.engine.run import Run
from ralph.git.read import ATTEMPTS
from ralph.plan.work import Work
from ralph.protect.ledger import AGENT_EMAIL
from ralph.steps.registry import step_type
from ralph.stores import records

BOTH = "Both versions are in {names}, with conflict markers. Merge them, then continue."


@dataclass(frozen=True)
class StartState:
    """The state in which an attempt starts."""

    tip: str  # the commit at its base
    tree: str = ""  # earlier attempts' work on top of it; empty: none
    note: str = ""  # about that work, for its agent


@dataclass
class WorktreePool:
    """The slots of a run; each working copy is created on first use. The loop decides how many are in use."""

    run: Run
    _numbers: Iterator[int]
    _free: list[int] = field(default_factory=list)
    _hosts: dict[int, LocalHost] = field(default_factory=dict)
    _last: dict[int, str] = field(default_factory=dict)  # the last work in each slot

    @classmethod
    @asynccontextmanager
    async def opened(cls, run: Run) -> AsyncIterator[WorktreePool]:
        slots = cls(run, _free_slots(run))
        for folder in run.workspace.slots.glob(f"*{ASIDE}"):
            bring_back(folder)  # a killed run left it
        for folder in Path(tempfile.gettempdir()).glob(f"{run.scratch_prefix}*"):
            with suppress(OSError):
                safe_files.remove_all(folder)  # a killed run leaves its temporary folders
        yield slots

    def take(self) -> int:
        """Return the number of a free slot: the one that was given back last, or a new one."""
        return self._free.pop() if self._free else next(self._numbers)

    def give_back(self, number: int) -> None:
        self._free.append(number)

    async def start_of(self, work: Work) -> StartState:
        """Return the start of an attempt: the branch tip with earlier attempts' work on top."""
        assert self.run.branch, "work that lands has a branch"
        if work.closes:
            return await self._start_of_closing(self.run.branch, work)
        tip = await self.run.branch.tip(work.line)
        ref, kept = await self._kept(work)
        tree, conflicts = await self._merged(tip, ref, kept) if kept else ("", ())
        return StartState(tip, tree, BOTH.format(names=", ".join(conflicts)) if conflicts else "")

    async def _start_of_closing(self, branch: TargetBranch, work: Work) -> StartState:
        """Return a line on top of the branch. If they conflict, only work with an agent starts there, to merge them."""
        repo, tip, line = branch.repo, await branch.tip(), await branch.tip(work.closes)
        fork = await repo.merge_base(line, tip)
        if fork == tip:
            return StartState(line)
        tree, conflicts = await repo.merged(tip, line)
        code = [path for path in conflicts if path not in self.run.own]
        if code and not any(step_type(spec.type).runs_agent for spec in work.steps):
            return StartState(line)  # landing finds the same conflicts, and says so
        merged = repo.write_commit(tree, (tip,), f"{work.id} on top of {branch.name}")
        return StartState(merged, note=BOTH.format(names=", ".join(code)) if code else "")

    async def prepare(self, number: int, start: StartState, work: Work) -> LocalHost:
        """Prepare a slot in which an attempt can start."""
        is_first = number not in self._hosts
        host = self.host(number)
        assert host.copy
        if is_first:
            await host.copy.save_strays()
        host.copy.continues = self._last.get(number) == work.id  # files that its earlier attempts left belong to it
        self._last[number] = work.id
        await self._reset(host, host.copy, start.tip, start.tree)
        host.copy.shown = {path: safe_files.read(host.copy.project / path) or b"" for path in work.writable}
        return host

    async def at(self, number: int, base: str, commit: str, work: Work) -> LocalHost:
        """Prepare a slot with an attempt's work, to resume it."""
        host = self.host(number)
        assert host.copy
        await self._reset(host, host.copy, base, await host.copy.repo.tree_of(commit))
        if host.copy.own.held:  # files that the attempt wrote beside its work are newer than the plan
            await host.copy.checkout(commit, map(host.copy.own.name, work.writable))
        return host

    async def _reset(self, host: LocalHost, copy: WorkingCopy, commit: str, tree: str) -> None:
        """Reset a slot, and remove untracked files that a killed run, a hook or a gate left."""
        await self.run.reset(copy, commit, tree)
        if copy.is_littered and not copy.is_new:
            await copy.clean(ignored=False)
        host.variables.update(await self.run.provide(copy))
        copy.is_littered &= not copy.is_new

    async def _kept(self, work: Work) -> tuple[str, str]:
        """Return the ref and commit of a task's newest attempt since it last started over; empty if there is none."""
        task = self.run.plan.find(work.id)
        if not task or not (task.base or work.was_tried) or not self.run.branch:
            return "", ""
        refs = await self.run.branch.repo.refs(f"{ATTEMPTS}/{self.run.plan.target}/{work.id}")
        newest = max(refs, key=lambda ref: int(ref.rpartition("/")[2]), default="")
        return newest, refs.get(newest, "")

    async def _merged(self, tip: str, ref: str, kept: str) -> tuple[str, tuple[str, ...]]:
        """Merge earlier work with the branch unless it has landed; conflicts stay in the files, with markers."""
        assert self.run.branch
        repo = self.run.branch.repo
        fork = await repo.merge_base(kept, tip)
        if fork == tip:
            return await repo.tree_of(kept), ()
        if await repo.has_line(fork, tip, f"{TRAILER}: {ref.removeprefix(f'{ATTEMPTS}/')}"):
            return "", ()
        squashed = repo.write_commit(await repo.tree_of(kept), (fork,), "What an attempt made")
        return await repo.merged(tip, squashed)

    def host(self, number: int) -> LocalHost:
        if number not in self._hosts:
            self._hosts[number] = self._open(number)
        return self._hosts[number]

    def folder(self, number: int) -> Path:
        return self.run.workspace.slots / str(number)

    def _open(self, number: int) -> LocalHost:
        run = self.run
        assert run.branch
        copy: WorkingCopy = run.working_copy(self.folder(number))
        note_use(copy.folder, run.plan.target, run.branch.repo)
        variables = {"RALPH_SLOT": str(number), "RALPH_WORKTREE": str(copy.folder)}
        return LocalHost(
            run=run,
            copy=copy,
            variables={**run.branch.repo.ident.variables, "GIT_COMMITTER_EMAIL": AGENT_EMAIL, **variables},
            slot=number,
        )


def _free_slots(run: Run) -> Iterator[int]:
    """Return all slot numbers, except those with an agent's work from a killed run of another target."""
    others = [record for record in records.load(run.workspace.records) if record.target != run.plan.target]
    taken = {record.slot for record in others if record.agent_at_work}
    return (number for number in counting(1) if number not in taken)
