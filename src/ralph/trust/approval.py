"""What this person has approved: a file for each project, outside of it, that nobody else can write."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from ralph import safe_files, validation
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.journal.writer import now
from ralph.stores import atomic
from ralph.trust.own_edits import Origin
from ralph.workspace import Workspace, data_folder

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
MAX_TEXT = 50_000  # of a file whose old text is kept, to show what has changed


class Approval(Frozen):
    """What the configuration of a project was when its person approved it."""

    at: str
    origin: Origin
    digests: Mapping[str, str]
    texts: Mapping[str, str]

    @classmethod
    def of(cls, files: Mapping[str, bytes], origin: Origin) -> Approval:
        return cls(
            at=now(),
            origin=origin,
            digests={path: _digest(data) for path, data in files.items()},
            texts={path: data.decode(errors="replace") for path, data in files.items() if len(data) <= MAX_TEXT},
        )

    def changed(self, files: Mapping[str, bytes]) -> list[str]:
        """Return the paths of what is new, different or gone."""
        now_there = {path: _digest(data) for path, data in files.items()}
        return sorted({path for path, _ in self.digests.items() ^ now_there.items()})

    def difference(self, files: Mapping[str, bytes]) -> Iterator[str]:
        """Return what has changed as the lines of a diff."""
        import difflib  # nothing has changed, almost always

        for path in self.changed(files):
            data = files.get(path, b"")
            if len(data) > MAX_TEXT or (path in self.digests and path not in self.texts):
                yield f"{path} has changed"
                continue
            texts = self.texts.get(path, "").splitlines(), data.decode(errors="replace").splitlines()
            yield from difflib.unified_diff(*texts, path, path, n=1, lineterm="")


class ApprovalStore(Frozen):
    """Where the approval of one project is kept."""

    path: Path
    project: Path

    @classmethod
    def of(cls, workspace: Workspace) -> ApprovalStore:
        root = workspace.root.resolve()
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        return cls(path=data_folder() / "trust" / f"{name}.json", project=root)

    def load(self) -> Approval | None:
        """Return the approval; None if there is none, or it cannot be read as one."""
        for place in (self.path.parent, self.path):
            _check_private(place)
        data = safe_files.read(self.path)
        try:
            found = validation.parse_plainly(data or b"")
        except (validation.UnusualForm, ValueError, RecursionError):
            return None
        digests, texts, commits = (_strings(found.get(name)) for name in ("digests", "texts", "commits"))
        words = _strings(found)
        if not digests or words.get("project") != str(self.project):
            return None
        origin = Origin(repository=words.get("repository", ""), commits=commits)
        return Approval(at=words.get("at", ""), origin=origin, digests=digests, texts=texts)

    def save(self, approval: Approval) -> None:
        safe_files.make_folder(self.path.parent)
        self.path.parent.chmod(PRIVATE_FOLDER)
        document = {
            "project": str(self.project),
            "at": approval.at,
            "repository": approval.origin.repository,
            "commits": dict(approval.origin.commits),
            "digests": dict(approval.digests),
            "texts": dict(approval.texts),
        }
        atomic.write(self.path, json.dumps(document, indent=1).encode(), permissions=PRIVATE_FILE)

    def revoke(self) -> bool:
        """Forget the approval; False if there was none."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _strings(value: object) -> dict[str, str]:
    return {key: text for key, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


def _check_private(path: Path) -> None:
    """Refuse what another user could have written."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if found.st_uid != os.geteuid() or stat.S_ISLNK(found.st_mode):
        what = "is a link" if stat.S_ISLNK(found.st_mode) else "belongs to another user"
        raise RalphError(
            f"{path} {what}, so what it says about your approvals cannot be trusted.",
            remedy=f"Remove it (`rm -r {path}`), then run the command again.",
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise RalphError(
            f"Other users can write {path}, so what it says about your approvals cannot be trusted.",
            remedy=f"Run `chmod go-w {path}`, look at `ralph trust --show`, then run the command again.",
        )
