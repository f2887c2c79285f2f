"""`ralph.config.json`: every setting, its default, and what it must be."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Annotated, Literal

from pydantic import Field

from ralph import config_rules, limits, validation
from ralph.config_agents import Allowance as Allowance
from ralph.config_agents import Budget as Budget
from ralph.config_agents import ConfigSection, Line, RoleSettings, Seconds, section
from ralph.config_agents import NamedProvider as NamedProvider
from ralph.config_agents import Provider as Provider
from ralph.config_agents import RaceSettings as RaceSettings
from ralph.errors import RalphError

NAME = "ralph.config.json"
IN_PLACE = "slot"
"""`verify.where`: the gates run in the agent's own working copy, and every view and receipt says so."""
ROLES = ("planner", "questioner", "executor", "reviewer", "verifier")

READY = r"^(https?://\S+|tcp://\S+:(\d+|\$\{RALPH_PORT\})|log:.*\S.*)$"
RoleName = Literal["planner", "questioner", "executor", "reviewer", "verifier"]
SeverityName = Literal["critical", "major", "minor"]


class Service(ConfigSection):
    """A program that must run while UI tasks are checked."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    start: Line | None = Field(default=None, description="Command that starts it; null: you start it yourself.")
    ready: Annotated[str, Field(pattern=READY)] = Field(
        description="How to tell that it is ready: a URL that answers, tcp://HOST:PORT, or log:REGEX in its output."
    )
    ready_timeout: Seconds = Field(default=30, description="Seconds to wait until it is ready.")
    restart_before_verify: bool = Field(default=True, description="Restart it before UI checks.")


class GateSetting(ConfigSection):
    """A gate with a name: one command that decides whether a task passes, or only warns."""

    name: Annotated[str, Field(min_length=1, max_length=60, pattern=r"^\S(.*\S)?$")]
    command: Line = Field(description="The command, run by a shell.")
    required: bool = Field(default=True, description="false: a failure is only a warning, and the task can pass.")
    timeout: Seconds | None = Field(default=None, description="Time limit in seconds; null: verify.timeout.")
    report: str = Field(
        default="",
        description="A glob of the JUnit XML files that the command writes; empty: only its exit code counts.",
    )
    tasks: tuple[Line, ...] = Field(
        default=(),
        description="What it is about: plans (auth), tasks (auth/US-003) or tags. It runs for these, and for every "
        "task once one of them has passed; [] means that it always runs.",
    )
    held_out: bool = Field(
        default=False, description="true: it runs with held-out files, and agents see neither them nor its output."
    )
    files: tuple[Line, ...] = Field(
        default=(), description="Globs of the held-out files that the gate needs; [] means all of them."
    )


class HeldOutSettings(ConfigSection):
    """Checks that agents never see."""

    tells: Literal["nothing", "name", "summary"] = Field(
        default="name", description="What agents learn when a held-out gate fails."
    )
    folder: str = Field(
        default="",
        description="Folder with the held-out files, outside the repository; empty: Ralph's own (`ralph hold-out`).",
    )


class Verify(ConfigSection):
    """The gates: commands that decide whether a task passes."""

    default: tuple[Line, ...] = Field(
        description="Run for every task. [] is allowed; work is then shown as unverified."
    )
    ui: tuple[Line, ...] = Field(default=(), description="Also run for tasks tagged ui.")
    timeout: Seconds = Field(default=900, description="Time limit of each command, in seconds.")
    env: tuple[str, ...] = Field(
        default=(), description="Names (or patterns like FOO_*) of additional environment variables for gates."
    )
    where: Literal["clean", "slot"] = Field(
        default="clean",
        description="clean: in a fresh checkout of the commit; slot: where the agent worked, shown as in place.",
    )
    require: Literal["green", "proven"] = Field(
        default="green",
        description="proven: a task passes only if a test or a gate fails without its work; green: green is enough.",
    )
    require_for: tuple[Line, ...] = Field(
        default=(), description="Tags of the tasks for which require is meant; [] means all tasks."
    )


Consequence = Literal["fail", "hold", "tell"]


class Integrity(ConfigSection):
    """What follows if work weakens the checks: fail the attempt, hold the work for approval, or only tell."""

    vanished: Consequence = Field(default="fail", description="A test is gone, and nothing checks what it checked.")
    skipped: Consequence = Field(default="fail", description="A test no longer runs.")
    assertions: Consequence = Field(default="tell", description="A test checks less than before.")
    definitions: Consequence = Field(
        default="hold",
        description="What a gate's command leads to was changed: scripts, settings, shadowing files.",
    )


class ReviewSettings(ConfigSection):
    """Another agent reviews each task's work when its gates pass, before it is committed."""

    enabled: bool = Field(default=True, description="false: no reviews.")
    rounds: Annotated[int, Field(ge=0, le=100)] = Field(
        default=2, description="How often a review may send a task back before it is blocked."
    )
    blocking: Annotated[tuple[SeverityName, ...], Field(min_length=1)] = Field(
        default=("critical", "major"),
        description="Findings of these severities send a task back. Others are only reported.",
    )


