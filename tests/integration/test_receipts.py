"""Receipts with real keys: what ssh-keygen and gpg sign is verified, and a key that cannot sign costs no time."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.engine.receipts import open_receipts
from ralph.errors import RalphError
from ralph.git.config import signing_settings
from ralph.git.repo import Repo, open_repo
from ralph.receipts import notes
from ralph.receipts.dsse import Envelope, Signature
from ralph.receipts.signatures import SignatureCheck, SignatureChecker, Standing
from ralph.receipts.signing import CannotSign, Signer
from ralph.receipts.statement import Subject, WorkFacts
from ralph.receipts.writer import ReceiptWriter
from tests.conftest import Project, wait_for
from tests.integration.engine import Engine, engine

needs_ssh = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")
needs_gpg = pytest.mark.skipif(not shutil.which("gpg"), reason="gpg is not installed")
WHO = "person@example.com"


def ssh_key(folder: Path, name: str = "key", passphrase: str = "") -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", WHO, "-f", str(path)], check=True)
    return path


def allowed(folder: Path, key: Path, options: str = "") -> Path:
    path = folder / f"{key.name}.signers"
    path.write_text(f"{WHO} {options}{key.with_suffix('.pub').read_text()}")
    return path


def ssh_signer(key: str | Path, **more: str) -> Signer:
    found = Signer.of({"user.signingkey": str(key), "gpg.format": "ssh", **more}, os.environ)
    assert found
    return found


def signed(signer: Signer, payload: bytes = b"{}") -> Envelope:
    bare = Envelope(payload=payload)
    return replace(bare, signatures=asyncio.run(signer.sign([bare.signed_bytes])))


def checked(envelope: Envelope, *signers: Path, configured: str = "") -> SignatureCheck:
    with SignatureChecker.of(signers, configured).opened() as checker:
        return checker.check(envelope)


@needs_ssh
def test_a_signature_of_an_allowed_key_is_verified_and_no_other(tmp_path: Path) -> None:
    key, other = ssh_key(tmp_path), ssh_key(tmp_path, "other")
    envelope = signed(ssh_signer(key))
    fingerprint = subprocess.run(["ssh-keygen", "-lf", str(key)], capture_output=True, text=True, check=True)
    assert envelope.signatures[0].keyid in fingerprint.stdout.split()

    assert checked(envelope, allowed(tmp_path, key)) == SignatureCheck(
        standing=Standing.VERIFIED, key=envelope.signatures[0].keyid, by=WHO
    )
    assert checked(envelope, configured=str(allowed(tmp_path, key))).standing is Standing.VERIFIED
    assert checked(envelope, allowed(tmp_path, other)).standing is Standing.UNKNOWN_KEY
    assert checked(envelope).standing is Standing.UNKNOWN_KEY, "never verified without a list of signers"
    assert checked(envelope, allowed(tmp_path, key, 'namespaces="git" ')).standing is Standing.UNKNOWN_KEY
    assert checked(replace(envelope, signatures=())).standing is Standing.UNSIGNED


@needs_ssh
def test_a_signature_over_anything_else_is_bad(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    envelope = signed(ssh_signer(key))
    for_git = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(key)],
        input=envelope.signed_bytes,
        capture_output=True,
        check=True,
    ).stdout
    spoiled = {
        "changed": replace(envelope, payload=b'{"a": 1}'),
        "moved": replace(envelope, signatures=signed(ssh_signer(key), b"[]").signatures),
        "made for commits": replace(envelope, signatures=(Signature(keyid="", data=for_git),)),
        "cut": replace(envelope, signatures=(Signature(keyid="", data=envelope.signatures[0].data[:90]),)),
        "of no program": replace(envelope, signatures=(Signature(keyid="", data=b"\x00" * 64),)),
        "one of two": replace(
            envelope, signatures=(*envelope.signatures, Signature(keyid="", data=b"-----BEGIN SSH SIGNATURE-----"))
        ),
    }
    for what, one in spoiled.items():
        found = checked(one, allowed(tmp_path, key))
        assert found.standing is Standing.BAD, what
        assert found.problem, what


@needs_ssh
def test_several_messages_are_signed_by_one_process(tmp_path: Path) -> None:
    key, count = ssh_key(tmp_path), tmp_path / "count"
    program = tmp_path / "counted"
    program.write_text(f'#!/bin/sh\necho >> {count}\nexec ssh-keygen "$@"\n')
    program.chmod(0o755)
    made = asyncio.run(ssh_signer(key, **{"gpg.ssh.program": str(program)}).sign([b"a", b"b", b"c"]))
    assert len(made) == 3
    assert len(count.read_text()) == 1


@needs_ssh
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: ssh_signer(ssh_key(folder, passphrase="secret")), "passphrase"),
        (lambda folder: ssh_signer(folder / "nothing"), "No such file"),
        (lambda folder: ssh_signer("~nobody-here/key"), "No such file"),
        (lambda folder: ssh_signer("key::ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINothing"), "ssh-keygen says"),
        (lambda folder: ssh_signer("x", **{"gpg.ssh.program": str(folder / "missing")}), "was not found"),
        (lambda folder: ssh_signer("x", **{"gpg.ssh.program": str(waits(folder))}), "did not finish within 1 seconds"),
    ],
)
def test_a_key_that_cannot_sign_is_a_sentence_and_asks_nobody(
    tmp_path: Path, make: Callable[[Path], Signer], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    signer, began = replace(make(tmp_path), seconds=1.0), time.monotonic()
    with pytest.raises(CannotSign, match=said):
        asyncio.run(signer.sign([b"a"]))
    assert time.monotonic() - began < 5


def waits(folder: Path) -> Path:
    """A program like one that waits for a touch of a hardware key."""
    path = folder / "waits"
    path.write_text("#!/bin/sh\nsleep 60\n")
    path.chmod(0o755)
    return path


@needs_ssh
def test_a_key_in_the_agent_signs_although_its_file_has_a_passphrase(tmp_path: Path) -> None:
    key = ssh_key(tmp_path)
    public = key.with_suffix(".pub").read_text().strip()
    socket = tmp_path / "agent.sock"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as agent:
        try:
            wait_for(socket.exists)
            env = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
            subprocess.run(["ssh-add", "-q", str(key)], env=env, check=True, capture_output=True)
            key.rename(tmp_path / "gone")
            signer = Signer.of({"user.signingkey": f"key::{public}", "gpg.format": "ssh"}, env)
            assert signer
            assert checked(signed(signer), allowed(tmp_path, key)).standing is Standing.VERIFIED
        finally:
            agent.terminate()


def test_there_is_no_signer_without_a_key_or_with_another_kind_of_key() -> None:
    assert Signer.of({}, os.environ) is None
    assert Signer.of({"gpg.format": "ssh"}, os.environ) is None
    assert Signer.of({"user.signingkey": "x", "gpg.format": "x509"}, os.environ) is None


def test_the_repository_cannot_name_the_program_that_signs() -> None:
    entries = [
        ("global", "gpg.ssh.program", "mine"),
        ("local", "gpg.ssh.program", "theirs"),
        ("local", "user.signingkey", "key"),
    ]
    assert signing_settings(entries) == {"gpg.ssh.program": "mine", "user.signingkey": "key"}


# gpg


@pytest.fixture
def gpg_home(tmp_path: Path) -> Iterator[Path]:
    """A short path, because gpg's sockets are in it."""
    home = tmp_path / "g"
    home.mkdir(mode=0o700)
    yield home
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], capture_output=True)


