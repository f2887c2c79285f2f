"""Finds the ignored dependency folders that a working copy lacks, and detects changes in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from ralph.frozen import Frozen
from ralph.provision.destination import Destination, is_own


class DependencyKind(Frozen):
    """A kind of dependency folder: its names, the files that identify it, and where changes show."""

    names: tuple[str, ...]
    contains: str = ""  # a file inside it
    beside: tuple[str, ...] = ()  # one of these files is beside it
    changing: tuple[str, ...] = (".",)  # the folders in it whose entries change when something is installed
    built: bool = False  # builds write it constantly, so only lock files show whether it is out of date


KINDS = (
    DependencyKind(names=(".venv", "venv", "env"), contains="pyvenv.cfg", changing=(".", "lib/python*/site-packages")),
    DependencyKind(names=("node_modules",), changing=(".", "@*")),
    DependencyKind(
        names=("vendor",), beside=("composer.json", "Gemfile", "go.mod"), changing=(".", "*", "bundle/ruby/*/gems")
    ),
    DependencyKind(names=(".bundle",), beside=("Gemfile",)),
    DependencyKind(names=("deps",), beside=("mix.exs",)),
    DependencyKind(names=("_build",), beside=("mix.exs",), built=True),
    DependencyKind(names=("target",), beside=("Cargo.toml",), built=True),
)
BY_NAME = {name: kind for kind in KINDS for name in kind.names}
DEFAULT_KIND = DependencyKind(names=())
SCRATCH = frozenset(("__pycache__", ".cache", ".vite", ".vite-temp", ".pytest_cache"))
"""Programs write these while they run; a change in them does not count."""

MANIFESTS = (
    "pyproject.toml",
    "setup.py",
    "package.json",
    "composer.json",
    "Gemfile",
    "go.mod",
    "mix.exs",
    "Cargo.toml",
)
LOCKS = frozenset((
    "uv.lock", "poetry.lock", "Pipfile.lock", "pyproject.toml", "package-lock.json", "pnpm-lock.yaml", "yarn.lock",
    "bun.lock", "bun.lockb", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock", "mix.lock",
))  # fmt: skip
INCLUDE = ".worktreeinclude"


class Dependency(Frozen):
    """The dependency folders of a checkout, and a cheap digest that shows whether git must be asked again."""

    paths: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()  # folders that may contain one: "" or "packages/a/"
    seen: str = ""


async def discover(copy: Destination, before: Dependency) -> Dependency:
    """Return the dependency folders of the person's checkout; ask git only if the cheap digest has changed."""
    if before.seen and _snapshot(copy, before.watched) == before.seen:
        return before
    ignored = await copy.git(copy.source, *_IGNORED)
    paths = _outermost(path.rstrip("/") for path in ignored if is_dependency(copy.source, path.rstrip("/")))
    tracked = await copy.git(copy.source, "ls-files", "-z", "--", *(f":(glob)**/{name}" for name in MANIFESTS))
    watched = tuple(sorted({"", copy.prefix, *map(_folder_of, paths), *map(_folder_of, tracked)}))
    return Dependency(paths=paths, watched=watched, seen=_snapshot(copy, watched))


_IGNORED = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")


async def included(copy: Destination) -> tuple[str, ...]:
    """Return the ignored paths that the person's `.worktreeinclude` lists."""
    if not (copy.source / INCLUDE).is_file():
        return ()
    listed = await copy.git(
        copy.source, "ls-files", "--others", "--ignored", f"--exclude-from={INCLUDE}", "--directory", "-z"
    )
    stdin = b"".join(os.fsencode(path) + b"\0" for path in listed)
    ignored = await copy.git(copy.source, "check-ignore", "-z", "--stdin", stdin=stdin, may_fail=True)
    return _outermost(path.rstrip("/") for path in ignored if not is_own(path))


async def made_in(copy: Destination) -> frozenset[str]:
    """Return the untracked paths in the working copy."""
    paths = await copy.git(copy.top, "ls-files", "--others", "--directory", "-z")
    return frozenset(_outermost(path.rstrip("/") for path in paths))


