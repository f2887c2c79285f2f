"""A request during planning: each step is saved when it ends, so planning resumes from there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ralph import validation
from ralph.journal.writer import now
from ralph.stores import atomic
from ralph.stores.task_codec import render
from ralph.validation import Json
from ralph.workflows.plan_rules import REQUEST_VERSION
from ralph.workflows.request import answers as request_answers
from ralph.workflows.request.answers import Decision, PlanProposal, Research
from ralph.workflows.request.files import DECISIONS, PRD, RESEARCH, STATE, FilesOnDisk, task_file, task_names
from ralph.workflows.request.phases import Phase
from ralph.workflows.request.store import load, moved
from ralph.workspace import RALPH


@dataclass
class Draft:
    """state.json before there are tasks, with the research and the decisions so far."""

    root: Path
    state: Json

    @classmethod
    def begin(cls, root: Path, request: str) -> Draft:
        """A new request. An earlier one has already been archived."""
        for path in (RESEARCH, DECISIONS, PRD):
            (root / path).unlink(missing_ok=True)
        at = now()
        draft = cls(
            root,
            {
                "version": REQUEST_VERSION,
                "created_at": at,
                "updated_at": at,
                "phase": Phase.RESEARCH.value,
                "original_request": request,
                "task_order": [],
                "task_statuses": {},
                "last_failure": None,
            },
        )
        draft._save()
        return draft

    @classmethod
    def load(cls, root: Path) -> Draft:
        return cls(root, load(validation.read(root / STATE), {}, name=RALPH).document)

    @property
    def phase(self) -> Phase:
        return Phase(self.state["phase"])

    @property
    def request(self) -> str:
        return str(self.state["original_request"])

    @property
    def research(self) -> Research | None:
        data = FilesOnDisk(self.root).read(RESEARCH)
        return None if data is None else request_answers.parse_research(data)

    @property
    def decisions(self) -> list[Decision] | None:
        """The decisions to make; None: no agent has been asked for them yet."""
        data = FilesOnDisk(self.root).read(DECISIONS)
        return None if data is None else request_answers.parse_decisions(data, name=DECISIONS).decisions

    def keep_research(self, research: Research) -> None:
        if research.needed:
            self._write(RESEARCH, research.model_dump())
        self._move(Phase.DECISIONS)

    def skip_research(self) -> None:
        self._move(Phase.DECISIONS)

    def keep_decisions(self, decisions: list[Decision]) -> None:
        """Save the decisions without answers, even if the agent wrote some."""
        fresh = {"answer": None, "answered_by": None, "answered_at": None}
        self._write(DECISIONS, {"decisions": [{**one.model_dump(), **fresh} for one in decisions]})

    def answer(self, decision: Decision, answer: str, by: str) -> None:
        """One answer, saved at once."""
        document = validation.parse_object(validation.read(self.root / DECISIONS), name=DECISIONS)
        listed = document["decisions"]
        assert isinstance(listed, list), "it was checked when it was read"
        entry = next(entry for entry in listed if entry["id"] == decision.id)
        entry |= {"answer": answer, "answered_by": by, "answered_at": now()}
        self._write(DECISIONS, document)

    def all_decided(self) -> None:
        self._move(Phase.PLANNING)

    def keep_plan(self, proposal: PlanProposal, tasks: list[Json]) -> None:
        """Save the tasks and the PRD first: the state makes them the plan."""
        names = [str(task["id"]) for task in tasks]
        for left in task_names(FilesOnDisk(self.root)):  # left by a planning that was interrupted here
            if left.removesuffix(".json") not in names:
                (self.root / f"{RALPH}/tasks/{left}").unlink()
        for name, task in zip(names, tasks, strict=True):
            self._write(task_file(name), task)
        atomic.write(self.root / PRD, proposal.prd.rstrip().encode() + b"\n")
        self.state |= {
            "task_order": names,
            "task_statuses": dict.fromkeys(names, "pending"),
            "summary": proposal.summary,
        }
        self._move(Phase.PLANNING_COMPLETE)

    def _move(self, to: Phase) -> None:
        self.state["phase"] = moved(self.phase, to).value
        self._save()

    def _save(self) -> None:
        self.state["updated_at"] = now()
        self._write(STATE, self.state)

    def _write(self, path: str, document: Json) -> None:
        atomic.write(self.root / path, render(document))
