"""The ledger: compares the person's repository before and after an agent's code runs.

Agents, gates and hooks work in small repositories of their own and must not change the person's. Ralph undoes, keeps
and reports what they changed there. What Ralph cannot undo without touching the person's files stays, and the report
names the command that fixes it. The person's own changes stay. Git tells the two apart: its trace shows what agents'
commands did, and its reflogs show whether git moved a ref at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ralph.checkout.branch import STRAYS
from ralph.git.files import is_behind_link
from ralph.git.repo import Repo
from ralph.protect.git_trace import Span, Trace
from ralph.protect.repository_snapshot import SYMBOLIC, VALUE, RepositorySnapshot
from ralph.protect.snapshot import SavedFile, copy_aside, restore, saved

AGENT_EMAIL = "agent@ralph.invalid"
"""The committer of agents, gates and hooks; reflogs distinguish them from the person by it."""

HARMLESS = re.compile(
    r"(advice|branch|color|fetch|gc|index|init|maintenance|pull|push|rebase|rerere|stash|status|user)\..*"
    r"|remote\.(url|pushurl|fetch|push|tagopt|prune|mirror)|submodule\.(url|active|branch)"
    r"|core\.sparsecheckout(cone)?|extensions\.worktreeconfig"
)
"""Settings that everyday commands write, and that neither run a program nor hide a file."""
SECTION = re.compile(r'\[([\w.-]+)(?:\s+"[^"\\]*")?\]')
SETTING = re.compile(r"([A-Za-z][\w-]*)(?:\s*=.*)?(?<!\\)")
FOLDERS = ("hooks", "info")
SPARSE = "info/sparse-checkout"
BY_GIT = (SPARSE, "shallow")
"""Files that everyday commands write: only the trace shows who did."""
OWN_REFS = "refs/ralph/"
PASSING = ("refs/remotes/", "refs/bisect/", "refs/rewritten/")
"""Refs that everyday commands remove and that need no restoring."""
STASH = "refs/stash"
MOVED_AT = re.compile(rb"> (\d+) [+-]\d{4}\t")
PERHAPS_YOU = "if you made this change, make it again"
LEFT = "which Ralph did not undo"
"""Part of each text about a change that was not undone."""


@dataclass(frozen=True)
class LedgerResult:
    """What changed in the person's repository."""

    undone: tuple[str, ...] = ()  # what agents did; the text says so if it was not undone
    left: tuple[str, ...] = ()  # probably the person's own changes, reported because they are hard to undo


