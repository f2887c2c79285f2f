"""Plans a request: research, decisions, a PRD with tasks. An agent answers each; a person decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from ralph.validation import Json, Mistakes
from ralph.verify.gate_list import default_gates
from ralph.workflows.plan_rules import task_rules
from ralph.workflows.planning import Planner
from ralph.workflows.prompt_text import gate_list, quoted
from ralph.workflows.request.answers import (
    Decision,
    PlanProposal,
    RequestTaskAnswer,
    Research,
    parse_decisions,
    parse_proposal,
    parse_research,
)
from ralph.workflows.request.draft import Draft
from ralph.workflows.request.phases import Phase

T = TypeVar("T")
TEMPLATES = ("request-research", "request-decisions", "request-plan")
Decide = Callable[[Decision], tuple[str, str]]
"""Asks for a decision: returns the answer, and who gave it."""


class ResearchMode(Enum):
    """When to do research before planning."""

    ALWAYS = "always"
    AUTO = "auto"  # the agent says whether it is needed
    NEVER = "never"


@dataclass
class RequestPlanner:
    """Brings a request from its current phase to a plan that a person can review."""

    planner: Planner
    draft: Draft

    def make(self, researching: ResearchMode, check: Callable[[list[Decision]], object], decide: Decide) -> None:
        """Do all missing phases. `check` gets all decisions before `decide` is called for the open ones."""
        if self.draft.phase is Phase.RESEARCH:
            self.planner.wait(self._research(researching))
        if self.draft.phase is Phase.DECISIONS:
            self._decide(check, decide)
        if self.draft.phase is Phase.PLANNING:
            self.planner.wait(self._plan())

    async def _research(self, researching: ResearchMode) -> None:
        if researching is ResearchMode.NEVER:
            self.draft.skip_research()
            return
        always = researching is ResearchMode.ALWAYS

        def read(data: bytes) -> Research:
            return parse_research(data, needed=always)

        found = await self._ask("research", "Researching", {"always": always}, read)
        self.draft.keep_research(found)

    def _decide(self, check: Callable[[list[Decision]], object], decide: Decide) -> None:
        if self.draft.decisions is None:
            self.draft.keep_decisions(self.planner.wait(self._decisions()))
        decisions = self.draft.decisions or []
        check(decisions)
        for decision in decisions:
            if decision.answer is None:
                self.draft.answer(decision, *decide(decision))
        self.draft.all_decided()

    async def _decisions(self) -> list[Decision]:
        def read(data: bytes) -> list[Decision]:
            return parse_decisions(data).decisions

        variables = {"research": research_text(self.draft.research)}
        return await self._ask("decisions", "Finding open decisions", variables, read)

    async def _plan(self) -> None:
        variables = {
            "research": research_text(self.draft.research),
            "decisions": decisions_text(self.draft.decisions or []),
            "verifyCommands": gate_list(default_gates(self.planner.run.config)),
        }

        def read(data: bytes) -> tuple[PlanProposal, list[Json]]:
            proposal = parse_proposal(data)
            return proposal, numbered(proposal.tasks)

        self.draft.keep_plan(*await self._ask("plan", "Writing the PRD and its tasks", variables, read))

    async def _ask(self, name: str, title: str, variables: Mapping[str, object], read: Callable[[bytes], T]) -> T:
        known = {"requestQuoted": quoted(self.draft.request)}
        return await self.planner.ask(name, title, f"request-{name}", {**known, **variables}, read)


def numbered(tasks: list[RequestTaskAnswer]) -> list[Json]:
    """Tasks as their files contain them, with an id for each that has none; or all mistakes."""
    used = {task.id for task in tasks if task.id}
    entries: list[Json] = []
    for task in tasks:
        name = task.id or next(free for n in range(1, len(tasks) + 1) if (free := f"task-{n:03}") not in used)
        used.add(name)
        entries.append({**task.model_dump(include=set(RequestTaskAnswer.model_fields)), "id": name})
    mistakes = list(task_rules(entries, "tasks", "dependencies"))
    if mistakes:
        raise Mistakes("the plan", mistakes)
    return entries


def research_text(research: Research | None) -> str:
    """The research, as the next agents get it."""
    if research is None:
        return ""
    findings = [
        f"- **{one.topic}**: {one.finding}" + (f" ({', '.join(one.sources)})" if one.sources else "")
        for one in research.findings
    ]
    return "\n".join(filter(None, (research.summary, *findings)))


def decisions_text(decisions: list[Decision]) -> str:
    return "\n".join(f"- {one.question}\n  **{one.answer}**{_consequence(one)}" for one in decisions)


def _consequence(decision: Decision) -> str:
    found = next((one.consequence for one in decision.options if one.option == decision.answer), "")
    return f" ({found})" if found else ""
