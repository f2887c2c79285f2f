"""How a clone is set up: from two lock files, inside `.venv`, with no word to the system's package manager."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOOLS = ("mypy", "playwright", "pytest", "ruff")


def locked(name: str) -> dict[str, str]:
    """Each requirement of a lock file, with its version, its marker and its hashes."""
    text = re.sub(r"^ *#.*\n", "", (ROOT / f"requirements/{name}.txt").read_text(), flags=re.MULTILINE)
    whole = [line for line in text.replace("\\\n", "").splitlines() if line]
    return {line.partition("==")[0]: " ".join(line.split()) for line in whole}


def test_what_ralph_runs_on_is_part_of_what_its_tests_need_to_the_hash() -> None:
    run, dev = locked("run"), locked("dev")
    assert run.items() <= dev.items()
    assert {"click", "pydantic", "psutil", "hatchling"} <= set(run)
    assert set(TOOLS) <= set(dev) and not set(TOOLS) & set(run)
    assert [name for name, line in dev.items() if "--hash=sha256:" not in line] == []


def setup(tmp_path: Path, *args: str, path: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of `scripts/setup` that finds the programs in `path` only."""
    for name in ("scripts/setup", "pyproject.toml", "requirements/run.txt", "requirements/dev.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [tmp_path / "scripts/setup", *args]
    return subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, cwd="/")


def programs(tmp_path: Path, *names: str) -> str:
    """A folder with some of the system's programs, and ones for root's work that tell when they are called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    for name in ("sudo", "apt-get", "apt", "brew", "dnf"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/called\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("which", ["run", "dev"])
@pytest.mark.parametrize(
    ("there", "missing"),
    [((), "git is missing: install it"), (("git",), "Python 3.11 or newer is missing")],
)
def test_what_is_missing_is_named_and_never_installed(
    tmp_path: Path, which: str, there: tuple[str, ...], missing: str
) -> None:
    done = setup(tmp_path, which, path=programs(tmp_path, "sh", "dirname", "cat", "cksum", *there))
    assert done.returncode == 1
    assert missing in done.stderr
    assert not (tmp_path / "called").exists()


def test_a_folder_that_is_set_up_is_left_as_it_is_and_all_of_it_serves_for_a_part(tmp_path: Path) -> None:
    path = programs(tmp_path, "sh", "dirname", "cat", "cksum")
    setup(tmp_path, path=path)  # puts the files there, and stops: there is no git
    (tmp_path / ".venv").mkdir()
    for name in ("run", "dev"):
        both = b"".join((tmp_path / file).read_bytes() for file in (f"requirements/{name}.txt", "pyproject.toml"))
        (tmp_path / f".venv/.{name}").write_bytes(subprocess.check_output(["cksum"], input=both))
    before = sorted((tmp_path / ".venv").iterdir())

    assert [setup(tmp_path, *args, path=path).returncode for args in ((), ("run",), ("dev",))] == [0, 0, 0]
    assert sorted((tmp_path / ".venv").iterdir()) == before

    (tmp_path / ".venv/.dev").write_text("an older one")
    assert [setup(tmp_path, *args, path=path).returncode for args in ((), ("run",))] == [1, 0]
    assert "say run or dev" in setup(tmp_path, "all", path=path).stderr
