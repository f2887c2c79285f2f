"""Slots: worktrees in which tasks are done side by side, each on the branch's newest state, used again and again."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ralph.errors import RalphError
from ralph.git.look import ATTEMPTS
from ralph.git.repo import OWN
from ralph.loop.home import not_made
from ralph.loop.landing import TRAILER
from ralph.loop.place import Place
from ralph.loop.record import Record
from ralph.loop.recover import rescue
from ralph.loop.run import Run
from ralph.loop.site import Site
from ralph.plan.work import Work
from ralph.verify.services import Services, assign_ports, port_variables


@dataclass
class Slots:
    """As many as tasks may be done at the same time; a slot's worktree is made when it is first needed."""

    run: Run
    count: int
    cleanup: ExitStack  # takes away temporary files when the run ends
    _free: list[int] = field(default_factory=list)
    _sites: dict[int, Site] = field(default_factory=dict)
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)  # git cannot make two worktrees at once

    @classmethod
    @asynccontextmanager
    async def opened(cls, run: Run, count: int) -> AsyncIterator[Slots]:
        slots = cls(run=run, count=count, cleanup=ExitStack(), _free=list(range(count, 0, -1)))
        slots._sweep()
        with slots.cleanup:
            yield slots

    def take(self) -> int | None:
        """A slot that nobody uses; None: all are in use."""
        return self._free.pop() if self._free else None

    def give_back(self, number: int) -> None:
        self._free.append(number)

    async def prepare(self, number: int, work: Work) -> Site:
        """A slot with the branch's newest state, and on top of it what this task's earlier attempts made."""
        site = await self._site(number)
        place, home = site.place, self.run.place
        assert place and home, "slots are for work that lands on a branch"
        tip = home.tip or await home.repo.head()
        self.run.landed.setdefault(tip, max(self.run.landed.values(), default=0))
        await self._begin_on(tip, place, home)
        task = self.run.plan.find(work.id)
        kept = await self._kept(place, work) if task and task.attempts else ""
        if kept:
            await place.continue_from(kept, tip)
        return site

    async def of(self, record: Record) -> Site | None:
        """Where a killed run's attempt was made; what its agent left there is kept first."""
        if not record.slot:
            return self.run.home
        if not (self._folder(record.slot) / ".git").exists():
            return None
        site = await self._site(record.slot, rescued=record)
        return site if record.slot <= self.count else None

    @property
    def _scratch(self) -> str:
        """How the names of this project's temporary folders begin: short, for sockets have short names."""
        return f"ralph-{hashlib.sha256(bytes(self.run.workspace.root)).hexdigest()[:8]}-"

    def _sweep(self) -> None:
        """A killed run leaves its temporary folders."""
        for folder in Path(tempfile.gettempdir()).glob(f"{self._scratch}*"):
            shutil.rmtree(folder, ignore_errors=True)

    async def _kept(self, place: Place, work: Work) -> str:
        refs = await place.repo.refs(f"{ATTEMPTS}/{self.run.plan.target}/{work.id}")
        newest = max(refs, key=lambda ref: int(ref.rpartition("/")[2]), default="")
        has_landed = newest and await place.repo.said("HEAD", f"{TRAILER}: {newest.removeprefix(f'{ATTEMPTS}/')}")
        return "" if has_landed else refs.get(newest, "")

    def _folder(self, number: int) -> Path:
        return self.run.workspace.slots / str(number)

    async def _site(self, number: int, rescued: Record | None = None) -> Site:
        async with self._making:
            if number not in self._sites:
                self._sites[number] = await self._open(number, rescued)
            return self._sites[number]

    async def _open(self, number: int, rescued: Record | None) -> Site:
        run, folder = self.run, self._folder(number)
        home = run.place
        assert home is not None
        if not (folder / ".git").exists():
            await self._make(home, folder)
        inside = home.repo.linked(folder)
        place = Place(
            repo=inside, branch="", root=folder / inside.prefix, records=None, own_files=run.workspace.own_files
        )
        if rescued and rescued.agent_at_work:
            await rescue(place, rescued)
        elif rescued:
            place.made = set((await inside.status()).untracked)
        elif not place.is_empty:
            await place.keep_strays()
        scratch = self.cleanup.enter_context(
            tempfile.TemporaryDirectory(prefix=f"{self._scratch}{number}-", ignore_cleanup_errors=True)
        )
        ports = port_variables(assign_ports(run.config.services))
        variables = {"RALPH_SLOT": str(number), "RALPH_WORKTREE": str(folder), "TMPDIR": scratch, **ports}
        services = Services((), place.root, run.logs, run.id, lambda *_: None)  # pages are looked at where it lands
        return Site(
            folder=run.workspace.root,
            services=services,
            place=place,
            variables={**run.home.variables, **variables},
            slot=number,
        )

    async def _make(self, home: Place, folder: Path) -> None:
        """A worktree without files: those come when all that wait for git have theirs."""
        if folder.exists():
            shutil.rmtree(folder)  # the rest of one that could not be made
        folder.parent.mkdir(parents=True, exist_ok=True)
        tip = home.tip or await home.repo.head()
        force = ("--force", "--detach", "--no-checkout")  # git may still know one that somebody has removed
        try:
            await home.repo.git(*OWN, "worktree", "add", "--quiet", *force, str(folder), tip)
        except RalphError as error:
            raise await not_made(home.repo, folder, error) from None

    async def _begin_on(self, tip: str, place: Place, home: Place) -> None:
        was_empty = place.is_empty
        try:
            await place.begin_on(tip)
        except RalphError as error:
            if not was_empty:
                raise
            raise await not_made(home.repo, place.repo.top, error) from None
