"""A path of the person's checkout becomes the working copy's, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ralph.provision.relocate import Relocation, embeds_path, relocate

HERE = Relocation(Path("/home/me/my proj"), Path("/home/me/my proj/.ralph/worktrees/.slots/1"))
COPY = "/home/me/my proj/.ralph/worktrees/.slots/1"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/home/me/my proj", COPY),
        ("/home/me/my proj/src\n", f"{COPY}/src\n"),
        ("path='/home/me/my proj'", f"path='{COPY}'"),
        ("PATH=/home/me/my proj/.venv/bin:/usr/bin", f"PATH={COPY}/.venv/bin:/usr/bin"),
        ("file:///home/me/my%20proj/a", "file:///home/me/my%20proj/.ralph/worktrees/.slots/1/a"),
        ("/home/me/my project/src", "/home/me/my project/src"),
        ("/home/me/my proj-2", "/home/me/my proj-2"),
        ("/home/me/my projé", "/home/me/my projé"),
        ("/home/home/me/my proj", "/home/home/me/my proj"),
        (f"{COPY}/src", f"{COPY}/src"),
        ("/home/me/my proj/sub/.ralph/worktrees/x", "/home/me/my proj/sub/.ralph/worktrees/x"),
    ],
)
def test_only_whole_paths_of_the_checkout_are_replaced(old: str, new: str) -> None:
    assert HERE.text(old.encode()).decode() == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/home/me/my proj", COPY),
        ("/home/me/my proj/a", f"{COPY}/a"),
        ("/home/me/my proj2/a", "/home/me/my proj2/a"),
        (f"{COPY}/a", f"{COPY}/a"),
        ("relative", "relative"),
    ],
)
def test_a_path_is_mapped_once(old: str, new: str) -> None:
    assert HERE.path(old) == new


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bin/pytest", True),
        ("pyvenv.cfg", True),
        (".bin/eslint", True),
        (".pnpm/x/node_modules/.bin/y", True),
        ("lib/python3.11/site-packages/__editable__.demo.pth", True),
        ("lib/python3.11/site-packages/__editable___demo_finder.py", True),
        ("lib/python3.11/site-packages/demo.dist-info/direct_url.json", True),
        ("lib/python3.11/site-packages/demo.egg-link", True),
        ("lib/python3.11/site-packages/pip/editable_legacy.py", False),
        ("lib/python3.11/site-packages/demo/bin/tool", False),
        ("lib/python3.11/site-packages/demo/config.py", False),
    ],
)
def test_only_files_that_hold_their_own_place_are_opened(name: str, expected: bool) -> None:
    assert embeds_path(name) is expected


@pytest.mark.parametrize("deep", ["short", "with space", "x" * 150])
def test_a_script_starts_however_long_its_new_place_is(tmp_path: Path, deep: str) -> None:
    source, top = tmp_path / "source", tmp_path / deep
    (source / ".venv/bin").mkdir(parents=True)
    script = source / ".venv/bin/tool"
    script.write_text(f"#!{source}/.venv/bin/python3\nimport sys\nprint('ran', *sys.argv[1:])\n")
    script.chmod(0o755)
    top.mkdir()
    (source / ".venv/bin/python3").symlink_to(sys.executable)
    (source / ".venv").rename(top / ".venv")
    relocate(top / ".venv", Relocation(source, top))
    tool = top / ".venv/bin/tool"
    assert subprocess.run([tool, "a b", "c"], capture_output=True, text=True).stdout == "ran a b c\n"
    assert str(source) + "/" not in tool.read_text()


def test_links_into_the_checkout_are_redirected_and_others_stay(tmp_path: Path) -> None:
    source, top, folder = tmp_path / "s", tmp_path / "c", tmp_path / "new"
    (folder / "deep").mkdir(parents=True)
    links = {
        "deep/into": f"{source}/packages/a",
        "out": "/usr/bin/env",
        "near": "../packages/a",
        "sibling": f"{source}2",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    relocate(folder, Relocation(source, top))
    found = {name: str((folder / name).readlink()) for name in links}
    assert found == {**links, "deep/into": f"{top}/packages/a"}


def test_another_name_of_a_rewritten_file_and_binaries_keep_their_content(tmp_path: Path) -> None:
    source, folder = tmp_path / "s", tmp_path / "new"
    (folder / "bin").mkdir(parents=True)
    cached = tmp_path / "cache"
    cached.write_text(f"{source}/x\n")
    (folder / "bin/tool").hardlink_to(cached)
    (folder / "bin/program").write_bytes(f"\0{source}/x".encode())
    relocate(folder, Relocation(source, tmp_path / "c"))
    assert (folder / "bin/tool").read_text() == f"{tmp_path}/c/x\n"
    assert cached.read_text() == f"{source}/x\n"
    assert (folder / "bin/program").read_bytes() == f"\0{source}/x".encode()
