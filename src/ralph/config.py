"""`ralph.config.json`: every setting, its default, and what it must be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ralph import validation
from ralph.errors import RalphError
from ralph.workspace import RALPH, is_inside

NAME = "ralph.config.json"
ROLES = ("planner", "questioner", "executor", "reviewer", "verifier")

Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]
Line = Annotated[str, Field(min_length=1, pattern=r"\S")]
READY = r"^(https?://\S+|tcp://\S+:(\d+|\$\{RALPH_PORT\})|log:.*\S.*)$"
RoleName = Literal["planner", "questioner", "executor", "reviewer", "verifier"]
SeverityName = Literal["critical", "major", "minor"]


class ConfigSection(BaseModel):
    """A part of the file: camelCase keys, nothing unknown."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True, populate_by_name=True)


class Provider(ConfigSection):
    """An agent: the command Ralph runs, with the prompt on its standard input."""

    command: Line = Field(description="The agent's program: amp, claude, opencode, a path, …")
    args: tuple[str, ...] = Field(default=(), description="Arguments, passed as they are.")
    timeout: Seconds = Field(default=1800, description="Seconds one call may take.")
    idle_timeout: Seconds | None = Field(
        default=None,
        description="Seconds without any output before the call is ended; null: what suits the agent's output.",
    )
    dialect: str | None = Field(
        default=None, description="How its output is read; null: chosen by the command and its arguments."
    )
    model: str | None = Field(default=None, description="The model it is told to use, if any.")
    model_args: tuple[str, ...] = Field(
        default=(),
        description="How the model is passed to an agent Ralph does not know: {model} is replaced.",
    )
    env: tuple[str, ...] = Field(
        default=(), description="Names (or patterns like FOO_*) of variables the agent gets beside the usual."
    )


class RoleSettings(ConfigSection):
    """Which agent, and which model, plays a role."""

    provider: str | None = Field(default=None, description="A name under providers; null: the default provider.")
    model: str | None = None


class Service(ConfigSection):
    """Something that must be up while UI stories are checked."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    start: Line | None = Field(default=None, description="Command that starts it; without one a person manages it.")
    ready: Annotated[str, Field(pattern=READY)] = Field(
        description="When it is up: a URL that answers, tcp://HOST:PORT, or log:REGEX in its output."
    )
    ready_timeout: Seconds = Field(default=30, description="Seconds to wait for that.")
    restart_before_verify: bool = Field(default=True, description="Start it anew before UI checks.")


class GateSetting(ConfigSection):
    """A gate with a name: one command that decides whether a task passes, or only warns."""

    name: Annotated[str, Field(min_length=1, max_length=60, pattern=r"^\S(.*\S)?$")]
    command: Line = Field(description="The command, as a shell reads it.")
    required: bool = Field(default=True, description="false: when it fails, it warns, and the task can pass.")
    timeout: Seconds | None = Field(default=None, description="Seconds it may take; null: verify.timeout.")


class Verify(ConfigSection):
    """The gates: commands that decide whether a story passes."""

    default: tuple[Line, ...] = Field(description="Run for every story. [] is allowed, and shown as unverified.")
    ui: tuple[Line, ...] = Field(default=(), description="Run as well for stories tagged ui.")
    timeout: Seconds = Field(default=900, description="Seconds each command may take.")
    env: tuple[str, ...] = Field(
        default=(), description="Names (or patterns like FOO_*) of variables that gates get beside the usual."
    )
    where: Literal["clean", "slot"] = Field(
        default="clean",
        description="clean: in a fresh checkout of the commit; slot: where the agent worked, shown as in place.",
    )


class ReviewSettings(ConfigSection):
    """Another agent that looks at each task's work when its gates are green, before it is committed."""

    enabled: bool = Field(default=True, description="false: nobody is asked.")
    rounds: Annotated[int, Field(ge=0, le=100)] = Field(
        default=2, description="How often a review may send a task back before it is blocked."
    )
    blocking: Annotated[tuple[SeverityName, ...], Field(min_length=1)] = Field(
        default=("critical", "major"), description="Findings that send a task back; the others are only told."
    )


class BrowserSettings(ConfigSection):
    """Built-in page checks for UI stories."""

    enabled: bool = Field(default=True, description="false: pages are not looked at, only verify.ui is run.")
    require: bool = Field(
        default=False, description="true: a UI story of which no page would be looked at is refused at the start."
    )
    executable_path: str = Field(default="", description="Path to Chrome or Chromium; empty: found.")
    headless: bool = Field(default=True, description="false: the browser is shown on your screen.")
    screenshot_dir: Line = Field(default=".ralph/screenshots", description="Where screenshots go; never into git.")
    base_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="What paths in criteria belong to; empty: the first service with a URL.",
    )
    timeout: Seconds = Field(default=30, description="Seconds a page may take to load.")
    ignore: tuple[Line, ...] = Field(
        default=(), description="Regular expressions: findings that match are known, and none."
    )


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
        default=50, description="Larger files are not committed; the agent is told."
    )


