"""Reads a program's settings file and writes the part of it that is kept: JSON with comments, TOML or YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ralph.errors import RalphError

COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
YAML_KEY = re.compile(r"""["']?([\w.-]+)["']?\s*:""")


def filtered(path: Path, keep: tuple[str, ...], defaults: Mapping[str, object]) -> str:
    """Return a settings file with only the keys in `keep` (names or patterns), and with defaults for what it lacks."""
    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        if path.suffix in (".yaml", ".yml"):
            return _yaml(text, keep)
        read = _toml_read(text) if path.suffix == ".toml" else json.loads(_without_comments(text) or "{}")
    except (OSError, ValueError) as error:
        raise RalphError(
            f"{path} could not be read: {error}.",
            remedy="Correct it, or set provider.isolate to false in ralph.config.json to let the agent read it itself.",
        ) from None
    found = read if isinstance(read, dict) else {}
    kept = {key: value for key, value in found.items() if any(fnmatchcase(key, pattern) for pattern in keep)}
    made = _merged(defaults, kept)
    return _toml(made) if path.suffix == ".toml" else json.dumps(made, ensure_ascii=False, indent=2) + "\n"


def _toml_read(text: str) -> Any:
    import tomllib  # only one known agent has such a file

    return tomllib.loads(text)


def _without_comments(text: str) -> str:
    """Return JSON without comments and without a comma after the last item."""
    return LAST_COMMA.sub(r"\1", COMMENT.sub(r"\1", text)).strip()


def _merged(defaults: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    inner = {
        key: _merged(value, kept[key])
        for key, value in defaults.items()
        if isinstance(value, Mapping) and isinstance(kept.get(key), Mapping)
    }
    return {**defaults, **kept, **inner}


def _yaml(text: str, keep: tuple[str, ...]) -> str:
    """Return the kept blocks of a YAML mapping; every block begins with its key, at the start of a line."""
    lines, is_kept = [], False
    for line in text.splitlines():
        key = YAML_KEY.match(line)
        if key:
            is_kept = any(fnmatchcase(key[1], pattern) for pattern in keep)
        if is_kept:
            lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def _toml(settings: Mapping[str, Any]) -> str:
    return "".join(f"{_quoted(key)} = {_toml_value(value)}\n" for key, value in settings.items())


def _toml_value(value: Any) -> str:
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_quoted(key)} = {_toml_value(inner)}" for key, inner in value.items()) + "}"
        case list():
            return f"[{', '.join(map(_toml_value, value))}]"
        case bool() | str():
            return _quoted(value)
        case _:
            return str(value)  # numbers and dates are written as they are read


def _quoted(value: bool | str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
