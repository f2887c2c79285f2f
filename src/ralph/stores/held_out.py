"""Files that agents must not see: kept outside the repository, at the paths that they have in the project.

Git objects would not do: the repositories in which agents work borrow all objects of the person's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.safe_files import from_home
from ralph.stores import atomic
from ralph.workspace import Workspace

MAX_FILE, MAX_ALL, MAX_FILES = 20_000_000, 100_000_000, 5_000
KEPT_LOGS = 50
EXECUTABLE, PLAIN = 0o755, 0o644


class HeldOutFile(Frozen):
    """One held-out file."""

    path: str  # in the project
    data: bytes
    executable: bool = False


class HeldOutStore(Frozen):
    """The held-out files of a project."""

    folder: Path  # the files
    state: Path  # the logs of their gates, and which copies they are in now

    @classmethod
    def of(cls, workspace: Workspace, folder: str = "") -> HeldOutStore:
        """Return the store of a project; `folder` is the person's own, relative to the project."""
        state = workspace.held_out
        given = workspace.root / from_home(folder) if folder else state / "files"
        return cls(folder=given, state=state)

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def marks(self) -> Path:
        """A file for each clean copy that has held-out files in it; after a kill, the next run removes the copy."""
        return self.state / "laid"

    def check_outside(self, top: Path) -> None:
        """Raise an error if agents could find the files in the repository at `top`."""
        here, repository = self.folder.resolve(), top.resolve()
        if here.is_relative_to(repository):
            raise RalphError(
                f"The held-out files are in {self.folder}, which is inside the repository: agents would see them.",
                remedy="Move them out of the repository, and set heldOut.folder to where they are.",
            )
        if repository.is_relative_to(here):
            raise RalphError(
                f"The folder of the held-out files, {self.folder}, contains the repository.",
                remedy="Set heldOut.folder to a folder with nothing but held-out files.",
            )

    def load(self) -> tuple[HeldOutFile, ...]:
        """Read all files."""
        return read_files(self.folder, self.folder) if self.folder.is_dir() else ()

    def add(self, files: tuple[HeldOutFile, ...]) -> None:
        """Keep these files; raise an error before any of them is kept if another file has one of their paths."""
        known = {file.path: file for file in self.load()}
        for file in files:
            old = known.get(file.path)
            if old and old != file:
                raise RalphError(
                    f"Another version of {file.path} is held out already.",
                    remedy=f"Take it back first (`ralph hold-out remove {file.path}`), or edit it in {self.folder}.",
                )
        _check_sizes([*known.values(), *(file for file in files if file.path not in known)])
        self._make_private()
        for file in files:
            permissions = EXECUTABLE if file.executable else PLAIN
            atomic.write(self.folder / file.path, file.data, permissions=permissions)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that are empty without it."""
        target = self.folder / path
        target.unlink()
        _remove_empty(target.parent, self.folder)

    def new_logs(self, run: str) -> Path:
        """Create the folder for the logs of a run; remove those of runs long ago."""
        self._make_private()
        safe_files.make_folder(self.logs / run)
        for old in sorted(self.logs.iterdir())[:-KEPT_LOGS]:
            safe_files.remove_all(old)
        return self.logs / run

    def _make_private(self) -> None:
        safe_files.make_folder(self.state)
        self.state.chmod(0o700)


def read_files(top: Path, start: Path) -> tuple[HeldOutFile, ...]:
    """Read a file, or all files of a folder; their paths are relative to `top`. A link is refused."""
    found: list[HeldOutFile] = []
    for path in _walk(start):
        name = path.relative_to(top).as_posix()
        data = safe_files.read(path, MAX_FILE)
        if data is None:
            raise RalphError(_why_not(path, name), remedy="Hold out plain files only.")
        found.append(HeldOutFile(path=name, data=data, executable=bool(path.stat().st_mode & stat.S_IXUSR)))
        if len(found) > MAX_FILES:
            raise RalphError(f"{start} has more than {MAX_FILES} files.", remedy="Hold out the checks only.")
        _check_sizes(found)
    return tuple(found)


def _walk(start: Path) -> Iterator[Path]:
    if start.is_symlink() or not start.is_dir():
        yield start
        return
    with os.scandir(start) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        if name != ".git":  # the folder may be a repository of its own
            yield from _walk(start / name)


def _why_not(path: Path, name: str) -> str:
    if path.is_symlink():
        return f"{name} is a link and cannot be held out."
    if not path.is_file():
        return f"{name} is not a plain file and cannot be held out."
    if path.stat().st_size > MAX_FILE:
        return f"{name} is larger than {MAX_FILE // 1_000_000} MB and cannot be held out."
    return f"{name} could not be read."


def _check_sizes(files: list[HeldOutFile]) -> None:
    if sum(len(file.data) for file in files) > MAX_ALL:
        raise RalphError(
            f"The held-out files are larger than {MAX_ALL // 1_000_000} MB together.",
            remedy="Hold out the checks only, without large data.",
        )


def _remove_empty(folder: Path, top: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def lay(files: tuple[HeldOutFile, ...], top: Path) -> None:
    """Write files below `top`, in place of whatever is there; follow no link on the way."""
    for file in files:
        path = Path(file.path)
        target = safe_files.own_folder(top, path.parent) / path.name
        safe_files.remove_all(target)
        with safe_files.open_new(target) as opened:
            opened.write(file.data)
        target.chmod(EXECUTABLE if file.executable else PLAIN)


def changed(files: tuple[HeldOutFile, ...], top: Path) -> tuple[str, ...]:
    """Return the paths of the files that are not as `lay` wrote them any more."""
    return tuple(file.path for file in files if safe_files.read(top / file.path, MAX_FILE) != file.data)


def lift(files: tuple[HeldOutFile, ...], top: Path) -> None:
    """Remove the files that `lay` wrote, and the folders that are empty without them."""
    for file in files:
        target = safe_files.own_folder(top, Path(file.path).parent) / Path(file.path).name
        safe_files.remove_all(target)
        _remove_empty(target.parent, top)
