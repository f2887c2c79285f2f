"""The branch on which a target's work lands, and its pending commits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.checkout.own_files import OwnFiles
from ralph.git.repo import Repo

if TYPE_CHECKING:
    from ralph.receipts.notes import Move
    from ralph.receipts.writer import ReceiptWriter

PENDING = "refs/ralph/pending"
STRAYS = "refs/ralph/strays"


@dataclass
class TargetBranch:
    """`ralph/<target>`: only Ralph moves it during a run."""

    repo: Repo
    name: str
    target: str
    defers_commit: bool = False  # passed work stays on a pending ref until its whole spec has passed
    receipts: ReceiptWriter | None = None  # None: commits get no receipts
    expected: str = ""  # the tip as Ralph left it; empty: not known yet
    _left: dict[str, str] = field(default_factory=dict)  # each of its refs as Ralph left it

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.name}"

    @property
    def pending_ref(self) -> str:
        return f"{PENDING}/{self.target}"

    async def tip(self) -> str:
        """Return the base of the next work: the pending commits if there are any, else the branch."""
        pending = await self._at(self.pending_ref) if self.defers_commit else ""
        return pending or await self._at(self.ref)

    async def committed(self) -> str:
        """Return the branch's own commit."""
        return await self._at(self.ref)

    async def watch(self) -> None:
        """Record the current refs; `reclaim` undoes any later move that Ralph did not make."""
        self.expected = await self.tip()
        self._left = {ref: await self._at(ref) for ref in self._refs}

    @property
    def _refs(self) -> tuple[str, ...]:
        return (self.ref, self.pending_ref) if self.defers_commit else (self.ref,)

    async def land(self, commit: str, old: str, *moves: tuple[str, str, str | None]) -> bool:
        """Move to `commit` if the tip is still `old`."""
        ref = self.pending_ref if self.defers_commit else self.ref
        known = await self._at(ref)
        source = known if known == old or self.defers_commit else old
        if not await self.repo.move((ref, commit, source), *moves):
            return False
        self.expected = self._left[ref] = commit
        return True

    async def land_state(self, tree: str, message: str, own: OwnFiles) -> bool:
        """Commit Ralph's own files: on top of the pending work, or on the branch itself if there is none."""
        tip, base = await self.tip(), await self.committed()
        waits = tip != base and any(path not in own for path in await self.repo.between(base, tree))
        parent = tip if waits else base
        if tree == await self.repo.tree_of(parent):
            return True
        commit = self.repo.write_commit(tree, (parent,), message)
        receipt = () if waits else await self._state_receipt(commit, tree, parent)
        lands = waits or not self.defers_commit
        return await self.with_receipt(
            receipt, lambda *moves: self.land(commit, tip, *moves) if lands else self.close(commit, base, *moves)
        )

    async def _state_receipt(self, commit: str, tree: str, parent: str) -> tuple[Move, ...]:
        if not self.receipts:
            return ()
        from ralph.git.trees import changes_between
        from ralph.journal.encode import now
        from ralph.receipts.statement import Subject

        before = await self.repo.tree_of(parent)
        paths = [change.path for change in await changes_between(self.repo, before, tree)]
        subject = Subject(branch=self.name, commit=commit, tree=tree)
        base = Subject(branch=self.name, commit=parent, tree=before)
        return await self.receipts.state(subject, base, paths, now())

    async def with_receipt(self, receipt: tuple[Move, ...], move: Callable[..., Awaitable[bool]]) -> bool:
        """Move the branch and the notes in one transaction; only the branch if the notes cannot move."""
        if await move(*receipt):
            return True
        again = await self.receipts.again(receipt) if self.receipts else ()  # somebody fetched notes just now
        if again and await move(*again):
            return True
        if not receipt or not await move():
            return False
        if self.receipts:
            self.receipts.warn(f"git could not move {receipt[0][0]}, so this receipt is only in .ralph/receipts.")
        return True

    async def close(self, commit: str, old: str, *moves: tuple[str, str, str | None]) -> bool:
        """Move the branch itself and drop the pending commits, which `commit` contains."""
        pending = [(self.pending_ref, "", None)] if await self._at(self.pending_ref) else []
        if not await self.repo.move((self.ref, commit, old), *pending, *moves):
            return False
        self.expected = self._left[self.ref] = commit
        self._left.pop(self.pending_ref, None)
        return True

    async def catch_up(self, commit: str) -> None:
        """Fast-forward the branch to a person's newer commit; do nothing if the two have diverged."""
        tip = await self.committed()
        waits = await self._at(self.pending_ref)
        if tip and not waits and tip != commit and await self.repo.is_ancestor(tip, commit):
            await self.repo.move((self.ref, commit, tip))

    async def reclaim(self) -> str:
        """Undo a move that another process made during a run; return the ref under which its commit is kept."""
        if not self.expected:
            return ""
        kept, moves = "", list[tuple[str, str, str | None]]()
        for ref in self._refs:
            now, known = await self._at(ref), self._left.get(ref, "")
            if now != known or self._is_symbolic(ref):
                kept = f"{STRAYS}/{now[:12]}" if now else ref
                moves += [(kept, now, None)] if now else []
                moves.append((ref, known, None))
        if moves:
            await self.repo.move(*moves)
        return kept

    async def _at(self, ref: str) -> str:
        """Return the commit of a ref, read from its file if possible, without starting a process."""
        return _line_in(self.repo.git_dir / ref, len(self.repo.zero)) or await self.repo.tip(ref)

    def _is_symbolic(self, ref: str) -> bool:
        """Whether it is a symbolic ref or a link, which Ralph never creates."""
        path = self.repo.git_dir / ref
        return path.is_file() and (path.is_symlink() or path.read_bytes().startswith(b"ref:"))


def _line_in(path: Path, length: int) -> str:
    try:
        line = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return line if len(line) == length and line.isalnum() else ""