async def visible_in(copy: Destination, paths: Iterable[str]) -> tuple[str, ...]:
    """Return those `paths` that git does not ignore in the working copy, so that `git add --all` would add them."""
    wanted = list(paths)
    stdin = b"".join(os.fsencode(path) + b"\0" for path in wanted)
    ignored = await copy.git(copy.top, "check-ignore", "-z", "--stdin", stdin=stdin, may_fail=True) if wanted else ()
    return tuple(path for path in wanted if path not in ignored)


async def tracked_in(copy: Destination, paths: Iterable[str]) -> frozenset[str]:
    """Return those `paths` that the working copy's commit contains, as a file or as a folder."""
    wanted = list(paths)
    literal = (f":(top,literal){path}" for path in wanted)
    files = await copy.git(copy.top, "ls-files", "-z", "--", *literal) if wanted else ()
    return frozenset(path for path in wanted if any(file == path or file.startswith(f"{path}/") for file in files))


def is_dependency(top: Path, path: str) -> bool:
    """Return whether a path is a known dependency folder."""
    folder, name = top / path, path.rpartition("/")[2]
    kind = BY_NAME.get(name)
    if not kind or is_own(path) or not folder.is_dir():
        return False
    if kind.contains and not (folder / kind.contains).is_file():
        return False
    return not kind.beside or any((folder.parent / name).is_file() for name in kind.beside)


def is_built(path: str) -> bool:
    return BY_NAME.get(path.rpartition("/")[2], DEFAULT_KIND).built


def fingerprint(top: Path, path: str, locks: str) -> str:
    """Return a cheap fingerprint of a file or dependency folder, without walking all of it."""
    target = top / path
    status = target.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"link {target.readlink()}"
    if not stat.S_ISDIR(status.st_mode):
        return f"file {status.st_ino} {status.st_size} {status.st_mtime_ns}"
    kind = BY_NAME.get(target.name, DEFAULT_KIND)
    if kind.built:
        return f"built {locks}"
    folders = sorted({folder for pattern in kind.changing for folder in _matching(target, pattern)})
    return digest([str(status.st_ino), *(line for folder in folders for line in _entries(folder))])


def lock_digest(top: Path, folders: Iterable[str]) -> str:
    """Return a digest of every lock file in these folders."""
    files = [f"{folder}{name}" for folder in folders for name in _names(top / folder) if _is_lock(name)]
    return digest(f"{file} {_content(top / file)}" for file in sorted(files))


def _is_lock(name: str) -> bool:
    return name in LOCKS or (name.startswith("requirements") and name.endswith(".txt"))


def _content(file: Path) -> str:
    try:
        return blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - only the names
    except OSError:
        return []


def _snapshot(copy: Destination, watched: Iterable[str]) -> str:
    """Return a digest of the dependency folders that exist and of the state of `.gitignore`."""
    names = [f"{folder}{name}" for folder in watched for name in _names(copy.source / folder) if name in BY_NAME]
    ignores = [str(_times(copy.source / folder / ".gitignore")) for folder in ("", copy.prefix)]
    return digest([*sorted(names), *ignores])


def _times(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_size, status.st_mtime_ns)


def _matching(folder: Path, pattern: str) -> list[Path]:
    found = [folder] if pattern == "." else folder.glob(pattern)
    return [path for path in found if path.is_dir() and not path.is_symlink()]


def _entries(folder: Path) -> list[str]:
    """Return a folder's entries: files by time and size; subfolders only by inode, because caches change in them."""
    lines = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in SCRATCH:
                continue
            if entry.is_dir(follow_symlinks=False):
                lines.append(f"{entry.name} {entry.inode()}")
            else:
                status = entry.stat(follow_symlinks=False)
                lines.append(f"{entry.name} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
    return sorted(lines)


def _folder_of(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that are not below another one."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: f"{path}/"):
        if not kept or not path.startswith(f"{kept[-1]}/"):
            kept.append(path)
    return tuple(kept)


def digest(lines: Iterable[str]) -> str:
    """Return a digest of a list of strings."""
    return blake2b("\0".join(lines).encode(errors="surrogateescape"), digest_size=16).hexdigest()
