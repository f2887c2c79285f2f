"""The part of `ralph.config.json` about agents: how each is called, who plays which role, and what they may cost."""

from typing import Annotated, Literal

from ralph.config_section import Bounds, ConfigSection
from ralph.frozen import Frozen

Seconds = Annotated[float, Bounds(gt=0, le=7 * 24 * 3600)]
Line = Annotated[str, Bounds(min_length=1, pattern=r"\S")]


class Provider(ConfigSection):
    """An agent: the command Ralph runs, with the prompt on its standard input."""

    command: Annotated[Line, "The agent's program: amp, claude, opencode, a path, …"]
    args: Annotated[tuple[str, ...], "Arguments, passed as they are; one that is {prompt} becomes the prompt."] = ()
    timeout: Annotated[Seconds, "Time limit of one call, in seconds."] = 1800
    idle_timeout: Annotated[
        Seconds | None, "Seconds without output after which Ralph ends the call; null: a default for the agent."
    ] = None
    dialect: Annotated[str | None, "How Ralph reads its output; null: chosen from the command and its arguments."] = (
        None
    )
    model: Annotated[str | None, "The model to pass to the agent; null: the agent's own choice."] = None
    model_args: Annotated[
        tuple[str, ...], "Arguments that pass the model to an agent that Ralph does not know; {model} is replaced."
    ] = ()
    env: Annotated[
        tuple[str, ...], "Names (or patterns like FOO_*) of additional environment variables for the agent."
    ] = ()
    isolate: Annotated[
        bool, "Keep your own settings, hooks, memory and tool servers out of a known agent; false: let them in."
    ] = True
    state: Annotated[
        tuple[Line, ...] | None,
        "Folders outside the project in which the agent keeps its state (~/… or absolute), which the sandbox lets it "
        "write; null: those of a known agent.",
    ] = None
    cwd: Annotated[str, "The folder, relative to the project, in which the agent starts; empty: the project."] = ""
    protocol: Annotated[
        Literal["cli", "acp"],
        "cli: the prompt goes to standard input and the output is read; acp: the Agent Client Protocol.",
    ] = "cli"
    permissions: Annotated[
        Literal["allow", "deny"], "How Ralph answers when an agent asks for a permission over ACP."
    ] = "allow"


class RoleSettings(ConfigSection):
    """The agent and model of a role."""

    provider: Annotated[str | None, "A name from providers; null: the default provider."] = None
    providers: Annotated[
        tuple[str, ...], "Several names, in order: while one is limited or down, the next one works. default: provider."
    ] = ()
    model: Annotated[str | None, "The model of the first provider."] = None


class RaceSettings(ConfigSection):
    """Several agents attempt the same task at the same time; the first whose work passes wins."""

    agents: Annotated[
        tuple[str, ...],
        Bounds(max_length=8),
        "The agents that race: two or more names from providers, or default; [] is no race.",
    ] = ()
    after_failures: Annotated[
        int, Bounds(ge=0, le=1000), "Race only after a task has failed this many times; 0: from the first attempt."
    ] = 0


class Allowance(ConfigSection):
    """What may be spent; null: any amount."""

    usd: Annotated[Annotated[float, Bounds(gt=0)] | None, "Money, in US dollars."] = None
    tokens: Annotated[Annotated[int, Bounds(gt=0)] | None, "Tokens, in and out, cached or not."] = None
    hours: Annotated[Annotated[float, Bounds(gt=0)] | None, "Time, in hours."] = None
    attempts: Annotated[Annotated[int, Bounds(gt=0)] | None, "Attempts of agents."] = None


class Budget(Allowance):
    """What one run may spend, and what a plan and a task may spend in all runs together."""

    target: Annotated[Allowance, "For all runs of a plan together."] = Allowance()
    task: Annotated[Allowance, "For all attempts of one task together."] = Allowance()
    hard: Annotated[bool, "true: end running agents when it is used up; false: let them finish their attempt."] = False


class NamedProvider(Frozen):
    """An agent and its name in the configuration."""

    name: str
    provider: Provider
