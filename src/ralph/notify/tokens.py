"""Tokens that each allow one action once: what the buttons of a notification call.

`url_for` makes the address of a token. Whoever serves it takes the token with `TokenStore.take`, on POST only, because
programs open links to preview them; the token is then used up, whatever comes of the action. It must also compare
`Permit.attempt` with the task's newest attempt, so that nobody approves what they were not told of.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

from ralph import safe_files, validation
from ralph.frozen import Frozen
from ralph.stores import atomic
from ralph.workspace import Workspace

ACTION_PATH = "/once/"
TOKEN_BYTES = 24
LIFETIME = 3 * 24 * 3600.0
MAX_TOKENS = 500
PRIVATE = 0o600
TokenAction = Literal["approve", "retry"]


class Permit(Frozen):
    """What a token allows."""

    action: TokenAction
    target: str
    task: str
    attempt: int  # the task's newest attempt when the token was made


def url_for(base: str, token: str) -> str:
    """Return the address that a button calls; `base` is where `ralph ui` is reached."""
    return f"{base.rstrip('/')}{ACTION_PATH}{token}"


class TokenStore(Frozen):
    """The tokens of one project: a file outside of it, which only this person can read, and no token in it.

    It keeps a digest of each token, so that whoever reads the file can use none.
    """

    path: Path

    @classmethod
    def of(cls, workspace: Workspace) -> TokenStore:
        return cls(path=workspace.tokens)

    def make(self, permit: Permit, *, now: float | None = None) -> str:
        """Return a new token."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        at = time.time() if now is None else now
        entry = {**{name: getattr(permit, name) for name in NAMES}, "until": at + LIFETIME}
        with self._locked():
            known = [*self._load(at).items(), (_digest(token), entry)]
            self._save(dict(known[-MAX_TOKENS:]))
        return token

    def take(self, token: str, *, now: float | None = None) -> Permit | None:
        """Return what a token allows, the first time; None if it is unknown, used or too old."""
        with self._locked():
            known = self._load(time.time() if now is None else now)
            entry = known.pop(_digest(token), None)
            if entry is not None:
                self._save(known)
        return _permit(entry) if entry is not None else None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time change the file: a token that two take at once works for one of them."""
        safe_files.make_folder(self.path.parent)
        self.path.parent.chmod(0o700)
        handle = safe_files.open_append(self.path.with_suffix(".lock"))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _load(self, now: float) -> dict[str, dict[str, object]]:
        """Return what is still valid, oldest first."""
        try:
            found = validation.parse_plainly(safe_files.read(self.path) or b"{}")
        except (validation.UnusualForm, ValueError, RecursionError):
            return {}
        entries = {key: entry for key, entry in found.items() if isinstance(entry, dict) and _permit(entry)}
        return {key: entry for key, entry in entries.items() if _until(entry) > now}

    def _save(self, entries: dict[str, dict[str, object]]) -> None:
        atomic.write(self.path, json.dumps(entries, indent=1).encode(), permissions=PRIVATE)


NAMES = ("action", "target", "task", "attempt")
_TYPES = (str, str, str, int)


def _permit(entry: dict[str, object]) -> Permit | None:
    values = [entry.get(name) for name in NAMES]
    if any(type(value) is not kind for value, kind in zip(values, _TYPES, strict=True)):
        return None
    return Permit(**dict(zip(NAMES, values, strict=True))) if values[0] in get_args(TokenAction) else None  # type: ignore[arg-type]


def _until(entry: dict[str, object]) -> float:
    until = entry.get("until")
    return float(until) if isinstance(until, int | float) else 0.0


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
