"""Signs with the person's git key, as `git commit -S` would, but never asks and never waits for long."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.process.spawn import ProgramOutput, capture
from ralph.receipts.dsse import Signature
from ralph.safe_files import from_home

NAMESPACE = "in-toto"
SECONDS = 5.0
"""How long a program may take: a key on hardware that waits for a touch must not hold up a run."""
KEY = "user.signingkey"
FORMAT = "gpg.format"
PROGRAMS = ("gpg.program", "gpg.openpgp.program", "gpg.ssh.program")
LITERAL = re.compile(r"(key::|ssh-|ecdsa-|sk-ssh-|sk-ecdsa-)")
SSH_BEGIN, SSH_END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
CREATED = re.compile(rb"^\[GNUPG:\] SIG_CREATED \S+ \S+ \S+ \S+ \S+ ([0-9A-F]{40,64})\s*$", re.MULTILINE)

REMEDY = (
    "Load the key into its agent (ssh-add, or any `gpg --sign`), fix user.signingkey and gpg.format in git, "
    'or set receipts.sign to "never".'
)


class CannotSign(Exception):
    """Why nothing can be signed, as a sentence."""


class Signer(Frozen):
    """A signing key, as git's configuration names it."""

    kind: Literal["ssh", "openpgp"]
    key: str
    program: str
    environment: Mapping[str, str]
    seconds: float = SECONDS

    @classmethod
    def of(cls, settings: Mapping[str, str], environment: Mapping[str, str]) -> Signer | None:
        """Return the person's signer; None if git's configuration names no key."""
        key, form = settings.get(KEY, "").strip(), settings.get(FORMAT, "openpgp")
        if not key:
            return None
        if form == "ssh":
            return cls(kind="ssh", key=key, program=settings.get(PROGRAMS[2], "ssh-keygen"), environment=environment)
        program = settings.get(PROGRAMS[1]) or settings.get(PROGRAMS[0]) or "gpg"
        return cls(kind="openpgp", key=key, program=program, environment=environment) if form == "openpgp" else None

    async def sign(self, messages: Sequence[bytes]) -> tuple[Signature, ...]:
        """Sign each message; raise `CannotSign` if that fails or takes too long."""
        import tempfile  # most runs sign nothing

        try:
            with tempfile.TemporaryDirectory(prefix="ralph-sign-") as name:
                return await (self._ssh if self.kind == "ssh" else self._gpg)(messages, Path(name))
        except OSError as error:
            raise CannotSign(f"{self.program}: {error.strerror}.") from None

    async def _ssh(self, messages: Sequence[bytes], folder: Path) -> tuple[Signature, ...]:
        paths = [folder / str(number) for number in range(len(messages))]
        for path, message in zip(paths, messages, strict=True):
            path.write_bytes(message)
        await self._run(("-Y", "sign", "-n", NAMESPACE, *self._ssh_key(folder), *map(str, paths)), folder)
        signatures = [path.with_name(f"{path.name}.sig").read_bytes() for path in paths]
        return tuple(Signature(keyid=ssh_fingerprint(data), data=data) for data in signatures)

    def _ssh_key(self, folder: Path) -> tuple[str, ...]:
        """Return how ssh-keygen finds the key: a file, or in the agent if git has only the public key itself."""
        if not LITERAL.match(self.key):
            return ("-f", str(from_home(self.key)))
        public = folder / "key.pub"
        public.write_text(self.key.removeprefix("key::") + "\n")
        return ("-U", "-f", str(public))

    async def _gpg(self, messages: Sequence[bytes], folder: Path) -> tuple[Signature, ...]:
        signatures = []
        for number, message in enumerate(messages):
            path = folder / f"{number}.asc"
            quiet = ("--batch", "--no-tty", "--yes", "--pinentry-mode", "error", "--status-fd", "1")
            how = ("--armor", "--local-user", self.key, "--output", str(path), "--detach-sign")
            done = await self._run((*quiet, *how), folder, stdin=message)
            found = CREATED.search(done.out)
            signatures.append(Signature(keyid=found[1].decode() if found else "", data=path.read_bytes()))
        return tuple(signatures)

    async def _run(self, args: Sequence[str], folder: Path, *, stdin: bytes = b"") -> ProgramOutput:
        environment = {**self.environment, "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
        environment.pop("GPG_TTY", None)
        try:
            done = await capture((self.program, *args), cwd=folder, env=environment, stdin=stdin, seconds=self.seconds)
        except RalphError as error:
            raise CannotSign(error.what) from None
        if done.code:
            raise CannotSign(f"{Path(self.program).name} says: {_last_line(done.err) or f'exit code {done.code}'}.")
        return done


def _last_line(data: bytes) -> str:
    lines = [line.strip() for line in data.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][-200:] if lines else ""


def ssh_fingerprint(signature: bytes) -> str:
    """Return the fingerprint of the key in an armored SSH signature, as ssh-keygen prints it; "" if it has none."""
    body = signature.partition(SSH_BEGIN)[2].partition(SSH_END)[0]
    try:
        data = base64.b64decode(body)
    except ValueError:
        return ""
    size = int.from_bytes(data[10:14], "big")
    key = data[14 : 14 + size]
    if not data.startswith(b"SSHSIG") or len(key) != size:
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
