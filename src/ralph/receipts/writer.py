"""Writes receipts: signs the statements about a commit, and stores them as a note and as a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ralph.errors import RalphError
from ralph.git.repo import Repo
from ralph.process.redaction import cleaned
from ralph.receipts import notes
from ralph.receipts.dsse import PAYLOAD_TYPE, Envelope, Signature, pae
from ralph.receipts.notes import Move
from ralph.receipts.signing import REMEDY, CannotSign, Signer
from ralph.receipts.statement import Subject, WorkFacts, state_payload, work_payloads
from ralph.stores import atomic

NO_KEY = "git's configuration names no signing key (user.signingkey), or gpg.format is neither openpgp nor ssh."


@dataclass
class ReceiptWriter:
    """Writes the receipts of one repository. Except with `sign: "require"`, it never stops the work."""

    repo: Repo
    folder: Path  # the copies beside the notes
    sign: Literal["auto", "never", "require"] = "auto"
    warn: Callable[[str], None] = lambda text: None
    cannot: str = ""  # why nothing can be signed; known after the first failure, which is reported once

    _signer: Signer | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.sign != "never":
            self._signer = Signer.of(self.repo.signing, os.environ)

    async def check(self) -> None:
        """Refuse to begin if signatures are required and no key can sign."""
        if self.sign == "require":
            await self._sign([pae("text/plain", b"Can this key sign?")])

    async def work(self, subject: Subject, facts: WorkFacts) -> tuple[Move, ...]:
        """Write the receipt of landed work; return the move of the notes, to make together with the branch's."""
        clean = self.repo.secrets.text
        return await self._kept(subject, lambda: work_payloads(cleaned(subject, clean), cleaned(facts, clean)))

    async def state(self, subject: Subject, base: Subject, paths: Iterable[str], at: str) -> tuple[Move, ...]:
        """Write the receipt of a commit that changes only Ralph's own files."""
        return await self._kept(subject, lambda: (state_payload(subject, base=base, paths=paths, at=at),))

    async def again(self, moves: Sequence[Move]) -> tuple[Move, ...]:
        """Return the move of the notes on top of what another process has written; none if it cannot be made."""
        try:
            return tuple(filter(None, [await notes.again(self.repo, move) for move in moves]))
        except (RalphError, OSError, ValueError):
            return ()

    async def has(self, commit: str) -> bool:
        try:
            return await notes.has_note(self.repo, commit)
        except (RalphError, OSError, ValueError):
            return False

    async def _kept(self, subject: Subject, make: Callable[[], Sequence[bytes]]) -> tuple[Move, ...]:
        payloads = make()
        signatures = await self._sign([pae(PAYLOAD_TYPE, payload) for payload in payloads])
        signed = zip(payloads, signatures or [None] * len(payloads), strict=True)
        lines = (Envelope(payload=data, signatures=(sig,) if sig else ()).encode() + b"\n" for data, sig in signed)
        text = b"".join(lines)
        try:
            atomic.write(self.folder / file_name(subject), text, sync=False)
            message = f"Ralph's receipt for {subject.commit[:12]}"
            return (await notes.added(self.repo, (subject.commit, subject.tree), text, message),)
        except (RalphError, OSError, ValueError) as error:  # a note that cannot be written costs no work
            self.warn(f"{subject.commit[:12]} has no receipt in {notes.REF}: {error}")
            return ()

    async def _sign(self, messages: Sequence[bytes]) -> tuple[Signature, ...]:
        if self.cannot or (self._signer is None and self.sign != "require"):
            return ()
        try:
            if self._signer is None:
                raise CannotSign(NO_KEY)
            return await self._signer.sign(messages)
        except CannotSign as error:
            if self.sign == "require":
                what = f"Receipts must be signed (receipts.sign), and no key can sign: {error}"
                raise RalphError(what, remedy=REMEDY) from None
            self.cannot = str(error)
            self.warn(f"The receipts of this run stay unsigned: {error} {REMEDY}")
            return ()


def file_name(subject: Subject) -> str:
    """Return the name of a receipt's file, by which it is found without reading it."""
    return f"{subject.commit}-{subject.tree}.jsonl"
