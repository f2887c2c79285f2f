"""The worktree with a plan's files has them as the commit does, and nothing else."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from ralph.checkout.open import CheckoutRequest, open_checkout
from ralph.errors import RalphError
from ralph.process.redaction import Secrets
from ralph.workspace import Workspace
from tests.conftest import Project

PLAN = ".ralph/2026-01-01-auth"


def opened(project: Project) -> Path:
    """Open the checkout of a target `auth` as a run does; return the folder with its plan."""
    wanted = CheckoutRequest(target="auth", branch="ralph/auth")
    checkout = asyncio.run(open_checkout(Workspace(root=project.path), wanted, "run", secrets=Secrets()))
    return checkout.project


def committed(project: Project) -> None:
    project.git("add", "-A", "-f")
    project.git("commit", "-qm", "Plan")


@pytest.mark.parametrize("packed", [False, True])
def test_a_plan_is_written_as_it_is_in_the_commit(project: Project, packed: bool) -> None:
    project.stories("One")
    project.write(f"{PLAN}/notes.md", "a\nb\n")
    project.write(f"{PLAN}/deep/er/check.sh", "#!/bin/sh\n").chmod(0o755)
    (project.path / PLAN / "link.md").symlink_to("notes.md")
    project.write(".gitattributes", "*.md text eol=crlf\n*.sh filter=broken\n")
    committed(project)
    project.git("config", "filter.broken.smudge", "false")
    if packed:
        project.git("gc", "--quiet", "--prune=now")

    plan = opened(project)

    assert (plan / PLAN / "notes.md").read_bytes() == b"a\nb\n"
    assert (plan / PLAN / "deep/er/check.sh").stat().st_mode & 0o111
    assert not (plan / PLAN / "notes.md").stat().st_mode & 0o111
    assert str((plan / PLAN / "link.md").readlink()) == "notes.md"
    assert sorted(path.name for path in plan.iterdir()) == [".git", ".ralph"]


def test_what_is_in_the_way_of_a_plan_is_replaced_and_no_link_is_followed(project: Project) -> None:
    project.stories("One")
    committed(project)
    folder = opened(project) / PLAN
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    (folder / "prd.json").unlink()
    folder.rmdir()
    folder.symlink_to(elsewhere)

    assert (opened(project) / PLAN / "prd.json").read_bytes() == (project.path / PLAN / "prd.json").read_bytes()
    assert list(elsewhere.iterdir()) == []

    (folder / "prd.json").unlink()
    (folder / "prd.json" / "x").mkdir(parents=True)
    assert (opened(project) / PLAN / "prd.json").is_file()


@pytest.mark.parametrize("name", ["..", ".git", ".GIT"])
def test_a_path_that_git_would_refuse_is_refused(project: Project, name: str) -> None:
    project.stories("One")
    committed(project)

    def tree(entry: str) -> str:
        args = ["git", "hash-object", "-w", "-t", "tree", "--literally", "--stdin"]
        head, _, oid = entry.rpartition(" ")
        data = head.encode() + b"\0" + bytes.fromhex(oid)
        done = subprocess.run(args, cwd=project.path, input=data, capture_output=True, check=True)
        return done.stdout.decode().strip()

    evil = tree(f"100644 evil {project.git('hash-object', '-w', 'app.txt')}")
    root = tree(f"40000 .ralph {tree(f'40000 {name} {evil}')}")
    commit = project.git("commit-tree", "-m", "evil", "-p", "HEAD", root)
    project.git("update-ref", "refs/heads/ralph/auth", commit)

    with pytest.raises(RalphError, match="which git refuses to check out"):
        opened(project)
    assert not list(project.path.rglob("evil"))