@dataclass(frozen=True)
class Ledger:
    """The repository at one moment."""

    repo: Repo
    trace: Trace
    own: Path  # the folder of Ralph's working copies
    before: RepositorySnapshot
    branch: str = ""  # the ref that only Ralph moves during a run; `TargetBranch` watches it

    @classmethod
    def of(cls, repo: Repo, trace: Trace, own: Path, branch: str = "") -> Ledger:
        before = RepositorySnapshot.of(repo.git_dir, own)
        return cls(repo=repo, trace=trace.from_here(), own=own, before=before, branch=branch)

    async def settle(self, keep_in: Path) -> LedgerResult:
        """Undo what agents have changed since; return the report."""
        now = RepositorySnapshot.of(self.repo.git_dir, self.own, self.before)
        if now == self.before:
            return LedgerResult()
        texts = self._settle_form(now)
        if texts:
            now = RepositorySnapshot.of(self.repo.git_dir, self.own, self.before)
        spans = self.trace.changes_in(self.repo, self.own)
        by_agents = bool(spans)
        undone = texts + self._settle_files(now, keep_in, by_agents=by_agents)
        undone += self._settle_heads(now, by_agents=by_agents)
        moved, left = await self._settle_refs(now, spans)
        return LedgerResult(undone=(*undone, *moved), left=left)

    def _settle_form(self, now: RepositorySnapshot) -> list[str]:
        """Undo what no git command does and what git cannot read, since it would break the person's commands."""
        git_dir, texts = self.repo.git_dir, []
        for name in sorted(now.links - self.before.links):
            (git_dir / name).unlink(missing_ok=True)
            texts.append(f"it replaced .git/{name} with a link")
        (git_dir / "refs").mkdir(exist_ok=True)
        for name in sorted(now.broken - self.before.broken - now.links):
            (git_dir / name).unlink(missing_ok=True)
            texts.append(f"it wrote something other than a ref to .git/{name}")
        if not now.is_packed_well and self.before.is_packed_well:
            restore(git_dir / "packed-refs", saved(self.before.packed or None, 0o644))
            texts.append("it made .git/packed-refs unreadable")
        for key, before in self.before.heads.items():
            is_worktree_gone = key and not (git_dir / key / "gitdir").is_file()
            if VALUE.fullmatch(before) and not VALUE.fullmatch(now.heads.get(key, "")) and not is_worktree_gone:
                restore(git_dir / key / "HEAD", saved(f"{before}\n".encode(), 0o644))
                texts.append(f"it made .git/{Path(key, 'HEAD')} unreadable")
        return texts

    def _settle_files(self, now: RepositorySnapshot, keep_in: Path, *, by_agents: bool) -> list[str]:
        """Restore files; leave submodules and worktrees alone that appeared or disappeared meanwhile."""
        texts = []
        for key in sorted(now.git_dirs.keys() & self.before.git_dirs):
            old, new = self.before.git_dirs[key], now.git_dirs[key]
            for name in sorted({*old, *new}):
                before, after = old.get(name), new.get(name)
                everyday = name in BY_GIT or (name.startswith("config") and _is_harmless(before, after, key))
                if before == after or (everyday and not by_agents):
                    continue
                shown = str(Path(key, name))
                if after:
                    copy_aside(self.repo.git_dir / shown, keep_in / "git" / shown)
                if not is_behind_link(self.repo.git_dir, shown):  # files behind a link do not belong to the repository
                    restore(self.repo.git_dir / shown, before)
                if after and after.is_link and name in FOLDERS:
                    (self.repo.git_dir / shown).mkdir(exist_ok=True)
                texts.append(f"it changed .git/{shown}" + ("" if by_agents else f" ({PERHAPS_YOU})"))
                if name == SPARSE:
                    texts.append(self._without_files(key, old))
        return texts

    def _without_files(self, key: str, old: dict[str, SavedFile]) -> str:
        was_sparse = any(b"sparsecheckout = true" in kept.data.lower() for kept in old.values())
        where, git = self._checkout(key)
        how = "reapply" if was_sparse else "disable"
        return f"it changed which files {where} has, {LEFT}: to fix this, run `{git} sparse-checkout {how}`"

    def _settle_heads(self, now: RepositorySnapshot, *, by_agents: bool) -> list[str]:
        """Report switched checkouts; only the person can switch back, because that changes files and an index."""
        texts = []
        for key, before in self.before.heads.items():
            after = now.heads.get(key, before)
            if before == after or not (by_agents or AGENT_EMAIL.encode() in self._last_move(f"{key}/logs/HEAD")):
                continue
            where, git = self._checkout(key)
            back = _branch(before) if before.startswith(SYMBOLIC) else f"--detach {_branch(before)}"
            what = f"it switched {where} from {_branch(before)} to {_branch(after)}"
            texts.append(f"{what}, {LEFT}: to fix this, run `{git} switch {back}`")
        return texts

    def _checkout(self, key: str) -> tuple[str, str]:
        """Return the description of a worktree and the git command for it."""
        git_dir = self.repo.git_dir
        folder = Path((git_dir / key / "gitdir").read_text().strip()).parent if key else git_dir.parent
        return ("your checkout", "git") if folder == self.repo.top else (str(folder), f"git -C {folder}")

    async def _settle_refs(self, now: RepositorySnapshot, spans: list[Span]) -> tuple[list[str], tuple[str, ...]]:
        texts: list[str] = []
        left: list[str] = []
        moves: list[tuple[str, str, str | None]] = []
        for ref in sorted({*now.refs, *self.before.refs}):
            before, after = self.before.refs.get(ref, ""), now.refs.get(ref, "")
            name = ref.removeprefix("refs/heads/").removeprefix("refs/")
            if before == after or (self._is_own(ref) and not after.startswith(SYMBOLIC)):
                continue
            if not self._is_by_agent(ref, now, spans):
                if not after and not ref.startswith(PASSING) and not before.startswith(SYMBOLIC):
                    moves.append((f"{STRAYS}/{before[:12]}", before, None))
                    left.append(f"{name} was removed (if you did not do this: git update-ref {ref} {before[:12]})")
            elif ref == STASH and after and self._is_stacked(before):
                texts.append(f"it stashed your changes, {LEFT}: to get them back, run `git stash pop`")
            elif not before and now.is_checked_out(ref):
                texts.append(f"it created {name}, {LEFT}: it is checked out")
            else:
                texts.append(f"it {'created' if not before else 'moved' if after else 'removed'} {name}")
                if after and not after.startswith(SYMBOLIC):
                    stray = f"{STRAYS}/{after[:12]}"
                    moves.append((stray, after, None))
                    texts[-1] += f" (its commit is kept in {stray})"
                moves.append((ref, before, None if after.startswith(SYMBOLIC) else after))
        return await self._undo(moves, texts), tuple(left)

    async def _undo(self, moves: list[tuple[str, str, str | None]], texts: list[str]) -> list[str]:
        plain = [move for move in moves if not move[1].startswith(SYMBOLIC)]
        done = not plain or await self.repo.move(*plain)
        if not done:  # one of them fails: move the others one by one
            done = all([await self.repo.move(move) for move in plain])
        for ref, value, _ in moves:
            if value.startswith(SYMBOLIC):
                done &= (await self.repo.ask("symbolic-ref", ref, value.removeprefix(SYMBOLIC))).code == 0
        return texts if done else [text if LEFT in text else f"{text}, {LEFT}" for text in texts]

    def _is_by_agent(self, ref: str, now: RepositorySnapshot, spans: list[Span]) -> bool:
        """Return whether an agent moved a ref: a traced command ran at that moment, or no git command moved it.

        Git deletes the reflog with its ref and keeps none for tags; there only the trace can tell.
        """
        before, after = self.before.refs.get(ref, ""), now.refs.get(ref, "")
        if after.startswith(SYMBOLIC) and (self._is_own(ref) or (before and not before.startswith(SYMBOLIC))):
            return True  # no everyday git command does that
        moves = self._moves(f"logs/{ref}")
        if not moves:
            return bool(spans)
        move = _move_to(now.commit(ref), moves, self.before.commit(ref))
        if not move or AGENT_EMAIL.encode() in move:
            return True
        when = MOVED_AT.search(move)
        return any(began - 1 <= float(when[1]) <= ended + 1 for began, ended in spans) if when else bool(spans)

    def _is_own(self, ref: str) -> bool:
        return ref == self.branch or ref.startswith(OWN_REFS)

    def _last_move(self, log: str) -> bytes:
        """Return the newest line of a reflog."""
        return (self._moves(log) or [b""])[-1]

    def _moves(self, log: str) -> list[bytes]:
        """Return the lines of a reflog, the newest last."""
        try:
            data = (self.repo.git_dir / log.lstrip("/")).read_bytes()
        except OSError:
            return []
        return [line for line in data.split(b"\n") if line]

    def _is_stacked(self, before: str) -> bool:
        """Return whether the earlier stash still exists."""
        try:
            return not before or before.encode() in (self.repo.git_dir / "logs" / STASH).read_bytes()
        except OSError:
            return False


