"""The calls of a probe: one that writes a file, and one that is interrupted in the middle of a long command."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field, replace

from ralph.agent.call import AgentCall, AgentResult, make
from ralph.agent.failure import CallFailure, FailureKind, refusal
from ralph.agent.probe.folders import IDENT, ProbeFolders
from ralph.agent.remedy import permission_hint
from ralph.config import Provider
from ralph.frozen import Frozen
from ralph.plan.usage import Usage
from ralph.process import tree
from ralph.process.redaction import Secrets

FILE = "ralph-probe.txt"
CONTENT = "it works"
BEGUN = "begun"
DONE = "DONE"
WORK = """This is a short test of whether you can work here without a person. Do exactly this, and nothing else:

1. Create the file `{file}` in the current folder, with the single line: {content}
{commit}{last}. When that is done, output on a line of its own: <ralph>DONE</ralph>
"""
COMMIT = f'2. Commit it with this command: git add {FILE} && git commit -m "Add {FILE}"\n'
ENDLESS = f"""This is a short test of whether a command that you run can be stopped. Do exactly this, and nothing else:

Run this shell command in the foreground, in the current folder, and wait until it ends:

    touch {BEGUN} && tail -f /dev/null
"""
CHECK_EVERY = 0.05


class WorkProbe(Frozen):
    """What came of the call that writes a file."""

    heard: AgentResult
    answered_after: float | None  # seconds until the agent said its first line
    wrote: bool
    committed: bool

    def failure(self, provider: Provider) -> CallFailure | None:
        """Return why the agent could not do it; None if it could, or if nothing explains it."""
        if self.heard.failure or self.wrote:
            return self.heard.failure
        refused = refusal(self.heard.report.refused, changed=False)
        if refused or not permission_hint(provider):
            return refused or (None if self.heard.tail.strip() else CallFailure(kind=FailureKind.SILENCE))
        return CallFailure(kind=FailureKind.NO_WRITE_PERMISSION)


class EndProbe(Frozen):
    """What came of the call that is interrupted."""

    seconds: float  # from the interrupt until nothing ran any more
    begun: bool  # its command was running
    left: int  # processes that it left running
    failure: CallFailure | None
    usage: Usage


@dataclass
class _CallTimes:
    began: float = field(default_factory=time.monotonic)
    after: float | None = None
    used: list[Usage] = field(default_factory=list)

    def line(self, _: str) -> None:
        self.after = self.after or time.monotonic() - self.began


def owner() -> str:
    """Return what the marks of all that this process probes begin with."""
    return f"probe-{os.getpid()}"


async def probe_work(provider: Provider, folders: ProbeFolders, *, commit: bool) -> WorkProbe:
    """Have the agent write a file and, if asked, commit it."""
    text = WORK.format(file=FILE, content=CONTENT, commit=COMMIT if commit else "", last=3 if commit else 2)
    heard = _CallTimes()
    result = await make(_call(provider, folders, text, heard, owner()))
    try:
        wrote = CONTENT in (folders.project / FILE).read_text(errors="replace")
    except OSError:
        wrote = False
    committed = commit and FILE in (await folders.git("ls-tree", "--name-only", "HEAD")).splitlines()
    return WorkProbe(heard=result, answered_after=heard.after, wrote=wrote, committed=committed)


async def probe_end(provider: Provider, folders: ProbeFolders, seconds: float) -> EndProbe:
    """Have the agent run a command that never ends, interrupt it, and look for what is left."""
    heard, mine = _CallTimes(), f"{owner()}.end"
    task = asyncio.ensure_future(make(_call(provider, folders, ENDLESS, heard, mine)))
    begun, deadline = folders.project / BEGUN, time.monotonic() + seconds
    try:
        while not (begun.exists() or task.done() or time.monotonic() > deadline):
            await asyncio.wait({task}, timeout=CHECK_EVERY)
    finally:
        began = time.monotonic()
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
    left = tree.marked(f"{mine}.")
    took = time.monotonic() - began
    await tree.end(left, grace=0)
    if isinstance(ended, Exception):
        raise ended
    result = ended if isinstance(ended, AgentResult) else None
    unknown = Usage(calls=1, unpriced=1)
    return EndProbe(
        seconds=took,
        begun=begun.exists(),
        left=len(left),
        failure=result.failure if result else None,
        usage=result.report.usage if result else heard.used[-1] if heard.used else unknown,
    )


def _call(provider: Provider, folders: ProbeFolders, text: str, heard: _CallTimes, whose: str) -> AgentCall:
    logs = folders.new("logs")
    prompt = logs / "prompt.md"
    prompt.write_text(text, encoding="utf-8")
    private, temporary = folders.new("private"), folders.new("tmp")
    return AgentCall(
        provider=replace(provider, cwd=""),
        prompt=prompt,
        log=logs / "output.log",
        words=logs / "words.txt",
        cwd=folders.project,
        private=private,
        owner=whose,
        variables={**IDENT, "TMPDIR": str(temporary)},
        within=folders.enclose(provider, folders.project, temporary, private),
        watcher=heard.line,
        meter=heard.used.append,
        secrets=Secrets.of(os.environ),
    )
