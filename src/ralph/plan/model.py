"""Tasks and plans: the frozen values that every workflow's files are read into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from enum import Enum

from ralph.frozen import Frozen
from ralph.plan.evidence import Evidence
from ralph.plan.findings import Finding as Finding
from ralph.plan.findings import PageFinding as PageFinding
from ralph.plan.findings import PageResult as PageResult
from ralph.plan.findings import Severity as Severity
from ralph.plan.usage import Usage
from ralph.text import one_line


class TaskState(Enum):
    """The state of a task."""

    PENDING = "pending"  # to do, or to do again
    PASSED = "passed"  # its gates were green when Ralph ran them, or a person accepted it
    BLOCKED = "blocked"  # tried too often, or blocked by an agent or a person


class Tells(Enum):
    """What agents learn about a held-out gate."""

    NOTHING = "nothing"  # that some check failed
    NAME = "name"  # its name
    SUMMARY = "summary"  # its name, and in one sentence what failed


class HeldOut(Frozen):
    """What a held-out gate really is. Only the run and the person know it."""

    name: str
    command: str
    files: tuple[str, ...] = ()  # globs of the held-out files that it needs; empty: all
    tests_of: tuple[str, ...] = ()  # it runs the held-out acceptance tests of these tasks, and no other files
    tells: Tells = Tells.NAME


class Gate(Frozen):
    """One verification command. The name and the command of a held-out gate are what everyone may read."""

    name: str
    command: str
    timeout: float
    required: bool = True
    report: str = ""  # a glob of the JUnit reports that it writes; empty: only its exit code is known
    pass_with_no_tests: bool = False  # it can pass although its report has no test that ran
    tasks: tuple[str, ...] = ()  # plans, tasks (`plan/task`) or tags that it is about; empty: it always runs
    needs: tuple[str, ...] = ()  # names of gates that must be green before it runs
    parallel: bool = False  # it may run beside others, in a copy of its own
    held_out: HeldOut | None = None  # None: agents may see it

    def is_about(self, plan: Plan, task: Task) -> bool:
        names = {plan.target, f"{plan.target}/{task.id}", *task.tags}
        return not self.tasks or not names.isdisjoint(self.tasks)

    def unknown_tasks(self, plan: Plan) -> tuple[str, ...]:
        """Return the tasks of this plan that it names and that do not exist."""
        split = ((name, *name.rpartition("/")[::2]) for name in self.tasks if "/" in name)
        return tuple(name for name, target, task in split if target == plan.target and not plan.find(task))

    def applies(self, plan: Plan, task: Task | None) -> bool:
        """Return whether it runs: always, for what it is about, and for everything once a part of that has passed."""
        passed = (one for one in plan if one.state is TaskState.PASSED)
        return not self.tasks or any(self.is_about(plan, one) for one in (*passed, *((task,) if task else ())))

    @property
    def own_name(self) -> str:
        """Its name in the configuration."""
        return self.held_out.name if self.held_out else self.name

    @property
    def runs(self) -> str:
        """The command that is run."""
        return self.held_out.command if self.held_out else self.command


class GateResult(Frozen):
    """One verification command and its result."""

    name: str
    command: str
    passed: bool
    seconds: float
    required: bool = True
    code: int | None = None
    reason: str = ""
    output: str = ""  # the useful part, for a person and for the next prompt
    log: str = ""
    in_place: bool = False  # it ran in the agent's working copy, not on a clean checkout
    held_out: bool = False  # agents do not see it, so that its reason and output say little
    tests: str = ""  # what its report counted, such as "40 passed, 2 failed"; empty: it has none
    report: str = ""  # the file in the logs with the results of its tests by name
    flaky: bool = False  # it was red and then green on the same files
    not_run: bool = False  # it has no answer, and its reason says why; it is neither green nor red

    @property
    def how_missed(self) -> str:
        """What became of a gate without an answer: another gate ended it, or it never began."""
        return "did not finish" if self.seconds else "did not run"


def is_in_place(gates: Iterable[GateResult]) -> bool:
    """Return whether any of them ran in the agent's working copy."""
    return any(gate.in_place for gate in gates)


class Acceptance(Frozen):
    """A person's decision that replaces the gates' verdict."""

    by: str  # the person's name in git; empty: not set
    why: str