def _move_to(commit: str, moves: list[bytes], before: str) -> bytes:
    """Return the reflog line that moved a ref to this commit; b"" if no git command did.

    It need not be the last line: git writes the reflog before the ref, and the person may commit again meanwhile.
    """
    for move in reversed(moves):
        to = move.split(b" ", 2)[1:2]
        if to == [commit.encode()]:
            return move
        if to == [before.encode()]:
            break
    return b""


def _branch(head: str) -> str:
    return head.removeprefix(f"{SYMBOLIC}refs/heads/") if head.startswith(SYMBOLIC) else head[:12]


def _is_harmless(before: SavedFile | None, after: SavedFile | None, key: str) -> bool:
    """Return whether two configurations differ only in what everyday commands write, such as a submodule's worktree."""
    if not all(kept is None or kept.is_text for kept in (before, after)):
        return False
    old, new = (_settings(kept.data) if kept else [] for kept in (before, after))
    if key.startswith("modules/"):
        old, new = ([text for text in texts if not text.startswith("core: worktree =")] for texts in (old, new))
    return old == new


def _settings(data: bytes) -> list[str]:
    """Return the settings that are not harmless, and every line that is not a simple setting."""
    kept, section = [], ""
    for line in data.decode(errors="replace").splitlines():
        text = line.strip()
        header, setting = SECTION.fullmatch(text), SETTING.fullmatch(text)
        if header:
            section = header[1].lower()
        elif text and not (setting and HARMLESS.fullmatch(f"{section}.{setting[1].lower()}")):
            kept.append(f"{section}: {text}")
    return kept
