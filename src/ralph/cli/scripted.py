"""`ralph scripted SCRIPT`: a scripted agent, to try a configuration without a model."""

from __future__ import annotations

from pathlib import Path

import click

from ralph.errors import RalphError


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
  "provider": {"command": "ralph", "args": ["scripted", "agent.json"]}""",
)
@click.argument("script", type=click.Path(path_type=Path))
@click.option(
    "--state", type=click.Path(path_type=Path), help="Where calls are counted; otherwise a file in ~/.cache/ralph."
)
@click.option("--reset", is_flag=True, help="Count from the beginning, and do nothing else.")
@click.option("--check", is_flag=True, help="Only check the script.")
def command(script: Path, state: Path | None, reset: bool, check: bool) -> int:
    """Play one turn of SCRIPT: reads a prompt on standard input, says and does what the script says."""
    from ralph.testing import scripted

    script = _found(script)
    if reset:
        scripted.reset(script, state)
        return 0
    if check:
        turns = scripted.load(script)
        click.echo(f"{script}: {len(turns)} turns, no mistakes")
        return 0
    return scripted.play(script, state)


def _found(script: Path) -> Path:
    from ralph.testing import scripted

    found = scripted.found(str(script))
    if found is None:
        raise RalphError(f"The script {script} is not there.", remedy="Write it: `ralph scripted --help` shows one.")
    return Path(found)
