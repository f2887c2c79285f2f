"""A run as a person watches it: plain lines for past events, and on a terminal one live line for now."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ralph.journal import events as e
from ralph.journal.events import Event
from ralph.plan.evidence import Evidence
from ralph.plan.model import NeedKind, TaskState, is_in_place
from ralph.plan.work import Ending, Verdict, WorkKind
from ralph.views import judgements, sandbox, words
from ralph.views.gate_lines import GateLines
from ralph.views.lines import Clock, say, stamped
from ralph.views.living import LivingLine
from ralph.views.spent import used


class TerminalView:
    """Listens to a journal. Call `tick` once a second: it updates the live line, or prints a heartbeat elsewhere."""

    def __init__(
        self, *, quiet: bool = False, as_json: bool = False, folder: Path | None = None, clock: Clock | None = None
    ) -> None:
        """`as_json`: standard output is for a document, so only warnings are printed, on standard error."""
        self._quiet = quiet = quiet or as_json
        self._errors_only = as_json
        self._folder = folder or Path.cwd()
        self._clock = clock or Clock()
        self._living = LivingLine(quiet=quiet, clock=self._clock)
        self._tasks = self._passed = 0  # from the last event
        self._title = ""  # the title of the current task, if there is only one
        self._is_session = False
        self._jobs = 1
        self._reasons: dict[str, str] = {}  # why each work's last attempt did not pass
        self._found: set[str] = set()  # works whose browser findings were just printed
        self._who = ""  # what the next line is about, if several attempts run: a task, in a race also its agent
        self._racers: dict[tuple[str, int], str] = {}  # the agents of attempts that race
        self._gates = GateLines(self._line, self._living, self._name)
        self._handlers: dict[type[Event], Callable[..., None]] = {
            e.RunStarted: self._run_started,
            e.Noted: self._noted,
            **dict.fromkeys((e.SandboxChosen, e.HostRefused), partial(sandbox.show, self._line)),
            **{kind: partial(show, self._line) for kind, show in judgements.SHOWN.items()},
            e.BaselineStarted: self._baseline_started,
            e.BaselineEnded: self._baseline_ended,
            e.AttemptStarted: self._attempt_started,
            e.AgentStarted: self._agent_started,
            e.AgentSpoke: self._agent_spoke,
            e.AgentEnded: self._agent_ended,
            e.Marked: self._marked,
            e.Learned: self._learned,
            e.Undone: self._undone,
            e.ServiceStarted: self._service_started,
            **self._gates.handlers,
            e.PageChecked: self._page_checked,
            e.StepRetried: self._step_retried,
            e.BreakerChanged: self._breaker_changed,
            e.AttemptEnded: self._attempt_ended,
            e.TaskBlocked: self._task_blocked,
            e.SpecClosed: self._spec_closed,
            e.Waited: self._waited,
            e.Steered: self._steered,
            e.EvidenceStarted: self._evidence_started,
            e.EvidenceEnded: self._evidence_ended,
            e.RunEnded: self._run_ended,
        }

    def __call__(self, event: Event, _line: str = "") -> None:
        handler = self._handlers.get(type(event))
        if handler:
            if isinstance(event, e.AttemptStarted) and event.race:
                again = f" {event.attempt}" if event.race.count(event.agent) > 1 else ""
                self._racers[event.work, event.attempt] = f"{event.agent}{again}"
            name = self._name(event)
            self._who = name if self._jobs > 1 or name != str(getattr(event, "work", "")) else ""
            handler(event)

    def _name(self, event: Event) -> str:
        """Return the work that an event is about, and in a race the agent."""
        work, attempt = str(getattr(event, "work", "")), getattr(event, "attempt", 0)
        return " ".join(filter(None, (work, self._racers.get((work, attempt), ""))))

    def close(self) -> None:
        """The run is over; no more events follow."""
        self._living.clear()

    def tick(self) -> None:
        self._living.tick()

    def line(self, text: str = "", **style: Any) -> None:
        """A line that a quiet view shows too: wrapped on a terminal, with the time of day elsewhere."""
        self._living.clear()
        stream = sys.stderr if self._errors_only else sys.stdout
        is_now = stream.isatty() and not self._clock.is_past
        say(text if is_now else stamped(text, self._clock.of_day()), err=self._errors_only, **style)

    def _line(self, text: str = "", *, always: bool = False, **style: Any) -> None:
        if self._quiet and not always:
            return
        if self._who and text:
            text = f"{self._who:>8} │ {text.strip()}"
            style["hang"] = max(len(self._who), 8) + 5 - (len(text) - len(text.lstrip()))
        lead = text[: len(text) - len(text.lstrip("\n"))]
        self.line(lead + text[len(lead) :].replace("\n", "\n    "), **style)  # no further line passes for Ralph's own

    def _run_started(self, event: e.RunStarted) -> None:
        self._jobs = event.jobs
        self._count(event)
        self._is_session = event.workflow == "session"
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

    def _attempt_started(self, event: e.AttemptStarted) -> None:
        name = event.title if event.kind is not WorkKind.TASK else f"{event.work} {event.title}"
        limit = f" of {event.max_failures}" if event.max_failures else ""
        tries = f", try {event.failures + 1}{limit}" if event.failures else ""
        again = ", resumed" if event.resumed else ""
        self._living.end("")
        self._found.discard(event.work)
        self._title = words.cut(event.title, 30) if self._jobs == 1 else ""
        self._count(event)
        which = (
            f" (attempt {event.attempt}{tries}{again})" if event.kind is not WorkKind.FINISH else " (all tasks settled)"
        )
        if event.kind is WorkKind.SETUP and self._is_session and not tries:  # its calls are of different kinds
            which = ""
        self._line(f"\n▶ {self._far}{name}{which}", bold=True)

    @property
    def _far(self) -> str:
        """How many tasks have passed so far; empty if there are none, as in planning."""
        return f"{words.bar(self._passed, self._tasks)} {self._passed}/{self._tasks} " if self._tasks else ""

    def _count(self, event: e.RunStarted | e.AttemptStarted | e.AttemptEnded) -> None:
        """Take the plan's progress from an event: several attempts may run, and any of them may have passed."""
        self._tasks, self._passed = event.tasks, event.passed + event.accepted
        self._living.at = f"{self._far}{self._title}"

    def _agent_started(self, event: e.AgentStarted) -> None:
        self._living.end("")  # nothing waits any more
        self._living.begin(self._name(event), f"agent {Path(event.command).name} working")

    def _agent_spoke(self, event: e.AgentSpoke) -> None:
        self._living.hear(self._name(event), event.text)

    def _agent_ended(self, event: e.AgentEnded) -> None:
        self._living.end(self._name(event))
        said = ", ".join(claim for claim in event.claims if claim not in ("LEARNING", "REASON"))
        how = f"says {said}" if said else "finished"
        if event.how != "answered" and (event.how != "exited" or event.code):
            how = f"{event.how}, exit code {event.code}" if event.how == "exited" else event.how
        used = [words.tokens(event.usage), words.cost(event.usage)] if event.usage.input_tokens is not None else []
        self._line("  " + " · ".join(["  agent " + how, words.duration(event.seconds), *used]))

    def _marked(self, event: e.Marked) -> None:
        self._line(f"    the agent marked {event.work} as {', '.join(event.claims)} in the plan: a claim, reverted")

    def _learned(self, event: e.Learned) -> None:
        self._line(f"    learned: {words.cut(event.text, 200)}", fg="cyan")

    def _undone(self, event: e.Undone) -> None:
        names = ", ".join(event.paths[:5]) + (" …" if len(event.paths) > 5 else "")
        self._line(f"    undone: the agent changed {names}; its version is in {self._short(event.kept_in)}", fg="red")

    def _service_started(self, event: e.ServiceStarted) -> None:
        self._line(f"    service {event.service} answers at {event.ready} · {words.duration(event.seconds)}")

    def _evidence_started(self, event: e.EvidenceStarted) -> None:
        self._living.begin(self._name(event), "gates without this work")

    def _evidence_ended(self, event: e.EvidenceEnded) -> None:
        self._living.end(self._name(event))
        text = words.cut(words.proof(event.evidence, event.proven_by), 300)
        if event.evidence is Evidence.PROVEN:
            self._line(f"    ✓ {text}", fg="green")
        else:
            self._line(f"    {text}", dim=True)

    def _page_checked(self, event: e.PageChecked) -> None:
        result = event.result
        shot = f" · {result.screenshot}" if result.screenshot else ""
        about = f"page {result.page} · {words.duration(result.seconds)}"
        if event.work and not event.attempt:  # no attempt has been made yet
            found = words.count(len(result.findings), "finding") if result.findings else "no problems"
            self._line(f"    before: page {result.page} · {found}{shot}", dim=True)
            return
        if result.passed:
            self._line(f"    ✓ {about}{shot}", fg="green")
            return
        self._found.add(event.work)
        self._line(f"    ✗ {about} · {words.count(len(result.findings), 'finding')}{shot}", fg="red")
        for finding in result.findings:
            self._line(f"        {finding.kind}: {words.cut(finding.text, 150)}", dim=True)

    def _step_retried(self, event: e.StepRetried) -> None:
        when = f" in {words.duration(event.delay)}" if event.delay else ""
        self._line(f"    retrying {event.step}{when}: {words.first_line(event.reason)}")

    def _breaker_changed(self, event: e.BreakerChanged) -> None:
        if event.state == "closed":
            self._line(f"    the circuit breaker of {event.step} is closed again", fg="green")
        else:
            times = words.count(event.failures, "failure")
            self._line(f"    the circuit breaker of {event.step} is open after {times} in a row", fg="yellow")

    def _attempt_ended(self, event: e.AttemptEnded) -> None:
        self._living.end(self._name(event))
        self._count(event)
        if event.kind is WorkKind.FINISH and event.verdict is Verdict.PASSED:
            return  # the next event says how the spec was closed
        self._reasons[event.work] = event.reason
        reason = words.cut(words.first_line(event.reason), 300)
        match event.verdict:
            case Verdict.PASSED:
                where = f", {event.evidence.value}" if event.evidence else ""
                where += f", {words.IN_PLACE}" if is_in_place(event.gates) else ""
                where += f", {words.flaky(event.gates)}" if words.flaky(event.gates) else ""
                text = {
                    WorkKind.TASK: f"{event.work} passed{where} · {event.commit[:10] or 'no change to the project'}",
                    WorkKind.REVIEW: "the final verification agreed",
                    WorkKind.PLAN: "answered",
                    WorkKind.SETUP: f"{event.work} done · {event.commit[:10]}",
                }[event.kind]
                self._line(f"  ✓ {text} · {words.duration(event.seconds)}", fg="green", bold=True)
            case Verdict.REOPENED:
                who = event.reopened or ((event.work,) if event.kind is WorkKind.TASK else ())
                sent = f"sent back: {', '.join(who)} · " if who else ""
                self._line(f"  ↺ {sent}{reason}", fg="yellow", bold=True)
            case Verdict.FAILED:
                self._line(f"  ✗ {event.work} failed: {reason}", fg="red", bold=True)
                shown = any(not gate.passed for gate in event.gates) or event.work in self._found  # printed above
                for line in [] if shown else [line for line in event.reason.splitlines() if line.strip()][1:][-3:]:
                    self._line(f"        {words.cut(line, 150)}", dim=True)
            case Verdict.UNFINISHED:
                self._line(f"  … {event.work} continues in the next loop: {reason}", fg="yellow")
            case Verdict.HELD:
                self._line(f"  ‖ {event.work} is held: {reason}", fg="yellow", bold=True)
            case Verdict.BLOCKED:
                self._line(f"  ✗ {event.work} cannot continue: {reason}", fg="red", bold=True)
            case Verdict.CONFLICTED:
                self._line(f"  ↺ {event.work} must be redone: {reason.removesuffix(':')}", fg="yellow", bold=True)
            case _:
                self._line(f"  ‖ {event.work} {event.verdict.value}: {reason}", fg="yellow", bold=True)

    def _task_blocked(self, event: e.TaskBlocked) -> None:
        is_held = event.need in (NeedKind.APPROVAL.value, NeedKind.REVIEW.value)
        mark, what, colour = ("‖", "held", "yellow") if is_held else ("✗", "blocked", "red")
        self._line(f"  {mark} {event.work} is {what}; its work is kept in {event.ref}", fg=colour)
        why = words.first_line(event.reason)
        if why != words.first_line(self._reasons.get(event.work, "")):  # otherwise it was just printed
            self._line(f"    {words.cut(why, 300)}", fg="red")

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
        if self._gates.flaky:
            names = ", ".join(f"`{name}`" for name in self._gates.flaky)
            self._line(f"  flaky gates: {names}, red and then green on the same files", always=True, fg="yellow")
        if event.attempts or event.usage.calls:
            self._line(f"  {used(event.usage)}", always=True)
        if event.total.calls > event.usage.calls:
            self._line(f"  in all runs: {used(event.total)}", always=True)

    def _is_shown(self, event: e.RunEnded) -> bool:
        """Whether the reason is shown elsewhere: in the last attempt's line, or in the message that follows."""
        said = map(words.first_line, self._reasons.values())
        return event.is_error or (not self._quiet and words.first_line(event.reason) in said)

    def _short(self, path: str) -> str:
        return str(Path(path).relative_to(self._folder)) if self._folder in Path(path).parents else path


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
