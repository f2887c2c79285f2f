"""Whether a person is signed in to an agent, from files and variables alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.agent.dialects import AGENTS
from ralph.agent.signed_in import login_of


@pytest.mark.parametrize(
    ("agent", "file"),
    [
        ("claude", ".claude/.credentials.json"),
        ("codex", ".codex/auth.json"),
        ("gemini", ".gemini/oauth_creds.json"),
        ("goose", ".config/goose/secrets.yaml"),
        ("opencode", ".local/share/opencode/auth.json"),
        ("kimi", ".kimi/credentials/kimi-code.json"),
    ],
)
def test_a_login_is_a_file_that_is_not_empty(tmp_path: Path, agent: str, file: str) -> None:
    env = {"HOME": str(tmp_path)}
    assert login_of(AGENTS[agent], env) == ""
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert login_of(AGENTS[agent], env) == "", "after a logout"
    path.write_text('{"token": "x"}')
    assert login_of(AGENTS[agent], env) == f"~/{file}"


def test_a_key_counts_only_for_the_agents_that_get_it(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CODEX_API_KEY": "x", "OPENAI_MODEL": "y", "ANTHROPIC_API_KEY": ""}
    assert login_of(AGENTS["codex"], env) == "CODEX_API_KEY"
    assert login_of(AGENTS["claude"], env) == "", "an empty variable is none"
    assert login_of(AGENTS["aider"], env) == ""


def test_the_folder_that_a_variable_names_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text('{"token": "x"}')
    assert login_of(AGENTS["codex"], {"HOME": "/none", "CODEX_HOME": str(tmp_path)}) == f"{tmp_path}/auth.json"