class BrowserSettings(ConfigSection):
    """Built-in page checks for UI tasks."""

    enabled: bool = Field(default=True, description="false: Ralph checks no pages and runs only verify.ui.")
    require: bool = Field(default=False, description="true: refuse to start if a UI task has no page to check.")
    executable_path: str = Field(default="", description="Path to Chrome or Chromium; empty: Ralph looks for one.")
    headless: bool = Field(default=True, description="false: show the browser on your screen.")
    screenshot_dir: Line = Field(
        default=".ralph/screenshots", description="Folder for screenshots; they are never committed."
    )
    base_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="Base URL of paths in acceptance criteria; empty: the first service with a URL.",
    )
    timeout: Seconds = Field(default=30, description="Time limit for loading a page, in seconds.")
    ignore: tuple[Line, ...] = Field(default=(), description="Regular expressions. Matching findings are ignored.")


class Commits(ConfigSection):
    """Whether and how Ralph commits its own state."""

    prd_changes: bool = True
    message: Line = "chore: update prd.json"
    branch: Literal["own", "current"] = Field(
        default="own",
        description="own: work lands on ralph/<target>; current: your branch is also fast-forwarded to it at the end.",
    )
    assisted_by: bool = Field(default=True, description="Add a trailer Assisted-by: AGENT:MODEL to each commit.")
    max_file_mb: Annotated[float, Field(gt=0, le=100_000)] = Field(
        default=50, description="Largest file, in megabytes, that Ralph commits. The agent learns about larger ones."
    )


class ReceiptSettings(ConfigSection):
    """Receipts: signed statements about each commit that Ralph makes."""

    enabled: bool = Field(default=True, description="false: no receipts.")
    sign: Literal["auto", "never", "require"] = Field(
        default="auto",
        description="auto: sign with your git key (user.signingkey) if you have one; require: refuse to run without.",
    )


class Worktrees(ConfigSection):
    """What Ralph adds to its working copies besides the files of their commit."""

    auto: bool = Field(
        default=True, description="Copy dependency folders that git ignores (.venv, node_modules, …); false: do not."
    )
    setup: tuple[Line, ...] = Field(
        default=(), description="Commands that Ralph runs in a new working copy, and again when a lock file changes."
    )
    link: tuple[Line, ...] = Field(default=(), description="Paths that Ralph links to those in your checkout.")
    copy_: tuple[Line, ...] = Field(
        default=(), alias="copy", description="Paths, or globs such as .env.*, that Ralph copies from your checkout."
    )
    timeout: Seconds = Field(default=900, description="Time limit of each set-up command and each copy, in seconds.")
    max_gb: Annotated[float, Field(gt=0, le=1_000_000)] | None = Field(
        default=20, description="Size limit of all working copies together, in gigabytes; null: no limit."
    )
    keep_days: Annotated[float, Field(gt=0, le=36_500)] | None = Field(
        default=30, description="Days after which Ralph removes an unused working copy; null: never."
    )


