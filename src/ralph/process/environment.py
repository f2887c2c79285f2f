"""What an agent may see of a person's environment, and how secrets are kept out of logs."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping

ORDINARY = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LANGUAGE", "LC_*", "TZ",
    "TMPDIR", "TEMP", "TMP", "XDG_*", "PWD", "EDITOR", "SSH_AUTH_SOCK", "SSL_CERT_*", "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_*", "NVM_*",
    "FNM_*", "VOLTA_HOME", "ASDF_*", "MISE_*", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
    "BUN_INSTALL", "DENO_DIR", "PNPM_HOME", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "IS_SANDBOX", "CI",
)  # fmt: skip
"""What every agent gets: what programs need to run, and nothing that opens a door."""

SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)", re.IGNORECASE)
SHORTEST_SECRET = 8


def allowed(environment: Mapping[str, str], also: Iterable[str]) -> dict[str, str]:
    """The part of `environment` that an agent gets: the ordinary names and `also` (patterns)."""
    patterns = (*ORDINARY, *also)
    return {
        name: value
        for name, value in environment.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values that must never reach a log, a prompt or a commit; longest first."""
    found = {
        value
        for name, value in environment.items()
        if SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET and not value.startswith("/")
    }
    return tuple(sorted(found, key=len, reverse=True))


class Redactor:
    """Replaces secrets in a stream of bytes, also where one is cut by the border of two pieces."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = [secret.encode() for secret in secrets]
        self._keep = max((len(secret) for secret in self._secrets), default=1) - 1
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        if not self._secrets:
            return data
        data = self._clean(self._held + data)
        cut = len(data) - self._held_back(data)
        self._held = data[cut:]
        return data[:cut]

    def flush(self) -> bytes:
        held, self._held = self._clean(self._held), b""
        return held

    def text(self, text: str) -> str:
        return self._clean(text.encode()).decode(errors="replace") if self._secrets else text

    def _clean(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = data.replace(secret, b"[secret]")
        return data

    def _held_back(self, data: bytes) -> int:
        """How many bytes at the end could be the beginning of a secret."""
        for length in range(min(self._keep, len(data)), 0, -1):
            tail = data[-length:]
            if any(secret.startswith(tail) for secret in self._secrets):
                return length
        return 0
