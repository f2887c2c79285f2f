"""What a run as a whole prints: its beginning, what holds it up, its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ralph.journal import events as e
from ralph.journal.events import Event
from ralph.plan.model import TaskState
from ralph.plan.work import Ending
from ralph.views import words
from ralph.views.living import LivingLines
from ralph.views.spent import used


class RunLines:
    """Prints what events say about the run."""

    def __init__(
        self,
        line: Callable[..., None],
        living: LivingLines,
        reasons: Mapping[str, str],
        flaky: Iterable[str],
        *,
        is_quiet: bool,
    ) -> None:
        """`reasons`: why each work's last attempt did not pass, which was printed; `flaky`: gates of this run."""
        self._line, self._living, self._reasons, self._is_quiet = line, living, reasons, is_quiet
        self._flaky = flaky

    @property
    def handlers(self) -> dict[type[Event], Callable[[Any], None]]:
        return {
            e.RunStarted: self._run_started,
            e.Noted: self._noted,
            e.BaselineStarted: self._baseline_started,
            e.BaselineEnded: self._baseline_ended,
            e.BreakerChanged: self._breaker_changed,
            e.SpecClosed: self._spec_closed,
            e.Waited: self._waited,
            e.Steered: self._steered,
            e.RunEnded: self._run_ended,
        }

    def _run_started(self, event: e.RunStarted) -> None:
        passed = words.passed(event.passed, event.accepted)
        blocked = words.blocked(event.blocked, event.held)
        self._line(f"{event.target}: {words.count(event.tasks, 'task')}, {passed}{blocked}", bold=True)
        model = f" · model {event.model}" if event.model else ""
        config = f" · config {event.config}" if event.config else ""
        jobs = f" · {event.jobs} in parallel" if event.jobs > 1 else ""
        jobs += f" · race of {', '.join(event.race)}" if event.race else ""
        follower = f", then {event.follower}" if event.follower else ""
        branch = f"branch {event.branch}{follower}"
        self._line(f"  {branch} · agent {event.agent}{model}{config}{jobs} · run {event.run}", dim=True)

    def _noted(self, event: e.Noted) -> None:
        if event.warning:
            self._line(f"  ! {event.text}", always=True, fg="yellow")
        else:
            self._line(f"  {event.text}", fg="cyan")

    def _baseline_started(self, event: e.BaselineStarted) -> None:
        self._line(f"\n▶ Before the first attempt: {words.count(len(event.gates), 'gate')}", bold=True)

    def _baseline_ended(self, event: e.BaselineEnded) -> None:
        self._living.end_all()
        if event.red:
            they, does = ("It", "Does it") if len(event.red) == 1 else ("They", "Do they")
            self._line(f"  Already failing before the first attempt. {they} must pass for a task to pass.", fg="yellow")
            hint = f"{does} pass in your checkout? Files that git ignores need worktrees.copy, variables verify.env."
            self._line(f"  {hint}", dim=True)

    def _breaker_changed(self, event: e.BreakerChanged) -> None:
        if event.state == "closed":
            self._line(f"    the circuit breaker of {event.step} is closed again", fg="green")
        else:
            times = words.count(event.failures, "failure")
            self._line(f"    the circuit breaker of {event.step} is open after {times} in a row", fg="yellow")

    def _spec_closed(self, event: e.SpecClosed) -> None:
        commit = f" · {event.commit[:10]}" if event.commit else ", nothing to commit"
        if event.state is TaskState.PASSED:
            self._line(f"  ✓ {event.title} completed{commit}", fg="green", bold=True)
        else:
            how = f"partial, {event.passed} of {event.tasks} tasks" if event.passed else "blocked"
            self._line(f"  ✗ {event.title} {how}{commit}", fg="red", bold=True)

    def _waited(self, event: e.Waited) -> None:
        self._line(f"  ‖ {words.first_line(event.reason)}", fg="yellow")
        until = words.time_of_day(event.until or time.time() + event.seconds, time.time())
        who = f" for {event.agent}" if event.agent else ""
        self._line(f"    waiting{who} until {until}, {words.duration(event.seconds)} from now", fg="yellow")
        self._living.begin("", f"waiting{who} until {until}", ends_in=event.seconds)

    def _steered(self, event: e.Steered) -> None:
        mark, colour = ("!", "yellow") if event.refused else ("»", "cyan")
        what = " ".join((event.command, *event.tasks))
        note = f" “{words.cut(event.note, 200)}”" if event.note else ""
        self._line(f"  {mark} {what}{note} · {event.text}", fg=colour, bold=True)
        if event.command == "pause" and not event.refused:
            self._living.begin("", "paused", part="pause")
        elif event.command in ("resume", "stop"):
            self._living.end("", "pause")

    def _run_ended(self, event: e.RunEnded) -> None:
        self._living.end_all()
        colour = {Ending.DONE: "green", Ending.ONCE: "green"}.get(event.ending, "yellow")
        self._line()
        self._line(headline(event, shown=self._is_shown(event)), always=True, fg=colour, bold=True)
        blocked = words.blocked(event.blocked, event.held)
        self._line(
            f"  tasks {words.passed(event.passed, event.accepted, event.tasks)}"
            f"{blocked} · "
            f"attempts {event.attempts} · "
            f"time {words.duration(event.seconds)}",
            always=True,
        )
        if names := ", ".join(f"`{name}`" for name in self._flaky):
            self._line(f"  flaky gates: {names}, red and then green on the same files", always=True, fg="yellow")
        if event.attempts or event.usage.calls:
            self._line(f"  {used(event.usage)}", always=True)
        if event.total.calls > event.usage.calls:
            self._line(f"  in all runs: {used(event.total)}", always=True)

    def _is_shown(self, event: e.RunEnded) -> bool:
        """Whether the reason is shown elsewhere: in the last attempt's line, or in the message that follows."""
        said = map(words.first_line, self._reasons.values())
        return event.is_error or (not self._is_quiet and words.first_line(event.reason) in said)


