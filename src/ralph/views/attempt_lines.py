"""What attempts print: what their agents did and said, what proves their work, how they ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralph.journal import events as e
from ralph.journal.events import Event
from ralph.plan.evidence import Evidence
from ralph.plan.model import NeedKind, is_in_place
from ralph.plan.work import Verdict, WorkKind
from ralph.views import words
from ralph.views.living import LivingLines


class AttemptLines:
    """Prints what events say about attempts, except about their gates."""

    def __init__(
        self, line: Callable[..., None], living: LivingLines, name: Callable[[Event], str], folder: Path
    ) -> None:
        self._line, self._living, self._name, self._folder = line, living, name, folder
        self.reasons: dict[str, str] = {}  # why each work's last attempt did not pass
        self._found: set[str] = set()  # works whose browser findings were just printed
        self._is_session = False

    @property
    def handlers(self) -> dict[type[Event], Callable[[Any], None]]:
        return {
            e.AttemptStarted: self._attempt_started,
            e.AgentStarted: self._agent_started,
            e.AgentSpoke: self._agent_spoke,
            e.AgentEnded: self._agent_ended,
            e.Marked: self._marked,
            e.Learned: self._learned,
            e.Undone: self._undone,
            e.ServiceStarted: self._service_started,
            e.PageChecked: self._page_checked,
            e.StepRetried: self._step_retried,
            e.AttemptEnded: self._attempt_ended,
            e.TaskBlocked: self._task_blocked,
            e.EvidenceStarted: self._evidence_started,
            e.EvidenceEnded: self._evidence_ended,
        }

    def of_session(self) -> None:
        """The run is of a session: the calls of its set-up are of different kinds."""
        self._is_session = True

    def _attempt_started(self, event: e.AttemptStarted) -> None:
        name = event.title if event.kind is not WorkKind.TASK else f"{event.work} {event.title}"
        limit = f" of {event.max_failures}" if event.max_failures else ""
        tries = f", try {event.failures + 1}{limit}" if event.failures else ""
        again = ", resumed" if event.resumed else ""
        self._found.discard(event.work)
        which = (
            f" (attempt {event.attempt}{tries}{again})" if event.kind is not WorkKind.FINISH else " (all tasks settled)"
        )
        if event.kind is WorkKind.SETUP and self._is_session and not tries:  # its calls are of different kinds
            which = ""
        self._line(f"\n▶ {self._far(event)}{name}{which}", bold=True)

    @staticmethod
    def _far(event: e.AttemptStarted) -> str:
        """How many tasks have passed so far; empty if there are none, as in planning."""
        passed = event.passed + event.accepted
        return f"{words.bar(passed, event.tasks)} {passed}/{event.tasks} " if event.tasks else ""

    def _agent_started(self, event: e.AgentStarted) -> None:
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

    def _attempt_ended(self, event: e.AttemptEnded) -> None:
        self._living.end(self._name(event))
        if event.kind is WorkKind.FINISH and event.verdict is Verdict.PASSED:
            return  # the next event says how the spec was closed
        self.reasons[event.work] = event.reason
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
        if why != words.first_line(self.reasons.get(event.work, "")):  # otherwise it was just printed
            self._line(f"    {words.cut(why, 300)}", fg="red")

    def _short(self, path: str) -> str:
        return str(Path(path).relative_to(self._folder)) if self._folder in Path(path).parents else path
