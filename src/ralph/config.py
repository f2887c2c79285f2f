"""`ralph.config.json`: every setting, its default, and what it must be."""

import json
from collections.abc import Iterable
from dataclasses import field, replace
from pathlib import Path, PurePath
from typing import Annotated, Literal, TypeVar

from ralph import config_rules, limits, validation
from ralph.config_agents import Allowance as Allowance
from ralph.config_agents import Budget as Budget
from ralph.config_agents import Line, RoleSettings, Seconds
from ralph.config_agents import NamedProvider as NamedProvider
from ralph.config_agents import Provider as Provider
from ralph.config_agents import RaceSettings as RaceSettings
from ralph.config_commits import Commits, Landing, ReceiptSettings
from ralph.config_notify import NotifySettings
from ralph.config_pages import BrowserSettings as BrowserSettings
from ralph.config_pages import Service as Service
from ralph.config_sandbox import Kind as SandboxKind
from ralph.config_sandbox import SandboxSettings as SandboxSettings
from ralph.config_section import Bounds, ConfigSection, Key
from ralph.errors import RalphError
from ralph.validation import Rules, UnusualForm

NAME = "ralph.config.json"
IN_PLACE = "slot"
"""`verify.where`: the gates run in the agent's own working copy, and every view and receipt says so."""
ROLES = ("planner", "questioner", "tester", "executor", "reviewer", "verifier")

S = TypeVar("S", bound=ConfigSection)
RoleName = Literal["planner", "questioner", "tester", "executor", "reviewer", "verifier"]
SeverityName = Literal["critical", "major", "minor"]


class GateSetting(ConfigSection):
    """A gate with a name: one command that decides whether a task passes, or only warns."""

    name: Annotated[str, Bounds(min_length=1, max_length=60, pattern=r"^\S(.*\S)?$")]
    command: Annotated[Line, "The command, run by a shell."]
    required: Annotated[bool, "false: a failure is only a warning, and the task can pass."] = True
    timeout: Annotated[Seconds | None, "Time limit in seconds; null: verify.timeout."] = None
    report: Annotated[
        str, "A glob of the JUnit XML files that the command writes; empty: only its exit code counts."
    ] = ""
    pass_with_no_tests: Annotated[bool, "true: it can pass although its report has no test that ran."] = False
    tasks: Annotated[
        tuple[Line, ...],
        (
            "What it is about: plans (auth), tasks (auth/US-003) or tags. It runs for these, and for every "
            "task once one of them has passed; [] means that it always runs."
        ),
    ] = ()
    needs: Annotated[
        tuple[Line, ...], "Names of gates that must be green first; while one of them is not, this gate does not run."
    ] = ()
    parallel: Annotated[
        bool | None,
        "true: it runs beside other gates, in a copy of its own; false: it does not; null: as verify.parallel says.",
    ] = None
    held_out: Annotated[bool, "true: it runs with held-out files, and agents see neither them nor its output."] = False
    files: Annotated[tuple[Line, ...], "Globs of the held-out files that the gate needs; [] means all of them."] = ()


class HeldOutSettings(ConfigSection):
    """Checks that agents never see."""

    tells: Annotated[Literal["nothing", "name", "summary"], "What agents learn when a held-out gate fails."] = "name"
    folder: Annotated[
        str, "Folder with the held-out files, outside the repository; empty: Ralph's own (`ralph hold-out`)."
    ] = ""