class Worktrees(ConfigSection):
    """What Ralph puts into its working copies beside the files of their commit."""

    auto: bool = Field(
        default=True, description="Copy dependency folders that git ignores (.venv, node_modules, …); false: do not."
    )
    setup: tuple[Line, ...] = Field(
        default=(), description="Commands that Ralph runs in a new working copy, and again when a lock file changes."
    )
    link: tuple[Line, ...] = Field(default=(), description="Paths that become links to those of your own checkout.")
    copy_: tuple[Line, ...] = Field(
        default=(), alias="copy", description="Paths, or globs such as .env.*, that Ralph copies from your checkout."
    )
    timeout: Seconds = Field(default=900, description="Seconds each set-up command, and each copy, may take.")
    max_gb: Annotated[float, Field(gt=0, le=1_000_000)] | None = Field(
        default=20, description="Gigabytes that all working copies together may take; null: no limit."
    )
    keep_days: Annotated[float, Field(gt=0, le=36_500)] | None = Field(
        default=30, description="Days after which an unused working copy goes; null: never."
    )


class SessionSettings(ConfigSection):
    """How sessions are bounded."""

    max_reviews: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description="Session reviews in one run that may find gaps before it is blocked."
    )


class Config(ConfigSection):
    """The whole file."""

    schema_: str | None = Field(default=None, alias="$schema")
    max_retries: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=3, description="Failed attempts in all before a story is blocked."
    )
    provider: Provider
    providers: dict[str, Provider] = Field(default_factory=dict, description="More agents, by name.")
    roles: dict[RoleName, RoleSettings] = Field(
        default_factory=dict, description=f"Which agent plays {', '.join(ROLES)}."
    )
    services: tuple[Service, ...] = ()
    verify: Verify = Field(
        default_factory=lambda: Verify(default=()), description="The gates as plain commands; required without gates."
    )
    gates: tuple[GateSetting, ...] | None = Field(
        default=None, description="The gates with names, in place of verify.default; null: verify.default."
    )
    review: ReviewSettings = Field(
        default_factory=lambda: ReviewSettings(enabled=False), description="Reviews of each task; {} switches them on."
    )
    protect: tuple[Line, ...] = Field(
        default=(), description="Globs (as git reads them, ** for any depth) no agent may change."
    )
    worktrees: Worktrees = Field(default_factory=Worktrees)
    session: SessionSettings = Field(default_factory=SessionSettings)
    browser: BrowserSettings = Field(default_factory=BrowserSettings)
    commits: Commits = Field(default_factory=Commits)

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
        """The agent that plays `role`, with the role's model."""
        chosen = next((value for key, value in self.roles.items() if key == role), RoleSettings())
        provider = self.providers[chosen.provider] if chosen.provider else self.provider
        return provider.model_copy(update={"model": chosen.model}) if chosen.model else provider

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
        raise RalphError(f"There is no {NAME} in {root}.", remedy="Write one with `ralph init`.")
    return parse(validation.read(path), name=NAME)


def parse(data: bytes, *, name: str = NAME) -> Config:
    return validation.parse(Config, data, name=name, rules=_rules, remedy="`ralph schema config` describes every key.")


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


def _rules(document: validation.Json) -> Iterable[str]:
    """What the shape alone cannot say."""
    if "verify" not in document and document.get("gates") is None:
        yield "verify: missing, and required (or gates instead)"
    yield from _repeated_names(document, "services")
    yield from _services(document)
    yield from _ignored(document)
    yield from _repeated_names(document, "gates")
    yield from _provided(document)
    providers = document.get("providers")
    names = list(providers) if isinstance(providers, dict) else []
    roles = document.get("roles")
    for role, settings in roles.items() if isinstance(roles, dict) else ():
        wanted = settings.get("provider") if isinstance(settings, dict) else None
        if isinstance(wanted, str) and wanted not in names:
            near = validation.nearest(wanted, names)
            yield f"roles.{role}.provider: {wanted!r} is not among providers{near}"


def _services(document: validation.Json) -> Iterable[str]:
    listed = document.get("services")
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        ready = item.get("ready") if isinstance(item, dict) else None
        if isinstance(ready, str) and ready.startswith("log:"):
            yield from _pattern(f"services[{index}].ready", ready.removeprefix("log:"))
            if not item.get("start"):
                yield f"services[{index}].ready: only the output of a service with a start command can be read"


def _ignored(document: validation.Json) -> Iterable[str]:
    browser = document.get("browser")
    listed = browser.get("ignore") if isinstance(browser, dict) else None
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, str):
            yield from _pattern(f"browser.ignore[{index}]", item)


def _provided(document: validation.Json) -> Iterable[str]:
    worktrees = document.get("worktrees")
    for key in ("link", "copy"):
        listed = worktrees.get(key) if isinstance(worktrees, dict) else None
        for index, item in enumerate(listed if isinstance(listed, list) else ()):
            wrong = _misplaced(item) if isinstance(item, str) else ""
            if wrong:
                yield f"worktrees.{key}[{index}]: {item!r} {wrong}"


def _misplaced(path: str) -> str:
    """What is wrong with a path that Ralph is to put into a working copy."""
    parts = Path(path).parts
    if not is_inside(path):
        return "leads out of the project"
    if not parts:
        return "is the whole project"
    if ".git" in parts or RALPH in parts:
        return "belongs to git or to Ralph"
    return "has `**`, which only .worktreeinclude understands" if "**" in path else ""


def _pattern(where: str, text: str) -> Iterable[str]:
    try:
        re.compile(text)
    except re.error as error:
        yield f"{where}: {text!r} is no regular expression ({error})"


def _repeated_names(document: validation.Json, key: str) -> Iterable[str]:
    listed = document.get(key)
    seen: set[object] = set()
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name in seen:
            yield f"{key}[{index}].name: {name!r} is used twice"
        seen.add(name if isinstance(name, str) else None)
