"""Reads the plain part of YAML that CI files are written in, in linear time.

Tags, anchors and documents after the first are not understood: such a value is its own text, and starts nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_DEPTH = 30
MAX_LINES = 5_000
_KEY = re.compile(
    r"""(?P<quote>["']?)(?P<key>[^\s"'#{}\[\]&*!|>%@`-][^"'#{}\[\]]{0,100}?|-[^\s"'][^"']{0,99}?)(?P=quote)"""
    r"""\s*:(?:\s+(?P<value>.*))?$"""
)
_BLOCK = re.compile(r"[|>][-+0-9]*")
_COMMENT = re.compile(r"\s+#.*$")


@dataclass
class _Lines:
    lines: list[tuple[int, str]]  # the indentation and the rest, also of empty lines
    at: int = 0

    def skip(self) -> tuple[int, str] | None:
        """Return the next line with content."""
        while self.at < len(self.lines):
            indent, text = self.lines[self.at]
            if text and not text.startswith("#") and text not in ("---", "..."):
                return indent, text
            self.at += 1
        return None


def loads(text: str) -> object:
    """Return dictionaries, lists and texts."""
    raw = text.expandtabs(2).split("\n")[:MAX_LINES]
    lines = _Lines([(len(line) - len(line.lstrip(" ")), line.strip()) for line in raw])
    first = lines.skip()
    return _node(lines, first[0], 0) if first else None


def _node(lines: _Lines, indent: int, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    here = lines.skip()
    if here is None:
        return None
    if _is_item(here[1]):
        return _list(lines, indent, depth)
    if _KEY.match(here[1]):
        return _table(lines, indent, depth)
    lines.at += 1
    return scalar(here[1])


def _list(lines: _Lines, indent: int, depth: int) -> list[object]:
    found: list[object] = []
    while (here := lines.skip()) and here[0] == indent and _is_item(here[1]):
        inner = here[1][1:].lstrip()
        if not inner:
            lines.at += 1
            found.append(_below(lines, indent, depth))
        elif _KEY.match(inner) or _is_item(inner):
            column = indent + len(here[1]) - len(inner)
            lines.lines[lines.at] = (column, inner)
            found.append(_node(lines, column, depth + 1))
        else:
            lines.at += 1
            found.append(_value(lines, inner, indent))
    return found


def _table(lines: _Lines, indent: int, depth: int) -> dict[str, object]:
    found: dict[str, object] = {}
    while (here := lines.skip()) and here[0] == indent and (match := _KEY.match(here[1])):
        lines.at += 1
        value = _COMMENT.sub("", match["value"] or "").strip()
        value = "" if value.startswith("#") else value
        if value:
            found[match["key"].strip()] = _value(lines, match["value"].strip(), indent)
        else:
            found[match["key"].strip()] = _below(lines, indent, depth, is_value=True)
    if (here := lines.skip()) and here[0] > indent:
        raise ValueError("a line that belongs to nothing")
    return found


def _below(lines: _Lines, indent: int, depth: int, *, is_value: bool = False) -> object:
    """Return what is indented more; the list of a key may be indented as much as the key."""
    here = lines.skip()
    if here and (here[0] > indent or (is_value and here[0] == indent and _is_item(here[1]))):
        return _node(lines, here[0], depth + 1)
    return None


def _value(lines: _Lines, text: str, indent: int) -> object:
    if _BLOCK.fullmatch(_COMMENT.sub("", text)):
        return _block(lines, indent, folded=text.startswith(">"))
    more = []
    if text[0] not in "\"'[{":  # a plain text may go on in the next lines
        while (here := lines.skip()) and here[0] > indent:
            more.append(here[1])
            lines.at += 1
    elif text[0] in "\"'" and not (len(text) > 1 and text.endswith(text[0])):
        while (here := lines.skip()) and here[0] > indent and not (more and more[-1].endswith(text[0])):
            more.append(here[1])
            lines.at += 1
    return scalar(" ".join((text, *more)))


def _block(lines: _Lines, indent: int, *, folded: bool) -> str:
    taken: list[tuple[int, str]] = []
    while lines.at < len(lines.lines) and (lines.lines[lines.at][0] > indent or not lines.lines[lines.at][1]):
        taken.append(lines.lines[lines.at])
        lines.at += 1
    left = min((column for column, text in taken if text), default=0)
    texts = [" " * (column - left) + text if text else "" for column, text in taken]
    return (" " if folded else "\n").join(texts).strip("\n ")


def scalar(text: str) -> object:
    """Return a value that stands on one line."""
    if text[:1] in ('"', "'"):
        end = text.find(text[0], 1)
        while text[0] == "'" and text[end : end + 2] == "''":
            end = text.find("'", end + 2)
        while text[0] == '"' and end > 0 and text[end - 1] == "\\":
            end = text.find('"', end + 1)
        inner = text[1:end] if end > 0 else text[1:]
        return inner.replace("''", "'") if text[0] == "'" else inner.replace('\\"', '"').replace("\\\\", "\\")
    text = _COMMENT.sub("", text).strip()
    if text.startswith("[") and text.endswith("]"):
        return [scalar(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    return text


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")
