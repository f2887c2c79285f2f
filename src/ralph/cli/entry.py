"""The entry point of `ralph`. Errors become three lines, never a traceback."""

from __future__ import annotations

import sys

from ralph import __version__
from ralph.errors import EXIT_ERROR, EXIT_INTERRUPTED, RalphError

OTHER_NAME = "ralph-run"
"""The second command, for people who have another program called `ralph`."""


def main() -> None:
    if sys.argv[1:] == ["--version"]:  # before any other import: people's shell prompts call this often
        sys.stdout.write(f"ralph {__version__}\n")
        return
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without our marks
    sys.exit(_run())


def _run() -> int:
    debug = "--debug" in sys.argv
    try:
        played = _played(sys.argv[1:])
        if played is not None:
            return played
        import click

        from ralph.cli.app import app

        try:
            result = app(prog_name=_called(), standalone_mode=False)
        except click.exceptions.Abort:
            raise KeyboardInterrupt from None
        except click.ClickException as error:
            error.show()
            return error.exit_code
    except RalphError as error:
        if debug:
            raise
        return report(error)
    except KeyboardInterrupt:
        sys.stderr.write("\nralph: interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        if debug:
            raise
        name = f"{error.filename}: " if error.filename else ""
        remedy = "Free some space or fix the permissions, then run the command again. Ralph's state is intact."
        return report(RalphError(f"{name}{error.strerror or error}.", remedy=remedy))
    except Exception as error:
        if debug:
            raise
        from ralph.text import plain

        sys.stderr.write(
            f"ralph: unexpected error: {type(error).__name__}: {plain(str(error))}\n"
            "This is a bug in Ralph. Run the same command with --debug to see where, and please report it.\n"
        )
        return EXIT_ERROR
    return result if isinstance(result, int) else 0


def _called() -> str:
    """Return the name by which the person called Ralph; shell completion asks for it too."""
    return OTHER_NAME if sys.argv[0].rpartition("/")[2] == OTHER_NAME else "ralph"


def _played(args: list[str]) -> int | None:
    """Run a scripted agent as configurations call it, before any other import: loops make many such calls.

    None: it is another command, or a call with a mistake to report.
    """
    if args[:2] == ["scripted", "--replay"]:
        return _replayed(args[2:])
    if args[:1] != ["scripted"] or len(args) not in (2, 4) or args[2:3] not in ([], ["--state"]):
        return None
    if any(name.startswith("-") for name in (args[1], *args[3:])):
        return None
    from ralph.testing import scripted

    found = scripted.found(args[1])
    return scripted.play(found, *args[3:]) if found else None


def _replayed(args: list[str]) -> int | None:
    """Play a recorded call; arguments after `--` are those that Ralph adds for the recorded agent."""
    own = args[: args.index("--")] if "--" in args else args
    if len(own) not in (1, 3) or own[1:2] not in ([], ["--speed"]) or own[0].startswith("-"):
        return None
    if own[2:] and not own[2].replace(".", "", 1).isdigit():
        return None
    from ralph.testing import replay

    return replay.play(own[0], float(own[2]) if own[2:] else 0.0)


def report(error: RalphError) -> int:
    """What happened, the details, what to do."""
    lines = [f"ralph: {error.what}", *(f"  {detail}" for detail in error.details)]
    if error.remedy:
        lines.append(f"→ {error.remedy}")
    from ralph.views.lines import say

    say("\n".join(lines), err=True)
    return error.code
