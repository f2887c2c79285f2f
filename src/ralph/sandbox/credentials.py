"""Where people keep credentials: no program in a sandbox can read these, unless the configuration shows them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ralph.process.environment import in_home

IN_HOME = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".netrc", ".git-credentials", ".pgpass", ".my.cnf", ".vault-token",
    ".password-store", ".terraform.d", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".config/gh", ".config/hub", ".config/glab-cli", ".config/git/credentials", ".config/gcloud", ".config/op",
    ".config/doctl", ".config/heroku", ".config/rclone", ".config/sops", ".config/containers/auth.json",
    ".local/share/keyrings", ".local/share/kwalletd", ".local/share/python_keyring",
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    "Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome",
    ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history",
)  # fmt: skip
SETTINGS = (
    ".npmrc", ".yarnrc.yml", ".pypirc", ".config/pip/pip.conf", ".m2/settings.xml", ".gradle/gradle.properties",
    ".docker/config.json", ".config/uv/uv.toml", ".condarc",
)  # fmt: skip
"""Settings of tools; a file is hidden if it holds a password or a token."""
ELSEWHERE = (
    "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR", "CLOUDSDK_CONFIG", "GH_CONFIG_DIR",
    "GLAB_CONFIG_DIR", "GNUPGHOME", "HISTFILE", "KUBECONFIG", "NETRC", "PASSWORD_STORE_DIR", "PGPASSFILE",
    "SSH_AUTH_SOCK", "NPM_CONFIG_USERCONFIG", "PIP_CONFIG_FILE", "DOCKER_CONFIG",
)  # fmt: skip
"""Variables that lead programs to another place for the same."""
SECRET = re.compile(r"(?i)auth|token|passw|secret|://[^/\s:@]+:[^/\s@]+@")
MAX_SETTINGS = 1 << 20
SOCKETS = (
    "/var/run/docker.sock", "/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/dbus",
    "/run/systemd/private", "/run/snapd.socket", "/run/snapd-snap.socket", "/run/lxd", "/var/lib/lxd", "/run/libvirt",
    "/run/screen", "/run/tmux", "/run/initctl",
)  # fmt: skip
"""Sockets through which a program could have another one act for it, outside of the sandbox."""
LISTENING = Path("/proc/net/unix")
ACCEPTS = 1 << 16
JOBS = ("/var/spool/cron", "/var/spool/at")


def credentials(home: Path) -> tuple[Path, ...]:
    """Return the paths of credentials, whether they exist or not."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")  # sockets of keyrings and agents
    return (
        *(path for name in IN_HOME for path in _places(home, name)),
        *(path for name in SETTINGS for path in _places(home, name) if _has_secret(path)),
        *(path for name in ELSEWHERE for path in _named(name, home)),
        *map(Path, (*SOCKETS, *JOBS)),
        runtime,
    )


def listening_sockets(home: Path, project: Path) -> Iterator[Path]:
    """Yield the sockets in the home folder behind which a program of the person's waits, but those of the project.

    A read-only view does not keep anybody from connecting, and what waits there may act as the person: Docker Desktop,
    an editor, an agent with keys.
    """
    try:
        lines = LISTENING.read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return  # this system does not list them
    for fields in (line.split(maxsplit=7) for line in lines):
        path = Path(fields[7]) if len(fields) > 7 and int(fields[3], 16) & ACCEPTS else Path()
        if path.is_relative_to(home.resolve()) and not path.is_relative_to(project.resolve()):
            yield path


def _places(home: Path, name: str) -> set[Path]:
    """Return the usual place, and the one to which a variable of the XDG standard leads."""
    return {home / name, in_home(name, {**os.environ, "HOME": str(home)})}


def _named(variable: str, home: Path) -> Iterator[Path]:
    for text in os.environ.get(variable, "").split(os.pathsep):
        if text.startswith(os.sep) and not home.is_relative_to(text):
            yield Path(text)


def _has_secret(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return SECRET.search(file.read(MAX_SETTINGS)) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True
