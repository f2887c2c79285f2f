"""`ralph completion [SHELL]`: a completion script for bash, zsh or fish, and where each shell looks for it."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import click
from click.shell_completion import get_completion_class

from ralph import safe_files
from ralph.cli.entry import OTHER_NAME
from ralph.errors import RalphError
from ralph.process.environment import in_home
from ralph.stores import atomic
from ralph.views.lines import say, say_exactly

SHELLS = ("bash", "zsh", "fish")
NAMES = ("ralph", OTHER_NAME)
SCRIPT = ".local/share/ralph/completion.{}"
FISH = ".config/fish/completions/{}.fish"  # read by fish itself, when a person types the command
STARTS = {"bash": ".bashrc", "zsh": ".zshrc"}
"""The file in which a shell must be told to read the script."""
MARK = "# ralph completion"
READY = {"zsh": "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"}
MAX_START = 1 << 20


@click.command(
    name="completion",
    epilog="""\b
Examples:
  ralph completion --install        for your own shell ($SHELL), from its next start on
  ralph completion zsh --install    for zsh
  ralph completion bash             only print the script

\b
bash and zsh need a line in ~/.bashrc or ~/.zshrc, which --install adds once. To remove it again, delete that
line, which ends with "# ralph completion".""",
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--install", "installs", is_flag=True, help="Write the script where the shell finds it.")
def command(shell: str | None, installs: bool) -> int:
    """Print a completion script for SHELL, or install it."""
    chosen = shell or PurePath(os.environ.get("SHELL", "")).name
    if chosen not in SHELLS:
        raise RalphError("Which shell?", remedy=f"Name it: ralph completion {'|'.join(SHELLS)}.")
    if installs:
        _install(chosen)
    else:
        say_exactly(_both(chosen))
    return 0


def _both(shell: str) -> str:
    return READY.get(shell, "") + "".join(_script(shell, name) for name in NAMES)


def _script(shell: str, name: str) -> str:
    from ralph.cli.app import app

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three"
    return kind(app, {}, name, f"_{name}_COMPLETE".replace("-", "_").upper()).source() + "\n"


def _install(shell: str) -> None:
    if shell == "fish":
        for name in NAMES:
            _write(FISH.format(name), _script(shell, name))
    else:
        path = _write(SCRIPT.format(shell), _both(shell))
        start = _start_file(shell)
        line = f'[ -r "{path}" ] && . "{path}"  {MARK}'
        say(f"✓ {start} {'reads it now' if _add(start, line) else 'reads it already'}")
    say(f"→ Start a new {shell}, then press Tab after `ralph `.")


def _write(name: str, script: str) -> Path:
    path = in_home(name, os.environ)
    atomic.write(path, script.encode())
    say(f"✓ wrote {path}")
    return path


def _start_file(shell: str) -> Path:
    home = Path(os.environ.get("ZDOTDIR") or Path.home()) if shell == "zsh" else Path.home()
    return home / STARTS[shell]


def _add(start: Path, line: str) -> bool:
    """Add the line to a shell's start file, unless it has one; a person's link to another file stays a link."""
    path = start.resolve()
    data = safe_files.read(path, MAX_START) if path.exists() else b""
    if data is None:
        raise RalphError(f"{start} cannot be read.", remedy=f"Add this line to it yourself: {line}")
    if MARK in data.decode(errors="replace"):
        return False
    gap = b"" if not data or data.endswith(b"\n") else b"\n"
    atomic.write(path, data + gap + line.encode() + b"\n")
    return True
