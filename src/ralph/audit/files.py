"""What the audit looks at: the paths that differ between base and work, and the two trees around them."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

MAX_SIZE = 1_000_000  # bytes; a larger file is data, not a test or a definition that a person reads


@dataclass(frozen=True, kw_only=True)
class ChangedFile:
    """One path that differs between base and work."""

    path: str
    before: bytes | None  # None: it did not exist
    after: bytes | None  # None: it is gone
    stopped_running: bool = False  # it was a program, and is only a file now

    @cached_property
    def old(self) -> str:
        return text_of(self.before) or ""

    @cached_property
    def new(self) -> str:
        return text_of(self.after) or ""

    @property
    def is_readable(self) -> bool:
        """Whether both versions are text of a size that a person reads."""
        return all(content is None or text_of(content) is not None for content in (self.before, self.after))


def text_of(content: bytes | None) -> str | None:
    """Decode a text file; None if there is none, or if it is binary or too large."""
    if content is None or len(content) > MAX_SIZE or b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return content.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")


ReadAll = Callable[[Sequence[str]], Mapping[str, bytes]]


class Tree:
    """The files of the base or of the work; each is read at most once."""

    def __init__(
        self, read: Callable[[str], bytes | None], paths: Callable[[], Iterable[str]], read_all: ReadAll | None = None
    ) -> None:
        self._read = read
        self._read_all = read_all
        self._list = paths
        self._texts: dict[str, str | None] = {}

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(self._list())

    def text(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = text_of(self._read(path))
        return self._texts[path]

    def prepare(self, paths: Iterable[str]) -> None:
        """Read many files with one question, if the tree can; `text` has them then."""
        if self._read_all:
            missing = [path for path in paths if path not in self._texts]
            found = self._read_all(missing)
            self._texts.update((path, text_of(found.get(path))) for path in missing)


def trees(
    changes: Sequence[ChangedFile],
    read_base: Callable[[str], bytes | None],
    list_base: Callable[[], Sequence[str]],
    read_all: ReadAll | None = None,
) -> tuple[Tree, Tree]:
    """Return the base and the work. `read_all` reads unchanged files of the base."""
    changed: Mapping[str, ChangedFile] = {change.path: change for change in changes}

    def read_old(path: str) -> bytes | None:
        return changed[path].before if path in changed else read_base(path)

    def read_new(path: str) -> bytes | None:
        return changed[path].after if path in changed else read_base(path)

    def list_new() -> set[str]:
        gone = {change.path for change in changes if change.after is None}
        return (set(list_base()) | set(changed)) - gone

    return Tree(read_old, list_base, read_all), Tree(read_new, list_new)


def matches(path: str, globs: Iterable[str]) -> bool:
    """Return whether a path matches a glob, in git's syntax: `**` for any depth, a folder for all below it."""
    return any(_matches(path.split("/"), glob.strip("/").split("/")) for glob in globs if glob.strip("/"))


def _matches(parts: list[str], glob: list[str]) -> bool:
    """Match part by part, so that no pattern takes more than (parts x patterns) steps."""
    reached = {0}  # how many parts of the path may be matched by the patterns so far
    for pattern in glob:
        if pattern == "**":
            reached = set(range(min(reached, default=len(parts) + 1), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatch.fnmatchcase(parts[at], pattern)}
    is_folder = not any(sign in glob[-1] for sign in "*?[")
    return len(parts) in reached or (is_folder and bool(reached))
