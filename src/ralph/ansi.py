"""Terminal control sequences, and text without them."""

from __future__ import annotations

import re

SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()*+\-./][ -~]|[@-Z\\-_])")
LEFT_OVER = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*|[()*+\-./])?$")


def strip_ansi(text: str) -> str:
    """Text without control sequences, also without one that is cut off at its end."""
    return LEFT_OVER.sub("", SEQUENCE.sub("", text)) if "\x1b" in text else text
