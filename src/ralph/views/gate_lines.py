"""Gates as a person watches them; several may run at the same time, and each result is one line with its details."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ralph.journal import events as e
from ralph.journal.events import Event
from ralph.plan.model import GateResult
from ralph.views import words
from ralph.views.living import LivingLine


class GateLines:
    """Prints what events say about gates."""

    def __init__(self, line: Callable[..., None], living: LivingLine, name: Callable[[Event], str]) -> None:
        self._line, self._living, self._name = line, living, name
        self.flaky: dict[str, None] = {}  # the gates of this run that were, in order

    @property
    def handlers(self) -> dict[type[Event], Callable[[Any], None]]:
        return {
            e.GateStarted: self._started,
            e.GateRepeated: self._repeated,
            e.GateEnded: self._ended,
            e.Confided: self._confided,
        }

    def _started(self, event: e.GateStarted) -> None:
        self._living.begin(self._name(event), f"gate {event.command}", part=event.gate, brief=f"gate {event.gate}")

    def _repeated(self, event: e.GateRepeated) -> None:
        self._red(event.result, "↻", "runs once more on the same files")
        name = event.result.name
        self._living.begin(self._name(event), f"gate {name} once more", part=name)

    def _ended(self, event: e.GateEnded) -> None:
        self._living.end(self._name(event), event.result.name)
        result = event.result
        where = f" · {words.IN_PLACE}" if result.in_place else ""
        took = words.duration(result.seconds)
        if result.not_run:
            colour = "red" if result.required else "yellow"
            self._line(f"    – {_called(result)} · {result.how_missed}: {result.reason}", fg=colour)
        elif result.flaky:
            self.flaky[result.name] = None
            self._line(f"    ✓ {_called(result)}{where} · {took} · {result.reason}", fg="yellow")
        elif result.passed:
            self._line(f"    ✓ {_called(result)}{where} · {took}", fg="green")
        else:
            self._red(result, "✗", "" if result.required else "optional, only a warning")

    def _red(self, result: GateResult, mark: str, remark: str) -> None:
        where = words.IN_PLACE if result.in_place else ""
        parts = (_called(result), where, words.duration(result.seconds), result.reason, remark)
        self._line(f"    {mark} {' · '.join(filter(None, parts))}", fg="red" if result.required else "yellow")
        for line in words.telling(result.output):
            self._line(f"        {words.cut(line, 150)}", dim=True)

    def _confided(self, event: e.Confided) -> None:
        for line in event.text.splitlines():
            self._line(f"        {words.cut(line, 300)}", fg="yellow")


def _called(result: GateResult) -> str:
    return result.command if result.name == result.command else f"{result.name}: {result.command}"
