"""Reading git for commands that only read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.git import read


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for args in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *args], cwd=tmp_path, check=True)
    return tmp_path


def test_in_one_moment_every_question_has_one_answer(repo: Path) -> None:
    with read.one_moment():
        before = set(read.branches(repo))
        subprocess.run(["git", "branch", "other"], cwd=repo, check=True)
        with read.one_moment():
            assert set(read.branches(repo)) == before == {"main"}
    assert set(read.branches(repo)) == {"main", "other"}


def test_a_later_moment_sees_what_has_changed(repo: Path) -> None:
    with read.one_moment():
        read.branches(repo)
    subprocess.run(["git", "branch", "other"], cwd=repo, check=True)
    with read.one_moment():
        assert "other" in read.branches(repo)
