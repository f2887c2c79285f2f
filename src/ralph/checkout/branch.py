"""The branch on which a target's work lands, and its pending commits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ralph.git.repo import Repo

if TYPE_CHECKING:
    from ralph.receipts.notes import Move
    from ralph.receipts.writer import ReceiptWriter

PENDING = "refs/ralph/pending"
LINES = "refs/ralph/lines"
STRAYS = "refs/ralph/strays"


@dataclass
class TargetBranch:
    """`ralph/<target>`: only Ralph moves it during a run.

    With `defers_commit`, passed work lands on *lines* beside it, one for each spec, until a commit puts the whole line
    on the branch. The pending ref names the commit with the newest plan while it is not the branch's own.
    """

    repo: Repo
    name: str
    target: str
    defers_commit: bool = False
    receipts: ReceiptWriter | None = None  # None: commits get no receipts
    expected: str = ""  # the commit with the newest plan, as Ralph left it; empty: not known yet
    _left: dict[str, str] = field(default_factory=dict)  # each of its refs as Ralph left it

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.name}"

    @property
    def pending_ref(self) -> str:
        return f"{PENDING}/{self.target}"

    def ref_of(self, line: str) -> str:
        return f"{LINES}/{self.target}/{line}" if line else self.ref

    async def tip(self, line: str = "") -> str:
        """Return the base of the next work on a line; of one that is not begun, and without one, the branch's tip."""
        ref = self.ref_of(line)
        is_known = self._left and line  # an agent may have made a ref that Ralph did not
        return (self._left.get(ref, "") if is_known else await self.repo.tip(ref)) or await self.repo.tip(self.ref)

    async def lines(self) -> dict[str, str]:
        """Return the commits of the lines that are begun, by ref."""
        return await self.repo.refs(f"{LINES}/{self.target}") if self.defers_commit else {}

    async def plan_tip(self) -> str:
        """Return the commit with the newest plan."""
        return (await self.repo.tip(self.pending_ref) if self.defers_commit else "") or await self.tip()

    async def watch(self) -> None:
        """Record the current refs; `reclaim` undoes any later move that Ralph did not make."""
        self.expected = await self.plan_tip()
        refs = (self.ref, self.pending_ref) if self.defers_commit else (self.ref,)
        self._left = {ref: await self.repo.tip(ref) for ref in refs} | await self.lines()

    async def land(self, commit: str, old: str, *moves: Move, line: str = "", closes: str = "") -> bool:
        """Move the branch, or a line, to `commit` if its tip is still `old`; `closes`: the line that `commit` ends."""
        ref = self.ref_of(line)
        begins = bool(line) and not await self.repo.tip(ref)
        after = {ref: commit}
        if line:
            after[self.pending_ref] = commit
        elif self.defers_commit:
            after |= {
                one: "" for one in (self.pending_ref, self.ref_of(closes)) if one != ref and await self.repo.tip(one)
            }
        more: list[Move] = [(one, new, None) for one, new in after.items() if one != ref]
        if not await self.repo.move((ref, commit, "" if begins else old), *more, *moves):
            return False
        self.expected = commit
        self._left = {one: new for one, new in (self._left | after).items() if new or one == self.pending_ref}
        return True

    async def land_state(self, make: Callable[[str], Awaitable[str]], message: str) -> bool:
        """Commit Ralph's own files: on the branch, or on the pending ref while work is pending.

        `make` returns the tree with the newest plan, on top of a commit.
        """
        waits = bool(await self.lines())
        tip = await self.plan_tip() if waits else await self.tip()
        tree, before = await make(tip), await self.repo.tree_of(tip)
        if tree == before:
            return True
        commit = self.repo.write_commit(tree, (tip,), message)
        if waits:
            self.expected = self._left[self.pending_ref] = commit
            return await self.repo.move((self.pending_ref, commit, None))
        receipt = await self._state_receipt(commit, tree, tip)
        return await self.with_receipt(receipt, lambda *moves: self.land(commit, tip, *moves))

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

    async def catch_up(self, commit: str) -> None:
        """Fast-forward the branch to a person's newer commit; do nothing if the two have diverged."""
        tip = await self.tip()
        if tip and not await self.lines() and tip != commit and await self.repo.is_ancestor(tip, commit):
            await self.repo.move((self.ref, commit, tip))

    async def reclaim(self) -> str:
        """Undo a move that another process made during a run; return the ref under which its commit is kept."""
        kept, moves = "", list[tuple[str, str, str | None]]()
        for ref, known in self._left.items():
            now = await self.repo.tip(ref)
            if now != known or self._is_symbolic(ref):
                kept = f"{STRAYS}/{now[:12]}" if now else ref
                moves += [(kept, now, None)] if now else []
                moves.append((ref, known, None))
        if moves:
            await self.repo.move(*moves)
        return kept

    def _is_symbolic(self, ref: str) -> bool:
        """Whether it is a symbolic ref or a link, which Ralph never creates."""
        path = self.repo.git_dir / ref
        return path.is_file() and (path.is_symlink() or path.read_bytes().startswith(b"ref:"))
