"""Asks an agent for an answer file, validates it, and sends mistakes back, for at most three tries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ralph.engine.attempt import run_attempt, tell_begin, tell_end
from ralph.engine.host import LocalHost
from ralph.engine.loop import attempt_of
from ralph.engine.run import Run
from ralph.engine.verdict import conclude
from ralph.errors import EXIT_INTERRUPTED, EXIT_LIMIT, RalphError
from ralph.journal.events import Noted
from ralph.journal.writer import now
from ralph.plan.attempt import Record, StepResult
from ralph.plan.work import Outcome, Verdict, Work
from ralph.protect.answer_file import clear, in_brief, mistakes_text, read_answer

T = TypeVar("T")
TRIES = 3


async def ask(run: Run, host: LocalHost, work: Work, answer: Path, read: Callable[[bytes], T]) -> T:
    """Return the agent's answer as parsed by `read`; if `read` rejects it, send the mistakes back to the agent."""
    mistakes = ""
    for number in range(1, TRIES + 1):
        clear(answer)
        outcome = await _attempt(run, host, work, number, mistakes)
        if outcome.verdict is Verdict.PASSED:
            try:
                return read(read_answer(answer))
            except RalphError as error:
                mistakes = mistakes_text(error)
                text = f"The answer cannot be used: {in_brief(error)}"
                run.emit(Noted(text=text, warning=True, work=work.id, attempt=number))
        else:
            mistakes = outcome.reason
    raise RalphError(
        f"The agent gave no usable answer in {TRIES} tries ({work.title.lower()}).",
        details=tuple(mistakes.splitlines()[:20]),
        remedy=f"Nothing was changed. Look at what it said: {run.logs}",
    )


async def _attempt(run: Run, host: LocalHost, work: Work, number: int, mistakes: str) -> Outcome:
    before = (StepResult(step="answer", verdict=Verdict.FAILED, reason=mistakes),) if mistakes else ()
    record = Record(
        run=run.id,
        target=run.plan.target,
        kind=work.kind,
        work=work.id,
        number=number,
        base="",
        branch="",
        began=run.clock(),
        steps=before,
    )
    tell_begin(run, work, record, failures=number - 1, most=TRIES)
    record = await run_attempt(attempt_of(run, work, record), host, record)
    run.forget(record)
    made = replace(record, steps=tuple(result for result in record.steps if result not in before))
    outcome = conclude(run.plan, work, made, now(), run.clock() - record.began)
    tell_end(run, work, record, outcome)
    if outcome.fatal:
        raise RalphError(
            outcome.reason, remedy="Mend that (log in, add credit, correct the model), then run this again."
        )
    if outcome.verdict is Verdict.INTERRUPTED:
        raise RalphError("Interrupted.", remedy="Nothing was changed; run this again.", code=EXIT_INTERRUPTED)
    if outcome.verdict is Verdict.LIMITED:
        raise RalphError(outcome.reason, remedy="Run this again later.", code=EXIT_LIMIT)
    return outcome
