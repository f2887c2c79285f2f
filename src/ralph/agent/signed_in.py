"""Whether the person is signed in to an agent, as far as files and variables tell; no program is called."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ralph.agent.dialects.agents import KnownAgent
from ralph.agent.dialects.isolation import StateFolder
from ralph.process.environment import in_home

LOGINS: Mapping[str, tuple[str, ...]] = {
    "claude": (".claude/.credentials.json",),
    "opencode": (".local/share/opencode/auth.json",),
    "amp": (".local/share/amp/secrets.json",),
    "kimi": (".kimi/credentials/*.json",),
    "droid": (".factory/auth.json", ".factory/auth.encrypted"),
    "cursor": (".config/cursor/auth.json",),
}
"""Files below the home folder, for agents whose row in the table names no private login."""
SHARED = frozenset({"installation_id", "models_cache.json", "models.json", ".env", "custom_providers"})
"""Files that go with a login, and are none."""
KEYS = ("*_API_KEY", "*_AUTH_TOKEN", "*_OAUTH_TOKEN", "*_ACCESS_TOKEN", "GH_TOKEN")


def login_of(agent: KnownAgent, env: Mapping[str, str] | None = None) -> str:
    """Return the file or variable with the person's login; empty if there is none that Ralph knows."""
    env = os.environ if env is None else env
    for path in (*_files(agent, env), *(in_home(name, env) for name in LOGINS.get(agent.name, ()))):
        if found := _login_in(path):
            return str(found).replace(str(in_home("", env)).rstrip("/"), "~", 1)
    wanted = (name for pattern in agent.env for name in env if fnmatch.fnmatchcase(name, pattern))
    keys = (name for name in wanted if env[name] and any(fnmatch.fnmatchcase(name, key) for key in KEYS))
    return next(iter(sorted(keys)), "")


def _login_in(pattern: Path) -> Path | None:
    """Return the first file of this name that is not empty; `{}` is what a logout leaves."""
    with suppress(OSError):
        return next((one for one in sorted(pattern.parent.glob(pattern.name)) if one.stat().st_size > 2), None)
    return None


def _files(agent: KnownAgent, env: Mapping[str, str]) -> list[Path]:
    return [_usual(folder, env) / name for folder in agent.isolation.folders for name in _logins(folder)]


def _logins(folder: StateFolder) -> list[str]:
    return [name for name in folder.login if name not in SHARED]


def _usual(folder: StateFolder, env: Mapping[str, str]) -> Path:
    named = env.get(folder.variable, "")
    return Path(named) / folder.inside if named else in_home(folder.usual, env)
