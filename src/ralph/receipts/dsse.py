"""DSSE envelopes: a payload, and signatures over it and its type. Pure."""

from __future__ import annotations

import base64
import binascii
import json

from ralph.frozen import Frozen

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_SIGNATURES = 4


class UnreadableReceipt(ValueError):
    """What is wrong with a receipt, as the end of a sentence."""


class Signature(Frozen):
    """A signature in the form of the program that made it: an armored SSH or OpenPGP signature."""

    keyid: str  # only a hint: nothing proves it
    data: bytes


class Envelope(Frozen):
    """A payload and its signatures; none if there was no key."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()

    @property
    def signed_bytes(self) -> bytes:
        return pae(PAYLOAD_TYPE, self.payload)

    def encode(self) -> bytes:
        """Return the envelope as one line of JSON, without the line's end."""
        document = {
            "payloadType": PAYLOAD_TYPE,
            "payload": base64.b64encode(self.payload).decode(),
            "signatures": [{"keyid": one.keyid, "sig": base64.b64encode(one.data).decode()} for one in self.signatures],
        }
        return json.dumps(document, separators=(",", ":")).encode()


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return the pre-authentication encoding: the bytes that a signature is about."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def parse(line: bytes) -> Envelope:
    """Parse one line; raise `UnreadableReceipt` that says what is wrong with it."""
    document = parse_json(line)
    if not isinstance(document, dict) or not isinstance(document.get("payload"), str):
        raise UnreadableReceipt("it is not a DSSE envelope")
    if document.get("payloadType") != PAYLOAD_TYPE:
        raise UnreadableReceipt(f"its payload is not of the type {PAYLOAD_TYPE}")
    listed = document.get("signatures")
    if not isinstance(listed, list) or len(listed) > MAX_SIGNATURES:
        raise UnreadableReceipt(f"its signatures are not a list of at most {MAX_SIGNATURES}")
    return Envelope(payload=_bytes(document["payload"]), signatures=tuple(map(_signature, listed)))


def parse_json(data: bytes) -> object:
    """Parse JSON from an untrusted source; raise `UnreadableReceipt` for anything that cannot be parsed."""
    try:
        return json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise UnreadableReceipt("it is not valid JSON") from None


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _signature(entry: object) -> Signature:
    if not isinstance(entry, dict) or not isinstance(entry.get("sig"), str):
        raise UnreadableReceipt("one of its signatures has no `sig`")
    keyid = entry.get("keyid")
    return Signature(keyid=keyid if isinstance(keyid, str) else "", data=_bytes(entry["sig"]))


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableReceipt("it contains invalid Base64") from None
