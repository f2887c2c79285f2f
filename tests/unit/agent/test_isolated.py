"""The private folder of one call: the login, the model's settings, and nothing else of a person's."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

from ralph.agent.dialects import AGENTS, arguments
from ralph.agent.isolated import isolated
from ralph.config import Provider


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def provider(name: str, *more: str, isolate: bool = True) -> Provider:
    return Provider(command=name, args=(*AGENTS[name].args, *more), isolate=isolate)


def folders(top: Path) -> tuple[dict[str, str], Path, Path]:
    made = top / "home", top / "private", top / "project/.ralph/copy (1)"
    for folder in made:
        folder.mkdir(parents=True)
    return {"HOME": str(made[0])}, made[1], made[2]


def test_a_state_folder_has_the_linked_login_and_the_kept_settings(tmp_path: Path) -> None:
    env, private, copy = folders(tmp_path)
    theirs = put(tmp_path / "elsewhere/auth.json", "old").parent
    put(theirs / "config.toml", 'model = "m"\n[mcp_servers.x]\ncommand = "x"\n')
    put(theirs / "AGENTS.md", "mine")

    with isolated(provider("codex"), {**env, "CODEX_HOME": str(theirs)}, private, copy) as start:
        own = Path(start.env["CODEX_HOME"])
        assert sorted(path.name for path in own.iterdir()) == ["auth.json", "config.toml"]
        assert tomllib.loads((own / "config.toml").read_text()) == {"model": "m"}
        assert (own / "config.toml").stat().st_mode & 0o077 == 0
        (own / "auth.json").write_text("renewed")

    assert (theirs / "auth.json").read_text() == "renewed"


def test_a_login_that_the_program_replaces_is_brought_back(tmp_path: Path) -> None:
    env, private, copy = folders(tmp_path)
    kept = put(tmp_path / "dotfiles/creds.json", "old")
    login = tmp_path / "home/.qwen/oauth_creds.json"
    login.parent.mkdir()
    login.symlink_to(kept)

    with isolated(provider("qwen"), env, private, copy) as start:
        own = Path(start.env["QWEN_HOME"]) / "oauth_creds.json"
        os.replace(put(own.with_name("new"), "renewed"), own)  # noqa: PTH105 - as the program does it

    assert kept.read_text() == "renewed" and login.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_programs_share_keeps_everything_of_the_others(tmp_path: Path) -> None:
    env, private, copy = folders(tmp_path)
    put(tmp_path / "home/.config/gh/hosts.yml", "login")
    put(tmp_path / "home/.config/opencode/AGENTS.md", "mine")
    put(tmp_path / "home/.config/opencode/opencode.json", '{"provider": {"x": {}}, "mcp": {}}')

    with isolated(provider("opencode"), env, private, copy) as start:
        config = Path(start.env["XDG_CONFIG_HOME"])
        assert (config / "gh/hosts.yml").read_text() == "login"
        assert [path.name for path in (config / "opencode").iterdir()] == ["opencode.json"]
        made = json.loads((config / "opencode/opencode.json").read_text())
        assert made == {"snapshot": False, "provider": {"x": {}}}
        assert "XDG_DATA_HOME" not in start.env, "the login and the data of other programs are there"


def test_memory_above_the_working_copy_is_excluded_by_name(tmp_path: Path) -> None:
    env, private, copy = folders(tmp_path)
    put(copy / ".mcp.json", "{}")

    with isolated(provider("claude"), env, private, copy) as start:
        line = arguments(provider("claude"), more=start.args)
        excluded = json.loads(Path(line[line.index("--settings") + 1]).read_text())["claudeMdExcludes"]

    assert f"{tmp_path}/project/CLAUDE.md" in excluded and "/CLAUDE.local.md" in excluded
    assert not any("copy" in pattern for pattern in excluded)
    assert line[line.index("--mcp-config") + 1] == str(copy / ".mcp.json")


def test_an_option_of_the_configuration_wins(tmp_path: Path) -> None:
    env, private, copy = folders(tmp_path)

    with isolated(provider("claude", "--setting-sources=user"), env, private, copy) as start:
        assert "--setting-sources" not in start.args and "--strict-mcp-config" in start.args


def test_without_isolation_and_for_unknown_programs_nothing_changes(tmp_path: Path) -> None:
    env, private, copy = folders(tmp_path)
    for one in (provider("codex", isolate=False), Provider(command="my-agent")):
        with isolated(one, env, private, copy) as start:
            assert (start.args, start.env, list(private.iterdir())) == ((), {}, [])
