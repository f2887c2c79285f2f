"""Where a project's files are: its root, `.ralph/`, and the features in it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError
from ralph.frozen import Frozen

MARKERS = (".git", "package.json", "Cargo.toml", "go.mod", "pyproject.toml", "mix.exs")
FEATURE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
FOLDER_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-(.+)")
RALPH = ".ralph"
ANSWERS = f"{RALPH}/run/answers"
IGNORED = (
    "ralph.lock", "logs/", "run/", "screenshots/", "worktrees/", "receipts/", "run_state.json", "aggregate.json",
    ".*.tmp",
)  # fmt: skip
SESSIONS = ".ralph-sessions"
SPECS_PLAN, PROGRESS = "implementation.json", "PROGRESS.md"
TARGETS = ("requirements", "specs", "request")
"""What commands call the other workflows' plans: no feature can have such a name."""


class Workspace(Frozen):
    """One project that Ralph works in."""

    root: Path

    @property
    def ralph(self) -> Path:
        return self.root / RALPH

    @property
    def lock(self) -> Path:
        return self.ralph / "ralph.lock"

    @property
    def logs(self) -> Path:
        return self.ralph / "logs"

    @property
    def records(self) -> Path:
        return self.ralph / "run"

    @property
    def receipts(self) -> Path:
        """Copies of the receipts in `refs/notes/ralph`; no part of a commit, because each names its commit."""
        return self.ralph / "receipts"

    @property
    def worktrees(self) -> Path:
        return self.ralph / "worktrees"

    @property
    def slots(self) -> Path:
        """Where agents work; no feature's name begins with a dot."""
        return self.worktrees / ".slots"

    @property
    def clean_copies(self) -> Path:
        """Where gates run: no agent ever writes there.

        It is outside of the project, so that a gate that looks in the folders above it (for `node_modules`, for a
        configuration) finds nothing that a clone of the branch would not have.
        """
        return cache_folder() / self._unique_name / "verify"

    @property
    def held_out(self) -> Path:
        """Where Ralph keeps what agents must not see: outside of the project, and of its repository."""
        return data_folder() / "held-out" / self._unique_name

    @property
    def tokens(self) -> Path:
        """What the buttons of notifications may do; likewise outside of the project."""
        return data_folder() / "tokens" / f"{self._unique_name}.json"

    @property
    def instructions(self) -> Path:
        """Where what a person asks of a run is on its way: also outside of the project."""
        return data_folder() / "instructions" / self._unique_name

    @property
    def _unique_name(self) -> str:
        """A name for the project in folders that all projects share."""
        digest = hashlib.sha256(os.fsencode(self.root.resolve())).hexdigest()[:12]
        return f"{self.root.name}-{digest}"

    @property
    def review_copies(self) -> Path:
        """Where agents work that change nothing: thrown away after each call."""
        return self.worktrees / ".review"

    @property
    def tester_copies(self) -> Path:
        """Where testers work: removed after each call, because what they write may be held out."""
        return self.worktrees / ".tests"

    @property
    def own_files(self) -> tuple[str, ...]:
        """Ralph's files and folders (`name/`) outside of `.ralph/`: the sessions, and those of the specs workflow."""
        specs = (SPECS_PLAN, PROGRESS) if (self.root / SPECS_PLAN).is_file() else ()
        return (f"{SESSIONS}/", *specs)

    def keep_out_of_git(self, *, shared: bool = False) -> bool:
        """Make `.ralph/.gitignore`, so that locks, logs and screenshots never reach a commit; False: it is there.

        `shared`: the person commits the file; otherwise it also ignores itself. The largest folders have their own
        file, so that they stay out of git on a branch without the first one too.
        """
        for folder in (self.worktrees, self.slots, self.review_copies, self.tester_copies, self.clean_copies):
            if folder.is_symlink():
                folder.unlink()  # an agent put it there: nothing that it leads to is Ralph's
        for folder in (self.logs, self.worktrees, self.receipts):
            if not (folder / ".gitignore").exists():
                with safe_files.open_new(folder / ".gitignore") as file:
                    file.write(b"*\n")
        path = self.ralph / ".gitignore"
        if path.exists():
            return False
        with safe_files.open_new(path) as file:
            file.write(("\n".join((*IGNORED, *(() if shared else (".gitignore",)))) + "\n").encode())
        return True

    def features(self) -> list[Feature]:
        """Every feature folder, oldest first."""
        if not self.ralph.is_dir():
            return []
        found = (feature_in(path.name) for path in self.ralph.iterdir() if path.is_dir())
        return sorted((feature for feature in found if feature), key=lambda feature: feature.folder)


