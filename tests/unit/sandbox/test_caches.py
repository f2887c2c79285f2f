"""The caches that programs in a sandbox share with the person."""

from __future__ import annotations

from pathlib import Path

from ralph.sandbox.caches import known_caches


def env(folder: Path, *programs: str, **more: str) -> dict[str, str]:
    (folder / "bin").mkdir()
    for name in programs:
        (folder / "bin" / name).touch(mode=0o755)
    return {"HOME": str(folder), "PATH": str(folder / "bin"), **more}


def test_a_program_on_path_has_its_caches_made(tmp_path: Path) -> None:
    found = known_caches(env(tmp_path, "cargo", "npm"))

    assert found == (tmp_path / ".npm", tmp_path / ".cargo/registry", tmp_path / ".cargo/git")
    assert all(folder.is_dir() for folder in found)


def test_a_program_that_is_not_here_has_none(tmp_path: Path) -> None:
    assert known_caches(env(tmp_path)) == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"], "no folder was made"


def test_variables_lead_elsewhere(tmp_path: Path) -> None:
    given = env(tmp_path, "pip", "uv", PIP_CACHE_DIR=str(tmp_path / "p"), XDG_CACHE_HOME=str(tmp_path / "x"))

    assert known_caches(given) == (tmp_path / "p", tmp_path / "x/uv")
