"""The contract of a call: checks the files that it must write, and restores them if the contract is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ralph import safe_files
from ralph.frozen import Frozen
from ralph.plan.attempt import StepResult
from ralph.plan.work import ContractResult, FileTexts, Verdict, listed
from ralph.protect.snapshot import copy_aside, is_unchanged, restore, saved


class ContractCheck(Frozen):
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
            self._restore(self.before)
            return result
        after = _read(self.root, self.before)
        kept = self.check(result.step, self.before, after)
        mistakes = kept.mistakes or _overruled(kept, earlier)
        if not mistakes:
            return replace(result, verdict=kept.verdict, reason=kept.reason or result.reason, final=True)
        if is_last:
            self._set_aside(set_aside)
        self._restore(self.before if is_last else kept.restore)
        return replace(
            result,
            verdict=Verdict.BLOCKED if is_last else Verdict.FAILED,
            reason=listed(f"The {result.step} did not meet its contract", mistakes),
        )

    def _set_aside(self, folder: Path) -> None:
        """Save the rejected files for the person."""
        for path in self._changed(self.before):
            copy_aside(self.root / path, folder / Path(path).name)

    def _restore(self, paths: Iterable[str]) -> None:
        for path in self._changed(paths):
            restore(self.root / path, saved(self.before[path]))

    def _changed(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if not is_unchanged(self.root / path, saved(self.before[path]))]


def _overruled(kept: ContractResult, earlier: tuple[StepResult, ...]) -> tuple[str, ...]:
    """A verdict of PASSED is a mistake if an earlier step did not pass."""
    failed = next((result for result in earlier if result.verdict is not Verdict.PASSED), None)
    if failed is None or kept.verdict is not Verdict.PASSED:
        return ()
    return (f"the project's gates fail, so this cannot be complete. {failed.reason}".strip(),)


def _read(root: Path, paths: Iterable[str]) -> FileTexts:
    return {path: safe_files.read(root / path) for path in paths}