class Feature(Frozen):
    """A feature's folder under `.ralph/`: `<date>-<name>`."""

    name: str
    date: str

    @property
    def folder(self) -> str:
        return f"{self.date}-{self.name}"

    @property
    def prd_md(self) -> str:
        return f"{RALPH}/{self.folder}/prd.md"

    @property
    def prd_json(self) -> str:
        return f"{RALPH}/{self.folder}/prd.json"


def cache_folder() -> Path:
    """Ralph's folder outside of every project, for what can be made again."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "ralph"


def data_folder() -> Path:
    """Ralph's folder outside of every project, for what a person entrusts to it."""
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".local" / "share") / "ralph"


def find(start: Path) -> Workspace:
    """The nearest folder upwards with `ralph.config.json` or `.ralph/`, else with a project marker."""
    folders = [folder for folder in (start, *start.parents) if folder != folder.parent]  # never the root of the disk
    for folder in folders:
        if folder.name == "worktrees" and folder.parent.name == RALPH:
            return Workspace(root=folder.parent.parent)  # inside a worktree of ours: its project is the root
    for folder in folders:
        if (folder / "ralph.config.json").is_file() or (folder / RALPH).is_dir():
            return Workspace(root=folder)
    for folder in folders:
        if any((folder / marker).exists() for marker in MARKERS):
            return Workspace(root=folder)
    raise RalphError(
        "No project root found. Please run Ralph from within a project directory.",
        remedy="Change to your project, or name it with -C DIR. For a new project, run `git init` and `ralph init`.",
    )


def common_git_dir(folder: Path) -> Path | None:
    """Where the repository that a folder is in keeps what all of its worktrees share; no process for that."""
    for above in (folder, *folder.parents):
        found = above / ".git"
        try:
            line = found.read_text(encoding="utf-8", errors="surrogateescape") if found.is_file() else ""
            git_dir = above / line.removeprefix("gitdir:").strip() if line.startswith("gitdir:") else found
            if (git_dir / "HEAD").is_file():
                shared = git_dir / "commondir"
                return (git_dir / shared.read_text().strip() if shared.is_file() else git_dir).resolve()
        except (OSError, ValueError):
            return None
    return None


def feature_in(folder_name: str) -> Feature | None:
    """The feature that a folder's name stands for."""
    match = FOLDER_NAME.fullmatch(folder_name)
    if not match or not FEATURE_NAME.fullmatch(match[2]):
        return None
    return Feature(date=match[1], name=match[2])


def is_inside(path: str) -> bool:
    """Whether a relative path as a person wrote it stays below the folder it is relative to."""
    parts = Path(path).parts
    return not Path(path).is_absolute() and ".." not in parts


def check_name(name: str) -> str:
    """A feature's name as a person gave it; anything that could leave `.ralph/` is refused."""
    if name in TARGETS:
        raise RalphError(
            f"{name!r} is the name of a workflow and cannot name a feature.", remedy="Choose another name."
        )
    if not FEATURE_NAME.fullmatch(name) or len(name) > 80 or name.endswith(".lock"):
        raise RalphError(
            f"{name!r} is not a valid feature name.",
            remedy="Use letters, digits, '-', '_' and single dots, for example: user-login",
        )
    return name