class SessionSettings(ConfigSection):
    """Limits of sessions."""

    max_reviews: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description="How many session reviews in one run may find gaps before the session is blocked."
    )


class Config(ConfigSection):
    """The whole file."""

    schema_: str | None = Field(default=None, alias="$schema")
    max_retries: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=3, description="Failed attempts before a task is blocked."
    )
    provider: Provider
    providers: dict[str, Provider] = Field(default_factory=dict, description="More agents, by name.")
    roles: dict[RoleName, RoleSettings] = Field(
        default_factory=dict, description=f"The agent and model of each role: {', '.join(ROLES)}."
    )
    services: tuple[Service, ...] = ()
    verify: Verify = Field(
        default_factory=section(Verify, default=()),
        description="The gates as plain commands; required without gates.",
    )
    gates: tuple[GateSetting, ...] | None = Field(
        default=None, description="The gates with names, instead of verify.default; null: verify.default."
    )
    held_out: HeldOutSettings = Field(
        default_factory=section(HeldOutSettings), description="Checks that agents never see."
    )
    review: ReviewSettings = Field(
        default_factory=section(ReviewSettings, enabled=False),
        description="Reviews of each task; {} switches them on.",
    )
    protect: tuple[Line, ...] = Field(
        default=(), description="Globs of files that no agent may change, in git's syntax (** for any depth)."
    )
    integrity: Integrity = Field(default_factory=Integrity, description="What follows if work weakens tests or gates.")
    race: RaceSettings = Field(
        default_factory=section(RaceSettings), description="Several agents attempt the same task."
    )
    budget: Budget = Field(default_factory=section(Budget), description="What a run, a plan and a task may cost.")
    worktrees: Worktrees = Field(default_factory=section(Worktrees))
    session: SessionSettings = Field(default_factory=section(SessionSettings))
    browser: BrowserSettings = Field(default_factory=section(BrowserSettings))
    commits: Commits = Field(default_factory=section(Commits))
    receipts: ReceiptSettings = Field(default_factory=section(ReceiptSettings))

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
        return ("executor", "reviewer") if self.review.enabled else ("executor",)

    def provider_for(self, role: str) -> Provider:
        """The agent that plays `role`, with the role's model; the first of several."""
        return self.agents_for(role)[0].provider

    def agents_for(self, role: str) -> tuple[NamedProvider, ...]:
        """The agents that can play `role`, in order; the role's model is the first one's."""
        chosen = next((value for key, value in self.roles.items() if key == role), RoleSettings())
        first, *others = chosen.providers or (chosen.provider or config_rules.DEFAULT,)
        agent = self.agent(first)
        if chosen.model:
            agent = replace(agent, provider=agent.provider.model_copy(update={"model": chosen.model}))
        return (agent, *map(self.agent, others))

    def executor(self, name: str) -> NamedProvider:
        """The agent of this name as it does the executor's part: with the role's model, if it is the first one's."""
        wanted = self.agent(name)
        return next((agent for agent in self.agents_for("executor") if agent.name == wanted.name), wanted)

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

    def with_model(self, role: RoleName, model: str | None) -> Config:
        """The same configuration with another model for one role."""
        if not model:
            return self
        changed = self.roles.get(role, RoleSettings()).model_copy(update={"model": model})
        return self.model_copy(update={"roles": {**self.roles, role: changed}})


def load(root: Path) -> Config:
    """The configuration of the project at `root`."""
    path = root / NAME
    if not path.is_file():
        raise RalphError(f"There is no {NAME} in {root}.", remedy="Run `ralph init` to write one.")
    return parse(validation.read(path, limits.SETTINGS), name=NAME)


def parse(data: bytes, *, name: str = NAME) -> Config:
    return validation.parse(
        Config, data, name=name, rules=config_rules.mistakes_in, remedy="`ralph schema config` describes every key."
    )


def schema() -> dict[str, object]:
    """The published JSON Schema, for editors."""
    made = Config.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "anyOf": [{"required": ["verify"]}, {"required": ["gates"], "properties": {"gates": {"type": "array"}}}],
        "title": NAME,
        "description": "Configuration of Ralph.",
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"
