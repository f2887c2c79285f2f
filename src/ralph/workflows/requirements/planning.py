"""Makes the requirements workflow's plan: tasks from requirements, more tasks later, done ones into the archive."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import to_json

from ralph import validation
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.git import read as git_read
from ralph.journal.events import Noted
from ralph.stores import atomic
from ralph.stores.task_codec import entries, render
from ralph.validation import Json, Mistakes
from ralph.workflows.formats import TASKS
from ralph.workflows.planning import Planner
from ralph.workflows.requirements import answers as tasks_answers
from ralph.workflows.requirements.answers import NewTaskEntry
from ralph.workflows.requirements.store import notes
from ralph.workflows.requirements.store import read as read_tasks
from ralph.workflows.requirements.workflow import ARCHIVE, LEARNINGS, REQUIREMENTS, TARGET, Layout, listed

LEARNINGS_ARCHIVE = ".ralph/learnings_archive.md"
COMPACT_ABOVE = 8_000
COMPACT_TO = 4_000
NUMBERED = re.compile(r"T-(\d{1,4000})")
OWN = ("id", "title", "description", "acceptance_criteria", "depends_on")


class AddResult(Frozen):
    """The result of `ralph add`."""

    tasks: list[Json]
    archived: int
    compacted: bool


@dataclass
class TaskMaker:
    """Asks an agent for tasks, and takes only valid ones."""

    planner: Planner
    layout: Layout
    repository: Path  # the project, whose repository has the attempts

    @property
    def root(self) -> Path:
        return self.planner.root

    async def create(self, requirements: str) -> Json:
        """A new plan from requirements; writes nothing."""

        def read(data: bytes) -> Json:
            proposal = tasks_answers.parse_proposal(data)
            document: Json = {
                "version": 1,
                "project": proposal.project,
                "description": proposal.description,
                "tasks": numbered(proposal.tasks, taken=set()),
            }
            TASKS.check(to_json(document), name="the list of tasks")
            return document

        return await self.planner.ask(
            "tasks", "Turning the requirements into tasks", "tasks-create", {"requirements": requirements}, read
        )

    async def add(self, work: str) -> AddResult:
        """Add new tasks to the plan and move done ones to the archive; all or nothing."""
        data = validation.read(self.root / self.layout.plan)
        document, plan = read_tasks(data, name=self.layout.plan)
        archive = Archive.load(self.root)
        taken = {*archive.ids, *(task.id for task in plan), *self._tried(str(document.get("app", "")))}
        variables = {
            "work": work,
            "requirements": notes(self.root / REQUIREMENTS),
            "tasks": listed(plan),
            "nextId": next_id(taken),
        }

        def read(answer: bytes) -> tuple[list[Json], Json]:
            new = numbered(tasks_answers.parse_proposal(answer).tasks, taken)
            grown = extended(document, new, archived=archive.ids)
            TASKS.check(to_json(grown), name="the list of tasks")
            return new, grown

        new, grown = await self.planner.ask("add", "Turning the work into tasks", "tasks-add", variables, read)
        done = [entry for entry in entries(document, "tasks") if entry.get("status") == "done"]
        archive.save(done)  # first: from here on, they are in at least one of the two files
        atomic.write(self.root / self.layout.plan, render(grown))
        return AddResult(tasks=new, archived=len(done), compacted=await self._try_to_compact())

    async def _try_to_compact(self) -> bool:
        """The new tasks are saved already: if the learnings stay long, that is not an error."""
        try:
            return await self._compact()
        except RalphError as error:
            self.planner.run.emit(Noted(text=f"The learnings were not compacted: {error.what}", warning=True))
            return False

    async def _compact(self) -> bool:
        """Shorten the learnings if they are long. The long version goes into the archive first."""
        path = self.root / LEARNINGS
        text = notes(path)
        if len(text) <= COMPACT_ABOVE:
            return False

        def read(data: bytes) -> str:
            short = data.decode(errors="replace").strip() + "\n"
            if len(short) > COMPACT_TO:
                raise RalphError(f"It has {len(short)} characters; the limit is {COMPACT_TO}.")
            return short

        variables = {"learnings": text, "limit": COMPACT_TO}
        short = await self.planner.ask("compact", "Compacting the learnings", "learnings-compact", variables, read)
        archive, whole = self.root / LEARNINGS_ARCHIVE, path.read_bytes().rstrip() + b"\n\n"
        old = archive.read_bytes() if archive.is_file() else b""
        if whole not in old:
            atomic.write(archive, old + whole)
        atomic.write(path, short.encode())
        return True

    def _tried(self, app: str) -> set[str]:
        """Ids that have kept attempts: none of them may be reused."""
        return {ref.task for ref in git_read.attempts(self.repository / app, TARGET)}


class Archive(Frozen):
    """`.ralph/prd_archive.json`: every done task that was moved out of the plan."""

    path: Path
    document: Json

    @classmethod
    def load(cls, root: Path) -> Archive:
        path = root / ARCHIVE
        if not path.exists():
            return cls(path=path, document={"version": 1, "tasks": []})
        remedy = "Fix the file, or move it elsewhere. Ralph does not need it to continue."
        try:
            document = validation.parse_object(validation.read(path), name=ARCHIVE)
        except Mistakes as error:
            raise Mistakes(ARCHIVE, error.mistakes, remedy) from None
        if not isinstance(document.get("tasks"), list):
            raise Mistakes(ARCHIVE, ["tasks: expected a list"], remedy)
        return cls(path=path, document=document)

    @property
    def ids(self) -> set[str]:
        return {str(entry.get("id")) for entry in entries(self.document, "tasks")}

    def save(self, done: list[Json]) -> None:
        """Add what is missing: after a crash between two writes, a task can be in both files."""
        new = [entry for entry in done if entry not in entries(self.document, "tasks")]
        if new:
            document = {**self.document, "tasks": [*entries(self.document, "tasks"), *new]}
            atomic.write(self.path, render(document))


def numbered(tasks: list[NewTaskEntry], taken: set[str]) -> list[Json]:
    """Tasks as the plan contains them: an id for each that has none, and no id that is taken."""
    clashes = [task.id for task in tasks if task.id and task.id in taken]
    if clashes:
        mistakes = [f"the id {name!r} is taken; start with {next_id(taken)}" for name in clashes]
        raise Mistakes("the list of tasks", mistakes)
    used = {*taken, *(task.id for task in tasks if task.id)}
    entries: list[Json] = []
    for task in tasks:
        name = task.id or next_id(used)
        used.add(name)
        entries.append({**_content(task), "id": name, "status": "todo"})
    return entries


def extended(document: Json, new: list[Json], *, archived: set[str]) -> Json:
    """The plan without done tasks and with new ones; a dependency on a done task is met."""
    known = entries(document, "tasks")
    done = {*archived, *(str(entry.get("id")) for entry in known if entry.get("status") == "done")}
    kept = [entry for entry in known if entry.get("status") != "done"]
    tasks = [
        {**entry, "depends_on": [name for name in wanted if name not in done]}
        if isinstance(wanted := entry.get("depends_on"), list)
        else entry
        for entry in (*kept, *new)
    ]
    return {**document, "tasks": tasks}


def next_id(taken: set[str]) -> str:
    """The first id after all that were ever used."""
    numbers = [int(found[1]) for name in taken if (found := NUMBERED.fullmatch(name))]
    return f"T-{max(numbers, default=0) + 1:03}"


def _content(task: NewTaskEntry) -> Json:
    """The fields that an agent may set in a new task; Ralph sets the state."""
    return {key: value for key, value in task.model_dump().items() if key in OWN and value is not None}
