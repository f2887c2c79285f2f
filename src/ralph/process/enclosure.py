"""What encloses a program: how it is started instead, and with which variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Enclosure(Protocol):
    """A sandbox around one program, as the code that starts programs sees it. See `ralph.sandbox`."""

    @property
    def has_processes(self) -> bool:
        """Whether the started process is the sandbox's own, which must live until the program inside has ended."""
        ...

    def command(self, argv: Sequence[str], cwd: Path) -> list[str]: ...

    def environment(self, env: Mapping[str, str]) -> dict[str, str]: ...
