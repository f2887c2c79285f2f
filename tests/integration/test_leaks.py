"""A commit that Ralph makes contains no secret, and says which file had the value of which variable."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from ralph.checkout.hooks import commit_with_hooks
from ralph.checkout.own_files import OwnFiles
from ralph.checkout.working_copy import TakenWork, WorkingCopy
from ralph.git.repo import open_repo
from ralph.process.redaction import Secrets
from ralph.process.secret_values import is_ordinary
from tests.conftest import Project

KEY = "q7Zk4vQ81mTr0xWn5b"
IN_ADDRESS = "p4ssw0rd-X9-in"
KNOWN = "known-T0ken-of-the-base"
LINES = "-----BEGIN PRIVATE KEY-----\nMIIEvgIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
VALUES = {KEY: "PAYMENT_KEY", IN_ADDRESS: "DATABASE_URL", KNOWN: "OLD_TOKEN", "postgres": "POSTGRES_PASSWORD"}


class Leaky:
    """A working copy of a project whose person has secrets."""

    def __init__(self, person: Project) -> None:
        person.write("known.py", f'x = "{KNOWN}"\n')
        person.write("old.bin", "old\n")
        person.git("add", "-A")
        person.git("commit", "-qm", "A base")
        self.person, self.base = person, person.git("rev-parse", "HEAD")
        self.repo = asyncio.run(open_repo(person.path))
        self.repo.secrets = Secrets(VALUES | {LINES: "TLS_KEY"})
        folder = person.path / ".ralph/worktrees/.slots/1"
        self.copy = WorkingCopy(repo=self.repo, folder=folder, own=OwnFiles(), branch="ralph/auth")
        asyncio.run(self.copy.reset(self.base))

    def take(self, files: dict[str, bytes]) -> TakenWork:
        for name, data in files.items():
            path: Path = self.copy.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return asyncio.run(self.copy.take(self.base, f"feat: {KEY}"))

    def shown(self, taken: TakenWork, path: str) -> str:
        return self.person.git("show", f"{taken.commit}:{path}")


@pytest.fixture
def leaky(person: Project) -> Leaky:
    return Leaky(person)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (f'a\nb\nkey = "{KEY}"\n'.encode(), 3),
        (base64.b64encode(f"user:{KEY}".encode()), 1),
        (KEY.encode().hex().encode(), 1),
        (b"\0 binary \n" + KEY.encode() + b"\0", 2),
        (KEY[:6].encode() + b"\n" + KEY[6:].encode(), 1),
    ],
)
def test_a_value_in_any_form_is_replaced_and_named(leaky: Leaky, data: bytes, line: int) -> None:
    taken = leaky.take({"src/new.py": data, "fine.py": b"1\n"})
    assert taken.leaked == (f"src/new.py: line {line} has the value of PAYMENT_KEY",)
    assert "[secret]" in leaky.shown(taken, "src/new.py")
    assert set(taken.paths) == {"src/new.py", "fine.py"}
    assert KEY not in leaky.person.git("log", "-1", "-p", "--format=%B", taken.commit)
    assert (leaky.copy.root / "src/new.py").read_bytes() == data  # the agent's own file stays as it is


def test_every_variable_is_named(leaky: Leaky) -> None:
    taken = leaky.take({"a.py": f"{IN_ADDRESS}\n{KEY}\nMIIEvgIBADANBgkqhkiG9w0BAQEFAASC".encode()})
    assert taken.leaked == (
        "a.py: line 1 has the value of DATABASE_URL, line 2 has the value of PAYMENT_KEY, "
        "line 3 has the value of TLS_KEY",
    )


def test_a_name_or_a_link_with_a_value_is_not_committed(leaky: Leaky) -> None:
    (leaky.copy.root / "link").symlink_to(f"/x/{KEY}")
    taken = leaky.take({f"dir/{KEY}.txt": b"1", "fine": b"1"})
    assert taken.paths == ("fine",)
    assert taken.leaked == (
        "dir/[secret].txt: its name has the value of PAYMENT_KEY",
        "link: line 1 has the value of PAYMENT_KEY",
    )


def test_what_the_base_contains_and_plain_words_are_no_secrets(leaky: Leaky) -> None:
    data = f"{KNOWN} postgres sk-ant-api03-{'aB3_' * 10} https://bob:hunter2hunter2@example.com".encode()
    taken = leaky.take({"compose.yaml": data})
    assert taken.leaked == ()
    assert leaky.shown(taken, "compose.yaml").encode() == data


def test_many_files_are_named_in_part_and_all_are_clean(leaky: Leaky) -> None:
    taken = leaky.take({f"f{number:03}": KEY.encode() for number in range(150)})
    assert len(taken.paths) == 150
    assert taken.leaked[-1] == "and 140 more files"
    assert KEY not in leaky.person.git("log", "-1", "-p", "--format=%B", taken.commit)


def test_files_are_read_although_git_has_packed_them(leaky: Leaky) -> None:
    blob = leaky.take({"a": KEY.encode()})
    assert blob.leaked
    leaky.person.git("config", "core.bigFileThreshold", "1")  # git writes such files into a pack at once
    leaky.repo = asyncio.run(open_repo(leaky.person.path))
    taken = leaky.take({"b": b"big\n" * 1000 + KEY.encode()})
    assert taken.leaked[1] == "b: line 1001 has the value of PAYMENT_KEY"


def test_a_hook_that_writes_a_secret_makes_no_commit(leaky: Leaky) -> None:
    hook = leaky.person.path / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\necho {KEY} > stamp; git add stamp\n")
    hook.chmod(0o755)
    work = leaky.take({"fine": b"1"}).commit
    made = asyncio.run(commit_with_hooks(leaky.copy, leaky.base, work, "x", leaky.person.env, owner="t"))
    assert made.leaked == ("stamp: line 1 has the value of PAYMENT_KEY",)
    assert not made.commit


@pytest.mark.parametrize(
    ("value", "ordinary"),
    [
        ("postgres", True), ("changeme123", True), ("my-dev-secret", True), ("MyDevSecret", True), ("12345678", True),
        ("https://accounts.example.com/o/oauth2/v2/auth", True), ("created_at_desc", True),
        ("correct-horse-battery-staple", False), ("abcdefghijklmnop", False), ("s3cr3tP4ss", False),
        ("https://hooks.example.com/T00/B00/aB3dE5gH7jK9", False), ("123456789012345", False), (KEY, False),
    ],
)  # fmt: skip
def test_ordinary_values(value: str, ordinary: bool) -> None:
    assert is_ordinary(value) is ordinary