class TaskResult(Frozen):
    """The result of a passed task."""

    completed_at: str
    commit: str
    summary: str
    gates: tuple[GateResult, ...] = ()
    agent: str = ""  # the agent that did the work, by its name in the configuration
    usage: Usage | None = None  # what the attempt that passed used
    accepted: Acceptance | None = None  # set if a person accepted the task; None: its gates decided
    evidence: Evidence | None = None  # None: not known, because an older Ralph wrote the plan
    proven_by: tuple[str, ...] = ()  # tests or gates that fail without the work
    concerns: tuple[str, ...] = ()  # what the work may have weakened about the checks
    tester: str = ""  # the agent that wrote its acceptance tests; empty: it has none

    @property
    def in_place(self) -> bool:
        return is_in_place(self.gates)


class NeedKind(Enum):
    """What a task waits for."""

    APPROVAL = "approval"  # its gates are green, but its work changed what they check
    REVIEW = "review"  # its gates are green, and nothing lands before a person has seen it
    CONFLICT = "conflict"  # its work conflicted with other work again and again
    BLOCKED = "blocked"  # its agent says that it cannot be done, or needs a person
    DISPUTE = "dispute"  # its agent says that a gate is wrong, or not about this task
    RED_BEFORE = "red-before"  # a gate fails as it did before the first attempt
    TESTS = "tests"  # its tester wrote no acceptance tests that can be used
    LANDING = "landing"  # for the next run, which lands what a person has approved


class Need(Frozen):
    """What a task waits for, usually a person's decision."""

    kind: NeedKind
    why: str
    gate: str = ""  # the gate that it is about; empty: none
    concerns: tuple[str, ...] = ()  # what must be approved


class Task(Frozen):
    """One unit of work for one fresh agent."""

    id: str
    title: str
    description: str = ""
    criteria: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    priority: int = 0
    depends_on: tuple[str, ...] = ()
    in_order: bool = False  # its plan does not say what it depends on: it never runs beside an earlier task
    state: TaskState = TaskState.PENDING
    failures: int = 0
    attempts: int = 0  # settled attempts of any outcome; numbers are never reused
    idle: int = 0  # attempts in a row that changed nothing
    base: str = ""  # the commit on which its work began; empty until it begins
    notes: str = ""
    tried: tuple[str, ...] = ()  # one line for each earlier attempt
    rounds: int = 0  # how often a review has sent it back
    resets: int = 0  # how often the final verification has sent it back
    findings: tuple[Finding, ...] = ()  # the findings of its last review, whatever its verdict
    seconds: float = 0.0  # of all settled attempts together
    usage: Usage = field(default_factory=Usage)  # of all settled attempts together
    result: TaskResult | None = None
    spec: str = ""  # its spec, in a plan with specs
    race: tuple[str, ...] = ()  # the agents that race for it, as a person named them
    racing: tuple[int, ...] = ()  # attempts of a race that has begun to end, which have not ended themselves
    may: tuple[str, ...] = ()  # globs of tests and gate definitions that its work is meant to change
    need: Need | None = None  # what it waits for: while it is blocked, a person
    approved: tuple[str, ...] = ()  # the concerns that a person approved
    waived: tuple[str, ...] = ()  # gates that a person does not require for it, by name
    decisions: tuple[str, ...] = ()  # what a person decided about it, for the agents of later attempts
    left_out: bool = False  # blocked, and a person decided that it stays so

    @property
    def acceptance(self) -> Acceptance | None:
        """The person's acceptance, if there is one."""
        return self.result.accepted if self.result and self.state is TaskState.PASSED else None

    @property
    def standing(self) -> str:
        """Its state as views show it: an accepted task is not passed, and one that waits for approval is held."""
        if self.acceptance:
            return "accepted"
        if self.state is TaskState.BLOCKED and self.left_out:
            return "left out"
        is_held = self.needs_person and self.need and self.need.kind in (NeedKind.APPROVAL, NeedKind.REVIEW)
        return "held" if is_held else self.state.value

    @property
    def needs_person(self) -> bool:
        """Whether it waits for a person's decision."""
        return self.state is TaskState.BLOCKED and self.need is not None

    @property
    def wish(self) -> tuple[object, ...]:
        """What the task asks for, without its progress."""
        asked = self.title, self.description, self.criteria, self.tags
        return *asked, self.priority, self.depends_on, self.race, self.may