class Verify(ConfigSection):
    """The gates: commands that decide whether a task passes."""

    default: Annotated[
        tuple[Line, ...], "Run for every task; required without gates. [] is allowed; work is then shown as unverified."
    ] = ()
    ui: Annotated[tuple[Line, ...], "Also run for tasks tagged ui."] = ()
    timeout: Annotated[Seconds, "Time limit of each command, in seconds."] = 900
    env: Annotated[
        tuple[str, ...], "Names (or patterns like FOO_*) of additional environment variables for gates."
    ] = ()
    where: Annotated[
        Literal["clean", "slot"],
        "clean: in a fresh checkout of the commit; slot: where the agent worked, shown as in place.",
    ] = "clean"
    parallel: Annotated[
        bool | None,
        "true: all gates run beside one another, each in a copy of its own; false: none does; null: those that say so.",
    ] = None
    fail_fast: Annotated[bool, "true: once a required gate is red, no other gate runs any more."] = False
    rerun: Annotated[
        int,
        Bounds(ge=0, le=5),
        "How often a required gate that is red, and was not red before, runs again to find out whether it is flaky.",
    ] = 1
    jobs: Annotated[
        Annotated[int, Bounds(ge=1, le=1000)] | None,
        "How many commits are verified at once; null: as many as tasks run in parallel.",
    ] = None
    require: Annotated[
        Literal["green", "proven"],
        "proven: a task passes only if a test or a gate fails without its work; green: green is enough.",
    ] = "green"
    require_for: Annotated[tuple[Line, ...], "Tags of the tasks for which require is meant; [] means all tasks."] = ()


Consequence = Literal["fail", "hold", "tell"]


class Integrity(ConfigSection):
    """What follows if work weakens the checks: fail the attempt, hold the work for approval, or only tell."""

    vanished: Annotated[Consequence, "A test is gone, and nothing checks what it checked."] = "fail"
    skipped: Annotated[Consequence, "A test no longer runs."] = "fail"
    assertions: Annotated[Consequence, "A test checks less than before."] = "tell"
    definitions: Annotated[
        Consequence, "What a gate's command leads to was changed: scripts, settings, shadowing files."
    ] = "hold"


class ReviewSettings(ConfigSection):
    """Another agent reviews each task's work when its gates pass, before it is committed."""

    enabled: Annotated[bool, "false: no reviews."] = True
    rounds: Annotated[int, Bounds(ge=0, le=100), "How often a review may send a task back before it is blocked."] = 2
    blocking: Annotated[
        tuple[SeverityName, ...],
        Bounds(min_length=1),
        "Findings of these severities send a task back. Others are only reported.",
    ] = ("critical", "major")


class AcceptanceSettings(ConfigSection):
    """Before a task is implemented, another agent writes tests from its criteria, which must fail at first."""

    enabled: Annotated[bool, "false: no acceptance tests."] = True
    role: Annotated[Literal["tester"], "Who writes them; roles.tester names its agent."] = "tester"
    held_out: Annotated[
        bool, "false: they are committed with the work, and its agent sees them; true: no other agent does."
    ] = False
    only_for: Annotated[tuple[Line, ...], Key(name="for"), "Tags of the tasks that get them; [] means all tasks."] = ()
    not_for: Annotated[tuple[Line, ...], "Tags of the tasks that get none."] = ()
    files: Annotated[
        tuple[Line, ...], "Globs of files that the tester may write, besides those that are tests by their names."
    ] = ()
    gates: Annotated[
        tuple[Line, ...],
        "The gates that run them; [] means those with a report, or all required gates if none has one.",
    ] = ()


class Worktrees(ConfigSection):
    """What Ralph adds to its working copies besides the files of their commit."""

    auto: Annotated[bool, "Copy dependency folders that git ignores (.venv, node_modules, …); false: do not."] = True
    setup: Annotated[
        tuple[Line, ...], "Commands that Ralph runs in a new working copy, and again when a lock file changes."
    ] = ()
    link: Annotated[tuple[Line, ...], "Paths that Ralph links to those in your checkout."] = ()
    copy_: Annotated[
        tuple[Line, ...], Key(name="copy"), "Paths, or globs such as .env.*, that Ralph copies from your checkout."
    ] = ()
    timeout: Annotated[Seconds, "Time limit of each set-up command and each copy, in seconds."] = 900
    max_gb: Annotated[
        Annotated[float, Bounds(gt=0, le=1_000_000)] | None,
        "Size limit of all working copies together, in gigabytes; null: no limit.",
    ] = 20
    keep_days: Annotated[
        Annotated[float, Bounds(gt=0, le=36_500)] | None,
        "Days after which Ralph removes an unused working copy; null: never.",
    ] = 30


