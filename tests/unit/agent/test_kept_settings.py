"""The part of a program's settings that an isolated call gets."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ralph.agent.kept_settings import filtered
from ralph.errors import RalphError

TOML = """
model_x = 1.5
[model.a]
url = "http://\\u0007\\"x"
ok = true
at = 2024-01-02T03:04:05Z
n = [1, {"é" = "ü"}]
"""
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("a.json", '{"model": "m", "hooks": {}}', {}, {"model": "m"}),
    ("a.jsonc", '{ // one\n "model": "a//b", /* two */ "mcp": {},\n "provider": [1, 2,],\n}', {}, {"model": "a//b"}),
    ("a.json", "", {"snapshot": False}, {"snapshot": False}),
    ("a.json", "[1]", {}, {}),
    ("a.json", '{"model": {"name": "x"}}', {"model": {"name": "y", "tries": 2}}, {"model": {"name": "x", "tries": 2}}),
    ("a.toml", 'model = "m"\n[mcp_servers.x]\ncommand = "x"\n', {}, {"model": "m"}),
    ("a.toml", TOML, {}, tomllib.loads(TOML)),
]


@pytest.mark.parametrize(("name", "text", "defaults", "expected"), CASES)
def test_only_kept_keys_remain(
    tmp_path: Path, name: str, text: str, defaults: dict[str, Any], expected: dict[str, Any]
) -> None:
    (tmp_path / name).write_text(text)

    made = filtered(tmp_path / name, ("model*",), defaults)

    assert (tomllib.loads(made) if name.endswith(".toml") else json.loads(made)) == expected


def test_blocks_of_yaml_are_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "GOOSE_MODEL: m\nextensions:\n  x:\n    CMD: y\n- z\n'OPENAI_HOST': >\n  http://a\n\nslash_commands: []\n"
    )

    assert filtered(path, ("[A-Z]*",), {}) == "GOOSE_MODEL: m\n'OPENAI_HOST': >\n  http://a\n\n"


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")

    with pytest.raises(RalphError, match=r"a\.json could not be read") as caught:
        filtered(tmp_path / "a.json", (), {})

    assert "provider.isolate" in caught.value.remedy
