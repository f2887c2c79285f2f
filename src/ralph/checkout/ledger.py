"""A ledger of what the person's repository holds, from before an agent's code runs to after it.

Agents, gates and hooks have small repositories of their own, so none of them has any business in the person's. A
change there that the person cannot have made is undone, kept, and told. What the person does meanwhile stays: commits
and switches leave traces in the reflogs of their own worktrees.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ralph.checkout.branch import STRAYS
from ralph.git.repo import Repo
from ralph.inside import open_new

AGENT_EMAIL = "agent@ralph.invalid"
"""Who commits in an agent's, a gate's or a hook's name: reflogs tell them from the person."""

WATCHED = ("config", "config.worktree", "info", "hooks", "objects/info/alternates", "shallow", "commondir")
HARMLESS = (b"branch", b"remote")
"""Sections of the configuration that the person's own commands write all the time, and that run nothing."""
REFS = ("refs/heads/", "refs/tags/", "refs/stash")
OWN_REFS = ("refs/heads/ralph/", "refs/ralph/")


@dataclass(frozen=True)
class Kept:
    """One file of the repository as it was."""

    data: bytes
    mode: int


@dataclass(frozen=True)
class Ledger:
    """The repository at one moment."""

    repo: Repo
    files: dict[str, Kept]
    refs: dict[str, str]
    traces: dict[str, int]  # how long the reflogs of the person's worktrees were

    @classmethod
    def of(cls, repo: Repo) -> Ledger:
        return cls(repo=repo, files=_files(repo.git_dir), refs=_refs(repo.git_dir), traces=_traces(repo.git_dir))

    async def settle(self, keep_in: Path) -> tuple[str, ...]:
        """Undo what the person cannot have done since; says what it was."""
        return (*self._settle_files(keep_in), *await self._settle_refs())

    def _settle_files(self, keep_in: Path) -> list[str]:
        now, texts = _files(self.repo.git_dir), []
        for name in sorted({*now, *self.files}):
            before, after = self.files.get(name), now.get(name)
            if before == after or (name.startswith("config") and _is_harmless(before, after)):
                continue
            path = self.repo.git_dir / name
            if after:
                with open_new(keep_in / "git" / name) as file:
                    file.write(after.data)
            _put_back(path, before)
            texts.append(f"it changed .git/{name}")
        return texts

    async def _settle_refs(self) -> list[str]:
        now = _refs(self.repo.git_dir)
        if now == self.refs:
            return []
        moved = self._moved_by_person()
        texts: list[str] = []
        moves: list[tuple[str, str, str | None]] = []
        for ref in sorted({*now, *self.refs}):
            before, after = self.refs.get(ref, ""), now.get(ref, "")
            if before == after or not ref.startswith(REFS) or ref.startswith(OWN_REFS):
                continue
            if after in moved or (not after and moved) or (not before and not self._by_agent(ref)):
                continue  # the person's; a branch of theirs that is gone may be kept all the same
            if after:
                moves.append((f"{STRAYS}/{after[:12]}", after, None))
            moves.append((ref, before, None))
            what = "made" if not before else "moved" if after else "removed"
            texts.append(f"it {what} {ref.removeprefix('refs/heads/').removeprefix('refs/')}")
        if moves and not await self.repo.move(*moves):
            return [f"{text}, which could not be undone" for text in texts]
        return texts

    def _moved_by_person(self) -> set[str]:
        """The commits that the person's worktrees went to since."""
        found: set[str] = set()
        for name, log in _logs(self.repo.git_dir):
            try:
                with log.open("rb") as file:
                    file.seek(self.traces.get(name, 0))
                    lines = file.read().decode(errors="replace").splitlines()
            except OSError:
                continue
            found |= {line.split(" ", 2)[1] for line in lines if line.count(" ") > 2 and AGENT_EMAIL not in line}
        return found

    def _by_agent(self, ref: str) -> bool:
        try:
            last = (self.repo.git_dir / "logs" / ref).read_bytes().rstrip(b"\n").rpartition(b"\n")[2]
        except OSError:
            return False
        return AGENT_EMAIL.encode() in last


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
    """Whether two configurations differ only in what commands such as `git switch` write."""
    if before is None or after is None:
        return False
    return _sections(before.data) == _sections(after.data)


def _sections(data: bytes) -> list[bytes]:
    """The lines of a configuration without its harmless sections."""
    kept, skip = [], False
    for line in data.splitlines():
        text = line.strip()
        if text.startswith(b"["):
            skip = text[1:].split(b" ")[0].split(b"]")[0].lower() in HARMLESS
        if text and not skip:
            kept.append(text)
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


def _traces(git_dir: Path) -> dict[str, int]:
    found = {}
    for name, log in _logs(git_dir):
        try:
            found[name] = log.stat().st_size
        except OSError:
            continue
    return found


def _logs(git_dir: Path) -> Iterator[tuple[str, Path]]:
    """The reflogs of what is checked out in the person's worktrees."""
    yield "", git_dir / "logs/HEAD"
    for folder in sorted((git_dir / "worktrees").glob("*")):
        try:
            where = (folder / "gitdir").read_text()
        except OSError:
            continue
        if "/.ralph/worktrees/" not in where:
            yield folder.name, folder / "logs/HEAD"
