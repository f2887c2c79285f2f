"""Which files of the work the gates' test runners collect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import basename

from ralph.audit.commands import Call
from ralph.audit.files import Tree
from ralph.audit.settings import read

_CONFIGURATIONS = (
    ("pytest.ini", ("pytest", "testpaths")),
    ("pyproject.toml", ("tool", "pytest", "ini_options", "testpaths")),
    ("tox.ini", ("pytest", "testpaths")),
    ("setup.cfg", ("tool:pytest", "testpaths")),
)
_RUNNERS = frozenset({"pytest", "py.test"})


@dataclass(frozen=True)
class Collected:
    """The folders and files from which pytest collects tests, if gates or settings name them."""

    places: frozenset[str]  # empty: everywhere

    @classmethod
    def of(cls, calls: Sequence[Call], base: Tree) -> Collected:
        """From the arguments of every call of pytest, or else from its settings in the base."""
        places: set[str] = set()
        for call in calls:
            if basename(call.program) in _RUNNERS:
                named = {_place(word) for word in call.arguments if not word.startswith("-")}
                own = {place for place in named if _is_there(base, place)} or _testpaths(base)
                if not own:
                    return cls(frozenset())
                places |= own
        return cls(frozenset(places))

    def includes(self, path: str) -> bool:
        if not self.places or not path.endswith(".py"):
            return True
        return any(place in ("", ".") or path == place or path.startswith(f"{place}/") for place in self.places)


def _place(word: str) -> str:
    return word.partition("::")[0].removeprefix("./").rstrip("/")


def _is_there(base: Tree, place: str) -> bool:
    return any(path == place or path.startswith(f"{place}/") for path in base.paths)


def _testpaths(base: Tree) -> set[str]:
    for name, key in _CONFIGURATIONS:
        settings = read(name, text) if (text := base.text(name)) else None
        found = (settings or {}).get(key)
        if found:
            return {_place(str(one)) for one in (found if isinstance(found, list) else str(found).split())}
    return set()
