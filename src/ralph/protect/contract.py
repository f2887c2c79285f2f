"""The contract of a call: checks the files that it must write, and restores them if the contract is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ralph import safe_files
from ralph.plan.attempt import StepResult
from ralph.plan.work import ContractResult, FileTexts, Verdict, listed
from ralph.stores import atomic

MAX_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True)
class ContractCheck:
    """The files that a call may write, as they were before its first try."""

    check: Callable[[str, FileTexts, FileTexts], ContractResult]
    root: Path
    before: FileTexts

    @classmethod
    def of(
        cls, check: Callable[[str, FileTexts, FileTexts], ContractResult], root: Path, writable: tuple[str, ...]
    ) -> ContractCheck:
        return cls(check=check, root=root, before=_read(root, writable))

    def judge(
        self, result: StepResult, earlier: tuple[StepResult, ...], *, is_last: bool, set_aside: Path
    ) -> StepResult:
        """Check the contract of a passed call, and ask again if it is broken; otherwise restore all files."""
        if result.verdict is not Verdict.PASSED:
            self._restore(tuple(self.before))
            return result
        after = _read(self.root, tuple(self.before))
        kept = self.check(result.step, self.before, after)
        mistakes = kept.mistakes or _overruled(kept, earlier)
        if not mistakes:
            return replace(result, verdict=kept.verdict, reason=kept.reason or result.reason, final=True)
        if is_last:
            self._set_aside(after, set_aside)
        self._restore(tuple(self.before) if is_last else kept.restore)
        return replace(
            result,
            verdict=Verdict.BLOCKED if is_last else Verdict.FAILED,
            reason=listed(f"The {result.step} did not do what it owed", mistakes),
        )

    def _set_aside(self, after: FileTexts, folder: Path) -> None:
        """Save the rejected files for the person."""
        for path, data in after.items():
            if data is not None and data != self.before[path]:
                atomic.write(folder / Path(path).name, data, sync=False)

    def _restore(self, paths: tuple[str, ...]) -> None:
        for path in paths:
            data, target = self.before[path], self.root / path
            if data is not None and _content(target) == data:
                continue
            safe_files.make_accessible(target.parent)
            if data is None or not target.is_file() or target.is_symlink():
                safe_files.remove_all(target)
            if data is not None:
                atomic.write(target, data)


def _overruled(kept: ContractResult, earlier: tuple[StepResult, ...]) -> tuple[str, ...]:
    """A verdict of PASSED is a mistake if an earlier step did not pass."""
    wrong = next((result for result in earlier if result.verdict is not Verdict.PASSED), None)
    if wrong is None or kept.verdict is not Verdict.PASSED:
        return ()
    return (f"the project's checks are not green, so this cannot be complete. {wrong.reason}".strip(),)


def _read(root: Path, paths: tuple[str, ...]) -> FileTexts:
    return {path: _content(root / path) for path in paths}


def _content(path: Path) -> bytes | None:
    """Return the content of a regular file of reasonable size; None for anything else."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    return path.read_bytes()
