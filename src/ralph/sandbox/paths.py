"""Checks paths that a configuration wants to make writable or readable in the sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ralph.errors import RalphError
from ralph.sandbox.credentials import credentials
from ralph.sandbox.permissions import is_below

START_UP = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".config/fish", ".config/autostart", ".config/systemd", ".local/bin", "bin", ".gitconfig", ".config/git",
    ".vimrc", ".config/nvim", ".emacs", ".emacs.d", "Library/LaunchAgents", "/etc",
)  # fmt: skip
"""What runs later with all of a person's rights: no program in a sandbox writes there."""


def expanded(text: str, home: Path) -> Path:
    """Return the path that a configuration means: `~/` is the home folder."""
    return home / text[2:] if text.startswith("~/") else Path(text)


def writable(where: str, texts: Iterable[str], home: Path, kept: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return folders outside of the project that programs may write; `kept` is what they must not reach."""
    found = []
    for index, text in enumerate(texts):
        path = expanded(text, home)
        why = _refusal(path, home, kept)
        if why:
            raise RalphError(
                f"{where}[{index}]: {text!r} cannot be writable in the sandbox: {why}.",
                remedy="Name a folder that holds nothing else, such as ~/.cache/NAME, or remove the entry.",
            )
        found.append(path)
    return tuple(found)


def _refusal(path: Path, home: Path, kept: tuple[Path, ...]) -> str:
    """Return why a path must not be writable; "" if it may be."""
    if not path.is_absolute():
        return "it is neither absolute nor below ~/"
    real = path.resolve()
    if is_below(home.resolve(), (real,)):
        return "it contains your home folder"
    reached = _reached(real, home)
    if reached:
        return f"it reaches {reached}, which runs as you or holds credentials"
    for folder in kept:
        if _overlap(real, folder.resolve()):
            return f"it reaches {folder}, which only Ralph and you may write"
    programs = (Path(text) for text in os.environ.get("PATH", "").split(os.pathsep) if text.startswith(os.sep))
    named = next((folder for folder in programs if is_below(folder.resolve(), (real,))), None)
    return f"it reaches {named}, which is on your PATH" if named else ""


def readable(where: str, texts: Iterable[str], home: Path, kept: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return paths that programs may read although they are hidden; `kept` is what nobody may show."""
    found = []
    for index, text in enumerate(texts):
        path = expanded(text, home)
        reached = next((folder for folder in kept if is_below(path.resolve(), (folder.resolve(),))), None)
        if reached:
            raise RalphError(
                f"{where}[{index}]: {text!r} cannot be readable in the sandbox: it is in {reached}, where Ralph keeps "
                "what agents must not see.",
                remedy="Remove the entry.",
            )
        found.append(path)
    return tuple(found)


def leads_astray(path: Path, home: Path) -> bool:
    """Return whether an agent's state leads to credentials or to what runs as the person: a link can."""
    return path.is_symlink() and _reached(path.resolve(), home) is not None


def _reached(real: Path, home: Path) -> Path | None:
    kept = (*credentials(home), *(home / name for name in START_UP))
    return next((path for path in kept if _overlap(real, path.resolve())), None)


def _overlap(one: Path, two: Path) -> bool:
    return is_below(one, (two,)) or is_below(two, (one,))
