"""`ralph plan --edit`: opens copies of the plan's files in an editor, and takes them over if they are valid."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ralph import safe_files, validation
from ralph.checkout.open import CheckoutRequest
from ralph.config import Config
from ralph.engine.plan_files import plan_files
from ralph.errors import RalphError
from ralph.journal.writer import new_run_id, now
from ralph.process.blocking import hand_over
from ralph.stores import atomic, lock
from ralph.stores.task_codec import render
from ralph.validation import Json
from ralph.views.lines import say
from ralph.workflows.request.files import PRD, STATE, TASKS, FilesOnDisk, task_file, task_names
from ralph.workflows.request.locate import LocatedRequest
from ralph.workflows.request.phases import NEXT_STEP, UNPLANNED
from ralph.workflows.request.store import TARGET, load
from ralph.workspace import RALPH, Workspace

COPIES = "edit"


def edit_plan(workspace: Workspace, config: Config, located: LocatedRequest) -> None:
    """Let a person change prd.md and the tasks. The old files stay until the new ones are valid."""
    if located.phase in UNPLANNED:
        next_step = NEXT_STEP[located.phase] if located.phase else ""
        raise RalphError("There is no plan to edit yet.", remedy=f"{next_step[0].upper()}{next_step[1:]}.")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise RalphError("$EDITOR is not set.", remedy=f"Set it, or edit {PRD} and {TASKS}/ yourself.")
    run_id, branch = new_run_id(), located.branch.name if located.branch else ""
    with (
        lock.hold(workspace.lock, lock.me(run_id, TARGET), brief=True),
        plan_files(workspace, config, CheckoutRequest(target=TARGET, branch=branch), run_id) as root,
    ):
        editing = _EditSession(root, workspace.records / COPIES)
        editing.prepare()
        hand_over([*shlex.split(editor), *map(str, editing.files())])
        changed = editing.take()
    safe_files.remove_all(editing.copies)
    say("Nothing changed." if not changed else f"Changed: {', '.join(changed)}")


@dataclass(frozen=True)
class _EditSession:
    root: Path  # the project root that has the plan
    copies: Path

    def prepare(self) -> None:
        """Copies of the plan's files. If the last edit was invalid, its copies are offered again."""
        if self.copies.exists():
            say(f"Continuing your last edit, which had mistakes: {self.copies}")
            return
        (self.copies / "tasks").mkdir(parents=True)
        for source, copy in self._pairs(FilesOnDisk(self.root)):
            if (self.root / source).is_file():
                shutil.copyfile(self.root / source, copy)

    def files(self) -> list[Path]:
        return [self.copies / "prd.md", *sorted((self.copies / "tasks").glob("*.json"))]

    def take(self) -> list[str]:
        """Check the copies, then take them over. Returns the files that changed."""
        tasks = {path.name: path.read_bytes() for path in sorted((self.copies / "tasks").glob("*.json"))}
        state = self._state([name.removesuffix(".json") for name in tasks])
        try:
            load(render(state), tasks, name=RALPH)
        except validation.Mistakes as error:
            remedy = f"The plan was not changed. Run `ralph plan --edit` to continue your edit; it is in {self.copies}."
            raise validation.Mistakes("Your edit", error.mistakes, remedy) from None
        wanted = {task_file(name.removesuffix(".json")): data for name, data in tasks.items()}
        wanted[PRD] = validation.read(self.copies / "prd.md")
        changed = [path for path, data in wanted.items() if FilesOnDisk(self.root).read(path) != data]
        for path in changed:
            atomic.write(self.root / path, wanted[path])
        removed = [name for name in task_names(FilesOnDisk(self.root)) if name not in tasks]
        if changed or removed:
            atomic.write(self.root / STATE, render(state))
        for name in removed:
            (self.root / TASKS / name).unlink()
        return [*changed, *(f"{TASKS}/{name}" for name in removed)]

    def _state(self, ids: list[str]) -> Json:
        """The state with the present tasks: new ones come last, removed ones are dropped."""
        state = validation.parse_object(validation.read(self.root / STATE), name=STATE)
        order, statuses = state["task_order"], state["task_statuses"]
        assert isinstance(order, list) and isinstance(statuses, dict), "it was checked when it was read"
        names = [name for name in order if name in ids]
        names += [name for name in ids if name not in names]
        known = {name: statuses.get(name, "pending") for name in names}
        return {**state, "task_order": names, "task_statuses": known, "updated_at": now()}

    def _pairs(self, files: FilesOnDisk) -> Iterator[tuple[str, Path]]:
        yield PRD, self.copies / "prd.md"
        for name in task_names(files):
            yield f"{TASKS}/{name}", self.copies / "tasks" / name
