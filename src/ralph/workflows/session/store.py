"""A session's folder: its roles write it, and their marks are the plan's state. Ralph reads it, takes back a mark that
did not come true, and writes down what a person accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ralph import limits, safe_files
from ralph.plan.model import Acceptance, Plan, Task, TaskResult, TaskState
from ralph.stores import atomic
from ralph.workflows.session import acceptances, router
from ralph.workflows.session.acceptances import ACCEPTED
from ralph.workflows.session.files import (
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
)
from ralph.workflows.session.router import Mark, ProgressItem, RoleCall, SessionState, Stuck
from ralph.workspace import SESSIONS


@dataclass(frozen=True)
class Session:
    """The texts of a session's folder at one moment."""

    id: str
    texts: Mapping[str, str]

    @property
    def path(self) -> str:
        """The folder, relative to the project's root."""
        return f"{SESSIONS}/{self.id}"

    @cached_property
    def items(self) -> tuple[ProgressItem, ...] | None:
        """None before progress.md exists."""
        return read_progress(self.texts[PROGRESS]) if PROGRESS in self.texts else None

    @cached_property
    def entries(self) -> tuple[TaskEntry, ...]:
        return read_tasks(self.texts.get(TASKS, ""))

    @property
    def state(self) -> SessionState:
        return router.infer(self.items)

    @cached_property
    def call(self) -> RoleCall | Stuck:
        """The role that comes next."""
        cycles = read_cycles(self.texts.get(QUESTIONS, ""))
        return router.route(self.items, self.texts, cycles=max(cycles, default=0))

    @property
    def tasks(self) -> tuple[ProgressItem, ...]:
        return tuple(item for item in self.items or () if item.is_task)

    @cached_property
    def accepted(self) -> Mapping[str, TaskResult]:
        """What a person accepted, by the task's id."""
        return acceptances.read(self.texts.get(ACCEPTED, ""))

    def acceptance(self, item: ProgressItem) -> Acceptance | None:
        """The person's acceptance of a task that is done; None: its reviewer decided."""
        result = self.accepted.get(item.id) if item.mark is Mark.DONE else None
        return result.accepted if result else None

    def mark(self, item_id: str) -> Mark | None:
        return next((item.mark for item in self.items or () if item.id == item_id), None)

    def entry(self, task_id: str) -> TaskEntry | None:
        return next((entry for entry in self.entries if entry.id == task_id), None)

    def newest_report(self, task_id: str) -> str:
        """The name of a task's newest report; empty: there is none."""
        number = router.last_report(task_id, self.texts)
        return router.report_name(task_id, number) if number else ""

    def report(self, task_id: str, number: int) -> str:
        return self.texts.get(router.report_name(task_id, number), "")

    @property
    def last_review(self) -> str:
        """The text of the newest session review; empty: there was none."""
        return self.texts.get(router.review_name(router.last_iteration(self.texts)), "")

    @property
    def is_finished(self) -> bool:
        """Whether everything is done and the last review agrees: it covered every task, and found no gap."""
        if self.state is not SessionState.COMPLETE or read_verdict(self.last_review) != "complete":
            return False
        return all(mentions(self.last_review, item.id) for item in self.tasks)

    @property
    def final_review(self) -> str:
        """The review that found everything done; empty: there is none yet."""
        return f"{self.path}/{router.review_name(router.last_iteration(self.texts))}" if self.is_finished else ""

    @property
    def gaps(self) -> tuple[str, ...]:
        """The findings of the newest session review."""
        return findings(self.last_review)


class SessionStore:
    """Reads the folder as a plan. Ralph's own counts (attempts, failures) last as long as the run."""

    def __init__(self, project: Path, session_id: str, *, files: Mapping[str, bytes] | None = None) -> None:
        self._folder = project / SESSIONS / session_id
        self._id = session_id
        self._files = files  # for readers: then the number of reports is the number of attempts
        self.session = self._read()

    def load(self, data: bytes | None = None) -> Plan:
        return self._merge(Plan(target=self._id))

    def save(self, plan: Plan) -> Plan:
        """The plan that the files now contain, with Ralph's own counts."""
        session = self._read()
        for item in session.tasks:
            known = plan.find(item.id)
            if item.mark is Mark.DONE and known and known.notes and known.state is not TaskState.PASSED:
                self._set_mark(item, Mark.TODO)  # it was qualified, but could not be committed
            elif known and known.result and known.result.accepted and item.mark is not Mark.DONE:
                self._accept(item, known.result)
        return self._merge(plan)

    def _accept(self, item: ProgressItem, result: TaskResult) -> None:
        """A person's acceptance is a review: it goes into the newest report, where the session's reviewer finds it, and
        into a file that no role may write."""
        path = self._folder / (self.session.newest_report(item.id) or router.report_name(item.id, 1))
        if safe_files.is_file(path):
            with safe_files.open_old(path) as file:
                report = file.read().rstrip() + b"\n\n"
        else:
            report = f"# {item.id}\n\n".encode()
        atomic.write(path, report + f"## Review\n**Verdict**: Qualified\n\n{result.summary}\n".encode())
        session = self._read()
        kept = {name: one for name, one in session.accepted.items() if session.mark(name) is Mark.DONE}
        atomic.write(self._folder / ACCEPTED, acceptances.text_of({**kept, item.id: result}).encode())
        self._set_mark(item, Mark.DONE)

    def _set_mark(self, item: ProgressItem, mark: Mark) -> None:
        path = self._folder / PROGRESS
        lines = path.read_bytes().decode(errors="surrogateescape").splitlines(keepends=True)
        lines[item.line - 1] = re.sub(r"\[[^\]]*\]", f"[{mark.value}]", lines[item.line - 1], count=1)
        atomic.write(path, "".join(lines).encode(errors="surrogateescape"))

    def _merge(self, plan: Plan) -> Plan:
        session = self.session = self._read()
        items = session.items or ()
        done = frozenset(item.id for item in items if item.is_planning and item.mark is Mark.DONE)
        return replace(
            plan,
            tasks=tuple(self._with_attempts(_task(session, item, plan.find(item.id))) for item in session.tasks),
            setup=replace(plan.setup, done=done | (plan.setup.done - set(router.PLANNING_TASKS))),
            review=plan.review if session.is_finished else replace(plan.review, verified_at="", verified_commit=""),
        )

    def _with_attempts(self, task: Task) -> Task:
        return (
            replace(task, attempts=router.last_report(task.id, self.session.texts)) if self._files is not None else task
        )

    def _read(self) -> Session:
        if self._files is not None:
            return session_of(self._files, self._id)
        return read_session(self._folder, self._id)


def read_session(folder: Path, session_id: str) -> Session:
    """Every regular file of a session's folder."""
    files: dict[str, bytes] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
        if path.is_file() and not path.is_symlink():
            files[path.name] = safe_files.beginning(path, limits.SESSION_FILE)
    return session_of(files, session_id)


def session_of(files: Mapping[str, bytes], session_id: str) -> Session:
    return Session(session_id, {name: decode(data) for name, data in files.items()})


def _task(session: Session, item: ProgressItem, known: Task | None) -> Task:
    entry = session.entry(item.id)
    task = known or Task(id=item.id, title=item.title)
    is_blocked = task.state is TaskState.BLOCKED
    state = TaskState.PASSED if item.mark is Mark.DONE else task.state if is_blocked else TaskState.PENDING
    return replace(
        task,
        title=item.title or (entry.title if entry else "") or item.id,
        description=entry.text if entry else "",
        depends_on=entry.inherits if entry else (),
        state=state,
        result=task.result or session.accepted.get(item.id),
    )
