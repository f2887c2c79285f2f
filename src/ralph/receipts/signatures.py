"""Checks signatures of receipts with ssh-keygen and gpg. Who may sign is the checking person's decision."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.process.blocking import capture_now
from ralph.receipts.dsse import Envelope, Signature
from ralph.receipts.signing import NAMESPACE, SSH_BEGIN, ssh_fingerprint
from ralph.safe_files import from_home

PGP_BEGIN = b"-----BEGIN PGP SIGNATURE-----"
PGP_KEYS = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
MAX_SIGNERS = 4 << 20
STATUS = re.compile(r"^\[GNUPG:\] (\S+)(?: (\S+))?", re.MULTILINE)
SOUND = ("GOODSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG")
NOT_FOUND = 127


class Standing(Enum):
    """What a signature is worth; the better ones first."""

    VERIFIED = "verified"  # by a key that the checking person trusts
    UNKNOWN_KEY = "unknown key"  # it fits the receipt, but nothing says whose key it is
    UNSIGNED = "unsigned"
    BAD = "bad"  # it does not fit the receipt, or cannot be checked


class SignatureCheck(Frozen):
    """The standing of one envelope's signatures."""

    standing: Standing
    key: str = ""
    by: str = ""  # the signer's name, from the person's own list
    problem: str = ""


@dataclass
class SignatureChecker:
    """Checks signatures against the files of the person, or else against what their git and gpg trust."""

    ssh_signers: tuple[Path, ...] = ()  # files in the format of allowed_signers
    pgp_signers: tuple[Path, ...] = ()  # files with OpenPGP public keys
    only_these: bool = False  # gpg's own keyring does not count
    _home: Path | None = field(default=None, init=False)

    @classmethod
    def of(cls, files: Sequence[Path], configured: str) -> SignatureChecker:
        """Sort the person's files by what is in them; without any, use git's own allowed signers."""
        if not files:
            path = from_home(configured) if configured else None
            return cls(ssh_signers=(path.absolute(),) if path and path.is_file() else ())
        kinds = [(path.absolute(), _has_pgp_keys(path)) for path in files]
        return cls(
            ssh_signers=tuple(path for path, is_pgp in kinds if not is_pgp),
            pgp_signers=tuple(path for path, is_pgp in kinds if is_pgp),
            only_these=True,
        )

    @contextmanager
    def opened(self) -> Iterator[SignatureChecker]:
        """Import the person's OpenPGP keys into a keyring of their own, which exists only meanwhile."""
        with tempfile.TemporaryDirectory(prefix="ralph-keys-") as name:
            self._home = Path(name)
            for path in self.pgp_signers:
                code, _ = self._gpg(Path(name), "--homedir", name, "--import", str(path))
                if code == NOT_FOUND:
                    raise RalphError(f"gpg is not installed, and {path} has OpenPGP keys.", remedy="Install gpg.")
                if code:
                    raise RalphError(f"gpg cannot read the keys in {path}.", remedy="Write them with `gpg --export`.")
            try:
                yield self
            finally:
                self._home = None

    def check(self, envelope: Envelope) -> SignatureCheck:
        """Return the best standing among the signatures of an envelope; one that does not fit spoils it."""
        if not envelope.signatures:
            return SignatureCheck(standing=Standing.UNSIGNED)
        with tempfile.TemporaryDirectory(prefix="ralph-check-") as name:
            checks = [self._check(one, envelope.signed_bytes, Path(name)) for one in envelope.signatures]
        bad = next((one for one in checks if one.standing is Standing.BAD), None)
        return bad or next((one for one in checks if one.standing is Standing.VERIFIED), checks[0])

    def _check(self, signature: Signature, message: bytes, folder: Path) -> SignatureCheck:
        path = folder / "signature"
        path.write_bytes(signature.data)
        if signature.data.lstrip().startswith(SSH_BEGIN):
            return self._ssh(ssh_fingerprint(signature.data), message, path)
        if signature.data.lstrip().startswith(PGP_BEGIN):
            return self._pgp(message, path)
        return SignatureCheck(standing=Standing.BAD, problem="the signature is neither ssh's nor OpenPGP's")

    def _ssh(self, key: str, message: bytes, path: Path) -> SignatureCheck:
        common = ("-n", NAMESPACE, "-s", str(path))
        code, _ = _keygen(path.parent, "check-novalidate", *common, stdin=message)
        if code:
            return SignatureCheck(standing=Standing.BAD, key=key, problem=_why("ssh-keygen", code))
        for signers in self.ssh_signers:
            _, out = _keygen(path.parent, "find-principals", "-s", str(path), "-f", str(signers))
            for name in out.decode(errors="replace").splitlines()[:8]:
                args = ("verify", *common, "-f", str(signers), "-I", name)
                if name and _keygen(path.parent, *args, stdin=message)[0] == 0:
                    return SignatureCheck(standing=Standing.VERIFIED, key=key, by=name)
        return SignatureCheck(standing=Standing.UNKNOWN_KEY, key=key)

    def _pgp(self, message: bytes, path: Path) -> SignatureCheck:
        home = ("--homedir", str(self._home)) if self.only_these else ()
        quiet = ("--status-fd", "1", "--no-auto-key-retrieve", "--disable-dirmngr")
        code, out = self._gpg(path.parent, *home, *quiet, "--verify", str(path), "-", stdin=message)
        said = {found[1]: found[2] or "" for found in STATUS.finditer(out.decode(errors="replace"))}
        key = said.get("VALIDSIG") or said.get("ERRSIG", "")
        if "GOODSIG" in said and "VALIDSIG" in said:
            trusted = self.only_these or "TRUST_ULTIMATE" in said or "TRUST_FULLY" in said
            by = _pgp_name(out) if trusted else ""
            return SignatureCheck(standing=Standing.VERIFIED if trusted else Standing.UNKNOWN_KEY, key=key, by=by)
        if "NO_PUBKEY" in said:  # without the key, gpg cannot even tell whether the signature fits
            return SignatureCheck(standing=Standing.UNKNOWN_KEY, key=said["NO_PUBKEY"])
        problem = "the key or the signature has expired or was revoked" if any(one in said for one in SOUND) else ""
        return SignatureCheck(standing=Standing.BAD, key=key, problem=problem or _why("gpg", code))

    def _gpg(self, folder: Path, *args: str, stdin: bytes = b"") -> tuple[int, bytes]:
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        return capture_now(("gpg", "--batch", "--no-tty", *args), cwd=folder, env=environment, stdin=stdin)


