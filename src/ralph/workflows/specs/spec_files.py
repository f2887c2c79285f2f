"""The specs that people write: `specs/*.md`, with their tasks and acceptance criteria."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ralph import validation
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.workflows.plan_rules import MAX_ID
from ralph.workflows.specs.spec_headings import HeadingRole
from ralph.workflows.specs.spec_lists import ListEntry, ListItem, outline

__all__ = ["FOLDER", "ListEntry", "SpecFile", "parse", "read_all", "spec_paths"]

FOLDER = "specs"
MAX_BYTES = 1 << 20
NUMBERS = 8  # characters of an id that are reserved for the numbers of its tasks
HOW_TO = (
    f"Write one file for each feature, for example {FOLDER}/user-login.md: a title, what you want and why, "
    "a list under `## Tasks` and a list under `## Acceptance criteria`."
)


class SpecFile(Frozen):
    """One spec on disk."""

    file: str
    id: str
    name: str
    tasks: tuple[ListEntry, ...]
    criteria: tuple[ListEntry, ...]
    text: str


def read_all(root: Path) -> list[SpecFile]:
    """Every spec in the project's `specs` folder, by file name; or one error with all mistakes."""
    paths = _paths(root)
    if not paths:
        raise RalphError(f"There are no specs in {root / FOLDER}.", remedy=HOW_TO)
    found: list[SpecFile] = []
    mistakes: list[str] = []
    for path in paths:
        file = f"{FOLDER}/{path.name}"
        try:
            found.append(parse(_text(path, root), file))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            mistakes.append(f"{file.encode(errors='replace').decode()}: {reason}")
    mistakes += _same_ids(found)
    if mistakes:
        raise validation.Mistakes(f"{root / FOLDER}", mistakes, "Fix or move these files, then run the command again.")
    return found


def spec_paths(root: Path) -> list[str]:
    """The specs' files, with any content; none if there is no folder."""
    try:
        return [f"{FOLDER}/{path.name}" for path in _paths(root)]
    except RalphError:
        return []


def parse(text: str, file: str) -> SpecFile:
    """Parse a spec's text; `file` is its path in the project."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    stem = PurePosixPath(file).stem
    found = outline(text)
    return SpecFile(
        file=file,
        id=_slug(stem),
        name=found.title or _in_words(stem),
        tasks=_tasks(found.items),
        criteria=tuple(item.listed for item in found.items if item.role is HeadingRole.CRITERIA),
        text=text,
    )


def _tasks(items: list[ListItem]) -> tuple[ListEntry, ...]:
    """The items listed as tasks, else as steps, else every item with a box that no heading makes something else."""
    for role in (HeadingRole.TASKS, HeadingRole.STEPS, None):
        listed = tuple(item.listed for item in items if item.role is role and (role or item.has_box))
        if listed:
            return listed
    return ()


def _paths(root: Path) -> list[Path]:
    """The files that are specs by their names."""
    folder = root / FOLDER
    try:
        paths = sorted(path for path in folder.iterdir() if _is_spec(path.name) and not path.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        raise RalphError(f"There is no folder {folder}.", remedy=HOW_TO) from None
    except OSError as error:
        raise RalphError(f"{folder} could not be read: {error.strerror}.") from None
    return paths


def _is_spec(name: str) -> bool:
    name = name.lower()
    return name.endswith(".md") and not name.startswith(".") and name != "readme.md"


def _text(path: Path, root: Path) -> str:
    """A spec's text, or an error that says why it is not valid."""
    if path.name != path.name.encode(errors="replace").decode():
        raise ValueError("the file name is not UTF-8; rename it")
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise ValueError("it links to a file outside the project; copy the file here instead")
    if not path.is_file():
        raise ValueError("not a readable file")  # a pipe, or a broken link
    if (size := path.stat().st_size) > MAX_BYTES:
        raise ValueError(f"larger than 1 MiB ({size:,} bytes); split it into several specs")
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"not UTF-8 text (line {line}); save it as UTF-8") from None
    if not text.removeprefix("\ufeff").strip():
        raise ValueError("empty; describe what you want, or remove it")
    return text


def _same_ids(specs: Iterable[SpecFile]) -> list[str]:
    first: dict[str, SpecFile] = {}
    return [
        f"{other.file} and {spec.file} would both have the id {spec.id!r}; rename one"
        for spec in specs
        if (other := first.setdefault(spec.id, spec)) is not spec
    ]


def _slug(stem: str) -> str:
    """An id from a file's name; a name in another script gets a stable one."""
    letters = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[: MAX_ID - NUMBERS].strip("-")
    return slug or f"spec-{hashlib.sha256(stem.encode(errors='surrogatepass')).hexdigest()[:8]}"


def _in_words(stem: str) -> str:
    words = " ".join(re.split(r"[\s_-]+", stem)).strip()
    return words[:1].upper() + words[1:] or stem
