"""Instructions to a run on their way: one sealed file each, in a folder of Ralph's own outside of every repository.

The sandbox hides that folder. What somebody else wrote there, or copied from another plan, counts as nothing.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.plan.instruction import Acknowledgement, Instruction
from ralph.stores import atomic, lock, seal
from ralph.stores.lock import Owner
from ralph.workspace import Workspace

if TYPE_CHECKING:
    from pydantic import TypeAdapter

ASKED, ANSWERED, PAUSED = ".asked", ".answered", "paused"
MAX_BYTES = 1_000_000
PRIVATE = 0o600
T = TypeVar("T")


class PausedRun(Frozen):
    """That a run is paused, as views show it."""

    run: str
    since: float  # in seconds since 1970
    now: bool = False  # its attempts stand still between two steps


def new_id() -> str:
    """Return a unique id that sorts by time."""
    return f"{time.time_ns():020d}-{os.urandom(4).hex()}"


def post(workspace: Workspace, instruction: Instruction) -> None:
    """Put an instruction where the run finds it."""
    _write(workspace, instruction.target, f"{instruction.id}{ASKED}", instruction)


def withdraw(workspace: Workspace, instruction: Instruction) -> bool:
    """Take an instruction back; return False if it is not there any more."""
    return _remove(workspace, instruction.target, f"{instruction.id}{ASKED}")


def waiting(workspace: Workspace, target: str) -> list[Instruction]:
    """Return the instructions that nobody has carried out yet, the oldest first; remove what Ralph did not write."""
    found = []
    for name in names(folder(workspace, target)):
        instruction = _read(workspace, target, name, Instruction)
        if instruction and f"{instruction.id}{ASKED}" == name and instruction.target == target:
            found.append(instruction)
        else:
            _remove(workspace, target, name)
    return found


def names(folder: Path) -> list[str]:
    """Return the names of the instructions in a folder; so cheap that a run can look often."""
    try:
        found = os.listdir(folder)  # noqa: PTH208 four times as fast
    except OSError:
        return []
    return sorted(name for name in found if name.endswith(ASKED) and not atomic.is_temporary(name))


def answer(workspace: Workspace, instruction: Instruction, said: Acknowledgement) -> None:
    """Say what became of an instruction, and remove it."""
    _write(workspace, instruction.target, f"{instruction.id}{ANSWERED}", said)
    withdraw(workspace, instruction)


def answer_to(workspace: Workspace, instruction: Instruction) -> Acknowledgement | None:
    """Take what became of an instruction; None: nothing yet."""
    name = f"{instruction.id}{ANSWERED}"
    found = _read(workspace, instruction.target, name, Acknowledgement)
    if found:
        _remove(workspace, instruction.target, name)
    return found


def clear_answers(workspace: Workspace, target: str) -> None:
    """Remove the answers that nobody waited for."""
    for path in folder(workspace, target).glob(f"*{ANSWERED}"):
        _remove(workspace, target, path.name)


def note_paused(workspace: Workspace, target: str, paused: PausedRun | None) -> None:
    """Say for views that a run is paused, or not any more."""
    if paused:
        _write(workspace, target, PAUSED, paused)
    else:
        _remove(workspace, target, PAUSED)


def paused_run(workspace: Workspace, target: str, owner: Owner | None = None) -> PausedRun | None:
    """Return how the run that is under way on a plan is paused; None if it is not, or if there is none."""
    if not (folder(workspace, target) / PAUSED).exists():
        return None
    owner = owner or lock.holder(workspace.lock)
    found = _read(workspace, target, PAUSED, PausedRun) if owner and owner.target == target else None
    return found if found and owner and found.run == owner.run else None


def folder(workspace: Workspace, target: str) -> Path:
    """Return where the instructions to the runs of a plan are."""
    return workspace.instructions / target


def _write(workspace: Workspace, target: str, name: str, value: Instruction | Acknowledgement | PausedRun) -> None:
    data = _adapter(type(value)).dump_json(value)
    path = folder(workspace, target) / name
    whole = seal.seal(_purpose(workspace, target, name), data).encode() + b"\n" + data
    atomic.write(path, whole, permissions=PRIVATE)


def _read(workspace: Workspace, target: str, name: str, kind: type[T]) -> T | None:
    try:
        found, _, data = (safe_files.read(folder(workspace, target) / name, MAX_BYTES) or b"").partition(b"\n")
        is_ours = seal.is_sealed(_purpose(workspace, target, name), data, found)
        return _adapter(kind).validate_json(data) if is_ours else None
    except (OSError, ValueError):  # pydantic's own error is a ValueError
        return None


def _remove(workspace: Workspace, target: str, name: str) -> bool:
    path = folder(workspace, target) / name
    if not os.path.lexists(path):
        return False
    safe_files.remove_all(path)
    return True


def _purpose(workspace: Workspace, target: str, name: str) -> str:
    """An instruction holds for one project, one plan and one time only."""
    return f"instructions/{workspace.instructions.name}/{target}/{name}"


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Created on first use, because it takes some milliseconds."""
    from pydantic import TypeAdapter

    return _adapters.get(kind) or _adapters.setdefault(kind, TypeAdapter(kind))


_adapters: dict[type, TypeAdapter[Any]] = {}
