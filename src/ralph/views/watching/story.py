"""What the journals of one plan tell about its attempts, kept small: texts stay in their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ralph.journal import events as e
from ralph.journal.decode import JournalEntry
from ralph.plan.model import GateResult
from ralph.plan.work import Verdict, WorkKind
from ralph.views.run_line import RunLine

WORDS, PROMPT = ".words.txt", ".prompt.md"
CHANGES_PLAN = (
    e.RunStarted, e.RunEnded, e.AttemptStarted, e.AttemptEnded, e.TaskBlocked, e.SpecClosed, e.Landed, e.Steered,
)  # fmt: skip


@dataclass
class WatchedAttempt:
    """One attempt, and where its texts are."""

    folder: Path  # of its run
    work: str
    number: int
    kind: WorkKind = WorkKind.TASK
    title: str = ""
    agent: str = ""
    began: float = 0.0
    seconds: float = 0.0
    step: str = ""
    step_began: float = 0.0
    verdict: Verdict | None = None  # None: it is under way, or its run was killed
    reason: str = ""
    base: str = ""
    commit: str = ""
    log: str = ""  # the name of the last agent call's log
    gates: dict[str, GateResult] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)  # the commands of gates that run now, by gate
    is_cut_short: bool = False  # its run is over and it has no end

    @property
    def name(self) -> str:
        return f"{self.work}/{self.number}"

    @property
    def is_running(self) -> bool:
        return self.verdict is None and not self.is_cut_short

    def file(self, ending: str) -> Path | None:
        """Return the log of the last agent call, or a file beside it."""
        if not self.log:
            return None
        return self.folder / f"{self.log.removesuffix('.log')}{ending}"


class Story:
    """Takes the events of a plan's runs, in their order."""

    def __init__(self) -> None:
        self.line = RunLine()
        self.attempts: dict[tuple[str, int], WatchedAttempt] = {}
        self.by_work: dict[str, list[WatchedAttempt]] = {}
        self.working: dict[str, WatchedAttempt] = {}  # what is under way, by work
        self.run = ""
        self.ending = ""  # how the last run ended; empty: it has not
        self.reason = ""
        self.note = ""  # what the run said last about itself
        self.is_paused = False
        self.changes = 0  # counts what may have changed the plan

    def take(self, entry: JournalEntry, folder: Path) -> None:
        event = entry.event
        self.line.take(event, entry.moment)
        self.changes += isinstance(event, CHANGES_PLAN)
        match event:
            case e.RunStarted():
                self.close()
                self.run, self.ending, self.reason, self.note = event.run, "", "", ""
            case e.RunEnded():
                self.close()
                self.ending, self.reason = event.ending.value, event.reason
            case e.Waited():
                self.note = event.reason
            case e.Steered():
                self.note = event.text
                if not event.refused and event.command in ("pause", "resume", "stop"):
                    self.is_paused = event.command == "pause"
            case e.AttemptStarted():
                self.note = ""
                self._begin(event, entry.moment, folder)
            case e.AttemptEvent() if (event.work, event.attempt) in self.attempts:
                self._tell(self.attempts[event.work, event.attempt], event, entry.moment)

    def close(self) -> None:
        """Nothing goes on any more: the run has ended, or its process is gone."""
        self.is_paused = False
        for attempt in self.working.values():
            attempt.is_cut_short = True
        self.working.clear()

    def _begin(self, event: e.AttemptStarted, now: float, folder: Path) -> None:
        key = event.work, event.attempt
        attempt = WatchedAttempt(
            folder=folder, work=event.work, number=event.attempt, kind=event.kind, title=event.title,
            agent=event.agent, began=now, step_began=now, base=event.base,
        )  # fmt: skip
        others = [one for one in self.by_work.get(event.work, []) if one.number != event.attempt]
        self.attempts[key], self.by_work[event.work] = attempt, [*others, attempt]
        self.working[event.work] = attempt

    def _tell(self, attempt: WatchedAttempt, event: e.AttemptEvent, now: float) -> None:
        match event:
            case e.StepStarted():
                attempt.step, attempt.step_began = event.step, now
            case e.AgentStarted():
                attempt.agent, attempt.log = event.agent or Path(event.command).name, Path(event.log).name
            case e.GateStarted():
                attempt.running[event.gate] = event.command
            case e.GateRepeated():
                attempt.gates[event.result.name] = event.result
                attempt.running[event.result.name] = f"{event.result.command} once more"
            case e.GateEnded():
                attempt.running.pop(event.result.name, None)
                attempt.gates[event.result.name] = event.result
            case e.AttemptEnded():
                attempt.verdict, attempt.reason, attempt.seconds = event.verdict, event.reason, event.seconds
                attempt.base, attempt.commit = event.base or attempt.base, event.commit
                attempt.agent = event.agent or attempt.agent
                attempt.running.clear()
                if self.working.get(event.work) is attempt:
                    del self.working[event.work]