def gpg(home: Path, *args: str, stdin: str = "") -> bytes:
    command = ["gpg", "--homedir", str(home), "--batch", "--no-tty", *args]
    return subprocess.run(command, input=stdin.encode(), capture_output=True, check=True).stdout


def gpg_signer(home: Path, passphrase: str = "") -> Signer:
    how = ("--pinentry-mode", "loopback", "--passphrase", passphrase)
    gpg(home, *how, "--quick-generate-key", WHO, "ed25519", "sign", "never")
    found = Signer.of({"user.signingkey": WHO}, {**os.environ, "GNUPGHOME": str(home)})
    assert found
    return found


@needs_gpg
def test_gpg_signs_and_exported_keys_say_who_may(
    tmp_path: Path, gpg_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    envelope = signed(gpg_signer(gpg_home))
    armored, binary = tmp_path / "keys.asc", tmp_path / "keys.gpg"
    armored.write_bytes(gpg(gpg_home, "--armor", "--export", WHO))
    binary.write_bytes(gpg(gpg_home, "--export", WHO))
    for keys in (armored, binary):
        found = checked(envelope, keys)
        assert (found.standing, found.by) == (Standing.VERIFIED, WHO)
        assert found.key == envelope.signatures[0].keyid
        assert checked(replace(envelope, payload=b"x"), keys).standing is Standing.BAD

    other = tmp_path / "o"
    other.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(other))
    assert checked(envelope).standing is Standing.UNKNOWN_KEY, "a keyring without the key"
    monkeypatch.setenv("GNUPGHOME", str(gpg_home))
    assert checked(envelope).standing is Standing.VERIFIED, "the person's own keyring trusts it"
    empty = tmp_path / "nobody"
    empty.write_text("")
    assert checked(envelope, empty).standing is Standing.UNKNOWN_KEY, "with --signers, the own keyring does not count"


@needs_gpg
def test_gpg_does_not_ask_for_a_passphrase(gpg_home: Path) -> None:
    signer = gpg_signer(gpg_home, "secret")
    subprocess.run(["gpgconf", "--homedir", str(gpg_home), "--kill", "gpg-agent"], check=True)
    began = time.monotonic()
    with pytest.raises(CannotSign, match="gpg says: "):
        asyncio.run(signer.sign([b"a"]))
    assert time.monotonic() - began < 5


# the writer

SUBJECT = Subject(branch="main", commit="a" * 40, tree="b" * 40)
FACTS = WorkFacts(gates=(), attempts=(), at="2026-01-01T00:00:00Z", ralph="1")


