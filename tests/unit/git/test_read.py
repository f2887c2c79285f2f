"""Reading git for commands that only read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.git import read
from tests.conftest import Project


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


def test_files_and_folders_of_a_commit_are_read_with_one_git(project: Project) -> None:
    project.write("plans/a.json", "{}\n")
    project.write("plans/b c.md", "text without an end")
    project.write("plans/empty", "")
    (project.path / "plans" / "link").symlink_to("a.json")
    project.git("add", "-A")
    project.git("commit", "-qm", "Plans")
    with project.counting_git() as count, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", project.env["PATH"])
        with read.one_moment():
            assert read.names_at(project.path, "HEAD", "plans") == ["a.json", "b c.md", "empty", "link"]
            assert read.file_at(project.path, "HEAD", "plans/b c.md") == b"text without an end"
            assert read.file_at(project.path, "HEAD", "plans/no\nplace") is None
            assert read.file_at(project.path, "HEAD", "plans") is None
            assert read.names_at(project.path, "no-branch", "plans") == []
            assert read.file_at(project.path / "plans", "HEAD", "empty") == b""
            assert read.files_in(project.path, "HEAD", "plans").keys() == {"a.json", "b c.md", "empty"}
    assert count() == 2, "one for each folder in which git was asked"


def test_a_git_that_cannot_start_has_no_answers(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert read.file_at(repo, "HEAD", "x") is None
    assert read.names_at(repo, "HEAD", ".ralph") == []
    assert read.branches(repo) == {}
