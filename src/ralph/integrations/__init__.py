"""What Ralph writes into a project for other programs: commands that call this one, and never its state."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from ralph import prompts
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.stores import atomic

FILES = {
    "claude": {
        ".claude/commands/ralph.md": "claude/ralph.md",
        ".claude/commands/ralph-start.md": "claude/ralph-start.md",
    },
    "copilot": {
        ".github/agents/Ralph.agent.md": "copilot/Ralph.md",
        ".github/agents/Ralph-Planner.agent.md": "copilot/planner.md",
        ".github/agents/Ralph-Questioner.agent.md": "copilot/questioner.md",
        ".github/agents/Ralph-Executor.agent.md": "copilot/executor.md",
        ".github/agents/Ralph-Reviewer.agent.md": "copilot/reviewer.md",
    },
    "skill": {
        ".agents/skills/ralph/SKILL.md": "skill/SKILL.md",
        ".claude/skills/ralph/SKILL.md": "skill/SKILL.md",  # Claude Code does not read .agents
    },
}
"""Which files each program reads, and the text that comes with Ralph."""

ROLES = {f"copilot/{role}.md": f"role-{role}" for role in ("planner", "questioner", "executor", "reviewer")}
"""Texts that end with a role's prompt, the same one that `ralph session` uses."""

SIGNATURE = re.compile(r"<!-- written by `ralph install \w+`; sha256 ([0-9a-f]{64}) -->\n\Z")


class FileChange(Frozen):
    """One file: what was done with it, or why it was left alone."""

    path: str
    what: str
    done: bool


def install(root: Path, program: str) -> list[FileChange]:
    """Write the files; one that a person wrote or changed is left as it is."""
    changes = []
    for path, source in FILES[program].items():
        text = _signed(_text(root, source), program)
        target = root / path
        known = _read(target)
        if known == text:
            changes.append(FileChange(path=path, what="already up to date", done=False))
        elif known is not None and not _is_ours(known):
            changes.append(FileChange(path=path, what="not changed: Ralph did not write this version", done=False))
        else:
            atomic.write(target, text.encode())
            changes.append(FileChange(path=path, what="written" if known is None else "updated", done=True))
    return changes


def uninstall(root: Path, program: str) -> list[FileChange]:
    """Remove what `install` wrote, and only that."""
    changes = []
    for path in FILES[program]:
        known = _read(root / path)
        if known is None:
            changes.append(FileChange(path=path, what="not installed", done=False))
        elif not _is_ours(known):
            changes.append(FileChange(path=path, what="not changed: Ralph did not write this version", done=False))
        else:
            (root / path).unlink()
            changes.append(FileChange(path=path, what="removed", done=True))
    for folder in sorted(_folders(FILES[program]), key=lambda name: -len(name)):
        if (root / folder).is_dir() and not any((root / folder).iterdir()):
            (root / folder).rmdir()
    return changes


def _text(root: Path, source: str) -> str:
    text = (Path(__file__).parent / source).read_text(encoding="utf-8")
    return text + prompts.render(ROLES[source], {}, root) if source in ROLES else text


def _folders(paths: dict[str, str]) -> Iterator[str]:
    for parents in {Path(path).parents for path in paths}:
        yield from (str(parent) for parent in parents if str(parent) != ".")


def _read(path: Path) -> str | None:
    if path.is_symlink():
        return ""  # a person's own link
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise RalphError(
            f"{path} could not be read: {error}.", remedy="Move the file, then run this command again."
        ) from None


def _signed(text: str, program: str) -> str:
    return f"{text}\n<!-- written by `ralph install {program}`; sha256 {_digest(text)} -->\n"


def _is_ours(text: str) -> bool:
    """Whether a file is just as some version of Ralph wrote it."""
    found = SIGNATURE.search(text)
    return found is not None and _digest(text[: found.start()].removesuffix("\n")) == found[1]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