def written(project: Project, body: Callable[[Repo, Path], object]) -> None:
    async def main() -> None:
        await body(await open_repo(project.path), project.path / ".ralph/receipts")  # type: ignore[misc]

    asyncio.run(main())


def test_notes_are_readable_by_git_and_old_ones_stay(project: Project) -> None:
    head = project.git("rev-parse", "HEAD")
    project.git("notes", "--ref=ralph", "add", "-m", "a person's note", "HEAD")

    async def body(repo: Repo, folder: Path) -> None:
        writer = ReceiptWriter(repo=repo, folder=folder)
        for number in range(3):
            subject = replace(SUBJECT, commit=f"{number:040x}")
            [move] = await writer.work(subject, FACTS)
            assert not await writer.has(subject.commit), "it is known only when the ref has moved"
            assert await repo.move(move)
            assert await writer.has(subject.commit)

    written(project, body)
    assert project.git("notes", "--ref=ralph", "show", head) == "a person's note"
    assert len(project.git("notes", "--ref=ralph", "list").splitlines()) == 1 + 3 + 1, "one by tree"
    assert project.git("fsck", "--strict") == ""
    assert len(list((project.path / ".ralph/receipts").glob("*.jsonl"))) == 3


def test_another_process_that_moves_the_notes_is_noticed(project: Project) -> None:
    async def body(repo: Repo, folder: Path) -> None:
        [move] = await ReceiptWriter(repo=repo, folder=folder).work(SUBJECT, FACTS)
        project.git("notes", "--ref=ralph", "add", "-m", "meanwhile", "HEAD")
        assert not await repo.move(move)

    written(project, body)
    assert project.git("notes", "--ref=ralph", "show", "HEAD") == "meanwhile"


def test_a_receipt_goes_on_top_of_what_another_process_wrote(project: Project) -> None:
    async def body(repo: Repo, folder: Path) -> None:
        writer = ReceiptWriter(repo=repo, folder=folder)
        for number in range(2):  # there were no notes, and there are some
            moves = await writer.work(replace(SUBJECT, commit=f"{number:040x}"), FACTS)
            assert await writer.again(moves) == ()
            project.git("notes", "--ref=ralph", "add", "-f", "-m", f"meanwhile {number}", "HEAD")
            [move] = await writer.again(moves)
            assert await repo.move(move)
            assert await writer.has(f"{number:040x}")

    written(project, body)
    assert project.git("notes", "--ref=ralph", "show", "HEAD") == "meanwhile 1"
    assert project.git("fsck", "--strict", "--no-dangling") == ""


def test_a_landing_keeps_its_receipt_if_the_notes_move_meanwhile(person: Project) -> None:
    async def body(made: Engine) -> None:
        branch = made.run.branch
        assert branch
        await open_receipts(made.run, branch)
        assert branch.receipts
        moves = await branch.receipts.work(SUBJECT, FACTS)
        person.git("notes", "--ref=ralph", "add", "-m", "meanwhile", "HEAD")
        tip = await made.tip()
        assert await branch.with_receipt(moves, lambda *notes: branch.repo.move(("refs/heads/x", tip, ""), *notes))
        assert await branch.receipts.has(SUBJECT.commit)
        assert made.notes == ""

    engine(person, body)
    assert person.git("notes", "--ref=ralph", "show", "HEAD") == "meanwhile"


def test_notes_that_cannot_be_read_cost_no_work(project: Project) -> None:
    project.git("update-ref", notes.REF, project.git("rev-parse", "HEAD"))
    tree = project.git("rev-parse", "HEAD^{tree}")
    path = project.path / ".git/objects" / tree[:2] / tree[2:]
    path.chmod(0o644)
    path.write_bytes(b"x")
    heard: list[str] = []

    async def body(repo: Repo, folder: Path) -> None:
        assert await ReceiptWriter(repo=repo, folder=folder, warn=heard.append).work(SUBJECT, FACTS) == ()

    written(project, body)
    [text] = heard
    assert text.startswith("aaaaaaaaaaaa has no receipt in refs/notes/ralph: ")
    assert list((project.path / ".ralph/receipts").glob("*.jsonl")), "but the copy is there"


@needs_ssh
def test_a_key_that_cannot_sign_is_told_once_and_tried_once(project: Project, tmp_path: Path) -> None:
    heard: list[str] = []
    project.git("config", "gpg.format", "ssh")
    project.git("config", "user.signingkey", str(tmp_path / "nothing"))

    async def body(repo: Repo, folder: Path) -> None:
        writer = ReceiptWriter(repo=repo, folder=folder, warn=heard.append)
        await writer.check()
        await writer.work(SUBJECT, FACTS)
        await writer.work(replace(SUBJECT, commit="c" * 40), FACTS)
        strict = ReceiptWriter(repo=repo, folder=folder, sign="require")
        with pytest.raises(RalphError, match="Receipts must be signed"):
            await strict.check()

    written(project, body)
    [text] = heard
    assert "stay unsigned" in text and ". Load the key into its agent (ssh-add" in text
