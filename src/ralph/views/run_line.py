"""The line that sums a run up while it works: `5/8 · 2 running · 12 m · $1.40 · ~8 m left · silent 40 s`."""

from __future__ import annotations

from ralph.journal import events as e
from ralph.journal.events import Event
from ralph.plan.usage import Usage
from ralph.views.pace import RunPace

SILENT = 30.0
"""After how many seconds without a sign of life the line says so."""


class RunLine:
    """Takes a run's events with the time of each."""

    def __init__(self) -> None:
        self.pace = RunPace()
        self.tasks = self.passed = 0
        self._begin()

    def _begin(self, began: float | None = None, run: str = "", jobs: int = 1, blocked: int = 0) -> None:
        self.run, self.jobs = run, jobs
        self._began = began
        self._ended: float | None = None
        self._blocked: set[str] = set()
        self._were_blocked = blocked
        self._heard = began or 0.0
        self._running: set[tuple[str, int]] = set()
        self._used = Usage()

    @property
    def is_working(self) -> bool:
        return bool(self._running)

    def take(self, event: Event, now: float) -> None:
        self.pace.take(event, now)
        self._heard = now
        if self._began is None:
            self._began = now
        match event:
            case e.RunStarted():
                self._begin(now, event.run, event.jobs, event.blocked)
                self._count(event)
            case e.AttemptStarted():
                self._running.add((event.work, event.attempt))
                self._blocked.discard(event.work)
                self._count(event)
            case e.AgentEnded():
                self._used += event.usage
            case e.AttemptEnded():
                self._running.discard((event.work, event.attempt))
                self._count(event)
            case e.TaskBlocked():
                self._blocked.add(event.work)
            case e.Waited():
                self._heard = now + event.seconds  # nothing is expected before that
            case e.RunEnded():
                self._ended = now
                self._running.clear()
                self._count(event)

    def _count(self, event: e.RunStarted | e.AttemptStarted | e.AttemptEnded | e.RunEnded) -> None:
        """Several attempts may run, and any of them may have passed."""
        self.tasks, self.passed = event.tasks, event.passed + event.accepted

    def text(self, now: float) -> str:
        """Return what is known, the most important first."""
        parts = [f"{self.passed}/{self.tasks}"] if self.tasks else []
        if len(self._running) > 1 or (self._running and self.jobs > 1):
            parts.append(f"{len(self._running)} running")
        if self._began is not None:
            parts.append(about((self._ended or now) - self._began))
        parts += [price(self._used)] if self._used.cost_usd else []
        if self._ended is not None:
            return " · ".join(parts)
        to_do = self.tasks - self.passed - self._were_blocked - len(self._blocked)
        left = self.pace.left(max(to_do, 0), now) if self._running else None
        parts += [f"~{about(left)} left"] if left else []
        if now - self._heard >= SILENT:
            parts.append(f"silent {about(now - self._heard)}")
        return " · ".join(parts)


def about(seconds: float) -> str:
    """A time in one or two units."""
    seconds = max(seconds, 0)
    if seconds < 60:
        return f"{int(seconds)} s"
    minutes = int(seconds) // 60
    return f"{minutes} m" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} m"


def price(usage: Usage) -> str:
    """The known cost; `+` if that of some calls is not known."""
    return f"{'~' if usage.estimated else ''}${usage.cost_usd or 0:.2f}{'+' if usage.unpriced else ''}"
