"""Step configurations, `.ralph/configs/*.json`: the steps of an attempt, validated against the registry."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from ralph import limits, validation
from ralph.errors import RalphError
from ralph.frozen import Frozen
from ralph.plan.work import Resilience, StepSpec
from ralph.steps.agent_settings import CallSettings
from ralph.steps.base import Step
from ralph.steps.registry import offered_type, step_names, step_type
from ralph.steps.review import ReviewStep
from ralph.validation import Json, Mistakes, nearest
from ralph.values import Duration, Flag, Pause, Whole, flag, substitute
from ralph.workspace import RALPH, Workspace, is_inside

CONFIGS = f"{RALPH}/configs"
PLAN = f"{RALPH}/prd.json"
FILES = ("prompt_file", "prd_file", "marker_file")
STEP_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"

STEP_SECONDS, CALL_SECONDS = 1200.0, 900.0
"""The default time limits of a step and of its agent's call, in seconds."""


class PipelineSection(BaseModel):
    """A part of the file: snake_case keys, nothing unknown."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class CircuitBreaker(PipelineSection):
    """Pauses a step that fails too often in a row."""

    threshold: Annotated[Whole, Field(ge=1, le=1000)] = Field(
        description="The number of failures in a row after which Ralph pauses the step."
    )
    reset_after: Duration = Field(default=60.0, description="The length of the pause, e.g. 60s.")


class StepFile(PipelineSection):
    """One step."""

    type: str = Field(description="A step type from the registry.")
    name: Annotated[str, Field(pattern=STEP_NAME, max_length=60)] | None = Field(
        default=None, description="The step's name in logs; null: its type."
    )
    enabled: Flag = Field(default=True, description="false: skip the step.")
    timeout: Duration | None = Field(default=None, description="The time limit of the whole step; null: 20m.")
    max_retries: Annotated[Whole, Field(ge=0, le=100)] | None = Field(
        default=None, description="The number of retries when the step fails; null: 0, and 2 for a review."
    )
    retry_delay: Pause = Field(default=0.0, description="The wait before each retry.")
    continue_on_error: Flag = Field(default=False, description="Continue with the next step when this one fails.")
    circuit_breaker: CircuitBreaker | None = None
    config: dict[str, Any] = Field(default={}, description="The settings of the step type.")

    @property
    def label(self) -> str:
        return self.name or self.type


class PipelineFile(PipelineSection):
    """The whole file."""

    schema_: str | None = Field(default=None, alias="$schema")
    name: str = ""
    description: str = ""
    max_loops_per_task: Annotated[Whole, Field(ge=0, le=10_000)] = Field(
        default=0, description="The number of loops after which a task fails; 0: no limit."
    )
    stuck_after: Annotated[Whole, Field(ge=0, le=1000)] = Field(
        default=3, description="The number of loops in a row without a change after which a task fails; 0: not checked."
    )
    steps: Annotated[list[StepFile], Field(min_length=1)]


class Pipeline(Frozen):
    """The steps of one configuration: those that run once, and those of every loop."""

    name: str
    path: str
    description: str
    max_loops: int
    stuck_after: int
    once: tuple[StepSpec, ...]
    each: tuple[StepSpec, ...]
    plan: str  # the plan's file, relative to the project root
    declines_review: bool = False  # the file contains a review step that is disabled

    @property
    def steps(self) -> tuple[StepSpec, ...]:
        return (*self.once, *self.each)

    @property
    def verifies(self) -> bool:
        return any(spec.type == "verify" for spec in self.each)


def load(workspace: Workspace, name: str, variables: Mapping[str, str] | None = None) -> Pipeline:
    """Load the configuration with this name; raise an error that lists all of its mistakes."""
    path = f"{CONFIGS}/{name}.json"
    if not is_inside(name) or not (workspace.root / path).is_file():
        known = names(workspace)
        raise RalphError(
            f"There is no step configuration {name!r}{nearest(name, known)}",
            details=("Existing configurations:", *(f"  {other}" for other in known)) if known else (),
            remedy=f"Create {CONFIGS}/NAME.json, or use an existing one. `ralph schema steps` describes the file."
            if known
            else "`ralph init` writes the default one.",
        )
    data = validation.read(workspace.root / path, limits.SETTINGS)
    return parse(data, name=path, variables=os.environ if variables is None else variables)


def names(workspace: Workspace) -> list[str]:
    """Return the names of all configurations."""
    return sorted(path.stem for path in (workspace.root / CONFIGS).glob("*.json"))


def parse(data: bytes, *, name: str, variables: Mapping[str, str]) -> Pipeline:
    document, missing = substitute(validation.parse_object(data, name=name), variables)
    filled = to_json(document)
    remedy = "`ralph schema steps` describes every key."
    try:
        file = validation.parse(PipelineFile, filled, name=name, rules=_rules, remedy=remedy)
    except Mistakes as error:
        raise Mistakes(name, [*missing, *error.mistakes], remedy) from None
    if missing:
        raise Mistakes(name, missing, "Set it, or give a default: ${NAME:-default}")
    return _pipeline(file, name)


def _pipeline(file: PipelineFile, path: str) -> Pipeline:
    specs = [(step, _spec(step)) for step in file.steps if step.enabled]
    each = [spec for step, spec in specs if "marker_file" not in _given(step)]
    if not any(step.type == "verify" for step in file.steps):
        each.insert(_after_last_agent(each), StepSpec(type="verify"))
    if not any(step.type == "git-commit" for step in file.steps):
        each.append(StepSpec(type="git-commit"))
    plans = [str(_given(step)["prd_file"]) for step in file.steps if "prd_file" in _given(step)]
    return Pipeline(
        name=Path(path).stem,
        path=path,
        description=file.description,
        max_loops=file.max_loops_per_task,
        stuck_after=file.stuck_after,
        once=tuple(spec for step, spec in specs if "marker_file" in _given(step)),
        each=tuple(each),
        plan=str(Path(plans[0])) if plans else PLAN,
        declines_review=any(step.type == "review" and not step.enabled for step in file.steps),
    )


def _given(step: StepFile) -> Json:
    return {key: value for key, value in step.config.items() if value is not None}


def _spec(step: StepFile) -> StepSpec:
    breaker = step.circuit_breaker
    kind = step_type(step.type)
    settings, _ = validation.check(kind.Settings, to_json(step.config))
    if isinstance(settings, CallSettings) and settings.timeout is None:
        settings = settings.model_copy(update={"timeout": CALL_SECONDS})
    return StepSpec(
        type=step.type,
        name=step.name or "",
        resilience=Resilience(
            timeout=step.timeout or _seconds(step, settings),
            max_retries=kind.max_retries if step.max_retries is None else step.max_retries,
            retry_delay=step.retry_delay,
            continue_on_error=step.continue_on_error,
            breaker_threshold=breaker.threshold if breaker else 0,
            breaker_reset=breaker.reset_after if breaker else 60.0,
        ),
        settings=settings,
    )


def _seconds(step: StepFile, settings: object) -> float | None:
    """Return the default time limit of a step: longer than the limit of its call or command; None for `verify`."""
    if step.type == "verify":
        return None  # each gate has its own time limit
    own = getattr(settings, "timeout", None) or CALL_SECONDS  # of an agent's call, or of a command
    return max(STEP_SECONDS, own + STEP_SECONDS - CALL_SECONDS)


def _after_last_agent(specs: list[StepSpec]) -> int:
    """Return where to insert the gates if the pipeline does not name them, so that all work is verified."""
    return max((number for number, spec in enumerate(specs, 1) if _works(step_type(spec.type))), default=len(specs))


def _works(kind: type[Step]) -> bool:
    """Return whether steps of this type change the task's work, rather than review it."""
    return kind.runs_agent and not issubclass(kind, ReviewStep)


