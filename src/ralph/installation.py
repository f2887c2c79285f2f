"""How this Ralph was installed, and which commands change it: no index is named that it did not come from."""

from __future__ import annotations

import json
import re
import shlex
import sys
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ralph.frozen import Frozen

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PACKAGE = "ralph-run"
UV_CACHE = re.compile(r"(archive|environments)-v\d+")
"""Where uv keeps the environments that it makes for one call."""
ENTRY, MAX_SCRIPT = b"ralph.cli.entry", 10_000  # what the script of each installer imports


class InstallKind(Enum):
    """The tool that manages the folder that Ralph runs from."""

    PIPX = "installed with pipx"
    UV_TOOL = "installed with uv"
    UVX = "run with uvx"  # the environment is in uv's cache, and nobody keeps it
    CLONE = "run from a clone"  # an editable installation: the code is that of the clone
    PIP = "installed with pip"


class Installation(Frozen):
    """What is known about it."""

    manner: InstallKind
    python: str
    source: str = ""  # a folder, or what git or pip takes as an address; empty: an index
    requirements: tuple[str, ...] = ()  # of the package with all of its extras, as its metadata has them
    has_pip: bool = True  # uv makes environments without it

    def extra(self, name: str) -> str:
        """The command that installs an extra into this installation."""
        packages = shlex.join(self._packages(name))
        match self.manner:
            case InstallKind.PIPX:
                return f"pipx inject {PACKAGE} {packages}"
            case InstallKind.UV_TOOL:
                return f"uv tool install --with {packages} {shlex.quote(self.source or PACKAGE)}"
            case InstallKind.UVX:
                return f"uvx --with {packages} --from {shlex.quote(self.source or PACKAGE)} ralph"
            case InstallKind.CLONE:
                return f"{self._pip} -e {shlex.quote(f'{self.source}[{name}]')}"
            case _:
                return f"{self._pip} {packages}"

    def upgrade(self) -> tuple[str, ...]:
        """The commands that bring a newer Ralph, one after the other."""
        folder = self.source if self.source.startswith("/") else ""
        pull = (f"git -C {shlex.quote(folder)} pull",) if folder else ()
        source = shlex.quote(self.source or PACKAGE)
        match self.manner:
            case InstallKind.PIPX:
                return (*pull, f"pipx install --force {source}") if self.source else (f"pipx upgrade {PACKAGE}",)
            case InstallKind.UV_TOOL:
                return (*pull, f"uv tool upgrade --reinstall {PACKAGE}")
            case InstallKind.UVX:
                return (*pull, f"uvx --refresh --from {source} ralph")
            case InstallKind.CLONE:
                return (*pull, f"{self._pip} -e {source}")
            case _:
                return (*pull, f"{self._pip} --upgrade {source}")

    @property
    def _pip(self) -> str:
        python = shlex.quote(self.python)
        return f"{python} -m pip install" if self.has_pip else f"uv pip install --python {python}"

    def _packages(self, extra: str) -> list[str]:
        mark = re.compile(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]")
        return [line.partition(";")[0].strip() for line in self.requirements if mark.search(line)]


def this() -> Installation:
    """The installation that is running."""
    return read(Path(sys.prefix), sys.executable, _metadata(PACKAGE), has_pip=find_spec("pip") is not None)


def read(prefix: Path, python: str, metadata: Distribution | None, *, has_pip: bool = True) -> Installation:
    """What a folder with a Python environment and the package's metadata say."""
    source, is_editable = _source(metadata)
    if (prefix / "pipx_metadata.json").is_file():
        manner = InstallKind.PIPX
    elif (prefix / "uv-receipt.toml").is_file():
        manner = InstallKind.UV_TOOL
    elif UV_CACHE.fullmatch(prefix.parent.name):
        manner = InstallKind.UVX
    else:
        manner = InstallKind.CLONE if is_editable else InstallKind.PIP
    requirements = tuple(metadata.requires or ()) if metadata else ()
    return Installation(manner=manner, python=python, source=source, requirements=requirements, has_pip=has_pip)


def is_ours(command: Path) -> bool:
    """Whether a program on the PATH is a Ralph of ours, of this installation or another one."""
    try:
        with command.open("rb") as file:
            return ENTRY in file.read(MAX_SCRIPT)
    except OSError:
        return False


def scripts() -> str:
    """The folder with the commands of this installation."""
    return str(Path(sys.prefix) / "bin")


def version_of(package: str) -> str:
    """The installed version of a package; "" if it is not installed."""
    metadata = _metadata(package)
    return metadata.version if metadata else ""


def _metadata(package: str) -> Distribution | None:
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import, and rarely asked

    try:
        return distribution(package)
    except PackageNotFoundError:
        return None


def _source(metadata: Distribution | None) -> tuple[str, bool]:
    """Where the installer says it took the package from, and whether it only points there."""
    try:
        origin = json.loads((metadata.read_text("direct_url.json") if metadata else "") or "{}")
        address = urlsplit(str(origin["url"]))
        vcs = origin.get("vcs_info", {}).get("vcs", "")
        is_editable = bool(origin.get("dir_info", {}).get("editable"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", False
    if address.scheme == "file" and not vcs:
        return unquote(address.path), is_editable
    return f"{vcs}+{address.geturl()}" if vcs else address.geturl(), is_editable
