"""The contract of each role: the artifacts and marks it must write, and what it must not change. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ralph.errors import RalphError
from ralph.plan.work import ContractResult, FileTexts, Verdict, listed
from ralph.workflows.session.files import (
    PLAN,
    PROGRESS,
    QUESTIONS,
    TASKS,
    TaskEntry,
    decode,
    findings,
    mentions,
    read_cycles,
    read_progress,
    read_tasks,
    read_verdict,
    review_part,
)
from ralph.workflows.session.router import PLANNING_TASKS, Mark, Mode, ProgressItem, RoleCall, report_name, review_name

GOAL = "Goal & Success Criteria"


def artifacts(call: RoleCall, session_id: str) -> tuple[str, ...]:
    """The files a call may write, by their names in the session's folder."""
    match call.mode:
        case Mode.INITIALIZE | Mode.UPDATE:
            return (PLAN, TASKS, PROGRESS, f"{session_id}.instructions.md")
        case Mode.TASK_BREAKDOWN:
            return (PLAN, TASKS, PROGRESS)
        case Mode.BRAINSTORM | Mode.RESEARCH:
            return (QUESTIONS, PROGRESS)
        case Mode.EXECUTE | Mode.TASK_REVIEW:
            return (report_name(call.task, call.number), PROGRESS)
        case Mode.SESSION_REVIEW:
            return (review_name(call.number), TASKS, PROGRESS)


def check_call(call: RoleCall, folder: str, session_id: str, before: FileTexts, after: FileTexts) -> ContractResult:
    """Whether a call kept its role's contract; paths are relative to the project's root."""
    prefix = f"{folder}/"
    check = _ContractReview(
        call=call,
        session_id=session_id,
        before={path.removeprefix(prefix): decode(data) for path, data in before.items() if data is not None},
        after={path.removeprefix(prefix): decode(data) for path, data in after.items() if data is not None},
    )
    verdict, reason = CHECKS[call.mode](check)
    return ContractResult(
        mistakes=tuple(check.mistakes),
        restore=tuple(f"{prefix}{name}" for name in sorted(check.restore)),
        verdict=verdict,
        reason=reason,
    )


@dataclass
class _ContractReview:
    """A call's files before and after it, and their mistakes."""

    call: RoleCall
    session_id: str
    before: dict[str, str]
    after: dict[str, str]
    mistakes: list[str] = field(default_factory=list)
    restore: set[str] = field(default_factory=set)

    def add_mistake(self, mistake: str, *, restore: str = "") -> None:
        if mistake not in self.mistakes:
            self.mistakes.append(mistake)
        if restore:
            self.restore.add(restore)

    def require(self, name: str) -> str:
        """The text of a file that must exist."""
        text = self.after.get(name, "")
        if not text.strip():
            self.add_mistake(f"{name} is missing or empty" if name in self.before else f"{name} was not written")
        return text

    def marks(self) -> tuple[dict[str, ProgressItem], dict[str, ProgressItem]]:
        """The items of progress.md before and after; an unreadable file is restored."""
        old = {item.id: item for item in _read(self.before.get(PROGRESS))}
        try:
            new = {item.id: item for item in read_progress(self.require(PROGRESS))}
        except RalphError as error:
            if old:
                self.restore.add(PROGRESS)
            for detail in error.details if self.after.get(PROGRESS, "").strip() else ():
                self.add_mistake(f"{PROGRESS}: {detail}")
            return old, {}
        return old, new

    def entries(self) -> dict[str, TaskEntry]:
        try:
            return {entry.id: entry for entry in read_tasks(self.after.get(TASKS, ""))}
        except RalphError as error:
            for detail in error.details:
                self.add_mistake(f"{TASKS}: {detail}")
            return {}

    def only(self, mine: str = "", *, adds: bool = False) -> dict[str, ProgressItem]:
        """The marks after the call, which may change only one of them; `adds`: it may add open items."""
        old, new = self.marks()
        if not new:
            return new
        for item in old.values():
            if item.id not in new:
                self.add_mistake(f"{PROGRESS}: {item.id} was removed", restore=PROGRESS)
            elif item.id != mine and new[item.id].mark is not item.mark:
                was, now = item.mark.value, new[item.id].mark.value
                self.add_mistake(f"{PROGRESS}: you must not change the mark of {item.id}; it was [{was}], now [{now}]",
                           restore=PROGRESS)  # fmt: skip
        for item in new.values():
            if item.id not in old and not adds:
                self.add_mistake(f"{PROGRESS}: you must not add {item.id}", restore=PROGRESS)
        if adds:
            self.new_ones_are_open(old, new)
        return new

    def new_ones_are_open(self, old: Mapping[str, ProgressItem], new: Mapping[str, ProgressItem]) -> None:
        """No call may add an item that is already done."""
        for item in new.values():
            if item.id not in old and item.mark is not Mark.TODO:
                self.add_mistake(f"{PROGRESS}: {item.id} is new, so its mark must be [ ]", restore=PROGRESS)

    def has_mark(self, marks: dict[str, ProgressItem], item_id: str, mark: Mark) -> None:
        if marks and (item_id not in marks or marks[item_id].mark is not mark):
            found = f"it is [{marks[item_id].mark.value}]" if item_id in marks else "it is missing"
            self.add_mistake(f"{PROGRESS}: {item_id} must be marked [{mark.value}], but {found}")


