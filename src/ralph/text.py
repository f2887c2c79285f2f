"""Makes the text of other programs safe to store and to show. Everything that a person sees or an agent reads of
others goes through `plain`; whole lines of structured data go through `escaped`."""

from __future__ import annotations

import codecs

from ralph.patterns import lazy

_STRING = r"[^\x07\x1b\x9c]*"
SEQUENCE = lazy(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|(?=\x1b))"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_STRING}(?:\x07|\x1b\\|\x9c|(?=\x1b))"
    r"|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\`-~]"
)
LEFT_OVER = lazy(rf"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_STRING}\x1b?|\x1b[ -/]*)\Z")
"""A sequence that the text's end cuts off."""
MAX_LEFT_OVER = 4_096
CODES = lazy(r"[\x80-\x9f]")
UNPRINTABLE = lazy(r"[^\n\t -~\xa1-\xac\xae-\u02ff\u0370-\u05ff\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
"""Characters that need a closer look: all but those of the most common scripts."""
JOINED = lazy(r"(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
"""A joiner between two letters or symbols: Persian, Hindi and families of emojis need it."""
_MARKS = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
PILED_UP = lazy(f"({_MARKS}{{4}}){_MARKS}+")
UNSEEN = "\N{REPLACEMENT CHARACTER}"
OVERWRITTEN = "\N{SYMBOL FOR CARRIAGE RETURN}"
"""The end of a line that the next line overwrites on a terminal."""
DROPPED = {code: " " if chr(code).isspace() else None for code in (*range(32), 127) if chr(code) not in "\n\t"}
CONTROLS = bytes(byte for byte in (*range(32), 127) if byte not in b"\n\t")


def strip_ansi(text: str) -> str:
    """Return text without terminal control sequences, also without one that is cut off at its end."""
    if "\x1b" not in text and not CODES.search(text):
        return text
    text = SEQUENCE.sub("", text)
    cut_off = LEFT_OVER.search(text, max(0, len(text) - MAX_LEFT_OVER))
    return text[: cut_off.start()] if cut_off else text


def plain(text: str) -> str:
    """Return text that only shows itself, on lines of its own.

    Control sequences and control characters are gone. `�` stands for what is invisible or changes the direction of the
    text, so that two words never become another one.
    """
    if text.isprintable() and (text.isascii() or not PILED_UP.search(text)):
        return text
    text = strip_ansi(text).replace("\r\n", "\n").replace("\r", "\n").translate(DROPPED)
    joined = frozenset(found.start() for found in JOINED.finditer(text)) if "\u200c" in text or "\u200d" in text else ()
    text = UNPRINTABLE.sub(lambda found: found[0] if found.start() in joined else _shown(found[0]), text)
    return PILED_UP.sub(r"\1", text)


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if character in "\u2028\u2029":
        return "\n"
    if character.isspace():
        return " "
    return "" if character < "\xa0" else UNSEEN


def escaped(line: str) -> str:
    """Return a line of JSON whose texts stay what they are, with everything escaped that a terminal could act on."""
    return line if line.isprintable() else "".join(map(_escape, line))


def _escape(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return "?"  # half a character is none
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + ((code - 0x10000) >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def readable(text: str) -> str:
    """Replace what is not valid text: file names and commit subjects can contain any bytes."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "")


def one_line(text: str) -> str:
    """Return the text on one line, as `plain` shows it."""
    return " ".join(plain(text).split())


class PlainStream:
    """Makes a stream of bytes plain, even if a sequence or a character is split between two pieces.

    A line that a carriage return would overwrite ends with a visible mark and stays.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def feed(self, data: bytes, *, is_last: bool = False) -> bytes:
        is_fresh = not self._held and not self._decoder.getstate()[0]
        if is_fresh and data.isascii() and len(data.translate(None, CONTROLS)) == len(data):
            return data
        text = self._held + self._decoder.decode(data, is_last)
        end = len(text)
        if not is_last:
            tail = max(0, end - MAX_LEFT_OVER)
            unfinished = LEFT_OVER.search(text, tail)
            end = unfinished.start() if unfinished else end - text.endswith("\r")
        self._held = text[end:]
        text = text[:end].replace("\r\n", "\n").replace("\r", f"{OVERWRITTEN}\n")
        return plain(text).encode()
