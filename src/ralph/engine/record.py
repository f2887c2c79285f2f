"""The write-ahead record of an attempt: written before it begins and as each of its steps ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ralph.plan.model import Finding, GateResult
from ralph.plan.usage import Usage
from ralph.plan.work import Verdict, WorkKind
from ralph.stores import atomic
from ralph.text import readable

SUFFIX = ".attempt.json"


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What one step came to; a step that did its job says PASSED."""

    step: str
    verdict: Verdict
    reason: str = ""
    claims: frozenset[str] = frozenset()
    learnings: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    said: str = ""  # the agent's own reason
    usage: Usage = field(default_factory=Usage)
    gates: tuple[GateResult, ...] = ()
    findings: tuple[Finding, ...] | None = None  # what a reviewer found; None: nobody has judged
    commit: str = ""
    summary: str = ""
    hooked_subject: str = ""  # what the person's hooks made of the subject
    trailers: tuple[str, ...] = ()  # what they added to the message
    changed: bool = False  # whether it left anything that was not there before
    touched: tuple[str, ...] = ()  # the files it changed, the first few
    left_out: tuple[str, ...] = ()  # what is not part of the commit, each with the reason
    no_page: str = ""  # why no page was opened, although it is UI work
    verified_tree: str = ""  # the tree that the gates approved
    retry_at: float | None = None
    final: bool = False  # trying it again would come to the same
    fatal: bool = False  # nobody could do better until a person mends something


@dataclass(frozen=True, kw_only=True)
class Record:
    """One attempt on its way."""

    run: str
    target: str
    kind: WorkKind
    work: str
    number: int
    base: str  # where the branch stood
    branch: str
    began: float
    slot: int = 0
    agent_at_work: bool = False  # an agent was let loose, and what it came to is not written down yet
    read_only: bool = False  # that agent was to change nothing in the project
    steps: tuple[StepResult, ...] = ()

    def result_of(self, step: str) -> StepResult | None:
        return next((result for result in self.steps if result.step == step), None)

    @property
    def has_work(self) -> bool:
        """Whether an agent has finished and what it made is kept: then the attempt can go on from there."""
        return any(result.commit and result.verdict is not Verdict.INTERRUPTED for result in self.steps)

    def add(self, result: StepResult) -> Record:
        return replace(self, steps=(*self.steps, _readable(result)), agent_at_work=False)


def _readable(result: StepResult) -> StepResult:
    """File names and commit subjects may be no text at all: where people and agents read them, they are."""
    return replace(
        result,
        reason=readable(result.reason),
        summary=readable(result.summary),
        hooked_subject=readable(result.hooked_subject),
        trailers=tuple(map(readable, result.trailers)),
        touched=tuple(map(readable, result.touched)),
    )


_adapter: TypeAdapter[Record] = TypeAdapter(Record)


def save(folder: Path, record: Record) -> Path:
    path = _path(folder, record)
    atomic.write(path, _adapter.dump_json(record))
    return path


def load(folder: Path, target: str = "*") -> list[Record]:
    """Every attempt that a run of a target, or of any, left under way."""
    found = (_read(path) for path in sorted(folder.glob(f"{target}/*{SUFFIX}")))
    return [record for record in found if record]


def remove(folder: Path, record: Record) -> Path:
    path = _path(folder, record)
    path.unlink(missing_ok=True)
    return path


def _path(folder: Path, record: Record) -> Path:
    return folder / record.target / f"{record.work}{SUFFIX}"


def _read(path: Path) -> Record | None:
    try:
        return _adapter.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