Judgement = tuple[Verdict, str]
NOTHING: Judgement = (Verdict.PASSED, "")


def _initialize(review: _ContractReview) -> Judgement:
    plan = review.require(PLAN)
    if plan and GOAL.lower() not in plan.lower().replace("goals", "goal").replace(" and ", " & "):
        review.add_mistake(f"{PLAN} has no heading `{GOAL}`")
    review.require(f"{review.session_id}.instructions.md")
    entries = review.entries() if review.require(TASKS) else {}
    _, marks = review.marks()
    review.new_ones_are_open({}, {item.id: item for item in marks.values() if item.is_task})
    for item_id in PLANNING_TASKS:
        if entries and item_id not in entries:
            review.add_mistake(f"{TASKS}: {item_id} is missing")
        review.has_mark(marks, item_id, Mark.DONE if item_id == "plan-init" else Mark.TODO)
    _same_tasks(review, entries, marks)
    return NOTHING


def _update(review: _ContractReview) -> Judgement:
    if review.require(PLAN) == review.before.get(PLAN):
        review.add_mistake(f"{PLAN} was not changed: it must include the new requirements")
    review.require(TASKS)
    old, marks = review.marks()
    for item in old.values():
        now = marks[item.id].mark if item.id in marks else None
        if now is None and marks:
            review.add_mistake(f"{PROGRESS}: {item.id} was removed", restore=PROGRESS)
        elif now not in (None, item.mark) and (item.is_task or now is not Mark.TODO):
            review.add_mistake(f"{PROGRESS}: you must not change the mark of {item.id}", restore=PROGRESS)
    review.new_ones_are_open(old, marks)
    if marks and not any(item.is_open for item in marks.values()):
        review.add_mistake(f"{PROGRESS}: no task is open, so the new requirements would never be done")
    _same_tasks(review, review.entries(), marks)
    return NOTHING


def _breakdown(review: _ContractReview) -> Judgement:
    entries = review.entries() if review.require(TASKS) else {}
    marks = review.only("plan-breakdown", adds=True)
    review.has_mark(marks, "plan-breakdown", Mark.DONE)
    if marks and not any(item.is_task for item in marks.values()):
        review.add_mistake(f"{PROGRESS}: there is no open task-…")
    _same_tasks(review, entries, marks)
    return NOTHING


def _brainstorm(review: _ContractReview) -> Judgement:
    cycle = read_cycles(review.require(QUESTIONS)).get(review.call.number)
    if not cycle:
        review.add_mistake(f"{QUESTIONS} has no questions below `## Cycle {review.call.number}`")
    _older_cycles(review)
    review.has_mark(review.only("plan-brainstorm"), "plan-brainstorm", Mark.DONE)
    return NOTHING


def _research(review: _ContractReview) -> Judgement:
    number = review.call.number
    cycle = read_cycles(review.require(QUESTIONS)).get(number)
    if not cycle or cycle == read_cycles(review.before.get(QUESTIONS, "")).get(number):
        review.add_mistake(f"{QUESTIONS} has no answers below `## Cycle {number}`")
    _older_cycles(review)
    review.has_mark(review.only("plan-research"), "plan-research", Mark.DONE)
    return NOTHING


def _older_cycles(review: _ContractReview) -> None:
    now = read_cycles(review.after.get(QUESTIONS, ""))
    for number, text in read_cycles(review.before.get(QUESTIONS, "")).items():
        if number != review.call.number and now.get(number) != text:
            review.add_mistake(f"{QUESTIONS}: cycle {number} is closed and must not be changed", restore=QUESTIONS)


