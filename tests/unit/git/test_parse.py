"""What git says of a checkout, read from real git: renames, spaces, unicode, conflicts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ralph.git.files import remove
from ralph.git.parse import Status, parse_status


class Checkout:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str, code: int = 0) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "P" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "p@example.com" for who in ("AUTHOR", "COMMITTER")},
        }
        done = subprocess.run(["git", *args], cwd=self.path, env=environment, capture_output=True)
        assert done.returncode == code, done.stderr
        return done.stdout.decode(errors="surrogateescape")

    def write(self, name: str, text: str = "text\n" * 20) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, *names: str) -> str:
        for name in names:
            self.write(name, f"{name}\n" * 20)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "c", "--allow-empty")
        return self.git("rev-parse", "HEAD").strip()

    def status(self) -> Status:
        return parse_status(self.git("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_repository_without_a_commit_has_no_head(checkout: Checkout) -> None:
    checkout.write("new.txt")
    assert checkout.status() == Status(head="", branch="main", changed=(), untracked=("new.txt",))


def test_a_clean_checkout_tells_where_it_is(checkout: Checkout) -> None:
    head = checkout.commit("a.txt")
    checkout.git("switch", "-q", "-c", "ralph/auth")
    assert checkout.status() == Status(head=head, branch="ralph/auth", changed=(), untracked=())


def test_a_detached_head_has_no_branch(checkout: Checkout) -> None:
    head = checkout.commit("a.txt")
    checkout.git("switch", "-q", "--detach")
    assert checkout.status() == Status(head=head, branch="", changed=(), untracked=())


NAMES = ["with space.txt", "ünïcödé 日本.txt", "new\nline.txt", "tab\t.txt", "deep/er/1 2 3 4 5 6 7 8 9.txt", '"q".txt']


@pytest.mark.parametrize("name", NAMES)
def test_names_are_told_as_they_are(checkout: Checkout, name: str) -> None:
    checkout.commit(name)
    checkout.write(name, "changed\n")
    checkout.write(f"untracked {name}")
    status = checkout.status()
    assert status.changed == (name,)
    assert status.untracked == (f"untracked {name}",)


def test_a_name_that_is_no_text_is_told_as_bytes(checkout: Checkout) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    checkout.write(name)
    assert checkout.status().untracked == (name,)


@pytest.mark.parametrize("name", NAMES)
def test_a_rename_tells_the_new_and_the_old_name(checkout: Checkout, name: str) -> None:
    checkout.commit(name, "other.txt")
    checkout.write("moved/x")
    checkout.git("mv", name, f"moved/{Path(name).name}")
    checkout.write("other.txt", "changed after the rename\n")
    status = checkout.status()
    assert set(status.changed) == {f"moved/{Path(name).name}", name, "other.txt"}
    assert status.untracked == ("moved/x",)


def test_staged_deleted_and_changed_files_are_all_changes(checkout: Checkout) -> None:
    checkout.commit("staged.txt", "deleted.txt", "removed.txt", "mode.sh", "kept.txt")
    checkout.write("staged.txt", "x\n")
    checkout.write("added.txt", "y\n")
    checkout.git("add", "staged.txt", "added.txt")
    (checkout.path / "deleted.txt").unlink()
    checkout.git("rm", "-q", "removed.txt")
    (checkout.path / "mode.sh").chmod(0o755)
    status = checkout.status()
    assert sorted(status.changed) == ["added.txt", "deleted.txt", "mode.sh", "removed.txt", "staged.txt"]
    assert status.untracked == ()


def test_files_in_conflict_are_told_apart(checkout: Checkout) -> None:
    checkout.commit("a b.txt")
    checkout.git("switch", "-q", "-c", "other")
    checkout.write("a b.txt", "theirs\n")
    checkout.commit()
    checkout.git("switch", "-q", "main")
    checkout.write("a b.txt", "ours\n")
    checkout.commit()
    checkout.git("merge", "other", code=1)
    status = checkout.status()
    assert status.unmerged == ("a b.txt",)
    assert status.changed == ()


def test_removing_a_file_removes_the_folders_it_leaves_empty(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    (tmp_path / "a" / "kept").touch()
    remove(tmp_path, "a/b/file")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "kept"]
    remove(tmp_path, "a/kept")
    assert list(tmp_path.iterdir()) == []
    remove(tmp_path, "never/there")
    assert tmp_path.is_dir()
