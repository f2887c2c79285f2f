"""Filters the environment that agents, gates and git see."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

ORDINARY = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LANGUAGE", "LC_*", "TZ",
    "TMPDIR", "TEMP", "TMP", "XDG_*", "PWD", "EDITOR", "SSH_AUTH_SOCK", "SSL_CERT_*", "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_*", "NVM_*",
    "FNM_*", "VOLTA_HOME", "ASDF_*", "MISE_*", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
    "BUN_INSTALL", "DENO_DIR", "PNPM_HOME", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "IS_SANDBOX", "CI",
)  # fmt: skip
"""The variables that every agent gets: what programs need to run, and no credentials."""

WILDCARDS = frozenset("*?[")
GIT_LOCATION = frozenset(
    (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_PREFIX",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_QUARANTINE_PATH",
        "GIT_NAMESPACE",
        "GIT_GRAFT_FILE",
        "GIT_SHALLOW_FILE",
        "GIT_REPLACE_REF_BASE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_ICASE_PATHSPECS",
    )
)


def allowed(environment: Mapping[str, str], also: Iterable[str]) -> dict[str, str]:
    """Return the part of `environment` that an agent gets: the default names and the patterns in `also`."""
    names, patterns = _sorted_out((*ORDINARY, *also))
    return {name: value for name, value in environment.items() if name in names or patterns.match(name)}


@cache
def _sorted_out(wanted: tuple[str, ...]) -> tuple[frozenset[str], re.Pattern[str]]:
    """Separate plain names from patterns: a regular expression of all of them takes long to compile."""
    patterns = [pattern for pattern in wanted if not WILDCARDS.isdisjoint(pattern)]
    return frozenset(wanted).difference(patterns), re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")


XDG = (
    (".cache/", "XDG_CACHE_HOME"),
    (".config/", "XDG_CONFIG_HOME"),
    (".local/share/", "XDG_DATA_HOME"),
    (".local/state/", "XDG_STATE_HOME"),
)


def in_home(path: str, environment: Mapping[str, str]) -> Path:
    """Return a path below the home folder; a variable of the XDG standard can lead elsewhere."""
    for prefix, variable in XDG:
        folder = Path(environment.get(variable, ""))
        if path.startswith(prefix) and folder.is_absolute():
            return folder / path.removeprefix(prefix)
    return Path(environment.get("HOME") or Path.home()) / path


def for_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git uses the current folder, even inside a git hook, and no program from it."""
    kept = {name: value for name, value in environment.items() if name not in GIT_LOCATION}
    return {**kept, "PATH": _fixed_folders(kept)} if "PATH" in kept else kept


def located(argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return a command line whose program is not one of the folder that it works in, if there is another.

    `PATH` can name folders relative to that one, such as `./node_modules/.bin`, and there an agent could leave a `git`.
    """
    program, *arguments = argv
    found = None if os.sep in program else shutil.which(program, path=_fixed_folders(environment))
    return [found or program, *arguments]


def _fixed_folders(environment: Mapping[str, str]) -> str:
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder.startswith(os.sep))