def _rules(document: Json) -> Iterable[str]:
    """Check what the models cannot express."""
    listed = document.get("steps")
    steps = [step if isinstance(step, dict) else {} for step in listed] if isinstance(listed, list) else []
    works = verified = reviewed = -1
    labels: dict[str, int] = {}
    plans: set[str] = set()
    for index, step in enumerate(steps):
        kind, mistakes = _kind(step, index)
        yield from mistakes
        label = step.get("name") or step.get("type")
        if isinstance(label, str) and label in labels:
            yield f"steps[{index}]: the name {label!r} is also the name of steps[{labels[label]}]; choose another"
        elif isinstance(label, str):
            labels[label] = index
        if label != step.get("type") and label in step_names():
            yield f"steps[{index}].name: {label!r} is the name of another step type; choose another name"
        config = step.get("config")
        config = config if isinstance(config, dict) else {}
        yield from _outside(config, index)
        plans |= {str(Path(str(config["prd_file"])))} if config.get("prd_file") else set()
        enabled = flag(step.get("enabled", True)) is not False
        if kind and enabled and not config.get("marker_file"):
            works = index if _works(kind) else works
            verified = index if step.get("type") == "verify" else verified
            reviewed = index if step.get("type") == "review" and reviewed < 0 else reviewed
    if works >= 0 and 0 <= verified < works:
        yield f"steps[{verified}]: the gates run before steps[{works}], so that agent's work is not verified"
    if 0 <= reviewed < max(works, verified):
        later = f"steps[{max(works, verified)}]"
        yield f"steps[{reviewed}]: a review must come after the last agent and the gates, but {later} comes later"
    if steps and works < 0:
        yield "steps: no agent works in every loop, so no task would ever be done"
    if len(plans) > 1:
        yield f"steps: every prd_file must be the same, found {', '.join(sorted(plans))}"


def _kind(step: Json, index: int) -> tuple[type[Step] | None, list[str]]:
    """Return a step's type, and the mistakes in it and in its configuration."""
    name = step.get("type")
    if not isinstance(name, str):
        return None, []
    try:
        kind = offered_type(name)
    except RalphError as error:
        return None, [f"steps[{index}].type: {error.what[0].lower()}{error.what[1:]}"]
    config = step.get("config", {})
    if not isinstance(config, dict):
        return kind, []
    return kind, validation.check(kind.Settings, to_json(config), ("steps", index, "config"))[1]


def _outside(config: Json, index: int) -> Iterator[str]:
    for key in FILES:
        path = config.get(key)
        if isinstance(path, str) and (not path or not is_inside(path)):
            yield f"steps[{index}].config.{key}: {path!r} is not inside the project"


def schema() -> dict[str, object]:
    """Return the published JSON Schema: the file, and the `config` of each step type."""
    made: dict[str, Any] = PipelineFile.model_json_schema(by_alias=True)
    step = made["$defs"]["StepFile"]
    step["properties"]["type"]["enum"] = step_names()
    step["allOf"] = []
    for name in step_names():
        settings = step_type(name).Settings.model_json_schema(by_alias=True, ref_template=f"#/$defs/{name}.{{model}}")
        for inner, definition in settings.pop("$defs", {}).items():
            made["$defs"][f"{name}.{inner}"] = definition
        needs_config = {"required": ["config"]} if settings.get("required") else {}
        then = {"properties": {"config": settings}, **needs_config}
        step["allOf"].append({"if": {"properties": {"type": {"const": name}}}, "then": then})
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **made, "title": "steps", "description": "A step configuration for Ralph."}


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"
