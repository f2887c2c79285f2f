"""Every way to install Ralph has its own commands, and none names an index that Ralph did not come from."""

from __future__ import annotations

import json
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

from ralph import installation
from ralph.installation import InstallKind

REQUIRES = ["click>=8.1.7", 'playwright>=1.49; extra == "browser"', 'other>=1; extra == "else"']


def installed(folder: Path, url: object = None, **files: str) -> installation.Installation:
    info = folder / "lib/ralph_run-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: ralph-run\n" + "".join(f"Requires-Dist: {line}\n" for line in REQUIRES))
    if url:
        (info / "direct_url.json").write_text(json.dumps(url))
    for name, text in files.items():
        (folder / name.replace("__", ".").replace("_receipt", "-receipt")).write_text(text)
    return installation.read(folder, "/venv/bin/python", Distribution.at(info))


FOLDER = {"url": "file:///home/me/my%20ralph", "dir_info": {}}
CLONE = {"url": "file:///home/me/ralph", "dir_info": {"editable": True}}
GIT = {"url": "https://example.com/ralph.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}


def test_pipx(tmp_path: Path) -> None:
    found = installed(tmp_path, FOLDER, pipx_metadata__json="{}")
    assert found.manner is InstallKind.PIPX
    assert found.extra("browser") == "pipx inject ralph-run 'playwright>=1.49'"
    pull = "git -C '/home/me/my ralph' pull"
    assert found.upgrade() == (pull, "pipx install --force '/home/me/my ralph'")


def test_uv_tool(tmp_path: Path) -> None:
    found = installed(tmp_path, GIT, uv_receipt__toml="")
    assert found.manner is InstallKind.UV_TOOL
    source = "git+https://example.com/ralph.git"
    assert found.extra("browser") == f"uv tool install --with 'playwright>=1.49' {source}"
    assert found.upgrade() == ("uv tool upgrade --reinstall ralph-run",)


def test_uvx_keeps_nothing_so_the_next_call_brings_the_newest(tmp_path: Path) -> None:
    found = installed(tmp_path / "archive-v0/8wXg9xjkHLeOX2DL", FOLDER)
    assert found.manner is InstallKind.UVX
    assert found.extra("browser") == "uvx --with 'playwright>=1.49' --from '/home/me/my ralph' ralph"
    assert found.upgrade()[-1] == "uvx --refresh --from '/home/me/my ralph' ralph"


def test_a_clone(tmp_path: Path) -> None:
    found = installed(tmp_path, CLONE)
    assert found.manner is InstallKind.CLONE
    assert found.extra("browser") == "/venv/bin/python -m pip install -e '/home/me/ralph[browser]'"
    assert found.upgrade() == (
        "git -C /home/me/ralph pull",
        "/venv/bin/python -m pip install -e /home/me/ralph",
    )


def test_a_virtual_environment_with_and_without_pip(tmp_path: Path) -> None:
    found = installed(tmp_path, GIT)
    assert found.manner is InstallKind.PIP
    assert found.extra("browser") == "/venv/bin/python -m pip install 'playwright>=1.49'"
    source = "git+https://example.com/ralph.git"
    assert found.upgrade() == (f"/venv/bin/python -m pip install --upgrade {source}",)
    without = installation.read(tmp_path, "/venv/bin/python", None, has_pip=False)
    assert without.upgrade() == ("uv pip install --python /venv/bin/python --upgrade ralph-run",)


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "{}", '{"url": 1, "dir_info": 2}', '{"url": "file:///x", "vcs_info": 1}']
)
def test_metadata_that_says_nothing_is_an_index(tmp_path: Path, text: str) -> None:
    info = tmp_path / "ralph_run-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: ralph-run\n")
    (info / "direct_url.json").write_text(text)
    assert installation.read(tmp_path, "python", Distribution.at(info)).source == ""


def test_this_one_installs_what_its_metadata_names() -> None:
    assert any("playwright" in line for line in distribution("ralph-run").requires or ())
    assert "browser" in installation.this().extra("browser") or "playwright" in installation.this().extra("browser")