class SessionSettings(ConfigSection):
    """Bounds of sessions."""

    max_reviews: Annotated[
        int, Bounds(ge=1, le=100), "How many session reviews in one run may find gaps before the session is blocked."
    ] = 3


class Config(ConfigSection):
    """The whole file."""

    schema_: Annotated[str | None, Key(name="$schema")] = None
    max_retries: Annotated[int, Bounds(ge=1, le=1000), "Failed attempts before a task is blocked."] = 3
    provider: Provider
    providers: Annotated[dict[str, Provider], "More agents, by name."] = field(default_factory=dict)
    roles: Annotated[dict[RoleName, RoleSettings], f"The agent and model of each role: {', '.join(ROLES)}."] = field(
        default_factory=dict
    )
    services: tuple[Service, ...] = ()
    verify: Annotated[Verify, "The gates as plain commands; required without gates."] = Verify()
    gates: Annotated[
        tuple[GateSetting, ...] | None, "The gates with names, instead of verify.default; null: verify.default."
    ] = None
    held_out: Annotated[HeldOutSettings, "Checks that agents never see."] = HeldOutSettings()
    review: Annotated[ReviewSettings, "Reviews of each task; {} switches them on."] = ReviewSettings(enabled=False)
    acceptance: Annotated[AcceptanceSettings, "Acceptance tests by another agent; {} switches them on."] = (
        AcceptanceSettings(enabled=False)
    )
    protect: Annotated[
        tuple[Line, ...], "Globs of files that no agent may change, in git's syntax (** for any depth)."
    ] = ()
    integrity: Annotated[Integrity, "What follows if work weakens tests or gates."] = Integrity()
    sandbox: Annotated[
        SandboxKind | SandboxSettings, "What encloses agents, gates, hooks and services; a kind, or its settings."
    ] = SandboxSettings()
    land: Annotated[Landing, "auto: green work lands; review: it waits until you approve it."] = "auto"
    race: Annotated[RaceSettings, "Several agents attempt the same task."] = RaceSettings()
    budget: Annotated[Budget, "What a run, a plan and a task may cost."] = Budget()
    worktrees: Worktrees = Worktrees()
    session: SessionSettings = SessionSettings()
    browser: BrowserSettings = BrowserSettings()
    commits: Commits = Commits()
    receipts: ReceiptSettings = ReceiptSettings()
    notify: Annotated[tuple[NotifySettings, ...], "Whom to tell what happens in a run."] = ()

    @property
    def sandboxing(self) -> SandboxSettings:
        """The settings of the sandbox, also if the file names only its kind."""
        return self.sandbox if isinstance(self.sandbox, SandboxSettings) else SandboxSettings(use=self.sandbox)

    @property
    def wants_sandbox(self) -> bool:
        """Whether the file asks for anything about the sandbox that may be impossible here."""
        return self.sandboxing != SandboxSettings() or any(provider.state for _, provider in self.every_provider)

    @property
    def unused_gates(self) -> tuple[str, ...]:
        """Commands of verify.default that are not run, because `gates` is there instead."""
        known = {gate.command for gate in self.gates or ()}
        return tuple(line for line in self.verify.default if line not in known) if self.gates is not None else ()

    @property
    def has_address(self) -> bool:
        """Whether a path in a criterion belongs to anything that can be opened."""
        return bool(self.browser.base_url) or any(service.ready.startswith("http") for service in self.services)

    @property
    def working_roles(self) -> tuple[RoleName, ...]:
        """Who is needed for a task."""
        testers: tuple[RoleName, ...] = ("tester",) if self.acceptance.enabled else ()
        reviewers: tuple[RoleName, ...] = ("reviewer",) if self.review.enabled else ()
        return (*testers, "executor", *reviewers)

    def provider_for(self, role: str) -> Provider:
        """The agent that plays `role`, with the role's model; the first of several."""
        return self.agents_for(role)[0].provider

    def agents_for(self, role: str) -> tuple[NamedProvider, ...]:
        """The agents that can play `role`, in order; the role's model is the first one's."""
        chosen = next((value for key, value in self.roles.items() if key == role), RoleSettings())
        first, *others = chosen.providers or (chosen.provider or config_rules.DEFAULT,)
        agent = self.agent(first)
        if chosen.model:
            agent = replace(agent, provider=replace(agent.provider, model=chosen.model))
        return (agent, *map(self.agent, others))

    def executor(self, name: str) -> NamedProvider:
        """The agent of this name as it does the executor's part: with the role's model, if it is the first one's."""
        wanted = self.agent(name)
        return next((agent for agent in self.agents_for("executor") if agent.name == wanted.name), wanted)

    @property
    def every_provider(self) -> tuple[tuple[str, Provider], ...]:
        """Every agent, with its place in the file."""
        return (("provider", self.provider), *((f"providers.{name}", one) for name, one in self.providers.items()))

    def providers_for(self, roles: Iterable[str]) -> list[Provider]:
        """Every agent that may play one of these roles, each once."""
        return list(dict.fromkeys(agent.provider for role in roles for agent in self.agents_for(role)))

    def program(self, agent: str) -> str:
        """The program of an agent; the executor's if none is named."""
        found = self.agent(agent) if agent else self.agents_for("executor")[0]
        return PurePath(found.provider.command).name

    @property
    def agent_names(self) -> tuple[str, ...]:
        """The names by which a role or a race can refer to an agent."""
        return (*self.providers, config_rules.DEFAULT, PurePath(self.provider.command).name)

    def agent(self, name: str) -> NamedProvider:
        """The agent of this name. The default one is called by its program, unless another agent has that name."""
        if name in self.providers:
            return NamedProvider(name=name, provider=self.providers[name])
        program = PurePath(self.provider.command).name
        return NamedProvider(
            name=config_rules.DEFAULT if program in self.providers else program, provider=self.provider
        )

    def with_model(self, role: RoleName, model: str | None) -> "Config":
        """The same configuration with another model for one role."""
        if not model:
            return self
        changed = replace(self.roles.get(role, RoleSettings()), model=model)
        return replace(self, roles={**self.roles, role: changed})