def _keygen(folder: Path, verb: str, *args: str, stdin: bytes = b"") -> tuple[int, bytes]:
    return capture_now(("ssh-keygen", "-Y", verb, *args), cwd=folder, env={**os.environ, "LC_ALL": "C"}, stdin=stdin)


def _why(program: str, code: int) -> str:
    if code == NOT_FOUND:
        return f"{program} is not installed or did not answer, so the signature cannot be checked"
    return "the signature does not fit: the receipt was changed after it was signed, or it belongs to another one"


def _pgp_name(out: bytes) -> str:
    found = re.search(r"^\[GNUPG:\] GOODSIG \S+ (.+)$", out.decode(errors="replace"), re.MULTILINE)
    return found[1].strip()[:200] if found else ""


def _has_pgp_keys(path: Path) -> bool:
    """Return whether a file has OpenPGP keys, armored or not; otherwise it is a list of allowed signers."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SIGNERS + 1)
    except OSError as error:
        raise RalphError(f"{path} could not be read: {error.strerror}.", remedy="Name a file with signers.") from None
    if len(data) > MAX_SIGNERS:
        raise RalphError(f"{path} is too large for a list of signers.", remedy="Name a file with signers.")
    return PGP_KEYS in data or data[:1] in (b"\x98", b"\x99", b"\xc6")
