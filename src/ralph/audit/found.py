"""A test as the audit sees it: what it is about, what it checks, and whether it runs."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from ralph.audit.checks import Assertion, checks_in
from ralph.audit.source import Statement
from ralph.audit.tokens import is_telling, tokens_of

_WORD = re.compile(r"[^\W\d]\w*+")


@dataclass(frozen=True)
class SkipMark:
    """Why a test does not run: how it is written, and where."""

    line: int
    text: str

    @property
    def key(self) -> str:
        """The same for marks that differ in their words only."""
        return re.sub(r"""(["'])(?:(?!\1).)*\1""", "", self.text)


@dataclass(frozen=True, kw_only=True, eq=False)
class FoundTest:
    """One test in one version of a file."""

    path: str
    name: str
    line: int
    head: tuple[Statement, ...]  # its decorators and its signature
    body: tuple[Statement, ...]  # without what can never run
    language: str
    marks: tuple[SkipMark, ...] = ()  # its own, and those of its class, block or file

    @property
    def short(self) -> str:
        """Its name without its class or block."""
        return self.name.rsplit(" › ", 1)[-1]

    @property
    def statements(self) -> tuple[Statement, ...]:
        return (*self.head, *self.body)

    @cached_property
    def text(self) -> str:
        """What it does, without blanks: equal for two tests that differ in format only."""
        return "".join("".join(statement.code.split()) for statement in self.statements)

    @cached_property
    def deeds(self) -> str:
        """The same without its head: equal for two tests that differ in name only."""
        return "".join("".join(statement.code.split()) for statement in self.body)

    @cached_property
    def tokens(self) -> Counter[str]:
        """What it is about: names that it uses and values that it has, and how often."""
        found = tokens_of("\n".join(statement.code for statement in self.statements))
        for word in re.findall(r"\w+", self.short):
            found.pop(word, None)
        found.pop(f"'{self.short}", None)
        return found

    @cached_property
    def checks(self) -> tuple[Assertion, ...]:
        return tuple(checks_in(self.statements, self.language))

    @cached_property
    def is_empty(self) -> bool:
        """Whether it does nothing: it uses no name that means anything."""
        return not any(is_telling(word) for one in self.body for word in _WORD.findall(one.masked))
