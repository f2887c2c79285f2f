"""What a call owes in files of its own: checked after it, and put back where it went wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.engine.record import StepResult
from ralph.plan.work import Contract, ContractResult, Texts, Verdict, listed
from ralph.stores import atomic

if TYPE_CHECKING:
    from ralph.steps.base import Context

MAX_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True)
class ContractCheck:
    """The files a call may write, as they were before it was made for the first time."""

    contract: Contract
    root: Path
    before: Texts

    @classmethod
    def of(cls, context: Context) -> ContractCheck | None:
        """None: this work owes nothing but itself."""
        contract, root = context.work.contract, context.site.project
        return cls(contract=contract, root=root, before=_read(root, context.work.writable)) if contract else None

    def judge(self, result: StepResult, context: Context) -> StepResult:
        """A call that ended well has kept its contract or is asked again; of any other nothing stays."""
        if result.verdict is not Verdict.PASSED:
            self._restore(tuple(self.before))
            return result
        after = _read(self.root, tuple(self.before))
        kept = self.contract.check(result.step, self.before, after)
        mistakes = kept.mistakes or _overruled(kept, context)
        if not mistakes:
            return replace(result, verdict=kept.verdict, reason=kept.reason or result.reason, final=True)
        is_last = context.turn > context.work.step(result.step).resilience.max_retries
        if is_last:
            self._set_aside(after, context.run.logs / f"{context.label}-refused")
        self._restore(tuple(self.before) if is_last else kept.restore)
        return replace(
            result,
            verdict=Verdict.BLOCKED if is_last else Verdict.FAILED,
            reason=listed(f"The {result.step} did not do what it owed", mistakes),
        )

    def _set_aside(self, after: Texts, folder: Path) -> None:
        """What was written in vain, for a person to look at."""
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


def _overruled(kept: ContractResult, context: Context) -> tuple[str, ...]:
    """Nobody can find good what Ralph itself has found wrong."""
    wrong = next((result for result in context.record.steps if result.verdict is not Verdict.PASSED), None)
    if wrong is None or kept.verdict is not Verdict.PASSED:
        return ()
    return (f"the project's checks are not green, so this cannot be complete. {wrong.reason}".strip(),)


def _read(root: Path, paths: tuple[str, ...]) -> Texts:
    return {path: _content(root / path) for path in paths}


def _content(path: Path) -> bytes | None:
    """A plain file of a sensible size; anything else is not what was asked for."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    return path.read_bytes()