def _execute(review: _ContractReview) -> Judgement:
    review.require(report_name(review.call.task, review.call.number))
    review.has_mark(review.only(review.call.task), review.call.task, Mark.TO_REVIEW)
    return NOTHING


def _task_review(review: _ContractReview) -> Judgement:
    name = report_name(review.call.task, review.call.number)
    before, after = review.before.get(name, ""), review.after.get(name, "")
    if not after.startswith(before.rstrip()):
        review.add_mistake(f"{name}: you may only add to it", restore=name)
        return NOTHING
    added = after[len(before.rstrip()) :]
    verdict = read_verdict(added)
    if not review_part(added):
        review.add_mistake(f"{name}: your part must start with the heading `## Review`")
    if verdict not in ("qualified", "failed"):
        review.add_mistake(f"{name}: there is no verdict; write `**Verdict**: Qualified` or `**Verdict**: Failed`")
    marks = review.only(review.call.task)
    if verdict == "qualified":
        review.has_mark(marks, review.call.task, Mark.DONE)
    if verdict != "failed":
        return NOTHING
    review.has_mark(marks, review.call.task, Mark.TODO)
    found = findings(review_part(added))
    if not found:
        review.add_mistake(f"{name}: a failed review must list what is wrong")
    return Verdict.FAILED, listed("The reviewer did not accept it", found)


def _session_review(review: _ContractReview) -> Judgement:
    name = review_name(review.call.number)
    text = review.require(name)
    verdict = read_verdict(text)
    old, _ = review.marks()
    marks = review.only(adds=True)
    new = [item.id for item in marks.values() if item.id not in old]
    if text and verdict not in ("complete", "gaps"):
        review.add_mistake(f"{name}: there is no verdict; write `**Verdict**: Complete` or `**Verdict**: Gaps`")
    for item in old.values():
        if text and item.is_task and not mentions(text, item.id):
            review.add_mistake(f"{name}: it does not mention {item.id}")
    if verdict == "complete" and new:
        review.add_mistake(f"{name} says Complete, but {', '.join(new)} was added")
    if verdict == "gaps" and marks and not any(item_id.startswith("task-") for item_id in new):
        review.add_mistake(f"{PROGRESS}: add a new task-… with the mark [ ] for every gap")
    _unchanged_tasks(review)
    _same_tasks(review, review.entries(), marks)
    if verdict != "gaps":
        return NOTHING
    return Verdict.REOPENED, listed("The session review found gaps", findings(text))


def _unchanged_tasks(review: _ContractReview) -> None:
    """A session review may add tasks; existing tasks must not change."""
    now = review.entries() if review.require(TASKS) else {}
    for entry in _entries(review.before.get(TASKS)):
        if not review.after.get(TASKS, "").strip():
            review.restore.add(TASKS)
        elif now and (entry.id not in now or now[entry.id].text != entry.text):
            review.add_mistake(f"{TASKS}: {entry.id} must not be changed; add new tasks at the end", restore=TASKS)


def _same_tasks(review: _ContractReview, entries: Mapping[str, TaskEntry], marks: Mapping[str, ProgressItem]) -> None:
    """Each task must be in both files."""
    if not entries or not marks:
        return
    for item_id in sorted({name for name in entries if name.startswith("task-")} - set(marks)):
        review.add_mistake(f"{PROGRESS}: {item_id} is missing, but is in {TASKS}")
    for item_id in sorted({name for name in marks if name.startswith("task-")} - set(entries)):
        review.add_mistake(f"{TASKS}: {item_id} is missing, but is in {PROGRESS}")


CHECKS: dict[Mode, Callable[[_ContractReview], Judgement]] = {
    Mode.INITIALIZE: _initialize,
    Mode.UPDATE: _update,
    Mode.TASK_BREAKDOWN: _breakdown,
    Mode.BRAINSTORM: _brainstorm,
    Mode.RESEARCH: _research,
    Mode.EXECUTE: _execute,
    Mode.TASK_REVIEW: _task_review,
    Mode.SESSION_REVIEW: _session_review,
}


def _read(text: str | None) -> tuple[ProgressItem, ...]:
    try:
        return read_progress(text or "")
    except RalphError:
        return ()


def _entries(text: str | None) -> tuple[TaskEntry, ...]:
    try:
        return read_tasks(text or "")
    except RalphError:
        return ()
