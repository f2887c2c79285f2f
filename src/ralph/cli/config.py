"""`ralph config`: shows every setting that is in force, and where its value comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import click

from ralph import config as configuration
from ralph import limits, validation
from ralph import workspace as workspaces
from ralph.config import Config
from ralph.config_section import ConfigSection, noted
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.validation import Json, nearest
from ralph.views import words
from ralph.views.lines import say, say_json

DEFAULT = "default"
SANDBOX = "RALPH_SANDBOX"
WIDEST = 28
MAX_SHOWN = 300


class SettingInForce(Frozen):
    """One setting: its place in the file, its value, and what gave it that value."""

    key: str
    value: object
    source: str  # a file, a variable, or `default`


@click.command(
    name="config",
    epilog="""\b
Examples:
  ralph config                  every setting, and where its value comes from
  ralph config verify           the settings in one section
  ralph config verify.timeout   one setting, with what it means
  ralph config --json           for other programs""",
)
@click.argument("key", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(key: str | None, as_json: bool) -> int:
    """Show the configuration in force: each setting, its value, and whether it is the default or comes from the file.
    KEY is a setting such as verify.timeout, or a section such as verify."""
    workspace = workspaces.find(Path.cwd())
    config = configuration.load(workspace.root)
    written = json.loads(validation.read(workspace.root / configuration.NAME, limits.SETTINGS).decode("utf-8-sig"))
    every = list(in_force(config, written if isinstance(written, dict) else {}))
    found = [one for one in every if key is None or _is_in(one.key, key)]
    if not found:
        names = [one.key for one in every] + list(Config.keys)
        raise RalphError(
            f"There is no setting {key!r}{nearest(key or '', names) or '.'}", remedy="`ralph config` lists them all."
        )
    if as_json:
        say_json({one.key: {"value": one.value, "from": one.source} for one in found})
        return 0
    width = min(WIDEST, max(len(one.key) for one in found))
    for one in found:
        is_default = one.source == DEFAULT
        value = words.cut(_shown(one.value), MAX_SHOWN)
        say(f"{one.key:<{width}}  {value}  ({one.source})", dim=is_default)
    if key and len(found) == 1 and (meaning := _meaning(key)):
        say(f"  {meaning}")
    return 0


def in_force(config: Config, written: Json) -> Iterator[SettingInForce]:
    """Return every setting, in the order of the reference."""
    document = {**config.document(), "sandbox": config.sandboxing.document()}
    own = written.get("sandbox")
    given = {**written, "sandbox": {"use": own}} if isinstance(own, str) else written
    before = _defaults()
    for key, value in _leaves(document, ""):
        if key == "$schema":
            continue
        is_written = _has(given, key) or value != before.get(key, value)
        source = configuration.NAME if is_written else DEFAULT
        if key == "sandbox.use" and os.environ.get(SANDBOX):
            yield SettingInForce(key=key, value=os.environ[SANDBOX], source=f"the variable {SANDBOX}")
        else:
            yield SettingInForce(key=key, value=value, source=source)


def _defaults() -> Json:
    """Return the defaults by key; settings that are required have none."""
    made = Config(provider=configuration.Provider(command=""))
    return dict(_leaves({**made.document(), "sandbox": made.sandboxing.document()}, ""))


def _leaves(value: object, key: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and (value or not key):
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, value


def _has(document: object, key: str) -> bool:
    """Whether a document names a key; names of agents may have dots."""
    if not isinstance(document, dict):
        return False
    return any(
        key == name or (key.startswith(f"{name}.") and _has(inner, key[len(name) + 1 :]))
        for name, inner in document.items()
    )


def _is_in(key: str, wanted: str) -> bool:
    return key == wanted or key.startswith(f"{wanted}.")


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _meaning(key: str) -> str:
    """Return what a setting means, as its annotation says."""
    section: type[ConfigSection] = Config
    for part in key.split("."):
        if part not in section.keys:
            return ""
        kind = section.keys[part][1]
        text = next((one for one in noted(kind) if isinstance(one, str)), "")
        inner = getattr(kind, "__origin__", kind)
        if not (isinstance(inner, type) and issubclass(inner, ConfigSection)):
            return text
        section = inner
    return text
