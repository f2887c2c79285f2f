"""Where people keep credentials: no program in a sandbox can read these, unless the configuration shows them."""

from __future__ import annotations

import os
import re
from pathlib import Path

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
SECRET = re.compile(r"(?i)auth|token|passw|secret|://[^/\s:@]+:[^/\s@]+@")
MAX_SETTINGS = 1 << 20
SOCKETS = (
    "/var/run/docker.sock", "/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/dbus",
    "/run/systemd/private", "/run/snapd.socket", "/run/snapd-snap.socket", "/run/lxd", "/var/lib/lxd", "/run/libvirt",
    "/run/screen", "/run/tmux", "/run/initctl",
)  # fmt: skip
"""Sockets through which a program could have another one act for it, outside of the sandbox."""
JOBS = ("/var/spool/cron", "/var/spool/at")


def credentials(home: Path) -> tuple[Path, ...]:
    """Return the paths of credentials, whether they exist or not."""
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")  # sockets of keyrings and agents
    return (
        *(home / name for name in IN_HOME),
        *(home / name for name in SETTINGS if _has_secret(home / name)),
        *map(Path, (*SOCKETS, *JOBS)),
        runtime,
    )


def _has_secret(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return SECRET.search(file.read(MAX_SETTINGS)) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True
