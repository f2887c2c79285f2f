"""The part of `ralph.config.json` about agents: how each is called, who plays which role, and what they may cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ralph.frozen import Frozen

Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]
Line = Annotated[str, Field(min_length=1, pattern=r"\S")]


class ConfigSection(BaseModel):
    """A part of the file: camelCase keys, nothing unknown."""

    model_config = ConfigDict(
        defer_build=True, extra="forbid", alias_generator=to_camel, frozen=True, populate_by_name=True
    )


S = TypeVar("S", bound=ConfigSection)


def section(of: type[S], **values: object) -> Callable[[], S]:
    """Makes a section that the file leaves out. It has no mistakes, so it needs no validator of its own."""
    return lambda: cast(S, of.model_construct(None, **values))


class Provider(ConfigSection):
    """An agent: the command Ralph runs, with the prompt on its standard input."""

    command: Line = Field(description="The agent's program: amp, claude, opencode, a path, …")
    args: tuple[str, ...] = Field(
        default=(), description="Arguments, passed as they are; one that is {prompt} becomes the prompt."
    )
    timeout: Seconds = Field(default=1800, description="Time limit of one call, in seconds.")
    idle_timeout: Seconds | None = Field(
        default=None,
        description="Seconds without output after which Ralph ends the call; null: a default for the agent.",
    )
    dialect: str | None = Field(
        default=None, description="How Ralph reads its output; null: chosen from the command and its arguments."
    )
    model: str | None = Field(default=None, description="The model to pass to the agent; null: the agent's own choice.")
    model_args: tuple[str, ...] = Field(
        default=(),
        description="Arguments that pass the model to an agent that Ralph does not know; {model} is replaced.",
    )
    env: tuple[str, ...] = Field(
        default=(), description="Names (or patterns like FOO_*) of additional environment variables for the agent."
    )
    isolate: bool = Field(
        default=True,
        description="Keep your own settings, hooks, memory and tool servers out of a known agent; false: let them in.",
    )
    cwd: str = Field(
        default="", description="The folder, relative to the project, in which the agent starts; empty: the project."
    )
    protocol: Literal["cli", "acp"] = Field(
        default="cli",
        description="cli: the prompt goes to standard input and the output is read; acp: the Agent Client Protocol.",
    )
    permissions: Literal["allow", "deny"] = Field(
        default="allow", description="How Ralph answers when an agent asks for a permission over ACP."
    )


class RoleSettings(ConfigSection):
    """The agent and model of a role."""

    provider: str | None = Field(default=None, description="A name from providers; null: the default provider.")
    providers: tuple[str, ...] = Field(
        default=(),
        description="Several names, in order: while one is limited or down, the next one works. default: provider.",
    )
    model: str | None = Field(default=None, description="The model of the first provider.")


class RaceSettings(ConfigSection):
    """Several agents attempt the same task at the same time; the first whose work passes wins."""

    agents: Annotated[tuple[str, ...], Field(max_length=8)] = Field(
        default=(), description="The agents that race: two or more names from providers, or default; [] is no race."
    )
    after_failures: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0, description="Race only after a task has failed this many times; 0: from the first attempt."
    )


class Allowance(ConfigSection):
    """What may be spent; null: any amount."""

    usd: Annotated[float, Field(gt=0)] | None = Field(default=None, description="Money, in US dollars.")
    tokens: Annotated[int, Field(gt=0)] | None = Field(default=None, description="Tokens, in and out, cached or not.")
    hours: Annotated[float, Field(gt=0)] | None = Field(default=None, description="Time, in hours.")
    attempts: Annotated[int, Field(gt=0)] | None = Field(default=None, description="Attempts of agents.")


class Budget(Allowance):
    """What one run may spend, and what a plan and a task may spend in all runs together."""

    target: Allowance = Field(default_factory=section(Allowance), description="For all runs of a plan together.")
    task: Allowance = Field(default_factory=section(Allowance), description="For all attempts of one task together.")
    hard: bool = Field(
        default=False, description="true: end running agents when it is used up; false: let them finish their attempt."
    )


class NamedProvider(Frozen):
    """An agent and its name in the configuration."""

    name: str
    provider: Provider