def headline(event: e.RunEnded, *, shown: bool = False) -> str:
    """How a run ended, in one line; `shown`: the reason is shown elsewhere."""
    reason = words.cut(words.first_line(event.reason), 300)
    stopped = "" if shown else f" · {reason}"
    match event.ending:
        case Ending.DONE:
            green = "all required gates green" if event.optional else "all gates green"
            proof = green if event.gates else "all pages green"
            agreed = " · final verification agreed" if event.verified else ""
            where = f", {words.IN_PLACE}" if event.in_place else ""
            manual = f" · {event.accepted} accepted manually" if event.accepted else ""
            is_known = event.gates and not event.unrecorded
            proven = f" · {event.proven} of {words.count(event.tasks, 'task')} proven" if is_known else ""
            return f"{event.target}: complete · {proof}{where}{agreed}{proven}{manual}"
        case Ending.BLOCKED:
            return f"{event.target}: not finished · {reason}"
        case Ending.HALTED:
            return f"{event.target}: halted · {reason}"
        case Ending.UNVERIFIED:
            return f"{event.target}: all passed, UNVERIFIED · {reason}"
        case Ending.ONCE:
            unverified = f", UNVERIFIED · {event.unverified}" if reason == "passed" and event.unverified else ""
            return f"{event.target}: one attempt made · {reason}{unverified}"
        case Ending.LIMITED:
            return f"{event.target}: stopped at a limit{stopped}"
        case Ending.BUDGET:
            return f"{event.target}: stopped · {reason}"
        case Ending.STOPPED:
            return f"{event.target}: stopped{stopped}"
        case Ending.INTERRUPTED:
            why = reason.rstrip(".") if reason else "interrupted"
            return f"{event.target}: {why[0].lower()}{why[1:]} · run the same command again to resume"
