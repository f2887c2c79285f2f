"""Filters the environment that agents see, and keeps secrets out of logs."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache

ORDINARY = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LANGUAGE", "LC_*", "TZ",
    "TMPDIR", "TEMP", "TMP", "XDG_*", "PWD", "EDITOR", "SSH_AUTH_SOCK", "SSL_CERT_*", "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_*", "NVM_*",
    "FNM_*", "VOLTA_HOME", "ASDF_*", "MISE_*", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
    "BUN_INSTALL", "DENO_DIR", "PNPM_HOME", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "IS_SANDBOX", "CI",
)  # fmt: skip
"""The variables that every agent gets: what programs need to run, and no credentials."""

SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH(?!OR))", re.IGNORECASE)
MIN_SECRET = 8
HIDDEN = b"[secret]"
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
    wanted = _matcher((*ORDINARY, *also))
    return {name: value for name, value in environment.items() if wanted.match(name)}


@cache
def _matcher(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))


def for_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git uses the current folder, even inside a git hook."""
    return {name: value for name, value in environment.items() if name not in GIT_LOCATION}


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that must never reach a log, a prompt or a commit, longest first."""
    found = {
        value
        for name, value in environment.items()
        if SECRET_NAME.search(name) and len(value) >= MIN_SECRET and not value.startswith("/")
    }
    escaped = {json.dumps(value)[1:-1] for value in found}  # as it appears inside JSON
    return tuple(sorted(found | escaped, key=len, reverse=True))


class Redactor:
    """Replaces secrets in a stream of bytes, even if one is split between two pieces."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted((os.fsencode(secret) for secret in secrets), key=len, reverse=True)
        self._any = re.compile(b"|".join(re.escape(secret) for secret in self._secrets)) if self._secrets else None
        self._longest = len(self._secrets[0]) if self._secrets else 0
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        if not self._any:
            return data
        data = self._held + data
        clean, rest = self._replace(data) if any(secret in data for secret in self._secrets) else ([], 0)
        cut = self._could_begin(data, rest)
        self._held = data[cut:]
        return b"".join((*clean, data[rest:cut]))

    def flush(self) -> bytes:
        held, self._held = self._held, b""
        return self._any.sub(HIDDEN, held) if self._any else held

    def text(self, text: str) -> str:
        if not self._any:
            return text
        return self._any.sub(HIDDEN, text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def _replace(self, data: bytes) -> tuple[list[bytes], int]:
        """Return the redacted data up to the last complete secret, and where that secret ends."""
        assert self._any, "feed has looked"
        clean: list[bytes] = []
        rest = 0
        for match in self._any.finditer(data):
            if match.end() == len(data) and self._could_begin(data, match.start()) == match.start():
                break  # it may be the start of a longer secret
            clean += [data[rest : match.start()], HIDDEN]
            rest = match.end()
        return clean, rest

    def _could_begin(self, data: bytes, start: int) -> int:
        """Return where a secret may start at the end of `data`, from `start` on; the length of `data` if none can."""
        for position in range(max(start, len(data) - self._longest + 1), len(data)):
            if any(secret.startswith(data[position:]) and secret != data[position:] for secret in self._secrets):
                return position
        return len(data)