def load(root: Path) -> Config:
    """The configuration of the project at `root`."""
    path = root / NAME
    if not path.is_file():
        raise RalphError(f"There is no {NAME} in {root}.", remedy="Run `ralph init` to write one.")
    return parse(validation.read(path, limits.SETTINGS), name=NAME)


def parse(data: bytes, *, name: str = NAME) -> Config:
    remedy = "`ralph schema config` describes every key."
    return read_section(Config, data, name=name, rules=config_rules.mistakes_in, remedy=remedy)


def read_section(of: type[S], data: bytes, *, name: str, rules: Rules = lambda _document: (), remedy: str = "") -> S:
    """A section from a file, read plainly; in any unusual form, the schema accepts it or lists every mistake."""
    try:
        document = validation.parse_plainly(data)
        if any(True for _ in rules(document)):
            raise UnusualForm
        return of.read(document)
    except (UnusualForm, ValueError, RecursionError):
        from ralph import config_schema

        return config_schema.load(of, data, name=name, rules=rules, remedy=remedy)


def schema() -> dict[str, object]:
    """The published JSON Schema, for editors."""
    from ralph import config_schema

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **config_schema.schema(Config),
        "anyOf": [
            {"required": ["verify"], "properties": {"verify": {"required": ["default"]}}},
            {"required": ["gates"], "properties": {"gates": {"type": "array"}}},
        ],
        "title": NAME,
        "description": "Configuration of Ralph.",
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"
