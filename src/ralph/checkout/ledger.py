"""A ledger of what the person's repository holds, from before an agent's code runs to after it.

Agents, gates and hooks have small repositories of their own, so none of them has any business in the person's. What
they did there is undone, kept, and told. What the person does meanwhile stays. Git tells the two apart: its trace
shows what agents' commands did, and its reflogs whether a ref was moved by git at all.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ralph.checkout.branch import STRAYS
from ralph.checkout.trace import Trace
from ralph.git.repo import Repo
from ralph.inside import open_new

AGENT_EMAIL = "agent@ralph.invalid"
"""Who commits in an agent's, a gate's or a hook's name: reflogs tell them from the person."""

WATCHED = (
    "config",
    "config.worktree",
    "hooks",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
    "shallow",
    "commondir",
)
HARMLESS = re.compile(
    r"(advice|branch|color|fetch|gc|index|init|maintenance|pull|push|rebase|rerere|stash|status|user)\..*"
    r"|remote\.(url|pushurl|fetch|push|tagopt|prune|mirror)|submodule\.(url|active|branch)"
    r"|core\.sparsecheckout(cone)?|extensions\.worktreeconfig"
)
"""Settings that everyday commands write, and that neither run a program nor hide a file."""
SECTION = re.compile(r'\[([\w.-]+)(?:\s+"[^"\\]*")?\]')
SETTING = re.compile(r"([A-Za-z][\w-]*)(?:\s*=.*)?(?<!\\)")
REFS = ("refs/heads/", "refs/tags/", "refs/stash")
OWN_REFS = ("refs/heads/ralph/", "refs/ralph/")
PERHAPS_YOU = "if that was you, do it again"


@dataclass(frozen=True)
class Kept:
    """One file of the repository as it was."""

    data: bytes
    mode: int


@dataclass(frozen=True)
class Settled:
    """What had changed in the person's repository."""

    undone: tuple[str, ...] = ()  # what agents did
    left: tuple[str, ...] = ()  # what the person seems to have done, and cannot easily get back if they did not


@dataclass(frozen=True)
class Ledger:
    """The repository at one moment."""

    repo: Repo
    trace: Trace
    own: Path  # where Ralph's working copies are
    files: dict[str, Kept]
    refs: dict[str, str]

    @classmethod
    def of(cls, repo: Repo, trace: Trace, own: Path) -> Ledger:
        return cls(repo=repo, trace=trace.from_here(), own=own, files=_files(repo.git_dir), refs=_refs(repo.git_dir))

    async def settle(self, keep_in: Path) -> Settled:
        """Undo what agents did since; says what it was."""
        files, refs = _files(self.repo.git_dir), _refs(self.repo.git_dir)
        if files == self.files and refs == self.refs:
            return Settled()
        by_agents = self.trace.shows_change_in(self.repo, self.own)
        undone = self._settle_files(files, keep_in, by_agents=by_agents)
        moved, left = await self._settle_refs(refs, by_agents=by_agents)
        return Settled(undone=(*undone, *moved), left=left)

    def _settle_files(self, now: dict[str, Kept], keep_in: Path, *, by_agents: bool) -> list[str]:
        texts = []
        for name in sorted({*now, *self.files}):
            before, after = self.files.get(name), now.get(name)
            if before == after or (not by_agents and name.startswith("config") and _is_harmless(before, after)):
                continue
            path = self.repo.git_dir / name
            if after:
                with open_new(keep_in / "git" / name) as file:
                    file.write(after.data)
            _put_back(path, before)
            texts.append(f"it changed .git/{name}" if by_agents else f"it changed .git/{name} ({PERHAPS_YOU})")
        return texts

    async def _settle_refs(self, now: dict[str, str], *, by_agents: bool) -> tuple[list[str], tuple[str, ...]]:
        texts: list[str] = []
        left: list[str] = []
        moves: list[tuple[str, str, str | None]] = []
        for ref in sorted({*now, *self.refs}):
            before, after = self.refs.get(ref, ""), now.get(ref, "")
            if before == after or not ref.startswith(REFS) or ref.startswith(OWN_REFS):
                continue
            name = ref.removeprefix("refs/heads/").removeprefix("refs/")
            if not self._is_by_agent(ref, after, by_agents=by_agents):
                if not after:
                    moves.append((f"{STRAYS}/{before[:12]}", before, None))
                    left.append(f"{name} was removed (if that was not you: git update-ref {ref} {before[:12]})")
                continue
            if after:
                moves.append((f"{STRAYS}/{after[:12]}", after, None))
            moves.append((ref, before, None))
            texts.append(f"it {'made' if not before else 'moved' if after else 'removed'} {name}")
        if moves and not await self.repo.move(*moves):
            return [f"{text}, which could not be undone" for text in texts], tuple(left)
        return texts, tuple(left)

    def _is_by_agent(self, ref: str, now: str, *, by_agents: bool) -> bool:
        """Whether an agent moved a ref: its reflog has the agent's address, or it was moved without git.

        Git removes the reflog with its ref, and keeps none for tags. There only the trace can tell.
        """
        try:
            last = (self.repo.git_dir / "logs" / ref).read_bytes().rstrip(b"\n").rpartition(b"\n")[2]
        except OSError:
            last = b""
        if not last:
            return by_agents
        return AGENT_EMAIL.encode() in last or last.split(b" ", 2)[1:2] != [now.encode()]


def _files(git_dir: Path) -> dict[str, Kept]:
    found = {}
    for name in WATCHED:
        for path in _below(git_dir / name):
            try:
                if path.is_file() and not path.name.endswith((".sample", ".lock")):
                    found[str(path.relative_to(git_dir))] = Kept(path.read_bytes(), path.stat().st_mode & 0o777)
            except OSError:
                continue
    return found


def _below(path: Path) -> Iterator[Path]:
    if path.is_dir() and not path.is_symlink():
        for entry in sorted(path.iterdir()):
            yield from _below(entry)
    elif os.path.lexists(path):
        yield path


def _put_back(path: Path, before: Kept | None) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if before:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(before.data)
        path.chmod(before.mode)


def _is_harmless(before: Kept | None, after: Kept | None) -> bool:
    """Whether two configurations differ only in what everyday commands write."""
    old, new = (_settings(kept.data) if kept else [] for kept in (before, after))
    return old == new


def _settings(data: bytes) -> list[str]:
    """The settings of a configuration that are not harmless, and every line that is not plainly one setting."""
    kept, section = [], ""
    for line in data.decode(errors="replace").splitlines():
        text = line.strip()
        header, setting = SECTION.fullmatch(text), SETTING.fullmatch(text)
        if header:
            section = header[1].lower()
        elif text and not (setting and HARMLESS.fullmatch(f"{section}.{setting[1].lower()}")):
            kept.append(f"{section}: {text}")
    return kept


def _refs(git_dir: Path) -> dict[str, str]:
    """Every ref, from git's own files: no process for that. Where git keeps them otherwise there are none to see."""
    found: dict[str, str] = {}
    try:
        for line in (git_dir / "packed-refs").read_text(errors="surrogateescape").splitlines():
            commit, _, ref = line.partition(" ")
            if ref and not line.startswith(("#", "^")):
                found[ref] = commit
    except OSError:
        pass
    for path in _below(git_dir / "refs"):
        try:
            commit = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if commit and not path.name.endswith(".lock"):
            found[str(path.relative_to(git_dir))] = commit
    return found
