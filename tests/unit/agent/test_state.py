"""Where agents keep their state: what the sandbox lets them write outside of the project."""

from __future__ import annotations

from pathlib import Path

from ralph.agent.state import every_state, state_of
from ralph.config import Provider


def provider(command: str, **more: object) -> Provider:
    return Provider.read({"command": command, **more})


def env(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), **more}


def test_an_isolated_agent_writes_only_its_login(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/auth.json").write_text("{}")
    (tmp_path / ".codex/config.toml").write_text("")

    assert state_of(provider("codex"), env(tmp_path)).writable == (tmp_path / ".codex/auth.json",)


def test_an_agent_that_is_not_isolated_writes_all_of_its_state(tmp_path: Path) -> None:
    found = state_of(provider("codex", isolate=False), env(tmp_path))

    assert found.writable == (tmp_path / ".codex",)
    assert (tmp_path / ".codex").is_dir(), "a folder that is not there cannot be let in"


def test_claude_code_writes_its_state_but_not_what_runs_programs(tmp_path: Path) -> None:
    found = state_of(provider("claude"), env(tmp_path))

    assert found.writable == (tmp_path / ".claude", tmp_path / ".claude.json")
    assert {tmp_path / ".claude/settings.json", tmp_path / ".claude/hooks"} <= set(found.fixed)


def test_a_variable_names_another_folder(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"

    assert elsewhere in state_of(provider("claude"), env(tmp_path, CLAUDE_CONFIG_DIR=str(elsewhere))).writable
    assert elsewhere in every_state(env(tmp_path, CODEX_HOME=str(elsewhere)))


def test_the_configuration_names_the_state_of_an_agent_that_nobody_knows(tmp_path: Path) -> None:
    found = state_of(provider("mine", state=["~/.mine", "/srv/mine"]), env(tmp_path))

    assert found.writable == (tmp_path / ".mine", Path("/srv/mine"))
    assert not state_of(provider("mine"), env(tmp_path)).writable


def test_other_agents_state_is_known_whether_it_is_there_or_not(tmp_path: Path) -> None:
    assert {tmp_path / ".claude", tmp_path / ".codex", tmp_path / ".gemini"} <= set(every_state(env(tmp_path)))


def test_what_claude_code_must_not_write_is_there_before_a_call(tmp_path: Path) -> None:
    """What is missing could be created: hooks in settings that the person has never made."""
    found = state_of(provider("claude"), env(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere")))

    for folder in (tmp_path / ".claude", tmp_path / "elsewhere"):
        assert {folder / "settings.json", folder / "CLAUDE.md", folder / "hooks"} <= set(found.fixed)
        assert (folder / "settings.json").read_text() == "{}\n" and (folder / "hooks").is_dir()


def test_what_a_person_has_written_there_stays(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text('{"model": "opus"}')

    state_of(provider("claude"), env(tmp_path))

    assert (tmp_path / ".claude/settings.json").read_text() == '{"model": "opus"}'
