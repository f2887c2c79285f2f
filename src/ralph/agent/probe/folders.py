"""A throw-away git repository in which an agent is probed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ralph import safe_files
from ralph.config import Provider
from ralph.frozen import Frozen
from ralph.process import environment
from ralph.process.enclosure import Enclosure
from ralph.process.spawn import capture

IDENT = {
    "GIT_AUTHOR_NAME": "Ralph",
    "GIT_AUTHOR_EMAIL": "ralph@localhost",
    "GIT_COMMITTER_NAME": "Ralph",
    "GIT_COMMITTER_EMAIL": "ralph@localhost",
}
SETTINGS = f"[commit]\n\tgpgsign = false\n[core]\n\thooksPath = {os.devnull}\n"


Enclose = Callable[[Provider, Path, Path, Path], Enclosure | None]
"""Returns the sandbox for a call, given the agent, its working copy and its two temporary folders."""


class ProbeFolders(Frozen):
    """The folders of one probe; nothing outside of them is touched."""

    top: Path
    enclose: Enclose = lambda *_: None

    @property
    def project(self) -> Path:
        return self.top / "project"

    def new(self, name: str) -> Path:
        """Create an empty folder beside the repository."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.top))

    async def git(self, *args: str) -> str:
        """Run git in the repository and return what it prints; "" if it fails."""
        env = {**environment.for_git(os.environ), **IDENT}
        done = await capture(["git", *args], cwd=self.project, env=env)
        return done.out.decode(errors="replace").strip() if done.code == 0 else ""


@contextmanager
def probe_folders(enclose: Enclose = lambda *_: None) -> Iterator[ProbeFolders]:
    """Create the folders of a probe, and remove them afterwards."""
    top = Path(tempfile.mkdtemp(prefix="ralph-probe-"))
    try:
        (top / "project").mkdir()
        yield ProbeFolders(top=top, enclose=enclose)
    finally:
        with suppress(OSError):
            safe_files.remove_all(top)


async def make_repository(folders: ProbeFolders, *, commit: bool) -> None:
    """Make the repository, with a first commit if the agent is to make the second one."""
    await folders.git("init", "--quiet", "--template=")
    with (folders.project / ".git" / "config").open("a") as file:
        file.write(SETTINGS)
    if commit:
        (folders.project / "README.md").write_text("A throw-away repository of Ralph.\n")
        await folders.git("add", "README.md")
        await folders.git("commit", "--quiet", "--message", "Begin")
