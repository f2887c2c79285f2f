"""Collects what a receipt says about landed work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from ralph import __version__
from ralph.checkout.branch import TargetBranch
from ralph.config import NAME, Config
from ralph.engine.run import Run
from ralph.frozen import Frozen
from ralph.git.read import attempt_ref
from ralph.journal.writer import now
from ralph.plan.attempt import Record, StepResult
from ralph.plan.evidence import Evidence
from ralph.plan.model import GateResult, Task, TaskState
from ralph.plan.usage import Usage
from ralph.plan.work import Outcome, Verdict, Work, WorkKind
from ralph.receipts.notes import Move
from ralph.receipts.statement import AttemptFacts, Subject, TestNames, WorkFacts
from ralph.receipts.writer import ReceiptWriter
from ralph.workspace import Workspace

MAX_TEST_NAMES = 200_000
"""How many characters of test names a receipt may have; without them it still has their counts."""


class Landing(Frozen):
    """Passed work and the commit with which it lands."""

    work: Work
    record: Record
    outcome: Outcome
    commit: str
    tree: str
    reverified: bool = False  # the gates ran again, on the work as merged with the branch


async def open_receipts(run: Run, branch: TargetBranch) -> None:
    """Let the run's commits get receipts; raise an error if they must be signed and no key can sign."""
    branch.receipts = writer_for(run.config, run.workspace, branch, run.warn)
    if branch.receipts:
        await branch.receipts.check()


def writer_for(
    config: Config, workspace: Workspace, branch: TargetBranch, warn: Callable[[str], None]
) -> ReceiptWriter | None:
    settings = config.receipts
    if not settings.enabled:
        return None
    return ReceiptWriter(repo=branch.repo, folder=workspace.receipts, sign=settings.sign, warn=warn)


async def receipt_of(run: Run, branch: TargetBranch, landing: Landing, *, before: str) -> tuple[Move, ...]:
    """Write the receipt of a landing; return the move that makes it known. `before` is the commit below it.

    Pending work gets none: its commits are replaced by the one of its spec, whose receipt names its attempts.
    """
    work = landing.work
    if not branch.receipts:
        return ()
    own = _own_attempt(run, landing)
    if work.line:
        run.pending_attempts[work.id] = own
        return ()
    reviews = _reviews(landing)
    facts = WorkFacts(
        gates=landing.outcome.gates,
        tests=_tests(landing.outcome.gates),
        attempts=_attempts_of_spec(run, work.closes, own) if work.closes else (own,),
        policies=_policies(run),
        at=now(),
        ralph=__version__,
        reverified=landing.reverified,
        protected_unchanged=bool(run.config.protect) and not await _protected_changes(run, branch, before, landing),
        reviewed=bool(reviews),
        reviewed_by_other=any(_differ(_model_of(run, one, role="reviewer"), own.model) for one in reviews),
    )
    return await branch.receipts.work(Subject(branch=branch.name, commit=landing.commit, tree=landing.tree), facts)


async def add_missing(run: Run, branch: TargetBranch, landing: Landing) -> None:
    """Write the receipt of work that had landed when the run was killed, if git lost it then."""
    if branch.receipts and not landing.work.line and not await branch.receipts.has(landing.commit):
        await branch.repo.move(*await receipt_of(run, branch, landing, before=f"{landing.commit}^"))


def _evidence(known: Evidence | None, gates: tuple[GateResult, ...]) -> Evidence:
    """Return the evidence of passed work; work that no step has weighed, such as a spec's commit, proves nothing."""
    weakest = Evidence.REGRESSION_ONLY if any(gate.required for gate in gates) else Evidence.UNVERIFIED
    return known or weakest


def _tests(gates: tuple[GateResult, ...]) -> dict[str, TestNames]:
    """Return the tests that the gates' reports name, of as many gates as a receipt has room for."""
    found, room = dict[str, TestNames](), MAX_TEST_NAMES
    for gate in (gate for gate in gates if gate.report):
        from ralph.verify.reports import load_tests  # few gates have reports

        report = load_tests(gate.report)
        passed, failed = (_lines(names) for names in (report.passed, report.failed)) if report else ("", "")
        room -= len(passed) + len(failed)
        if report and room >= 0:
            found[gate.name] = TestNames(passed=passed, failed=failed)
    return found


