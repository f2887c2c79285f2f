"""Finds out why a gate is red before any attempt: the code, or something that only the person's checkout has.

The person's checkout is only read. The gate runs again in a clean copy, with copies of the files that git does not
track. It never runs with the person's own environment.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ralph.checkout import submodules
from ralph.config import NAME, Verify
from ralph.engine.run import Run
from ralph.errors import RalphError
from ralph.journal.events import Noted
from ralph.plan.model import Gate, GateResult
from ralph.process.environment import ORDINARY, allowed
from ralph.process.table import MARK
from ralph.provision.destination import MAX_BYTES, is_own
from ralph.provision.discover import SCRATCH, made_in, visible_in
from ralph.provision.put import put, size_of
from ralph.provision.stamp import Method
from ralph.verify import gates
from ralph.verify.environment_failures import UNTIL_DONE, last_lines
from ralph.verify.gate_list import red

PATIENCE = 60.0
"""How many seconds Ralph may search for the files that the gate needs."""

LARGE = 200_000_000
"""Files above this number of bytes should be linked, not copied."""


async def check_difference(run: Run, commit: str, gate: Gate, result: GateResult) -> None:
    """Stop the run if this red gate needs something that the person's checkout has and a clean checkout does not."""
    names = missing_variables(result, run.config.verify, os.environ)
    if names:
        raise _lacks_variables(result, names)
    assert run.branch, "what is verified is on a branch"
    if any(path not in run.own for path in await run.branch.repo.between(await run.branch.repo.head(), commit)):
        return  # this is agents' work: it gets none of the person's files
    trial = Trial(run, commit, gate)
    await trial.check_submodules(result)
    paths = await trial.candidates()
    if not paths:
        return
    run.emit(
        Noted(text=f"`{gate.command}` fails. Ralph runs it again with copies of the files that only your checkout has.")
    )
    if not await trial.is_green(paths):
        run.emit(Noted(text="It fails with them too."))
    elif not await trial.is_green(()):  # otherwise the gate is flaky
        raise await trial.explain(result, await trial.least(paths, result.output))


def missing_variables(result: GateResult, settings: Verify, environment: Mapping[str, str]) -> list[str]:
    """Return the variables that a red gate mentions, that are set here and that gates do not receive."""
    unseen = environment.keys() - allowed(environment, settings.env).keys() - {MARK}
    said = set(re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", result.command))
    # DEBUG may be any word; API_KEY is a variable
    said |= set(re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", result.output))
    return sorted(name for name in unseen & said if not name.startswith("RALPH_"))


@dataclass
class Trial:
    """Runs one gate on one commit, with different sets of extra files."""

    run: Run
    commit: str
    gate: Gate

    async def check_submodules(self, result: GateResult) -> None:
        async with self.run.verifier.clean_copy(self.commit) as clean:
            names = await submodules.missing(clean.copy.repo, clean.copy.folder)
        if names:
            raise RalphError(
                f"The gate `{result.command}` fails, and these submodules are empty: {_listed(tuple(names))}.",
                details=last_lines(result),
                remedy="Ralph copies submodules from your checkout. Fill them there: git submodule update --init. "
                f"{UNTIL_DONE}",
            )

    async def candidates(self) -> tuple[str, ...]:
        """Return the paths in the person's checkout that git does not track and the clean copy does not have."""
        async with self.run.verifier.clean_copy(self.commit) as clean:
            here = self.run.destination(clean.copy)
            found = sorted(await made_in(replace(here, top=here.source)))
            return tuple(path for path in found if self._is_candidate(path, here.source, here.top))

    def _is_candidate(self, path: str, source: Path, top: Path) -> bool:
        mine = is_own(path) or path in self.run.own or path.rpartition("/")[2] in SCRATCH
        return not mine and not os.path.lexists(top / path) and size_of(source / path) <= MAX_BYTES

    async def is_green(self, paths: tuple[str, ...]) -> bool:
        async with self.run.verifier.clean_copy(self.commit) as clean:
            here = self.run.destination(clean.copy)
            try:
                for path in paths:
                    with suppress(RalphError, OSError):  # skip files that cannot be read
                        await put(here, path, Method.COPIED, explicit=True, variables={})
                logs = Path(clean.variables["TMPDIR"])
                bench = self.run.verifier.gate_run(clean, "trial")
                bench = replace(bench, logs=logs, started=lambda _: None, ended=lambda _: None)
                return not red(await gates.run_all((self.gate,), bench))
            finally:
                await clean.copy.clean()

    async def least(self, paths: tuple[str, ...], output: str) -> tuple[str, ...]:
        """Return the smallest set of these paths that Ralph can find in time and with which the gate is still green."""
        named = tuple(path for path in paths if path.rpartition("/")[2] in output)
        if named and len(named) < len(paths) and await self.is_green(named):
            paths = named
        return await fewest(paths, self.is_green, until=time.monotonic() + PATIENCE)

    async def explain(self, result: GateResult, paths: tuple[str, ...]) -> RalphError:
        async with self.run.verifier.clean_copy(self.commit) as clean:
            here = self.run.destination(clean.copy)
            seen = await visible_in(replace(here, top=here.source), paths)
        prefix = here.prefix
        inside = [path.removeprefix(prefix) for path in paths if path.startswith(prefix) and path not in seen]
        large = [path for path in inside if size_of(here.source / prefix / path) > LARGE]
        settings = {"link": large, "copy": [path for path in inside if path not in large]}
        listed = ", ".join(f'"{key}": [{_quoted(names)}]' for key, names in settings.items() if names)
        ways = [f"commit {_listed(seen)}"] if seen else []
        ways += [f'set "worktrees": {{{listed}}} in {NAME}'] if listed else []
        return RalphError(
            f"The gate `{result.command}` fails in a clean checkout and passes with files that only your checkout "
            f"has: {_listed(paths)}.",
            details=last_lines(result),
            remedy=f"Gates run on a fresh checkout of each commit. {_sentence(' and '.join(ways))} "
            f"Or create them with a command in worktrees.setup (see docs/guides/worktrees.md). {UNTIL_DONE}",
        )


async def fewest(
    paths: tuple[str, ...], is_green: Callable[[tuple[str, ...]], Awaitable[bool]], *, until: float
) -> tuple[str, ...]:
    """Bisect the paths while one half is enough, then drop each remaining path that is not needed."""
    while len(paths) > 1 and time.monotonic() < until:
        middle = len(paths) // 2
        for part in (paths[:middle], paths[middle:]):
            if await is_green(part):
                paths = part
                break
        else:
            break
    for path in paths:
        without = tuple(other for other in paths if other != path)
        if without and time.monotonic() < until and await is_green(without):
            paths = without
    return paths


def _lacks_variables(result: GateResult, names: list[str]) -> RalphError:
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return RalphError(
        f"The gate `{result.command}` fails and names {', '.join(names)}, which {are} set in your shell but not "
        "passed to gates.",
        details=last_lines(result),
        remedy=f'If the gate needs {them}, set "verify": {{"env": [{_quoted(names)}]}} in {NAME}. '
        f"Gates get {', '.join(ORDINARY[:3])} and other common variables, and those in verify.env. {UNTIL_DONE}",
    )


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""