class Spec(Frozen):
    """Tasks that belong together: their work is committed once, when all of them are settled."""

    id: str
    name: str
    file: str = ""
    priority: int = 0
    context: str = ""
    criteria: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()  # specs
    in_order: bool = False  # its plan does not say what it depends on: it never runs beside an earlier spec
    state: TaskState = TaskState.PENDING  # PASSED: all its tasks passed; BLOCKED: what passed is committed as partial
    attempts: int = 0  # attempts to commit it
    failures: int = 0
    notes: str = ""
    result: TaskResult | None = None


class FinalReview(Frozen):
    """The progress of the plan's final review."""

    attempts: int = 0
    failures: int = 0  # rounds in a row without a usable verdict
    notes: str = ""
    verified_at: str = ""
    verified_commit: str = ""


class SetupState(Frozen):
    """The progress of the steps that run once, before the first task."""

    attempts: int = 0
    failures: int = 0  # in a row
    notes: str = ""
    done: frozenset[str] = frozenset()  # the names of the steps that have run


class Failure(Frozen):
    """Why a plan has halted: the first task that ran out of attempts."""

    task: str
    title: str
    message: str
    at: str


class Plan(Frozen):
    """All tasks of one target with their state."""

    target: str
    branch: str = ""
    description: str = ""
    tasks: tuple[Task, ...] = ()
    current: str | None = None
    started_at: str = ""
    learnings: tuple[str, ...] = ()
    review: FinalReview = field(default_factory=FinalReview)
    setup: SetupState = field(default_factory=SetupState)
    specs: tuple[Spec, ...] = ()  # by priority; empty: every task is committed on its own
    failure: Failure | None = None  # the plan has halted until a person starts it again

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def find(self, task_id: str) -> Task | None:
        return next((task for task in self.tasks if task.id == task_id), None)

    def find_spec(self, spec_id: str) -> Spec | None:
        return next((spec for spec in self.specs if spec.id == spec_id), None)

    def of_spec(self, spec_id: str) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.spec == spec_id)

    @property
    def in_place(self) -> bool:
        """Whether any task passed by gates that ran in the agent's working copy."""
        return any(task.result.in_place for task in self.tasks if task.result)

    def count(self, state: TaskState) -> int:
        return sum(task.state is state for task in self.tasks)

    @property
    def passed(self) -> int:
        """How many tasks passed by their gates."""
        return self.count(TaskState.PASSED) - self.accepted

    @property
    def proven(self) -> int:
        """How many passed tasks have a test or a gate that fails without them."""
        return sum(bool(task.result and task.result.evidence is Evidence.PROVEN) for task in self.tasks)

    @property
    def accepted(self) -> int:
        """How many tasks a person accepted."""
        return sum(task.acceptance is not None for task in self.tasks)

    @property
    def held(self) -> int:
        """How many tasks wait for a person's approval."""
        return sum(task.standing == "held" for task in self.tasks)

    @property
    def needs(self) -> tuple[Task, ...]:
        """The tasks that wait for a person's decision."""
        return tuple(task for task in self.tasks if task.needs_person)

    @property
    def unverified(self) -> tuple[Task, ...]:
        """Tasks that passed although no gate was required, and that no person accepted."""
        return tuple(
            task
            for task in self.tasks
            if task.state is TaskState.PASSED
            and task.result
            and not task.acceptance
            and not any(gate.required for gate in task.result.gates)
        )

    def change(self, task_id: str, how: Callable[[Task], Task]) -> Plan:
        """Return the plan with one task changed."""
        return replace(self, tasks=tuple(how(task) if task.id == task_id else task for task in self.tasks))

    def change_spec(self, spec_id: str, how: Callable[[Spec], Spec]) -> Plan:
        """Return the plan with one spec changed."""
        return replace(self, specs=tuple(how(spec) if spec.id == spec_id else spec for spec in self.specs))


MAX_LEARNING = 500


def learn(known: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Add new learnings, truncated; drop duplicates that differ only in case and spacing."""
    seen = {_same(text) for text in known}
    added = list(known)
    for raw in new:
        text = one_line(raw)[:MAX_LEARNING]
        if text and _same(text) not in seen:
            seen.add(_same(text))
            added.append(text)
    return tuple(added)


def _same(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!")
