"""RX.6: an object is what its name says, whatever an agent wrote into the project's store."""

from __future__ import annotations

import asyncio
import hashlib
import struct
import subprocess
import zlib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph.checkout.own_files import OwnFiles
from ralph.checkout.working_copy import TakenWork, WorkingCopy
from ralph.errors import RalphError
from ralph.git.objects import loose, write_object
from ralph.git.repo import open_repo
from tests.conftest import VERIFIED, Project, does

T = TypeVar("T")


def do(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def plant(git_dir: Path, name: str, kind: str, data: bytes) -> None:
    path = loose(git_dir, name)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data))


def plant_pack(project: Project, name: str, data: bytes) -> None:
    """A pack that says of its only object that it is another one."""
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=project.path, env=project.env, input=data, capture_output=True
    )
    true = done.stdout.decode().strip()
    folder = project.path / ".git/objects/pack"
    made = subprocess.run(
        ["git", "pack-objects", "-q", str(folder / "pack")],
        cwd=project.path, env=project.env, input=f"{true}\n".encode(), capture_output=True, check=True,
    )  # fmt: skip
    index = folder / f"pack-{made.stdout.decode().strip()}.idx"
    old = index.read_bytes()
    first = bytes.fromhex(name)[0]
    fan = b"".join(struct.pack(">I", int(byte >= first)) for byte in range(256))
    new = old[:8] + fan + bytes.fromhex(name) + old[8 + 1024 + 20 : -20]
    index.unlink()
    index.write_bytes(new + hashlib.sha1(new).digest())


class Store:
    def __init__(self, person: Project) -> None:
        self.person = person
        person.write("src/main.py", "main\n")
        person.git("add", "-A")
        person.git("commit", "-qm", "Source")
        self.base = person.git("rev-parse", "HEAD")
        self.repo = do(open_repo(person.path))
        folder = person.path / ".ralph/worktrees/.slots/1"
        self.copy = WorkingCopy(repo=self.repo, folder=folder, own=OwnFiles(), branch="ralph/auth")
        do(self.copy.reset(self.base))

    def name_of(self, data: bytes) -> str:
        return hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()

    def take(self) -> TakenWork:
        return do(self.copy.take(self.base, "x"))


@pytest.fixture
def store(person: Project) -> Store:
    return Store(person)


def test_a_wrong_object_under_the_right_name_is_replaced(store: Store) -> None:
    name = store.name_of(b"bad\n")
    plant(store.repo.git_dir, name, "blob", b"good\n")

    assert write_object(store.repo.git_dir, "blob", b"bad\n") == name

    assert store.person.git("cat-file", "blob", name) == "bad"


def test_a_file_s_object_that_was_there_with_other_content_is_found_and_written_anew(store: Store) -> None:
    name = store.name_of(b"bad\n")
    plant(store.repo.git_dir, name, "blob", b"good\n")
    (store.copy.root / "src/x").write_bytes(b"bad\n")

    taken = store.take()

    assert taken.forged == (name,)
    assert store.person.git("show", f"{taken.commit}:src/x") == "bad"
    assert not store.take().forged
    assert not store.person.git("fsck", "--full", "--no-dangling").strip()


@pytest.mark.parametrize("data", [b"", b"100644 main.py\0" + bytes(20), b"nonsense"])
def test_a_folder_s_object_likewise(store: Store, data: bytes) -> None:
    (store.copy.root / "src/x").write_bytes(b"x\n")
    tree = store.person.git("rev-parse", f"{store.take().commit}:src")
    plant(store.repo.git_dir, tree, "tree", data)

    taken = store.take()

    assert taken.forged == (tree,)
    assert store.person.git("show", f"{taken.commit}:src/x") == "x"


def test_an_old_file_s_object_that_was_overwritten_is_found_as_well(store: Store) -> None:
    name = store.name_of(b"main\n")
    store.take()
    plant(store.repo.git_dir, name, "blob", b"evil\n")

    assert store.take().forged == (name,)
    assert store.person.git("show", "main:src/main.py") == "main"


def test_a_pack_that_lies_is_an_error_that_says_so(store: Store) -> None:
    name = store.name_of(b"bad\n")
    plant_pack(store.person, name, b"good\n")
    (store.copy.root / "x").write_bytes(b"bad\n")
    assert store.person.git("cat-file", "blob", name) == "good", "git believes it"

    with pytest.raises(RalphError, match=f"do not match their names: {name}"):
        store.take()


def test_packing_meanwhile_is_nobody_s_fault(store: Store) -> None:
    store.person.git("gc", "-q")
    (store.copy.root / "x").write_bytes(b"x\n")

    taken = store.take()

    assert taken.paths == ("x",)
    assert not taken.forged


def test_an_attempt_that_forged_an_object_fails_and_says_why(project: Project) -> None:
    project.config("test ! -f x || grep -q good x")
    project.stories("One")
    bad = hashlib.sha1(b"blob 4\0bad\n").hexdigest()
    path = f"{bad[:2]}/{bad[2:]}"
    forge = (
        f"import zlib, os; p = os.environ['RALPH_ROOT'] + '/.git/objects/{path}'; os.makedirs(os.path.dirname(p), "
        "exist_ok=True); open(p, 'wb').write(zlib.compress(b'blob 5\\0good\\n'))"
    )
    project.write("../forge.py", forge)
    project.script(
        does("US-001", "x", text="bad\n", times=1, run=["python3 $HOME/../forge.py"]),
        does("US-001", "x", text="good\n"),
        VERIFIED,
    )

    done = project.ralph("run", "auth")

    assert f"it replaced the content of objects in .git/objects ({bad})" in " ".join(done.stdout.split())
    assert project.story()["retries"] == 1
    project.git("clone", "-q", "--no-local", "-b", "ralph/auth", ".", "../clone")
    assert (project.path / "../clone/x").read_text() == "good\n"
