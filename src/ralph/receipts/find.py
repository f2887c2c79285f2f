"""Finds receipts in a clone: in `refs/notes/ralph` and in `.ralph/receipts/`. Everything is bounded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from ralph import safe_files
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git.objects import batched
from ralph.process.blocking import capture_now
from ralph.process.environment import for_git
from ralph.receipts.notes import REF

MAX_RECEIPT = 1 << 20
MAX_COMMITS = 10_000
MAX_FILES = 200_000
TOO_LARGE = f"the receipt has more than {MAX_RECEIPT // 1024} KB"
NAME = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})-([0-9a-f]{40}|[0-9a-f]{64})\.jsonl")


class CommitToCheck(Frozen):
    """A commit of the range."""

    commit: str
    tree: str
    parents: tuple[str, ...]
    subject: str


class FoundReceipt(Frozen):
    """A receipt's text and where it was; no text if it cannot be read."""

    where: str
    text: bytes = b""
    problem: str = ""


@dataclass
class ReceiptFinder:
    """Reads one clone, without believing its configuration or its replaced objects."""

    folder: Path
    copies: Path | None = None  # the project's `.ralph/receipts/`
    _known: dict[str, list[FoundReceipt]] = field(default_factory=dict)

    def commits(self, wanted: str) -> list[CommitToCheck]:
        """Return the commits of a range (`a..b`), oldest first, or the one commit that a revision names."""
        count = () if ".." in wanted else ("--max-count=1",)
        form = "--format=%H%x00%T%x00%P%x00%s%x00"
        most = f"--max-count={MAX_COMMITS + 1}"
        args = (
            "log",
            "--no-show-signature",
            "--no-color",
            "--no-notes",
            form,
            most,
            *count,
            "--end-of-options",
            wanted,
        )
        code, out = self._git(*args, "--")
        if code:
            raise RalphError(
                f"git finds no commits for {wanted!r}.",
                remedy="Name a commit or a range that this clone has, for example: origin/main..HEAD",
            )
        lines = [line for line in out.decode(errors="replace").split("\0\n") if line.strip()]
        if len(lines) > MAX_COMMITS:
            raise RalphError(f"{wanted!r} has more than {MAX_COMMITS} commits.", remedy="Name a shorter range.")
        found = []
        for line in lines:
            commit, tree, parents, subject = (*line.rstrip("\0").split("\0", 3), "", "", "")[:4]
            found.append(CommitToCheck(commit=commit, tree=tree, parents=tuple(parents.split()), subject=subject))
        return found[::-1]

    def paths_changed(self, old: str, new: str) -> list[str] | None:
        """Return the files that differ between two commits; None if git cannot say."""
        code, out = self._git("diff-tree", "-r", "--no-renames", "--name-only", "-z", "--end-of-options", old, new)
        return [os.fsdecode(name) for name in out.split(b"\0") if name] if code == 0 else None

    def read(self, names: Iterable[str]) -> None:
        """Read the receipts of several objects with few processes; `receipts_of` then knows them."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._known]
        sizes = self._notes(wanted)
        for name in wanted:
            self._known[name] = [*sizes.get(name, []), *self._copies_of(name)]

    def receipts_of(self, name: str) -> list[FoundReceipt]:
        """Return the receipts of a commit or a tree."""
        self.read([name])
        return self._known[name]

    def _notes(self, names: list[str]) -> dict[str, list[FoundReceipt]]:
        """Look up each path that git may give a note; this lists no tree, however large or deep it is."""
        asked = [(name, f"{REF}:{path}") for name in names for path in _paths(name)]
        answers = self._ask("--batch-check=%(objecttype) %(objectsize) %(objectname)", [path for _, path in asked])
        found: dict[str, list[FoundReceipt]] = {}
        blobs: list[tuple[str, str]] = []
        for (name, _), line in zip(asked, answers.decode(errors="replace").splitlines(), strict=False):
            kind, size, blob = (*line.split(" "), "", "")[:3]
            if kind == "blob" and size.isdigit():
                if int(size) > MAX_RECEIPT:
                    found.setdefault(name, []).append(FoundReceipt(where=REF, problem=TOO_LARGE))
                else:
                    blobs.append((name, blob))
        for start in range(0, len(blobs), 64):
            some = blobs[start : start + 64]
            out = self._ask("--batch", [blob for _, blob in some])
            for (name, _), (_, data) in zip(some, batched(out), strict=False):
                found.setdefault(name, []).append(FoundReceipt(where=REF, text=data or b""))
        return found

    def _ask(self, how: str, lines: list[str]) -> bytes:
        if not lines:
            return b""
        return self._git("cat-file", how, stdin="".join(f"{line}\n" for line in lines).encode())[1]

    def _copies_of(self, name: str) -> list[FoundReceipt]:
        found = []
        for path in self._files.get(name, ()):
            text = safe_files.read(path, MAX_RECEIPT)
            where = f".ralph/receipts/{path.name}"
            problem = TOO_LARGE if text is None else ""
            found.append(FoundReceipt(where=where, text=text or b"", problem=problem))
        return found

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        """The files by the commit and the tree that their names say."""
        found: dict[str, list[Path]] = {}
        if self.copies is None or not self.copies.is_dir():
            return found
        for path in islice(self.copies.iterdir(), MAX_FILES):
            match = NAME.fullmatch(path.name)
            for name in match.groups() if match else ():
                found.setdefault(name, []).append(path)
        return found

    def _git(self, *args: str, stdin: bytes = b"") -> tuple[int, bytes]:
        env = {
            **for_git(os.environ),
            "LC_ALL": "C",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
        }
        return capture_now(["git", "-c", "core.quotePath=false", *args], cwd=self.folder, env=env, stdin=stdin)


def _paths(name: str) -> tuple[str, ...]:
    """Return the paths that git gives a note, from no folder to three."""
    folders = [name[:2], name[2:4], name[4:6]]
    return tuple("/".join((*folders[:depth], name[2 * depth :])) for depth in range(4))
