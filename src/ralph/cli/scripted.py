"""`ralph scripted SCRIPT`: a scripted agent, to try a configuration without a model."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.errors import RalphError
from ralph.views.lines import say


@click.command(
    name="scripted",
    epilog="""\b
A script is a JSON file:
  {"turns": [
    {"match": "US-001", "say": ["Working on it."],
     "write": {"hello.txt": "hello\\n"},
     "run": ["git add hello.txt", "git commit -q -m 'feat: hello'"],
     "done": true},
    {"match": "Final Verification", "say": ["<ralph>VERIFIED</ralph>"]}
  ]}

\b
Use it as an agent:
  "provider": {"command": "ralph", "args": ["scripted", "agent.json"]}

\b
Use a recording as an agent; DIR/ralph.config.json has all it needs:
  "provider": {"command": "ralph", "dialect": "claude",
               "args": ["scripted", "--replay", "DIR", "--"]}""",
)
@click.argument("script", type=click.Path(path_type=Path), required=False)
@click.argument("passed", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.option(
    "--state", type=click.Path(path_type=Path), help="The file that counts calls; by default in ~/.cache/ralph."
)
@click.option("--reset", is_flag=True, help="Reset the count of calls, and do nothing else.")
@click.option("--check", is_flag=True, help="Only check the script or the recording.")
@click.option("--replay", metavar="DIR", help="Play a recording: the next call of the task in RALPH_TASK.")
@click.option(
    "--speed", type=click.FloatRange(0), default=0.0, help="Playback speed; 1: as recorded, 0: without waiting."
)
def command(
    script: Path | None,
    passed: tuple[str, ...],
    state: Path | None,
    reset: bool,
    check: bool,
    replay: str | None,
    speed: float,
) -> int:
    """Play one turn of SCRIPT: read a prompt from standard input, then say and do what the script says. Or play one
    call of a recording that `ralph run --record DIR` made."""
    from ralph.testing import scripted

    if replay is not None:
        return _replay(replay, speed, state, check=check)
    if script is None or passed:
        raise click.UsageError("Give one script, or --replay DIR.")
    script = _found(script)
    if reset:
        scripted.reset(script, state)
        return 0
    if check:
        turns = scripted.load(script)
        say(f"{script}: {len(turns)} turns, no mistakes")
        return 0
    return scripted.play(script, state)


def _replay(folder: str, speed: float, state: Path | None, *, check: bool) -> int:
    from ralph.testing import recording, replay

    if check:
        place = replay.found(folder)
        say(f"{place}: {recording.check(Path(place))} calls, no mistakes")
        return 0
    return replay.play(folder, speed, str(state) if state else None)


def _found(script: Path) -> Path:
    from ralph.testing import scripted

    found = scripted.found(str(script))
    if found is None:
        raise RalphError(f"The script {script} does not exist.", remedy="Write it: `ralph scripted --help` shows one.")
    return Path(found)
