"""Reads configuration files as settings, and compares them: what changed, from what to what, in which line."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import basename

from ralph.audit.tools import HARMLESS, LESS_IS_STRICTER, MORE_IS_STRICTER, STRICT

MAX_DEPTH = 12
MAX_LINE = 5_000  # characters; a longer line is data
Settings = dict[tuple[str, ...], object]


@dataclass(frozen=True)
class SettingChange:
    """One setting, or one line, that differs."""

    name: str  # empty: a line of a file that has no settings
    old: str | None  # None: it was not set
    new: str | None  # None: it is not set any more
    line: int | None


def differences(path: str, old: str, new: str, sections: tuple[str, ...] = ()) -> list[SettingChange]:
    """Return the settings that differ and make a check weaker, perhaps; all of them if there are no `sections`."""
    before, after = read(path, old), read(path, new)
    if before is None or after is None:
        return [] if sections else list(changed_lines(old, new))
    found = []
    for key in sorted(set(before) | set(after)):
        was, now = before.get(key), after.get(key)
        if was != now and _is_in(key, sections) and not _is_harmless(key, was, now):
            found.append(SettingChange(".".join(key), _said(was), _said(now), line_of(new, key)))
    return found


def read(path: str, text: str) -> Settings | None:
    """Return all settings of a file, flat; None if it is not a file of settings, or not a valid one."""
    name = basename(path)
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        return None
    try:
        if name.endswith(".toml"):
            return dict(_flat(tomllib.loads(text), ()))
        if name.endswith((".json", ".jsonc")) or name in (".eslintrc", ".babelrc", ".nycrc", ".prettierrc"):
            return dict(_flat(json.loads(_without_comments(text)), ()))
        if name.endswith((".ini", ".cfg")) or name in (
            ".flake8",
            ".coveragerc",
            ".pylintrc",
            "pylintrc",
            ".importlinter",
        ):
            return _ini(text)
    except (ValueError, RecursionError, configparser.Error, AttributeError):  # configparser fails so on odd indentation
        return None
    return None


def _ini(text: str) -> Settings:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    return {
        (section, key): " ".join((value or "").split())
        for section in parser.sections()
        for key, value in parser.items(section)
    }


def _without_comments(text: str) -> str:
    """JSON with comments and trailing commas, as many tools accept it."""
    text = re.sub(
        r'("(?:\\.|[^"\\\n])*+"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', lambda match: match[1] or " ", text, flags=re.DOTALL
    )
    return re.sub(r",(?=\s*[}\]])", "", text)


def _flat(value: object, key: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict) and (value or not key) and len(key) < MAX_DEPTH:
        for name, inner in value.items():
            yield from _flat(inner, (*key, str(name)))
    elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value) and len(key) < MAX_DEPTH:
        for one in value:
            name = (
                one.get("name")
                or one.get("module")
                or one.get("path")
                or json.dumps(one, sort_keys=True, default=str)[:80]
            )
            yield from _flat(one, (*key, str(name)))
    elif key:
        yield key, value


def _is_in(key: tuple[str, ...], sections: tuple[str, ...]) -> bool:
    name = ".".join(key)
    return not sections or any(
        not section
        or name == section
        or name.startswith((f"{section}.", f"{section}-", section if section.endswith(":") else f"{section}."))
        for section in sections
    )


def _is_harmless(key: tuple[str, ...], was: object, now: object) -> bool:
    """Whether a change says nothing about checks, or makes them stricter."""
    name = key[-1]
    if name in HARMLESS or any(part in HARMLESS for part in key[-2:]):
        return True
    if name in STRICT and now is True:
        return True
    if name == "fail_under" and isinstance(now, int | float) and now >= (was if isinstance(was, int | float) else 0):
        return True
    before, after = _elements(was), _elements(now)
    if name in MORE_IS_STRICTER and was is not None and before <= after:
        return True
    return (name in LESS_IS_STRICTER or key[-2:-1] == ("per-file-ignores",)) and after <= before


def _elements(value: object) -> set[str]:
    if isinstance(value, list):
        return {str(one) for one in value}
    return set(value.replace(",", " ").split()) if isinstance(value, str) else set()


def _said(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str)


def line_of(text: str, key: tuple[str, ...]) -> int | None:
    """The line in which a setting most likely stands: the parts of its name, one behind the other."""
    at, found = 0, None
    for part in key:
        name = rf"(?<![\w.-]){re.escape(part)}(?![\w-])"
        match = re.compile(rf"{name}[\"']?\s*[:=\]]").search(text, at) or re.compile(name).search(text, at)
        if match:
            at, found = match.start(), match
    return text.count("\n", 0, found.start()) + 1 if found else None


def changed_lines(old: str, new: str) -> Iterator[SettingChange]:
    """The first line that is gone or new, if one is: comments, blank lines and order do not count."""
    before, after = significant(old), significant(new)
    gone, added = _minus(before, after), _minus(after, before)
    if gone or added:
        line, now = added[0] if added else (None, None)
        yield SettingChange("", gone[0][1] if gone else None, now, line)


def significant(text: str) -> list[tuple[int, str]]:
    lines = ((number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in lines if line and not line.startswith(("#", "//", ";", "*", "/*"))]


def _minus(lines: list[tuple[int, str]], others: list[tuple[int, str]]) -> list[tuple[int, str]]:
    left = Counter(line for _, line in others)
    found = []
    for number, line in lines:
        left[line] -= 1
        if left[line] < 0:
            found.append((number, line))
    return found


def has_other_dependencies(path: str, old: str, new: str) -> bool:
    """Whether a manifest changed in what a lock file depends on: anything but scripts and the settings of tools."""
    before, after = read(path, old), read(path, new)
    if before is None or after is None:
        return old != new
    return _locked(before) != _locked(after)


def _locked(settings: Mapping[tuple[str, ...], object]) -> dict[tuple[str, ...], object]:
    managers = (("poetry",), ("uv",), ("pdm",), ("hatch",), ("pixi",))
    return {
        key: value
        for key, value in settings.items()
        if key[0] not in ("scripts", "jest", "eslintConfig", "description", "lints", "lib", "profile")
        and (key[0] != "tool" or key[1:2] in managers)
    }
