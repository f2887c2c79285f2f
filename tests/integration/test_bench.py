"""The bench: what cannot be measured here costs no other row."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bench(*groups: str, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *groups]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True)


@pytest.mark.skipif(sys.platform == "darwin", reason="a browser is found there without PATH")
def test_a_group_that_cannot_run_here_is_left_out_and_named(tmp_path: Path) -> None:
    done = bench("browser", path=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "left out: browser: Ralph checks UI tasks in a browser, but found no Chrome or Chromium" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_group_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    done = bench("verification", "browser", path=str(tmp_path))  # there is no git
    assert done.returncode == 1
    assert "failed: verification: FileNotFoundError: " in done.stdout
    assert "measuring: browser" in done.stderr, "it went on"
    assert "Traceback" not in done.stdout + done.stderr
