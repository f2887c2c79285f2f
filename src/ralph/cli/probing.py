"""Probes agents and says what came of it: all of it for `ralph doctor --probe`, one line before a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from ralph.agent.failure import RULES, FailureKind, Response
from ralph.agent.probe.calls import WorkProbe, owner, probe_work
from ralph.agent.probe.findings import ProbeFinding, examine, label_of, of_work, placed
from ralph.agent.probe.folders import Enclose, make_repository, probe_folders
from ralph.agent.probe.remembered import is_probed
from ralph.agent.state import every_state, state_of
from ralph.config import Config, Provider
from ralph.engine.interrupt import Interrupt
from ralph.errors import RalphError
from ralph.process.enclosure import Enclosure
from ralph.process.warden import guarding
from ralph.sandbox.sandbox import opened
from ralph.views import words
from ralph.views.lines import say
from ralph.workflows.checks import Check
from ralph.workspace import Workspace

T = TypeVar("T")
SECONDS = 90.0
UNDECIDED = (FailureKind.TIME_OUT,)  # a slow model is no reason to stop


@dataclass(frozen=True)
class ProbeCheck(Check):
    """A finding about an agent, as `ralph doctor` reports it."""

    agent: str = ""
    check: str = ""
    seconds: float | None = None
    kind: str = ""

    @property
    def can_wait(self) -> bool:
        """Whether a limit, an overload or the network is the reason, and not the configuration."""
        return bool(self.kind) and RULES[FailureKind(self.kind)].response is Response.WAIT


@asynccontextmanager
async def _enclosing(workspace: Workspace, config: Config) -> AsyncIterator[Enclose]:
    """Open the sandbox in which the agents of a run would work."""
    async with opened(config, workspace, every_state(os.environ), lambda *_: None) as sandbox:

        def enclose(provider: Provider, copy: Path, temporary: Path, private: Path) -> Enclosure | None:
            state = state_of(provider, os.environ)
            return sandbox.around_agent(copy, private, temporary=temporary, state=state.writable, read_only=state.fixed)

        yield enclose


def probed(
    providers: Iterable[Provider], workspace: Workspace, config: Config, tell: Callable[[Check], object]
) -> list[Check]:
    """Probe every agent once, and tell each check as soon as it is done."""
    checks: list[Check] = []

    def take(check: Check) -> None:
        checks.append(check)
        tell(check)

    async def all_of_them() -> None:
        async with _enclosing(workspace, config) as enclose:
            for provider in distinct(providers):
                if not is_probed(provider):
                    take(Check("note", f"{label_of(provider)} is the scripted agent, which is not probed"))
                    continue
                async for finding in examine(provider, workspace.root, enclose):
                    take(_check(provider, finding))

    _wait(all_of_them())
    return checks


def distinct(providers: Iterable[Provider]) -> list[Provider]:
    return list({repr(provider): provider for provider in providers}.values())


def _check(provider: Provider, finding: ProbeFinding) -> ProbeCheck:
    what = finding.what
    if finding.usage and finding.check == "usage":
        what = f"reports its usage: {words.tokens(finding.usage)}, {words.cost(finding.usage)}"
    elif finding.usage:
        known_cost = finding.usage.cost_usd is not None
        what = f"this probe cost {words.cost(finding.usage)}" if known_cost else "what this probe cost is unknown"
    took = "" if finding.seconds is None else f" · {finding.seconds:.1f} s"
    label = label_of(provider)
    return ProbeCheck(
        state=finding.state,
        what=f"{label}: {what}{took}",
        remedy=finding.remedy,
        agent=label,
        check=finding.check,
        seconds=None if finding.seconds is None else round(finding.seconds, 3),
        kind=finding.kind,
    )


def works(provider: Provider, workspace: Workspace, config: Config, *, must_write: bool, is_silent: bool) -> bool:
    """Make one short call, and say what came of it in one line; True if the agent can do its part."""
    tell: Callable[..., None] = (lambda *_, **__: None) if is_silent else say
    tell(f"Probing {label_of(provider)}: ", ends=False)
    worked = _wait(_one_call(placed(provider, workspace.root), workspace, config))
    failed = worked.failure(provider) if must_write else worked.heard.failure
    if failed and (failed.response is Response.WAIT or failed.kind in UNDECIDED):
        tell(f"Ralph could not try it. {failed.text}")
        return False
    if failed or (must_write and not worked.wrote):
        tell("failed")
        raise _refused(worked, provider)
    tell(f"answers{', writes files' if worked.wrote else ''} · {worked.heard.ended.seconds:.1f} s")
    return True


async def _one_call(provider: Provider, workspace: Workspace, config: Config) -> WorkProbe:
    async with _enclosing(workspace, config) as enclose:
        with probe_folders(enclose) as folders:
            await make_repository(folders, commit=False)
            limited = replace(provider, timeout=min(provider.timeout, SECONDS))
            return await probe_work(limited, folders, commit=False)


def _refused(worked: WorkProbe, provider: Provider) -> RalphError:
    found = next(finding for finding in of_work(worked, provider) if finding.state == "bad")
    return RalphError(
        f"{label_of(provider)} cannot work here: {found.what}",
        remedy=f"{found.remedy} `ralph doctor --probe` tests everything; --no-probe runs it anyway.",
    )


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a probe to its end; a signal ends the agent first."""
    interrupt = Interrupt()

    async def guarded() -> T | None:
        with guarding(owner()), interrupt.on_signals():
            return await interrupt.interruptible(work)

    result = asyncio.run(guarded())
    if interrupt.requested:
        raise KeyboardInterrupt
    return cast(T, result)
