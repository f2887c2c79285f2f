"""A snapshot of a repository, read from git's own files without starting a process."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ralph.protect.snapshot import NOTHING, SavedFile, below, save

SYMBOLIC = "ref: "
REPOSITORY = ("config", "hooks", "objects/info/alternates", "shallow", "commondir")
GENERATED = re.compile(r"info/(refs|commit-graph.*)|.*\.(sample|lock)")
"""Files that git generates, or never reads."""
VALUE = re.compile(r"ref: refs/\S+|(?!0+$)([0-9a-f]{40}|[0-9a-f]{64})")
"""The valid content of a ref or HEAD."""
PACKED = re.compile(rb"#.*|\^[0-9a-f]{40,64}|[0-9a-f]{40,64} refs/.+")


@dataclass(frozen=True)
class RepositorySnapshot:
    """What determines how a repository works: configuration, hooks, `info/`, refs and the checked-out branches."""

    git_dirs: dict[str, dict[str, SavedFile]]  # the files of the repository (""), its submodules and its worktrees
    refs: dict[str, str]  # commits, or "ref: " with another ref
    heads: dict[str, str]  # HEAD of each worktree, in the same form, by its key in `git_dirs`
    links: frozenset[str] = field(default_factory=frozenset)  # below refs/: git itself creates none
    broken: frozenset[str] = field(default_factory=frozenset)  # below refs/: files without a valid value
    packed: bytes | None = b""  # the content of `packed-refs`; None: it is not a file

    @classmethod
    def of(cls, git_dir: Path, own: Path, known: RepositorySnapshot | None = None) -> RepositorySnapshot:
        """Read the snapshot, without Ralph's own worktrees, which are in `own`; only what differs from `known`."""
        before = known.git_dirs if known else {}
        worktrees = [path.parent for path in sorted((git_dir / "worktrees").glob("*/gitdir")) if not _is_in(path, own)]
        git_dirs = [git_dir, *_modules(git_dir / "modules"), *worktrees]
        refs, links, broken = _refs(git_dir)
        packed = git_dir / "packed-refs"
        return cls(
            git_dirs={
                name: dict(_files(git_dir / name, before.get(name)))
                for name in (_name(one, git_dir) for one in git_dirs)
            },
            refs=refs,
            heads={_name(folder, git_dir): _text(folder / "HEAD") for folder in (git_dir, *worktrees)},
            links=links,
            broken=broken,
            packed=_bytes(packed) if packed.is_file() or not os.path.lexists(packed) else None,
        )

    def commit(self, ref: str) -> str:
        """Resolve a ref to its commit; "" if it leads nowhere."""
        value = self.refs.get(ref, "")
        for _ in range(5):  # git follows no more either
            if not value.startswith(SYMBOLIC):
                return value
            value = self.refs.get(value.removeprefix(SYMBOLIC), "")
        return ""

    @property
    def is_packed_well(self) -> bool:
        """Whether git can read `packed-refs`."""
        return self.packed is not None and all(PACKED.fullmatch(line) for line in self.packed.splitlines())

    def is_checked_out(self, ref: str) -> bool:
        return f"{SYMBOLIC}{ref}" in self.heads.values()


def _is_in(pointer: Path, folder: Path) -> bool:
    return folder in Path(_text(pointer)).parents


def _name(path: Path, git_dir: Path) -> str:
    return "" if path == git_dir else str(path.relative_to(git_dir))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""  # do not block on a pipe
    except OSError:
        return b""


def _text(path: Path) -> str:
    return _bytes(path).decode(errors="surrogateescape").strip()


def _modules(folder: Path) -> Iterator[Path]:
    """Return the repositories of submodules, including nested ones."""
    for path in sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
        if (path / "HEAD").is_file():
            yield path
            yield from _modules(path / "modules")
        else:
            yield from _modules(path)


def _files(folder: Path, known: dict[str, SavedFile] | None) -> Iterator[tuple[str, SavedFile]]:
    top = f"{folder}/"
    more = REPOSITORY if os.path.isdir(f"{top}objects") else ()
    for name in ("config.worktree", "info", *more):
        for path in below(top + name):
            relative = path.removeprefix(top)
            with suppress(OSError):
                if GENERATED.fullmatch(relative) and stat.S_ISREG(os.lstat(path).st_mode):
                    continue
                saved = save(path, None if known is None else known.get(relative, NOTHING))
                if saved:
                    yield relative, saved


def _refs(git_dir: Path) -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    """Return every ref, the symlinks below refs/, and the files that are not refs."""
    found: dict[str, str] = {}
    links, broken = set(), set()
    for line in _text(git_dir / "packed-refs").splitlines():
        commit, _, ref = line.partition(" ")
        if ref and not line.startswith(("#", "^")):
            found[ref] = commit
    top = f"{git_dir}/"
    for path in below(f"{top}refs"):
        name, value = path.removeprefix(top), _text(Path(path))
        if os.path.islink(path):
            links.add(name)
        if name.endswith(".lock"):
            continue
        if VALUE.fullmatch(value):
            found[name] = value
        else:
            broken.add(name)
    return found, frozenset(links), frozenset(broken)
