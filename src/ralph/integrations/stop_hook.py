"""The Stop hook for Claude Code: an interactive session may end only when the gates are green."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ralph import safe_files
from ralph.errors import RalphError
from ralph.stores import atomic

SETTINGS = ".claude/settings.json"
COMMAND = "ralph verify --stop-hook"
HOOK = {"type": "command", "command": COMMAND, "timeout": 3600}
MAX_BLOCKS = 8
"""How many times in a row a session is kept from stopping; a gate that can never pass must not keep it for ever."""
MAX_REASON = 4000
MAX_INPUT = 1 << 20

Json = dict[str, Any]


def add(root: Path) -> bool:
    """Add the hook to the project's settings for Claude Code; return whether it was missing."""
    settings = _settings(root)
    groups = _groups(settings)
    if any(_is_ours(hook) for group in groups for hook in group.get("hooks", ())):
        return False
    groups.append({"hooks": [HOOK]})
    _write(root, settings)
    return True


def remove(root: Path) -> bool:
    """Remove the hook, and nothing else; return whether it was there."""
    settings = _settings(root)
    groups = _groups(settings)
    kept = [{**group, "hooks": [hook for hook in group.get("hooks", ()) if not _is_ours(hook)]} for group in groups]
    if kept == groups:
        return False
    settings["hooks"]["Stop"] = [group for group in kept if group["hooks"]]
    if not settings["hooks"]["Stop"]:
        del settings["hooks"]["Stop"]
    if not settings["hooks"]:
        del settings["hooks"]
    if settings:
        _write(root, settings)
    else:
        (root / SETTINGS).unlink()
    return True


def answer(records: Path, asked: str, problem: str, *, is_verified: bool) -> Json:
    """Return what Claude Code reads: a decision to continue with the reason, or a message for the person, or nothing.

    `asked` is what Claude Code wrote to the hook; `problem` is empty if the gates are green.
    """
    held = records / f"stop-hook-{_session(asked)}"
    if not problem:
        safe_files.remove_all(held)
        return {} if is_verified else {"systemMessage": "Ralph: no gate is configured, so nothing was verified."}
    times = _times(held) + 1
    if times > MAX_BLOCKS:
        safe_files.remove_all(held)
        return {
            "systemMessage": f"Ralph: the gates still fail after {MAX_BLOCKS} tries. Run `ralph verify` to see why."
        }
    atomic.write(held, f"{times}\n".encode())
    reason = f"The gates of this project fail. Fix the cause; do not weaken a check.\n\n{problem[:MAX_REASON]}"
    return {"decision": "block", "reason": reason}


def _session(asked: str) -> str:
    """Return a name for the session; a file name must not come from another program."""
    try:
        name = str(json.loads(asked[:MAX_INPUT])["session_id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        name = ""
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]


def _times(path: Path) -> int:
    data = safe_files.read(path) or b""
    return int(data) if data.strip().isdigit() and len(data) < 10 else 0


def _settings(root: Path) -> Json:
    path = root / SETTINGS
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RalphError(f"{SETTINGS} could not be read: {error}.", remedy="Correct it, then run this again.") from None
    if not isinstance(settings, dict):
        raise RalphError(f"{SETTINGS} is not a JSON object.", remedy="Correct it, then run this again.")
    return settings


def _groups(settings: Json) -> list[Json]:
    hooks = settings.setdefault("hooks", {})
    groups = hooks.setdefault("Stop", []) if isinstance(hooks, dict) else None
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise RalphError(f"hooks.Stop in {SETTINGS} is not a list of hooks.", remedy="Correct it, then run this again.")
    return groups


def _is_ours(hook: object) -> bool:
    return isinstance(hook, dict) and hook.get("command") == COMMAND


def _write(root: Path, settings: Json) -> None:
    atomic.write(root / SETTINGS, (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode())