def _lines(names: Iterable[str]) -> str:
    return "\n".join(" ".join(name.split()) for name in sorted(names))


def model_asked_for(run: Run, agent: str) -> str:
    """Return the model that was asked for; only the first choice gets the one of the command line."""
    first = run.config.agents_for("executor")[0]
    used = run.config.executor(agent) if agent else first
    return (run.model if used.name == first.name else "") or used.provider.model or ""


def _own_attempt(run: Run, landing: Landing) -> AttemptFacts:
    work, record, outcome = landing.work, landing.record, landing.outcome
    executor = _executor(landing)
    return AttemptFacts(
        work=work.id,
        kind=work.kind.value,
        number=record.number,
        run=run.id,
        agent=run.config.program(outcome.agent) if executor else "",
        model=_model_of(run, executor),
        tester=run.config.program(outcome.tester) if outcome.tester else "",
        prompt=executor.prompt if executor else "",
        usage=outcome.usage,
        evidence=_evidence(outcome.evidence, outcome.gates),
        proven_by=outcome.proven_by,
        concerns=outcome.concerns,
        base=record.base,
        ref=attempt_ref(record.target, work.id, record.number),
        journal=run.journal.digest,
    )


def _attempts_of_spec(run: Run, spec_id: str, own: AttemptFacts) -> tuple[AttemptFacts, ...]:
    """Return the attempts whose work a spec's commit contains; of those of earlier runs, what the plan knows."""
    tasks = [task for task in run.plan.of_spec(spec_id) if task.state is TaskState.PASSED]
    found = [run.pending_attempts.get(task.id) or _from_plan(run, task) for task in tasks]
    return (*found, own) if own.agent or not found else tuple(found)


def _from_plan(run: Run, task: Task) -> AttemptFacts:
    result = task.result
    usage = result.usage if result and result.usage else Usage()
    return AttemptFacts(
        work=task.id,
        kind=WorkKind.TASK.value,
        agent=run.config.program(result.agent) if result and result.agent else "",
        model=usage.model,
        tester=run.config.program(result.tester) if result and result.tester else "",
        usage=usage,
        evidence=_evidence(result.evidence if result else None, result.gates if result else ()),
        proven_by=result.proven_by if result else (),
        concerns=result.concerns if result else (),
        base=task.base,
        accepted_by=task.acceptance.by if task.acceptance else "",
        why=task.acceptance.why if task.acceptance else "",
    )


def _policies(run: Run) -> dict[str, bytes]:
    """Return what decided: the configuration, and the files that agents must not change."""
    config = json.dumps(run.config.document(), ensure_ascii=False).encode(errors="replace")
    return {NAME: config, "protect": "\n".join(run.config.protect).encode(errors="replace")}


async def _protected_changes(run: Run, branch: TargetBranch, before: str, landing: Landing) -> tuple[str, ...]:
    return await branch.repo.between(before, landing.tree, *run.config.protect)


def _executor(landing: Landing) -> StepResult | None:
    """Return the result of the agent that did the work; None if no agent did."""
    types = {spec.label: spec.type for spec in landing.work.steps}
    return next((one for one in landing.record.steps if one.agent and types.get(one.step) == "agent"), None)


def _reviews(landing: Landing) -> list[StepResult]:
    """Return the reviews that the work passed: a reviewer's findings, or a session's role."""
    kinds = {spec.label: (spec.type, spec.name) for spec in landing.work.steps}
    return [
        one
        for one in landing.record.steps
        if one.verdict is Verdict.PASSED
        and (kinds.get(one.step, ("", ""))[0] == "review" or kinds.get(one.step) == ("role", "reviewer"))
    ]


def _model_of(run: Run, result: StepResult | None, *, role: str = "executor") -> str:
    """Return the model that an agent named, or else the one that it was told to use; "" if neither is known."""
    if result is None:
        return ""
    if role == "executor":
        return result.usage.model or model_asked_for(run, result.agent)
    agents = run.config.agents_for(role)
    asked = next((agent.provider.model for agent in agents if agent.name == result.agent), None)
    return result.usage.model or asked or ""


def _differ(one: str, other: str) -> bool:
    """Return whether two models are known and are not the same."""
    return bool(one and other) and one != other
